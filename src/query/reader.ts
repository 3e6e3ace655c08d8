/** Runs a plan: gets for points, one scan after the other, or a merge; then what is decided here, and the limit. */

import { throwIfAborted } from '../errors.js';
import type { KeyPlan, KeyRange } from '../key/types.js';
import {
  type Filter,
  Get,
  type OperationOptions,
  type Query,
  type Result,
  type TimeRange,
} from '../table/index.js';
import type { RowTest } from './evaluate.js';
import { MergeReader } from './merge-reader.js';
import { applyReadSet, type ReadSet } from './projection.js';
import { type Position, rangesFrom, scanOf } from './ranges.js';
import { ScanSource, type TableAccess } from './source.js';

/** Rows in order, as many as are asked for. */
export interface RowReader {
  /** Up to `count` further rows; fewer, or none, only at the end. */
  read(count: number): Promise<Result[]>;
  /** Gives back scanners; allowed at any time and more than once. */
  close(): Promise<void>;
}

/** What running needs to know of a plan; entity queries and collections both have it. */
export interface RunnablePlan {
  readonly keyPlan: KeyPlan;
  readonly read: ReadSet;
  /** For the engine; undefined when there is none. */
  readonly filter: Filter | undefined;
  /** What is decided here, conditions and the key's own check; undefined when nothing is. */
  readonly rowTest: RowTest | undefined;
  readonly timeRange: TimeRange | undefined;
  readonly reversed: boolean;
}

export interface RunOptions extends OperationOptions {
  /** Rows wanted in all; undefined: every row. */
  readonly limit: number | undefined;
  readonly position: Position | undefined;
  /** Ranges of a merge that are asked at the same time. */
  readonly concurrency: number;
}

/** Ranges asked at the same time when a merge begins. */
export const DEFAULT_CONCURRENCY = 16;

/** Gets sent at once for a query of several whole keys. */
const GETS_AT_ONCE = 64;

/** Starts a plan. Nothing is read before the first `read`. */
export function runPlan(plan: RunnablePlan, access: TableAccess, options: RunOptions): RowReader {
  if (options.limit === 0) return new EmptyReader();
  const ranges = rangesFrom(plan.keyPlan, plan.reversed, options.position);
  const { kind, order, mergeOffset } = plan.keyPlan;
  const pushedLimit = plan.rowTest === undefined ? options.limit : undefined;
  const open = (range: KeyRange, limit: number | undefined): ScanSource => {
    const scan = scanOf(range, plan.reversed).setLimit(limit);
    prepareQuery(scan, plan);
    return new ScanSource(access, scan, options);
  };
  let reader: RowReader;
  if (kind === 'point' || kind === 'points') reader = new GetReader(plan, ranges, access, options);
  else if (order === 'merge' && ranges.length > 1) {
    reader = new MergeReader(
      ranges.map((range) => () => open(range, pushedLimit)),
      mergeOffset,
      plan.reversed,
      options.concurrency,
    );
  } else {
    reader = new SequenceReader(ranges, open, pushedLimit);
  }
  return new LimitedReader(reader, plan.rowTest, options);
}

/** Tells a get or scan what the plan reads, filters and of which times. */
export function prepareQuery(query: Query, plan: RunnablePlan): void {
  applyReadSet(query, plan.read);
  if (plan.filter !== undefined) query.setFilter(plan.filter);
  if (plan.timeRange !== undefined) query.setTimeRange(plan.timeRange.min, plan.timeRange.max);
}

class EmptyReader implements RowReader {
  async read(): Promise<Result[]> {
    return [];
  }
  async close(): Promise<void> {}
}

/** Whole keys, in the order of the ranges. */
class GetReader implements RowReader {
  private index = 0;

  constructor(
    private readonly plan: RunnablePlan,
    private readonly ranges: readonly KeyRange[],
    private readonly access: TableAccess,
    private readonly options: OperationOptions,
  ) {}

  async read(count: number): Promise<Result[]> {
    const rows: Result[] = [];
    while (rows.length < count && this.index < this.ranges.length) {
      const size = Math.min(count - rows.length, GETS_AT_ONCE);
      const gets = this.ranges.slice(this.index, this.index + size).map((range) => {
        const get = new Get(range.start);
        prepareQuery(get, this.plan);
        return get;
      });
      this.index += gets.length;
      const { sync, table } = this.access;
      const results =
        sync === undefined ? await table.getAll(gets, this.options) : gets.map((get) => sync.getSync(get));
      for (const result of results) if (!result.isEmpty) rows.push(result);
    }
    return rows;
  }

  async close(): Promise<void> {
    this.index = this.ranges.length;
  }
}

/** One range after the other. */
class SequenceReader implements RowReader {
  private index = 0;
  private source: ScanSource | undefined;

  constructor(
    private readonly ranges: readonly KeyRange[],
    private readonly open: (range: KeyRange, limit: number | undefined) => ScanSource,
    private remaining: number | undefined,
  ) {}

  async read(count: number): Promise<Result[]> {
    const rows: Result[] = [];
    while (rows.length < count) {
      if (this.source === undefined) {
        const range = this.ranges[this.index++];
        if (range === undefined) break;
        this.source = this.open(range, this.remaining);
      }
      const { source } = this;
      if (source.needsFetch) {
        const fetched = source.fetch(count - rows.length);
        if (fetched !== undefined) await fetched;
      }
      const before = rows.length;
      while (rows.length < count && source.head !== undefined) rows.push(source.take());
      if (this.remaining !== undefined) this.remaining -= rows.length - before;
      if (source.head === undefined && !source.needsFetch) await this.finish();
    }
    return rows;
  }

  private async finish(): Promise<void> {
    await this.source?.close();
    this.source = undefined;
    if (this.remaining !== undefined && this.remaining <= 0) this.index = this.ranges.length;
  }

  async close(): Promise<void> {
    this.remaining = 0;
    await this.finish();
  }
}

/** Drops the rows that fail the test and ends at the limit. */
class LimitedReader implements RowReader {
  private remaining: number;

  constructor(
    private readonly inner: RowReader,
    private readonly rowTest: RowTest | undefined,
    private readonly options: RunOptions,
  ) {
    this.remaining = options.limit ?? Number.POSITIVE_INFINITY;
  }

  async read(count: number): Promise<Result[]> {
    throwIfAborted(this.options.signal);
    const wanted = Math.min(count, this.remaining);
    if (wanted <= 0) return [];
    if (this.rowTest === undefined) {
      const rows = await this.inner.read(wanted);
      this.remaining -= rows.length;
      return rows;
    }
    const passed: Result[] = [];
    while (passed.length < wanted) {
      throwIfAborted(this.options.signal);
      const asked = wanted - passed.length;
      const rows = await this.inner.read(asked);
      for (const row of rows) if (this.rowTest(row)) passed.push(row);
      if (rows.length < asked) break;
    }
    this.remaining -= passed.length;
    return passed;
  }

  async close(): Promise<void> {
    this.remaining = 0;
    await this.inner.close();
  }
}
