import { type BytesLike, toBytes, toHex } from '../bytes/index.js';
import { InvalidArgumentError } from '../errors.js';

/** Cells, as HBase has them (`KeyValue`, research rules R1-R8). */

/**
 * What a cell is. The codes are HBase's and stand in files and on the wire: FROZEN.
 * Order of two cells of the same row, column and timestamp: the higher code first.
 */
export const CellType = {
  /** A value. */
  Put: 4,
  /** Hides the put of exactly this timestamp in this column. */
  Delete: 8,
  /** Hides the puts of exactly this timestamp in every column of the family. */
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

/** The longest family name, in bytes: its length stands in one signed byte of HBase's `KeyValue`. */
export const MAX_FAMILY_LENGTH = 127;

/**
 * One cell. A plain record: engines fill it, nobody changes it. Its byte strings may be views of a larger buffer; copy
 * what is kept for long ({@link import('../bytes/bytes.js').copyBytes}).
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

/** A cell with a time to live of its own, as raw scans of the embedded engine give it; HBase keeps it to itself. */
export class CellWithTtl extends Cell {
  constructor(
    row: Uint8Array,
    family: string,
    qualifier: Uint8Array,
    timestamp: number,
    type: CellType,
    value: Uint8Array,
    /** Milliseconds from its timestamp on. */
    readonly ttl: number,
  ) {
    super(row, family, qualifier, timestamp, type, value);
  }
}

/** Checks that every operation shares. Each throws an InvalidArgumentError that says what is wrong and what is right. */

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
  // A character has three bytes at the most: short names, which nearly all are, need no count.
  if (family.length * 3 > MAX_FAMILY_LENGTH && Buffer.byteLength(family) > MAX_FAMILY_LENGTH) {
    throw new InvalidArgumentError(`The family name "${family}" is longer than ${MAX_FAMILY_LENGTH} bytes.`);
  }
  return family;
}

/** A qualifier or value: any byte string, the empty one too, but never undefined or null. */
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

/** @throws InvalidArgumentError when `given` is no object, or has a name that is not among `known`. */
export function checkOptions(doing: string, given: unknown, known: Readonly<Record<string, true>>): void {
  if (!isRecord(given)) {
    throw new InvalidArgumentError(
      `${doing} takes an object of options (${Object.keys(known).join(', ')}), not ${describe(given)}.`,
    );
  }
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return;
  throw new InvalidArgumentError(
    `${doing} has no option "${unknown}". Its options are ${Object.keys(known).join(', ')}.`,
  );
}

/** Whether it is an object, and no list, that can be looked into: not the proxy of one that was revoked. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  try {
    return !Array.isArray(value);
  } catch {
    return false;
  }
}

/** Whether it is an object written as one, `{ … }`: no Date, Map, list or instance of a class. */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (!isRecord(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Whether it is a list, and not the proxy of one that was revoked. */
export function isList(value: unknown): value is readonly unknown[] {
  return typeof value === 'object' && value !== null && isReadable(value) && Array.isArray(value);
}

/** As `instanceof`, of any value. */
export function isInstance<T>(value: unknown, of: abstract new (...given: never[]) => T): value is T {
  return typeof value === 'object' && value !== null && isReadable(value) && value instanceof of;
}

/** Whether it can be called. */
export function isCallable(value: unknown): value is (...given: never[]) => unknown {
  return typeof value === 'function' && isReadable(value);
}

/** Of a revoked proxy nothing can be asked, not even what it is. */
function isReadable(value: object): boolean {
  try {
    Array.isArray(value);
    return true;
  } catch {
    return false;
  }
}

/** A wrong value, for messages: short, and never throwing. */
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
 * A value written out whole, as it stands in conditions and keys that are printed: different values, different texts. What
 * cannot be written is described. Never throws.
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

/**
 * Tells requests from other objects. Not by `instanceof`: a program may hold two copies of this module (a bundle beside the
 * package, tests with fresh modules), and what one makes the other must take. Nothing that comes as text can carry a symbol.
 */

const BRAND: unique symbol = Symbol.for('rowan-orm.request') as never;

export type Request = 'get' | 'scan' | 'mutation' | 'rowMutations' | 'checkAndMutate';

/** Says what the instances of a class, and of those that extend it, are. */
export function brand(target: { readonly prototype: object }, request: Request): void {
  Object.defineProperty(target.prototype, BRAND, { value: request });
}

/** What a value is; undefined when it is no request. */
export function requestOf(given: unknown): Request | undefined {
  if (typeof given !== 'object' || given === null) return undefined;
  return (given as { readonly [BRAND]?: Request })[BRAND];
}

/** The longest that a timer of Node.js waits, in milliseconds: 24.8 days. It takes more for one millisecond. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** The delay to give to `setTimeout` for a time that a user gave: what is beyond the longest timer ends with it. */
export function timerDelay(milliseconds: number): number {
  return Math.min(milliseconds, LONGEST_TIMER);
}
