/** Conditions on key parts: their order checked, `in` lists multiplied out, and how a decoded row is held to them. */

import { compareBytes, startsWithBytes } from '../../bytes/index.js';
import { KeyError } from '../../errors.js';
import { baseCodec } from '../codecs/desc.js';
import type { BaseCodec } from '../codecs/index.js';
import type { KeyConditions, KeyPart, PartCondition } from '../types.js';
import { partError, requirePresent } from './part-values.js';

/** A condition that is neither equality nor `in`. */
export type SpanCondition = Extract<PartCondition, { kind: 'range' | 'startsWith' | 'endsWith' }>;

/** Conditions in the order of parts. */
export interface OrderedConditions {
  /** Values of the leading parts with equality (one) or `in` (any number), in the order of parts. */
  readonly fixed: ReadonlyMap<string, readonly unknown[]>;
  /** The one part behind them with a range, if any. */
  readonly span: { readonly name: string; readonly condition: SpanCondition } | undefined;
}

/** How many single ranges a plan may have. */
export const MAX_RANGES = 65536;

/** @throws KeyError on an unknown part, a hole, a part after a range, a missing value, too long lists. */
export function orderConditions(parts: readonly KeyPart[], conditions: KeyConditions): OrderedConditions {
  const names = parts.map(({ name }) => name);
  for (const name of Object.keys(conditions)) {
    if (!names.includes(name)) {
      throw queryError(
        name,
        `is no part of the row key. Its parts are ${names.join(', ')}; use where() for other columns`,
      );
    }
  }
  const fixed = new Map<string, readonly unknown[]>();
  let span: OrderedConditions['span'];
  let missing: string | undefined;
  for (const { name } of parts) {
    const condition = conditions[name];
    if (condition === undefined) {
      missing ??= name;
      continue;
    }
    if (missing !== undefined) {
      throw queryError(
        name,
        `cannot be searched without "${missing}", which stands before it in the row key`,
      );
    }
    if (span !== undefined) {
      throw queryError(
        name,
        `stands after a range on "${span.name}": only the last part of a prefix may be a range`,
      );
    }
    if (condition.kind === 'eq') fixed.set(name, [requirePresent(name, condition.value)]);
    else if (condition.kind === 'in')
      fixed.set(
        name,
        condition.values.map((value) => requirePresent(name, value)),
      );
    else span = checkSpan(name, condition);
    if (span === undefined && !fixed.has(name)) missing ??= name;
  }
  return { fixed, span };
}

/** The span, or undefined when it asks for nothing. */
function checkSpan(name: string, condition: SpanCondition): OrderedConditions['span'] {
  if (condition.kind !== 'range') {
    const value = requirePresent(name, condition.value);
    return value === '' || (value instanceof Uint8Array && value.length === 0)
      ? undefined
      : { name, condition };
  }
  const { lower, upper } = condition;
  if (lower !== undefined) requirePresent(name, lower.value);
  if (upper !== undefined) requirePresent(name, upper.value);
  return lower === undefined && upper === undefined ? undefined : { name, condition };
}

/** Every combination of the fixed values. @throws KeyError when they are more than a plan may have. */
export function combinations(fixed: OrderedConditions['fixed']): Record<string, unknown>[] {
  let combos: Record<string, unknown>[] = [{}];
  for (const [name, values] of fixed) {
    if (values.length === 1) {
      for (const combo of combos) combo[name] = values[0];
      continue;
    }
    if (combos.length * values.length > MAX_RANGES) throw tooMany(name);
    combos = combos.flatMap((combo) => values.map((value) => ({ ...combo, [name]: value })));
  }
  return combos;
}

export function tooMany(name: string): KeyError {
  return queryError(name, `makes more than ${MAX_RANGES} ranges. Ask in smaller batches`);
}

export function queryError(name: string, why: string): KeyError {
  return new KeyError(`Key part "${name}" ${why}.`, { details: { property: name } });
}

/** Whether a part's decoded value meets its conditions. */
export type ValueTest = (value: unknown) => boolean;

/** Tests by part name of everything that is asked; for rows that lie in the ranges but may not be meant. */
export function valueTests(
  parts: readonly KeyPart[],
  { fixed, span }: OrderedConditions,
): ReadonlyMap<string, ValueTest> {
  const tests = new Map<string, ValueTest>();
  for (const { name, codec, recoverable } of parts) {
    if (!recoverable) continue;
    const { order } = baseCodec(codec);
    const values = fixed.get(name);
    if (values !== undefined)
      tests.set(
        name,
        oneOf(
          values.map((value) => logicalBytes(name, order, value)),
          order,
        ),
      );
    else if (span?.name === name) tests.set(name, spanTest(name, order, span.condition));
  }
  return tests;
}

function oneOf(wanted: readonly Uint8Array[], order: BaseCodec<unknown>): ValueTest {
  return (value) => {
    const bytes = order.encode(value);
    return wanted.some((one) => compareBytes(one, bytes) === 0);
  };
}

function spanTest(name: string, order: BaseCodec<unknown>, condition: SpanCondition): ValueTest {
  if (condition.kind !== 'range') {
    const { value: wanted, kind } = condition;
    return (value) => {
      if (typeof value === 'string' && typeof wanted === 'string') {
        return kind === 'startsWith' ? value.startsWith(wanted) : value.endsWith(wanted);
      }
      return (
        kind === 'startsWith' && value instanceof Uint8Array && startsWithBytes(value, wanted as Uint8Array)
      );
    };
  }
  const lower = condition.lower && {
    ...condition.lower,
    bytes: logicalBytes(name, order, condition.lower.value),
  };
  const upper = condition.upper && {
    ...condition.upper,
    bytes: logicalBytes(name, order, condition.upper.value),
  };
  return (value) => {
    const bytes = order.encode(value);
    const above = lower === undefined ? 1 : compareBytes(bytes, lower.bytes);
    const below = upper === undefined ? 1 : compareBytes(upper.bytes, bytes);
    return (
      (above > 0 || (above === 0 && lower!.inclusive)) && (below > 0 || (below === 0 && upper!.inclusive))
    );
  };
}

function logicalBytes(name: string, order: BaseCodec<unknown>, value: unknown): Uint8Array {
  try {
    return order.encode(value);
  } catch (error) {
    throw partError(name, value, error);
  }
}
