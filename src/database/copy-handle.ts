/** What is done with the copies in the rows of one entity as a whole. */

import type { JobRunOptions } from '../job/index.js';
import { type CopyReport, type CopyTarget, checkCopies } from '../job/links/index.js';
import type { IndexHandle } from './index-handle.js';

/** What a check found, with what the outbox holds. */
export interface CopiesReport extends CopyReport {
  /** Notes of sources, of any entity, whose copies the outbox is still to change. */
  readonly pending: number;
}

/** What is still to be copied. */
export interface CopyQueue {
  /** Resolves when what waited at the call is done. */
  drain(): Promise<void>;
  /** How many notes wait. */
  pending(): Promise<number>;
}

/** The copies of an entity of an open database (docs/denormalization.md). Made by `Database.denormalized`. */
export class CopyHandle {
  constructor(
    private readonly copying: CopyQueue,
    private readonly target: CopyTarget,
    /** The indexes that its rows are found by. */
    private readonly indexes: readonly IndexHandle[],
  ) {}

  /** Resolves when every change of a source that waited in the outbox at the call has reached its copies. */
  drain(): Promise<void> {
    return this.copying.drain();
  }

  /** Holds every row against its sources. Changes nothing. */
  check(run?: JobRunOptions): Promise<CopiesReport> {
    return this.report(false, run);
  }

  /** As `check`, and makes every copy what it should be. A second repair changes nothing. */
  async repair(run?: JobRunOptions): Promise<CopiesReport> {
    await this.drain();
    return this.report(true, run);
  }

  /** Builds the indexes that rows are found by, where they lack rows, and repairs: for a declaration that comes to stored rows. */
  async backfill(run?: JobRunOptions): Promise<CopiesReport> {
    for (const index of this.indexes) if (index.state !== 'active') await index.build(run);
    return this.repair(run);
  }

  private async report(repair: boolean, run: JobRunOptions | undefined): Promise<CopiesReport> {
    const report = await checkCopies(this.target, repair, run);
    return { ...report, pending: await this.copying.pending() };
  }
}
