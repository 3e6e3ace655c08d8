import { type Place, RubyError } from './syntax-error.js';
import { equals, inspect, type RubyValue, rubyClass, toS } from './values.js';

/** The longest text that is multiplied: as long as HBase's longest values. */
const MAX_TEXT = 10n * 1024n * 1024n;

/** What `left operator right` is. */
export function operate(operator: string, left: RubyValue, right: RubyValue, place: Place): RubyValue {
  if (operator === '==') return equals(left, right);
  if (operator === '!=') return !equals(left, right);
  if (typeof left === 'string') {
    if (operator === '%') return format(left, Array.isArray(right) ? right : [right], place);
    if (operator === '*' && typeof right === 'bigint') {
      if (right < 0n || right * BigInt(left.length) > MAX_TEXT) {
        throw new RubyError(`A text of ${left.length} bytes cannot be taken ${right} times.`, place);
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
    `${rubyClass(left)} ${operator} ${rubyClass(right)} (${inspect(left)} ${operator} ${inspect(right)}) is not known.`,
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
    // Towards minus infinity, as Ruby has it.
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
      if (b < 0n || b > 10_000n) throw new RubyError(`${a} ${operator} ${b} is too much.`, place);
      return operator === '**' ? a ** b : a << b;
  }
  throw new RubyError(`The operator ${operator} is not known for integers.`, place);
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
  throw new RubyError(`The operator ${operator} is not known for floats.`, place);
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
  if (radix === undefined) throw new RubyError(`%${kind} is a format that this shell does not know.`, place);
  const digits = (typeof number === 'bigint' ? number : BigInt(Math.floor(number))).toString(radix);
  return kind === 'X' ? digits.toUpperCase() : digits;
}
