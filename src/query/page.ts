/** One page of a query's rows. */

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
