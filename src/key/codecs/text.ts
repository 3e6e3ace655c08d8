import { SchemaError } from '../../errors.js';
import { BaseCodec, badValue, type Framing, type ScalarCodec } from './base.js';
import { StoredText } from './stored-text.js';
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
    if (typeof value === 'string') writeUtf8(value, out, this.name);
    else if ((value as unknown) instanceof StoredText) (value as StoredText).write(out);
    else throw badValue(this.name, value, 'a text');
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
