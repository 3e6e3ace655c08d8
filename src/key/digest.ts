/**
 * Digests of key parts, and the hash functions of salts. `murmurhash3js` defines the Murmur digests:
 * `x86.hash32` of the bytes as latin1 text, one character per byte, so that any other implementation computes
 * the same from the bytes.
 */

import { hash } from 'node:crypto';
// A namespace import, since banners of bundled programs often import `createRequire` by name.
import * as nodeModule from 'node:module';
import type murmurHash3 from 'murmurhash3js';
import { toLatin1 } from '../bytes/index.js';
import type { HashAlgorithm } from './elements.js';

/**
 * `murmur3` hashes up to this many bytes without the library, whose text input costs salted puts and gets 7 to 13 %.
 */
const MAX_IN_PLACE = 64;

/** The digest of `bytes`. murmur3 gives 4 bytes, big-endian. */
export function digest(algorithm: HashAlgorithm, bytes: Uint8Array): Uint8Array {
  if (algorithm !== 'murmur3') return hash(algorithm, bytes, 'buffer');
  const out = new Uint8Array(4);
  new DataView(out.buffer).setUint32(0, murmur3(bytes));
  return out;
}

/** MurmurHash3 (x86, 32 bits) of `bytes[start..end)`, unsigned. `seed` is a whole number of 32 bits. */
export function murmur3(bytes: Uint8Array, start = 0, end = bytes.length, seed = 0): number {
  if (end - start <= MAX_IN_PLACE) return murmur3InPlace(bytes, start, end, seed);
  // The published package bundles the library (packaging/) and loads it when it hashes the first long key.
  library ??= nodeModule.createRequire(import.meta.url)('murmurhash3js') as typeof murmurHash3;
  return library.x86.hash32(toLatin1(bytes, start, end), seed);
}

let library: typeof murmurHash3 | undefined;

/**
 * Computes the same as `murmur3`, for any length and without a string: its fast path, also used for digests
 * that are not stored. A property test holds it equal to `murmurhash3js`.
 */
export function murmur3InPlace(bytes: Uint8Array, start: number, end: number, seed: number): number {
  let state = seed;
  const length = end - start;
  const body = start + (length & ~3);
  for (let i = start; i < body; i += 4) {
    state ^= scrambled(bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24));
    state = (state << 13) | (state >>> 19);
    state = (Math.imul(state, 5) + 0xe6546b64) | 0;
  }
  if (body < end) {
    let rest = bytes[body]!;
    if (body + 1 < end) rest |= bytes[body + 1]! << 8;
    if (body + 2 < end) rest |= bytes[body + 2]! << 16;
    state ^= scrambled(rest);
  }
  state ^= length;
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
  return (state ^ (state >>> 16)) >>> 0;
}

function scrambled(word: number): number {
  const product = Math.imul(word, 0xcc9e2d51);
  return Math.imul((product << 15) | (product >>> 17), 0x1b873593);
}

/**
 * Phoenix's salt of `bytes[start..end)` (`SaltingUtil.getSaltingByte`): |31-hash of the signed bytes mod n|.
 */
export function phoenixSalt(bytes: Uint8Array, start: number, end: number, buckets: number): number {
  let sum = 1;
  for (let i = start; i < end; i++) sum = (Math.imul(31, sum) + ((bytes[i]! << 24) >> 24)) | 0;
  return Math.abs(sum % buckets);
}
