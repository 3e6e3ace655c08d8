import {
  type ChangeImage,
  type ChangeStep,
  type RowEffect,
  type RowMaintainer,
  refuseUnfollowed,
  type Share,
  type WrittenChange,
} from '../../repository/maintainer.js';
import type { RowMutation } from '../../table/index.js';
import { countsWith, SummaryCount } from './embedded.js';
import { addTheSame, type SummaryPlan } from './plan.js';
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
    if (!plan.ends && addTheSame(was, is)) return [];
    const state = readRecord(step, plan.schema, plan.summary);
    if (state === undefined) return [];
    const counted = is && { ...is, end: plan.ends ? plan.endOf(after) : 0 };
    return countsWith(state, row).flatMap((generation) =>
      new SummaryCount(plan, generation).replace(row, was, counted, step),
    );
  }

  /** @throws KeyError on a value that no group can have. */
  hasEffects(change: ChangeImage): boolean {
    this.refuse(change);
    const { before, after } = change;
    // Call each: any of them may refuse the change.
    const same = this.plans.map((plan) =>
      addTheSame(plan.contributionOf(before), plan.contributionOf(after)),
    );
    return same.includes(false);
  }

  async settle(
    row: Uint8Array,
    _share: Share,
    settledAfter: number,
    change?: WrittenChange,
  ): Promise<boolean> {
    const done = await Promise.all(this.counts.map((count) => count.updateAll(row, settledAfter, change)));
    return done.every((one) => one);
  }
}
