import type { JobRunOptions } from '../../job/types.js';
import type { ChangeStep, RowEffect, RowImage } from '../../repository/index.js';
import { ABANDONED_AFTER } from '../../repository/remote/row-work.js';
import type { RowFollower } from '../feature.js';
import type { SummaryTarget } from './jobs.js';
import type { SummaryMaintainer } from './maintain.js';

/** Rows whose contributions are brought in line together. */
const TOGETHER = 32;

/** The jobs of a summary that its follower runs. */
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
export class SummaryFollower implements RowFollower {
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
