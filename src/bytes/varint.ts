import { crc32 as zlibCrc32 } from 'node:zlib';
import { CorruptionError } from '../errors.js';

/**
 * Unsigned variable-length integers, 0..2^53-1: seven bits a byte, lowest first, the top bit says that more follow
 * (LEB128). One to eight bytes; the shortest form is the only valid one.
 */

/** The most bytes that a varint takes. */
export const MAX_VARINT_LENGTH = 8;

/** How many bytes `value` takes. */
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
    // Times are all as large as this. The lower 28 bits and those above are handled as integers of 32 bits.
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
 * Reads varints one after another, never past `limit`. Reused: `reset` it to the next bytes.
 * @throws CorruptionError from `read` when the bytes end inside a number or are no varint.
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
    throw new CorruptionError(`There is no valid number at byte ${this.position} of ${limit}.`, {
      details: { offset: this.position },
    });
  }
}

/** CRC-32 as zlib, gzip and PNG have it (polynomial EDB88320, reflected). */

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
