/** Chooses the codec of a column declared without one, by the type that the compiler emitted for the property. */

import { boolean, bytes, date, float64, int64, text, type ValueCodec } from './scalars.js';

/**
 * The value codec of a `design:type`: String text, Number float64, Boolean, Date, BigInt int64, Uint8Array and Buffer
 * bytes. Undefined for any other type: the codec must then be given.
 */
export function inferValueCodec(designType: unknown): ValueCodec<unknown> | undefined {
  return VALUE_CODECS.get(designType);
}

const VALUE_CODECS: ReadonlyMap<unknown, ValueCodec<unknown>> = new Map<unknown, ValueCodec<unknown>>([
  [String, text],
  [Number, float64],
  [Boolean, boolean],
  [Date, date],
  [BigInt, int64],
  [Uint8Array, bytes],
  [Buffer, bytes],
]);
