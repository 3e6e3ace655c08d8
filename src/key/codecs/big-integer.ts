import { BaseCodec, badValue, type ScalarCodec } from './base.js';
import { wrongLength } from './integer-bytes.js';
import { SIGN, viewLong, writeBigInt } from './long-bytes.js';
import type { KeyWriter } from './writer.js';

/** 8 bytes as a bigint; the sign bit flipped where negative numbers are allowed. */
export class BigIntegerCodec extends BaseCodec<bigint> {
  readonly fixedLength = 8;
  private readonly flip: number;

  constructor(
    readonly name: string,
    private readonly min: bigint,
    private readonly max: bigint,
  ) {
    super();
    this.flip = min < 0n ? SIGN : 0;
  }

  write(value: bigint, out: KeyWriter): void {
    if (typeof value !== 'bigint' || value < this.min || value > this.max) {
      throw badValue(this.name, value, `a bigint from ${this.min}n to ${this.max}n`);
    }
    writeBigInt(value, this.flip, out);
  }

  read(bytes: Uint8Array, start: number, end: number): bigint {
    if (end - start !== 8) throw wrongLength(this, bytes, start, end);
    const view = viewLong(bytes, start, this.flip);
    return this.flip === 0 ? view.getBigUint64(0) : view.getBigInt64(0);
  }
}

export const MIN = -(2n ** 63n);

export const MAX = 2n ** 63n - 1n;

export const int64: ScalarCodec<bigint> = new BigIntegerCodec('int64', MIN, MAX);

export const uint64: ScalarCodec<bigint> = new BigIntegerCodec('uint64', 0n, 2n ** 64n - 1n);
