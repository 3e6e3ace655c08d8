/** Byte strings as numbers: how far a row lies between two others, and the rows in between. */

import { EMPTY_BYTES } from '../bytes/index.js';
import type { RowRange } from './types.js';

/** Bytes behind the common prefix that are looked at: as many as a number holds exactly. */
const DIGITS = 6;

/** What `start` and `stop` begin with, both of them; an open end begins with nothing. */
function commonPrefix(start: Uint8Array, stop: Uint8Array): number {
  const most = Math.min(start.length, stop.length);
  let length = 0;
  while (length < most && start[length] === stop[length]) length++;
  return length;
}

function numberAt(row: Uint8Array, from: number): number {
  let value = 0;
  for (let i = 0; i < DIGITS; i++) value = value * 256 + (row[from + i] ?? 0);
  return value;
}

/** The number of an open upper end. */
const TOP = 256 ** DIGITS;

/** How far `row` lies between the ends of the range, 0..1. */
export function fractionOf(row: Uint8Array, { start, stop }: RowRange): number {
  const prefix = commonPrefix(start, stop);
  const low = numberAt(start, prefix);
  const high = stop.length === 0 ? TOP : numberAt(stop, prefix);
  if (high <= low) return 0;
  return Math.min(1, Math.max(0, (numberAt(row, prefix) - low) / (high - low)));
}

/** A byte string in the middle of the range as {@link fractionOf} sees it; undefined where the ends are too near. */
export function middleOf({ start, stop }: RowRange): Uint8Array | undefined {
  const prefix = commonPrefix(start, stop);
  const low = numberAt(start, prefix);
  const high = stop.length === 0 ? TOP : numberAt(stop, prefix);
  let rest = low + Math.floor((high - low) / 2);
  if (rest <= low) return undefined;
  const middle = new Uint8Array(prefix + DIGITS);
  middle.set(start.subarray(0, prefix));
  for (let i = DIGITS - 1; i >= 0; i--) {
    middle[prefix + i] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  return middle;
}

/** All rows. */
export const WHOLE_TABLE: RowRange = Object.freeze({ start: EMPTY_BYTES, stop: EMPTY_BYTES });
