import { compareSlices, copySlice, EMPTY_BYTES, putU64, readU64 } from '../../bytes/index.js';
import type { CellKey, SeekKey } from '../cursor.js';
import { KeyKind } from './block-frame.js';

/** The keys by which blocks and parts of blocks are found. FROZEN: see docs/formats-sorted-files.md. */

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

/** The key of a block in an index: the shortest that separates its first cell from the cell before. */
export class IndexKey {
  kind: KeyKind = KeyKind.Row;
  row: Uint8Array = EMPTY_BYTES;
  qualifier: Uint8Array = EMPTY_BYTES;
  timestamp = 0;
  type = 0;

  /** The parameters are those of `BlockEncoder.append`. */
  static between(
    first: CellKey,
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
  static ofFirst(first: CellKey): IndexKey {
    const key = new IndexKey();
    key.row = first.key.slice(first.rowOffset, first.rowOffset + first.rowLength);
    return key;
  }
}

/** Writes a key without the first `skip` bytes of its row; returns its end. */
export function putKey(bytes: Uint8Array, view: DataView, at: number, key: IndexKey, skip = 0): number {
  const { row, qualifier } = key;
  const rowLength = row.length - skip;
  view.setUint8(at, key.kind);
  view.setUint16(at + 1, rowLength, true);
  if (key.kind !== KeyKind.Row) view.setUint32(at + 3, qualifier.length, true);
  if (key.kind === KeyKind.Cell) {
    putU64(view, at + 7, key.timestamp);
    view.setUint8(at + 15, key.type);
  }
  const rowAt = at + keyHeaderBytes(key.kind);
  copySlice(row, skip, rowLength, bytes, rowAt);
  copySlice(qualifier, 0, qualifier.length, bytes, rowAt + rowLength);
  return rowAt + rowLength + qualifier.length;
}

/** The key of the cell written last. The next cell is compared with it once, for all uses of the result. */
export class LastKey {
  /** Row, then qualifier. */
  private bytes = new Uint8Array(256);
  private rowLength = 0;
  private qualifierLength = 0;
  private timestamp = 0;
  private type = 0;
  private seq = 0;
  /** Before the first `advance`. */
  empty = true;
  /** The result of the comparison: the lengths of the common prefixes, and whether row and column are equal. */
  sharedRow = 0;
  sameRow = false;
  sharedQualifier = 0;
  sameColumn = false;

  /** Replaces the last cell by the one at `cursor`. False, and no change, when that sorts before it or has an empty row. */
  advance(cursor: CellKey): boolean {
    const { rowLength, qualifierLength } = cursor;
    if (rowLength === 0 || !this.compare(cursor)) return false;
    if (rowLength + qualifierLength > this.bytes.length)
      this.bytes = grown(this.bytes, rowLength + qualifierLength);
    const bytes = this.bytes;
    const { key, rowOffset, qualifierOffset } = cursor;
    if (!this.sameRow) {
      for (let i = this.sharedRow; i < rowLength; i++) bytes[i] = key[rowOffset + i]!;
      this.rowLength = rowLength;
    }
    if (!this.sameRow || !this.sameColumn) {
      for (let i = 0; i < qualifierLength; i++) bytes[rowLength + i] = key[qualifierOffset + i]!;
      this.qualifierLength = qualifierLength;
    }
    this.timestamp = cursor.timestamp;
    this.type = cursor.type;
    this.seq = cursor.seq;
    this.empty = false;
    return true;
  }

  /** The row of the last cell. */
  row(): Uint8Array {
    return this.bytes.slice(0, this.rowLength);
  }

  /** Copies the key of the last cell. */
  copyTo(key: SeekKey): void {
    const { rowLength } = this;
    const qualifier = this.bytes.slice(rowLength, rowLength + this.qualifierLength);
    key.setColumn(this.row(), qualifier, this.timestamp, this.type);
  }

  /** Sets the result of the comparison; false when the cell sorts before the last one. */
  private compare(cursor: CellKey): boolean {
    const { bytes, rowLength, qualifierLength } = this;
    const { key, rowOffset, qualifierOffset } = cursor;
    let length = rowLength < cursor.rowLength ? rowLength : cursor.rowLength;
    let shared = 0;
    while (shared < length && bytes[shared] === key[rowOffset + shared]) shared++;
    this.sharedRow = shared;
    this.sameRow = shared === rowLength && shared === cursor.rowLength;
    const rowInOrder =
      shared < length ? bytes[shared]! < key[rowOffset + shared]! : rowLength <= cursor.rowLength;
    length = qualifierLength < cursor.qualifierLength ? qualifierLength : cursor.qualifierLength;
    let sharedQualifier = 0;
    while (
      sharedQualifier < length &&
      bytes[rowLength + sharedQualifier] === key[qualifierOffset + sharedQualifier]
    )
      sharedQualifier++;
    this.sharedQualifier = sharedQualifier;
    const sameQualifier = sharedQualifier === qualifierLength && sharedQualifier === cursor.qualifierLength;
    this.sameColumn = this.sameRow && sameQualifier && !this.empty;
    if (this.empty || !this.sameRow) return rowInOrder;
    if (!sameQualifier) {
      return sharedQualifier < length
        ? bytes[rowLength + sharedQualifier]! < key[qualifierOffset + sharedQualifier]!
        : qualifierLength < cursor.qualifierLength;
    }
    if (this.timestamp !== cursor.timestamp) return this.timestamp > cursor.timestamp;
    if (this.type !== cursor.type) return this.type > cursor.type;
    return this.seq >= cursor.seq;
  }
}

function grown(bytes: Uint8Array, needed: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(needed * 2);
  larger.set(bytes);
  return larger;
}
