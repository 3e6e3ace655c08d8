import { InvalidArgumentError, RowanError } from '../../errors.js';
import { describe } from '../../table/checks.js';

/** Where a reader of a feed stands, as the text that is given out: `1.commit.entry.kept.time`, in base 36, then base64url. */

export interface Position {
  /** Every commit up to this number has been read. */
  readonly commit: number;
  /** The time of the entry with this number; 0 where there is none. */
  readonly entry: number;
  /** Milliseconds for which that entry is kept at least. */
  readonly kept: number;
  /** The engine's time, ms, at which nothing behind it was there, or when the commit was written. */
  readonly time: number;
}

export function positionText({ commit, entry, kept, time }: Position): string {
  const numbers = [1, commit, entry, kept, time].map((number) => number.toString(36));
  return Buffer.from(numbers.join('.')).toString('base64url');
}

/** @throws InvalidArgumentError on what no feed gave out. */
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

/** Positions that cannot be gone on from. */

/** The error of a position behind which something may be missing. */
export function gone(kept: number): RowanError {
  return new RowanError(
    'ERR_POSITION_GONE',
    `What stands behind this position is kept no more: changes are kept for ${kept} ms. Watch from now, then read the whole; ` +
      'and read faster, or keep changes for longer (changes: { keep }).',
    { details: { keep: kept } },
  );
}

/** The error of a position that the store never came to. */
export function undone(): RowanError {
  return new RowanError(
    'ERR_POSITION_GONE',
    'This position is of another store, or of a moment that a restored copy or a loss of power has undone. Watch from now, then ' +
      'read the whole.',
  );
}
