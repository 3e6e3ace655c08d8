/** Runs plans: whole keys, ranges in sequence, or a merge; with the limit. Every reading of several rows goes through here. */

import { compareBytes, EMPTY_BYTES } from '../bytes/index.js';
import { throwIfAborted } from '../errors.js';
import { type ReadView, Scan, type SyncTable } from '../table/index.js';
import type { TableAccess } from './access.js';
import { GetsCursor, openRange } from './open-range.js';
import { LimitedCursor, MergeCursor, SequenceCursor } from './range-cursors.js';
import type { OpenRange, RangeSource } from './range-source.js';
import {
  comparePlaced,
  type PlanPart,
  type Position,
  pointsFrom,
  type ReadPlan,
  rangesFrom,
} from './read-plan.js';
import type { ReadOptions, RowCursor } from './row.js';
import { scanInThreads, ThreadsSource } from './threads-source.js';

/** Default number of ranges read concurrently when a merge begins. */
export const DEFAULT_CONCURRENCY = 16;

/** The fewest rows that each range of a merge fetches first. */
const MIN_FIRST_FETCH = 16;

/** Starts a plan. Nothing is read before the first `advance`. */
export function runPlan(
  plan: ReadPlan,
  access: TableAccess,
  options: ReadOptions,
  position: Position | undefined,
): RowCursor {
  throwIfAborted(options.signal);
  if (options.limit === 0) return NOTHING;
  const { through } = plan;
  if (through !== undefined) {
    // How many entries give how many rows is known only when they are read.
    const moments = { count: 0 };
    const reading = { ...options, limit: undefined, moments, threads: 1 };
    const entries = openPlan(plan, through.entries, reading, position);
    return through.follow(entries, access, options, moments, position);
  }
  return openPlan(plan, access, options, position);
}

/** The rows of all ranges, up to the limit. */
function openPlan(
  plan: ReadPlan,
  access: TableAccess,
  options: ReadOptions,
  position: Position | undefined,
): RowCursor {
  const scanner = position === undefined ? scanInThreads(plan, access, options) : undefined;
  if (scanner !== undefined) return new ThreadsSource(scanner, plan, plan.parts[0]!, options);
  const [part] = plan.parts;
  let cursor: RowCursor;
  let bounded: boolean;
  if (position === undefined && plan.parts.length === 1 && part!.ranges.length === 1) {
    // The most common case: nothing is filtered here, reversed or merged.
    bounded = part!.classify === undefined;
    cursor = openRange(access, plan, part!, part!.ranges[0]!, bounded ? options.limit : undefined, options);
  } else {
    const ranges = rangesOf(plan, position);
    bounded = ranges.length === 1 && ranges[0]!.part.classify === undefined;
    cursor = openRanges(plan, access, options, position, ranges);
  }
  return bounded || options.limit === undefined ? cursor : new LimitedCursor(cursor, options.limit);
}

function openRanges(
  plan: ReadPlan,
  access: TableAccess,
  options: ReadOptions,
  position: Position | undefined,
  ranges: readonly OpenRange[],
): RowCursor {
  if (ranges.length === 0) return NOTHING;
  const limitOf = (part: PlanPart): number | undefined =>
    part.classify === undefined && position === undefined ? options.limit : undefined;
  if (plan.order === 'merge' && !hasPointsOnly(plan)) {
    const isAfter = isAfterPosition(plan, position);
    // Fewer would soon be fetched again; more would be wasted where other ranges come first.
    const share = Math.max(MIN_FIRST_FETCH, Math.ceil((2 * options.expected) / ranges.length));
    const sharing = { ...options, expected: Math.min(share, options.expected) };
    const open = ranges.map(
      ({ part, range }) =>
        () =>
          openRange(access, plan, part, range, limitOf(part), sharing, isAfter),
    );
    return new MergeCursor(plan, open, options.concurrency);
  }
  const { part, range } = ranges[0]!;
  const limit = part.classify === undefined ? options.limit : undefined;
  if (ranges.length === 1) return openRange(access, plan, part, range, limit, options);
  if (access.sync === undefined && ranges.every((one) => one.part.points)) {
    return new GetsCursor(plan, ranges, access, options);
  }
  // Keys of rows are fixed, but entries of an index may move from range to range.
  const viewOf = plan.through && viewedBy(access.sync, ranges);
  const reading = viewOf === undefined ? options : { ...options, moments: undefined };
  if (viewOf !== undefined && options.moments !== undefined) options.moments.count++;
  return new SequenceCursor(
    ranges,
    (one, left, view) =>
      openRange(
        access,
        plan,
        one.part,
        one.range,
        one.part.classify === undefined ? left : undefined,
        reading,
        undefined,
        view,
      ),
    options.limit,
    viewOf,
  );
}

/** A view of everything between the ranges. Undefined where the table has none. */
function viewedBy(table: SyncTable | undefined, ranges: readonly OpenRange[]): (() => ReadView) | undefined {
  if (table?.readView === undefined) return undefined;
  let first = ranges[0]!.range;
  let last = first;
  for (const { range } of ranges) {
    if (compareBytes(range.start, first.start) < 0) first = range;
    if (compareBytes(range.start, last.start) > 0) last = range;
  }
  const { start } = first;
  const stop = last.stop ?? EMPTY_BYTES;
  return () => table.readView!(new Scan().withStartRow(start).withStopRow(stop));
}

/** Whether a row is after the position, in reading order. */
function isAfterPosition(plan: ReadPlan, position: Position | undefined): (source: RangeSource) => boolean {
  if (position === undefined) return () => true;
  return (source) => {
    const order = comparePlaced(plan, source, position);
    return plan.reversed ? order < 0 : order > 0;
  };
}

/** Whether the keys of all rows are known. */
function hasPointsOnly({ parts }: ReadPlan): boolean {
  return parts.length === 1 && parts[0]!.points;
}

/** The ranges after the position. Parts that are not merged follow one another. */
function rangesOf(plan: ReadPlan, position: Position | undefined): OpenRange[] {
  if (hasPointsOnly(plan) && plan.order === 'merge') {
    const part = plan.parts[0]!;
    return pointsFrom(plan, part, position).map((range) => ({ part, range }));
  }
  const parts = plan.reversed ? [...plan.parts].reverse() : plan.parts;
  const ranges: OpenRange[] = [];
  // Without an order the position is in one part, and those before it are done.
  let done = position !== undefined && plan.order === 'none' && parts.length > 1;
  for (const part of parts) {
    if (done && !part.entities.includes(position!.entity)) continue;
    const left = rangesFrom(
      part,
      plan.order,
      plan.reversed,
      plan.order === 'none' && parts.length > 1 && !done ? undefined : position,
    );
    done = false;
    for (const range of left) ranges.push({ part, range });
  }
  return ranges;
}

const NOTHING: RowCursor = {
  row: undefined,
  entity: 0,
  advance: () => false,
  close: () => undefined,
};
