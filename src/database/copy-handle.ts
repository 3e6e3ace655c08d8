/** What is done with the copies in the rows of one entity as a whole. */

import type { JobRunOptions } from '../job/index.js';
import { type CopyReport, type CopyTarget, checkCopies } from '../job/links/index.js';
import type { IndexHandle } from './index-handle.js';
import type { DrainOptions, Outbox } from './outbox.js';

/** What a check found, with what the outbox holds. */
export interface CopiesReport extends CopyReport {
  /** What waits in the outbox, of any entity: sources whose copies are still to be changed; on HBase also changes under way. */
  readonly pending: number;
}

/** How copies are put right. */
export interface CopiesRepairOptions extends JobRunOptions, DrainOptions {}

/** The copies of an entity of an open database (docs/denormalization.md). Made by `Database.denormalized`. */
export class CopyHandle {
  constructor(
    private readonly outbox: Outbox,
    private readonly target: CopyTarget,
    /** The indexes that its rows are found by. */
    private readonly indexes: readonly IndexHandle[],
  ) {}

  /** Resolves when every change of a source that waited in the outbox at the call has reached its copies. */
  drain(options?: DrainOptions): Promise<void> {
    return this.outbox.drain(options);
  }

  /** Holds every row against its sources. Changes nothing. */
  check(run?: JobRunOptions): Promise<CopiesReport> {
    return this.report(false, run);
  }

  /** As `check`, and makes every copy what it should be. A second repair changes nothing. */
  async repair({ settledAfter, ...run }: CopiesRepairOptions = {}): Promise<CopiesReport> {
    await this.drain(settledAfter === undefined ? {} : { settledAfter });
    return this.report(true, run);
  }

  /** Builds the indexes that rows are found by, where they lack rows, and repairs: for a declaration that comes to stored rows. */
  async backfill(options: CopiesRepairOptions = {}): Promise<CopiesReport> {
    const { settledAfter: _, ...run } = options;
    for (const index of this.indexes) if (index.state !== 'active') await index.build(run);
    return this.repair(options);
  }

  private async report(repair: boolean, run: JobRunOptions | undefined): Promise<CopiesReport> {
    const report = await checkCopies(this.target, repair, run);
    return { ...report, pending: await this.outbox.pending() };
  }
}
