/** A text that stands in keys as the id that a dictionary gave it. */

import { KeyError } from '../../errors.js';
import { describe } from '../../table/checks.js';
import { BaseCodec, badValue } from '../codecs/base.js';
import { getInteger, putInteger } from '../codecs/integer-bytes.js';
import type { KeyWriter } from '../codecs/writer.js';
import type { KeyDictionary } from './dictionary.js';
import { MissingTextError, notMet } from './missing-text-error.js';

/** Stands for a text that has no id: no row has it. Its place in a key is the id 0, which is never given. */
export const WITHOUT_ID: unique symbol = Symbol('a text without an id');

/** Ids of `bytes` bytes, big-endian, in no order; they are looked up in what the dictionary has met. */
export class DictionaryCodec extends BaseCodec<string> {
  readonly name: string;
  override readonly ordered = false;
  override readonly hasRanges = false;

  constructor(
    readonly part: string,
    readonly fixedLength: number,
    readonly dictionary: KeyDictionary,
  ) {
    super();
    this.name = `id${fixedLength}(${dictionary.name})`;
  }

  write(value: string, out: KeyWriter): void {
    const size = this.fixedLength;
    const id = (value as unknown) === WITHOUT_ID ? 0 : this.idOf(value);
    out.ensure(size);
    putInteger(out.buffer, out.length, size, id);
    out.length += size;
  }

  private idOf(text: unknown): number {
    const { part, dictionary } = this;
    if (typeof text !== 'string') throw badValue('a dictionary', text, 'a text');
    const id = dictionary.knownId(text);
    if (id !== undefined) return id;
    throw new KeyError(notMet(part, dictionary.name, `the text ${JSON.stringify(text)}`, 'id'), {
      details: { property: part, dictionary: dictionary.name },
    });
  }

  read(bytes: Uint8Array, start: number): string {
    const id = this.readId(bytes, start);
    const text = this.dictionary.knownText(id);
    if (text === undefined) throw new MissingTextError(this.dictionary, id, this.part);
    return text;
  }

  readId(bytes: Uint8Array, start: number): number {
    return getInteger(bytes, start, this.fixedLength);
  }

  /** The text that a value is. @throws KeyError on anything else. */
  textOf(value: unknown): string {
    if (typeof value === 'string') return value;
    throw new KeyError(
      `Key part "${this.part}": ${describe(value)} is no text, and a dictionary holds only texts.`,
      { details: { property: this.part } },
    );
  }
}
