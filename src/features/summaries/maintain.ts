import type { JobRunOptions } from '../../job/types.js';
import type { RowImage } from '../../repository/index.js';
import {
  type ChangeImage,
  type ChangeStep,
  type RowEffect,
  type RowMaintainer,
  refuseUnfollowed,
  type Share,
  type WrittenRow,
} from '../../repository/maintainer.js';
import { ABANDONED_AFTER, type RowsAhead } from '../../repository/remote/row-work.js';
import type { RowMutation } from '../../table/index.js';
import type { RowUpkeep } from '../feature.js';
import { countsWith, SummaryCount } from './embedded.js';
import type { SummaryTarget } from './jobs.js';
import { isSameContribution, type SummaryPlan } from './plan.js';
import type { RemoteCount } from './remote.js';
import { readRecord } from './rows.js';

/** The maintainer of summary figures: in one step with the rows, or after them where the atomic step is one row. */
export class SummaryMaintainer implements RowMaintainer {
  readonly name = 'summaries';

  constructor(
    private readonly plans: readonly SummaryPlan[],
    private readonly now: () => number,
    /** The counts of each plan, where the atomic step is one row. */
    private readonly counts: readonly RemoteCount[],
  ) {}

  /** Writes rows ahead of their figures, where the atomic step is one row. */
  ahead: RowsAhead | undefined;

  private refuse({ mutations }: ChangeImage): void {
    refuseUnfollowed(this.plans[0]!.schema, 'summaries (@Summary)', mutations, this.now);
  }

  effects(change: ChangeImage, step: ChangeStep): readonly RowEffect[] {
    this.refuse(change);
    return this.effectsBelow(change, step);
  }

  /** The effects of a change that was made below the repository. */
  effectsBelow(
    change: Pick<ChangeImage, 'row' | 'before' | 'after'>,
    step: Pick<ChangeStep, 'read'>,
  ): readonly RowEffect[] {
    const out: RowEffect[] = [];
    for (const plan of this.plans) {
      for (const mutation of this.effectsOf(plan, change, step))
        out.push({ table: plan.tableName, mutation });
    }
    return out;
  }

  private effectsOf(
    plan: SummaryPlan,
    { row, before, after }: Pick<ChangeImage, 'row' | 'before' | 'after'>,
    step: Pick<ChangeStep, 'read'>,
  ): readonly RowMutation[] {
    const was = plan.contributionOf(before);
    const is = plan.contributionOf(after);
    if (!plan.ends && isSameContribution(was, is)) return [];
    const state = readRecord(step, plan.schema, plan.summary);
    if (state === undefined) return [];
    const counted = is && { ...is, end: plan.ends ? plan.endOf(after) : 0 };
    return countsWith(state, row).flatMap((generation) =>
      new SummaryCount(plan, generation, state).replace(row, was, counted, step),
    );
  }

  /** @throws KeyError on a value that no group can have. */
  hasEffects(change: ChangeImage): boolean {
    this.refuse(change);
    const { before, after } = change;
    // Call each: any of them may refuse the change.
    const same = this.plans.map((plan) =>
      isSameContribution(plan.contributionOf(before), plan.contributionOf(after)),
    );
    return same.includes(false);
  }

  async settle(row: Uint8Array, _share: Share, settledAfter: number): Promise<boolean> {
    const done = await Promise.all(this.counts.map((count) => count.updateAll(row, settledAfter)));
    return done.every((one) => one);
  }

  async settleLater(rows: readonly WrittenRow[], settledAfter: number): Promise<readonly boolean[]> {
    const done = await Promise.all(this.counts.map((count) => count.updateWritten(rows, settledAfter)));
    return rows.map((_, i) => done.every((one) => one[i]));
  }
}

/** Rows whose contributions are brought in line together. */
const TOGETHER = 32;

/** The jobs of a summary that its upkeep runs. */
interface FollowedSummary {
  readonly target: SummaryTarget;
  readonly handle: {
    state(): Promise<string>;
    build(run?: JobRunOptions): Promise<unknown>;
    check(run?: JobRunOptions): Promise<{
      readonly stale: number;
      readonly missing: number;
      readonly extra: number;
    }>;
  };
}

/** Keeps the summaries of an entity in line with rows that are written below its repository. */
export class SummaryUpkeep implements RowUpkeep {
  constructor(
    private readonly maintainer: SummaryMaintainer,
    private readonly summaries: readonly FollowedSummary[],
  ) {}

  /** A summary that lacks earlier rows would stay unusable. */
  async prepare(run: JobRunOptions): Promise<void> {
    for (const { handle } of this.summaries) if ((await handle.state()) !== 'active') await handle.build(run);
  }

  effects(
    row: Uint8Array,
    before: RowImage,
    after: RowImage,
    step: Pick<ChangeStep, 'read'>,
  ): readonly RowEffect[] {
    return this.maintainer.effectsBelow({ row, before, after }, step);
  }

  /** A change of a dead program is finished once it counts as abandoned. */
  async settle(rows: readonly Uint8Array[], signal: AbortSignal | undefined): Promise<void> {
    const one = async (row: Uint8Array): Promise<void> => {
      while (!(await this.maintainer.settle(row, 'all', ABANDONED_AFTER))) signal?.throwIfAborted();
    };
    for (let at = 0; at < rows.length; at += TOGETHER)
      await Promise.all(rows.slice(at, at + TOGETHER).map(one));
  }

  async verify(run: JobRunOptions): Promise<number> {
    let wrong = 0;
    for (const { handle } of this.summaries) {
      const { stale, missing, extra } = await handle.check(run);
      wrong += stale + missing + extra;
    }
    return wrong;
  }

  /** Replaces each count by a new one, which is empty. */
  async clear(): Promise<void> {
    const { changeRecord, purgeCounts } = await import('./jobs.js');
    for (const { target } of this.summaries) {
      await changeRecord(target, (now) => {
        const { next = 1 } = now ?? {};
        return { active: next, building: null, cursor: null, next: next + 1 };
      });
      await purgeCounts(target);
    }
  }
}
