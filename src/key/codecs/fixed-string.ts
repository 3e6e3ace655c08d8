import { SchemaError } from '../../errors.js';
import { describe } from '../../table/checks.js';
import { BaseCodec, badBytes, badValue, type ScalarCodec } from './base.js';
import { wrongLength } from './integer-bytes.js';
import { readUtf8, writeUtf8 } from './utf8.js';
import type { KeyWriter } from './writer.js';

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
