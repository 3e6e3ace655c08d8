/**
 * Copies where one step of the engine is one row (docs/denormalization.md): a row is written with the values that its source
 * has then, and both sides look again behind their writes. Who writes last looks last, so what stays is what the source is.
 */

import type { EntitySchema } from '../../schema/types.js';
import { Get } from '../../table/index.js';
import type { ChangeImage, ChangeStep, EntityChange, OwnColumn } from '../executor.js';
import type { LinkPosition } from '../links/link.js';
import { Presence } from '../presence.js';
import type { Follower, Following, Share } from '../remote/follower.js';
import type { Reading } from '../remote/suspended-reads.js';
import { differ, RowImage } from '../row-image.js';
import { areEqual, type CopiedValues, type CopyPlan } from './copy-plan.js';
import { CopyHolder, changesCopies } from './participants.js';

/** How often copies are put right while their sources go on changing, before it is left to the outbox. */
const ROUNDS = 16;
/** Rows changed together. */
const TOGETHER = 256;

/** What copies take from their database. */
export interface CopyFollowing {
  readonly reading: Reading;
  readonly following: Following;
  now(): number;
}

/** Gives each row the copies of the sources that it names. */
export class CopyHolderFollower implements Follower {
  readonly name = 'copies';
  private readonly holder: CopyHolder;
  private readonly presence: Presence;

  constructor(
    private readonly schema: EntitySchema,
    private readonly plans: readonly CopyPlan[],
    private readonly source: CopyFollowing,
  ) {
    this.holder = new CopyHolder(schema, plans, () => source.now());
    this.presence = new Presence(schema);
  }

  amend(change: ChangeImage, step: ChangeStep): readonly OwnColumn[] {
    return this.holder.amend(change, step);
  }

  /** Where the row was given the values of a source, that source may have changed before it was written. */
  follow({ before, after }: ChangeImage): boolean {
    if (!this.presence.isIn(after, 'deleted too')) return false;
    const isNew = !this.presence.isIn(before, 'deleted too');
    return this.plans.some(
      (plan) =>
        (isNew || differ(before, after, plan.link.columns) || differ(before, after, plan.columns)) &&
        plan.link.targetOf(after.toResult()) !== undefined,
    );
  }

  async settle(row: Uint8Array): Promise<boolean> {
    for (let round = 0; round < ROUNDS; round++) if ((await this.mend(row)) === 0) return true;
    return false;
  }

  /** Makes the copies of a row what its sources are; how many declarations had something to change. */
  async mend(row: Uint8Array): Promise<number> {
    const { reading, following } = this.source;
    const changes = await reading((step) => {
      const image = RowImage.of(row, step.read(new Get(row), this.schema.table.descriptor.name));
      if (!this.presence.isIn(image, 'deleted too')) return [];
      return this.plans.flatMap((plan) => this.mending(plan, image, step) ?? []);
    });
    return changes.length === 0 ? 0 : following(changes);
  }

  private mending(plan: CopyPlan, image: RowImage, step: ChangeStep): EntityChange | undefined {
    const target = plan.link.targetOf(image.toResult());
    const values = plan.valuesOf(target && plan.read(step, target));
    if (plan.differences(image, values).length === 0) return undefined;
    return { ...plan.change(image.row, target, values), operation: 'put' };
  }
}

/** Has the rows that hold copies of a row follow its changes. */
export class CopySourceFollower implements Follower {
  readonly name = 'copied';

  constructor(
    private readonly schema: EntitySchema,
    private readonly plans: readonly CopyPlan[],
    private readonly source: CopyFollowing,
  ) {}

  follow(change: ChangeImage): boolean {
    return changesCopies(this.schema, this.plans, change, () => this.source.now()).length > 0;
  }

  async settle(row: Uint8Array, share: Share): Promise<boolean> {
    let isDone = true;
    for (const plan of this.plans) if (!(await this.settleOne(plan, row, share))) isDone = false;
    return isDone;
  }

  private async settleOne(plan: CopyPlan, row: Uint8Array, share: Share): Promise<boolean> {
    const { reading } = this.source;
    let values = await this.valuesOf(plan, row);
    for (let round = 0; round < ROUNDS; round++) {
      if (share === 'declared') {
        const { rows, next } = await reading((step) => plan.link.find(step, row, plan.fanOut + 1));
        if (next !== undefined || rows.length > plan.fanOut) return false;
        await this.give(plan, row, rows, values);
      } else {
        await this.giveAll(plan, row, values);
      }
      // What was written may be older by now than what another has written.
      const now = await this.valuesOf(plan, row);
      if (areEqual(now, values)) return true;
      values = now;
    }
    return false;
  }

  private valuesOf(plan: CopyPlan, row: Uint8Array): Promise<CopiedValues> {
    return this.source.reading((step) => plan.valuesOf(plan.read(step, row)));
  }

  private async giveAll(plan: CopyPlan, row: Uint8Array, values: CopiedValues): Promise<void> {
    let from: LinkPosition | undefined;
    do {
      const start = from;
      const found = await this.source.reading((step) => plan.link.find(step, row, TOGETHER, start));
      await this.give(plan, row, found.rows, values);
      from = found.next;
    } while (from !== undefined);
  }

  private async give(
    plan: CopyPlan,
    row: Uint8Array,
    rows: readonly Uint8Array[],
    values: CopiedValues,
  ): Promise<void> {
    await this.source.following(
      plan.changes(rows, row, values).map((change) => ({ ...change, operation: 'put' })),
    );
  }
}
