/**
 * How the store represents a cell internally: as the position of a mutable cursor, so that no cell costs an object. Memstores,
 * blocks and merges are all cursors; a `Cell` is created only for results.
 *
 * A cursor's bytes stay valid until its next `next`, `seek…` or `close`. The family is that of the store.
 */

import { compareSlices, EMPTY_BYTES } from '../bytes/index.js';
import type { EncodedRow } from './encoding/encoded-row.js';

/** Sorts before every type at the same timestamp: seeks to the start of a row, column or timestamp. */
export const TYPE_MAXIMUM = 255;
/** Sorts after every type at the same timestamp. */
export const TYPE_MINIMUM = 0;

/** A seek target: the first cell at or after (row, qualifier, timestamp descending, type descending), whatever its seq. */
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

  /** The start of a row. The bytes of the row must not change while the key is used. */
  setRow(row: Uint8Array, offset = 0, length: number = row.length): this {
    this.row = row;
    this.rowOffset = offset;
    this.rowLength = length;
    this.qualifierLength = 0;
    this.timestamp = Number.MAX_SAFE_INTEGER;
    this.type = TYPE_MAXIMUM;
    return this;
  }

  /** A position within a column; by default its start. */
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

/** Receives the cells of a row directly from their encoded bytes. */
export interface PutVisitor {
  /** Cells with a higher sequence number are skipped. */
  readonly readPoint: number;
  /**
   * Receives the next put. It has no time to live of its own, and its value follows its qualifier in `bytes`. False: the visitor
   * cannot handle this row, and discards what it received of it.
   */
  visit(
    bytes: Uint8Array,
    qualifierOffset: number,
    qualifierLength: number,
    timestamp: number,
    valueLength: number,
  ): boolean;
}

/**
 * A position in a sorted sequence of cells of one family, in HBase's order (R2): row, qualifier, timestamp descending, type
 * code descending, seq descending. Every field but `valid` is meaningful only while `valid` is true.
 */
export abstract class CellCursor {
  declare valid: boolean;
  /** The bytes that hold row and qualifier. */
  declare key: Uint8Array;
  declare rowOffset: number;
  declare rowLength: number;
  declare qualifierOffset: number;
  declare qualifierLength: number;
  declare timestamp: number;
  declare type: number;
  /** The sequence number of the write that made the cell: 0..2^53-1. */
  declare seq: number;
  /** The bytes that hold the value. */
  declare value: Uint8Array;
  declare valueOffset: number;
  declare valueLength: number;
  /** The cell's own time to live in milliseconds, 0 for none. */
  declare ttl: number;
  /** Orders equal cells with equal seq (bulk loads): the higher is newer. Set by whoever merges cursors. */
  declare order: number;
  /** How many bytes from the start of a row its values are likely to take. Set by who makes results of rows. */
  declare rowBytes: number;

  /**
   * Assigns all fields. Node 20 defines fields that have initializers by a slow path once objects of more than four classes have them:
   * 5 us for a cursor instead of 0.3. A process has that many where stores do their background work in the calling thread.
   */
  constructor() {
    this.valid = false;
    this.key = EMPTY_BYTES;
    this.rowOffset = 0;
    this.rowLength = 0;
    this.qualifierOffset = 0;
    this.qualifierLength = 0;
    this.timestamp = 0;
    this.type = 0;
    this.seq = 0;
    this.value = EMPTY_BYTES;
    this.valueOffset = 0;
    this.valueLength = 0;
    this.ttl = 0;
    this.order = 0;
    this.rowBytes = 0;
  }

  /** Moves to the first cell. */
  abstract seekToFirst(): boolean;
  /** Moves to the first cell at or after `target`, forwards or backwards. */
  abstract seek(target: SeekKey): boolean;
  /** Like `seek`, for a target at or after the present position: may step forward instead of searching. */
  abstract reseek(target: SeekKey): boolean;
  /** Moves to the next cell; false at the end. */
  abstract next(): boolean;
  /** Like `next`, for a cursor that stands in `row`: also false when the next cell is of another row. */
  nextInRow(row: Uint8Array): boolean {
    return this.next() && isInRow(this, row);
  }
  /**
   * Passes the cells of the row, at whose first cell the cursor stands, to `visitor`. The cursor stays there, and what the visitor
   * received stays as it is until it moves. False: the row has cells other than puts, the visitor refused, or the cursor has no such
   * path; the visitor may have received some cells.
   */
  visitRow(_visitor: PutVisitor): boolean {
    return false;
  }
  /**
   * Reads the row, at whose first cell the cursor stands, in encoded form. The cursor stays there, and what was read stays as it is until
   * it moves. False: the row has other cells than {@link EncodedRow} may have, has a timestamp below `oldest`, or the cursor has no such path.
   */
  encodedRow(_row: EncodedRow, _oldest: number): boolean {
    return false;
  }
  /** Moves to the row after the one that `visitRow` has just passed to a visitor, or `encodedRow` has just read. */
  leaveRow(): void {
    this.valid = false;
  }
  /** Moves to the first cell of the greatest row below `row`, or of the last row when `row` is null. */
  abstract seekToPreviousRow(row: Uint8Array | null): boolean;
  /** Releases what the cursor retains (blocks, files). */
  abstract close(): void;
}

/** By what a cell is ordered. */
export type CellKey = Pick<
  CellCursor,
  'key' | 'rowOffset' | 'rowLength' | 'qualifierOffset' | 'qualifierLength' | 'timestamp' | 'type' | 'seq'
>;

/** Whether a cell is of this row. Compares from the end: adjacent rows mostly differ in their last bytes. */
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

/** Compares two cursors at valid positions (R2). Of a cell that was written twice, the newer sorts first. */
export function compareCursors(a: CellCursor, b: CellCursor): number {
  const difference = compareRows(a, b);
  return difference !== 0 ? difference : compareInRow(a, b);
}

/** Compares the rows of two cursors. */
export function compareRows(a: CellCursor, b: CellCursor): number {
  return compareSlices(a.key, a.rowOffset, a.rowLength, b.key, b.rowOffset, b.rowLength);
}

/** R2 for two cursors that stand in the same row. */
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

/** Compares a cursor with a seek key: negative when its cell sorts before the key. */
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
