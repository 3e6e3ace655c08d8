/** The common part of queries on one entity and on collections: run, stream, page, count. */

import { copyBytes } from '../bytes/index.js';
import { InvalidArgumentError } from '../errors.js';
import { describe, isRecord } from '../table/checks.js';
import { TimeRange } from '../table/index.js';
import type { TableAccess } from './access.js';
import type { FoundRow, FoundRows, FoundRowsOptions } from './bulk-change.js';
import { Deadline, TimedCursor } from './deadline.js';
import { DEFAULT_CONCURRENCY, runPlan } from './execute.js';
import { type Explanation, printedQuery, unreadQuery } from './explanation.js';
import { type FindOptions, maxOf, timeOf, timeRangeAt, tooManyRows } from './find-options.js';
import { type LoadedRow, loadRows, nextLoaded, pause, ROWS_AT_ONCE, type RowLoader } from './loader.js';
import type { Literal, QueryOperation, RunningOperation } from './operations.js';
import {
  checkPage,
  type OpenStream,
  type Page,
  type PageOptions,
  type PageRow,
  pageOf,
  RowStream,
} from './page.js';
import { type CursorScope, decodeCursor, encodeCursor } from './page-cursor.js';
import type { BaseSpec } from './query-spec.js';
import { countRanges, type Position, type ReadPlan } from './read-plan.js';
import type { ReadOptions, ReadTally, Row, RowCursor } from './row.js';
import { orderedPage, unboundedOrder } from './sort.js';
import type { ThreadedRun } from './threads-source.js';

/** A planned query. */
export interface Prepared {
  readonly plan: ReadPlan;
  /** The plan in the opposite direction. */
  readonly reversedPlan: () => ReadPlan;
  readonly scope: CursorScope;
  /** The loader of each entity in the plan. */
  readonly loaders: readonly RowLoader[];
  /** Compares rows by a column, for `orderBy`. */
  readonly compare: ((a: object, b: object) => number) | undefined;
  readonly explain: () => Explanation;
  /** The conditions as text. */
  readonly conditions: (literal: Literal) => string;
  /** Set while a query with a `timeout` runs. */
  readonly deadline?: Deadline;
}

/** Rows that a stream fetches first: few, so that a reader who stops early reads little. */
const FIRST_CHUNK = 32;
/** Rows fetched where no limit is known. */
const MANY_ROWS = 256;

/** A lazy, immutable query. Each method returns a new one, and it can be run any number of times. */
export abstract class BaseQuery<T> implements AsyncIterable<T> {
  protected constructor(
    protected readonly access: TableAccess,
    protected readonly options: FindOptions,
  ) {}

  protected abstract readonly spec: BaseSpec;
  protected abstract derive(change: Partial<BaseSpec>, options?: FindOptions): this;
  /** Plans the query. A promise only where dictionary ids must be loaded first. */
  protected abstract prepare(): Prepared | Promise<Prepared>;
  /** Fast path for up to this many rows (undefined: all). Returns undefined where there is none. */
  protected lookUp(_limit: number | undefined): T[] | Promise<T[]> | undefined {
    return undefined;
  }

  /** The same query, reading only the cells that show whether a row exists. */
  protected abstract forCounting(): BaseQuery<unknown>;

  /** Explains the plan. Reads nothing and needs no server. */
  abstract explain(): Explanation;

  /** @throws QueryError: a query is not its rows. */
  toJSON(): never {
    throw unreadQuery();
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return printedQuery(this);
  }

  /** Reverses the order. Twice restores it. */
  reverse(): this {
    return this.derive({ reversed: !this.spec.reversed });
  }

  /** Limits the number of rows. @throws InvalidArgumentError unless it is a whole number, 0 or more. */
  limit(rows: number): this {
    if (!Number.isSafeInteger(rows) || rows < 0) {
      throw new InvalidArgumentError(`limit takes a whole number of rows, not ${describe(rows)}.`);
    }
    return this.derive({ limit: rows });
  }

  /** Reads as of this time (ms or Date), as far as families keep old versions and deletes. */
  asOf(time: number | Date): this {
    return this.derive({ timeRange: timeRangeAt(time) });
  }

  /** Reads only cells written in [from, to), ms or Dates. @throws InvalidArgumentError on other values. */
  writtenBetween(from: number | Date, to: number | Date): this {
    return this.derive({
      timeRange: new TimeRange(timeOf('writtenBetween', from), timeOf('writtenBetween', to)),
    });
  }

  /** Aborts reading with `ERR_ABORTED` when the signal is aborted. */
  signal(signal: AbortSignal): this {
    if (!isRecord(signal) || typeof Reflect.get(signal, 'aborted') !== 'boolean') {
      throw new InvalidArgumentError(`signal takes an AbortSignal, not ${describe(signal)}.`);
    }
    return this.derive({}, { ...this.options, signal });
  }

  /** The first row, or null. */
  async first(): Promise<T | null> {
    const limit = Math.min(this.spec.limit ?? 1, 1);
    // Observers get an event for the running query.
    const query = this.access.operations?.hasQueryListeners ? this.limit(limit) : this;
    const found = query.collect('first', undefined, limit);
    const rows = found instanceof Promise ? await found : found;
    return rows[0] ?? null;
  }

  /**
   * Returns every row in one array. @throws QueryError when there are more than `max`: results are never cut off
   * silently.
   */
  async all(options: { readonly max?: number } = {}): Promise<T[]> {
    return this.collect('all', maxOf(options), this.spec.limit);
  }

  /** Counts the rows. Reads only markers and the columns of conditions. */
  async count(): Promise<number> {
    return this.forCounting().countRows('count');
  }

  /** Returns whether there is any row. Stops at the first one. */
  async exists(): Promise<boolean> {
    if (this.spec.limit === 0) return false;
    return (await this.forCounting().limit(1).countRows('exists')) > 0;
  }

  /**
   * Returns a page of `size` rows (no default), with cursors to the next and the previous page; with `total: true`,
   * also the number of all rows. Cursors are bound to the query: other queries reject them.
   * @throws InvalidArgumentError without options, and on a size that is not positive; QueryError on a cursor of another
   *   query.
   */
  async page(options: PageOptions): Promise<Page<T>> {
    const page = await this.readPage(options);
    return options.total === true ? page.withTotal(await this.count()) : page;
  }

  private async readPage(options: PageOptions): Promise<Page<T>> {
    const { size, cursor, back } = checkPage(options, this.spec.limit);
    const prepared = await this.begin();
    if (prepared.compare !== undefined) throw orderedPage();
    return this.observed('page', prepared, async (tally) => {
      const position = cursor === undefined ? undefined : decodeCursor(prepared.scope, cursor);
      const plan = back ? prepared.reversedPlan() : prepared.plan;
      const reading = this.open(prepared, size + 1, size + 1, tally, position, plan);
      const { positions } = reading;
      const rows: PageRow<T>[] = [];
      const take = (row: Row, key: Uint8Array, entity: number): Promise<void> | undefined => {
        const taken = (item: object | null): undefined => {
          rows.push({ item: item as T | null, position: { key, entity } });
        };
        const item = prepared.loaders[entity]!.load(row);
        return item instanceof Promise ? item.then(taken) : taken(item);
      };
      // The row after the page shows only that there is another page.
      let seen = 0;
      try {
        const kept: { readonly row: Row; readonly place: Uint8Array }[] = [];
        for (;;) {
          const more = reading.advance();
          if (!(typeof more === 'boolean' ? more : await more)) break;
          seen++;
          const { entity } = reading;
          const row = reading.row!;
          const place = copyBytes(reading.place ?? row.row);
          if (positions !== undefined) kept.push({ row, place });
          else if (seen > size) break;
          else await take(row, place, entity);
        }
        if (positions?.outOfOrder) kept.sort((a, b) => positions.compare(a.place, b.place));
        for (const { row, place } of kept.slice(0, size)) await take(row, place, 0);
      } finally {
        await reading.close();
      }
      if (back) rows.reverse();
      return pageOf(
        prepared.scope,
        rows,
        back ? rows.length > 0 : seen > size,
        back ? seen > size : cursor !== undefined,
      );
    });
  }

  /**
   * Reads the rows for bulk changes, each with its item. Keys never change, so each batch is a read of its own, and
   * no read is open while rows are deleted. Index entries do change, so with an index all batches are one read, which
   * returns each row once.
   */
  protected async *readBatches({ size, limit, cursor }: FoundRowsOptions): AsyncGenerator<FoundRows> {
    const prepared = await this.begin(true);
    const { plan, loaders, scope } = prepared;
    const isKept = plan.through !== undefined;
    const tally = this.started('iterate', prepared);
    let position = cursor === undefined ? undefined : decodeCursor(scope, cursor);
    let reading: RowCursor | undefined;
    let ahead: LoadedRow | undefined;
    let error: unknown;
    try {
      for (let left = limit ?? Number.POSITIVE_INFINITY; left > 0; ) {
        const wanted = Math.min(size, left);
        if (reading === undefined) {
          reading = this.open(prepared, isKept ? undefined : wanted + 1, wanted + 1, tally, position);
          ahead = await nextLoaded(reading, loaders);
        }
        const { positions } = reading;
        const rows: FoundRow[] = [];
        for (let count = 0; ahead !== undefined && count < wanted; count++) {
          const { row, place, entity, item } = ahead;
          // A row that moved behind the read position is returned late: the cursor then continues after the others.
          if (
            position === undefined ||
            positions === undefined ||
            positions.compare(place, position.key) > 0
          ) {
            position = { key: place, logical: scope.schemas[entity]!.key.logicalBytes(place), entity };
          }
          if (item !== null) rows.push({ row, key: item });
          ahead = await nextLoaded(reading, loaders);
        }
        if (!isKept) {
          await reading.close();
          reading = undefined;
        }
        left -= rows.length;
        const next = ahead && encodeCursor(scope, position!.key, position!.entity);
        yield { rows, cursor: next };
        if (next === undefined) break;
      }
    } catch (thrown) {
      error = thrown;
      throw thrown;
    } finally {
      await reading?.close();
      tally?.end(error);
    }
  }

  /** Streams the rows, with backpressure: it reads only as fast as they are consumed. */
  [Symbol.asyncIterator](): AsyncIterableIterator<T> {
    return new RowStream<T>(() => this.prepareStream());
  }

  private async prepareStream(): Promise<OpenStream<T>> {
    const prepared = await this.begin(true);
    if (prepared.compare !== undefined) {
      const items = await this.collect('iterate', undefined, this.spec.limit);
      return { items };
    }
    const { limit } = this.spec;
    const tally = this.started('iterate', prepared);
    const end = (error: unknown): void => tally?.end(error);
    let reading: RowCursor;
    try {
      reading = this.open(prepared, limit, Math.min(limit ?? FIRST_CHUNK, FIRST_CHUNK), tally);
    } catch (error) {
      end(error);
      throw error;
    }
    return { reading, loaders: prepared.loaders, signal: this.options.signal, end };
  }

  /** A promise only if something must be awaited, here and below; rows from memory need none. */
  private collect(
    operation: QueryOperation,
    max: number | undefined,
    limit: number | undefined,
  ): T[] | Promise<T[]> {
    const short = max === undefined ? this.lookUp(limit) : undefined;
    if (short !== undefined) return short;
    const ready = this.begin();
    return ready instanceof Promise
      ? ready.then((prepared) => this.collectPrepared(operation, prepared, max, limit))
      : this.collectPrepared(operation, ready, max, limit);
  }

  private collectPrepared(
    operation: QueryOperation,
    prepared: Prepared,
    max: number | undefined,
    limit: number | undefined,
  ): T[] | Promise<T[]> {
    const bounded = max !== undefined && (limit === undefined || limit > max);
    if (prepared.compare !== undefined) return this.collectSorted(prepared, prepared.compare, max, limit);
    const wanted = bounded ? max + 1 : limit;
    const loaded = this.observed(operation, prepared, (tally) => this.loadAll(prepared, wanted, tally));
    if (!bounded) return loaded;
    const checked = (items: T[]): T[] => {
      if (items.length > max) throw tooManyRows(max);
      return items;
    };
    return loaded instanceof Promise ? loaded.then(checked) : checked(loaded);
  }

  private loadAll(
    prepared: Prepared,
    limit: number | undefined,
    tally: ReadTally | undefined,
  ): T[] | Promise<T[]> {
    const items: T[] = [];
    const reading = this.openAll(prepared, limit, tally);
    const { positions } = reading;
    if (positions === undefined) {
      const waits = loadRows(reading, prepared.loaders, (item) => items.push(item as T), this.options.signal);
      return waits === undefined ? items : waits.then(() => items);
    }
    const placed: { readonly item: T; readonly place: Uint8Array }[] = [];
    const take = (item: object): void => void placed.push({ item: item as T, place: reading.place! });
    const sorted = (): T[] => {
      if (positions.outOfOrder) placed.sort((a, b) => positions.compare(a.place, b.place));
      return placed.map(({ item }) => item);
    };
    return loadRows(reading, prepared.loaders, take, this.options.signal)?.then(sorted) ?? sorted();
  }

  private openAll(
    prepared: Prepared,
    limit: number | undefined,
    tally: ReadTally | undefined,
    unordered = false,
  ): RowCursor {
    return this.open(
      prepared,
      limit,
      Math.min(limit ?? MANY_ROWS, MANY_ROWS),
      tally,
      undefined,
      undefined,
      unordered,
    );
  }

  /** Gives every row to `take`, and keeps none. */
  protected async forEach(operation: QueryOperation, take: (item: object) => void): Promise<void> {
    const prepared = await this.begin();
    await this.observed(operation, prepared, (tally) =>
      loadRows(
        this.openAll(prepared, this.spec.limit, tally, true),
        prepared.loaders,
        take,
        this.options.signal,
      ),
    );
  }

  /** Returns the first rows in the order of a column. Reads every row, and holds at most twice the requested number. */
  private async collectSorted(
    prepared: Prepared,
    compare: (a: object, b: object) => number,
    max: number | undefined,
    limit: number | undefined,
  ): Promise<T[]> {
    const wanted = limit ?? (max === undefined ? undefined : max + 1);
    if (wanted === undefined) throw unboundedOrder();
    if (wanted === 0) return [];
    const items = await this.observed('all', prepared, async (tally) => {
      const kept: object[] = [];
      const reading = this.open(prepared, undefined, MANY_ROWS, tally);
      try {
        for (let count = 1; await reading.advance(); count++) {
          const item = await prepared.loaders[reading.entity]!.load(reading.row!);
          if (item !== null) kept.push(item);
          if (kept.length >= 2 * wanted) kept.sort(compare).splice(wanted);
          if (count % ROWS_AT_ONCE === 0) await pause(this.options.signal);
        }
      } finally {
        await reading.close();
      }
      return kept.sort(compare).slice(0, wanted);
    });
    if (limit === undefined && max !== undefined && items.length > max) throw tooManyRows(max);
    return items as T[];
  }

  private async countRows(operation: QueryOperation): Promise<number> {
    const prepared = await this.begin();
    return this.observed(operation, prepared, async (tally) => {
      const { limit } = this.spec;
      const reading = this.openAll(prepared, limit, tally, true);
      try {
        const counted = reading.countRows?.();
        if (counted !== undefined) return await counted;
        for (let count = 0; ; count++) {
          const more = reading.advance();
          if (!(typeof more === 'boolean' ? more : await more)) return count;
          if (count % ROWS_AT_ONCE === ROWS_AT_ONCE - 1) await pause(this.options.signal);
        }
      } finally {
        await reading.close();
      }
    });
  }

  /** Runs work that threads do for the query. False: they cannot. */
  protected async runInThreads(
    operation: QueryOperation,
    begin: (plan: ReadPlan, access: TableAccess, options: ReadOptions) => ThreadedRun | undefined,
  ): Promise<boolean> {
    const prepared = await this.begin();
    const { plan, deadline } = prepared;
    const options = this.readOptions(this.spec.limit, MANY_ROWS, undefined, true);
    const work = begin(plan, this.access, options);
    if (work === undefined) return false;
    try {
      return await this.observed(operation, prepared, (tally) => {
        const done = work.run(tally);
        return deadline?.within(done) ?? done;
      });
    } finally {
      work.close();
    }
  }

  /** Prepares the query. Its timeout starts now. */
  private begin(isReadByRow = false): Prepared | Promise<Prepared> {
    const { timeout } = this.options;
    if (timeout === undefined) return this.prepare();
    const deadline = new Deadline(timeout, isReadByRow);
    return deadline.within(Promise.resolve(this.prepare())).then((prepared) => ({ ...prepared, deadline }));
  }

  private open(
    { plan, deadline }: Prepared,
    limit: number | undefined,
    expected: number,
    tally: ReadTally | undefined,
    position?: Position,
    reading = plan,
    unordered = false,
  ): RowCursor {
    const options = this.readOptions(limit, expected, tally, unordered);
    const cursor = runPlan(reading, this.access, options, position);
    return deadline === undefined ? cursor : new TimedCursor(cursor, deadline);
  }

  private readOptions(
    limit: number | undefined,
    expected: number,
    tally: ReadTally | undefined,
    unordered: boolean,
  ): ReadOptions {
    const { signal, timeout, attributes, consistency, cacheBlocks, caching, threads } = this.options;
    const { concurrency = DEFAULT_CONCURRENCY } = this.options;
    const hints = { consistency, cacheBlocks, caching, threads, unordered, concurrency };
    return { signal, timeout, attributes, ...hints, limit, expected, tally };
  }

  /** Notifies listeners that the query begins. Undefined if there are none. */
  private started(operation: QueryOperation, prepared: Prepared): RunningOperation | undefined {
    const { operations, table } = this.access;
    if (operations === undefined || !operations.hasQueryListeners) return undefined;
    const { plan, scope, explain, conditions } = prepared;
    let explained: Explanation | undefined;
    return operations.begin({
      operation,
      table: table.name,
      entities: scope.schemas.map((schema) => schema.name),
      ranges: countRanges(plan),
      plan: () => {
        explained ??= explain();
        return { kind: explained.kind, index: explained.index?.name };
      },
      conditions,
      explain,
    });
  }

  /** Runs the query, and notifies listeners. */
  private observed<R>(
    operation: QueryOperation,
    prepared: Prepared,
    run: (tally: ReadTally | undefined) => R | Promise<R>,
  ): R | Promise<R> {
    const running = this.started(operation, prepared);
    return running === undefined ? run(undefined) : running.follow(async () => run(running));
  }
}
