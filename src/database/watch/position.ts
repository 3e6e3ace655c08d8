/** Where a reader of a feed stands, as the text that is given out: `1.commit.entry.kept.time`, in base 36, then base64url. */

import { InvalidArgumentError } from '../../errors.js';
import { describe } from '../../table/checks.js';

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
