import { BaseCodec, badValue, type ValueRange } from '../codecs/base.js';
import { int53 } from '../codecs/int53.js';
import { wrongLength } from '../codecs/integer-bytes.js';
import { readSafe, writeSafe } from '../codecs/long-bytes.js';
import { signedPieces } from '../codecs/signed-pieces.js';
import type { KeyWriter } from '../codecs/writer.js';

export class RawSafeIntegerCodec extends BaseCodec<number> {
  readonly name = 'raw.int53';
  readonly fixedLength = 8;
  override readonly ordered = false;

  write(value: number, out: KeyWriter): void {
    if (!Number.isSafeInteger(value))
      throw badValue(this.name, value, 'a whole number from -(2^53-1) to 2^53-1');
    writeSafe(value, 0, out);
  }

  read(bytes: Uint8Array, start: number, end: number): number {
    if (end - start !== 8) throw wrongLength(this, bytes, start, end);
    const value = readSafe(bytes, start, 0);
    if (!Number.isSafeInteger(value)) throw badValue(this.name, value, 'within 2^53-1; use raw.int64');
    return value;
  }

  override get order(): BaseCodec<number> {
    return int53 as BaseCodec<number>;
  }

  override pieces(range: ValueRange): readonly ValueRange[] {
    return signedPieces(range, Number.MIN_SAFE_INTEGER, 0, -1, Number.MAX_SAFE_INTEGER);
  }
}
