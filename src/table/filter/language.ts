/** The filter language of the HBase shell, Thrift and REST (`filter/ParseFilter`). */

import { InvalidArgumentError } from '../../errors.js';
import type { Filter } from './filter.js';
import { filters } from './filters.js';
import { type FilterArgument, filterByName, textOf } from './language-filters.js';

const SPACE = 0x20;
const QUOTE = 0x27;
const COMMA = 0x2c;
const OPEN = 0x28;
const CLOSE = 0x29;

/** An argument between quotes ends at one that is not doubled. Deeper than anyone writes, and no deeper than the stack. */
const MAX_DEPTH = 500;

/**
 * The filter that a text describes: `PrefixFilter('a') AND (PageFilter(10) OR SKIP ValueFilter(=, 'binary:x'))`. `SKIP` and
 * `WHILE` bind tighter than `AND`, and that tighter than `OR`. A quote in a quoted argument is doubled.
 * @param text the text, or its bytes where arguments are no UTF-8.
 * @throws InvalidArgumentError naming the position at which it cannot be read, in HBase's words where it has some.
 */
export function parseFilter(text: string | Uint8Array): Filter {
  return new FilterReader(typeof text === 'string' ? Buffer.from(text, 'utf8') : text).filter();
}

class FilterReader {
  private at = 0;
  private depth = 0;

  constructor(private readonly bytes: Uint8Array) {}

  filter(): Filter {
    const filter = this.any();
    this.blank();
    if (this.at < this.bytes.length) throw this.behindTheEnd();
    return filter;
  }

  private any(): Filter {
    const parts = [this.all()];
    while (this.takeWord('OR')) {
      this.checkOperand('OR');
      parts.push(this.all());
    }
    return parts.length === 1 ? parts[0]! : filters.any(...parts);
  }

  private all(): Filter {
    const parts = [this.one()];
    while (this.takeWord('AND')) {
      this.checkOperand('AND');
      parts.push(this.one());
    }
    return parts.length === 1 ? parts[0]! : filters.all(...parts);
  }

  private one(): Filter {
    if (++this.depth > MAX_DEPTH) throw this.incorrect(`It is nested more than ${MAX_DEPTH} deep.`);
    try {
      if (this.takeWord('SKIP')) return filters.skip(this.one());
      if (this.takeWord('WHILE')) return filters.while(this.one());
      if (!this.takeByte(OPEN)) return this.simple();
      const inner = this.any();
      // HBase takes a text that ends before its parentheses are closed.
      if (!this.takeByte(CLOSE) && this.at < this.bytes.length) throw this.incorrect();
      return inner;
    } finally {
      this.depth--;
    }
  }

  private simple(): Filter {
    this.blank();
    const start = this.at;
    while (isNameByte(this.bytes[this.at])) this.at++;
    const name = textOf(this.bytes.subarray(start, this.at));
    if (name === 'AND' || name === 'OR') filterByName(name, [], name);
    if (name === '' || !this.takeByte(OPEN)) throw this.incorrect();
    const args: FilterArgument[] = [];
    while (!this.takeByte(CLOSE)) {
      if (args.length > 0 && !this.takeByte(COMMA)) throw this.incorrect();
      args.push(this.argument());
    }
    const source = textOf(this.bytes.subarray(start, this.at));
    return filterByName(name, args, source);
  }

  private argument(): FilterArgument {
    this.blank();
    const start = this.at;
    if (this.bytes[start] === QUOTE) return this.quoted();
    while (this.at < this.bytes.length && !isEnd(this.bytes[this.at]!)) this.at++;
    if (this.at === start) throw this.incorrect();
    return { bytes: this.bytes.subarray(start, this.at), quoted: false };
  }

  private quoted(): FilterArgument {
    const value: number[] = [];
    for (this.at++; ; this.at++) {
      const byte = this.bytes[this.at];
      if (byte === undefined) throw this.incorrect('A quote is not closed.');
      if (byte === QUOTE) {
        if (this.bytes[this.at + 1] !== QUOTE) break;
        this.at++;
      }
      value.push(byte);
    }
    this.at++;
    return { bytes: Uint8Array.from(value), quoted: true };
  }

  private takeByte(byte: number): boolean {
    this.blank();
    if (this.bytes[this.at] !== byte) return false;
    this.at++;
    return true;
  }

  private takeWord(word: string): boolean {
    this.blank();
    const end = this.at + word.length;
    if (textOf(this.bytes.subarray(this.at, end)) !== word || isNameByte(this.bytes[end])) return false;
    this.at = end;
    return true;
  }

  private blank(): void {
    for (
      let byte = this.bytes[this.at];
      byte === SPACE || (byte! >= 9 && byte! <= 13);
      byte = this.bytes[this.at]
    ) {
      this.at++;
    }
  }

  /** Behind an operator another one. */
  private checkOperand(operator: 'AND' | 'OR'): void {
    const { at } = this;
    const isOperator = this.takeWord('AND') || this.takeWord('OR');
    this.at = at;
    if (isOperator) throw this.incorrect('', `Incorrect input string - an ${operator} needs two filters`);
  }

  /** What is wrong with a text that goes on behind a filter. */
  private behindTheEnd(): InvalidArgumentError {
    if (this.bytes[this.at] === CLOSE) return this.incorrect('', 'Mismatched parenthesis');
    const start = this.at;
    while (isNameByte(this.bytes[this.at])) this.at++;
    const name = textOf(this.bytes.subarray(start, this.at));
    this.blank();
    if (name !== '' && this.bytes[this.at] !== OPEN) filterByName(name, [], name);
    return this.incorrect();
  }

  private incorrect(why = '', message = 'Incorrect Filter String'): InvalidArgumentError {
    return new InvalidArgumentError(message, {
      details: { filter: textOf(this.bytes), offset: this.at, ...(why === '' ? {} : { why }) },
    });
  }
}

function isNameByte(byte: number | undefined): boolean {
  return byte !== undefined && /[A-Za-z0-9_]/.test(String.fromCharCode(byte));
}

function isEnd(byte: number): boolean {
  return byte === COMMA || byte === CLOSE || byte === OPEN || byte === SPACE || byte === QUOTE;
}
