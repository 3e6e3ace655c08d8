/** Numbers with the same quotient by this are on one page. */
const PAGE_SIZE = 128;

type Pages<V> = ReadonlyMap<number, ReadonlyMap<number, V>>;

/**
 * A map of whole numbers that never changes. Its entries are on pages. The map that a {@link PagedMapDraft} makes of it shares all
 * pages but the changed ones, so a change of one entry does not copy the others.
 */
export class PagedMap<V> {
  /** @param pages By the quotient of their numbers; none is empty. */
  constructor(readonly pages: Pages<V> = new Map()) {}

  get size(): number {
    let size = 0;
    for (const page of this.pages.values()) size += page.size;
    return size;
  }

  get(number: number): V | undefined {
    return this.pages.get(pageOf(number))?.get(number);
  }

  has(number: number): boolean {
    return this.pages.get(pageOf(number))?.has(number) === true;
  }

  /** Page by page, in no order of the numbers. */
  *keys(): Generator<number> {
    for (const page of this.pages.values()) yield* page.keys();
  }

  /** As {@link keys}. */
  *values(): Generator<V> {
    for (const page of this.pages.values()) yield* page.values();
  }
}

/** Changes of a {@link PagedMap}, which stays as it is. */
export class PagedMapDraft<V> {
  /** The map as it was, and from the first change on the one of {@link pages}. */
  private current: PagedMap<V>;
  private pages: Map<number, ReadonlyMap<number, V>> | undefined;
  /** Those of the pages that are copies, or new. */
  private readonly own = new Map<number, Map<number, V>>();

  constructor(before: PagedMap<V>) {
    this.current = before;
  }

  get(number: number): V | undefined {
    return this.current.get(number);
  }

  has(number: number): boolean {
    return this.current.has(number);
  }

  values(): Iterable<V> {
    return this.current.values();
  }

  set(number: number, value: V): void {
    this.ownPage(pageOf(number)).set(number, value);
  }

  /** Returns whether it had the number. */
  delete(number: number): boolean {
    if (!this.has(number)) return false;
    const at = pageOf(number);
    const page = this.ownPage(at);
    page.delete(number);
    if (page.size === 0) {
      this.own.delete(at);
      this.pages?.delete(at);
    }
    return true;
  }

  /** The map with the changes. The draft is not changed after it. */
  finish(): PagedMap<V> {
    return this.current;
  }

  private ownPage(at: number): Map<number, V> {
    let page = this.own.get(at);
    if (page !== undefined) return page;
    if (this.pages === undefined) {
      this.pages = new Map(this.current.pages);
      this.current = new PagedMap(this.pages);
    }
    page = new Map(this.pages.get(at));
    this.own.set(at, page);
    this.pages.set(at, page);
    return page;
  }
}

function pageOf(number: number): number {
  return Math.floor(number / PAGE_SIZE);
}
