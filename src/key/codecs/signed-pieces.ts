import type { ValueRange } from './base.js';

/** The part of `range` below zero and the part from zero on: in two's complement each is ordered, both are not. */
export function signedPieces<T extends number | bigint>(
  range: ValueRange,
  min: T,
  zero: T,
  minusOne: T,
  max: T,
): ValueRange[] {
  const lower = range.lower?.value as T | undefined;
  const upper = range.upper?.value as T | undefined;
  const pieces: ValueRange[] = [];
  if (upper === undefined || upper >= zero) {
    pieces.push({
      lower: lower !== undefined && lower >= zero ? range.lower : { value: zero, inclusive: true },
      upper: range.upper ?? { value: max, inclusive: true },
    });
  }
  if (lower === undefined || lower < zero) {
    pieces.push({
      lower: range.lower ?? { value: min, inclusive: true },
      upper: upper !== undefined && upper < zero ? range.upper : { value: minusOne, inclusive: true },
    });
  }
  return pieces;
}
