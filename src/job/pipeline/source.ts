/** What a job reads. */

import type { Result, Scan } from '../../table/index.js';
import type { JobReadable, RowRange } from '../types.js';

/** Rows of a table, or of what looks like one, made into items. */
export interface JobSource<T> {
  /** Part of the job's signature. */
  readonly signature: string;
  readonly table: string | JobReadable;
  /** Empty: the whole table. Of what is no table each range is one split. */
  readonly ranges: readonly RowRange[];
  scan(): Scan;
  /** Null: the row is none of the source's. */
  load(row: Result): T | null | Promise<T | null>;
}

/** A query whose entities a job can read: `repository.find(...)`. */
export interface JobQuery<T> {
  toSource(): Promise<JobSource<T>>;
}

/** The rows of a table as they are. `scan` says what is read of them: families, columns, versions, times, a filter. */
export function tableSource(
  table: string,
  scan: () => Scan,
  ranges: readonly RowRange[] = [],
): JobSource<Result> {
  const { families, maxVersions, timeRange, filter, raw } = scan();
  const read = JSON.stringify([
    [...families.keys()],
    maxVersions,
    timeRange.min,
    timeRange.max,
    filter?.kind,
    raw,
  ]);
  return { signature: `table ${table} ${read}`, table, ranges, scan, load: (row) => row };
}
