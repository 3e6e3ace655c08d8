/** Work on a split that reads the next batch while the disk takes the one before. */

import type { Result } from '../table/index.js';
import type { SplitWork } from './types.js';

/** At most two batches are under way; a checkpoint waits for both, so what is noted as done is on the disk. */
export abstract class OverlappedWork implements SplitWork {
  private underWay: Promise<void> = Promise.resolve();

  /** Resolves when the rows before are done. */
  async rows(rows: readonly Result[]): Promise<void> {
    const before = this.underWay;
    this.underWay = this.batch(rows);
    // Whoever asks for it next is told.
    this.underWay.catch(() => undefined);
    await before;
  }

  async commit(): Promise<undefined> {
    await this.underWay;
  }

  async close(): Promise<void> {
    await this.underWay.catch(() => undefined);
  }

  /** Resolves when the rows are done and on the disk. */
  protected abstract batch(rows: readonly Result[]): Promise<void>;
}
