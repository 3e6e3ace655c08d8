/** A reading that is under way, and how it is done. */

import type { Consistency, OperationOptions } from '../table/index.js';
import type { Row } from './row.js';

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
}

/** Rows in order, one at a time. `row` is right until the next `advance`. */
export interface RowCursor {
  /** The row it stands at; undefined at the end. */
  readonly row: Row | undefined;
  /** Whose row it is, by its place in the plan's layouts. */
  readonly entity: number;
  /** Where it stands in the order of the plan, if that is not the row: an entry of an index. */
  readonly place?: Uint8Array | undefined;
  /** Goes on to the next row; false at the end. A promise only when the table must be waited for. */
  advance(): boolean | Promise<boolean>;
  /** Gives back scanners; allowed at any time and more than once. */
  close(): void | Promise<void>;
}
