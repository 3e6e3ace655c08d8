/** Parses conditions on key parts. */

import { KeyError, QueryError } from '../errors.js';
import { BaseCodec, conversionOf, storedCodec, storedValue } from '../key/codecs/index.js';
import { checkCondition, checkPartNames, partError } from '../key/index.js';
import type { KeyConditions, KeyLayout, KeyPart, PartCondition } from '../key/types.js';
import { describe, isInstance, isList, isNamed, isPlainObject, literalOf } from '../table/checks.js';

const RANGE_OPERATORS = ['gt', 'gte', 'lt', 'lte'] as const;
const OPERATORS: readonly string[] = ['in', 'startsWith', 'endsWith', ...RANGE_OPERATORS];

/**
 * Parses `{ customerId: 'a', placedAt: { gte: from, lt: to } }` to conditions on stored values. A plain object has
 * operators, anything else means equality. @throws KeyError on an unknown part, and on `undefined` or `null` anywhere: neither ever means "all".
 */
export function parseKeyConditions(
  entity: string,
  layout: Pick<KeyLayout, 'parts'>,
  input: Readonly<Record<string, unknown>>,
): KeyConditions {
  if (!isNamed(input)) {
    throw new KeyError(
      `find on ${entity}: the key conditions are ${describe(input)}. Give an object of key parts, {} for none.`,
      { details: { entity } },
    );
  }
  checkPartNames(layout.parts, Object.keys(input), entity);
  // In the order of the key, so that the text of the conditions does not depend on the caller's order.
  const conditions: Record<string, PartCondition> = {};
  for (const part of layout.parts) {
    const { name } = part;
    if (!Object.hasOwn(input, name)) continue;
    const condition = withAlike(part.codec, parsePart(entity, part, input[name]));
    checkCondition(name, condition, entity);
    conditions[name] = condition;
  }
  return conditions;
}

/**
 * Splits conditions on any properties into a key prefix (equality or `in` on leading parts, then at most one range) and the rest.
 */
export function splitConditions(
  layout: Pick<KeyLayout, 'parts'>,
  conditions: Readonly<Record<string, unknown>>,
): { readonly prefix: Record<string, unknown>; readonly rest: Record<string, unknown> } {
  const prefix: Record<string, unknown> = {};
  const rest: Record<string, unknown> = { ...conditions };
  for (const { name, codec } of layout.parts) {
    const condition = Object.hasOwn(rest, name) ? rangeOf(rest[name], codec) : undefined;
    if (condition === undefined || condition === null) break;
    const operators = isOperators(condition, codec) ? Object.keys(condition) : [];
    if (operators.some((operator) => !OPERATORS.includes(operator))) break;
    if (operators.length > 1 && operators.some((operator) => !isRangeOperator(operator))) break;
    prefix[name] = condition;
    delete rest[name];
    if (operators.length > 0 && operators[0] !== 'in') break;
  }
  return { prefix, rest };
}

/** `between` as the range that it is; any other condition as it is. */
function rangeOf(condition: unknown, codec: { readonly name: string }): unknown {
  if (!isOperators(condition, codec) || Object.keys(condition).join() !== 'between') return condition;
  const bounds = condition['between'];
  return isList(bounds) && bounds.length === 2 ? { gte: bounds[0], lte: bounds[1] } : condition;
}

const isRangeOperator = (name: string): boolean => (RANGE_OPERATORS as readonly string[]).includes(name);

/** All stored values that the codec treats as equal to these: some codecs have several spellings. */
export function equalTo(of: { readonly name: string }, values: readonly unknown[]): readonly unknown[] {
  const codec = storedCodec(of);
  return codec instanceof BaseCodec ? values.flatMap((value) => codec.alike(value)) : values;
}

/** Equality with all encodings of equal values. */
export function withAlike(of: { readonly name: string }, condition: PartCondition): PartCondition {
  const codec = storedCodec(of);
  if (!(codec instanceof BaseCodec)) return condition;
  if (condition.kind === 'eq') {
    const values = codec.alike(condition.value);
    return values.length === 1 ? condition : { kind: 'in', values };
  }
  if (condition.kind !== 'in') return condition;
  const values = equalTo(codec, condition.values);
  return values.length === condition.values.length ? condition : { kind: 'in', values };
}

/** What a condition on a part compares. @throws KeyError naming the part. */
function partOperand({ name, codec }: KeyPart, given: unknown): unknown {
  try {
    return operandOf(codec, given);
  } catch (error) {
    throw partError(name, given, error);
  }
}

function parsePart(entity: string, part: KeyPart, value: unknown): PartCondition {
  const { name } = part;
  if (!isOperators(value, part.codec)) return { kind: 'eq', value: partOperand(part, value) };
  const given = Object.keys(value);
  for (const operator of given) {
    if (!OPERATORS.includes(operator)) {
      throw new QueryError(
        `${entity}.${name}: ${operator === 'between' ? 'find has no operator "between". Write { gte: lowest, lte: highest }' : `unknown operator "${operator}". Write one of ${OPERATORS.join(', ')}`}.`,
        { details: { entity, property: name } },
      );
    }
  }
  const only = given[0];
  if (given.length === 1 && (only === 'startsWith' || only === 'endsWith')) {
    const text = value[only];
    return { kind: only, value: typeof text === 'string' ? text : partOperand(part, text) };
  }
  if (given.length === 1 && only === 'in') return parseIn(entity, part, value['in']);
  return parseRange(entity, part, value);
}

function parseIn(entity: string, part: KeyPart, values: unknown): PartCondition {
  const { name } = part;
  if (!isList(values)) {
    throw new QueryError(`${entity}.${name}: "in" takes an array of values.`, {
      details: { entity, property: name },
    });
  }
  return { kind: 'in', values: values.map((value) => partOperand(part, value)) };
}

function parseRange(entity: string, part: KeyPart, value: Readonly<Record<string, unknown>>): PartCondition {
  const { name } = part;
  const given = Object.keys(value);
  const wrong =
    given.length === 0 || given.some((key) => !(RANGE_OPERATORS as readonly string[]).includes(key));
  if (wrong || ('gt' in value && 'gte' in value) || ('lt' in value && 'lte' in value)) {
    throw new QueryError(
      `${entity}.${name}: { ${given.join(', ')} } is no range. Write one of gt and gte, one of lt and lte, or both; ` +
        'in, startsWith and endsWith stand alone.',
      { details: { entity, property: name } },
    );
  }
  const lower = 'gt' in value || 'gte' in value;
  const upper = 'lt' in value || 'lte' in value;
  return {
    kind: 'range',
    lower: lower
      ? { value: partOperand(part, value['gt' in value ? 'gt' : 'gte']), inclusive: 'gte' in value }
      : undefined,
    upper: upper
      ? { value: partOperand(part, value['lt' in value ? 'lt' : 'lte']), inclusive: 'lte' in value }
      : undefined,
  };
}

/**
 * What a condition compares with a value: its stored form, as a copy. Null and undefined stay. @throws RowanError
 * `ERR_CODEC` when the codec's transform does not accept it.
 */
export function operandOf(codec: { readonly name: string }, value: unknown): unknown {
  return value === undefined || value === null ? value : copied(storedValue(codec, value));
}

/** A copy: the caller may change the object before the query runs. */
export function copied(value: unknown): unknown {
  if (isInstance(value, Date)) return new Date(value);
  return isInstance(value, Uint8Array) ? Uint8Array.from(value) : value;
}

/**
 * Whether a value is an object of operators and not a value of its own (date, bytes, class instance). A transformed
 * `codec` may have plain objects as values: these have properties that are no operators.
 */
export function isOperators(
  value: unknown,
  codec?: { readonly name: string },
): value is Readonly<Record<string, unknown>> {
  if (!isPlainObject(value)) return false;
  if (codec === undefined || conversionOf(codec) === undefined) return true;
  return Object.keys(value).every((name) => (CONDITION_OPERATORS as readonly string[]).includes(name));
}

/** The operators of `where` and of HTTP queries (`rowan-orm/validation`). */
export const CONDITION_OPERATORS = [
  'eq',
  'ne',
  'lt',
  'lte',
  'gt',
  'gte',
  'in',
  'notIn',
  'between',
  'startsWith',
  'endsWith',
  'contains',
  'exists',
] as const;

/** The conditions as text, e.g. `customerId = "a" and placedAt >= 2026-01-01T00:00:00.000Z`. "" when there are none. */
export function describeKeyConditions(conditions: KeyConditions, literal = literalOf): string {
  return Object.entries(conditions)
    .map(([name, condition]) => describePart(name, condition, literal))
    .join(' and ');
}

function describePart(name: string, condition: PartCondition, literal: (value: unknown) => string): string {
  switch (condition.kind) {
    case 'eq':
      return `${name} = ${literal(condition.value)}`;
    case 'in':
      return `${name} in (${condition.values.map(literal).join(', ')})`;
    case 'startsWith':
      return `${name} starts with ${literal(condition.value)}`;
    case 'endsWith':
      return `${name} ends with ${literal(condition.value)}`;
    case 'range': {
      const { lower, upper } = condition;
      const parts: string[] = [];
      if (lower) parts.push(`${name} ${lower.inclusive ? '>=' : '>'} ${literal(lower.value)}`);
      if (upper) parts.push(`${name} ${upper.inclusive ? '<=' : '<'} ${literal(upper.value)}`);
      return parts.join(' and ');
    }
  }
}
