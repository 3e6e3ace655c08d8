import {
  type ChangeImage,
  type ChangeParticipant,
  type ChangeStep,
  type FollowUp,
  refuseUnfollowed,
} from '../../repository/executor.js';
import type { Follower, Share } from '../../repository/remote/follower.js';
import type { RowMutation } from '../../table/index.js';
import { countsWith, SummaryCount } from './embedded.js';
import { addTheSame, type SummaryPlan } from './plan.js';
import type { RemoteCount } from './remote.js';
import { standingOf } from './rows.js';

/** Keeps the figures of groups in one step with the rows that they are of. */

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

/** Has the figures of groups follow the rows that they are of, where one step of the engine is one row. */

export class SummaryFollower implements Follower {
  readonly name = 'summaries';

  constructor(
    private readonly counts: readonly RemoteCount[],
    private readonly now: () => number,
  ) {}

  /** @throws KeyError on a value that no group can have. */
  follow({ before, after, mutations }: ChangeImage): boolean {
    refuseUnfollowed(this.counts[0]!.plan.schema, 'summaries (@Summary)', mutations, this.now);
    // Each is asked: any of them may keep the change out.
    const same = this.counts.map(({ plan }) =>
      addTheSame(plan.contributionOf(before), plan.contributionOf(after)),
    );
    return same.includes(false);
  }

  async settle(row: Uint8Array, _share: Share, settledAfter: number): Promise<boolean> {
    const done = await Promise.all(this.counts.map((count) => count.settleAll(row, settledAfter)));
    return done.every((one) => one);
  }
}
