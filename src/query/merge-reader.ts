/** Reads many ranges at once and gives their rows in logical key order: a heap over the heads of the ranges. */

import type { Result } from '../table/index.js';
import { RangeHeap } from './range-heap.js';
import type { RowReader } from './reader.js';
import type { ScanSource } from './source.js';

/** Rows that each range is first asked for, at least: fewer would only be asked again. */
const LEAST_FIRST_FETCH = 16;

/**
 * Merges ranges that are each in order. Every range is asked for its first rows before one row is given, at most
 * `concurrency` at a time; after that only the range whose rows ran out is asked again.
 */
export class MergeReader implements RowReader {
  private heap: RangeHeap<ScanSource> | undefined;
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
    const { heap } = this;
    const rows: Result[] = [];
    while (rows.length < count) {
      const top = heap?.top;
      if (top === undefined) break;
      if (top.head === undefined) {
        // Its rows ran out with the last one taken; it is asked only now that a further row is wanted.
        const fetched = top.needsFetch ? top.fetch() : undefined;
        if (fetched !== undefined) await fetched;
        heap!.settleTop();
        continue;
      }
      rows.push(top.take());
      if (top.head !== undefined) heap!.settleTop();
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
    this.heap = new RangeHeap(this.sources, this.mergeOffset, this.reversed);
  }

  async close(): Promise<void> {
    this.opened = true;
    this.heap = undefined;
    await Promise.all(this.sources.map((source) => source.close()));
  }
}
