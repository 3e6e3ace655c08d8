/** What works over whole tables reads a query by. */

import type { RawRow, Result, Scan } from '../table/index.js';

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
