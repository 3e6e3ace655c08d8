import { RowanError } from '../../errors.js';

/** A position in a script; both from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** A script is invalid, or uses Ruby that the shell does not support. Names line and column. */
export class RubyError extends RowanError {
  constructor(
    message: string,
    readonly place: Place,
  ) {
    super('ERR_INVALID_ARGUMENT', `line ${place.line}, column ${place.column}: ${message}`, {
      details: { line: place.line, column: place.column },
    });
  }
}

/** The text ends within a statement: more lines are needed. */
export class IncompleteError extends RubyError {}

/** An error that Ruby raises, with its class, message and place. */
export class RubyRaised extends RubyError {
  constructor(
    readonly rubyClass: string,
    readonly text: string,
    place: Place,
  ) {
    super(`${rubyClass}: ${text}`, place);
  }
}

// — Ruby values. A string is a byte string, one character (U+0000 to U+00FF) per byte: rows and values are bytes, and so
// are Ruby's strings once they contain `\xFF`. An Integer is a bigint, a Float a number.

export type RubyValue =
  | null
  | boolean
  | bigint
  | number
  | string
  | RubySymbol
  | RubyRange
  | RubyHash
  | RubyObject
  | RubyProc
  | RubyValue[];

/** `:name`. */
export class RubySymbol {
  constructor(readonly name: string) {}
}

/** `1..3` or `1...3`. */
export class RubyRange {
  constructor(
    readonly first: bigint,
    readonly last: bigint,
  ) {}
}

/** An object of the host: a table, whose methods the shell implements. */
export interface RubyObject {
  readonly rubyClass: string;
  inspect(): string;
  /** Calls a method; undefined if the object does not have it. */
  call(name: string, args: RubyValue[]): Promise<RubyValue | undefined>;
}

/** A block. */
export class RubyProc {
  constructor(readonly run: (args: readonly RubyValue[]) => Promise<RubyValue>) {}
}

/** A hash, in insertion order of its keys. */
export class RubyHash {
  private readonly entries = new Map<string, readonly [RubyValue, RubyValue]>();

  static of(pairs: Iterable<readonly [RubyValue, RubyValue]>): RubyHash {
    const hash = new RubyHash();
    for (const [key, value] of pairs) hash.set(key, value);
    return hash;
  }

  get size(): number {
    return this.entries.size;
  }

  get(key: RubyValue): RubyValue {
    return this.entries.get(identity(key))?.[1] ?? null;
  }

  has(key: RubyValue): boolean {
    return this.entries.has(identity(key));
  }

  set(key: RubyValue, value: RubyValue): void {
    this.entries.set(identity(key), [key, value]);
  }

  /** Removes and returns the value. */
  delete(key: RubyValue): RubyValue {
    const value = this.get(key);
    this.entries.delete(identity(key));
    return value;
  }

  pairs(): (readonly [RubyValue, RubyValue])[] {
    return [...this.entries.values()];
  }

  copy(): RubyHash {
    return RubyHash.of(this.pairs());
  }
}

/** A string that is equal for equal values. */
function identity(value: RubyValue): string {
  return typeof value === 'number' ? `float ${value}` : `${rubyClass(value)} ${inspect(value)}`;
}

export function equals(a: RubyValue, b: RubyValue): boolean {
  if (typeof a === 'bigint' && typeof b === 'number') return Number(a) === b;
  if (typeof a === 'number' && typeof b === 'bigint') return a === Number(b);
  return identity(a) === identity(b);
}

export function truthy(value: RubyValue): boolean {
  return value !== null && value !== false;
}

/** Encodes a JavaScript string as a byte string. */
export function fromText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII is its own UTF-8.
  return /^[\x00-\x7f]*$/.test(text) ? text : Buffer.from(text, 'utf8').toString('latin1');
}

/** Decodes a byte string to a JavaScript string; invalid UTF-8 becomes U+FFFD, as on a terminal. */
export function toText(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

export function toBinary(text: string): Uint8Array {
  return Buffer.from(text, 'latin1');
}

export function rubyClass(value: RubyValue): string {
  if (value === null) return 'NilClass';
  if (value === true) return 'TrueClass';
  if (value === false) return 'FalseClass';
  if (typeof value === 'bigint') return 'Integer';
  if (typeof value === 'number') return 'Float';
  if (typeof value === 'string') return 'String';
  if (Array.isArray(value)) return 'Array';
  if (value instanceof RubySymbol) return 'Symbol';
  if (value instanceof RubyRange) return 'Range';
  if (value instanceof RubyHash) return 'Hash';
  if (value instanceof RubyProc) return 'Proc';
  return value.rubyClass;
}

/** `to_s`, a byte string. */
export function toS(value: RubyValue): string {
  if (value === null) return '';
  if (typeof value === 'string') return value;
  if (value instanceof RubySymbol) return value.name;
  return fromText(inspect(value));
}

/** `inspect`, as text. */
export function inspect(value: RubyValue): string {
  if (value === null) return 'nil';
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (typeof value === 'number') return Number.isInteger(value) ? value.toFixed(1) : String(value);
  if (typeof value === 'string') return inspectString(value);
  if (Array.isArray(value)) return `[${value.map(inspect).join(', ')}]`;
  if (value instanceof RubySymbol) return `:${toText(value.name)}`;
  if (value instanceof RubyRange) return `${value.first}..${value.last}`;
  if (value instanceof RubyProc) return '#<Proc>';
  if (value instanceof RubyHash) {
    return `{${value
      .pairs()
      .map(([key, each]) => `${inspect(key)}=>${inspect(each)}`)
      .join(', ')}}`;
  }
  return value.inspect();
}

const NAMED: Readonly<Record<string, string>> = {
  '\n': '\\n',
  '\t': '\\t',
  '\r': '\\r',
  '\x07': '\\a',
  '\b': '\\b',
  '\x1b': '\\e',
  '\f': '\\f',
  '\v': '\\v',
  '"': '\\"',
  '\\': '\\\\',
};

function inspectString(bytes: string): string {
  const text = toText(bytes);
  // Bytes that are not valid UTF-8 are shown one by one.
  const sound = !text.includes('\ufffd');
  let out = '';
  for (const char of sound ? text : bytes) {
    const code = char.codePointAt(0)!;
    if (NAMED[char] !== undefined) out += NAMED[char];
    else if (code < 0x20 || code === 0x7f || (!sound && code > 0x7f)) out += hex(code);
    else out += char;
  }
  return `"${out.replace(/#(?=[{$@])/g, '\\#')}"`;
}

function hex(code: number): string {
  return code < 0x20 || code === 0x7f
    ? `\\u${code.toString(16).toUpperCase().padStart(4, '0')}`
    : `\\x${code.toString(16).toUpperCase()}`;
}

/** Describes a value in a message. */
export function describeValue(value: RubyValue): string {
  if (value instanceof RubySymbol) return `:${value.name}:Symbol`;
  return `${inspect(value)}:${rubyClass(value)}`;
}
