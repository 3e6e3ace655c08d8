/**
 * Referential rules where one step of the engine is one row (docs/relations.md): what a write names is looked for before it, and
 * what names a deleted row follows behind it. Who names looks again behind the write, and who deletes looks for names behind the
 * delete, so one of them sees the other. What is to be refused is looked for before only.
 */

import type { EntitySchema } from '../../schema/types.js';
import { Get } from '../../table/index.js';
import type { ChangeImage, ChangeStep, EntityChange } from '../executor.js';
import type { LinkPosition } from '../links/link.js';
import { Presence } from '../presence.js';
import type { Follower, Following, Share } from '../remote/follower.js';
import type { Reading } from '../remote/suspended-reads.js';
import { RowImage } from '../row-image.js';
import {
  followUpOf,
  type ReferenceHolder,
  type ReferencePlan,
  type ReferenceTarget,
} from './participants.js';

/** Rows that a writer waits for, who deletes what they name; the outbox does the rest. */
const AWAITED = 1000;
/** Rows changed together. */
const TOGETHER = 256;

/** What rules take from their database. */
export interface ReferenceFollowing {
  readonly reading: Reading;
  readonly following: Following;
  now(): number;
}

/** Refuses rows that name what is not there; has those follow whose names have gone meanwhile. */
export class ReferenceHolderFollower implements Follower {
  readonly name = 'references';

  constructor(
    private readonly schema: EntitySchema,
    private readonly plans: readonly ReferencePlan[],
    private readonly holder: ReferenceHolder,
    private readonly source: ReferenceFollowing,
  ) {}

  follow(change: ChangeImage, step: ChangeStep): boolean {
    this.holder.follow(change, step);
    const named = this.holder.newlyNamed(change);
    return named.some(({ rule }) => rule.onDelete === 'cascade' || rule.onDelete === 'setNull');
  }

  async settle(row: Uint8Array): Promise<boolean> {
    await this.mend(row);
    return true;
  }

  /** Does with a row what the rules say of such that name what is not there; how many had something to change. */
  async mend(row: Uint8Array): Promise<number> {
    const { reading, following, now } = this.source;
    const changes = await reading((step) => {
      const image = RowImage.of(row, step.read(new Get(row), this.schema.table.descriptor.name));
      return this.plans.flatMap((plan) => plan.orphaned(image, this.schema, step, now) ?? []);
    });
    return changes.length === 0 ? 0 : following(changes);
  }
}

/** Refuses the delete of what is named, or has those that name it follow. */
export class ReferenceTargetFollower implements Follower {
  readonly name = 'referred';
  private readonly presence: Presence;
  private readonly plans: readonly ReferencePlan[];

  constructor(
    private readonly schema: EntitySchema,
    plans: readonly ReferencePlan[],
    private readonly target: ReferenceTarget,
    private readonly source: ReferenceFollowing,
  ) {
    this.presence = new Presence(schema);
    this.plans = plans.filter(({ rule }) => rule.onDelete !== 'restrict');
  }

  follow(change: ChangeImage, step: ChangeStep): boolean {
    return this.target.allows(change, step) && this.plans.length > 0;
  }

  async settle(row: Uint8Array, share: Share): Promise<boolean> {
    const { reading, following, now } = this.source;
    let left = share === 'all' ? Number.POSITIVE_INFINITY : AWAITED;
    for (const plan of this.plans) {
      let from: LinkPosition | undefined;
      do {
        if (left <= 0) return false;
        const start = from;
        // Who has written the row again meanwhile has taken over what names it.
        const found = await reading((step) =>
          this.isThere(row, step) ? undefined : plan.link.find(step, row, TOGETHER, start),
        );
        if (found === undefined) return true;
        await following(found.rows.map((own): EntityChange => followUpOf(plan, own, row, now)));
        left -= found.rows.length;
        from = found.next;
      } while (from !== undefined);
    }
    return true;
  }

  private isThere(row: Uint8Array, step: ChangeStep): boolean {
    const get = new Get(row);
    this.presence.addTo(get, false);
    const image = RowImage.of(row, step.read(get, this.schema.table.descriptor.name));
    return this.presence.isIn(image, 'living');
  }
}
