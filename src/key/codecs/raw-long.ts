import { BaseCodec, badValue, type ValueRange } from './base.js';
import { int64, MAX, MIN } from './big-integer.js';
import { wrongLength } from './integer-bytes.js';
import { viewLong, writeBigInt } from './long-bytes.js';
import { signedPieces } from './signed-pieces.js';
import type { KeyWriter } from './writer.js';

/** HBase's `Bytes.toBytes(long)`: two's complement, negative numbers sort behind the others. */
export class RawLongCodec extends BaseCodec<bigint> {
  readonly fixedLength = 8;
  override readonly ordered = false;

  constructor(readonly name: string) {
    super();
  }

  write(value: bigint, out: KeyWriter): void {
    if (typeof value !== 'bigint' || value < MIN || value > MAX) {
      throw badValue(this.name, value, `a bigint from ${MIN}n to ${MAX}n`);
    }
    writeBigInt(value, 0, out);
  }

  read(bytes: Uint8Array, start: number, end: number): bigint {
    if (end - start !== 8) throw wrongLength(this, bytes, start, end);
    return viewLong(bytes, start, 0).getBigInt64(0);
  }

  override get order(): BaseCodec<bigint> {
    return int64 as BaseCodec<bigint>;
  }

  override pieces(range: ValueRange): readonly ValueRange[] {
    return signedPieces(range, MIN, 0n, -1n, MAX);
  }
}
