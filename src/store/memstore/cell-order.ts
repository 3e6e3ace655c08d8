/** The order of cells in an arena (R2), common prefixes of their rows, and parts of rows as numbers. */

import { compareSlices } from '../../bytes/index.js';
import { type SeekKey, TYPE_MAXIMUM } from '../cursor.js';
import {
  CELL_HEADER_BYTES,
  type CellArena,
  type CellRef,
  type Chunk,
  chunkOf,
  offsetOf,
  rowLengthOf,
} from './arena.js';

// — Parts of rows as numbers: comparing these does not touch the cells, which are elsewhere in memory.

/** Bytes of a row in one number. */
export const PREFIX_BYTES = 6;

/**
 * The 48 bits of a row after its first `skipped` bytes, padded with zeros. Rows with equal skipped bytes are ordered like these
 * numbers, where the numbers differ.
 */
export function prefixOf(row: Uint8Array, offset: number, length: number, skipped: number): number {
  const from = offset + skipped;
  const end = offset + length;
  if (from >= end) return 0;
  let high = 0;
  let low = 0;
  if (from + PREFIX_BYTES <= end) {
    high = (row[from]! << 16) | (row[from + 1]! << 8) | row[from + 2]!;
    low = (row[from + 3]! << 16) | (row[from + 4]! << 8) | row[from + 5]!;
  } else {
    for (let i = 0; i < 3; i++) high = (high << 8) | (from + i < end ? row[from + i]! : 0);
    for (let i = 3; i < PREFIX_BYTES; i++) low = (low << 8) | (from + i < end ? row[from + i]! : 0);
  }
  return high * 0x1000000 + low;
}

// — The order of cells in an arena (R2), and the common prefixes of their rows.

/** Compares two cells (R2). `same`: leading bytes in which their rows are equal, if both are that long. */
export function compareRefs(arena: CellArena, a: CellRef, b: CellRef, same = 0): number {
  if (a === b) return 0;
  const aChunk = arena.chunks[chunkOf(a)]!;
  const bChunk = arena.chunks[chunkOf(b)]!;
  const aOffset = offsetOf(a);
  const bOffset = offsetOf(b);
  const aWord = aChunk.ints[(aOffset >>> 2) + 6]!;
  const bWord = bChunk.ints[(bOffset >>> 2) + 6]!;
  const aLength = aWord & 0xffff;
  const bLength = bWord & 0xffff;
  const skipped = aLength >= same && bLength >= same ? same : 0;
  const difference = compareSlices(
    aChunk.bytes,
    aOffset + CELL_HEADER_BYTES + skipped,
    aLength - skipped,
    bChunk.bytes,
    bOffset + CELL_HEADER_BYTES + skipped,
    bLength - skipped,
  );
  return difference !== 0 ? difference : compareInRow(arena, a, b);
}

/** Compares two cells of one row (R2). */
export function compareInRow(arena: CellArena, a: CellRef, b: CellRef): number {
  const aChunk = arena.chunks[chunkOf(a)]!;
  const bChunk = arena.chunks[chunkOf(b)]!;
  const aOffset = offsetOf(a);
  const bOffset = offsetOf(b);
  const aWord = aChunk.ints[(aOffset >>> 2) + 6]!;
  const bWord = bChunk.ints[(bOffset >>> 2) + 6]!;
  let difference = compareSlices(
    aChunk.bytes,
    aOffset + CELL_HEADER_BYTES + (aWord & 0xffff),
    aChunk.ints[(aOffset >>> 2) + 4]!,
    bChunk.bytes,
    bOffset + CELL_HEADER_BYTES + (bWord & 0xffff),
    bChunk.ints[(bOffset >>> 2) + 4]!,
  );
  if (difference !== 0) return difference;
  difference = bChunk.doubles[bOffset >>> 3]! - aChunk.doubles[aOffset >>> 3]!;
  if (difference !== 0) return difference;
  difference = ((bWord >>> 16) & 0xff) - ((aWord >>> 16) & 0xff);
  if (difference !== 0) return difference;
  return bChunk.doubles[(bOffset >>> 3) + 1]! - aChunk.doubles[(aOffset >>> 3) + 1]!;
}

/** Whether two cells of one row are of one column. */
export function sameColumn(arena: CellArena, a: CellRef, b: CellRef): boolean {
  const aChunk = arena.chunks[chunkOf(a)]!;
  const bChunk = arena.chunks[chunkOf(b)]!;
  const aAt = offsetOf(a) >>> 2;
  const bAt = offsetOf(b) >>> 2;
  const length = aChunk.ints[aAt + 4]!;
  if (length !== bChunk.ints[bAt + 4]) return false;
  const rowLength = aChunk.ints[aAt + 6]! & 0xffff;
  const aOffset = 4 * aAt + CELL_HEADER_BYTES + rowLength;
  const bOffset = 4 * bAt + CELL_HEADER_BYTES + rowLength;
  for (let i = length - 1; i >= 0; i--)
    if (aChunk.bytes[aOffset + i] !== bChunk.bytes[bOffset + i]) return false;
  return true;
}

/** Negative when the cell sorts before the key. `same` as in `compareRefs`. */
export function compareToKey(arena: CellArena, ref: CellRef, key: SeekKey, same = 0): number {
  const chunk = arena.chunks[chunkOf(ref)]!;
  const offset = offsetOf(ref);
  const word = chunk.ints[(offset >>> 2) + 6]!;
  const rowLength = word & 0xffff;
  const start = offset + CELL_HEADER_BYTES;
  const skipped = rowLength >= same && key.rowLength >= same ? same : 0;
  const difference = compareSlices(
    chunk.bytes,
    start + skipped,
    rowLength - skipped,
    key.row,
    key.rowOffset + skipped,
    key.rowLength - skipped,
  );
  if (difference !== 0) return difference;
  return compareToKeyInRow(chunk, offset, key);
}

/** Like `compareToKey`, for a cell of the key's row at `offset` of a chunk. */
export function compareToKeyInRow(chunk: Chunk, offset: number, key: SeekKey): number {
  const word = chunk.ints[(offset >>> 2) + 6]!;
  const difference = compareSlices(
    chunk.bytes,
    offset + CELL_HEADER_BYTES + (word & 0xffff),
    chunk.ints[(offset >>> 2) + 4]!,
    key.qualifier,
    key.qualifierOffset,
    key.qualifierLength,
  );
  if (difference !== 0) return difference;
  const timestamp = chunk.doubles[offset >>> 3]!;
  if (timestamp !== key.timestamp) return timestamp > key.timestamp ? -1 : 1;
  return key.type === TYPE_MAXIMUM ? 1 : key.type - ((word >>> 16) & 0xff);
}

/** The 48 bits of a cell's row after its first `skipped` bytes. */
export function prefixOfRef(arena: CellArena, ref: CellRef, skipped: number): number {
  const chunk = arena.chunks[chunkOf(ref)]!;
  const offset = offsetOf(ref);
  const length = chunk.ints[(offset >>> 2) + 6]! & 0xffff;
  return prefixOf(chunk.bytes, offset + CELL_HEADER_BYTES, length, skipped);
}

/** Four bytes of a cell's row from `from` as one number, padded with zeros. */
export function wordOfRef(arena: CellArena, ref: CellRef, from: number): number {
  const chunk = arena.chunks[chunkOf(ref)]!;
  const offset = offsetOf(ref);
  const left = (chunk.ints[(offset >>> 2) + 6]! & 0xffff) - from;
  const at = offset + CELL_HEADER_BYTES + from;
  if (left >= 4) return chunk.view.getUint32(at);
  let word = 0;
  for (let i = 0; i < 4; i++) word = (word << 8) | (i < left ? chunk.bytes[at + i]! : 0);
  return word >>> 0;
}

/** The length of the common prefix of two cells' rows, at most `limit`. They have at least `same` bytes in common, or are shorter. */
export function sharedOfRefs(
  arena: CellArena,
  a: CellRef,
  b: CellRef,
  same = 0,
  limit = Number.POSITIVE_INFINITY,
): number {
  const aChunk = arena.chunks[chunkOf(a)]!;
  const bChunk = arena.chunks[chunkOf(b)]!;
  const aBytes = aChunk.bytes;
  const bBytes = bChunk.bytes;
  const aStart = offsetOf(a) + CELL_HEADER_BYTES;
  const bStart = offsetOf(b) + CELL_HEADER_BYTES;
  const end = Math.min(limit, rowLengthOf(arena, a), rowLengthOf(arena, b));
  let shared = same;
  while (shared < end && aBytes[aStart + shared] === bBytes[bStart + shared]) shared++;
  return Math.min(shared, end);
}

/** The length of the common prefix of a cell's row and another row. */
export function sharedWith(
  arena: CellArena,
  ref: CellRef,
  row: Uint8Array,
  offset: number,
  length: number,
): number {
  const chunk = arena.chunks[chunkOf(ref)]!;
  const own = offsetOf(ref);
  const end = Math.min(length, chunk.ints[(own >>> 2) + 6]! & 0xffff);
  const start = own + CELL_HEADER_BYTES;
  const { bytes } = chunk;
  let same = 0;
  while (same < end && bytes[start + same] === row[offset + same]) same++;
  return same;
}

/** The length of the common prefix of a cell's row and another row that sorts after it; -1 if that does not. */
export function sharedIfAfter(arena: CellArena, ref: CellRef, row: Uint8Array): number {
  const { bytes, ints } = arena.chunks[chunkOf(ref)]!;
  const own = offsetOf(ref);
  const length = ints[(own >>> 2) + 6]! & 0xffff;
  const start = own + CELL_HEADER_BYTES;
  const end = Math.min(length, row.length);
  let same = 0;
  while (same < end && bytes[start + same] === row[same]) same++;
  if (same < end) return row[same]! > bytes[start + same]! ? same : -1;
  return row.length > length ? same : -1;
}

/** A byte of a row, 0 after its end. */
export function byteAt(row: Uint8Array, offset: number, length: number, at: number): number {
  return at < length ? row[offset + at]! : 0;
}

/** A byte of a cell's row, 0 after its end. */
export function byteOfRef(arena: CellArena, ref: CellRef, at: number): number {
  const chunk = arena.chunks[chunkOf(ref)]!;
  const offset = offsetOf(ref);
  const length = chunk.ints[(offset >>> 2) + 6]! & 0xffff;
  return byteAt(chunk.bytes, offset + CELL_HEADER_BYTES, length, at);
}

/** The first index from `start` at which a cell's row differs from another, both padded with zeros; the longer length if none. */
export function differenceFrom(
  arena: CellArena,
  ref: CellRef,
  row: Uint8Array,
  offset: number,
  length: number,
  start: number,
): number {
  const { bytes, ints } = arena.chunks[chunkOf(ref)]!;
  const own = offsetOf(ref);
  const ownLength = ints[(own >>> 2) + 6]! & 0xffff;
  const first = own + CELL_HEADER_BYTES;
  const shorter = Math.min(length, ownLength);
  const longer = Math.max(length, ownLength);
  let at = start;
  while (at < shorter && bytes[first + at] === row[offset + at]) at++;
  if (at < shorter) return at;
  while (at < longer && byteAt(row, offset, length, at) === byteAt(bytes, first, ownLength, at)) at++;
  return Math.max(at, start);
}

/**
 * The prefix number of a row to be compared with sorted rows that begin with `shared` bytes at `start`. The row itself need not
 * begin with them: -1 when it sorts before all such rows, Infinity when after.
 */
export function seekPrefix(
  bytes: Uint8Array,
  start: number,
  shared: number,
  row: Uint8Array,
  offset: number,
  length: number,
): number {
  for (let i = 0; i < shared; i++) {
    if (i >= length) return -1;
    const difference = row[offset + i]! - bytes[start + i]!;
    if (difference !== 0) return difference < 0 ? -1 : Number.POSITIVE_INFINITY;
  }
  return prefixOf(row, offset, length, shared);
}
