import { crc32 as zlibCrc32 } from 'node:zlib';
import { CorruptionError } from '../errors.js';

/**
 * Unsigned variable-length integers, 0..2^53-1: seven bits in each byte, lowest first; the top bit is set if more bytes follow (LEB128).
 * One to eight bytes; only the shortest form is valid.
 */

/** The most bytes that a varint takes. */
export const MAX_VARINT_LENGTH = 8;

/** The number of bytes of `value`. */
export function varintLength(value: number): number {
  let length = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) length++;
  return length;
}

/** Writes `value`, an integer in 0..2^53-1, at `offset` and returns the offset after it. */
export function writeVarint(target: Uint8Array, offset: number, value: number): number {
  let at = offset;
  let rest = value;
  if (rest >= 0x80000000) {
    // All timestamps are this large. The lower 28 bits and those above are handled as 32-bit integers.
    const high = Math.floor(rest / 0x10000000);
    const low = rest - high * 0x10000000;
    target[at++] = (low & 0x7f) | 0x80;
    target[at++] = ((low >>> 7) & 0x7f) | 0x80;
    target[at++] = ((low >>> 14) & 0x7f) | 0x80;
    target[at++] = (low >>> 21) | 0x80;
    rest = high;
  }
  while (rest >= 0x80) {
    target[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  target[at++] = rest;
  return at;
}

/**
 * Reads varints one after another, never beyond `limit`. Reusable: `reset` it to other bytes.
 * @throws CorruptionError from `read` when the bytes end inside a number or are not a varint.
 */
export class VarintReader {
  bytes: Uint8Array = new Uint8Array(0);
  /** The offset of the next byte. */
  position = 0;
  /** The offset after the last byte. */
  limit = 0;

  reset(bytes: Uint8Array, position: number, limit: number): void {
    this.bytes = bytes;
    this.position = position;
    this.limit = limit;
  }

  read(): number {
    const { bytes, limit } = this;
    let at = this.position;
    if (at < limit) {
      const first = bytes[at]!;
      if (first < 0x80) {
        this.position = at + 1;
        return first;
      }
    }
    let value = 0;
    let scale = 1;
    const end = Math.min(limit, at + MAX_VARINT_LENGTH);
    while (at < end) {
      const byte = bytes[at++]!;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        if ((byte === 0 && scale > 1) || value > Number.MAX_SAFE_INTEGER) break;
        this.position = at;
        return value;
      }
      scale *= 0x80;
    }
    throw new CorruptionError(`There is no valid varint at byte ${this.position} of ${limit}.`, {
      details: { offset: this.position },
    });
  }
}

/** CRC-32 as in zlib, gzip and PNG (polynomial EDB88320, reflected). */

/** Below this length the call into zlib costs more than the loop here; measured on Node 20. */
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
 * The crc of `length` bytes of `bytes` from `offset`, an unsigned 32-bit number. `seed` is the crc of the preceding bytes
 * (`crc32(ab) = crc32(b, crc32(a))`), or any number that the checksum should depend on.
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
