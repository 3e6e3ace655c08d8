/**
 * The part of a row's change that is about what follows from it: what is amended, what is noted before the row is written,
 * and what is done behind it.
 */

import { equalBytes } from '../../bytes/index.js';
import { RowanError } from '../../errors.js';
import type { EntitySchema } from '../../schema/types.js';
import {
  CellType,
  Delete,
  type OperationOptions,
  Put,
  type RowMutation,
  type Table,
} from '../../table/index.js';
import { columnMutations } from '../change-flow.js';
import type { ChangeImage, OwnColumn } from '../executor.js';
import { intentRow, putIntent, removeIntents } from './change-intents.js';
import { SETTLED } from './entry-marks.js';
import type { Follower, Reading, Share } from './follower.js';
import { fenceRows, type RowWork, refuseTimes } from './row-work.js';

/** What it takes from its database. */
export interface RowFollowingSource {
  readonly schema: EntitySchema;
  readonly followers: readonly Follower[];
  /** The entity's. */
  readonly table: Table;
  readonly outbox: Table;
  readonly reading: Reading;
  now(): number;
  /** Told of a change whose row was written, and of which something is left for the outbox to do. */
  onLeft(token: Uint8Array): void;
  onFailure(error: RowanError): void;
}

export class RowFollowing {
  constructor(private readonly source: RowFollowingSource) {}

  /** The mutations with what is amended; notes whether something is to follow them. @throws what keeps the change out. */
  async plan(work: RowWork, said: readonly RowMutation[]): Promise<readonly RowMutation[]> {
    const { source } = this;
    const change = work.change!;
    refuseTimes(source.schema, said);
    const followers =
      change.isAmended === true
        ? source.followers.filter(({ amend }) => amend === undefined)
        : source.followers;
    const { row, image: before } = work;
    const { operation } = change;
    const first: ChangeImage = { operation, row, before, after: before.after(said), mutations: said };
    const own = await source.reading((step) =>
      followers.flatMap((follower) => follower.amend?.(first, step) ?? []),
    );
    const mutations = own.length === 0 ? said : withColumns(row, said, own);
    const image: ChangeImage = { ...first, after: before.after(mutations), mutations };
    // Each is asked: any of them may keep the change out.
    const follows = await source.reading((step) => followers.map((follower) => follower.follow(image, step)));
    work.isFollowed ||= follows.includes(true);
    return mutations;
  }

  /** Before the rows are written: whatever becomes of this program, what is to follow them is found. */
  async note(works: readonly RowWork[], options: OperationOptions | undefined): Promise<void> {
    const noted = works.filter(({ isFollowed }) => isFollowed);
    if (noted.length === 0) return;
    for (const work of noted) work.isNoted = true;
    const answers = await this.source.outbox.batch(
      noted.map(({ row, intent }) => putIntent(this.rowOf(row), intent)),
      options,
    );
    for (const [i, answer] of answers.entries()) if (!answer.ok) noted[i]!.fail(answer.error);
  }

  /** Behind the rows: what fails here stays noted. */
  async finish(works: readonly RowWork[]): Promise<void> {
    const noted = works.filter(({ isNoted }) => isNoted);
    if (noted.length === 0) return;
    const done = await Promise.all(noted.map((work) => this.finishOne(work)));
    try {
      await this.remove(noted.filter((_, i) => done[i]));
    } catch (error) {
      this.failed(error);
    }
  }

  /** Whether nothing is left to be done. */
  private async finishOne({ row, intent, outcome, isSent }: RowWork): Promise<boolean> {
    // Of a row of which nobody knows whether it was written: who finds the note later does.
    if (!outcome!.ok) return !isSent;
    try {
      if (await this.settle(row, 'declared', SETTLED)) return true;
    } catch (error) {
      this.failed(error);
    }
    this.source.onLeft(intent);
    return false;
  }

  private failed(error: unknown): void {
    if (!(error instanceof RowanError)) throw error;
    this.source.onFailure(error);
  }

  private async remove(works: readonly RowWork[]): Promise<void> {
    if (works.length === 0) return;
    const actions = works.map(({ row, intent }) => removeIntents(this.rowOf(row), [{ token: intent }]));
    const answers = await this.source.outbox.batch(actions);
    for (const answer of answers) if (!answer.ok) throw answer.error;
  }

  /** Makes what follows from a row what it should be. */
  async settle(row: Uint8Array, share: Share, settledAfter: number): Promise<boolean> {
    let isDone = true;
    for (const follower of this.source.followers)
      if (!(await follower.settle(row, share, settledAfter))) isDone = false;
    return isDone;
  }

  /**
   * As {@link settle}, in the place of writers of whom nobody knows whether they have written the row: they cannot any more.
   * @returns whether it is done; not when the row was being written just now.
   */
  async takeOver(row: Uint8Array, settledAfter: number): Promise<boolean> {
    const { table, schema, followers } = this.source;
    if (!(await fenceRows(table, schema, [row], () => this.source.now()))) return false;
    for (const follower of followers) if ((await follower.fence?.(row)) === false) return false;
    return this.settle(row, 'all', settledAfter);
  }

  private rowOf(row: Uint8Array): Uint8Array {
    return intentRow(this.source.schema, row);
  }
}

/** The mutations, which say these values of these columns and no others. */
function withColumns(
  row: Uint8Array,
  mutations: readonly RowMutation[],
  own: readonly OwnColumn[],
): RowMutation[] {
  const isOwn = (family: string, qualifier: Uint8Array): boolean =>
    own.some((one) => one.family === family && equalBytes(one.qualifier, qualifier));
  const first = mutations.find((mutation) => mutation.kind === 'put');
  const out: RowMutation[] = [];
  for (const mutation of mutations) {
    if (mutation.kind === 'put') {
      const put = new Put(row).setDurability(mutation.durability).setTtl(mutation.ttl);
      put.cells.push(...mutation.cells.filter(({ family, qualifier }) => !isOwn(family, qualifier)));
      if (put.cells.length > 0) out.push(put);
    } else if (mutation.kind === 'delete' && mutation.cells.length > 0) {
      const del = new Delete(row).setDurability(mutation.durability);
      del.cells.push(
        ...mutation.cells.filter(
          ({ family, qualifier, type }) => type === CellType.DeleteFamily || !isOwn(family, qualifier),
        ),
      );
      if (del.cells.length > 0) out.push(del);
    } else {
      out.push(mutation);
    }
  }
  const ttl = first?.ttl ?? own.find((one) => one.ttl !== undefined)?.ttl;
  return [...out, ...columnMutations(row, own, ttl)];
}
