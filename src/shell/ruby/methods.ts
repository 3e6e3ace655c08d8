import {
  describeValue,
  equals,
  fromText,
  inspect,
  type Place,
  RubyError,
  RubyHash,
  type RubyProc,
  RubyRaised,
  RubyRange,
  RubySymbol,
  type RubyValue,
  rubyClass,
  toS,
  toText,
  truthy,
} from './values.js';

// — The methods of arrays and other iterable values.

/** Undefined for arguments that the method does not accept. */
type Method = (
  args: readonly RubyValue[],
  block: RubyProc | undefined,
) => RubyValue | undefined | Promise<RubyValue | undefined>;

function arrayMethod(items: RubyValue[], name: string): Method | undefined {
  return plainArrayMethod(items, name) ?? blockArrayMethod(items, name);
}

function plainArrayMethod(items: RubyValue[], name: string): Method | undefined {
  switch (name) {
    case 'length':
    case 'size':
      return () => BigInt(items.length);
    case 'count':
      return (args, block) => (args.length === 0 && block === undefined ? BigInt(items.length) : undefined);
    case 'empty?':
      return () => items.length === 0;
    case 'first':
    case 'last':
      return ([count]) => {
        if (typeof count === 'bigint')
          return name === 'first'
            ? items.slice(0, Number(count))
            : items.slice(-Number(count) || items.length);
        return (name === 'first' ? items[0] : items.at(-1)) ?? null;
      };
    case '[]':
      return ([index]) => (typeof index === 'bigint' ? (items.at(Number(index)) ?? null) : undefined);
    case '[]=':
      return ([index, value]) => {
        if (typeof index !== 'bigint' || value === undefined || index < 0n || index > BigInt(items.length))
          return undefined;
        items[Number(index)] = value;
        return value;
      };
    case 'push':
    case 'append':
      return (args) => {
        items.push(...args);
        return items;
      };
    case 'join':
      return ([by]) => items.map(toS).join(by === undefined ? '' : toS(by));
    case 'include?':
      return ([wanted]) => (wanted === undefined ? undefined : items.some((item) => equals(item, wanted)));
    case 'reverse':
      return () => [...items].reverse();
    case 'flatten':
      return () => flatten(items);
    case 'compact':
      return () => items.filter((item) => item !== null);
    case 'uniq':
      return () => items.filter((item, index) => items.findIndex((other) => equals(item, other)) === index);
    case 'sort':
      return (_, block) => (block === undefined ? [...items].sort(order) : undefined);
    case 'min':
    case 'max':
      return () => [...items].sort(order).at(name === 'min' ? 0 : -1) ?? null;
    case 'to_a':
      return () => items;
    default:
      return undefined;
  }
}

function order(a: RubyValue, b: RubyValue): number {
  if (typeof a === 'string' && typeof b === 'string') return a < b ? -1 : a > b ? 1 : 0;
  return Number(a) - Number(b);
}

function blockArrayMethod(items: readonly RubyValue[], name: string): Method | undefined {
  const withBlock = (use: (block: RubyProc) => Promise<RubyValue>): Method => {
    return (_, block) => (block === undefined ? undefined : use(block));
  };
  const kept = (wanted: boolean): Method =>
    withBlock(async (block) => {
      const found: RubyValue[] = [];
      for (const item of items) if (truthy(await block.run([item])) === wanted) found.push(item);
      return found;
    });
  switch (name) {
    case 'each':
      return withBlock(async (block) => {
        for (const item of items) await block.run([item]);
        return [...items];
      });
    case 'each_with_index':
      return withBlock(async (block) => {
        for (const [index, item] of items.entries()) await block.run([item, BigInt(index)]);
        return [...items];
      });
    case 'map':
    case 'collect':
      return withBlock(async (block) => {
        const found: RubyValue[] = [];
        for (const item of items) found.push(await block.run([item]));
        return found;
      });
    case 'select':
    case 'filter':
      return kept(true);
    case 'reject':
      return kept(false);
    case 'any?':
      return (_, block) => (block === undefined ? items.some(truthy) : someOf(items, block));
    default:
      return undefined;
  }
}

async function someOf(items: readonly RubyValue[], block: RubyProc): Promise<boolean> {
  for (const item of items) if (truthy(await block.run([item]))) return true;
  return false;
}

function flatten(items: readonly RubyValue[]): RubyValue[] {
  return items.flatMap((item) => (Array.isArray(item) ? flatten(item) : [item]));
}

/** The longest result of a string multiplication: the largest value in HBase. */
const MAX_TEXT = 10n * 1024n * 1024n;

/** Evaluates `left operator right`. */
export function operate(operator: string, left: RubyValue, right: RubyValue, place: Place): RubyValue {
  if (operator === '==') return equals(left, right);
  if (operator === '!=') return !equals(left, right);
  if (typeof left === 'string') {
    if (operator === '%') return format(left, Array.isArray(right) ? right : [right], place);
    if (operator === '*' && typeof right === 'bigint') {
      if (right < 0n || right * BigInt(left.length) > MAX_TEXT) {
        throw new RubyError(`A string of ${left.length} bytes cannot be repeated ${right} times.`, place);
      }
      return left.repeat(Number(right));
    }
    if (typeof right === 'string') {
      if (operator === '+' || operator === '<<') return left + right;
      const order = compare(operator, left < right, left === right);
      if (order !== undefined) return order;
    }
  }
  if (Array.isArray(left)) {
    if (operator === '+' && Array.isArray(right)) return [...left, ...right];
    if (operator === '-' && Array.isArray(right))
      return left.filter((each) => !right.some((other) => equals(each, other)));
    if (operator === '<<') {
      left.push(right);
      return left;
    }
  }
  if (typeof left === 'bigint' && typeof right === 'bigint') return integers(operator, left, right, place);
  if (isNumber(left) && isNumber(right)) return floats(operator, Number(left), Number(right), place);
  throw new RubyError(
    `${rubyClass(left)} ${operator} ${rubyClass(right)} (${inspect(left)} ${operator} ${inspect(right)}) is not supported.`,
    place,
  );
}

function isNumber(value: RubyValue): value is bigint | number {
  return typeof value === 'bigint' || typeof value === 'number';
}

function compare(operator: string, less: boolean, equal: boolean): boolean | undefined {
  if (operator === '<') return less;
  if (operator === '<=') return less || equal;
  if (operator === '>') return !less && !equal;
  return operator === '>=' ? !less : undefined;
}

function integers(operator: string, a: bigint, b: bigint, place: Place): RubyValue {
  const order = compare(operator, a < b, a === b);
  if (order !== undefined) return order;
  if ((operator === '/' || operator === '%') && b === 0n) throw new RubyError('divided by 0', place);
  switch (operator) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    // Rounds towards minus infinity, as in Ruby.
    case '/':
      return (a - modulo(a, b)) / b;
    case '%':
      return modulo(a, b);
    case '&':
      return a & b;
    case '|':
      return a | b;
    case '**':
    case '<<':
      if (b < 0n || b > 10_000n) throw new RubyError(`${a} ${operator} ${b} is too large.`, place);
      return operator === '**' ? a ** b : a << b;
  }
  throw new RubyError(`The operator ${operator} is not supported for integers.`, place);
}

function modulo(a: bigint, b: bigint): bigint {
  const rest = a % b;
  return rest !== 0n && rest < 0n !== b < 0n ? rest + b : rest;
}

function floats(operator: string, a: number, b: number, place: Place): RubyValue {
  const order = compare(operator, a < b, a === b);
  if (order !== undefined) return order;
  if (operator === '+') return a + b;
  if (operator === '-') return a - b;
  if (operator === '*') return a * b;
  if (operator === '/') return a / b;
  if (operator === '**') return a ** b;
  throw new RubyError(`The operator ${operator} is not supported for floats.`, place);
}

/** `'%05d' % 3`: %d, %s, %x, %o, %b, %f and %%, with flags, width and precision. */
function format(text: string, args: readonly RubyValue[], place: Place): string {
  let next = 0;
  return text.replace(
    /%([-0+ ]*)(\d*)(?:\.(\d+))?([a-zA-Z%])/g,
    (whole, flags: string, width: string, precision: string | undefined, kind: string) => {
      if (kind === '%') return '%';
      if (Number(width) > 10_000) throw new RubyError(`${whole} is too wide.`, place);
      if (next >= args.length) throw new RubyError(`${whole} has no value: too few arguments.`, place);
      const value = args[next++]!;
      let out = directive(kind, value, precision, place);
      if (flags.includes('+') && /[dif]/.test(kind) && !out.startsWith('-')) out = `+${out}`;
      if (flags.includes('-')) return out.padEnd(Number(width));
      if (!flags.includes('0') || kind === 's') return out.padStart(Number(width));
      const sign = /^[-+]/.exec(out)?.[0] ?? '';
      return sign + out.slice(sign.length).padStart(Number(width) - sign.length, '0');
    },
  );
}

function directive(kind: string, value: RubyValue, precision: string | undefined, place: Place): string {
  if (kind === 's') return toS(value).slice(0, precision === undefined ? undefined : Number(precision));
  if (kind === 'p') return inspect(value);
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (!isNumber(number)) throw new RubyError(`%${kind} takes a number, not ${inspect(value)}.`, place);
  if (kind === 'f') return Number(number).toFixed(Math.min(Number(precision ?? 6), 100));
  const radix = { d: 10, i: 10, x: 16, X: 16, o: 8, b: 2 }[kind];
  if (radix === undefined) throw new RubyError(`This shell does not support the format %${kind}.`, place);
  const digits = (typeof number === 'bigint' ? number : BigInt(Math.floor(number))).toString(radix);
  return kind === 'X' ? digits.toUpperCase() : digits;
}

// — Methods of Ruby's own classes that scripts use.

/**
 * Calls a method.
 * @throws RubyError for an unknown method, with its place.
 */
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
