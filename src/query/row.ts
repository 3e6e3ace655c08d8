/** A row as a reading stands at it: a result of its own, or one that is filled again for the next. */

import { EMPTY_BYTES, equalBytes, startsWithBytes } from '../bytes/index.js';
import { RawRow, type Result } from '../table/index.js';

export type Row = Result | RawRow;

/** Bytes within a buffer. */
export interface ByteSpan {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

const NOWHERE: ByteSpan = { bytes: EMPTY_BYTES, start: 0, end: 0 };

/** Where the newest value of a column stands, as long as the row does; an empty span if there is none. */
export function valueSpan(row: Row, family: string, qualifier: Uint8Array): ByteSpan {
  if (!(row instanceof RawRow)) {
    const value = row.getValue(family, qualifier);
    return value === undefined ? NOWHERE : { bytes: value, start: 0, end: value.length };
  }
  const at = indexIn(row, family, qualifier);
  return at < 0 ? NOWHERE : { bytes: row.bytes, start: row.starts[at]!, end: row.ends[at]! };
}

/** The newest value of a column, or undefined. */
export function valueIn(row: Row, family: string, qualifier: Uint8Array): Uint8Array | undefined {
  if (!(row instanceof RawRow)) return row.getValue(family, qualifier);
  const at = indexIn(row, family, qualifier);
  return at < 0 ? undefined : row.valueAt(at);
}

function indexIn(row: RawRow, family: string, qualifier: Uint8Array): number {
  for (let i = 0; i < row.count; i++) {
    if (row.families[i] === family && equalBytes(row.qualifiers[i]!, qualifier)) return i;
  }
  return -1;
}

/** Whether there is a cell in the family whose qualifier begins so, other than `without`. */
export function hasCell(
  row: Row,
  family: string,
  prefix: Uint8Array,
  without: Uint8Array | undefined,
): boolean {
  const fits = (other: string, qualifier: Uint8Array): boolean =>
    other === family &&
    startsWithBytes(qualifier, prefix) &&
    !(without !== undefined && equalBytes(qualifier, without));
  if (!(row instanceof RawRow)) return row.cells.some((cell) => fits(cell.family, cell.qualifier));
  for (let i = 0; i < row.count; i++) if (fits(row.families[i]!, row.qualifiers[i]!)) return true;
  return false;
}

/** A row that stays as it is. */
export function keptRow(row: Row): Result {
  return row instanceof RawRow ? row.toResult() : row;
}

/** Bytes of all values. */
export function valueBytes(row: Row): number {
  if (row instanceof RawRow) return row.count === 0 ? 0 : row.ends[row.count - 1]!;
  let bytes = 0;
  for (const cell of row.cells) bytes += cell.value.length;
  return bytes;
}

/** Rows to read into that are kept for the next reading: at most as many as readings go on at the same time. */
const spare: RawRow[] = [];
const MOST_SPARE = 64;

/** A row to read into, to be given back. */
export function takeRawRow(): RawRow {
  return spare.pop() ?? new RawRow();
}

export function giveBackRawRow(raw: RawRow): void {
  if (spare.length < MOST_SPARE) spare.push(raw);
}
