/** Keeps the figures of groups in one step with the rows that they are of. */

import type { RowMutation } from '../../table/index.js';
import type { ChangeImage, ChangeParticipant, ChangeStep, FollowUp } from '../executor.js';
import { refuseUnfollowed } from '../followed-writes.js';
import { countsWith, SummaryCount } from './summary-count.js';
import { addTheSame, type SummaryPlan } from './summary-plan.js';
import { standingOf } from './summary-rows.js';

export class SummaryParticipant implements ChangeParticipant {
  readonly name = 'summaries';

  constructor(
    private readonly plans: readonly SummaryPlan[],
    private readonly now: () => number,
  ) {}

  follow(change: ChangeImage, step: ChangeStep): readonly FollowUp[] {
    const { schema } = this.plans[0]!;
    refuseUnfollowed(schema, 'summaries (@Summary)', change.mutations, this.now);
    const out: FollowUp[] = [];
    for (const plan of this.plans) {
      for (const mutation of this.followOne(plan, change, step))
        out.push({ table: plan.tableName, mutation });
    }
    return out;
  }

  private followOne(
    plan: SummaryPlan,
    { row, before, after }: ChangeImage,
    step: ChangeStep,
  ): readonly RowMutation[] {
    const was = plan.contributionOf(before);
    const is = plan.contributionOf(after);
    if (!plan.ends && addTheSame(was, is)) return [];
    const standing = standingOf(step, plan.schema, plan.summary);
    if (standing === undefined) return [];
    const counted = is && { ...is, end: plan.ends ? plan.endOf(after) : 0 };
    return countsWith(standing, row).flatMap((generation) =>
      new SummaryCount(plan, generation).replace(row, was, counted, step),
    );
  }
}
