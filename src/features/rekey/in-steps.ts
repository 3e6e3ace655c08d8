import type { JobRunOptions } from '../../job/index.js';
import type { EntitySchema } from '../../schema/types.js';
import type { Engine, StepTable } from '../../table/index.js';
import type { RowUpkeep } from '../feature.js';
import type { IndexReport } from '../indexes/jobs/target.js';
import type { RekeyDifferences } from './jobs/compare.js';
import type { DualWrites } from './jobs/dual-writes.js';
import type { CutOverOptions, RecordCutOver, RekeyRecord, RekeyRun, RekeyStrategy } from './strategy.js';

/** The operations that a key change needs of an index of its entities. */
export interface RekeyedIndex {
  readonly state: string | undefined;
  build(run?: JobRunOptions): Promise<unknown>;
  verify(options: { readonly run: JobRunOptions }): Promise<IndexReport>;
}

/**
 * The strategy of engines where a write and its copy are one step: from verification on both layouts are always
 * equal.
 */
export class RekeyInSteps implements RekeyStrategy {
  readonly firstState = 'dual-write';
  readonly canAbortAfterCutOver = true;
  readonly canVerifyAgain = false;

  constructor(
    private readonly engine: Engine,
    private readonly to: EntitySchema,
    private readonly dualWrites: DualWrites,
    private readonly refuseWrites: () => void,
    /** The indexes of the new layout. */
    private readonly indexes: () => readonly RekeyedIndex[],
    /** Maintains the data that features store about rows of the new layout. */
    private readonly upkeep: () => readonly RowUpkeep[],
  ) {}

  problems(): string[] {
    return [];
  }

  /** Removes deletes that are no longer needed and would hide copies. */
  async prepare(): Promise<void> {
    const { dropDeletes } = await import('./jobs/layout-rows.js');
    await dropDeletes(this.engine, this.to);
  }

  async begin(): Promise<void> {
    this.dualWrites.begin();
  }

  async copy({ target }: RekeyRun, options: JobRunOptions): Promise<void> {
    // Entries of copies are written with them. An index that lacks earlier rows would stay unusable.
    await this.completed(options);
    const { backfill } = await import('./jobs/backfill.js');
    await backfill(target, options);
  }

  /** Builds the indexes and summaries of the new layout that are not in use. */
  private async completed(options: JobRunOptions): Promise<void> {
    const signal = options.signal === undefined ? {} : { signal: options.signal };
    for (const index of this.indexes())
      if (index.state !== undefined && index.state !== 'active') await index.build(signal);
    for (const upkeep of this.upkeep()) await upkeep.prepare(signal);
  }

  async verify({ target }: RekeyRun, options: JobRunOptions): Promise<RekeyDifferences> {
    // Those that were declared since the copying.
    await this.completed(options);
    const { compareLayouts } = await import('./jobs/compare.js');
    return { ...(await compareLayouts(target, options)), entries: await this.wrongEntries(options) };
  }

  /** Entries of the new layout's indexes, and groups of its summaries, that are wrong or missing. */
  private async wrongEntries(options: JobRunOptions): Promise<number> {
    const { inShortSteps } = await import('./jobs/passes.js');
    let wrong = 0;
    for (const index of this.indexes()) {
      if (index.state === undefined) continue;
      const { missing, extra, stale, unverified } = await index.verify({ run: inShortSteps(options) });
      wrong += missing + extra + stale + unverified;
    }
    for (const upkeep of this.upkeep()) wrong += await upkeep.verify(inShortSteps(options));
    return wrong;
  }

  cutOver(_run: RekeyRun, _options: CutOverOptions, recordCutOver: RecordCutOver): Promise<RekeyRecord> {
    return recordCutOver(undefined);
  }

  /** Bulk loads and tools bypass the dual writes. */
  async lostAtCleanup({ target }: RekeyRun, options: JobRunOptions): Promise<RekeyDifferences> {
    const { lostRows } = await import('./jobs/compare.js');
    return { ...(await lostRows(target, options)), entries: 0 };
  }

  allowNewWrites(): void {}

  async copiesVisible(): Promise<void> {
    // A step after those of the copies.
    const table = this.engine.table(this.to.table.descriptor.name) as StepTable;
    await table.atomic(() => undefined);
  }

  async removeOld({ target }: RekeyRun, options: JobRunOptions): Promise<void> {
    this.dualWrites.end();
    this.refuseWrites();
    const { removeLayout } = await import('./jobs/layout-rows.js');
    await removeLayout(target, target.from, options);
  }

  async removeNew({ target }: RekeyRun, options: JobRunOptions): Promise<void> {
    this.dualWrites.end();
    const { emptyLayout, enableLayout, removeLayout } = await import('./jobs/layout-rows.js');
    await enableLayout(this.engine, target.to);
    await removeLayout(target, target.to, options);
    await emptyLayout(this.engine, target.to);
  }
}
