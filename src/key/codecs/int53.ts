import { BaseCodec, badBytes, badValue, type ScalarCodec } from './base.js';
import { wrongLength } from './integer-bytes.js';
import { readSafe, SIGN, writeSafe } from './long-bytes.js';
import type { KeyWriter } from './writer.js';

class SafeIntegerCodec extends BaseCodec<number> {
  readonly name = 'int53';
  readonly fixedLength = 8;

  write(value: number, out: KeyWriter): void {
    if (!Number.isSafeInteger(value)) {
      throw badValue(
        this.name,
        value,
        'a whole number from -(2^53-1) to 2^53-1 (use int64 with bigint beyond)',
      );
    }
    writeSafe(value, SIGN, out);
  }

  read(bytes: Uint8Array, start: number, end: number): number {
    if (end - start !== 8) throw wrongLength(this, bytes, start, end);
    const value = readSafe(bytes, start, SIGN);
    if (!Number.isSafeInteger(value)) throw badBytes(this.name, bytes, start, end, 'it is beyond 2^53-1');
    return value;
  }
}

/** The bytes of int64, as a number that must be a safe integer. */
export const int53: ScalarCodec<number> = new SafeIntegerCodec();
