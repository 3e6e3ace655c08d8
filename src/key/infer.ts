/**
 * Chooses the codec of a key part declared without one, by the type that the compiler emitted for the
 * property.
 */

import type { KeyCodec } from './codecs/base.js';
import { boolean, bytes, date, float64, int64, text } from './codecs/index.js';

/**
 * The key codec of a `design:type`: String text, Number float64 (any number; integer codecs make shorter
 * keys), Boolean, Date, BigInt int64, Uint8Array and Buffer bytes. Undefined for any other type.
 */
export function inferKeyCodec(designType: unknown): KeyCodec<unknown> | undefined {
  return KEY_CODECS.get(designType);
}

const KEY_CODECS: ReadonlyMap<unknown, KeyCodec<unknown>> = new Map<unknown, KeyCodec<unknown>>([
  [String, text],
  [Number, float64],
  [Boolean, boolean],
  [Date, date],
  [BigInt, int64],
  [Uint8Array, bytes],
  [Buffer, bytes],
]);
