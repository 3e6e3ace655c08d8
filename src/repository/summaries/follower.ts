/** Has the figures of groups follow the rows that they are of, where one step of the engine is one row. */

import type { ChangeImage } from '../executor.js';
import { refuseUnfollowed } from '../followed-writes.js';
import type { Follower, Share } from '../remote/follower.js';
import type { RemoteCount } from './remote-count.js';
import { addTheSame } from './summary-plan.js';

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
