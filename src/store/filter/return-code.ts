/**
 * What a filter says of a cell (HBase `Filter.ReturnCode`), as a step and a verdict: twice how far to go on (0 the next
 * cell, 1 the next column, 2 the next row, 3 a hint), plus 1 when the cell is left out.
 */

export const FILTER_INCLUDE = 0;
export const FILTER_SKIP = 1;
export const FILTER_INCLUDE_NEXT_COLUMN = 2;
export const FILTER_NEXT_COLUMN = 3;
export const FILTER_INCLUDE_NEXT_ROW = 4;
export const FILTER_NEXT_ROW = 5;
/** Left out; go on where the filter's hint says. */
export const FILTER_SEEK_HINT = 7;

export type ReturnCode = 0 | 1 | 2 | 3 | 4 | 5 | 7;

/** Whether the cell passes. */
export function isIncluded(code: ReturnCode): boolean {
  return (code & 1) === 0;
}

/** Both filters must pass: the longer step ("maximal step rule" of `FilterListWithAND`). */
export function mergeAnd(a: ReturnCode, b: ReturnCode): ReturnCode {
  const step = Math.max(a >> 1, b >> 1);
  return ((step << 1) | ((a | b) & 1)) as ReturnCode;
}

/** One filter suffices: the shorter step, and one cell when a hint meets another step (`FilterListWithOR`). */
export function mergeOr(a: ReturnCode, b: ReturnCode): ReturnCode {
  const left = a >> 1;
  const right = b >> 1;
  const step = left === right ? left : left === 3 || right === 3 ? 0 : Math.min(left, right);
  return ((step << 1) | (a & b & 1)) as ReturnCode;
}
