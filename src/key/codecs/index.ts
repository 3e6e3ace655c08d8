import type { ScalarCodec } from './base.js';
import { date } from './desc.js';
import { boolean, bytes } from './fixed.js';
import { int64 } from './integers.js';
import { float64 } from './numbers.js';
import { text } from './text.js';

export { cidr, cidrRange, ipv4, ipv6 } from './addresses.js';
export { BaseCodec, type Framing, type KeyCodec, KeyWriter, type ScalarCodec } from './base.js';
export { date, desc } from './desc.js';
export { boolean, bytes, fixedBytes, fixedString } from './fixed.js';
export { type GeoBox, geoBoxAround, geohash, geohashBox, geohashCells, geohashOf } from './geohash.js';
export { enumeration, ksuid, numericEnum, ulid, uuid } from './ids.js';
export { bigint, int8, int16, int32, int53, int64, uint8, uint16, uint32, uint64 } from './integers.js';
export { decimal, float, float32, float64, textNumber } from './numbers.js';
export { StoredText, text, unorderedText } from './text.js';
export {
  type Conversion,
  conversionOf,
  isOfDays,
  isStoredForm,
  storedCodec,
  storedType,
  storedValue,
  type Transform,
  TransformedCodec,
  valueOfStored,
} from './transformed.js';

/**
 * The key codec of a `design:type`: String text, Number float64 (any number; integer codecs make shorter
 * keys), Boolean, Date, BigInt int64, Uint8Array and Buffer bytes. Undefined for any other type.
 */
export function inferKeyCodec(designType: unknown): ScalarCodec<unknown> | undefined {
  return KEY_CODECS.get(designType);
}

const KEY_CODECS: ReadonlyMap<unknown, ScalarCodec<unknown>> = new Map<unknown, ScalarCodec<unknown>>([
  [String, text],
  [Number, float64],
  [Boolean, boolean],
  [Date, date],
  [BigInt, int64],
  [Uint8Array, bytes],
  [Buffer, bytes],
]);
