import {
  BaseCodec,
  badBytes,
  badValue,
  type Framing,
  getInteger,
  type KeyWriter,
  putInteger,
  type ScalarCodec,
  type ValueRange,
  wrongLength,
} from './base.js';

// — Integers of fixed width, big-endian. Signed ones have the sign bit flipped, so that byte order is numeric order.

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

  override get copied(): { readonly first: Uint8Array; readonly last: Uint8Array } {
    return { first: this.encode(this.min), last: this.encode(this.max) };
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
    const value = getInteger(bytes, start, this.fixedLength) - this.bias;
    if (value > this.max) {
      throw badBytes(this.name, bytes, start, end, `it is ${value}, and the maximum is ${this.max}`);
    }
    return value;
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

// — 64-bit values, big-endian, as bigints and as safe integers.

const scratch = new Uint8Array(8);
const scratchView = new DataView(scratch.buffer);

/** The sign bit of the first byte: flipped, negative numbers order before the others. */
export const SIGN = 0x80;

/** Appends the 8 bytes of `value` modulo 2^64, the first one XOR `flip`. */
export function writeBigInt(value: bigint, flip: number, out: KeyWriter): void {
  scratchView.setBigUint64(0, BigInt.asUintN(64, value));
  out.ensure(8);
  const { buffer, length } = out;
  buffer[length] = scratch[0]! ^ flip;
  for (let i = 1; i < 8; i++) buffer[length + i] = scratch[i]!;
  out.length = length + 8;
}

/** A view of 8 bytes, the first one XOR `flip`. Read it at once: the view is reused. */
export function viewLong(bytes: Uint8Array, start: number, flip: number): DataView {
  for (let i = 0; i < 8; i++) scratch[i] = bytes[start + i]!;
  scratch[0] = scratch[0]! ^ flip;
  return scratchView;
}

/** Appends a safe integer as 8 bytes, two's complement, the first one XOR `flip`. */
export function writeSafe(value: number, flip: number, out: KeyWriter): void {
  out.ensure(8);
  const { buffer, length } = out;
  const high = Math.floor(value / 2 ** 32);
  const low = value - high * 2 ** 32;
  buffer[length] = ((high >> 24) & 0xff) ^ flip;
  buffer[length + 1] = high >> 16;
  buffer[length + 2] = high >> 8;
  buffer[length + 3] = high;
  buffer[length + 4] = low >>> 24;
  buffer[length + 5] = low >>> 16;
  buffer[length + 6] = low >>> 8;
  buffer[length + 7] = low;
  out.length = length + 8;
}

/** Reads 8 bytes of two's complement, the first one XOR `flip`; exact within safe integers. */
export function readSafe(bytes: Uint8Array, start: number, flip: number): number {
  const high =
    ((bytes[start]! ^ flip) << 24) | (bytes[start + 1]! << 16) | (bytes[start + 2]! << 8) | bytes[start + 3]!;
  const low =
    (bytes[start + 4]! << 24) | (bytes[start + 5]! << 16) | (bytes[start + 6]! << 8) | bytes[start + 7]!;
  return high * 2 ** 32 + (low >>> 0);
}

class SafeIntegerCodec extends BaseCodec<number> {
  readonly name = 'int53';
  readonly fixedLength = 8;

  override get copied(): { readonly first: Uint8Array; readonly last: Uint8Array } {
    return { first: this.encode(Number.MIN_SAFE_INTEGER), last: this.encode(Number.MAX_SAFE_INTEGER) };
  }

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
    if (!Number.isSafeInteger(value))
      throw badBytes(this.name, bytes, start, end, 'its absolute value is above 2^53-1');
    return value;
  }
}

/** Same bytes as `int64`, as a number. Values must be safe integers. */
export const int53: ScalarCodec<number> = new SafeIntegerCodec();

/** 8 bytes as a bigint; the sign bit flipped where negative numbers are allowed. */
export class BigIntegerCodec extends BaseCodec<bigint> {
  readonly fixedLength = 8;
  override readonly valueType = 'bigint';
  private readonly flip: number;

  constructor(
    readonly name: string,
    private readonly min: bigint,
    private readonly max: bigint,
  ) {
    super();
    this.flip = min < 0n ? SIGN : 0;
  }

  override get copied(): { readonly first: Uint8Array; readonly last: Uint8Array } {
    return { first: this.encode(this.min), last: this.encode(this.max) };
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
    if (this.flip !== 0) return view.getBigInt64(0);
    const value = view.getBigUint64(0);
    if (value > this.max) {
      throw badBytes(this.name, bytes, start, end, `it is ${value}n, and the maximum is ${this.max}n`);
    }
    return value;
  }
}

export const MIN = -(2n ** 63n);

export const MAX = 2n ** 63n - 1n;

export const int64: ScalarCodec<bigint> = new BigIntegerCodec('int64', MIN, MAX);

export const uint64: ScalarCodec<bigint> = new BigIntegerCodec('uint64', 0n, 2n ** 64n - 1n);

// — Whole numbers of any size and decimals, ordered: a length byte (80 + n for n bytes of a positive number, 7F - n for
// a negative one, 80 alone for zero), then the magnitude big-endian without leading zeros, inverted when negative.

const MAX_BYTES = 127;

export function writeBig(value: bigint, out: KeyWriter, codec: string): void {
  if (value === 0n) {
    out.push(0x80);
    return;
  }
  const negative = value < 0n;
  let hex = (negative ? -value : value).toString(16);
  if (hex.length % 2 === 1) hex = `0${hex}`;
  const count = hex.length / 2;
  if (count > MAX_BYTES) throw badValue(codec, value, `a number of at most ${MAX_BYTES} bytes`);
  out.push(negative ? 0x7f - count : 0x80 + count);
  const start = out.length;
  for (let i = 0; i < count; i++) out.push(Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16));
  if (negative) out.invert(start);
}

/** The number of magnitude bytes, given the length byte `head`. */
function sizeOf(head: number): number {
  return head >= 0x80 ? head - 0x80 : 0x7f - head;
}

export function readBig(bytes: Uint8Array, start: number, end: number, codec: string): bigint {
  const head = bytes[start];
  if (head === undefined || end - start !== 1 + sizeOf(head) || head === 0x7f) {
    throw badBytes(codec, bytes, start, end, 'its length byte is wrong');
  }
  const flip = head < 0x80 ? 0xff : 0;
  let hex = '';
  for (let i = start + 1; i < end; i++) hex += (bytes[i]! ^ flip).toString(16).padStart(2, '0');
  if (hex.startsWith('00')) throw badBytes(codec, bytes, start, end, 'it has leading zeros');
  const magnitude = hex === '' ? 0n : BigInt(`0x${hex}`);
  return flip === 0 ? magnitude : -magnitude;
}

export abstract class BigNumberCodec<T> extends BaseCodec<T> {
  readonly fixedLength = undefined;
  override readonly framing: Framing = 'self';

  override endOf(bytes: Uint8Array, start: number, mask: number): number {
    if (start >= bytes.length) return -1;
    const end = start + 1 + sizeOf(bytes[start]! ^ mask);
    return end <= bytes.length ? end : -1;
  }
}

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

/** Splits `range` at zero: in two's complement, negative and other numbers are each ordered, but not together. */
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
