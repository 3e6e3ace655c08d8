/** What a job reads. */

import { InvalidArgumentError } from '../../errors.js';
import type { Engine, RawRow, Result, Scan } from '../../table/index.js';
import { planSplits } from '../split-plan.js';
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
  /**
   * The same of a row that is filled again for the next one: where it is there it may be called instead, and `scan` asks for neither
   * delete markers nor parts of rows.
   */
  loadRaw?(row: RawRow): T | null | Promise<T | null>;
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

/** Bytes of a split of a snapshot. */
const SNAPSHOT_SPLIT_BYTES = 256 << 20;

/**
 * A source of tables or entities, read from another engine than the job's: from a checkpoint that was opened, so that all that is read is of
 * one moment, while the job writes to the store that the checkpoint is of. It has to be open, and the same, when the job is gone on with.
 * `splitBytes`: a region larger than this is cut into several splits; default 256 MiB.
 * @throws InvalidArgumentError, in the job, for a source that reads no table.
 */
export function snapshotSource<T>(
  engine: Engine,
  source: JobSource<T> | JobQuery<T>,
  { splitBytes = SNAPSHOT_SPLIT_BYTES }: { readonly splitBytes?: number } = {},
): JobQuery<T> {
  return {
    async toSource() {
      const own = 'toSource' in source ? await source.toSource() : source;
      if (typeof own.table !== 'string') {
        throw new InvalidArgumentError(
          'A snapshot has tables: give tableSource(...), or a query of a repository.',
        );
      }
      const table = engine.table(own.table);
      return {
        ...own,
        signature: `snapshot of ${own.signature}`,
        table,
        ranges: await planSplits(engine.admin, table, own.ranges, splitBytes),
      };
    },
  };
}
