/** The byte ranges of a plan in reading order, and their rest after a position. */

import { compareBytes, concatBytes, keyAfter, prefixEnd, startsWithBytes } from '../bytes/index.js';
import type { KeyLead, KeyPlan, KeyRange } from '../key/types.js';
import { Scan } from '../table/index.js';

/** The position after `key`, in reading order. */
export interface Position {
  readonly key: Uint8Array;
  readonly logical: Uint8Array;
  /** The entity whose row it is. */
  readonly entity: number;
}

/** The properties of a plan's part that `rangesFrom` needs. */
interface RangesToRead {
  readonly ranges: readonly KeyRange[];
  readonly leads: readonly KeyLead[];
  readonly isPlainBehind: boolean;
}

/** The ranges to read from `position` on, in byte order, or reversed for a reversed reading. */
export function rangesFrom(
  { ranges, leads, isPlainBehind }: RangesToRead,
  order: KeyPlan['order'],
  reversed: boolean,
  position: Position | undefined,
): readonly KeyRange[] {
  if (position === undefined) return reversed && ranges.length > 1 ? [...ranges].reverse() : ranges;
  const left: KeyRange[] = [];
  for (let i = 0; i < ranges.length; i++) {
    const range = ranges[i]!;
    const rest =
      order === 'merge'
        ? clipLogically(range, leads[i]!, position.logical, reversed, isPlainBehind)
        : clip(range, position.key, reversed);
    if (rest !== undefined && (rest.stop === undefined || compareBytes(rest.start, rest.stop) < 0)) {
      left.push(rest);
    }
  }
  return reversed ? left.reverse() : left;
}

function clip(range: KeyRange, row: Uint8Array, reversed: boolean): KeyRange {
  return reversed ? before(range, row) : from(range, keyAfter(row));
}

/**
 * As `clip`, for rows in the order of their logical bytes. The result may include rows at the position, and in a
 * reversed reading those that only begin like it: the reader compares the first rows with the position.
 */
function clipLogically(
  range: KeyRange,
  lead: KeyLead,
  logical: Uint8Array,
  reversed: boolean,
  isPlainBehind: boolean,
): KeyRange | undefined {
  if (!startsWithBytes(logical, lead.logical)) {
    return compareBytes(lead.logical, logical) > 0 === reversed ? undefined : range;
  }
  // Derived parts are not in logical bytes: read the range from its start.
  if (!isPlainBehind) return range;
  const bound = concatBytes(lead.bytes, logical.subarray(lead.logical.length));
  if (!reversed) return from(range, bound);
  const end = prefixEnd(bound);
  return end === undefined ? range : before(range, end);
}

function from(range: KeyRange, start: Uint8Array): KeyRange {
  return compareBytes(start, range.start) > 0 ? { start, stop: range.stop } : range;
}

function before(range: KeyRange, stop: Uint8Array): KeyRange {
  return range.stop === undefined || compareBytes(stop, range.stop) < 0
    ? { start: range.start, stop }
    : range;
}

/** Logical key order of merged ranges: the key without its salt, then the salt. */
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

/** A scan of a range, forward or reversed. */
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
