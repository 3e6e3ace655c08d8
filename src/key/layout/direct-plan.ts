import { concatBytes, EMPTY_BYTES, keyAfter } from '../../bytes/index.js';
import { KeyWriter } from '../codecs/index.js';
import type { KeyConditions, KeyLayout, KeyPlan } from '../types.js';
import type { OrderedConditions } from './conditions.js';
import { absoluteRange, EVERYTHING, fieldRanges, type KeyField } from './ranges.js';
import type { Step } from './step.js';

/**
 * The short way to the commonest plans: equality on leading parts, then at most one range, on keys of ordered parts that
 * stand in the key whole. It gives what walking through the layout gives, without the walk.
 */

/** What is written into it is copied before anything else is written. */
const out = new KeyWriter();
const NONE: readonly string[] = Object.freeze([]);

/** The fields of a layout that plans can be made for directly, and the bytes before them; undefined for another. */
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
 * The plan of equality on leading parts alone, but not on all; undefined for other conditions, and for such as are none.
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
 * The bytes of equality on leading parts, on all of them those of the row; undefined for other conditions, and for such as
 * are none. @throws KeyError on values that the codecs refuse.
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

/** The plan; undefined when an `in` list or another condition than a range takes the walk. @throws KeyError. */
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

/** A layout whose steps can be walked: what planning and checking need of it. */
export interface SteppedLayout extends KeyLayout {
  readonly steps: readonly Step[];
  /** How plans are made without a walk, where they can be. */
  readonly direct: DirectLayout | undefined;
}
