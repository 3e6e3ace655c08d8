/** What queries on one entity and on collections have in common: reading rows in order, pages, streams, counting. */

import { QueryError, RowanError } from '../errors.js';
import { describe } from '../table/checks.js';
import type { OperationOptions, RawRow, Result } from '../table/index.js';
import { type CursorScope, decodeCursor, encodeCursor } from './cursor.js';
import { Page, type PageOptions } from './page.js';
import { canReadRaw, readRaw } from './raw-reader.js';
import {
  DEFAULT_CONCURRENCY,
  type RowReader,
  type RunnablePlan,
  type RunOptions,
  runPlan,
} from './reader.js';
import { recoverOrThrow } from './recover.js';
import type { TableAccess } from './source.js';

/** Rows asked for at once: few at first, so that a reader who stops early costs little. */
const FIRST_CHUNK = 32;
const LARGEST_CHUNK = 1024;

/** A plan made ready to run. */
export interface PreparedQuery<T> {
  readonly plan: RunnablePlan;
  /** The same with the opposite direction. */
  readonly reversedPlan: () => RunnablePlan;
  readonly scope: CursorScope;
  /** Makes what the reader is given of a row; null drops the row. */
  readonly load: (row: Result) => T | null | Promise<T | null>;
  /** The same of a raw row, if it can be done at once. */
  readonly loadRaw: ((raw: RawRow) => T | null) | undefined;
}

export interface RowQueryOptions extends OperationOptions {
  readonly limit: number | undefined;
  /** Ranges of a merge that are asked at the same time; default 16. */
  readonly concurrency?: number | undefined;
}

/** Runs prepared queries. Stateless: each call reads anew. */
export class RowQueryRunner<T> {
  constructor(
    private readonly access: TableAccess,
    private readonly prepared: PreparedQuery<T>,
    private readonly options: RowQueryOptions,
  ) {}

  private open(plan: RunnablePlan, limit: number | undefined, cursor?: string): RowReader {
    return runPlan(plan, this.access, this.runOptions(limit, cursor));
  }

  private runOptions(limit: number | undefined, cursor: string | undefined): RunOptions {
    return {
      signal: this.options.signal,
      timeout: this.options.timeout,
      limit,
      position: cursor === undefined ? undefined : decodeCursor(this.prepared.scope, cursor),
      concurrency: this.options.concurrency ?? DEFAULT_CONCURRENCY,
    };
  }

  /** Every row. @throws QueryError when there are more than `max`. */
  all(max: number | undefined): Promise<T[]> {
    const { limit } = this.options;
    const bounded = max !== undefined && (limit === undefined || limit > max);
    return bounded ? this.collectUpTo(max) : this.collect(limit);
  }

  private async collectUpTo(max: number): Promise<T[]> {
    const items = await this.collect(max + 1);
    if (items.length > max) {
      throw new QueryError(
        `all({ max: ${max} }) found more than ${max} rows. Use limit(), page() or for await.`,
      );
    }
    return items;
  }

  private async collect(limit: number | undefined): Promise<T[]> {
    const { plan, loadRaw } = this.prepared;
    const { sync } = this.access;
    const items: T[] = [];
    if (loadRaw !== undefined && canReadRaw(plan, sync)) {
      try {
        const reading = readRaw(plan, sync, this.runOptions(limit, undefined), (raw) => {
          const item = loadRaw(raw);
          if (item !== null) items.push(item);
        });
        if (reading !== undefined) await reading;
        return items;
      } catch (error) {
        await recoverOrThrow(this.access, error);
        items.length = 0;
      }
    }
    const reader = this.open(plan, limit);
    try {
      let chunk = limit === undefined ? LARGEST_CHUNK : Math.min(limit, LARGEST_CHUNK);
      for (;;) {
        const rows = await reader.read(chunk);
        await this.loadInto(items, rows);
        if (rows.length < chunk) return items;
        chunk = LARGEST_CHUNK;
      }
    } finally {
      await reader.close();
    }
  }

  private async loadInto(items: T[], rows: readonly Result[]): Promise<void> {
    const { load } = this.prepared;
    for (const row of rows) {
      const loaded = load(row);
      const item = loaded instanceof Promise ? await loaded : loaded;
      if (item !== null) items.push(item);
    }
  }

  async count(): Promise<number> {
    const reader = this.open(this.prepared.plan, this.options.limit);
    try {
      let count = 0;
      for (;;) {
        const rows = await reader.read(LARGEST_CHUNK);
        count += rows.length;
        if (rows.length < LARGEST_CHUNK) return count;
      }
    } finally {
      await reader.close();
    }
  }

  async page(options: PageOptions): Promise<Page<T>> {
    const { size, cursor } = options;
    const back = options.back ?? false;
    if (!Number.isSafeInteger(size) || size < 1) {
      throw new QueryError(`page: size is a positive integer, not ${describe(size)}.`);
    }
    if (this.options.limit !== undefined) {
      throw new QueryError('page() and limit() do not go together: the size of the page is its limit.');
    }
    if (back && cursor === undefined) {
      throw new QueryError('page({ back: true }) needs the backCursor of a page.');
    }
    const reader = this.open(back ? this.prepared.reversedPlan() : this.prepared.plan, size + 1, cursor);
    let rows: Result[];
    try {
      rows = await reader.read(size + 1);
    } finally {
      await reader.close();
    }
    const more = rows.length > size;
    if (more) rows.pop();
    if (back) rows.reverse();
    return this.makePage(rows, back ? rows.length > 0 : more, back ? more : cursor !== undefined);
  }

  private async makePage(rows: readonly Result[], hasNext: boolean, hasPrevious: boolean): Promise<Page<T>> {
    const items: T[] = [];
    const kept: Result[] = [];
    for (const row of rows) {
      const before = items.length;
      await this.loadInto(items, [row]);
      if (items.length > before) kept.push(row);
    }
    const cursorOf = (row: Result | undefined): string | undefined =>
      row === undefined ? undefined : encodeCursor(this.prepared.scope, row.row);
    return new Page(
      items,
      hasNext ? cursorOf(rows.at(-1)) : undefined,
      hasPrevious ? cursorOf(rows[0]) : undefined,
      (index) => encodeCursor(this.prepared.scope, kept[index]!.row),
    );
  }

  iterate(): AsyncIterableIterator<T> {
    return new RowIterator(this.open(this.prepared.plan, this.options.limit), this.prepared.load);
  }
}

/** Reads on only when the consumer has taken what was read: that is the back-pressure. */
class RowIterator<T> implements AsyncIterableIterator<T> {
  private rows: readonly Result[] = [];
  private index = 0;
  private chunk = FIRST_CHUNK;
  private last = false;
  private busy = false;

  constructor(
    private readonly reader: RowReader,
    private readonly load: (row: Result) => T | null | Promise<T | null>,
  ) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<T>> {
    if (this.busy) {
      throw new RowanError(
        'ERR_BUSY',
        'next() was called before the last one had answered. Await each, or use a query for each reader.',
      );
    }
    this.busy = true;
    try {
      for (;;) {
        if (this.index >= this.rows.length && !(await this.fetch())) {
          await this.reader.close();
          return { done: true, value: undefined };
        }
        const row = this.rows[this.index++]!;
        const loaded = this.load(row);
        const value = loaded instanceof Promise ? await loaded : loaded;
        if (value !== null) return { done: false, value };
      }
    } catch (error) {
      await this.reader.close();
      throw error;
    } finally {
      this.busy = false;
    }
  }

  private async fetch(): Promise<boolean> {
    if (this.last) return false;
    this.rows = await this.reader.read(this.chunk);
    this.index = 0;
    this.last = this.rows.length < this.chunk;
    this.chunk = Math.min(this.chunk * 2, LARGEST_CHUNK);
    return this.rows.length > 0;
  }

  async return(): Promise<IteratorResult<T>> {
    this.last = true;
    this.rows = [];
    this.index = 0;
    await this.reader.close();
    return { done: true, value: undefined };
  }
}
