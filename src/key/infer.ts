import { hash } from 'node:crypto';
import type { KeyCodec } from './codecs/base.js';
import { boolean, bytes, date, float64, int64, text } from './codecs/index.js';
import { murmur3 } from './digest/murmur3.js';
import type { HashAlgorithm } from './elements.js';

/** The codec of a key part that is declared without one, from the type that the compiler emitted for the property. */

/**
 * The key codec of a `design:type`: String text, Number float64 (any number; write an integer codec for shorter keys),
 * Boolean, Date, BigInt int64, Uint8Array and Buffer bytes. Undefined for any other.
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

/** Digests of key parts, and Phoenix's salt. */

/** The digest of `bytes`; murmur3's 4 bytes are big-endian. */
export function digest(algorithm: HashAlgorithm, bytes: Uint8Array): Uint8Array {
  if (algorithm !== 'murmur3') return hash(algorithm, bytes, 'buffer');
  const out = new Uint8Array(4);
  new DataView(out.buffer).setUint32(0, murmur3(bytes));
  return out;
}

/** Phoenix's salt of `bytes[start..end)` (`SaltingUtil.getSaltingByte`): |31-hash of the signed bytes mod n|. */
export function phoenixSalt(bytes: Uint8Array, start: number, end: number, buckets: number): number {
  let sum = 1;
  for (let i = start; i < end; i++) sum = (Math.imul(31, sum) + ((bytes[i]! << 24) >> 24)) | 0;
  return Math.abs(sum % buckets);
}
