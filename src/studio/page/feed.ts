/** Rows as they are scrolled to: pages near the view are kept, the others are asked for again by their cursors. */

import type { RowPage, RowShown } from '../server/api.js';
import type { PageAt } from './requests.js';

const PAGE_ROWS = 500;
/** Of the first page: what a screen shows, and soon. */
const FIRST_ROWS = 100;
/** Pages that are kept: what a person scrolls back over without a request. */
const KEPT_PAGES = 12;

interface FeedPage {
  /** The place of its first row. */
  readonly start: number;
  readonly cursor: string | null;
  readonly length: number;
  rows: readonly RowShown[] | undefined;
}

/** The rows of one question. */
export class RowFeed {
  private readonly pages: FeedPage[] = [];
  private readonly leaving = new AbortController();
  private next: string | null | undefined;
  private asked: Promise<void> | undefined;
  private wanted = new Set<number>();
  /** Milliseconds of the server for the last page. */
  took = 0;
  failure: Error | undefined;

  constructor(
    private readonly fetchPage: (at: PageAt) => Promise<RowPage>,
    private readonly changed: () => void,
    /** Rows at most. */
    private readonly limit: number = Number.POSITIVE_INFINITY,
  ) {}

  /** Rows that are known of. */
  get length(): number {
    const last = this.pages.at(-1);
    return last === undefined ? 0 : last.start + last.length;
  }

  /** Whether there are no others. */
  get complete(): boolean {
    return this.next === null;
  }

  get busy(): boolean {
    return this.asked !== undefined;
  }

  rowAt(index: number): RowShown | undefined {
    const page = this.pages[this.pageAt(index)];
    return page?.rows?.[index - page.start];
  }

  private pageAt(index: number): number {
    let low = 0;
    let high = this.pages.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.pages[middle]!.start <= index) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Asks for what is missing of these rows, and for more when they are near the end. */
  want(first: number, last: number): void {
    const from = this.pageAt(Math.max(0, first));
    const to = this.pageAt(last);
    this.wanted = new Set();
    for (let at = from; at <= to; at++) if (this.pages[at]?.rows === undefined) this.wanted.add(at);
    if (!this.complete && last + PAGE_ROWS / 2 >= this.length) this.wanted.add(this.pages.length);
    this.forget(from, to);
    if (this.asked === undefined && this.failure === undefined) this.load();
  }

  private load(): void {
    // Pages that came while they were wanted again are not read twice.
    const at = [...this.wanted].find((one) => this.isMissing(one));
    if (at === undefined) return;
    this.wanted.delete(at);
    this.asked = this.loadPage(at).finally(() => {
      this.asked = undefined;
      if (this.leaving.signal.aborted) return;
      if (this.failure === undefined) this.load();
      this.changed();
    });
  }

  private isMissing(at: number): boolean {
    return at < this.pages.length ? this.pages[at]!.rows === undefined : !this.complete;
  }

  private async loadPage(at: number): Promise<void> {
    const known = this.pages[at];
    const cursor = known === undefined ? (this.next ?? null) : known.cursor;
    try {
      const page = await this.fetchPage({
        size: known?.length ?? Math.min(this.length === 0 ? FIRST_ROWS : PAGE_ROWS, this.limit - this.length),
        cursor,
        signal: this.leaving.signal,
      });
      this.took = page.took;
      if (known !== undefined) known.rows = page.rows;
      else {
        this.pages.push({ start: this.length, cursor, length: page.rows.length, rows: page.rows });
        this.next = this.length >= this.limit ? null : page.cursor;
      }
    } catch (error) {
      this.failure = error as Error;
    }
  }

  private forget(from: number, to: number): void {
    const loaded = this.pages.flatMap((page, at) => (page.rows === undefined ? [] : [at]));
    const distance = (at: number): number => (at < from ? from - at : at > to ? at - to : 0);
    loaded.sort((a, b) => distance(b) - distance(a));
    for (const at of loaded.slice(0, Math.max(0, loaded.length - KEPT_PAGES)))
      this.pages[at]!.rows = undefined;
  }

  /** The view is left: what is under way is not wanted. */
  close(): void {
    this.leaving.abort();
  }
}
