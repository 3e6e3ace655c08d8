/** Whole numbers of fixed width, big-endian; signed ones with the sign bit flipped, so that bytes order as numbers. */

import { BaseCodec, badBytes, badValue, type ScalarCodec, type ValueRange } from './base.js';
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

/** Two's complement as HBase's `Bytes.toBytes(short/int)`: negative numbers sort behind the others. */
export class RawIntegerCodec extends BaseCodec<number> {
  override readonly ordered = false;
  private readonly limit: number;

  constructor(
    readonly name: string,
    readonly fixedLength: number,
    private readonly ascending: BaseCodec<number>,
  ) {
    super();
    this.limit = 2 ** (8 * fixedLength - 1);
  }

  write(value: number, out: KeyWriter): void {
    if (!Number.isInteger(value) || value < -this.limit || value >= this.limit) {
      throw badValue(this.name, value, `a whole number from ${-this.limit} to ${this.limit - 1}`);
    }
    const size = this.fixedLength;
    out.ensure(size);
    putInteger(out.buffer, out.length, size, value < 0 ? value + 2 * this.limit : value);
    out.length += size;
  }

  read(bytes: Uint8Array, start: number, end: number): number {
    if (end - start !== this.fixedLength) throw wrongLength(this, bytes, start, end);
    const value = getInteger(bytes, start, this.fixedLength);
    return value < this.limit ? value : value - 2 * this.limit;
  }

  override get order(): BaseCodec<number> {
    return this.ascending;
  }

  override pieces(range: ValueRange): readonly ValueRange[] {
    return signedPieces(range, -this.limit, 0, -1, this.limit - 1);
  }
}

/** The part of `range` below zero and the part from zero on: in two's complement each is ordered, both are not. */
export function signedPieces<T extends number | bigint>(
  range: ValueRange,
  min: T,
  zero: T,
  minusOne: T,
  max: T,
): ValueRange[] {
  const lower = range.lower?.value as T | undefined;
  const upper = range.upper?.value as T | undefined;
  const pieces: ValueRange[] = [];
  if (upper === undefined || upper >= zero) {
    pieces.push({
      lower: lower !== undefined && lower >= zero ? range.lower : { value: zero, inclusive: true },
      upper: range.upper ?? { value: max, inclusive: true },
    });
  }
  if (lower === undefined || lower < zero) {
    pieces.push({
      lower: range.lower ?? { value: min, inclusive: true },
      upper: upper !== undefined && upper < zero ? range.upper : { value: minusOne, inclusive: true },
    });
  }
  return pieces;
}

/** Writes `value`, 0..2^53-1, as `size` bytes, at most 8. */
export function putInteger(target: Uint8Array, offset: number, size: number, value: number): void {
  let rest = value;
  if (size > 4) {
    const high = Math.floor(value / 2 ** 32);
    for (let i = size - 5, h = high; i >= 0; i--, h >>>= 8) target[offset + i] = h;
    rest = value - high * 2 ** 32;
  }
  let low = rest >>> 0;
  for (let i = size - 1; i >= 0 && i >= size - 4; i--, low >>>= 8) target[offset + i] = low;
}

/** Reads what `putInteger` wrote. */
export function getInteger(bytes: Uint8Array, start: number, size: number): number {
  let value = 0;
  for (let i = 0; i < size; i++) value = value * 256 + bytes[start + i]!;
  return value;
}

/** The error of a value that is not as long as it must be. */
export function wrongLength(codec: BaseCodec<unknown>, bytes: Uint8Array, start: number, end: number): Error {
  return badBytes(codec.name, bytes, start, end, `it has ${codec.fixedLength} bytes, not ${end - start}`);
}

export const int8: ScalarCodec<number> = new IntegerCodec('int8', 1, -128, 127);
export const int16: ScalarCodec<number> = new IntegerCodec('int16', 2, -32768, 32767);
export const int32: ScalarCodec<number> = new IntegerCodec('int32', 4, -2147483648, 2147483647);
export const uint8: ScalarCodec<number> = new IntegerCodec('uint8', 1, 0, 255);
export const uint16: ScalarCodec<number> = new IntegerCodec('uint16', 2, 0, 65535);
export const uint32: ScalarCodec<number> = new IntegerCodec('uint32', 4, 0, 4294967295);
