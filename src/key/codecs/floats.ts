/**
 * IEEE 754 numbers, big-endian, so that bytes order as numbers: the sign bit of positive ones flipped, all bits of
 * negative ones inverted. -0 is 0. NaN has no place in an order and is refused.
 */

import { BaseCodec, badBytes, badValue, type ScalarCodec } from './base.js';
import { wrongLength } from './integer-bytes.js';
import type { KeyWriter } from './writer.js';

const scratch = new Uint8Array(8);
const view = new DataView(scratch.buffer);

class FloatCodec extends BaseCodec<number> {
  constructor(
    readonly name: string,
    readonly fixedLength: 4 | 8,
    /** Whether a number is rounded to the nearest of 32 bits, or refused when it is none. */
    private readonly rounds: boolean,
  ) {
    super();
  }

  write(value: number, out: KeyWriter): void {
    const size = this.fixedLength;
    if (typeof value !== 'number' || Number.isNaN(value))
      throw badValue(this.name, value, 'a number and not NaN');
    if (size === 8) {
      view.setFloat64(0, value === 0 ? 0 : value);
    } else {
      if (!this.rounds && Math.fround(value) !== value) {
        throw badValue(this.name, value, 'a number that 32 bits hold exactly (Math.fround)');
      }
      view.setFloat32(0, value === 0 ? 0 : value);
      if (scratch[0] === SIGN && scratch[1] === 0 && scratch[2] === 0 && scratch[3] === 0) scratch[0] = 0;
    }
    out.ensure(size);
    const { buffer, length } = out;
    if (scratch[0]! >= SIGN) for (let i = 0; i < size; i++) buffer[length + i] = ~scratch[i]!;
    else {
      buffer[length] = scratch[0]! | SIGN;
      for (let i = 1; i < size; i++) buffer[length + i] = scratch[i]!;
    }
    out.length = length + size;
  }

  read(bytes: Uint8Array, start: number, end: number): number {
    const size = this.fixedLength;
    if (end - start !== size) throw wrongLength(this, bytes, start, end);
    if (bytes[start]! >= SIGN) {
      scratch[0] = bytes[start]! & 0x7f;
      for (let i = 1; i < size; i++) scratch[i] = bytes[start + i]!;
    } else {
      for (let i = 0; i < size; i++) scratch[i] = ~bytes[start + i]!;
    }
    const value = size === 8 ? view.getFloat64(0) : view.getFloat32(0);
    if (Number.isNaN(value)) throw badBytes(this.name, bytes, start, end, 'it is NaN');
    if (Object.is(value, -0)) throw badBytes(this.name, bytes, start, end, 'it is -0, which is written as 0');
    return value;
  }
}

const SIGN = 0x80;

/** Any number but NaN, in 8 bytes. */
export const float64: ScalarCodec<number> = new FloatCodec('float64', 8, false);
/** A number that 32 bits hold exactly; any other is refused rather than changed. */
export const float32: ScalarCodec<number> = new FloatCodec('float32', 4, false);
/** As `float32`, rounding to the nearest number of 32 bits: for columns. */
export const float: ScalarCodec<number> = new FloatCodec('float', 4, true);
