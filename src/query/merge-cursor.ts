import { RangeHeap } from './range-heap.js';
import type { RangeSource } from './range-source.js';
import { comparePlaced, type ReadPlan } from './read-plan.js';
import type { RowCursor } from './row-cursor.js';

/**
 * Merges ranges that are each in order. Every range is asked for its first rows before one row is given, at most
 * `concurrency` at a time; after that only the range whose rows ran out is asked again.
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
    return typeof more === 'boolean' ? this.settle() : more.then(() => this.settle());
  }

  private settle(): boolean {
    this.heap!.settleTop();
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
