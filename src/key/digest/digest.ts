/** Digests of key parts, and Phoenix's salt. */

import { hash } from 'node:crypto';
import type { HashAlgorithm } from '../elements.js';
import { murmur3 } from './murmur3.js';

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
