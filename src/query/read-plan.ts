import {
  compareBytes,
  concatBytes,
  EMPTY_BYTES,
  keyAfter,
  prefixEnd,
  startsWithBytes,
} from '../bytes/index.js';
import type { KeyLayout, KeyLead, KeyPlan, KeyRange } from '../key/types.js';
import { type Filter, type Query, Scan, type TimeRange } from '../table/index.js';
import type { TableAccess } from './access.js';
import { applyReadSet, type ReadSet } from './projection.js';
import type { Moments, ReadHints, ReadOptions, Row, RowCursor, RowSource } from './row.js';

/** Ranges that are read in the same way. */
export interface PlanPart {
  readonly ranges: readonly KeyRange[];
  /** For a merge, the prefixes of the keys in each range. */
  readonly leads: readonly KeyLead[];
  /** Whether nothing derived follows the prefixes, so that a position is a byte string after them. */
  readonly isPlainBehind: boolean;
  /** Whether each range is one key. */
  readonly points: boolean;
  readonly read: ReadSet;
  /** The engine's filter. Undefined when there is none. */
  readonly filter: Filter | undefined;
  /** The entity of the rows, as an index into `layouts`. */
  readonly entity: number;
  /** All entities that rows may belong to. */
  readonly entities: readonly number[];
  /** The entity of each row, if it varies: an index into `layouts`, or -1 for rows that are skipped. */
  readonly classify: ((row: Row) => number) | undefined;
  /**
   * Whether a row holds only what changes of a missing row leave for a while on a server: it is no entity, and takes no place within a limit.
   * Undefined where there is no such row.
   */
  readonly isLeftover: ((row: Row) => boolean) | undefined;
}

/** A plan that is ready to run: ranges, columns, the order of rows, and their entities. */
export interface ReadPlan {
  readonly parts: readonly PlanPart[];
  /** The key layout of each entity. */
  readonly layouts: readonly KeyLayout[];
  readonly order: KeyPlan['order'];
  readonly mergeOffset: number | undefined;
  readonly reversed: boolean;
  readonly timeRange: TimeRange | undefined;
  /** Set where the rows read are index entries: their table, and how rows are read by them. */
  readonly through?: {
    readonly entries: TableAccess;
    readonly follow: (
      entries: RowCursor,
      rows: TableAccess,
      options: ReadOptions,
      moments: Moments,
      position: Position | undefined,
    ) => RowCursor;
  };
}

/** Applies columns and options to a get or scan. */
export function prepareQuery(query: Query, part: PlanPart, plan: ReadPlan, hints: ReadHints): void {
  applyReadSet(query, part.read);
  if (part.filter !== undefined) query.setFilter(part.filter);
  if (plan.timeRange !== undefined) query.setTimeRange(plan.timeRange.min, plan.timeRange.max);
  applyHints(query, hints);
}

export function applyHints(query: Query, { consistency, cacheBlocks }: ReadHints): void {
  if (consistency !== undefined) query.setConsistency(consistency);
  if (cacheBlocks !== undefined) query.setCacheBlocks(cacheBlocks);
}

export function applyScanHints(scan: Scan, { caching }: ReadHints): void {
  if (caching !== undefined) scan.setCaching(caching);
}

/** A row in a merge. */
export interface PlacedRow {
  readonly key: Uint8Array;
  /** `KeyLayout.logicalBytes` of the key. */
  readonly logical: Uint8Array;
}

/** The order of a forward merge: logical key order, then bytes. */
export function comparePlaced(plan: ReadPlan, a: PlacedRow, b: PlacedRow): number {
  if (plan.mergeOffset !== undefined) return compareMerged(a.key, b.key, plan.mergeOffset);
  return compareBytes(a.logical, b.logical) || compareBytes(a.key, b.key);
}

/** The number of ranges. */
export function countRanges(plan: ReadPlan): number {
  return plan.parts.reduce((sum, part) => sum + part.ranges.length, 0);
}

// — The byte ranges of a plan in reading order, and their rest after a position.

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

/** The keys of a part that has only such, after `position`, in the order of a merge of them: none has to be read for it. */
export function pointsFrom(
  plan: ReadPlan,
  { ranges, leads }: RangesToRead,
  position: Position | undefined,
): readonly KeyRange[] {
  const placed = ranges.map((range, i) => ({ range, key: range.start, logical: leads[i]!.logical }));
  const sign = plan.reversed ? -1 : 1;
  return placed
    .filter((point) => position === undefined || sign * comparePlaced(plan, point, position) > 0)
    .sort((a, b) => sign * comparePlaced(plan, a, b))
    .map(({ range }) => range);
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
function compareMerged(a: Uint8Array, b: Uint8Array, offset: number): number {
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

/** The rows of a plan of one part, as a source of jobs. */
export function rowSourceOf<T>(
  plan: ReadPlan,
  loaders: readonly { load(row: Row): object | null | Promise<object | null> }[],
  names: Pick<RowSource<T>, 'signature' | 'table'>,
): RowSource<T> {
  const part = plan.parts[0]!;
  const loader = loaders[part.entity]!;
  const load = (row: Row): T | null | Promise<T | null> =>
    part.classify !== undefined && part.classify(row) < 0
      ? null
      : (loader.load(row) as T | null | Promise<T | null>);
  return {
    ...names,
    ranges: part.ranges.map(({ start, stop }) => ({
      start,
      stop: part.points ? keyAfter(start) : (stop ?? EMPTY_BYTES),
    })),
    scan: () => {
      const scan = new Scan().setCacheBlocks(false);
      prepareQuery(scan, part, plan, {});
      return scan;
    },
    load,
    loadRaw: load,
  };
}
