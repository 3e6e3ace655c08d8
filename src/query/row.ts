import { EMPTY_BYTES, equalBytes, startsWithBytes } from '../bytes/index.js';
import { type Consistency, type OperationOptions, RawRow, type Result, type Scan } from '../table/index.js';

/** A row as a reading stands at it: a result of its own, or one that is filled again for the next. */

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

/** A change made to an entity before it is handed out. */
export type Finish = (entity: Record<string, unknown>) => void;

/** A reading that is under way, and how it is done. */

/** How the table is to be read, beside what of it. */
export interface ReadHints {
  readonly consistency?: Consistency | undefined;
  readonly caching?: number | undefined;
  readonly cacheBlocks?: boolean | undefined;
}

/** What was read so far. */
export interface ReadTally {
  rows: number;
  bytes: number;
}

export interface ReadOptions extends OperationOptions, ReadHints {
  /** Rows wanted in all; undefined: every row. */
  readonly limit: number | undefined;
  /** Ranges of a merge that are asked at the same time. */
  readonly concurrency: number;
  /** Rows that are likely wanted at first: a remote table is asked for so many. */
  readonly expected: number;
  /** Counted when given. */
  readonly tally: ReadTally | undefined;
  /** Counted when given. */
  readonly moments?: Moments | undefined;
}

/** How many moments the rows of a reading are of: each is of one, but rows that are of several may lack one that moved meanwhile. */
export interface Moments {
  count: number;
}

/** The order of the places of rows. */
export interface Placing {
  readonly compare: (a: Uint8Array, b: Uint8Array) => number;
  /** Whether a row was given behind one that its place comes before: it moved there while the query was read. */
  readonly outOfOrder: boolean;
}

/** Rows in order, one at a time. `row` is right until the next `advance`. */
export interface RowCursor {
  /** The row it stands at; undefined at the end. */
  readonly row: Row | undefined;
  /** Whose row it is, by its place in the plan's layouts. */
  readonly entity: number;
  /** Where it stands in the order of the plan, if that is not the row: an entry of an index. */
  readonly place?: Uint8Array | undefined;
  /** Of readings whose rows may come out of their order: the places stay as they are, and can be sorted by it. */
  readonly placing?: Placing | undefined;
  /** Goes on to the next row; false at the end. A promise only when the table must be waited for. */
  advance(): boolean | Promise<boolean>;
  /** Gives back scanners; allowed at any time and more than once. */
  close(): void | Promise<void>;
}

/** What works over whole tables reads a query by. */

/** The rows of a query, to be read in parts. */
export interface RowSource<T> {
  /** Says what is read: two queries that ask the same have the same. */
  readonly signature: string;
  readonly table: string;
  /** Rows [start, stop); an empty stop is the table's end. */
  readonly ranges: readonly { readonly start: Uint8Array; readonly stop: Uint8Array }[];
  /** What is read of the rows, without bounds. */
  scan(): Scan;
  /** Null: the row is none of the query's. */
  load(row: Result): T | null | Promise<T | null>;
  /** The same of a row that is filled again for the next one. */
  loadRaw(row: RawRow): T | null | Promise<T | null>;
}
