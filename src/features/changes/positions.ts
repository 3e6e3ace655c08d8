/** Positions of change feeds: their text, those from which a feed cannot continue, and their limits at a key change. */

import { InvalidArgumentError, RowanError, UnsupportedError } from '../../errors.js';
import type { EntitySchema } from '../../schema/types.js';
import { describe } from '../../table/checks.js';
import type { KeyChange } from '../feature.js';

/**
 * A feed's position on the embedded engine. As text: `2.commit.seen.entry.kept.time`, in base 36, then base64url. Version 1 has no `seen`:
 * its entry is that of `commit`.
 */
export interface Position {
  /** Every commit up to this number has been read. */
  readonly commit: number;
  /** The newest commit of which an entry has been read, or was there at the beginning: by it a store is told from another one. 0: there is none. */
  readonly seen: number;
  /** The time of that entry. */
  readonly entry: number;
  /** The shortest time, ms, for which that entry is kept. */
  readonly kept: number;
  /** The engine's time, ms, at which the log ended here, or at which the commit was written. */
  readonly time: number;
}

export function positionText({ commit, seen, entry, kept, time }: Position): string {
  return textOf([2, commit, seen, entry, kept, time]);
}

function textOf(numbers: readonly number[]): string {
  return Buffer.from(numbers.map((number) => number.toString(36)).join('.')).toString('base64url');
}

/** @throws InvalidArgumentError on a value that no feed has returned. */
export function parsePosition(text: unknown): Position {
  const decoded = typeof text === 'string' ? Buffer.from(text, 'base64url').toString('latin1') : '';
  const numbers = /^(?:1(?:\.[0-9a-z]+){4}|2(?:\.[0-9a-z]+){5})$/.test(decoded)
    ? decoded.split('.').map((digits) => Number.parseInt(digits, 36))
    : [];
  if (numbers.length > 0 && numbers.every(Number.isSafeInteger) && textOf(numbers) === text) {
    const [version, commit, ...rest] = numbers as [number, number, ...number[]];
    const [seen, entry, kept, time] = (version === 1 ? [rest[0] === 0 ? 0 : commit, ...rest] : rest) as [
      number,
      number,
      number,
      number,
    ];
    return { commit, seen, entry, kept, time };
  }
  throw new InvalidArgumentError(
    `watch: from is ${describe(text)}. Give the position of a commit or of a feed, or 'start'.`,
  );
}

// — Errors of positions from which a feed cannot continue.

/** The error of a position after which commits may have expired. */
export function expiredPosition(kept: number): RowanError {
  return new RowanError(
    'ERR_POSITION_GONE',
    `Changes after this position have expired: they are kept for ${kept} ms. Watch from now and read all rows once; ` +
      'then read the feed faster, or keep changes for longer (changes: { keep }).',
    { details: { keep: kept } },
  );
}

/** The error of a position that this store has not reached, for example because a restore undid its commits. */
export function undone(): RowanError {
  return new RowanError(
    'ERR_POSITION_GONE',
    'This position belongs to another store, or to commits that a restore or a loss of power has undone. Watch from now, then ' +
      'read the whole.',
  );
}

// — Limits of change feeds at a key change: where the feed of the old entity ends and that of the new one begins
// (docs/changes.md). Both use the same positions, so a reader continues in the new feed where the old one ends.

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
