/** Counts rows into a summary, and looks at groups of two counts, where one step of the engine is one row. */

import { setTimeout as sleep } from 'node:timers/promises';
import { type GroupIdentity, type RemoteCount, SETTLED } from '../../repository/index.js';
import type { Result } from '../../table/index.js';
import type { SplitContext, SplitWork } from '../types.js';

/** Rows counted together. */
const TOGETHER = 32;
/** Looks at a group that is being written, and milliseconds between two. */
const LOOKS = 40;
const PAUSE = 50;
/** So many looks in a row find what differs unchanged before it is said to differ. */
const UNCHANGED = 3;

/** Rows are counted in any order, beside writers, and again: what each has added stands beside the groups. */
export class RemoteCountWork implements SplitWork {
  constructor(
    private readonly count: RemoteCount,
    private readonly generation: number,
    private readonly context: SplitContext,
  ) {}

  async rows(rows: readonly Result[]): Promise<void> {
    const { key } = this.count.plan.schema;
    const own = rows.filter(({ row }) => key.matches(row));
    for (let at = 0; at < own.length; at += TOGETHER)
      await Promise.all(own.slice(at, at + TOGETHER).map(({ row }) => this.one(row)));
    this.context.count('rows', own.length);
  }

  /** What a writer has begun that has ended since is taken over when its time has come. */
  private async one(row: Uint8Array): Promise<void> {
    while (!(await this.count.settle(row, this.generation, SETTLED))) this.context.signal.throwIfAborted();
  }
}

/** The figures of a group in the count that is asked, and in the one that was made. */
export type IdentityPair = readonly [GroupIdentity, GroupIdentity];

/** The two are not read at one moment: what differs is looked at again until they agree, or nobody changes them. */
export async function lookAgain(
  count: RemoteCount,
  generations: readonly [number, number],
  name: string,
  first: IdentityPair,
): Promise<IdentityPair> {
  let pair = first;
  let unchanged = 1;
  for (let look = 1; look < LOOKS && pair[0] !== pair[1] && unchanged < UNCHANGED; look++) {
    await sleep(PAUSE);
    const [asked, made] = await count.amounts(new Uint8Array(Buffer.from(name, 'latin1')), generations);
    const now: IdentityPair = [count.plan.identityOf(asked!), count.plan.identityOf(made!)];
    unchanged = now[0] === pair[0] && now[1] === pair[1] ? unchanged + 1 : 1;
    pair = now;
  }
  return pair;
}
