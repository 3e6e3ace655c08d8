import { badValue, type ScalarCodec } from './base.js';
import { BigNumberCodec, readBig, writeBig } from './big-number-codec.js';
import type { KeyWriter } from './writer.js';

class BigIntCodec extends BigNumberCodec<bigint> {
  readonly name = 'bigint';

  write(value: bigint, out: KeyWriter): void {
    if (typeof value !== 'bigint') throw badValue(this.name, value, 'a bigint');
    writeBig(value, out, this.name);
  }

  read(bytes: Uint8Array, start: number, end: number): bigint {
    return readBig(bytes, start, end, this.name);
  }
}

/** A whole number of up to 127 bytes (1016 bits). */
export const bigint: ScalarCodec<bigint> = new BigIntCodec();
