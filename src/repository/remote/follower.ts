/** What follows the rows of an entity where one step of the engine is one row. */

import type { ChangeImage, ChangeStep, EntityChange, OwnColumn } from '../executor.js';

/**
 * Keeps what follows from rows of one entity. `amend` and `follow` are asked before the row is written, and asked again when
 * what they read has arrived: they change nothing. `settle` is called behind the write, and again by whoever finds that a
 * writer has not come to its end: it goes by what the row is now, not by what was changed, so that to call it once more does
 * no harm, and two that run at once end in the same.
 */
export interface Follower {
  readonly name: string;
  /** Columns of the row itself that are other than the change leaves them. */
  amend?(change: ChangeImage, step: ChangeStep): readonly OwnColumn[];
  /** Whether anything is to follow the change. @throws what keeps it out. */
  follow(change: ChangeImage, step: ChangeStep): boolean;
  /**
   * Makes what follows from the row what it should be. `share`: how many rows at most may be changed for it in the writer's
   * own time. `settledAfter`: milliseconds after which what another has begun is nobody's.
   * @returns whether that is done; else it is left for the outbox.
   */
  settle(row: Uint8Array, share: Share, settledAfter: number): Promise<boolean>;
}

/** Whether a writer waits for what follows, who is not to be kept longer than was declared. */
export type Share = 'all' | 'declared';

/** Changes rows of entities, each with what takes part in that; the number of those that had something to change. */
export type Following = (changes: readonly EntityChange[]) => Promise<number>;
