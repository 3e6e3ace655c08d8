/**
 * Reads the little of Ruby that HBase shell scripts are made of: calls without parentheses, strings in both quotes,
 * numbers, constants, true and false, hashes and arrays. Written from Ruby's rules, not from the code under test.
 */

export type RubyValue =
  | string
  | number
  | boolean
  | { readonly constant: string }
  | readonly RubyValue[]
  | ReadonlyMap<string, RubyValue>;

interface RubyCall {
  readonly name: string;
  readonly args: readonly RubyValue[];
}

export function readRuby(source: string): RubyCall[] {
  return new RubyReader(source).calls();
}

class RubyReader {
  private at = 0;
  constructor(private readonly source: string) {}

  calls(): RubyCall[] {
    const calls: RubyCall[] = [];
    for (this.blank(true); this.at < this.source.length; this.blank(true)) calls.push(this.call());
    return calls;
  }

  private call(): RubyCall {
    const name = this.match(/[a-z_]+/y, 'a command');
    this.blank(false);
    const args: RubyValue[] = [];
    const trailing = new Map<string, RubyValue>();
    for (;;) {
      const value = this.value();
      this.blank(false);
      if (this.peek('=>')) {
        this.at += 2;
        this.blank(true);
        trailing.set(keyOf(value), this.value());
        this.blank(false);
      } else {
        args.push(value);
      }
      if (!this.peek(',')) break;
      this.at++;
      this.blank(true);
    }
    if (trailing.size > 0) args.push(trailing);
    if (this.at < this.source.length && this.source[this.at] !== '\n') throw this.error('the end of a line');
    return { name, args };
  }

  private value(): RubyValue {
    const char = this.source[this.at];
    if (char === "'") return this.singleQuoted();
    if (char === '"') return this.doubleQuoted();
    if (char === '{') return this.hash();
    if (char === '[') return this.array();
    if (/[0-9]/.test(char ?? '')) return Number(this.match(/[0-9]+/y, 'a number'));
    const word = this.match(/[A-Za-z_]+/y, 'a value');
    if (word === 'true' || word === 'false') return word === 'true';
    if (!/^[A-Z]/.test(word)) throw this.error('a constant');
    return { constant: word };
  }

  /** Only `\\` and `\'` are escapes. */
  private singleQuoted(): string {
    let text = '';
    for (this.at++; ; this.at++) {
      const char = this.source[this.at];
      if (char === undefined) throw this.error("'");
      if (char === "'") break;
      const next = this.source[this.at + 1];
      if (char === '\\' && (next === '\\' || next === "'")) {
        text += next;
        this.at++;
      } else text += char;
    }
    this.at++;
    return text;
  }

  private doubleQuoted(): string {
    let text = '';
    for (this.at++; ; ) {
      const char = this.source[this.at];
      if (char === undefined) throw this.error('"');
      if (char === '"') break;
      if (char === '#' && /[{$@]/.test(this.source[this.at + 1] ?? '')) throw this.error('no interpolation');
      if (char !== '\\') {
        text += char;
        this.at++;
        continue;
      }
      this.at++;
      const unicode = /u\{([0-9a-f]+)\}/y;
      unicode.lastIndex = this.at;
      const match = unicode.exec(this.source);
      if (match) {
        text += String.fromCodePoint(Number.parseInt(match[1]!, 16));
        this.at += match[0].length;
      } else if (/["\\#]/.test(this.source[this.at] ?? '')) {
        text += this.source[this.at++];
      } else throw this.error('a known escape');
    }
    this.at++;
    return text;
  }

  private hash(): ReadonlyMap<string, RubyValue> {
    const entries = new Map<string, RubyValue>();
    this.at++;
    for (this.blank(true); !this.peek('}'); this.blank(true)) {
      const key = keyOf(this.value());
      this.blank(true);
      if (!this.peek('=>')) throw this.error('=>');
      this.at += 2;
      this.blank(true);
      if (entries.has(key)) throw new Error(`The key ${key} stands twice in a hash.`);
      entries.set(key, this.value());
      this.blank(true);
      if (this.peek(',')) this.at++;
    }
    this.at++;
    return entries;
  }

  private array(): RubyValue[] {
    const values: RubyValue[] = [];
    this.at++;
    for (this.blank(true); !this.peek(']'); this.blank(true)) {
      values.push(this.value());
      this.blank(true);
      if (this.peek(',')) this.at++;
    }
    this.at++;
    return values;
  }

  private peek(text: string): boolean {
    return this.source.startsWith(text, this.at);
  }

  private match(pattern: RegExp, what: string): string {
    pattern.lastIndex = this.at;
    const match = pattern.exec(this.source);
    if (match === null) throw this.error(what);
    this.at += match[0].length;
    return match[0];
  }

  private blank(lines: boolean): void {
    const pattern = lines ? /(?:\s|#[^\n]*)*/y : /[ \t]*/y;
    pattern.lastIndex = this.at;
    this.at += pattern.exec(this.source)![0].length;
  }

  private error(expected: string): Error {
    return new Error(`Expected ${expected} at ${this.at}: ${this.source.slice(this.at, this.at + 40)}`);
  }
}

function keyOf(value: RubyValue): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'object' && 'constant' in value) return value.constant;
  throw new Error('A key of a hash is a constant or a string.');
}
