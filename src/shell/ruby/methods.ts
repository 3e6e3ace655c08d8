/** The methods of Ruby's own classes that scripts use. */

import { arrayMethod, type Method } from './array-methods.js';
import { operate } from './operators.js';
import { type Place, RubyError, RubyRaised } from './syntax-error.js';
import {
  describeValue,
  fromText,
  inspect,
  RubyHash,
  type RubyProc,
  RubyRange,
  RubySymbol,
  type RubyValue,
  rubyClass,
  toS,
  toText,
} from './values.js';

/** @throws RubyError for a method that is not known, with its place. */
export async function callMethod(
  value: RubyValue,
  name: string,
  args: readonly RubyValue[],
  block: RubyProc | undefined,
  place: Place,
): Promise<RubyValue> {
  const method: Method | undefined = isObject(value)
    ? (given) => value.call(name, [...given])
    : (ofEvery(value, name) ?? ofClass(value, name, place));
  const answer = await method?.(args, block);
  if (answer !== undefined) return answer;
  const given =
    method === undefined || isObject(value)
      ? ''
      : `, given ${args.length} arguments${block ? ' and a block' : ''},`;
  throw new RubyRaised(
    'NoMethodError',
    `undefined method \`${name}'${given} for ${describeValue(value)}`,
    place,
  );
}

function isObject(value: RubyValue): value is Extract<RubyValue, { call: unknown }> {
  return typeof value === 'object' && value !== null && 'rubyClass' in value;
}

function ofEvery(value: RubyValue, name: string): Method | undefined {
  switch (name) {
    case 'nil?':
      return () => value === null;
    case 'to_s':
      return ([radix]) =>
        typeof value === 'bigint' && typeof radix === 'bigint' ? value.toString(Number(radix)) : toS(value);
    case 'inspect':
      return () => fromText(inspect(value));
    case 'class':
      return () => rubyClass(value);
    case 'freeze':
    case 'dup':
      return () => (value instanceof RubyHash ? value.copy() : Array.isArray(value) ? [...value] : value);
    default:
      return undefined;
  }
}

function ofClass(value: RubyValue, name: string, place: Place): Method | undefined {
  if (typeof value === 'string') return stringMethod(value, name, place);
  if (Array.isArray(value)) return arrayMethod(value, name);
  if (value instanceof RubyRange && name === 'each') return eachOf(value);
  if (value instanceof RubyRange)
    return name === 'first' || name === 'begin' ? () => value.first : arrayMethod(members(value), name);
  if (value instanceof RubyHash) return hashMethod(value, name);
  if (typeof value === 'bigint' || typeof value === 'number') return numberMethod(value, name, place);
  if (value instanceof RubySymbol && name === 'to_sym') return () => value;
  if (value === null && name === 'to_a') return () => [];
  return undefined;
}

function stringMethod(text: string, name: string, place: Place): Method | undefined {
  const simple: Record<string, () => RubyValue> = {
    upcase: () => text.toUpperCase(),
    downcase: () => text.toLowerCase(),
    capitalize: () => text.slice(0, 1).toUpperCase() + text.slice(1).toLowerCase(),
    length: () => BigInt([...toText(text)].length),
    bytesize: () => BigInt(text.length),
    bytes: () => [...text].map((char) => BigInt(char.charCodeAt(0))),
    chars: () => [...toText(text)].map(fromText),
    reverse: () => fromText([...toText(text)].reverse().join('')),
    strip: () => text.trim(),
    chomp: () => text.replace(/\r?\n$/, ''),
    'empty?': () => text === '',
    to_i: () => BigInt(/^\s*([-+]?\d+)/.exec(text)?.[1]?.replace('+', '') ?? 0),
    to_f: () => Number.parseFloat(text) || 0,
    to_sym: () => new RubySymbol(text),
    hex: () => BigInt(/^(?:0x)?([0-9a-f]+)/i.exec(text) ? `0x${/^(?:0x)?([0-9a-f]+)/i.exec(text)![1]}` : 0),
    ord: () => BigInt(text.charCodeAt(0) || 0),
    size: () => BigInt([...toText(text)].length),
  };
  if (Object.hasOwn(simple, name)) return (args) => (args.length === 0 ? simple[name]!() : undefined);
  const take = (use: (first: string, second: RubyValue | undefined) => RubyValue): Method => {
    return ([first, second]) => (typeof first === 'string' ? use(first, second) : undefined);
  };
  switch (name) {
    case 'start_with?':
      return take((other) => text.startsWith(other));
    case 'end_with?':
      return take((other) => text.endsWith(other));
    case 'include?':
      return take((other) => text.includes(other));
    case 'concat':
      return take((other) => text + other);
    case 'gsub':
      return take((from, to) => text.replaceAll(from, toS(to ?? '')));
    case 'sub':
      return take((from, to) => text.replace(from, () => toS(to ?? '')));
    case 'split':
      return ([by]) =>
        by === undefined ? text.trim().split(/\s+/) : typeof by === 'string' ? text.split(by) : undefined;
    case 'rjust':
    case 'ljust':
      return ([width, fill]) => {
        if (typeof width !== 'bigint') return undefined;
        if (width > 100_000n) throw new RubyError(`${name} ${width} is too wide.`, place);
        const filler = typeof fill === 'string' ? fill : ' ';
        return name === 'rjust' ? text.padStart(Number(width), filler) : text.padEnd(Number(width), filler);
      };
    case '[]':
      return ([first, second]) => {
        if (first instanceof RubyRange) return text.slice(Number(first.first), Number(first.last) + 1);
        if (typeof first !== 'bigint') return undefined;
        const start = Number(first) < 0 ? text.length + Number(first) : Number(first);
        return text.slice(start, start + (typeof second === 'bigint' ? Number(second) : 1));
      };
    default:
      return undefined;
  }
}

function numberMethod(value: bigint | number, name: string, place: Place): Method | undefined {
  const one = typeof value === 'bigint' ? 1n : 1;
  switch (name) {
    case 'to_i':
    case 'floor':
      return () =>
        typeof value === 'bigint' ? value : BigInt(name === 'floor' ? Math.floor(value) : Math.trunc(value));
    case 'to_f':
      return () => Number(value);
    case 'abs':
      return () => (value < 0 ? -value : value);
    case 'round':
      return () => (typeof value === 'bigint' ? value : BigInt(Math.round(value)));
    case 'chr':
      return () => String.fromCharCode(Number(value) & 0xff);
    case 'succ':
    case 'next':
      return () => operate('+', value, one, place);
    case 'even?':
      return () => (typeof value === 'bigint' ? value % 2n === 0n : undefined);
    case 'odd?':
      return () => (typeof value === 'bigint' ? value % 2n !== 0n : undefined);
    case 'zero?':
      return () => Number(value) === 0;
    case 'times':
      return async (_, block) => {
        if (block === undefined || typeof value !== 'bigint') return undefined;
        for (let i = 0n; i < value; i++) await block.run([i]);
        return value;
      };
    case 'upto':
    case 'downto':
    case 'step':
      return async ([end, by], block) => {
        if (block === undefined || typeof value !== 'bigint' || typeof end !== 'bigint') return undefined;
        const step = name === 'downto' ? -1n : typeof by === 'bigint' ? by : 1n;
        if (step === 0n) return undefined;
        for (let i = value; step > 0n ? i <= end : i >= end; i += step) await block.run([i]);
        return value;
      };
    default:
      return undefined;
  }
}

function hashMethod(hash: RubyHash, name: string): Method | undefined {
  switch (name) {
    case '[]':
      return ([key]) => (key === undefined ? undefined : hash.get(key));
    case '[]=':
      return ([key, value]) => {
        if (key === undefined || value === undefined) return undefined;
        hash.set(key, value);
        return value;
      };
    case 'keys':
      return () => hash.pairs().map(([key]) => key);
    case 'values':
      return () => hash.pairs().map(([, value]) => value);
    case 'key?':
    case 'has_key?':
    case 'include?':
      return ([key]) => (key === undefined ? undefined : hash.has(key));
    case 'delete':
      return ([key]) => (key === undefined ? undefined : hash.delete(key));
    case 'merge':
      return ([other]) =>
        other instanceof RubyHash ? RubyHash.of([...hash.pairs(), ...other.pairs()]) : undefined;
    case 'each':
    case 'each_pair':
      return async (_, block) => {
        if (block === undefined) return undefined;
        for (const [key, value] of hash.pairs()) await block.run([key, value]);
        return hash;
      };
    default:
      return arrayMethod(
        hash.pairs().map(([key, value]) => [key, value]),
        name,
      );
  }
}

function eachOf(range: RubyRange): Method {
  return async (_, block) => {
    if (block === undefined) return undefined;
    for (let i = range.first; i <= range.last; i++) await block.run([i]);
    return range;
  };
}

function members(range: RubyRange): RubyValue[] {
  const found: RubyValue[] = [];
  for (let i = range.first; i <= range.last; i++) found.push(i);
  return found;
}
