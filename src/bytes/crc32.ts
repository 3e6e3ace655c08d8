/** CRC-32 as zlib, gzip and PNG have it (polynomial EDB88320, reflected). */

import { crc32 as zlibCrc32 } from 'node:zlib';

/** Below this the call into zlib costs more than the loop here; measured on Node 20. */
const NATIVE_FROM = 192;

/** Slicing-by-8: `TABLE[256 * k + b]` is the crc of byte b followed by k zero bytes. */
const TABLE = makeTable();

function makeTable(): Int32Array {
  const table = new Int32Array(8 * 256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1) !== 0 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
    table[byte] = crc;
  }
  for (let i = 256; i < table.length; i++) {
    const before = table[i - 256]!;
    table[i] = (before >>> 8) ^ table[before & 0xff]!;
  }
  return table;
}

/**
 * The crc of `length` bytes of `bytes` from `offset`, an unsigned 32-bit number. `seed` is the crc of what came before
 * (`crc32(ab) = crc32(b, crc32(a))`), or any number that the bytes are to be tied to.
 */
export function crc32(bytes: Uint8Array, offset: number, length: number, seed = 0): number {
  if (length >= NATIVE_FROM) return zlibCrc32(bytes.subarray(offset, offset + length), seed);
  let crc = ~seed;
  let at = offset;
  const end = offset + length;
  const wordsEnd = end - 7;
  while (at < wordsEnd) {
    crc ^= bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    crc =
      TABLE[1792 + (crc & 0xff)]! ^
      TABLE[1536 + ((crc >>> 8) & 0xff)]! ^
      TABLE[1280 + ((crc >>> 16) & 0xff)]! ^
      TABLE[1024 + (crc >>> 24)]! ^
      TABLE[768 + bytes[at + 4]!]! ^
      TABLE[512 + bytes[at + 5]!]! ^
      TABLE[256 + bytes[at + 6]!]! ^
      TABLE[bytes[at + 7]!]!;
    at += 8;
  }
  while (at < end) crc = (crc >>> 8) ^ TABLE[(crc ^ bytes[at++]!) & 0xff]!;
  return ~crc >>> 0;
}
