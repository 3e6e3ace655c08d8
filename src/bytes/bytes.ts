// — Byte strings: unsigned lexicographic order, a shorter prefix first (HBase `Bytes.compareTo`).

import { crc32 as zlibCrc32 } from 'node:zlib';
import { CorruptionError, InvalidArgumentError } from '../errors.js';

/** A byte string, or text that stands for its UTF-8 bytes. */
export type BytesLike = Uint8Array | string;

/** The empty byte string, shared. */
export const EMPTY_BYTES: Uint8Array = new Uint8Array(0);

const encoder = new TextEncoder();

/** The bytes of `value`; text becomes UTF-8 (lone surrogates become U+FFFD). A byte string is returned as it is. */
export function toBytes(value: BytesLike): Uint8Array {
  return typeof value === 'string' ? encoder.encode(value) : value;
}

/** Unsigned lexicographic order: negative, zero or positive. A byte loop beats `Buffer.compare` on short keys. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const aLength = a.length;
  const bLength = b.length;
  const length = aLength < bLength ? aLength : bLength;
  for (let i = 0; i < length; i++) {
    const difference = a[i]! - b[i]!;
    if (difference !== 0) return difference;
  }
  return aLength - bLength;
}

/** Unsigned lexicographic order of two slices, each given by buffer, offset and length. */
export function compareSlices(
  a: Uint8Array,
  aOffset: number,
  aLength: number,
  b: Uint8Array,
  bOffset: number,
  bLength: number,
): number {
  const length = aLength < bLength ? aLength : bLength;
  for (let i = 0; i < length; i++) {
    const difference = a[aOffset + i]! - b[bOffset + i]!;
    if (difference !== 0) return difference;
  }
  return aLength - bLength;
}

export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  const length = a.length;
  if (length !== b.length) return false;
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return false;
  return true;
}

export function startsWithBytes(value: Uint8Array, prefix: Uint8Array): boolean {
  const length = prefix.length;
  if (value.length < length) return false;
  for (let i = 0; i < length; i++) if (value[i] !== prefix[i]) return false;
  return true;
}

export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const out = new Uint8Array(length);
  let offset = 0;
  for (const part of parts) {
    out.set(part, offset);
    offset += part.length;
  }
  return out;
}

/** Up to this length a loop is faster than a bulk copy with the view it needs. */
const SHORT_BYTES = 24;

/** Copies a slice of `source` to `at` of `target`. */
export function copySlice(
  source: Uint8Array,
  offset: number,
  length: number,
  target: Uint8Array,
  at: number,
): void {
  if (length <= SHORT_BYTES) for (let i = 0; i < length; i++) target[at + i] = source[offset + i]!;
  else target.set(source.subarray(offset, offset + length), at);
}

/** Up to this length `copyWords` is faster than a bulk copy with the view it needs; measured on Node 20. */
const MAX_WORDS = 160;

/** Copies bytes between two views, in words of four bytes if they are few: no view of the part is made then. */
export function copyWords(
  source: DataView,
  from: number,
  length: number,
  target: DataView,
  at: number,
): void {
  if (length > MAX_WORDS) {
    const part = new Uint8Array(source.buffer, source.byteOffset + from, length);
    new Uint8Array(target.buffer, target.byteOffset + at, length).set(part);
    return;
  }
  let i = 0;
  for (; i + 4 <= length; i += 4) target.setInt32(at + i, source.getInt32(from + i, true), true);
  for (; i < length; i++) target.setUint8(at + i, source.getUint8(from + i));
}

/** A view of no bytes. */
export const EMPTY_VIEW: DataView = new DataView(new ArrayBuffer(0));

const TWO_32 = 0x100000000;

/** Reads a little-endian integer of eight bytes; exact up to 2^53-1. */
export function readU64(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getUint32(at + 4, true) * TWO_32;
}

/** Writes an integer of 0..2^53-1 in eight bytes, little-endian. */
export function putU64(view: DataView, at: number, value: number): void {
  const high = Math.floor(value / TWO_32);
  view.setUint32(at, value - high * TWO_32, true);
  view.setUint32(at + 4, high, true);
}

/** The length of the common prefix of two slices. */
export function sharedPrefix(
  a: Uint8Array,
  aOffset: number,
  aLength: number,
  b: Uint8Array,
  bOffset: number,
  bLength: number,
): number {
  const length = aLength < bLength ? aLength : bLength;
  let i = 0;
  while (i < length && a[aOffset + i] === b[bOffset + i]) i++;
  return i;
}

/** The smallest byte string greater than `key`: `key` followed by 00. */
export function keyAfter(key: Uint8Array): Uint8Array {
  const out = new Uint8Array(key.length + 1);
  out.set(key);
  return out;
}

/**
 * The smallest byte string greater than every string that starts with `prefix`, the exclusive end of a prefix scan.
 * Undefined when there is none: the prefix is empty or all FF, and the scan runs to the end of the table.
 */
export function prefixEnd(prefix: Uint8Array): Uint8Array | undefined {
  let last = prefix.length - 1;
  while (last >= 0 && prefix[last] === 0xff) last--;
  if (last < 0) return undefined;
  const out = copyBytes(prefix, 0, last + 1);
  out[last] = out[last]! + 1;
  return out;
}

/** A copy of `bytes[start..end)` that shares no memory with it. (`slice` of a Buffer gives a view.) */
export function copyBytes(bytes: Uint8Array, start = 0, end: number = bytes.length): Uint8Array {
  const out = new Uint8Array(end - start);
  out.set(start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end));
  return out;
}

// — Byte strings as text: hex, latin1, and the escaped form that the HBase shell and logs use.

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** Lower-case hex, two digits a byte. */
export function toHex(bytes: Uint8Array): string {
  let out = '';
  for (const byte of bytes) out += HEX[byte];
  return out;
}

/**
 * The bytes of a hex string.
 * @throws InvalidArgumentError for an odd number of digits or a character that is not a hex digit.
 */
export function fromHex(hex: string): Uint8Array {
  if (hex.length % 2 !== 0 || /[^0-9a-fA-F]/.test(hex)) {
    throw new InvalidArgumentError(`Not a hex string: "${hex}". Write two digits 0-9a-f for every byte.`);
  }
  const out = new Uint8Array(hex.length / 2);
  for (let i = 0; i < out.length; i++) out[i] = Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16);
  return out;
}

/** `bytes[start..end)` as a string with one character for each byte. */
export function toLatin1(bytes: Uint8Array, start = 0, end = bytes.length): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');
}

/** The bytes of a string whose characters are all below U+0100. */
export function fromLatin1(text: string): Uint8Array {
  const out = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 0xff)
      throw new InvalidArgumentError(`Character ${i} of "${text}" is above U+00FF, so it is not latin1.`);
    out[i] = code;
  }
  return out;
}

/** HBase's printable form (`Bytes.toStringBinary`): 20-7E except the backslash unchanged, all else as upper-case `\xHH`. */
export function toStringBinary(bytes: Uint8Array): string {
  let out = '';
  for (const byte of bytes) {
    const plain = byte >= 0x20 && byte <= 0x7e && byte !== 0x5c;
    out += plain ? String.fromCharCode(byte) : `\\x${HEX[byte]!.toUpperCase()}`;
  }
  return out;
}

/**
 * Parses HBase's printable form (`Bytes.toBytesBinary`), and refuses what HBase would silently misread.
 * @throws InvalidArgumentError for a backslash that does not begin `\xHH` with upper-case digits, or a character above FF.
 */
export function fromStringBinary(text: string): Uint8Array {
  const out: number[] = [];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x5c) {
      const sequence = text.slice(i, i + 4);
      if (!/^\\x[0-9A-F]{2}$/.test(sequence)) {
        throw new InvalidArgumentError(
          `Bad escape at character ${i} of "${text}": write \\x and two upper-case hex digits.`,
        );
      }
      out.push(Number.parseInt(sequence.slice(2), 16));
      i += 3;
    } else if (code > 0xff) {
      throw new InvalidArgumentError(
        `Character ${i} of "${text}" is above U+00FF: write its bytes as \\xHH.`,
      );
    } else {
      out.push(code);
    }
  }
  return Uint8Array.from(out);
}

// — Unsigned variable-length integers, 0..2^53-1: seven bits in each byte, lowest first; the top bit is set if more bytes follow (LEB128).
// One to eight bytes; only the shortest form is valid.

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

// — CRC-32 as in zlib, gzip and PNG (polynomial EDB88320, reflected).

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

// — The hash of rows and columns: two lanes of 32 bits that process the same words. The first is MurmurHash3_x86_32, the second uses
// other constants.

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
