import { concatBytes, EMPTY_BYTES, keyAfter } from '../../bytes/index.js';
import { KeyWriter } from '../codecs/index.js';
import type { KeyConditions, KeyLayout, KeyPlan } from '../types.js';
import type { OrderedConditions } from './conditions.js';
import { absoluteRange, EVERYTHING, fieldRanges, type KeyField } from './ranges.js';
import type { Step } from './step.js';

/**
 * A fast path for the most common plans: equality on leading parts, then at most one range, on keys whose parts are
 * ordered and held whole. It gives the same result as the walk in `planner.ts`.
 */

/** Scratch buffer; its content is copied out before the next use. */
const out = new KeyWriter();
const NONE: readonly string[] = Object.freeze([]);

/**
 * The parts of a layout for which plans can be made directly, and the constant bytes before them; undefined for other
 * layouts.
 */
export interface DirectLayout {
  readonly lead: Uint8Array;
  readonly fields: readonly KeyField[];
}

export function directLayout(steps: readonly Step[]): DirectLayout | undefined {
  const fields: KeyField[] = [];
  let lead: Uint8Array = EMPTY_BYTES;
  for (const step of steps) {
    const { field } = step;
    if (field?.codec.ordered) fields.push(field);
    else if (step.constant !== undefined && fields.length === 0) lead = concatBytes(lead, step.constant);
    else return undefined;
  }
  return { lead, fields };
}

/**
 * The plan of equality on some leading parts, but not on all; undefined for other or invalid conditions.
 * @throws KeyError on values that the codecs refuse.
 */
export function planEquality(layout: DirectLayout, conditions: KeyConditions): KeyPlan | undefined {
  if (countOf(conditions) >= layout.fields.length) return undefined;
  const prefix = equalPrefix(layout, conditions);
  return prefix && planOf(prefix, 'range', [absoluteRange(prefix, EVERYTHING)!]);
}

function countOf(conditions: KeyConditions): number {
  let count = 0;
  for (const _ in conditions) count++;
  return count;
}

/**
 * The bytes of equality on leading parts; on all parts, the row key. Undefined for other or invalid conditions. @throws
 * KeyError on values that the codecs refuse.
 */
export function equalPrefix(
  { lead, fields }: DirectLayout,
  conditions: KeyConditions,
): Uint8Array | undefined {
  const left = countOf(conditions);
  if (left === 0 || left > fields.length) return undefined;
  out.length = 0;
  out.append(lead);
  for (let i = 0; i < left; i++) {
    const field = fields[i]!;
    const condition = conditions[field.name];
    if (condition?.kind !== 'eq' || condition.value === undefined || condition.value === null)
      return undefined;
    field.write(condition.value, out);
  }
  return out.copy();
}

/** The plan; undefined if the conditions (an `in` list, or one other than a range) need the walk. @throws KeyError. */
export function planDirectly(
  { lead, fields }: DirectLayout,
  { fixed, span }: OrderedConditions,
): KeyPlan | undefined {
  if (span !== undefined && span.condition.kind !== 'range') return undefined;
  out.length = 0;
  out.append(lead);
  let count = 0;
  for (const values of fixed.values()) {
    if (values.length !== 1) return undefined;
    fields[count++]!.write(values[0], out);
  }
  const prefix = out.copy();
  if (count === fields.length && prefix.length === 0) return planOf(prefix, 'points', []);
  if (count === fields.length) return planOf(prefix, 'point', [{ start: prefix, stop: keyAfter(prefix) }]);
  const behind = span === undefined ? EVERYTHING : fieldRanges(fields[count]!, span.condition).ranges[0]!;
  const range = absoluteRange(prefix, behind);
  if (range === undefined) return planOf(prefix, 'ranges', []);
  return planOf(prefix, prefix.length === 0 && span === undefined ? 'full' : 'range', [range]);
}

function planOf(lead: Uint8Array, kind: KeyPlan['kind'], ranges: KeyPlan['ranges']): KeyPlan {
  return Object.freeze({
    kind,
    ranges: Object.freeze(ranges),
    order: 'sequence',
    leads: ranges.map(() => ({ bytes: lead, logical: lead })),
    isPlainBehind: true,
    beforeType: undefined,
    mergeOffset: 0,
    fanOut: 1,
    residual: undefined,
    check: undefined,
    inexactParts: NONE,
  });
}

/** A layout with its steps, for planning and row checks. */
export interface SteppedLayout extends KeyLayout {
  readonly steps: readonly Step[];
  /** How plans are made without a walk; undefined if they cannot be. */
  readonly direct: DirectLayout | undefined;
  /** Whether ranges may hold rows of other layouts, though the record type stands before them. */
  readonly checksRows: boolean;
}
