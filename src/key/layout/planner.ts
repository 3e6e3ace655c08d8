/**
 * Conditions -> byte ranges. Each combination of `in` values is walked through the layout by itself; here the ranges
 * are put together, and it is decided how their rows come in the order of the key's parts.
 */

import { compareBytes, EMPTY_BYTES, equalBytes, startsWithBytes } from '../../bytes/index.js';
import { comparators, type Filter, filters } from '../../table/index.js';
import type { KeyConditions, KeyPlan } from '../types.js';
import { rowCheck } from './check.js';
import { combinations, MAX_RANGES, type OrderedConditions, orderConditions, tooMany } from './conditions.js';
import { planDirectly, planEquality } from './direct-plan.js';
import type { SteppedLayout } from './stepped-layout.js';
import { type LedRange, Walk } from './walk.js';

/** @throws KeyError as `KeyLayout.plan`. */
export function planKeys(layout: SteppedLayout, conditions: KeyConditions): KeyPlan {
  const equal = layout.direct && planEquality(layout.direct, conditions);
  if (equal !== undefined) return equal;
  const asked = orderConditions(layout.parts, conditions);
  const plan = layout.direct && planDirectly(layout.direct, asked);
  if (plan !== undefined) return plan;
  const walks = combinations(asked.fixed).map((values) => new Walk(layout, values, asked.span));
  const ranges = distinct(walks.flatMap((walk) => walk.ranges()));
  if (ranges.length > MAX_RANGES) throw tooMany(layout.parts[0]!.name);
  const exact = walks.every((walk) => walk.exact);
  const order = orderOf(layout, asked, walks, ranges);
  return Object.freeze({
    kind: kindOf(walks, ranges),
    ranges: Object.freeze(ranges),
    order,
    leads: Object.freeze(ranges.map(({ lead }) => lead)),
    isPlainBehind: walks.every((walk) => isPlainFrom(layout, walk.stopIndex)),
    beforeType: beforeType(layout, walks, ranges),
    mergeOffset: order === 'merge' ? mergeOffset(walks, ranges) : 0,
    fanOut: walks[0]?.fanOut ?? 1,
    residual: exact ? undefined : residualOf(layout, walks),
    check: exact ? undefined : rowCheck(layout, asked),
    inexactParts: Object.freeze(inexactParts(layout, asked)),
  });
}

function kindOf(walks: readonly Walk[], ranges: readonly LedRange[]): KeyPlan['kind'] {
  if (walks.length > 0 && walks.every((walk) => walk.isWhole))
    return ranges.length === 1 ? 'point' : 'points';
  if (walks.length > 0 && walks.every((walk) => !walk.narrowed)) return 'full';
  return ranges.length === 1 ? 'range' : 'ranges';
}

/** What stands before the record type, where each of the plan's ranges has a lead of its own there. */
function beforeType(
  layout: SteppedLayout,
  walks: readonly Walk[],
  ranges: readonly LedRange[],
): KeyPlan['beforeType'] {
  const index = layout.steps.findIndex((step) => step.isRecordType);
  const length = walks[0]?.typeOffset;
  if (index < 0 || length === undefined || walks.some((walk) => walk.typeOffset !== length)) return undefined;
  const leads = ranges.map(({ lead }) => lead.beforeType!);
  const apart = leads.every(
    (lead, i) => lead.bytes.length > 0 && (i === 0 || !equalBytes(lead.bytes, leads[i - 1]!.bytes)),
  );
  if (!apart) return undefined;
  return {
    path: layout.steps
      .slice(0, index)
      .map((step) => step.signature)
      .join(' '),
    leads,
    isPlainBehind: isPlainFrom(layout, index),
  };
}

function isPlainFrom(layout: SteppedLayout, index: number): boolean {
  return layout.steps.slice(index).every((step) => !step.derived);
}

/** In byte order, without repetitions. */
function distinct(ranges: readonly LedRange[]): LedRange[] {
  const sorted = [...ranges].sort((a, b) => compareBytes(a.start, b.start));
  return sorted.filter((range, i) => i === 0 || !equalBytes(range.start, sorted[i - 1]!.start));
}

function orderOf(
  layout: SteppedLayout,
  asked: OrderedConditions,
  walks: readonly Walk[],
  ranges: readonly LedRange[],
): KeyPlan['order'] {
  if (walks.some((walk) => !walk.ordered)) return 'none';
  if (ranges.length < 2) return 'sequence';
  if (variesUnordered(layout, asked)) return 'none';
  return isSequence(ranges) ? 'sequence' : 'merge';
}

/** Whether an `in` list goes over a part whose bytes are not in the order of its values. */
function variesUnordered(layout: SteppedLayout, { fixed }: OrderedConditions): boolean {
  return layout.steps.some(
    (step) => !step.derived && !step.ordered && step.names.some((name) => (fixed.get(name)?.length ?? 0) > 1),
  );
}

/** Whether ranges in byte order are in the order of parts: each holds rows that stand before those of the next. */
function isSequence(ranges: readonly LedRange[]): boolean {
  for (let i = 1; i < ranges.length; i++) {
    const a = ranges[i - 1]!.lead;
    const b = ranges[i]!.lead;
    if (a === b) continue;
    const order = compareBytes(a.logical, b.logical);
    const apart = order < 0 && !startsWithBytes(b.logical, a.logical);
    if (!apart && !(order === 0 && a.serial > 0 && a.serial < b.serial)) return false;
  }
  return true;
}

/** From which byte on the rows of all ranges compare in the order of parts; undefined when there is no such byte. */
function mergeOffset(walks: readonly Walk[], ranges: readonly LedRange[]): number | undefined {
  const offset = walks[0]!.derivedEnd;
  if (walks.some((walk) => walk.derivedEnd !== offset)) return undefined;
  let before: Uint8Array | undefined;
  for (const { lead } of ranges) {
    const behind = lead.bytes.length - offset;
    const logical = lead.logical.subarray(0, Math.max(lead.logical.length - behind, 0));
    before ??= logical;
    if (!equalBytes(before, logical)) return undefined;
  }
  return before === undefined ? 0 : offset;
}

/** Parts that the key keeps only as a digest or a bucket, and whose condition that does not decide. */
function inexactParts(layout: SteppedLayout, { fixed, span }: OrderedConditions): string[] {
  const parts = layout.parts.filter(
    ({ name, recoverable }) => !recoverable && (fixed.has(name) || span?.name === name),
  );
  return parts
    .map(({ name }) => name)
    .filter(
      (name) =>
        span?.name !== name ||
        !layout.steps.some(
          (step) => !step.derived && step.names.includes(name) && step.decides(span.condition),
        ),
    );
}

/** Constants behind the ranges' leads that stand at a fixed place: a filter can hold rows to them. */
function residualOf(layout: SteppedLayout, walks: readonly Walk[]): Filter | undefined {
  const from = Math.min(...walks.map((walk) => walk.stopIndex));
  const found: Filter[] = [];
  let offset = 0;
  for (const [index, { constant, width }] of layout.steps.entries()) {
    if (constant !== undefined && index >= from) {
      found.push(filters.row('EQUAL', comparators.binaryComponent(constant, offset)));
    }
    if (width === undefined) break;
    offset += width;
  }
  return found.length > 1 ? filters.all(...found) : found[0];
}

/** A row without what is derived from other parts: such bytes compare in the order of the key's parts. */
export function logicalBytes(layout: SteppedLayout, row: Uint8Array): Uint8Array {
  if (layout.steps.every((step) => !step.derived)) return row;
  const bytes = new Uint8Array(row.length);
  let length = 0;
  let at = 0;
  for (const step of layout.steps) {
    const end = step.skip(row, at);
    if (end < 0) return EMPTY_BYTES;
    if (!step.derived) {
      bytes.set(row.subarray(at, end), length);
      length += end - at;
    }
    at = end;
  }
  return bytes.subarray(0, length);
}
