import { SchemaError } from '../../errors.js';
import { describe } from '../../table/checks.js';
import { BaseCodec, badBytes, badValue, type KeyWriter, type ScalarCodec, wrongLength } from './base.js';
import { BigNumberCodec, readBig, writeBig } from './integers.js';

const scratch = new Uint8Array(8);
const view = new DataView(scratch.buffer);

/**
 * IEEE 754 numbers, big-endian, with byte order equal to numeric order: positive numbers have the sign bit flipped,
 * negative ones all bits inverted. -0 is stored as 0. NaN is refused, or comes after all numbers, as in Java's `Double.compare`.
 */
class FloatCodec extends BaseCodec<number> {
  constructor(
    readonly name: string,
    readonly fixedLength: 4 | 8,
    /** Whether a number that 32 bits cannot hold exactly is rounded, instead of refused. */
    private readonly rounds: boolean,
    private readonly holdsNaN = false,
  ) {
    super();
  }

  write(value: number, out: KeyWriter): void {
    const size = this.fixedLength;
    const notANumber = Number.isNaN(value);
    if (typeof value !== 'number' || (notANumber && !this.holdsNaN))
      throw badValue(this.name, value, `a number${this.holdsNaN ? '' : ' other than NaN'}`);
    if (size === 8) {
      // JavaScript does not say which of the NaNs `setFloat64` writes.
      if (notANumber) view.setBigUint64(0, NAN_64);
      else view.setFloat64(0, value === 0 ? 0 : value);
    } else if (notANumber) {
      view.setUint32(0, NAN_32);
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
    if (Number.isNaN(value) && !this.holdsNaN) throw badBytes(this.name, bytes, start, end, 'it is NaN');
    if (Object.is(value, -0)) throw badBytes(this.name, bytes, start, end, 'it is -0, which is written as 0');
    return value;
  }
}

const SIGN = 0x80;
/** The NaN of Java's `Double.doubleToLongBits` and `Float.floatToIntBits`. */
const NAN_64 = 0x7ff8_0000_0000_0000n;
const NAN_32 = 0x7fc0_0000;

/** Any number except NaN, in 8 bytes. */
export const float64: ScalarCodec<number> = new FloatCodec('float64', 8, false);
/** A number that 32 bits hold exactly, in 4 bytes. Other numbers are refused rather than rounded. */
export const float32: ScalarCodec<number> = new FloatCodec('float32', 4, false);
/** The order of doubles that may be NaN. */
export const float64OrNaN: BaseCodec<number> = new FloatCodec('float64', 8, false, true);
/** The order of 32-bit numbers that may be NaN. */
export const float32OrNaN: BaseCodec<number> = new FloatCodec('float32', 4, false, true);
/** Like `float32`, but rounds to the nearest 32-bit number. For columns. */
export const float: ScalarCodec<number> = new FloatCodec('float', 4, true);

class DecimalCodec extends BigNumberCodec<string> {
  readonly name: string;

  constructor(private readonly scale: number) {
    super();
    this.name = `decimal(${scale})`;
  }

  write(value: string, out: KeyWriter): void {
    writeBig(this.unscaled(value), out, this.name);
  }

  private unscaled(value: string): bigint {
    const match = typeof value === 'string' ? /^(-?)([0-9]+)(?:\.([0-9]+))?$/.exec(value) : null;
    const fraction = match?.[3] ?? '';
    if (match === null || fraction.length > this.scale) {
      throw badValue(
        this.name,
        value,
        `a string of digits with at most ${this.scale} decimals, like "-12.5" (nothing is rounded)`,
      );
    }
    const magnitude = BigInt(match[2]! + fraction.padEnd(this.scale, '0'));
    return match[1] === '-' ? -magnitude : magnitude;
  }

  read(bytes: Uint8Array, start: number, end: number): string {
    const value = readBig(bytes, start, end, this.name);
    const digits = (value < 0n ? -value : value).toString().padStart(this.scale + 1, '0');
    const sign = value < 0n ? '-' : '';
    if (this.scale === 0) return sign + digits;
    const point = digits.length - this.scale;
    return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
  }
}

/**
 * An exact decimal number, a string in code, with `scale` (0..100) decimals. It is read back with exactly that many:
 * "12.5" with `decimal(2)` becomes "12.50". More decimals are refused, never rounded.
 */
export function decimal(scale: number): ScalarCodec<string> {
  if (!Number.isInteger(scale) || scale < 0 || scale > 100) {
    throw new SchemaError(
      `decimal(): the scale must be a whole number of digits from 0 to 100, not ${describe(scale)}.`,
    );
  }
  return new DecimalCodec(scale);
}

// — Numbers written in decimal digits.

/** Appends `digits`, padded with zeros on the left to `width`. */
export function writeDigits(digits: string, width: number, out: KeyWriter): void {
  out.ensure(width);
  const { buffer, length } = out;
  const zeros = width - digits.length;
  for (let i = 0; i < zeros; i++) buffer[length + i] = 0x30;
  for (let i = 0; i < digits.length; i++) buffer[length + zeros + i] = digits.charCodeAt(i);
  out.length = length + width;
}

/** The digits in `bytes[start..end)`. @throws RowanError `ERR_CODEC` when a byte is not a digit. */
export function readDigits(bytes: Uint8Array, start: number, end: number, codec: BaseCodec<unknown>): string {
  if (end - start !== codec.fixedLength) throw wrongLength(codec, bytes, start, end);
  let text = '';
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!;
    if (byte < 0x30 || byte > 0x39)
      throw badBytes(codec.name, bytes, start, end, 'not all of its bytes are digits');
    text += String.fromCharCode(byte);
  }
  return text;
}

/** The decimal digits of a non-negative integer with at most `width` digits. */
export function digitsOf(value: unknown, as: 'number' | 'bigint', width: number, codec: string): string {
  const right =
    as === 'number'
      ? Number.isSafeInteger(value) && (value as number) >= 0
      : typeof value === 'bigint' && value >= 0n;
  const digits = right ? String(value) : '';
  if (!right || digits.length > width) {
    const type = as === 'number' ? 'whole number' : 'bigint';
    throw badValue(codec, value, `a non-negative ${type} of at most ${width} digits`);
  }
  return digits;
}

class TextNumberCodec<T extends number | bigint> extends BaseCodec<T> {
  readonly name: string;

  constructor(
    readonly fixedLength: number,
    private readonly as: 'number' | 'bigint',
  ) {
    super();
    this.name = `textNumber(${fixedLength}${as === 'number' ? '' : ',bigint'})`;
  }

  write(value: T, out: KeyWriter): void {
    writeDigits(digitsOf(value, this.as, this.fixedLength, this.name), this.fixedLength, out);
  }

  read(bytes: Uint8Array, start: number, end: number): T {
    const digits = readDigits(bytes, start, end, this);
    if (this.as === 'bigint') return BigInt(digits) as T;
    const value = Number(digits);
    if (!Number.isSafeInteger(value)) throw badBytes(this.name, bytes, start, end, 'it is above 2^53-1');
    return value as T;
  }
}

/** A non-negative integer as exactly `width` decimal digits, which are readable in the shell. */
export function textNumber(width: number, as?: 'number'): ScalarCodec<number>;

export function textNumber(width: number, as: 'bigint'): ScalarCodec<bigint>;

export function textNumber(
  width: number,
  as: 'number' | 'bigint' = 'number',
): ScalarCodec<number> | ScalarCodec<bigint> {
  if (!Number.isInteger(width) || width < 1 || width > 38) {
    throw new SchemaError(`textNumber(${width}): the width must be a whole number of digits from 1 to 38.`);
  }
  return as === 'number' ? new TextNumberCodec<number>(width, as) : new TextNumberCodec<bigint>(width, as);
}
