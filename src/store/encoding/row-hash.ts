/**
 * The hash of rows and columns: two lanes of 32 bits that process the same words. The first is MurmurHash3_x86_32, the second uses
 * other constants.
 */

const ROW_SEED_1 = 0x9747b28c | 0;
const ROW_SEED_2 = 0x1b873593;

/** The lanes of the last hash. */
export let lane1 = 0;
export let lane2 = 0;

/** Hashes a row. FROZEN: bloom filters store it. */
export function hashRow(bytes: Uint8Array, offset: number, length: number): void {
  hashBytes(bytes, offset, length, ROW_SEED_1, ROW_SEED_2);
}

export function hashBytes(
  bytes: Uint8Array,
  offset: number,
  length: number,
  seed1: number,
  seed2: number,
): void {
  let h1 = seed1;
  let h2 = seed2;
  const end = offset + length;
  const wordsEnd = end - 3;
  let at = offset;
  while (at < wordsEnd) {
    let word = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    word = Math.imul(word, 0xcc9e2d51);
    word = (word << 15) | (word >>> 17);
    word = Math.imul(word, 0x1b873593);
    h1 ^= word;
    h1 = (h1 << 13) | (h1 >>> 19);
    h1 = (Math.imul(h1, 5) + 0xe6546b64) | 0;
    h2 = Math.imul(h2 ^ word, 0x85ebca6b);
    h2 = (h2 << 17) | (h2 >>> 15);
    at += 4;
  }
  let rest = 0;
  for (let i = end - 1; i >= at; i--) rest = (rest << 8) | bytes[i]!;
  if (at < end) {
    rest = Math.imul(rest, 0xcc9e2d51);
    rest = (rest << 15) | (rest >>> 17);
    rest = Math.imul(rest, 0x1b873593);
    h1 ^= rest;
    h2 = Math.imul(h2 ^ rest, 0x85ebca6b);
  }
  lane1 = mixed(h1 ^ length);
  lane2 = mixed(h2 ^ length ^ 0x5bd1e995);
}

function mixed(hash: number): number {
  let h = hash;
  h ^= h >>> 16;
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return h ^ (h >>> 16);
}
