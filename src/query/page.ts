/** One page of a query's rows. */

import { QueryError } from '../errors.js';
import { describe } from '../table/checks.js';
import { type CursorScope, encodeCursor } from './cursor.js';
import { checkNames } from './option-checks.js';

/** Options of `page()`. */
export interface PageOptions {
  /** Rows of a full page, 1 or more. */
  readonly size: number;
  /** A cursor of an earlier page; undefined: from the beginning. */
  readonly cursor?: string | undefined;
  /** Reads the page that ends before the cursor instead of the one behind it. Default false. */
  readonly back?: boolean;
}

/** Rows in the order of the query, and the cursors around them. */
export class Page<T> {
  constructor(
    readonly items: readonly T[],
    /** Reads on behind this page; undefined when there is nothing more. */
    readonly cursor: string | undefined,
    /** With `back: true` reads the page before; undefined at the beginning. */
    readonly backCursor: string | undefined,
    private readonly makeCursor: (index: number) => string,
  ) {}

  /** The cursor that goes on behind one item. */
  cursorAt(index: number): string {
    if (index < 0 || index >= this.items.length) throw new RangeError(`The page has no item ${index}.`);
    return this.makeCursor(index);
  }
}

/** @throws QueryError on options that ask for no page. */
export function checkPage(
  options: PageOptions,
  limit: number | undefined,
): { readonly size: number; readonly cursor: string | undefined; readonly back: boolean } {
  checkNames('page', options, ['size', 'cursor', 'back']);
  const { size, cursor, back = false } = options;
  if (!Number.isSafeInteger(size) || size < 1) {
    throw new QueryError(`page: size is a positive integer, not ${describe(size)}.`);
  }
  if (typeof back !== 'boolean') throw new QueryError(`page: back is true or false, not ${describe(back)}.`);
  if (cursor !== undefined && typeof cursor !== 'string') {
    throw new QueryError(
      `page: the cursor is ${describe(cursor)}. Pass the text of page.cursor, or leave it out.`,
    );
  }
  if (limit !== undefined) {
    throw new QueryError('page() and limit() do not go together: the size of the page is its limit.');
  }
  if (back && cursor === undefined)
    throw new QueryError('page({ back: true }) needs the backCursor of a page.');
  return { size, cursor, back };
}

/** A row of a page, and where it stands. */
export interface PageRow<T> {
  readonly item: T | null;
  readonly position: { readonly key: Uint8Array; readonly entity: number };
}

/** The page of these rows, in the order of the query. */
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
