/**
 * MurmurHash3 (x86, 32 bits) of bytes in place. `murmurhash3js`, given the bytes as a latin1 text, gives the same
 * numbers (a test holds the two together); it would need that text for every key, which is most of a key's cost.
 */

const C1 = 0xcc9e2d51;
const C2 = 0x1b873593;

/** The unsigned hash of `bytes[start..end)`. */
export function murmur3(bytes: Uint8Array, start = 0, end = bytes.length, seed = 0): number {
  let hash = seed;
  const length = end - start;
  const body = start + (length & ~3);
  for (let i = start; i < body; i += 4) {
    let block = bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24);
    block = Math.imul(block, C1);
    block = Math.imul((block << 15) | (block >>> 17), C2);
    hash ^= block;
    hash = (hash << 13) | (hash >>> 19);
    hash = (Math.imul(hash, 5) + 0xe6546b64) | 0;
  }
  if (body < end) {
    let block = bytes[body]!;
    if (body + 1 < end) block |= bytes[body + 1]! << 8;
    if (body + 2 < end) block |= bytes[body + 2]! << 16;
    block = Math.imul(block, C1);
    hash ^= Math.imul((block << 15) | (block >>> 17), C2);
  }
  hash ^= length;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
