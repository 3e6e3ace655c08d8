/**
 * How the storage core looks at a cell inside: a mutable position, not an object for each cell. Memstores, blocks and
 * merges are all cursors; a `Cell` is made only of what a reader is given.
 *
 * A cursor's bytes stay as they are until its next `next`, `seek…` or `close`. The family is that of the store.
 */

import { compareSlices, EMPTY_BYTES } from '../bytes/index.js';

/** Sorts before every type at the same timestamp: seeks to the start of a row, column or timestamp. */
export const TYPE_MAXIMUM = 255;
/** Sorts after every type at the same timestamp. */
export const TYPE_MINIMUM = 0;

/** Where to seek: the first cell at or after (row, qualifier, timestamp descending, type descending), whatever its seq. */
export class SeekKey {
  row: Uint8Array = EMPTY_BYTES;
  rowOffset = 0;
  rowLength = 0;
  qualifier: Uint8Array = EMPTY_BYTES;
  qualifierOffset = 0;
  qualifierLength = 0;
  /** -1 sorts after every timestamp of the column. */
  timestamp = 0;
  type: number = TYPE_MAXIMUM;

  /** The start of a row. The key's bytes must stay as they are while it is used. */
  setRow(row: Uint8Array, offset = 0, length: number = row.length): this {
    this.row = row;
    this.rowOffset = offset;
    this.rowLength = length;
    this.qualifierLength = 0;
    this.timestamp = Number.MAX_SAFE_INTEGER;
    this.type = TYPE_MAXIMUM;
    return this;
  }

  /** A place in a column; by default its start. */
  setColumn(
    row: Uint8Array,
    qualifier: Uint8Array,
    timestamp: number = Number.MAX_SAFE_INTEGER,
    type: number = TYPE_MAXIMUM,
  ): this {
    this.setRow(row);
    this.qualifier = qualifier;
    this.qualifierOffset = 0;
    this.qualifierLength = qualifier.length;
    this.timestamp = timestamp;
    this.type = type;
    return this;
  }
}

/** Takes the cells of a row from their bytes. */
export interface PutTaker {
  /** Cells of later writes are passed over. */
  readonly readPoint: number;
  /**
   * Takes the next put, which has no time to live of its own, and whose value stands behind its qualifier. False: it takes no
   * more, and none of the row.
   */
  take(
    bytes: Uint8Array,
    qualifierOffset: number,
    qualifierLength: number,
    timestamp: number,
    valueLength: number,
  ): boolean;
}

/**
 * A position in a sorted run of cells of one family, in HBase's order (R2): row, qualifier, timestamp descending, type
 * code descending, seq descending. Every field but `valid` is meaningful only while `valid` is true.
 */
export abstract class CellCursor {
  valid = false;
  /** Holds the row and the qualifier. */
  key: Uint8Array = EMPTY_BYTES;
  rowOffset = 0;
  rowLength = 0;
  qualifierOffset = 0;
  qualifierLength = 0;
  timestamp = 0;
  type = 0;
  /** The number of the write that made the cell: 0..2^53-1. */
  seq = 0;
  /** Holds the value. */
  value: Uint8Array = EMPTY_BYTES;
  valueOffset = 0;
  valueLength = 0;
  /** The cell's own time to live in milliseconds, 0 for none. */
  ttl = 0;
  /** Ties of equal cells with equal seq (bulk loads): the higher is newer. Set by whoever merges cursors. */
  order = 0;

  /** To the first cell. */
  abstract seekToFirst(): boolean;
  /** To the first cell at or after `target`; never moves backwards only if told so by `reseek`. */
  abstract seek(target: SeekKey): boolean;
  /** As `seek`, for a target known to be at or after the present position: may walk instead of searching. */
  abstract reseek(target: SeekKey): boolean;
  /** To the next cell; false at the end. */
  abstract next(): boolean;
  /** As `next`, of a cursor that stands in `row`: false also when the cell it has come to is of another row. */
  nextInRow(row: Uint8Array): boolean {
    return this.next() && isInRow(this, row);
  }
  /**
   * Gives the cells of the row, at whose first it stands, to `taker`, and goes on to the row behind. False: there are others
   * than it takes, or the cursor cannot give them so; it is where it was, and some may have been taken.
   */
  visitRow(_taker: PutTaker): boolean {
    return false;
  }
  /** To the first cell of the greatest row that is less than `row`, or of the last row when `row` is null. */
  abstract seekToPreviousRow(row: Uint8Array | null): boolean;
  /** Gives back what it holds (blocks, file references). */
  abstract close(): void;
}

/** Rows next to each other differ mostly at their ends. */
export function isInRow(cell: CellCursor, row: Uint8Array): boolean {
  const length = row.length;
  if (cell.rowLength !== length) return false;
  const { key, rowOffset } = cell;
  for (let i = length - 1; i >= 0; i--) if (key[rowOffset + i] !== row[i]) return false;
  return true;
}

/** Whether a cell has this qualifier. */
export function isInColumn(cell: CellCursor, qualifier: Uint8Array): boolean {
  const length = qualifier.length;
  if (cell.qualifierLength !== length) return false;
  const { key, qualifierOffset } = cell;
  for (let i = length - 1; i >= 0; i--) if (key[qualifierOffset + i] !== qualifier[i]) return false;
  return true;
}

/** R2 for two cursors at valid positions; the same cell written twice sorts the newer first. */
export function compareCursors(a: CellCursor, b: CellCursor): number {
  const difference = compareRows(a, b);
  return difference !== 0 ? difference : compareInRow(a, b);
}

/** The order of the rows that two cursors stand in. */
export function compareRows(a: CellCursor, b: CellCursor): number {
  return compareSlices(a.key, a.rowOffset, a.rowLength, b.key, b.rowOffset, b.rowLength);
}

/** R2 for two cursors that stand in one row. */
export function compareInRow(a: CellCursor, b: CellCursor): number {
  const difference = compareSlices(
    a.key,
    a.qualifierOffset,
    a.qualifierLength,
    b.key,
    b.qualifierOffset,
    b.qualifierLength,
  );
  if (difference !== 0) return difference;
  if (a.timestamp !== b.timestamp) return a.timestamp > b.timestamp ? -1 : 1;
  if (a.type !== b.type) return b.type - a.type;
  if (a.seq !== b.seq) return a.seq > b.seq ? -1 : 1;
  return b.order - a.order;
}

/** Where a cursor stands in relation to a seek key: negative when its cell sorts before the key. */
export function compareToSeekKey(cursor: CellCursor, key: SeekKey): number {
  let difference = compareSlices(
    cursor.key,
    cursor.rowOffset,
    cursor.rowLength,
    key.row,
    key.rowOffset,
    key.rowLength,
  );
  if (difference !== 0) return difference;
  difference = compareSlices(
    cursor.key,
    cursor.qualifierOffset,
    cursor.qualifierLength,
    key.qualifier,
    key.qualifierOffset,
    key.qualifierLength,
  );
  if (difference !== 0) return difference;
  if (cursor.timestamp !== key.timestamp) return cursor.timestamp > key.timestamp ? -1 : 1;
  return key.type - cursor.type;
}
