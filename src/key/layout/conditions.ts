import { compareBytes, startsWithBytes } from '../../bytes/index.js';
import { KeyError, RowanError } from '../../errors.js';
import { describe } from '../../table/checks.js';
import { baseCodec } from '../codecs/desc.js';
import type { BaseCodec } from '../codecs/index.js';
import type { KeyConditions, KeyPart, PartCondition } from '../types.js';

// — Values of key parts: which are required, and errors that name the part.

/** Values of key parts by name. */
export type KeyValues = Readonly<Record<string, unknown>>;

/** The value of a part. @throws KeyError when it is undefined or null. */
export function requireValue(values: KeyValues, name: string): unknown {
  return requirePresent(name, values[name]);
}

/** The value itself. @throws KeyError when it is undefined or null. */
export function requirePresent(name: string, value: unknown): unknown {
  if (value === undefined || value === null) {
    throw new KeyError(
      `Key part "${name}" is ${value === null ? 'null' : 'undefined'}. Every part of a row key needs a value: set it before writing, or leave it out of a prefix.`,
      { details: { property: name } },
    );
  }
  return value;
}

/** The KeyError of a part whose value a codec refused. */
export function partError(name: string, value: unknown, cause: unknown): Error {
  if (cause instanceof RowanError && cause.code !== 'ERR_CODEC') return cause;
  // Codecs throw errors of their own for values that cannot be inspected, such as a revoked proxy.
  const why = cause instanceof RowanError ? cause.message : `it cannot hold ${describe(value)}.`;
  return new KeyError(`Key part "${name}": ${why}`, {
    cause,
    details: { property: name, value: describe(value) },
  });
}

/** The KeyError for a row that does not have the layout. The layout adds the row and its own name. */
export function rowError(why: string): KeyError {
  return new KeyError(why);
}

// — Conditions on key parts: checks their order, expands `in` lists, and tests decoded rows.

/** A condition that is neither equality nor `in`. */
export type SpanCondition = Extract<PartCondition, { kind: 'range' | 'startsWith' | 'endsWith' }>;

/** Conditions in the order of the key's parts. */
export interface OrderedConditions {
  /** Values of the leading parts with equality (one) or `in` (any number), in the order of parts. */
  readonly fixed: ReadonlyMap<string, readonly unknown[]>;
  /** The part after them with a range condition, if any. */
  readonly span: { readonly name: string; readonly condition: SpanCondition } | undefined;
}

/** The largest number of ranges in a plan. */
export const MAX_RANGES = 65536;

/**
 * Refuses names that are not parts of the key. This and `checkCondition` are the only checks of single conditions.
 * `entity` names the owner in messages.
 * @throws KeyError on any other name.
 */
export function checkPartNames(
  parts: readonly { readonly name: string }[],
  names: readonly string[],
  entity?: string,
): void {
  for (const name of names)
    if (!parts.some((part) => part.name === name)) throw unknownPart(parts, name, entity);
}

/**
 * Checks the values of one condition.
 * @throws KeyError on undefined or null, which never mean "all".
 */
export function checkCondition(name: string, condition: PartCondition, entity?: string): void {
  switch (condition.kind) {
    case 'eq':
      checkValue(entity, name, '', condition.value);
      break;
    case 'in':
      for (const value of condition.values) checkValue(entity, name, '', value);
      break;
    case 'range': {
      const { lower, upper } = condition;
      if (lower !== undefined) checkValue(entity, name, lower.inclusive ? '.gte' : '.gt', lower.value);
      if (upper !== undefined) checkValue(entity, name, upper.inclusive ? '.lte' : '.lt', upper.value);
      break;
    }
    default:
      checkValue(entity, name, `.${condition.kind}`, condition.value);
  }
}

function checkValue(entity: string | undefined, name: string, operator: string, value: unknown): void {
  if (value !== undefined && value !== null) return;
  const whose = entity === undefined ? `Key part "${name}"${operator}` : `${entity}.${name}${operator}`;
  throw new KeyError(
    `${whose} is ${value === null ? 'null' : 'undefined'}. Give it a value, or leave the part out to mean every value.`,
    { details: { ...(entity === undefined ? {} : { entity }), property: name } },
  );
}

function unknownPart(
  parts: readonly { readonly name: string }[],
  name: string,
  entity: string | undefined,
): KeyError {
  return new KeyError(
    `${entity ?? 'The row key'} has no key part "${name}". Its parts are ${parts.map((part) => part.name).join(', ')}; ` +
      'put conditions on columns into where().',
    { details: { ...(entity === undefined ? {} : { entity }), property: name } },
  );
}

/**
 * Checks and orders the conditions.
 * @throws KeyError as `checkPartNames` and `checkCondition`, and on a gap, a part after a range, or too long lists.
 */
export function orderConditions(parts: readonly KeyPart[], conditions: KeyConditions): OrderedConditions {
  checkPartNames(parts, Object.keys(conditions));
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
      throw queryError(name, `needs a condition on "${missing}", which precedes it in the row key`);
    }
    if (span !== undefined) {
      throw queryError(
        name,
        `follows a range on "${span.name}": only the last part with a condition may have a range`,
      );
    }
    checkCondition(name, condition);
    if (condition.kind === 'eq') fixed.set(name, [condition.value]);
    else if (condition.kind === 'in') fixed.set(name, condition.values);
    else if (asksForLess(condition)) span = { name, condition };
    else missing ??= name;
  }
  return { fixed, span };
}

/** Whether the condition excludes anything. */
function asksForLess(condition: SpanCondition): boolean {
  if (condition.kind === 'range') return condition.lower !== undefined || condition.upper !== undefined;
  const { value } = condition;
  return !(value === '' || (value instanceof Uint8Array && value.length === 0));
}

/** Every combination of the fixed values. @throws KeyError when there are more than a plan may have. */
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
  return queryError(name, `makes more than ${MAX_RANGES} ranges. Query in smaller batches`);
}

export function queryError(name: string, why: string): KeyError {
  return new KeyError(`Key part "${name}" ${why}.`, { details: { property: name } });
}

/** Whether a part's decoded value satisfies its conditions. */
type ValueTest = (value: unknown) => boolean;

/** Tests of all conditions by part name, for rows within the ranges that may not satisfy them. */
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
