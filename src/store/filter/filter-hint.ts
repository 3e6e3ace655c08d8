import { compareBytes, compareSlices, EMPTY_BYTES } from '../../bytes/index.js';
import { LATEST_TIMESTAMP } from '../../table/index.js';
import type { CellCursor } from '../cursor.js';

/** A family as filters see it. */
export interface FilterFamily {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** The first cell that a filter wants to see next, in the words of a cell at hand (HBase `getNextCellHint`). */
export class FilterHint {
  /** Null: the row of the cell at hand. */
  row: Uint8Array | null = null;
  /** Null: before every family. */
  family: FilterFamily | null = null;
  qualifier: Uint8Array = EMPTY_BYTES;
  timestamp = LATEST_TIMESTAMP;

  toRow(row: Uint8Array): void {
    this.row = row;
    this.family = null;
    this.qualifier = EMPTY_BYTES;
    this.timestamp = LATEST_TIMESTAMP;
  }

  /** A column of the row at hand; -1 as the timestamp stands behind all its versions. */
  toColumn(family: FilterFamily, qualifier: Uint8Array, timestamp = LATEST_TIMESTAMP): void {
    this.row = null;
    this.family = family;
    this.qualifier = qualifier;
    this.timestamp = timestamp;
  }

  copyFrom(other: FilterHint): void {
    this.row = other.row;
    this.family = other.family;
    this.qualifier = other.qualifier;
    this.timestamp = other.timestamp;
  }
}

/** Where a cell stands to a hint, in the direction of the scan: negative when it comes before. */
export function compareToHint(
  cell: CellCursor,
  family: FilterFamily,
  hint: FilterHint,
  reversed: boolean,
): number {
  if (hint.row !== null) {
    const order = compareSlices(cell.key, cell.rowOffset, cell.rowLength, hint.row, 0, hint.row.length);
    if (order !== 0) return reversed ? -order : order;
  }
  if (hint.family === null) return 1;
  const order = compareBytes(family.bytes, hint.family.bytes);
  if (order !== 0) return order;
  const { qualifier } = hint;
  const column = compareSlices(
    cell.key,
    cell.qualifierOffset,
    cell.qualifierLength,
    qualifier,
    0,
    qualifier.length,
  );
  if (column !== 0) return column;
  return cell.timestamp > hint.timestamp ? -1 : 1;
}

/** Which of two hints of the same cell comes first in the direction of the scan. */
export function compareHints(a: FilterHint, b: FilterHint, cell: CellCursor, reversed: boolean): number {
  const row = compareHintRows(a, b, cell);
  if (row !== 0) return reversed ? -row : row;
  if (a.family === null || b.family === null) return a.family === b.family ? 0 : a.family === null ? -1 : 1;
  const order = compareBytes(a.family.bytes, b.family.bytes) || compareBytes(a.qualifier, b.qualifier);
  if (order !== 0) return order;
  return b.timestamp - a.timestamp;
}

function compareHintRows(a: FilterHint, b: FilterHint, cell: CellCursor): number {
  if (a.row === null && b.row === null) return 0;
  const left = a.row ?? rowOf(cell);
  const right = b.row ?? rowOf(cell);
  return compareBytes(left, right);
}

function rowOf(cell: CellCursor): Uint8Array {
  return cell.key.subarray(cell.rowOffset, cell.rowOffset + cell.rowLength);
}
