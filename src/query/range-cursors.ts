import type { ReadView } from '../table/index.js';
import type { OpenRange, RangeSource } from './range-source.js';
import { comparePlaced, type ReadPlan } from './read-plan.js';
import type { RowCursor } from './row.js';

/** Opens the next range of a sequence, of which `left` rows are wanted. */
type OpenNext = (range: OpenRange, left: number | undefined, view: ReadView | undefined) => RangeSource;

/** Reads ranges one after another. */
export class SequenceCursor implements RowCursor {
  private index = 0;
  private source: RangeSource | undefined;
  private view: ReadView | undefined;

  constructor(
    private readonly ranges: readonly OpenRange[],
    private readonly open: OpenNext,
    private left: number | undefined,
    /** Creates the view by which all ranges are read at one moment, where needed. */
    private readonly viewOf: (() => ReadView) | undefined,
  ) {}

  get row(): RangeSource['row'] {
    return this.source?.row;
  }

  get entity(): number {
    return this.source?.entity ?? 0;
  }

  advance(): boolean | Promise<boolean> {
    for (;;) {
      if (this.source === undefined) {
        if (this.index >= this.ranges.length) return this.end();
        if (this.index === 0) this.view = this.viewOf?.();
        this.source = this.open(this.ranges[this.index++]!, this.left, this.view);
      }
      const more = this.source.advance();
      if (typeof more !== 'boolean') return this.advanceLater(more);
      if (more) return this.gave();
      const closing = this.finish();
      if (closing !== undefined) return closing.then(() => this.advance());
    }
  }

  private async advanceLater(more: Promise<boolean>): Promise<boolean> {
    if (await more) return this.gave();
    await this.finish();
    return this.advance();
  }

  private gave(): true {
    if (this.left !== undefined) this.left = Math.max(this.left - 1, 1);
    return true;
  }

  private finish(): Promise<void> | undefined {
    const { source } = this;
    this.source = undefined;
    return source?.close() ?? undefined;
  }

  private end(): false {
    this.view?.close();
    this.view = undefined;
    return false;
  }

  async close(): Promise<void> {
    this.index = this.ranges.length;
    this.end();
    await this.finish();
  }
}

/** A range at its current row, or at its end. */
interface HeapSource {
  readonly row: unknown;
}

/** A binary heap of merged ranges, by their next rows. */
class RangeHeap<S extends HeapSource> {
  private readonly sources: S[];

  constructor(
    sources: readonly S[],
    private readonly isBefore: (a: S, b: S) => boolean,
  ) {
    this.sources = sources.filter((source) => source.row !== undefined);
    for (let i = (this.sources.length >> 1) - 1; i >= 0; i--) this.siftDown(i);
  }

  /** The range whose row is first. */
  get top(): S | undefined {
    return this.sources[0];
  }

  /** Restores the heap after the top has advanced; removes the top at its end. */
  updateTop(): void {
    const { sources } = this;
    if (sources[0]!.row === undefined) {
      const last = sources.pop()!;
      if (sources.length === 0) return;
      sources[0] = last;
    }
    this.siftDown(0);
  }

  private siftDown(start: number): void {
    const { sources } = this;
    const moving = sources[start]!;
    let index = start;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= sources.length) break;
      if (child + 1 < sources.length && this.isBefore(sources[child + 1]!, sources[child]!)) child++;
      if (!this.isBefore(sources[child]!, moving)) break;
      sources[index] = sources[child]!;
      index = child;
    }
    sources[index] = moving;
  }
}

/**
 * Merges ordered ranges. Every range fetches its first rows, at most `concurrency` at a time, before a row is
 * returned. Then only a range without buffered rows is read again.
 */
export class MergeCursor implements RowCursor {
  private heap: RangeHeap<RangeSource> | undefined;
  private readonly sources: RangeSource[] = [];

  constructor(
    private readonly plan: ReadPlan,
    private readonly open: readonly (() => RangeSource)[],
    private readonly concurrency: number,
  ) {}

  get row(): RangeSource['row'] {
    return this.heap?.top?.row;
  }

  get entity(): number {
    return this.heap?.top?.entity ?? 0;
  }

  advance(): boolean | Promise<boolean> {
    const { heap } = this;
    if (heap === undefined) return this.start();
    const { top } = heap;
    if (top === undefined) return false;
    const more = top.advance();
    return typeof more === 'boolean' ? this.updateTop() : more.then(() => this.updateTop());
  }

  private updateTop(): boolean {
    this.heap!.updateTop();
    return this.heap!.top !== undefined;
  }

  private start(): boolean | Promise<boolean> {
    for (const open of this.open) this.sources.push(open());
    const { sources, concurrency } = this;
    let next = 0;
    const work = (): Promise<void> | undefined => {
      while (next < sources.length) {
        const more = sources[next++]!.advance();
        if (typeof more !== 'boolean') return more.then(work);
      }
      return undefined;
    };
    const waiting: Promise<void>[] = [];
    for (let i = 0; i < concurrency && next < sources.length; i++) {
      const working = work();
      if (working !== undefined) waiting.push(working);
    }
    return waiting.length === 0 ? this.ready() : Promise.all(waiting).then(() => this.ready());
  }

  private ready(): boolean {
    const { plan } = this;
    this.heap = new RangeHeap(
      this.sources,
      plan.reversed ? (a, b) => comparePlaced(plan, a, b) > 0 : (a, b) => comparePlaced(plan, a, b) < 0,
    );
    return this.heap.top !== undefined;
  }

  async close(): Promise<void> {
    this.heap = new RangeHeap<RangeSource>([], () => false);
    await Promise.all(this.sources.splice(0).map((source) => source.close()));
  }
}

/** Ends after so many rows. */
export class LimitedCursor implements RowCursor {
  constructor(
    private readonly inner: RowCursor,
    private left: number,
  ) {}

  get row(): RowCursor['row'] {
    return this.inner.row;
  }

  get entity(): number {
    return this.inner.entity;
  }

  advance(): boolean | Promise<boolean> {
    return this.left-- > 0 ? this.inner.advance() : false;
  }

  close(): void | Promise<void> {
    return this.inner.close();
  }
}
