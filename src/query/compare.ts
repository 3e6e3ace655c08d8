/** The logical order of values, whatever their bytes. */

import { compareBytes, toBytes } from '../bytes/index.js';
import type { ValueCodec } from '../codec/index.js';
import { QueryError } from '../errors.js';
import { BaseCodec } from '../key/codecs/index.js';
import type { KeyCodec } from '../key/codecs/key-codec.js';

/** Compares two values of a column or key part. @throws QueryError when they have no order. */
export type ValueComparator = (a: unknown, b: unknown) => number;

/** The order that the codec gives its values: its own, that of its ordered bytes, or that of the values themselves. */
export function valueComparator(
  property: string,
  codec: ValueCodec<unknown> | KeyCodec<unknown>,
): ValueComparator {
  const own = codec as Partial<ValueCodec<unknown>>;
  if (own.compare !== undefined) return (a, b) => own.compare!(a, b);
  const ordered = orderedEncoder(codec);
  return ordered === undefined
    ? (a, b) => compareValues(property, a, b)
    : (a, b) => compareBytes(ordered(a), ordered(b));
}

/** Encodes values so that bytes are in their order; undefined when no codec is known that does. */
export function orderedEncoder(
  codec: ValueCodec<unknown> | KeyCodec<unknown>,
): ((value: unknown) => Uint8Array) | undefined {
  const order = codec instanceof BaseCodec ? codec.order : undefined;
  return order?.ordered && !order.descending ? (value) => order.encode(value) : undefined;
}

/** Numbers, bigints, dates and booleans by value; text by code point; bytes unsigned. */
export function compareValues(property: string, a: unknown, b: unknown): number {
  if (isNumeric(a) && isNumeric(b)) return a < b ? -1 : a > b ? 1 : 0;
  if (typeof a === 'string' && typeof b === 'string') return compareBytes(toBytes(a), toBytes(b));
  if (a instanceof Date && b instanceof Date) return a.getTime() - b.getTime();
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b);
  if (a instanceof Uint8Array && b instanceof Uint8Array) return compareBytes(a, b);
  throw new QueryError(
    `where: ${property} holds a ${typeName(a)}, which has no order against a ${typeName(b)}.`,
    { details: { property } },
  );
}

export function isNumeric(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

export function typeName(value: unknown): string {
  return typeof value === 'object' && value !== null ? (value.constructor?.name ?? 'object') : typeof value;
}
