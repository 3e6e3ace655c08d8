import { InvalidArgumentError, QueryError, RowanError, throwIfAborted } from '../errors.js';
import type { EntityOf } from '../schema/entity-types.js';
import type { EntityClass } from '../schema/types.js';
import { describe, isRecord } from '../table/checks.js';
import type { RowLoader } from './loader.js';
import { type CursorScope, encodeCursor } from './page-cursor.js';
import type { RowCursor } from './row.js';
import { checkNames } from './slice.js';

// — Pages of a query's rows.

/** Options of `page()`. `size` is required. */
export interface PageOptions {
  /** Rows of a full page, 1 or more. */
  readonly size: number;
  /** A cursor of an earlier page. Undefined: the beginning. */
  readonly cursor?: string | undefined;
  /** Reads the page that ends before the cursor instead of the one after it. Default false. */
  readonly back?: boolean;
  /** Also counts all rows of the query, for `page.total`, as `count()` does. Default false. */
  readonly total?: boolean;
}

/** The rows of a page, in the order of the query, with its cursors. */
export class Page<T> {
  /** Hidden, so that pages are printed and compared by what they have. */
  readonly #cursorOf: (index: number) => string;

  constructor(
    readonly items: readonly T[],
    /** The cursor of the next page. Undefined at the end. */
    readonly cursor: string | undefined,
    /** With `back: true`, the cursor of the previous page. Undefined at the beginning. */
    readonly backCursor: string | undefined,
    cursorOf: (index: number) => string,
    /** With `total: true`, the number of rows of the whole query, counted after the page was read. */
    readonly total?: number,
  ) {
    this.#cursorOf = cursorOf;
  }

  /** The same page with a total. */
  withTotal(total: number): Page<T> {
    return new Page(this.items, this.cursor, this.backCursor, this.#cursorOf, total);
  }

  /** The cursor after one item. */
  cursorAt(index: number): string {
    if (!Number.isInteger(index) || index < 0 || index >= this.items.length) {
      throw new QueryError(
        `cursorAt: the page has ${this.items.length} items, and none at ${describe(index)}.`,
      );
    }
    return this.#cursorOf(index);
  }
}

/** @throws InvalidArgumentError on missing, unknown or invalid options; QueryError on a cursor that is no text, and beside a limit. */
export function checkPage(
  options: PageOptions,
  limit: number | undefined,
  known: readonly string[] = ['size', 'cursor', 'back', 'total'],
): { readonly size: number; readonly cursor: string | undefined; readonly back: boolean } {
  if (!isRecord(options)) {
    throw new InvalidArgumentError(
      `page: the options are ${describe(options)}. Give an object with size, the rows of a full page: page({ size: 20 }).`,
    );
  }
  checkNames('page', options, known);
  const { size, cursor, back = false, total = false } = options;
  if (!Number.isSafeInteger(size) || size < 1) {
    throw new InvalidArgumentError(`page: size is a positive integer, not ${describe(size)}.`);
  }
  if (typeof total !== 'boolean')
    throw new InvalidArgumentError(`page: total is true or false, not ${describe(total)}.`);
  if (typeof back !== 'boolean')
    throw new InvalidArgumentError(`page: back is true or false, not ${describe(back)}.`);
  if (cursor !== undefined && typeof cursor !== 'string') {
    throw new QueryError(
      `page: the cursor is ${describe(cursor)}. Pass the text of page.cursor, or leave it out.`,
    );
  }
  if (limit !== undefined) {
    throw new QueryError('page() and limit() cannot be combined: the size of the page is its limit.');
  }
  if (back && cursor === undefined)
    throw new QueryError('page({ back: true }) needs the backCursor of a page.');
  return { size, cursor, back };
}

/** A row of a page, with its position. */
export interface PageRow<T> {
  readonly item: T | null;
  readonly position: { readonly key: Uint8Array; readonly entity: number };
}

/** Builds the page of these rows, in the order of the query. */
export function pageOf<T>(
  scope: CursorScope,
  rows: readonly PageRow<T>[],
  hasNext: boolean,
  hasPrevious: boolean,
): Page<T> {
  const kept = rows.filter((row) => row.item !== null);
  const cursorOf = (row: PageRow<T> | undefined): string | undefined =>
    row && encodeCursor(scope, row.position.key, row.position.entity);
  return new Page(
    kept.map((row) => row.item!),
    hasNext ? cursorOf(rows.at(-1)) : undefined,
    hasPrevious ? cursorOf(rows[0]) : undefined,
    (index) => cursorOf(kept[index])!,
  );
}

/** The rows of a collection, by class. */
export class Groups {
  constructor(private readonly items: readonly object[]) {}

  /** The instances of one class, in the order of their keys. */
  of<C extends EntityClass>(target: C): EntityOf<C>[] {
    return this.items.filter((item): item is EntityOf<C> => item instanceof target);
  }
}

// — Streams of a query's rows.

/** An open stream: a cursor of rows, or items that are already loaded. */
export type OpenStream<T> =
  | { readonly items: T[]; readonly reading?: undefined }
  | {
      readonly reading: RowCursor;
      readonly loaders: readonly RowLoader[];
      readonly signal: AbortSignal | undefined;
      readonly end: (error: unknown) => void;
    };

/** Reads the next rows only after the consumer has taken the last: this is the back-pressure. */
export class RowStream<T> implements AsyncIterableIterator<T> {
  private stream: OpenStream<T> | undefined;
  private done = false;
  private busy = false;

  constructor(private readonly open: () => Promise<OpenStream<T>>) {}

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
    if (this.done) return { done: true, value: undefined };
    this.busy = true;
    try {
      const value = await this.take();
      if (value !== null) return { done: false, value };
      await this.finish(undefined);
      return { done: true, value: undefined };
    } catch (error) {
      await this.finish(error);
      throw error;
    } finally {
      this.busy = false;
    }
  }

  /** The next item. Null at the end. */
  private async take(): Promise<T | null> {
    this.stream ??= await this.open();
    const { stream } = this;
    if (stream.reading === undefined) return stream.items.shift() ?? null;
    const { reading, loaders, signal } = stream;
    throwIfAborted(signal);
    for (;;) {
      const more = reading.advance();
      if (!(typeof more === 'boolean' ? more : await more)) return null;
      const loaded = loaders[reading.entity]!.load(reading.row!);
      const item = loaded instanceof Promise ? await loaded : loaded;
      if (item !== null) return item as T;
    }
  }

  private async finish(error: unknown): Promise<void> {
    this.done = true;
    const { stream } = this;
    this.stream = undefined;
    if (stream?.reading === undefined) return;
    stream.end(error);
    await stream.reading.close();
  }

  async return(): Promise<IteratorResult<T>> {
    await this.finish(undefined);
    return { done: true, value: undefined };
  }
}
