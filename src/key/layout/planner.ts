/**
 * Conditions -> byte ranges. Each combination of `in` values is walked through the layout by itself; here the ranges
 * are put together, and it is decided how their rows come in the order of the key's parts.
 */

import { compareBytes, equalBytes } from '../../bytes/index.js';
import { comparators, type Filter, filters } from '../../table/index.js';
import type { KeyConditions, KeyPlan, KeyRange } from '../types.js';
import { rowCheck } from './check.js';
import { combinations, MAX_RANGES, type OrderedConditions, orderConditions, tooMany } from './conditions.js';
import { ConstStep, TimeBucketStep } from './derived-steps.js';
import { planDirectly } from './direct-plan.js';
import { FieldStep } from './field-step.js';
import type { CompiledLayout } from './layout.js';
import { namesOf, Walk } from './walk.js';

/** @throws KeyError as `KeyLayout.plan`. */
export function planKeys(layout: CompiledLayout, conditions: KeyConditions): KeyPlan {
  const asked = orderConditions(layout.parts, conditions);
  const plan = layout.direct && planDirectly(layout.direct, asked);
  if (plan !== undefined) return plan;
  const walks = combinations(asked.fixed).map((values) => new Walk(layout, values, asked.span));
  const ranges = distinct(walks.flatMap((walk) => walk.ranges()));
  if (ranges.length > MAX_RANGES) throw tooMany(layout.parts[0]!.name);
  const exact = walks.every((walk) => walk.exact);
  return Object.freeze({
    kind: kindOf(walks, ranges),
    ranges: Object.freeze(ranges),
    ...orderOf(layout, asked, walks, ranges),
    fanOut: walks[0]?.fanOut ?? 1,
    residual: exact ? undefined : residualOf(layout, walks),
    check: exact ? undefined : rowCheck(layout, asked),
    inexactParts: Object.freeze([...new Set(walks.flatMap((walk) => walk.inexactParts))]),
  });
}

function kindOf(walks: readonly Walk[], ranges: readonly KeyRange[]): KeyPlan['kind'] {
  if (walks.length > 0 && walks.every((walk) => walk.stopped === undefined)) {
    return ranges.length === 1 ? 'point' : 'points';
  }
  if (walks.length > 0 && walks.every((walk) => !walk.narrowed)) return 'full';
  return ranges.length === 1 ? 'range' : 'ranges';
}

/** In byte order, without repetitions. */
function distinct(ranges: readonly KeyRange[]): KeyRange[] {
  const sorted = [...ranges].sort((a, b) => compareBytes(a.start, b.start));
  return sorted.filter((range, i) => i === 0 || !equalBytes(range.start, sorted[i - 1]!.start));
}

interface Order {
  readonly order: KeyPlan['order'];
  readonly mergeOffset: number;
}

const SEQUENCE: Order = { order: 'sequence', mergeOffset: 0 };
const NONE: Order = { order: 'none', mergeOffset: 0 };

function orderOf(
  layout: CompiledLayout,
  asked: OrderedConditions,
  walks: readonly Walk[],
  ranges: readonly KeyRange[],
): Order {
  const first = walks[0];
  if (first === undefined) return SEQUENCE;
  if (walks.some((walk) => !walk.ordered)) return NONE;
  if (ranges.length < 2) return SEQUENCE;
  const varying = layout.steps.findIndex((step) => isVarying(asked, namesOf(step)) && !step.derived);
  if (varying < 0) {
    if (first.fanOut === 1 && (first.timeBuckets === 1 || isSameDirection(layout, asked))) return SEQUENCE;
    return mergeFrom(first.derived.at(-1)?.end ?? 0, ranges);
  }
  const step = layout.steps[varying]!;
  if (!(step instanceof FieldStep && step.codec.ordered) || variesUnordered(layout, asked)) return NONE;
  if (first.derived.some(({ index }) => index > varying)) {
    const lists = [...asked.fixed.values()].filter((values) => values.length > 1).length;
    const single = walks.every((walk) => walk.fanOut === 1 && walk.timeBuckets === 1);
    if (lists > 1 || !single) return NONE;
  }
  return mergeFrom(first.derived.filter(({ index }) => index < varying).at(-1)?.end ?? 0, ranges);
}

/** Merging at `offset`, but for ranges that share the bytes before it: those come in order by themselves. */
function mergeFrom(offset: number, ranges: readonly KeyRange[]): Order {
  const lead = ranges[0]!.start.subarray(0, offset);
  const same = ranges.every(({ start }) => equalBytes(start.subarray(0, offset), lead));
  return offset === 0 || same ? SEQUENCE : { order: 'merge', mergeOffset: offset };
}

function isVarying(asked: OrderedConditions, names: readonly string[]): boolean {
  return names.some((name) => (asked.fixed.get(name)?.length ?? 0) > 1);
}

/** Whether an `in` list goes over a part whose bytes are not in the order of its values. */
function variesUnordered(layout: CompiledLayout, asked: OrderedConditions): boolean {
  return layout.steps.some(
    (step) =>
      isVarying(asked, namesOf(step)) && !step.derived && !(step instanceof FieldStep && step.codec.ordered),
  );
}

/** Whether the buckets of time rise and fall with the times themselves. */
function isSameDirection(layout: CompiledLayout, asked: OrderedConditions): boolean {
  const name = asked.span?.name;
  const bucket = layout.steps.find((step) => step instanceof TimeBucketStep && step.name === name);
  const field = layout.steps.find((step) => step instanceof FieldStep && step.name === name);
  return (bucket as TimeBucketStep | undefined)?.inverted === (field as FieldStep | undefined)?.reversed;
}

/** Constants behind the ranges' prefixes that stand at a fixed place: a filter can hold rows to them. */
function residualOf(layout: CompiledLayout, walks: readonly Walk[]): Filter | undefined {
  const from = Math.min(...walks.map((walk) => walk.stopIndex));
  const found: Filter[] = [];
  let offset = 0;
  for (const [index, step] of layout.steps.entries()) {
    if (step instanceof ConstStep && index >= from) {
      found.push(filters.row('EQUAL', comparators.binaryComponent(step.bytes, offset)));
    }
    if (step.width === undefined) break;
    offset += step.width;
  }
  return found.length > 1 ? filters.all(...found) : found[0];
}
