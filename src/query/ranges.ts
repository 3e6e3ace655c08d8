/** The byte ranges of a plan in reading order, and what is left of them behind a position. */

import { compareBytes, concatBytes, keyAfter } from '../bytes/index.js';
import type { KeyPlan, KeyRange } from '../key/types.js';
import { Scan } from '../table/index.js';

/** Where to go on: behind `row` in reading order. */
export interface Position {
  readonly row: Uint8Array;
}

/** The ranges a reading from `position` visits, in byte order for a forward and in reverse for a reversed reading. */
export function rangesFrom(plan: KeyPlan, reversed: boolean, position: Position | undefined): KeyRange[] {
  const ranges: KeyRange[] = [];
  for (const range of plan.ranges) {
    const left = position === undefined ? range : clip(plan, range, position.row, reversed);
    if (left.stop === undefined || compareBytes(left.start, left.stop) < 0) ranges.push(left);
  }
  if (plan.order === 'merge' && (plan.kind === 'point' || plan.kind === 'points')) {
    ranges.sort((a, b) => compareMerged(a.start, b.start, plan.mergeOffset));
  }
  return reversed ? ranges.reverse() : ranges;
}

function clip(plan: KeyPlan, range: KeyRange, row: Uint8Array, reversed: boolean): KeyRange {
  let bound = row;
  let inclusive = false;
  if (plan.order === 'merge') {
    const prefix = rangePrefix(range, plan.mergeOffset);
    const side = compareBytes(prefix, row.subarray(0, plan.mergeOffset));
    bound = concatBytes(prefix, row.subarray(plan.mergeOffset));
    inclusive = reversed ? side < 0 : side > 0;
  }
  if (reversed) {
    const stop = inclusive ? keyAfter(bound) : bound;
    return range.stop === undefined || compareBytes(stop, range.stop) < 0
      ? { start: range.start, stop }
      : range;
  }
  const start = inclusive ? bound : keyAfter(bound);
  return compareBytes(start, range.start) > 0 ? { start, stop: range.stop } : range;
}

/** The salt or bucket bytes of a range; an open start stands for zeros. */
function rangePrefix(range: KeyRange, length: number): Uint8Array {
  const prefix = new Uint8Array(length);
  prefix.set(range.start.subarray(0, length));
  return prefix;
}

/** Logical key order of merged ranges: the key behind the salt, then the salt. */
export function compareMerged(a: Uint8Array, b: Uint8Array, offset: number): number {
  const aLength = a.length;
  const bLength = b.length;
  const length = aLength < bLength ? aLength : bLength;
  for (let i = offset; i < length; i++) {
    const difference = a[i]! - b[i]!;
    if (difference !== 0) return difference;
  }
  return aLength === bLength ? compareBytes(a, b) : aLength - bLength;
}

/** A scan of a range, from its lower end or reversed from its upper. */
export function scanOf(range: KeyRange, reversed: boolean): Scan {
  const scan = new Scan();
  if (!reversed) {
    scan.withStartRow(range.start);
    if (range.stop !== undefined) scan.withStopRow(range.stop);
    return scan;
  }
  scan.setReversed(true).withStopRow(range.start, true);
  if (range.stop !== undefined) scan.withStartRow(range.stop, false);
  return scan;
}
