/** 64-bit values, big-endian: int64 and uint64 as bigint, int53 as a number, Dates as milliseconds. */

import { BaseCodec, badBytes, badValue, type ScalarCodec, type ValueRange } from './base.js';
import { signedPieces, wrongLength } from './integers.js';
import type { KeyWriter } from './writer.js';

const scratch = new Uint8Array(8);
const scratchView = new DataView(scratch.buffer);
const SIGN = 0x80;

/** Appends the 8 bytes of `value` modulo 2^64, the first one XOR `flip`. */
function writeBigInt(value: bigint, flip: number, out: KeyWriter): void {
  scratchView.setBigUint64(0, BigInt.asUintN(64, value));
  out.ensure(8);
  const { buffer, length } = out;
  buffer[length] = scratch[0]! ^ flip;
  for (let i = 1; i < 8; i++) buffer[length + i] = scratch[i]!;
  out.length = length + 8;
}

/** Reads 8 bytes into the scratch view, the first one XOR `flip`. */
function load(bytes: Uint8Array, start: number, flip: number): void {
  for (let i = 0; i < 8; i++) scratch[i] = bytes[start + i]!;
  scratch[0] = scratch[0]! ^ flip;
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
    load(bytes, start, this.flip);
    return this.flip === 0 ? scratchView.getBigUint64(0) : scratchView.getBigInt64(0);
  }
}

const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;

export const int64: ScalarCodec<bigint> = new BigIntegerCodec('int64', MIN, MAX);
export const uint64: ScalarCodec<bigint> = new BigIntegerCodec('uint64', 0n, 2n ** 64n - 1n);

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
    load(bytes, start, 0);
    return scratchView.getBigInt64(0);
  }

  override get order(): BaseCodec<bigint> {
    return int64 as BaseCodec<bigint>;
  }

  override pieces(range: ValueRange): readonly ValueRange[] {
    return signedPieces(range, MIN, 0n, -1n, MAX);
  }
}

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

/** Milliseconds of a valid Date. */
export function timeOf(value: unknown, codec: string): number {
  const ms = value instanceof Date ? value.getTime() : Number.NaN;
  if (Number.isNaN(ms)) throw badValue(codec, value, 'a valid Date');
  return ms;
}

/** The largest distance from 1970 that a Date can have, in ms. */
export const MAX_DATE = 8.64e15;

/** A Date as 8 bytes of two's complement ms, the first one XOR `flip`. */
export class DateCodec extends BaseCodec<Date> {
  readonly fixedLength = 8;
  override readonly ordered: boolean;

  constructor(
    readonly name: string,
    private readonly flip: number,
  ) {
    super();
    this.ordered = flip !== 0;
  }

  write(value: Date, out: KeyWriter): void {
    writeSafe(timeOf(value, this.name), this.flip, out);
  }

  read(bytes: Uint8Array, start: number, end: number): Date {
    if (end - start !== 8) throw wrongLength(this, bytes, start, end);
    const ms = readSafe(bytes, start, this.flip);
    if (Math.abs(ms) > MAX_DATE)
      throw badBytes(this.name, bytes, start, end, 'it is beyond what a Date can hold');
    return new Date(ms);
  }

  override get order(): BaseCodec<Date> {
    return date as BaseCodec<Date>;
  }

  override pieces(range: ValueRange): readonly ValueRange[] | undefined {
    if (this.ordered) return undefined;
    const bound = (end: ValueRange['lower']) =>
      end && { value: timeOf(end.value, this.name), inclusive: end.inclusive };
    const asDate = (end: ValueRange['lower']) =>
      end && { value: new Date(end.value as number), inclusive: end.inclusive };
    const numbers = { lower: bound(range.lower), upper: bound(range.upper) };
    return signedPieces(numbers, -MAX_DATE, 0, -1, MAX_DATE).map((piece) => ({
      lower: asDate(piece.lower),
      upper: asDate(piece.upper),
    }));
  }
}

/** A Date, to the millisecond, before and after 1970. */
export const date: ScalarCodec<Date> = new DateCodec('date', SIGN);
