/** Reads many ranges at once and gives their rows in logical key order: a heap over the heads of the ranges. */

import type { Result } from '../table/index.js';
import { compareMerged } from './ranges.js';
import type { RowReader } from './reader.js';
import type { ScanSource } from './source.js';

/** Rows that each range is first asked for, at least: fewer would only be asked again. */
const LEAST_FIRST_FETCH = 16;

/**
 * Merges ranges that are each in order. Every range is asked for its first rows before one row is given, at most
 * `concurrency` at a time; after that only the range whose rows ran out is asked again.
 */
export class MergeReader implements RowReader {
  private heap: ScanSource[] = [];
  private readonly sources: ScanSource[] = [];
  private opened = false;

  constructor(
    private readonly open: readonly (() => ScanSource)[],
    private readonly mergeOffset: number,
    private readonly reversed: boolean,
    private readonly concurrency: number,
  ) {}

  async read(count: number): Promise<Result[]> {
    if (!this.opened) await this.start(count);
    const rows: Result[] = [];
    while (rows.length < count) {
      const top = this.heap[0];
      if (top === undefined) break;
      if (top.head === undefined) {
        // Its rows ran out with the last one taken; it is asked only now that a further row is wanted.
        const fetched = top.needsFetch ? top.fetch() : undefined;
        if (fetched !== undefined) await fetched;
        this.settleTop();
        continue;
      }
      rows.push(top.take());
      if (top.head !== undefined) this.siftDown(0);
    }
    return rows;
  }

  private async start(count: number): Promise<void> {
    this.opened = true;
    for (const open of this.open) this.sources.push(open());
    const first = Math.max(LEAST_FIRST_FETCH, Math.ceil((2 * count) / this.sources.length));
    let next = 0;
    const worker = async (): Promise<void> => {
      for (let source = this.sources[next++]; source !== undefined; source = this.sources[next++]) {
        const fetched = source.fetch(first);
        if (fetched !== undefined) await fetched;
      }
    };
    await Promise.all(Array.from({ length: Math.min(this.concurrency, this.sources.length) }, worker));
    this.heap = this.sources.filter((source) => source.head !== undefined);
    for (let i = (this.heap.length >> 1) - 1; i >= 0; i--) this.siftDown(i);
  }

  /** Puts the top in its place after its head changed, or takes it out when it has none. */
  private settleTop(): void {
    const top = this.heap[0]!;
    if (top.head === undefined) {
      const last = this.heap.pop()!;
      if (this.heap.length === 0) return;
      if (last !== top) this.heap[0] = last;
    }
    this.siftDown(0);
  }

  private siftDown(start: number): void {
    const { heap } = this;
    const moving = heap[start]!;
    let index = start;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && this.before(heap[child + 1]!, heap[child]!)) child++;
      if (!this.before(heap[child]!, moving)) break;
      heap[index] = heap[child]!;
      index = child;
    }
    heap[index] = moving;
  }

  private before(a: ScanSource, b: ScanSource): boolean {
    const order = compareMerged(a.head!.row, b.head!.row, this.mergeOffset);
    return this.reversed ? order > 0 : order < 0;
  }

  async close(): Promise<void> {
    this.opened = true;
    this.heap = [];
    await Promise.all(this.sources.map((source) => source.close()));
  }
}
