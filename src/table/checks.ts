import { type BytesLike, toBytes, toHex } from '../bytes/index.js';
import { InvalidArgumentError } from '../errors.js';

// — Cells, as HBase has them (`KeyValue`, research rules R1-R8).

/**
 * The type of a cell. The codes are HBase's and are stored in files and sent to servers: FROZEN.
 * Of two cells with the same row, column and timestamp the one with the higher code sorts first.
 */
export const CellType = {
  /** A value. */
  Put: 4,
  /** Hides the put with exactly this timestamp in this column. */
  Delete: 8,
  /** Hides the puts with exactly this timestamp in every column of the family. */
  DeleteFamilyVersion: 10,
  /** Hides the puts of this column up to this timestamp. */
  DeleteColumn: 12,
  /** Hides the puts of every column of the family up to this timestamp. */
  DeleteFamily: 14,
} as const;
export type CellType = (typeof CellType)[keyof typeof CellType];

/**
 * "The time at which the server applies it", HBase's `LATEST_TIMESTAMP` (there `Long.MAX_VALUE`, here 2^53-1).
 * Timestamps are integer milliseconds 0..2^53-2.
 */
export const LATEST_TIMESTAMP: number = Number.MAX_SAFE_INTEGER;

/** The longest row, in bytes (`HConstants.MAX_ROW_LENGTH`). */
export const MAX_ROW_LENGTH = 32767;

/** The longest family name, in bytes: HBase's `KeyValue` stores its length in one signed byte. */
export const MAX_FAMILY_LENGTH = 127;

/**
 * One cell. Engines create it, and nobody changes it. Its byte strings may be views of a larger buffer; copy what is kept for
 * long ({@link import('../bytes/bytes.js').copyBytes}).
 */
export class Cell {
  constructor(
    readonly row: Uint8Array,
    readonly family: string,
    readonly qualifier: Uint8Array,
    /** Milliseconds, 0..2^53-2. */
    readonly timestamp: number,
    readonly type: CellType,
    readonly value: Uint8Array,
  ) {}
}

/** A cell with its own time to live, as raw scans of the embedded engine return it; HBase does not return it. */
export class CellWithTtl extends Cell {
  constructor(
    row: Uint8Array,
    family: string,
    qualifier: Uint8Array,
    timestamp: number,
    type: CellType,
    value: Uint8Array,
    /** Milliseconds after its timestamp. */
    readonly ttl: number,
  ) {
    super(row, family, qualifier, timestamp, type, value);
  }
}

// — Checks shared by all operations. Each throws an InvalidArgumentError that says what is wrong and what is accepted.

/** The bytes of a row key of 1..32767 bytes (R5). */
export function checkRow(row: BytesLike): Uint8Array {
  if (typeof row !== 'string' && !(row instanceof Uint8Array)) {
    throw new InvalidArgumentError(`A row is a Uint8Array or a string, not ${describe(row)}.`);
  }
  const bytes = toBytes(row);
  if (bytes.length === 0)
    throw new InvalidArgumentError('A row may not be empty. Give a key of 1 to 32767 bytes.');
  if (bytes.length > MAX_ROW_LENGTH) {
    throw new InvalidArgumentError(`The row has ${bytes.length} bytes; HBase's limit is ${MAX_ROW_LENGTH}.`);
  }
  return bytes;
}

/** A timestamp of 0..2^53-2, or {@link LATEST_TIMESTAMP}. */
export function checkTimestamp(timestamp: number): number {
  if (!Number.isSafeInteger(timestamp) || timestamp < 0) {
    throw new InvalidArgumentError(
      `Bad timestamp ${describe(timestamp)}: it is an integer number of milliseconds, 0 to ${LATEST_TIMESTAMP - 1}.`,
    );
  }
  return timestamp;
}

export function checkFamily(family: string): string {
  if (typeof family !== 'string' || family.length === 0) {
    throw new InvalidArgumentError(`A family is a non-empty string, not ${describe(family)}.`);
  }
  // A character has at most three bytes, so short names, which are usual, need no count.
  if (family.length * 3 > MAX_FAMILY_LENGTH && Buffer.byteLength(family) > MAX_FAMILY_LENGTH) {
    throw new InvalidArgumentError(`The family name "${family}" is longer than ${MAX_FAMILY_LENGTH} bytes.`);
  }
  return family;
}

/** A qualifier or value: any byte string, also an empty one, but not undefined or null. */
export function checkBytes(value: BytesLike, what: string): Uint8Array {
  if (typeof value !== 'string' && !(value instanceof Uint8Array)) {
    throw new InvalidArgumentError(`A ${what} is a Uint8Array or a string, not ${describe(value)}.`);
  }
  return toBytes(value);
}

export function checkPositiveInteger(value: number, what: string): number {
  if (!Number.isSafeInteger(value) || value <= 0) {
    throw new InvalidArgumentError(`${what} is a positive integer, not ${describe(value)}.`);
  }
  return value;
}

/** Says why `given` is not an object with no other properties than those of `known`; undefined if it is one. */
export function optionsProblem(
  doing: string,
  given: unknown,
  known: Readonly<Record<string, true>>,
): string | undefined {
  const names = Object.keys(known);
  if (!isNamed(given)) {
    return `${doing} takes an object of options (${names.join(', ')}), not ${describe(given)}.`;
  }
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return undefined;
  const others = names.length === 1 ? 'Its only option is' : 'Its options are';
  return `${doing} has no option "${unknown}". ${others} ${names.join(', ')}.`;
}

/** @throws InvalidArgumentError when `given` is not an object, or has a property that is not among `known`. */
export function checkOptions(doing: string, given: unknown, known: Readonly<Record<string, true>>): void {
  const problem = optionsProblem(doing, given, known);
  if (problem !== undefined) throw new InvalidArgumentError(problem);
}

/** Whether the value is an object, not an array, and readable: not a revoked proxy. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  try {
    return !Array.isArray(value);
  } catch {
    return false;
  }
}

/**
 * Whether the value is an object whose properties may be read by name: not an array, and nothing that keeps what it has elsewhere, as a Map,
 * a Date, a promise or URLSearchParams do. Of those no property can be seen: as conditions they would mean everything, as options or changes
 * nothing.
 */
export function isNamed(value: unknown): value is Readonly<Record<string, unknown>> {
  if (!isRecord(value)) return false;
  return Object.keys(value).length > 0 || Object.prototype.toString.call(value) === '[object Object]';
}

/** The options of a call as an object. @throws InvalidArgumentError on null, and on anything else that is none. */
export function checkGiven<O extends object>(doing: string, options: O): O {
  if (isNamed(options)) return options;
  throw new InvalidArgumentError(
    `${doing}: the options are ${describe(options)}. Give an object, or nothing.`,
  );
}

/** Whether the value is an object literal, `{ … }`: not a Date, Map, array or instance of a class. */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (!isRecord(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Whether the value is an array, and not a revoked proxy. */
export function isList(value: unknown): value is readonly unknown[] {
  return typeof value === 'object' && value !== null && isReadable(value) && Array.isArray(value);
}

/** Like `instanceof`, for any value. */
export function isInstance<T>(value: unknown, of: abstract new (...given: never[]) => T): value is T {
  return typeof value === 'object' && value !== null && isReadable(value) && value instanceof of;
}

/** Whether the value can be called. */
export function isCallable(value: unknown): value is (...given: never[]) => unknown {
  return typeof value === 'function' && isReadable(value);
}

/** False for revoked proxies, on which every operation throws. */
function isReadable(value: object): boolean {
  try {
    Array.isArray(value);
    return true;
  } catch {
    return false;
  }
}

/** A short description of a wrong value, for messages. Never throws. */
export function describe(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}...` : value);
    case 'bigint':
      return `${value}n`;
    case 'number':
      return Object.is(value, -0) ? '-0' : String(value);
    case 'function':
    case 'symbol':
      return `a ${typeof value}`;
    case 'object':
      return value === null ? 'null' : describeSafely(value);
    default:
      return String(value);
  }
}

function describeSafely(value: object): string {
  if (!isReadable(value)) return 'a revoked proxy';
  try {
    return describeObject(value);
  } catch {
    return 'an object that cannot be read';
  }
}

/**
 * The complete text of a value, for conditions and keys in messages: different values have different texts. Values without a text are
 * described. Never throws.
 */
export function literalOf(value: unknown): string {
  if (typeof value !== 'object' || value === null || !isReadable(value)) {
    return typeof value === 'string' ? JSON.stringify(value) : describe(value);
  }
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (value instanceof Uint8Array) return `0x${toHex(value)}`;
  try {
    return (
      JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? `${inner}n` : inner)) ??
      describe(value)
    );
  } catch {
    return describe(value);
  }
}

function describeObject(value: object): string {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'an invalid Date' : value.toISOString();
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  if (Array.isArray(value)) return 'an array';
  const maker: unknown = value.constructor;
  const name = typeof maker === 'function' ? maker.name : '';
  return name === '' || name === 'Object' ? 'an object' : `an object of ${name}`;
}

// — Identifies requests. `instanceof` would not do: a program may load two copies of this module (a bundle beside the package, tests with
// fresh modules), and each must accept what the other creates. Parsed JSON cannot contain a symbol.

const BRAND: unique symbol = Symbol.for('rowan-orm.request') as never;

export type Request = 'get' | 'scan' | 'mutation' | 'rowMutations' | 'checkAndMutate';

/** Marks the instances of a class, and of its subclasses. */
export function brand(target: { readonly prototype: object }, request: Request): void {
  Object.defineProperty(target.prototype, BRAND, { value: request });
}

/** The kind of a request; undefined for other values. */
export function requestOf(given: unknown): Request | undefined {
  if (typeof given !== 'object' || given === null) return undefined;
  return (given as { readonly [BRAND]?: Request })[BRAND];
}

/** The longest delay of Node.js timers, in milliseconds: 24.8 days. Longer ones fire after one millisecond. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** The delay for `setTimeout` for a time that a user or a server gave, limited to the longest that timers support. */
export function timerDelay(milliseconds: number): number {
  return Math.min(milliseconds, LONGEST_TIMER);
}
