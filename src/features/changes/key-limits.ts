/**
 * Limits of change feeds at a key change: where the feed of the old entity ends and that of the new one begins
 * (docs/changes.md). Both use the same positions, so a reader continues in the new feed where the old one ends.
 */

import { RowanError, UnsupportedError } from '../../errors.js';
import type { EntitySchema } from '../../schema/types.js';
import type { KeyChange } from '../feature.js';

/** How a log orders its positions. */
export interface PositionOrder<P> {
  parse(text: string): P;
  /** Whether a commit before `b` may be after `a`. */
  isBefore(a: P, b: P): boolean;
}

/** A position at which a feed begins or ends, and the entity in whose place it does. */
interface KeyLimit<P> {
  readonly at: P;
  readonly entity: string;
  readonly other: string;
}

/** The limits of a feed of some entities. */
export class KeyLimits<P> {
  private constructor(
    private readonly begins: readonly KeyLimit<P>[],
    private readonly ends: readonly KeyLimit<P>[],
    private readonly order: PositionOrder<P>,
  ) {}

  /** @throws UnsupportedError on an entity into which rows are being copied: it has no changes of its own yet. */
  static async of<P>(
    entities: readonly EntitySchema[],
    changesOf: (entity: EntitySchema) => Promise<readonly KeyChange[]>,
    order: PositionOrder<P>,
    from: P,
  ): Promise<KeyLimits<P>> {
    const begins: KeyLimit<P>[] = [];
    const ends: KeyLimit<P>[] = [];
    for (const entity of entities) {
      const changes = await changesOf(entity);
      const limit = (text: string, other: string) => ({ at: order.parse(text), entity: entity.name, other });
      for (const { side, stage, other, feedsFrom } of changes) {
        if (side !== 'new' || stage === 'undone') continue;
        if (stage === 'filling') throw incomplete(entity.name, other);
        if (feedsFrom !== undefined) begins.push(limit(feedsFrom, other));
      }
      for (const { side, stage, other, feedsUntil } of changes) {
        if (feedsUntil === undefined || stage !== (side === 'old' ? 'over' : 'undone')) continue;
        const end = limit(feedsUntil, other);
        const isBack = begins.some(
          ({ entity: name, at }) => name === entity.name && order.isBefore(end.at, at),
        );
        // Rows of an aborted key change may be written again later, independently.
        const isPassed = side === 'new' && order.isBefore(end.at, from);
        if (!isBack && !isPassed) ends.push(end);
      }
    }
    ends.sort((a, b) => (order.isBefore(a.at, b.at) ? -1 : order.isBefore(b.at, a.at) ? 1 : 0));
    return new KeyLimits(begins, ends, order);
  }

  /** @throws RowanError `ERR_POSITION_GONE` when changes after the position are those of the other entity. */
  checkBegin(from: P): void {
    const missed = this.begins.find(({ at }) => this.order.isBefore(from, at));
    if (missed !== undefined) throw early(missed);
  }

  /** The first position at which the feed begins, where it is to begin with the oldest change. */
  latestBegin(): P | undefined {
    return this.begins
      .map(({ at }) => at)
      .reduce<P | undefined>(
        (latest, at) => (latest === undefined || this.order.isBefore(latest, at) ? at : latest),
        undefined,
      );
  }

  /** The position at which the feed ends. Undefined: it does not end. */
  get end(): KeyLimit<P> | undefined {
    return this.ends[0];
  }
}

function incomplete(entity: string, other: string): UnsupportedError {
  return new UnsupportedError(
    `The keys of ${other} are being changed to those of ${entity}, whose rows are not complete yet. Its feed begins when it can be read. Watch ${other} until then.`,
    { details: { entity, other } },
  );
}

function early({ entity, other }: KeyLimit<unknown>): RowanError {
  return new RowanError(
    'ERR_POSITION_GONE',
    `The keys of ${other} were changed to those of ${entity} after this position, so earlier changes are in the feed of ${other}. Watch ${other} from this ` +
      `position until its feed ends or has passed the change, then ${entity} from there. Or watch ${entity} from now, and read all rows once.`,
    { details: { entity, other } },
  );
}

/** The error at the end of a feed. */
export function feedEnded({ entity, other }: KeyLimit<unknown>): RowanError {
  return new RowanError(
    'ERR_FEED_ENDED',
    `The feed of ${entity} ends here: its rows are now those of ${other}, since their keys were changed. Continue from this position: ` +
      `db.watch(${other}, …, { from: feed.position }).`,
    { details: { entity, other } },
  );
}
