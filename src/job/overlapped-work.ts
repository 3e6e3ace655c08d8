/** Work on a split that reads the next batches while the disk takes those before. */

import type { Result } from '../table/index.js';
import type { SplitWork } from './types.js';

/** Batches that may be under way at once, where a work does not say otherwise. */
const AT_ONCE = 2;

/** A checkpoint waits for all that is under way, so what is noted as done is on the disk. */
export abstract class OverlappedWork implements SplitWork {
  /** In the order of their rows, the oldest first. */
  private readonly underWay: Promise<void>[] = [];

  /** `atOnce`: the most batches that are under way, of which each may hold what it was given in memory. */
  constructor(private readonly atOnce = AT_ONCE) {}

  /** Resolves when there is room for the next batch. */
  async rows(rows: readonly Result[]): Promise<void> {
    const batch = this.batch(rows);
    // Whoever asks for it next is told.
    batch.catch(() => undefined);
    this.underWay.push(batch);
    if (this.underWay.length >= this.atOnce) await this.underWay.shift();
  }

  async commit(): Promise<undefined> {
    while (this.underWay.length > 0) await this.underWay.shift();
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.underWay);
  }

  /** Resolves when the rows are done and on the disk. */
  protected abstract batch(rows: readonly Result[]): Promise<void>;
}
