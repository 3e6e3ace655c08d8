/**
 * Chunks: the framing of a log (a WAL segment, a MANIFEST), by which an end torn by a loss of power can be told from damage in the
 * middle. Blocks and fragments follow LevelDB (`doc/log_format.md`), the synced offset follows Pebble (`record/record.go`).
 *
 * A log consists of blocks of 32 KiB. A chunk lies within one block; a record is one FULL chunk, or FIRST, MIDDLE…, LAST. When
 * fewer than 18 bytes are left in a block they are zeros.
 *
 *        0        4         8        10     11              17
 *   +--------+---------+--------+------+---------------+-----------
 *   | check  | payload | length | type | syncedOffset  | payload …
 *   |  u32   | crc u32 |  u16   |  u8  |      u48      |
 *   +--------+---------+--------+------+---------------+-----------
 *
 * `check` is the crc-32 of bytes 4-16, seeded with the kind and number of the file and the chunk's offset in it, so that bytes
 * from elsewhere never pass. A file may be longer than its chunks: zeros at its end are preallocated space. `syncedOffset`
 * states that every byte of the file before that offset was synced when this chunk was made.
 *
 * FROZEN: a change of these figures makes a new format version.
 */

import { crc32 } from '../../bytes/index.js';

export const BLOCK_SIZE = 32768;
export const CHUNK_HEADER_SIZE = 17;
/** No chunk starts with fewer bytes than this left in its block. */
export const MIN_CHUNK_ROOM = CHUNK_HEADER_SIZE + 1;

export const CHUNK_FULL = 1;
export const CHUNK_FIRST = 2;
export const CHUNK_MIDDLE = 3;
export const CHUNK_LAST = 4;
/** Without payload: brings the synced offset to the disk when no record does. */
export const CHUNK_MARK = 5;
/** The first chunk of every file, and only that: the magic and the version of the format. */
export const CHUNK_FILE_HEADER = 6;
/** Without payload, the last chunk of a file: the log continues in the next file. Since version 2. */
export const CHUNK_END = 7;
/** The highest chunk type. */
export const LAST_CHUNK_TYPE = CHUNK_END;

/** A kind of file that is framed in chunks. `magic` is eight ASCII characters. */
export interface LogKind {
  readonly name: string;
  readonly magic: string;
  readonly version: number;
  /** The first version whose files may end in preallocated zeros, and with an END. */
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
/** The offset of the first record of a file. */
export const FILE_HEADER_END = CHUNK_HEADER_SIZE + FILE_HEADER_PAYLOAD;

/** The seed of the checksums of one file. */
export function fileSeed(kind: LogKind, fileNumber: number): number {
  return (kind.seed ^ Math.imul(fileNumber, 0x9e3779b1)) >>> 0;
}

/** The check of the chunk header at `at` of `bytes`, whose offset in the file is `fileOffset`. */
export function headerCheck(bytes: Uint8Array, at: number, seed: number, fileOffset: number): number {
  const high = Math.floor(fileOffset / 0x100000000);
  const place = (seed + Math.imul(fileOffset, 0x85ebca6b) + Math.imul(high, 0xc2b2ae35)) >>> 0;
  return crc32(bytes, at + 4, CHUNK_HEADER_SIZE - 4, place);
}

/** Writes the header of a chunk whose payload is already in place after it. */
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
