import { InvalidArgumentError, RowanError } from '../../errors.js';
import { describe } from '../../table/checks.js';

/** A feed's position on the embedded engine. As text: `1.commit.entry.kept.time`, in base 36, then base64url. */

export interface Position {
  /** Every commit up to this number has been read. */
  readonly commit: number;
  /** The time of the entry with that number. 0: there is none. */
  readonly entry: number;
  /** The shortest time, ms, for which that entry is kept. */
  readonly kept: number;
  /** The engine's time, ms, at which the log ended here, or at which the commit was written. */
  readonly time: number;
}

export function positionText({ commit, entry, kept, time }: Position): string {
  const numbers = [1, commit, entry, kept, time].map((number) => number.toString(36));
  return Buffer.from(numbers.join('.')).toString('base64url');
}

/** @throws InvalidArgumentError on a value that no feed has returned. */
export function parsePosition(text: unknown): Position {
  const decoded = typeof text === 'string' ? Buffer.from(text, 'base64url').toString('latin1') : '';
  const [, ...numbers] = /^1\.([0-9a-z]+)\.([0-9a-z]+)\.([0-9a-z]+)\.([0-9a-z]+)$/.exec(decoded) ?? [];
  const [commit, entry, kept, time] = numbers.map((number) => Number.parseInt(number, 36));
  const position = { commit: commit!, entry: entry!, kept: kept!, time: time! };
  if (Object.values(position).every(Number.isSafeInteger) && positionText(position) === text) return position;
  throw new InvalidArgumentError(
    `watch: from is ${describe(text)}. Give the position of a commit or of a feed, or 'start'.`,
  );
}

/** Errors of positions from which a feed cannot continue. */

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
