/** Changes of keys where a write and its copy are one step: both layouts are right at any moment from the verification on. */

import type { JobRunOptions } from '../job/index.js';
import type { IndexReport } from '../job/indexes/index.js';
import { backfill } from '../job/rekey/backfill.js';
import { compareLayouts, lostRows, type RekeyDifferences } from '../job/rekey/compare.js';
import { dropDeletes, removeLayout } from '../job/rekey/layout-rows.js';
import type { Mirror } from '../job/rekey/mirror.js';
import { inShortSteps } from '../job/rekey/passes.js';
import type { EntitySchema } from '../schema/types.js';
import type { Engine } from '../table/index.js';
import type { RekeyRecord } from './rekey-record.js';
import type { CutOverOptions, NoteCut, RekeyRun, RekeyWay } from './rekey-way.js';

/** What a change of keys asks of an index of one of its entities. */
export interface RekeyedIndex {
  readonly state: string | undefined;
  build(run?: JobRunOptions): Promise<unknown>;
  verify(options: { readonly run: JobRunOptions }): Promise<IndexReport>;
}

export class RekeyInSteps implements RekeyWay {
  readonly first = 'dual-write';
  readonly leadsBack = true;
  readonly runsAgain = false;

  constructor(
    private readonly engine: Engine,
    private readonly to: EntitySchema,
    private readonly mirror: Mirror,
    private readonly refuseWrites: () => void,
    /** Those of the new layout. */
    private readonly indexes: () => readonly RekeyedIndex[],
  ) {}

  problems(): string[] {
    return [];
  }

  /** Deletes that nobody needs would hide what is copied. */
  prepare(): Promise<void> {
    return dropDeletes(this.engine, this.to);
  }

  async begin(): Promise<void> {
    this.mirror.begin();
  }

  async copy({ target }: RekeyRun, options: JobRunOptions): Promise<void> {
    // Entries of copies are written with them; an index that lacks those of rows before could not be asked.
    for (const index of this.indexes())
      if (index.state !== undefined && index.state !== 'active')
        await index.build(options.signal && { signal: options.signal });
    await backfill(target, options);
  }

  async verify({ target }: RekeyRun, options: JobRunOptions): Promise<RekeyDifferences> {
    return { ...(await compareLayouts(target, options)), entries: await this.wrongEntries(options) };
  }

  /** Entries of the new layout's indexes that its rows do not say, and those that it lacks. */
  private async wrongEntries(options: JobRunOptions): Promise<number> {
    let wrong = 0;
    for (const index of this.indexes()) {
      if (index.state === undefined) continue;
      const { missing, extra, stale, unverified } = await index.verify({ run: inShortSteps(options) });
      wrong += missing + extra + stale + unverified;
    }
    return wrong;
  }

  cutOver(_run: RekeyRun, _options: CutOverOptions, note: NoteCut): Promise<RekeyRecord> {
    return note(undefined);
  }

  /** Bulk loads and tools write past the mirror. */
  async lost({ target }: RekeyRun, options: JobRunOptions): Promise<RekeyDifferences> {
    return { ...(await lostRows(target, options)), entries: 0 };
  }

  counts(): void {}

  async removeOld({ target }: RekeyRun, options: JobRunOptions): Promise<void> {
    this.mirror.end();
    this.refuseWrites();
    await removeLayout(target, target.from, options);
  }

  async removeNew({ target }: RekeyRun, options: JobRunOptions): Promise<void> {
    this.mirror.end();
    await removeLayout(target, target.to, options);
  }
}
