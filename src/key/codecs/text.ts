/** Text: UTF-8 of any length, of fixed width, and numbers written in digits. */

import { SchemaError } from '../../errors.js';
import { describe } from '../../table/checks.js';
import { BaseCodec, badBytes, badValue, type Framing, type ScalarCodec } from './base.js';
import { wrongLength } from './integers.js';
import { readUtf8, writeUtf8 } from './utf8.js';
import type { KeyWriter } from './writer.js';

/** Any well-formed text, in the order of its UTF-8 bytes (which is the order of code points). */
export class StringCodec extends BaseCodec<string> {
  readonly fixedLength = undefined;
  override readonly framing: Framing;
  override readonly separator: number;
  override readonly endsLast: boolean;
  override readonly ordered: boolean;

  constructor(
    readonly name: string,
    framing: Framing = 'escaped',
    separator = 0,
    endsLast = false,
  ) {
    super();
    this.framing = framing;
    this.separator = separator;
    this.endsLast = endsLast;
    // A byte below the separator would sort before the end of a shorter text.
    this.ordered = separator === 0;
  }

  write(value: string, out: KeyWriter): void {
    if (typeof value !== 'string') throw badValue(this.name, value, 'a text');
    writeUtf8(value, out, this.name);
  }

  read(bytes: Uint8Array, start: number, end: number): string {
    return readUtf8(bytes, start, end, this.name);
  }

  override writePrefix(value: unknown, out: KeyWriter): boolean {
    this.write(value as string, out);
    return true;
  }

  override get order(): BaseCodec<string> {
    return text as BaseCodec<string>;
  }
}

export const text: ScalarCodec<string> = new StringCodec('text');

/** A text that `separator` (one ASCII character) ends where more follows; it must not hold it. */
export function separatedString(name: string, separator: string): ScalarCodec<string> {
  if (separator.length !== 1 || separator.charCodeAt(0) > 0x7f) {
    throw new SchemaError(`${name}: the separator must be one ASCII character.`);
  }
  return new StringCodec(name, 'separated', separator.charCodeAt(0));
}

class FixedStringCodec extends BaseCodec<string> {
  readonly name: string;
  private readonly padByte: number;

  constructor(
    readonly fixedLength: number,
    private readonly pad: string,
  ) {
    super();
    this.padByte = pad.charCodeAt(0);
    this.name = `fixedString(${fixedLength}${pad === ' ' ? '' : `,${JSON.stringify(pad)}`})`;
  }

  write(value: string, out: KeyWriter): void {
    if (typeof value !== 'string') throw badValue(this.name, value, 'a text');
    const end = out.length + this.fixedLength;
    this.writeText(value, out);
    if (value.endsWith(this.pad)) {
      throw badValue(
        this.name,
        value,
        `a text that does not end with the padding ${JSON.stringify(this.pad)}`,
      );
    }
    out.ensure(end - out.length);
    out.buffer.fill(this.padByte, out.length, end);
    out.length = end;
  }

  private writeText(value: string, out: KeyWriter): void {
    const start = out.length;
    writeUtf8(value, out, this.name);
    const length = out.length - start;
    if (length > this.fixedLength) {
      throw badValue(this.name, value, `a text of at most ${this.fixedLength} bytes, and this has ${length}`);
    }
    for (let i = start; i < out.length; i++) {
      if (out.buffer[i]! < this.padByte) {
        throw badValue(this.name, value, 'without characters below the padding, which would sort wrongly');
      }
    }
  }

  read(bytes: Uint8Array, start: number, end: number): string {
    if (end - start !== this.fixedLength) throw wrongLength(this, bytes, start, end);
    let last = end;
    while (last > start && bytes[last - 1] === this.padByte) last--;
    for (let i = start; i < last; i++) {
      if (bytes[i]! < this.padByte) {
        throw badBytes(this.name, bytes, start, end, 'a byte below the padding stands in it');
      }
    }
    return readUtf8(bytes, start, last, this.name);
  }

  override writePrefix(value: unknown, out: KeyWriter): boolean {
    if (typeof value !== 'string') throw badValue(this.name, value, 'a text');
    this.writeText(value, out);
    return !value.endsWith(this.pad);
  }
}

/**
 * A text of at most `width` bytes of UTF-8, filled up with `pad` (one ASCII character, default a space). A longer
 * text, one that ends with the padding, or one with a character below it is an error.
 */
export function fixedString(width: number, pad = ' '): ScalarCodec<string> {
  if (!Number.isInteger(width) || width < 1 || width > 32767) {
    throw new SchemaError(
      `fixedString(): the width must be a whole number of bytes from 1 to 32767, not ${describe(width)}.`,
    );
  }
  if (typeof pad !== 'string' || pad.length !== 1 || pad.charCodeAt(0) > 0x7f) {
    throw new SchemaError(
      `fixedString(${width}): the padding must be one ASCII character, not ${describe(pad)}.`,
    );
  }
  return new FixedStringCodec(width, pad);
}

/** Appends `digits`, padded with zeros on the left to `width`. */
export function writeDigits(digits: string, width: number, out: KeyWriter): void {
  out.ensure(width);
  const { buffer, length } = out;
  const zeros = width - digits.length;
  for (let i = 0; i < zeros; i++) buffer[length + i] = 0x30;
  for (let i = 0; i < digits.length; i++) buffer[length + zeros + i] = digits.charCodeAt(i);
  out.length = length + width;
}

/** The digits of `bytes[start..end)`. @throws RowanError `ERR_CODEC` when a byte is no digit. */
export function readDigits(bytes: Uint8Array, start: number, end: number, codec: BaseCodec<unknown>): string {
  if (end - start !== codec.fixedLength) throw wrongLength(codec, bytes, start, end);
  let text = '';
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!;
    if (byte < 0x30 || byte > 0x39)
      throw badBytes(codec.name, bytes, start, end, 'it has other bytes than digits');
    text += String.fromCharCode(byte);
  }
  return text;
}

/** The digits of a whole number that is not negative and has no more than `width` of them. */
export function digitsOf(value: unknown, as: 'number' | 'bigint', width: number, codec: string): string {
  const right =
    as === 'number'
      ? Number.isSafeInteger(value) && (value as number) >= 0
      : typeof value === 'bigint' && value >= 0n;
  const digits = right ? String(value) : '';
  if (!right || digits.length > width) {
    const type = as === 'number' ? 'whole number' : 'bigint';
    throw badValue(codec, value, `a ${type} from 0 on with at most ${width} digits`);
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
    if (!Number.isSafeInteger(value)) throw badBytes(this.name, bytes, start, end, 'it is beyond 2^53-1');
    return value as T;
  }
}

/** A whole number from 0 on as exactly `width` decimal digits: readable in the shell. */
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
