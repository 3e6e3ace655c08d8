/** Runs a plan: whole keys, one range after the other, or a merge; and the limit. The only thing that reads many rows. */

import { throwIfAborted } from '../errors.js';
import type { TableAccess } from './access.js';
import { GetsCursor } from './gets-cursor.js';
import { LimitedCursor } from './limited-cursor.js';
import { MergeCursor } from './merge-cursor.js';
import { openRange } from './open-range.js';
import type { RangeSource } from './range-source.js';
import type { OpenRange } from './range-to-open.js';
import { type Position, rangesFrom } from './ranges.js';
import { comparePlaced, type PlanPart, type ReadPlan } from './read-plan.js';
import type { ReadOptions, RowCursor } from './row-cursor.js';
import { SequenceCursor } from './sequence-cursor.js';

/** Ranges asked at the same time when a merge begins. */
export const DEFAULT_CONCURRENCY = 16;

/** Rows that each range of a merge is first asked for, at least. */
const LEAST_FIRST_FETCH = 16;

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
    // How many entries make how many rows is known when they are read.
    const reading = { ...options, limit: undefined };
    return through.follow(openPlan(plan, through.entries, reading, position), access, options);
  }
  return openPlan(plan, access, options, position);
}

/** The rows of every range; no more than the limit. */
function openPlan(
  plan: ReadPlan,
  access: TableAccess,
  options: ReadOptions,
  position: Position | undefined,
): RowCursor {
  const [part] = plan.parts;
  let cursor: RowCursor;
  let bounded: boolean;
  if (position === undefined && plan.parts.length === 1 && part!.ranges.length === 1) {
    // The commonest: nothing is cut, turned or merged.
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
  const limitOf = (part: PlanPart, left = options.limit): number | undefined =>
    part.classify === undefined && position === undefined ? left : undefined;
  if (plan.order === 'merge') {
    const isBehind = behind(plan, position);
    // Fewer would only be asked again; more would be for nothing where others come first.
    const share = Math.max(LEAST_FIRST_FETCH, Math.ceil((2 * options.expected) / ranges.length));
    const sharing = { ...options, expected: Math.min(share, options.expected) };
    const open = ranges.map(
      ({ part, range }) =>
        () =>
          openRange(access, plan, part, range, limitOf(part), sharing, isBehind),
    );
    return new MergeCursor(plan, open, options.concurrency);
  }
  const { part, range } = ranges[0]!;
  const limit = part.classify === undefined ? options.limit : undefined;
  if (ranges.length === 1) return openRange(access, plan, part, range, limit, options);
  if (access.sync === undefined && ranges.every((one) => one.part.points)) {
    return new GetsCursor(plan, ranges, access, options);
  }
  return new SequenceCursor(
    ranges,
    (one, left) =>
      openRange(
        access,
        plan,
        one.part,
        one.range,
        one.part.classify === undefined ? left : undefined,
        options,
      ),
    options.limit,
  );
}

/** Whether a source's row comes behind the position in reading order. */
function behind(plan: ReadPlan, position: Position | undefined): (source: RangeSource) => boolean {
  if (position === undefined) return () => true;
  return (source) => {
    const order = comparePlaced(plan, source, position);
    return plan.reversed ? order < 0 : order > 0;
  };
}

/** What is left behind the position. Parts that nothing merges follow each other. */
function rangesOf(plan: ReadPlan, position: Position | undefined): OpenRange[] {
  const parts = plan.reversed ? [...plan.parts].reverse() : plan.parts;
  const ranges: OpenRange[] = [];
  // Without an order the position stands in one part; those before it are done.
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
