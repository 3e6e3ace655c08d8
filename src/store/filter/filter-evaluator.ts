import { compareBytes, compareSlices, EMPTY_BYTES } from '../../bytes/index.js';
import { type Cell, LATEST_TIMESTAMP } from '../../table/index.js';
import type { CellCursor } from '../cursor.js';

/**
 * A filter's decision on a cell (HBase `Filter.ReturnCode`), as a number: twice the step to continue with (0 the next cell, 1 the next
 * column, 2 the next row, 3 a hint), plus 1 when the cell is excluded.
 */

export const FILTER_INCLUDE = 0;
export const FILTER_SKIP = 1;
export const FILTER_INCLUDE_NEXT_COLUMN = 2;
export const FILTER_NEXT_COLUMN = 3;
export const FILTER_INCLUDE_NEXT_ROW = 4;
export const FILTER_NEXT_ROW = 5;
/** Excluded; continue at the filter's hint. */
export const FILTER_SEEK_HINT = 7;

export type ReturnCode = 0 | 1 | 2 | 3 | 4 | 5 | 7;

/** Whether the cell passes. */
export function isIncluded(code: ReturnCode): boolean {
  return (code & 1) === 0;
}

/** Both filters must pass: takes the longer step ("maximal step rule" of `FilterListWithAND`). */
export function mergeAnd(a: ReturnCode, b: ReturnCode): ReturnCode {
  const step = Math.max(a >> 1, b >> 1);
  return ((step << 1) | ((a | b) & 1)) as ReturnCode;
}

/** One filter suffices: takes the shorter step, and one cell if only one of them is a hint (`FilterListWithOR`). */
export function mergeOr(a: ReturnCode, b: ReturnCode): ReturnCode {
  const left = a >> 1;
  const right = b >> 1;
  const step = left === right ? left : left === 3 || right === 3 ? 0 : Math.min(left, right);
  return ((step << 1) | (a & b & 1)) as ReturnCode;
}

/**
 * The evaluator of one filter in one scan (HBase `FilterBase`). For each row a scanner calls `filterRowKey`, then `filterCell` for each
 * cell, `filterRowCells` and `filterRow` when all cells are collected, and `reset` before the next row. The defaults let
 * everything pass.
 */
export abstract class FilterEvaluator {
  /** Called before each row. */
  reset(): void {}

  /** Whether the scan has ended (HBase `filterAllRemaining`). */
  get done(): boolean {
    return false;
  }

  /** Whether to drop the row without reading its cells. */
  filterRowKey(_row: Uint8Array, _offset: number, _length: number): boolean {
    return false;
  }

  filterCell(_cell: CellCursor, _family: FilterFamily): ReturnCode {
    return FILTER_INCLUDE;
  }

  /** Called after FILTER_SEEK_HINT for this cell: sets `hint`, or returns false when there is nothing more to seek. */
  hint(_cell: CellCursor, _family: FilterFamily, _hint: FilterHint): boolean {
    return false;
  }

  /** Whether `transform` changes values. */
  get transforms(): boolean {
    return false;
  }

  /** The value to return for the cell that `filterCell` has just let pass. */
  transform(value: Uint8Array): Uint8Array {
    return value;
  }

  /** Whether `filterRowCells` or `filterRow` are needed: rows must then be collected whole. */
  get hasFilterRow(): boolean {
    return false;
  }

  /** Drops cells of the collected row. */
  filterRowCells(_cells: Cell[]): void {}

  /** Whether to drop the collected row. */
  filterRow(): boolean {
    return false;
  }
}

/** A family's name, also as bytes. */
export interface FilterFamily {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** The next cell that a filter wants to see, relative to the present cell (HBase `getNextCellHint`). */
export class FilterHint {
  /** Null: the row of the present cell. */
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

  /** To a column of the present row; with timestamp -1 after all its versions. */
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

/** Compares a cell with a hint, in the direction of the scan: negative when the cell comes first. */
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

/** Compares two hints for the same cell, in the direction of the scan. */
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
