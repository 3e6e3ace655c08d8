import { EMPTY_BYTES, equalBytes, startsWithBytes } from '../bytes/index.js';
import { type Consistency, type OperationOptions, RawRow, type Result, type Scan } from '../table/index.js';

/** A row of a reading: a result of its own, or a raw row that is reused for the next one. */
export type Row = Result | RawRow;

/** Bytes within a buffer. */
interface ByteSpan {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

const NOWHERE: ByteSpan = { bytes: EMPTY_BYTES, start: 0, end: 0 };

/** The position of a column's newest value, valid as long as the row. Empty if there is none. */
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

/** Whether the family has a cell whose qualifier begins so, other than `without`. */
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

/** The row as a result that does not change. */
export function keptRow(row: Row): Result {
  return row instanceof RawRow ? row.toResult() : row;
}

/** The size of all values. */
export function valueBytes(row: Row): number {
  if (row instanceof RawRow) return row.count === 0 ? 0 : row.ends[row.count - 1]! - row.starts[0]!;
  let bytes = 0;
  for (const cell of row.cells) bytes += cell.value.length;
  return bytes;
}

/** About how many bytes of rows are read at once, where there are more rows. */
export const BYTES_AT_ONCE = 4 << 20;

/** How many rows to read at once: at most `most`, and no more than have {@link BYTES_AT_ONCE} if they are as large as these. */
export function fittingRows(most: number, rows: readonly Result[]): number {
  const bytes = rows.reduce((sum, row) => sum + valueBytes(row), 0);
  return bytes === 0 ? most : Math.max(1, Math.min(most, Math.floor((BYTES_AT_ONCE * rows.length) / bytes)));
}

/** Raw rows for reuse: at most as many as there are concurrent readings. */
const spare: RawRow[] = [];
const MAX_SPARE = 64;

/** A raw row, to be given back. */
export function takeRawRow(): RawRow {
  return spare.pop() ?? new RawRow();
}

export function giveBackRawRow(raw: RawRow): void {
  if (spare.length < MAX_SPARE) spare.push(raw);
}

/** A change to an entity before it is returned. */
export type Finish = (entity: Record<string, unknown>) => void;

// — The parameters and counters of a running reading.

/** Options of the table's reads. */
export interface ReadHints {
  readonly consistency?: Consistency | undefined;
  readonly caching?: number | undefined;
  readonly cacheBlocks?: boolean | undefined;
}

/** Counters of what was read. */
export interface ReadTally {
  rows: number;
  bytes: number;
}

export interface ReadOptions extends OperationOptions, ReadHints {
  /** The most rows. Undefined: all. */
  readonly limit: number | undefined;
  /** Ranges of a merge that are read concurrently. */
  readonly concurrency: number;
  /** Threads that read; undefined or 1: the calling one. */
  readonly threads?: number | undefined;
  /** Whether the order of the rows does not matter. */
  readonly unordered?: boolean | undefined;
  /** The expected number of rows, which a remote table is asked for first. */
  readonly expected: number;
  /** Updated if given. */
  readonly tally: ReadTally | undefined;
  /** Updated if given. */
  readonly moments?: Moments | undefined;
}

/**
 * The number of snapshots that the rows come from. Each row comes from one; rows of several may lack one that moved
 * meanwhile.
 */
export interface Moments {
  count: number;
}

/** Compares positions of rows. */
export interface PositionOrder {
  readonly compare: (a: Uint8Array, b: Uint8Array) => number;
  /** Whether a row was returned after one that it should precede, because it moved there while the query ran. */
  readonly outOfOrder: boolean;
}

/** Rows in order, one at a time. `row` is valid until the next `advance`. */
export interface RowCursor {
  /** The current row. Undefined at the end. */
  readonly row: Row | undefined;
  /** The entity of the row, as an index into the plan's layouts. */
  readonly entity: number;
  /** The position in the plan's order, if it is not the row: an index entry. */
  readonly place?: Uint8Array | undefined;
  /** Set where rows may be out of order: their positions are fixed, and can be sorted by it. */
  readonly positions?: PositionOrder | undefined;
  /** Advances to the next row. False at the end. Returns a promise only when the table is asynchronous. */
  advance(): boolean | Promise<boolean>;
  /** Counts the rows instead of giving them, where that is faster; undefined: it is not. Called before the first `advance`, if at all. */
  countRows?(): Promise<number> | undefined;
  /** Closes scanners. May be called at any time and repeatedly. */
  close(): void | Promise<void>;
}

/** The rows of a query, to be read in parts. */
export interface RowSource<T> {
  /** Identifies what is read: equal for equal queries. */
  readonly signature: string;
  readonly table: string;
  /** Rows in [start, stop). An empty stop is the end of the table. */
  readonly ranges: readonly { readonly start: Uint8Array; readonly stop: Uint8Array }[];
  /** A scan of the rows, without bounds. */
  scan(): Scan;
  /** Null: the row does not belong to the query. */
  load(row: Result): T | null | Promise<T | null>;
  /** The same for a row that is reused. */
  loadRaw(row: RawRow): T | null | Promise<T | null>;
}
