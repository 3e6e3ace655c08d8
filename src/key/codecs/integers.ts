/** Whole numbers of fixed width, big-endian; signed ones with the sign bit flipped, so that bytes order as numbers. */

import { BaseCodec, badValue, type ScalarCodec } from './base.js';
import { getInteger, putInteger, wrongLength } from './integer-bytes.js';
import type { KeyWriter } from './writer.js';

/** 1 to 8 bytes as a JavaScript number. */
export class IntegerCodec extends BaseCodec<number> {
  readonly fixedLength: number;
  private readonly bias: number;

  constructor(
    readonly name: string,
    size: number,
    private readonly min: number,
    private readonly max: number,
  ) {
    super();
    this.fixedLength = size;
    this.bias = -min;
  }

  write(value: number, out: KeyWriter): void {
    if (!Number.isInteger(value) || value < this.min || value > this.max) {
      throw badValue(this.name, value, `a whole number from ${this.min} to ${this.max}`);
    }
    const size = this.fixedLength;
    out.ensure(size);
    putInteger(out.buffer, out.length, size, value + this.bias);
    out.length += size;
  }

  read(bytes: Uint8Array, start: number, end: number): number {
    if (end - start !== this.fixedLength) throw wrongLength(this, bytes, start, end);
    return getInteger(bytes, start, this.fixedLength) - this.bias;
  }

  override encode(value: number): Uint8Array {
    if (!Number.isInteger(value) || value < this.min || value > this.max) {
      throw badValue(this.name, value, `a whole number from ${this.min} to ${this.max}`);
    }
    const out = new Uint8Array(this.fixedLength);
    putInteger(out, 0, out.length, value + this.bias);
    return out;
  }
}

export const int8: ScalarCodec<number> = new IntegerCodec('int8', 1, -128, 127);

export const int16: ScalarCodec<number> = new IntegerCodec('int16', 2, -32768, 32767);

export const int32: ScalarCodec<number> = new IntegerCodec('int32', 4, -2147483648, 2147483647);

export const uint8: ScalarCodec<number> = new IntegerCodec('uint8', 1, 0, 255);

export const uint16: ScalarCodec<number> = new IntegerCodec('uint16', 2, 0, 65535);

export const uint32: ScalarCodec<number> = new IntegerCodec('uint32', 4, 0, 4294967295);
