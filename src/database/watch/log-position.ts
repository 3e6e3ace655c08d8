/** Where a reader of a log in buckets stands, as the text that is given out: `2.time.number…`, in base 36, then base64url. */

import { InvalidArgumentError } from '../../errors.js';
import { BUCKETS } from '../../repository/index.js';
import { describe } from '../../table/checks.js';

export interface LogPosition {
  /** ms: what stands behind the numbers was written then or later. */
  readonly time: number;
  /** Of each bucket: every entry up to this number has been read. */
  readonly numbers: readonly number[];
}

export function logPositionText({ time, numbers }: LogPosition): string {
  const all = [2, time, ...numbers].map((number) => number.toString(36));
  return Buffer.from(all.join('.')).toString('base64url');
}

/** @throws InvalidArgumentError on what no feed gave out. */
export function parseLogPosition(text: unknown): LogPosition {
  const decoded = typeof text === 'string' ? Buffer.from(text, 'base64url').toString('latin1') : '';
  const [version, time, ...numbers] = decoded.split('.').map((number) => Number.parseInt(number, 36));
  const position = { time: time!, numbers };
  const isWhole = version === 2 && numbers.length === BUCKETS;
  if (isWhole && [time, ...numbers].every(isNumber) && logPositionText(position) === text) return position;
  throw new InvalidArgumentError(
    `watch: from is ${describe(text)}. Give the position of a commit or of a feed of this cluster, or 'start'.`,
  );
}

function isNumber(number: number | undefined): boolean {
  return Number.isSafeInteger(number) && number! >= 0;
}
