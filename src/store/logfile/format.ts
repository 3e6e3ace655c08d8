/**
 * Chunks: how a log (a WAL segment, a MANIFEST) lies on disk so that its end, torn by a loss of power, and damage in
 * its middle can be told apart. The idea of blocks and fragments is LevelDB's (`doc/log_format.md`), that of the synced
 * offset Pebble's (`record/record.go`).
 *
 * A log is a row of blocks of 32 KiB. A chunk lies inside one block; a record is one FULL chunk or FIRST, MIDDLE…, LAST.
 * When fewer than 18 bytes are left in a block they are zeros.
 *
 *        0        4         8        10     11              17
 *   +--------+---------+--------+------+---------------+-----------
 *   | check  | payload | length | type | syncedOffset  | payload …
 *   |  u32   | crc u32 |  u16   |  u8  |      u48      |
 *   +--------+---------+--------+------+---------------+-----------
 *
 * `check` is the crc-32 of bytes 4-16, seeded with the kind and number of the file and the chunk's offset in it: bytes
 * that belong elsewhere never pass. A file may be longer than its chunks: zeros to its end are room that was prepared. `syncedOffset` is a promise: when this chunk was made, every byte of the file before
 * that offset was synced.
 *
 * These figures are frozen: a change makes a new format version.
 */

import { crc32 } from '../../bytes/index.js';

export const BLOCK_SIZE = 32768;
export const CHUNK_HEADER_SIZE = 17;
/** No chunk starts with less than this left of its block. */
export const MIN_CHUNK_ROOM = CHUNK_HEADER_SIZE + 1;

export const CHUNK_FULL = 1;
export const CHUNK_FIRST = 2;
export const CHUNK_MIDDLE = 3;
export const CHUNK_LAST = 4;
/** No payload: it brings the synced offset to disk when no record would. */
export const CHUNK_MARK = 5;
/** The first chunk of a file and only that: the magic and the version of its format. */
export const CHUNK_FILE_HEADER = 6;
/** No payload, the last of a file: what was to be written after it stands in the next file. From version 2 on. */
export const CHUNK_END = 7;
/** The highest type that there is. */
export const LAST_CHUNK_TYPE = CHUNK_END;

/** What is framed in chunks. `magic` is eight characters of ASCII. */
export interface LogKind {
  readonly name: string;
  readonly magic: string;
  readonly version: number;
  /** The first version whose files may end in zeros that were prepared and never written over, and in an END. */
  readonly preparedSince: number;
  /** Part of the seed of every check. */
  readonly seed: number;
}

export const WAL_KIND: LogKind = {
  name: 'WAL segment',
  magic: 'ROWANWAL',
  version: 2,
  preparedSince: 2,
  seed: 0x57414c31,
};
export const MANIFEST_KIND: LogKind = {
  name: 'MANIFEST',
  magic: 'ROWANMAN',
  version: 1,
  preparedSince: Number.POSITIVE_INFINITY,
  seed: 0x4d414e31,
};

/** The payload of the file header: magic (8), version u16. */
export const FILE_HEADER_PAYLOAD = 10;
/** Where the first record of a file begins. */
export const FILE_HEADER_END = CHUNK_HEADER_SIZE + FILE_HEADER_PAYLOAD;

/** The seed of the checksums of one file. */
export function fileSeed(kind: LogKind, fileNumber: number): number {
  return (kind.seed ^ Math.imul(fileNumber, 0x9e3779b1)) >>> 0;
}

/** The check of the chunk header at `at` of `bytes`, which lies at `fileOffset` of its file. */
export function headerCheck(bytes: Uint8Array, at: number, seed: number, fileOffset: number): number {
  const high = Math.floor(fileOffset / 0x100000000);
  const place = (seed + Math.imul(fileOffset, 0x85ebca6b) + Math.imul(high, 0xc2b2ae35)) >>> 0;
  return crc32(bytes, at + 4, CHUNK_HEADER_SIZE - 4, place);
}

/** Writes the header of a chunk whose payload already stands behind it. */
export function writeChunkHeader(
  bytes: Uint8Array,
  at: number,
  seed: number,
  fileOffset: number,
  type: number,
  length: number,
  syncedOffset: number,
): void {
  writeUint32(bytes, at + 4, crc32(bytes, at + CHUNK_HEADER_SIZE, length));
  bytes[at + 8] = length;
  bytes[at + 9] = length >>> 8;
  bytes[at + 10] = type;
  writeUint48(bytes, at + 11, syncedOffset);
  writeUint32(bytes, at, headerCheck(bytes, at, seed, fileOffset));
}

export function writeUint32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value;
  bytes[at + 1] = value >>> 8;
  bytes[at + 2] = value >>> 16;
  bytes[at + 3] = value >>> 24;
}

export function readUint32(bytes: Uint8Array, at: number): number {
  return (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0;
}

/** `value` is an integer in 0..2^48-1. */
export function writeUint48(bytes: Uint8Array, at: number, value: number): void {
  writeUint32(bytes, at, value);
  const high = Math.floor(value / 0x100000000);
  bytes[at + 4] = high;
  bytes[at + 5] = high >>> 8;
}

export function readUint48(bytes: Uint8Array, at: number): number {
  return readUint32(bytes, at) + (bytes[at + 4]! | (bytes[at + 5]! << 8)) * 0x100000000;
}
