import { compareSlices } from '../../bytes/index.js';
import type { CellCursor, SeekKey } from '../cursor.js';
import { readU64 } from '../encoding/data-block.js';
import { KeyKind } from './block-frame.js';

/** The keys by which blocks and parts of blocks are found. FROZEN: see docs/formats.md. */

/** kind u8, row length u16, and depending on the kind: qualifier length u32, timestamp u64, type u8; then row and qualifier. */
const ROW_KEY_BYTES = 3;
const COLUMN_KEY_BYTES = 7;
const CELL_KEY_BYTES = 16;

export function keyHeaderBytes(kind: number): number {
  return kind === KeyKind.Row ? ROW_KEY_BYTES : kind === KeyKind.Column ? COLUMN_KEY_BYTES : CELL_KEY_BYTES;
}

/** The encoded length of a key without the first `skip` bytes of its row. */
export function keyBytes(key: IndexKey, skip = 0): number {
  return keyHeaderBytes(key.kind) + key.row.length - skip + key.qualifier.length;
}

/** The end of the key at `key`; Infinity when there is no valid key. */
export function keyEnd(bytes: Uint8Array, view: DataView, key: number): number {
  const kind = key < bytes.length ? bytes[key]! : -1;
  const header = keyHeaderBytes(kind);
  if (kind < 0 || kind > KeyKind.Cell || key + header > bytes.length) return Number.POSITIVE_INFINITY;
  const qualifierLength = kind === KeyKind.Row ? 0 : view.getUint32(key + 3, true);
  return key + header + view.getUint16(key + 1, true) + qualifierLength;
}

/**
 * Whether the key at `key`, whose row is at `rowAt`, is at or before `target`. The first `skip` bytes of the target's row, which are
 * not stored in the key, are known to be equal.
 * A cell key that equals the target counts as after it, because cells that differ only in seq may be on both sides of it.
 */
export function isKeyAtOrBefore(
  bytes: Uint8Array,
  view: DataView,
  key: number,
  rowAt: number,
  rowLength: number,
  skip: number,
  target: SeekKey,
): boolean {
  const kind = bytes[key]!;
  let difference = compareSlices(
    bytes,
    rowAt,
    rowLength,
    target.row,
    target.rowOffset + skip,
    target.rowLength - skip,
  );
  if (difference !== 0) return difference < 0;
  if (kind === KeyKind.Row) return true;
  difference = compareSlices(
    bytes,
    rowAt + rowLength,
    view.getUint32(key + 3, true),
    target.qualifier,
    target.qualifierOffset,
    target.qualifierLength,
  );
  if (difference !== 0) return difference < 0;
  if (kind === KeyKind.Column) return true;
  const timestamp = readU64(view, key + 7);
  if (timestamp !== target.timestamp) return timestamp > target.timestamp;
  return view.getUint8(key + 15) > target.type;
}

const TWO_32 = 0x100000000;

/** The key of a block in an index: the shortest that separates its first cell from the cell before. */
export class IndexKey {
  kind: KeyKind = KeyKind.Row;
  row: Uint8Array = new Uint8Array(0);
  qualifier: Uint8Array = new Uint8Array(0);
  timestamp = 0;
  type = 0;

  /** The parameters are those of `BlockEncoder.append`. */
  static between(
    first: CellCursor,
    sharedRow: number,
    sameRow: boolean,
    sharedQualifier: number,
    sameColumn: boolean,
  ): IndexKey {
    const key = new IndexKey();
    const rowLength = sameRow ? first.rowLength : Math.min(sharedRow + 1, first.rowLength);
    key.row = first.key.slice(first.rowOffset, first.rowOffset + rowLength);
    if (!sameRow) return key;
    const length = sameColumn ? first.qualifierLength : sharedQualifier + 1;
    key.qualifier = first.key.slice(first.qualifierOffset, first.qualifierOffset + length);
    key.kind = sameColumn ? KeyKind.Cell : KeyKind.Column;
    key.timestamp = first.timestamp;
    key.type = first.type;
    return key;
  }

  /** The key of a file's first block: its whole row. */
  static ofFirst(first: CellCursor): IndexKey {
    const key = new IndexKey();
    key.row = first.key.slice(first.rowOffset, first.rowOffset + first.rowLength);
    return key;
  }
}

/** Writes a key without the first `skip` bytes of its row; returns its end. */
export function putKey(bytes: Uint8Array, view: DataView, at: number, key: IndexKey, skip = 0): number {
  const row = key.row.subarray(skip);
  view.setUint8(at, key.kind);
  view.setUint16(at + 1, row.length, true);
  if (key.kind !== KeyKind.Row) view.setUint32(at + 3, key.qualifier.length, true);
  if (key.kind === KeyKind.Cell) {
    putU64(view, at + 7, key.timestamp);
    view.setUint8(at + 15, key.type);
  }
  const rowAt = at + keyHeaderBytes(key.kind);
  bytes.set(row, rowAt);
  bytes.set(key.qualifier, rowAt + row.length);
  return rowAt + row.length + key.qualifier.length;
}

/** Writes an integer of 0..2^53-1 in eight bytes. */
export function putU64(view: DataView, at: number, value: number): void {
  view.setUint32(at, value % TWO_32, true);
  view.setUint32(at + 4, value / TWO_32, true);
}
