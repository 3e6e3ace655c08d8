/** Positions that cannot be gone on from. */

import { RowanError } from '../../errors.js';

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
