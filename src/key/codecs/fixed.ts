import { copyBytes } from '../../bytes/index.js';
import { SchemaError } from '../../errors.js';
import { describe } from '../../table/checks.js';
import {
  BaseCodec,
  badBytes,
  badValue,
  type Framing,
  type KeyWriter,
  type ScalarCodec,
  wrongLength,
} from './base.js';
import { readUtf8, writeUtf8 } from './text.js';

class FixedBytesCodec extends BaseCodec<Uint8Array> {
  readonly name: string;

  constructor(
    readonly fixedLength: number,
    private readonly pad: number | undefined,
  ) {
    super();
    this.name = `fixedBytes(${fixedLength}${pad === undefined ? '' : `,${pad}`})`;
  }

  write(value: Uint8Array, out: KeyWriter): void {
    const { fixedLength, pad } = this;
    if (!(value instanceof Uint8Array)) throw badValue(this.name, value, 'a Uint8Array');
    if (value.length > fixedLength || (pad === undefined && value.length < fixedLength)) {
      const limit = pad === undefined ? 'exactly' : 'at most';
      throw badValue(this.name, value, `${limit} ${fixedLength} bytes`);
    }
    if (pad !== undefined) this.checkPadding(value, pad);
    out.append(value);
    for (let i = value.length; i < fixedLength; i++) out.push(pad!);
  }

  private checkPadding(value: Uint8Array, pad: number): void {
    if (value.at(-1) === pad)
      throw badValue(this.name, value, `bytes that do not end with the padding byte ${pad}`);
    if (value.some((byte) => byte < pad)) {
      throw badValue(
        this.name,
        value,
        `bytes of at least ${pad}, since smaller ones than the padding would sort wrongly`,
      );
    }
  }

  read(bytes: Uint8Array, start: number, end: number): Uint8Array {
    if (end - start !== this.fixedLength) throw wrongLength(this, bytes, start, end);
    let last = end;
    const { pad } = this;
    if (pad !== undefined) {
      while (last > start && bytes[last - 1] === pad) last--;
      for (let i = start; i < last; i++) {
        if (bytes[i]! < pad)
          throw badBytes(this.name, bytes, start, end, `it has a byte below the padding ${pad}`);
      }
    }
    return copyBytes(bytes.subarray(start, last));
  }

  override writePrefix(value: unknown, out: KeyWriter): boolean {
    if (!(value instanceof Uint8Array) || value.length > this.fixedLength) {
      throw badValue(this.name, value, `at most ${this.fixedLength} bytes`);
    }
    out.append(value);
    return this.pad === undefined || value.at(-1) !== this.pad;
  }
}

/**
 * Bytes of a fixed width. Without `pad` values have exactly `width` bytes; with `pad` (a byte), up to `width`, padded
 * at the end. Padded values may not end with the padding byte.
 */
export function fixedBytes(width: number, pad?: number): ScalarCodec<Uint8Array> {
  if (!Number.isInteger(width) || width < 1 || width > 32767) {
    throw new SchemaError(
      `fixedBytes(): the width must be a whole number of bytes from 1 to 32767, not ${describe(width)}.`,
    );
  }
  if (pad !== undefined && (!Number.isInteger(pad) || pad < 0 || pad > 255)) {
    throw new SchemaError(`fixedBytes(${width}): the padding must be a byte, 0..255, not ${describe(pad)}.`);
  }
  return new FixedBytesCodec(width, pad);
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
    if (typeof value !== 'string') throw badValue(this.name, value, 'a string');
    const end = out.length + this.fixedLength;
    this.writeText(value, out);
    if (value.endsWith(this.pad)) {
      throw badValue(
        this.name,
        value,
        `a string that does not end with the padding ${JSON.stringify(this.pad)}`,
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
      throw badValue(
        this.name,
        value,
        `a string of at most ${this.fixedLength} bytes of UTF-8 (it has ${length})`,
      );
    }
    for (let i = start; i < out.length; i++) {
      if (out.buffer[i]! < this.padByte) {
        throw badValue(
          this.name,
          value,
          'a string without characters below the padding, which would sort wrongly',
        );
      }
    }
  }

  read(bytes: Uint8Array, start: number, end: number): string {
    if (end - start !== this.fixedLength) throw wrongLength(this, bytes, start, end);
    let last = end;
    while (last > start && bytes[last - 1] === this.padByte) last--;
    for (let i = start; i < last; i++) {
      if (bytes[i]! < this.padByte) {
        throw badBytes(this.name, bytes, start, end, 'it has a byte below the padding');
      }
    }
    return readUtf8(bytes, start, last, this.name);
  }

  override writePrefix(value: unknown, out: KeyWriter): boolean {
    if (typeof value !== 'string') throw badValue(this.name, value, 'a string');
    this.writeText(value, out);
    return !value.endsWith(this.pad);
  }
}

/**
 * Text of at most `width` bytes of UTF-8, padded with `pad` (one ASCII character, default a space). Longer text, text
 * that ends with the padding, and text with a character below it are refused.
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

/** A boolean in one byte: `no` or `yes`. */
export class BooleanCodec extends BaseCodec<boolean> {
  readonly fixedLength = 1;

  constructor(
    readonly name: string,
    private readonly yes: number,
  ) {
    super();
  }

  override get copied(): { readonly first: Uint8Array; readonly last: Uint8Array } | undefined {
    return this.yes === 1 ? { first: Uint8Array.of(0), last: Uint8Array.of(1) } : undefined;
  }

  write(value: boolean, out: KeyWriter): void {
    if (typeof value !== 'boolean') throw badValue(this.name, value, 'true or false');
    out.push(value ? this.yes : 0);
  }

  read(bytes: Uint8Array, start: number, end: number): boolean {
    if (end - start !== 1) throw wrongLength(this, bytes, start, end);
    const byte = bytes[start]!;
    if (byte !== 0 && byte !== this.yes)
      throw badBytes(this.name, bytes, start, end, `it is neither 0 nor ${this.yes}`);
    return byte !== 0;
  }
}

/** 00 or 01: false before true. */
export const boolean: ScalarCodec<boolean> = new BooleanCodec('boolean', 1);

/** Any byte string, in unsigned lexicographic order. */
export class BytesCodec extends BaseCodec<Uint8Array> {
  readonly fixedLength = undefined;
  override readonly valueType = 'bytes';
  override readonly framing: Framing;

  constructor(
    readonly name: string,
    framing: Framing = 'escaped',
  ) {
    super();
    this.framing = framing;
  }

  write(value: Uint8Array, out: KeyWriter): void {
    if (!(value instanceof Uint8Array)) throw badValue(this.name, value, 'a Uint8Array');
    out.append(value);
  }

  read(bytes: Uint8Array, start: number, end: number): Uint8Array {
    return copyBytes(bytes.subarray(start, end));
  }

  override writePrefix(value: unknown, out: KeyWriter): boolean {
    this.write(value as Uint8Array, out);
    return true;
  }

  override encode(value: Uint8Array): Uint8Array {
    if (!(value instanceof Uint8Array)) throw badValue(this.name, value, 'a Uint8Array');
    return copyBytes(value);
  }
}

export const bytes: ScalarCodec<Uint8Array> = new BytesCodec('bytes');
