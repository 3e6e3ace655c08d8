import {
  inspect,
  RubyHash,
  RubySymbol,
  type RubyValue,
  rubyClass,
  toBinary,
  toS,
  toText,
} from './ruby/index.js';

/** A command failed; the message is what the HBase shell prints after `ERROR: `. */
export class CommandError extends Error {}

// — Parses the arguments of commands: option hashes, strings, numbers.

export function textOf(value: RubyValue): string {
  return toText(toS(value));
}

export function bytesOf(value: RubyValue): Uint8Array {
  return toBinary(toS(value));
}

/**
 * Requires a string.
 * @throws CommandError in Ruby's wording.
 */
export function requireText(value: RubyValue, message: string): string {
  if (typeof value === 'string') return toText(value);
  throw new CommandError(message);
}

/** Parses a whole number, from an integer or a string of digits. */
export function integerOf(value: RubyValue, what: string): number {
  const number =
    typeof value === 'bigint'
      ? value
      : typeof value === 'string' && /^-?\d+$/.test(value)
        ? BigInt(value)
        : undefined;
  if (number === undefined && typeof value === 'string')
    throw new CommandError(`For input string: ${inspect(value)}`);
  if (number === undefined) throw new CommandError(`${what} takes a whole number, not ${inspect(value)}.`);
  if (number > BigInt(Number.MAX_SAFE_INTEGER) || number < 0n) {
    throw new CommandError(
      number < 0n ? `${what} cannot be negative: ${number}` : `${what} is too large: ${number}`,
    );
  }
  return Number(number);
}

export function booleanOf(value: RubyValue): boolean {
  return value === true || (typeof value === 'string' && value.toLowerCase() === 'true');
}

/** Options in a hash, by the names of the shell's constants. Keys other than strings are ignored. */
export class Options {
  constructor(readonly hash: RubyHash) {}

  /**
   * Requires a hash.
   * @throws CommandError for anything else.
   */
  static of(value: RubyValue, message: string): Options {
    if (value instanceof RubyHash) return new Options(value.copy());
    throw new CommandError(message);
  }

  has(name: string): boolean {
    return this.hash.has(name);
  }

  get(name: string): RubyValue {
    return this.hash.get(name);
  }

  /** Removes and returns an option. */
  take(name: string): RubyValue {
    return this.hash.delete(name);
  }

  integer(name: string): number | undefined {
    const value = this.get(name);
    return value === null ? undefined : integerOf(value, name);
  }

  flag(name: string): boolean {
    return booleanOf(this.get(name));
  }

  text(name: string): string | undefined {
    const value = this.get(name);
    return value === null ? undefined : textOf(value);
  }

  /** The options that were not taken. */
  left(): string[] {
    return this.hash.pairs().map(([key]) => (key instanceof RubySymbol ? key.name : textOf(key)));
  }

  pairs(): readonly (readonly [RubyValue, RubyValue])[] {
    return this.hash.pairs();
  }
}

/** Parses `[from, to]` of TIMERANGE; a missing bound is 0. */
export function timeRangeOf(value: RubyValue): readonly [number, number] {
  if (!Array.isArray(value) || value.length === 0) {
    throw new CommandError(`TIMERANGE takes an array of two timestamps, not ${inspect(value)}.`);
  }
  const [from, to] = [integerOf(value[0]!, 'TIMERANGE'), integerOf(value[1] ?? 0n, 'TIMERANGE')];
  if (to < from) throw new CommandError('maxStamp is smaller than minStamp');
  return [from, to];
}

/** Strings: one, or an array of them. */
export function textsOf(value: RubyValue): string[] {
  return Array.isArray(value) ? value.flatMap(textsOf) : value === null ? [] : [toS(value)];
}

export function failedParse(value: RubyValue): CommandError {
  return new CommandError(`Failed parse of ${inspect(value)}, ${rubyClass(value)}`);
}
