/** Normalized conditions of `where`. Two-valued logic: an absent value is a value of its own. */

import { QueryError, RowanError } from '../errors.js';
import { conversionOf } from '../key/codecs/index.js';
import type { PartCondition } from '../key/types.js';
import { describe, isList, isRecord, literalOf } from '../table/checks.js';
import { CONDITION_OPERATORS, copied, isOperators, operandOf } from './key-conditions.js';

/** The operators of a test. */
type TestOperator =
  | 'eq'
  | 'lt'
  | 'lte'
  | 'gt'
  | 'gte'
  | 'in'
  | 'startsWith'
  | 'endsWith'
  | 'contains'
  | 'exists';

/**
 * A test of one column. Every operator is false for an absent value; `negated` is the exact complement, so it is true
 * for one.
 */
export interface Test {
  readonly kind: 'test';
  /** The property, with dots for embedded objects. */
  readonly property: string;
  /** For a column that holds an object (JSON, Avro): the path of the property in it. Rowan evaluates such tests. */
  readonly inside?: readonly string[] | undefined;
  readonly operator: TestOperator;
  readonly negated: boolean;
  /** One value; for `in` any number; for `exists` none. */
  readonly values: readonly unknown[];
  /** The qualifier of a Map entry, and its key as text. */
  readonly entry?: Uint8Array;
  readonly entryName?: string;
}

/** An immutable condition on an entity's columns. `all` of nothing is true, `any` of nothing false. */
export type Condition =
  | Test
  | { readonly kind: 'all'; readonly conditions: readonly Condition[] }
  | { readonly kind: 'any'; readonly conditions: readonly Condition[] };

/** A codec, of which conditions need the stored form of values. */
interface OperandCodec {
  readonly name: string;
}

/** Tells properties from operators in nested objects. */
export interface PropertyResolver {
  /**
   * `value`: a column or key part. `document`: a column that holds an object. `object`: the head of embedded columns.
   * Undefined: no such property.
   */
  kindOf(property: string): 'value' | 'document' | 'object' | undefined;
  readonly entity: string;
  readonly names: readonly string[];
  /** The codec of a property's values: of a Map, of its entries. Undefined for embedded objects. */
  codecOf(property: string): OperandCodec | undefined;
  /** The Map entry with this key. @throws QueryError when the property is no Map. */
  entryOf(property: string, key: unknown): { readonly qualifier: Uint8Array; readonly name: string };
}

const OPERATORS: readonly string[] = CONDITION_OPERATORS;

/**
 * Parses `{ status: 'open', total: { gte: 5n }, email: null, address: { city: 'Ulm' } }`. All entries must hold.
 * @throws QueryError on an unknown property or operator, and on `undefined`.
 */
export function parseWhere(
  resolver: PropertyResolver,
  input: Readonly<Record<string, unknown>>,
  path = '',
): Condition {
  const conditions: Condition[] = [];
  for (const key of Object.keys(input)) {
    const property = path === '' ? key : `${path}.${key}`;
    const value = input[key];
    const kind = resolver.kindOf(property);
    if (kind === undefined) throw unknownProperty(resolver, property);
    if (value === undefined) {
      throw new QueryError(
        `where: ${resolver.entity}.${property} is undefined. Give a value, null for "absent", or leave it out.`,
        { details: { entity: resolver.entity, property } },
      );
    }
    if (kind === 'document' && asksInside(value)) {
      conditions.push(...parseDocument(resolver.entity, property, [], value));
    } else if (kind !== 'object')
      conditions.push(...parseTests(resolver.entity, property, value, resolver.codecOf(property)));
    else if (value === null || isExistsTest(value)) {
      conditions.push(embeddedExists(resolver, property, value?.exists ?? false));
    } else if (isOperators(value)) conditions.push(parseWhere(resolver, value, property));
    else {
      throw new QueryError(
        `where: ${resolver.entity}.${property} is an embedded object. Ask for its properties: { ${key}: { … } }.`,
        { details: { entity: resolver.entity, property } },
      );
    }
  }
  return conditions.length === 1 ? conditions[0]! : { kind: 'all', conditions };
}

/** Whether an operand has properties of a document rather than operators. */
function asksInside(value: unknown): value is Readonly<Record<string, unknown>> {
  if (!isOperators(value)) return false;
  const keys = Object.keys(value);
  return keys.length > 0 && !keys.every((key) => OPERATORS.includes(key));
}

/** The deepest path in a document that a condition may use. */
const MAX_INSIDE = 100;

function parseDocument(
  entity: string,
  property: string,
  path: readonly string[],
  input: Readonly<Record<string, unknown>>,
): Condition[] {
  if (path.length > MAX_INSIDE) {
    throw new QueryError(
      `where: ${entity}.${property} is asked more than ${MAX_INSIDE} objects deep. Ask for what stands nearer.`,
      { details: { entity, property } },
    );
  }
  return Object.keys(input).flatMap((key) => {
    const value = input[key];
    const inside = [...path, key];
    const name = [property, ...inside].join('.');
    if (value === undefined) {
      throw new QueryError(
        `where: ${entity}.${name} is undefined. Give a value, null for "absent", or leave it out.`,
        { details: { entity, property: name } },
      );
    }
    if (asksInside(value)) return parseDocument(entity, property, inside, value);
    return parseTests(entity, name, value).map((condition) => moveInside(condition, property, inside));
  });
}

function moveInside(condition: Condition, property: string, inside: readonly string[]): Condition {
  if (condition.kind === 'test') return { ...condition, property, inside };
  return { ...condition, conditions: condition.conditions.map((part) => moveInside(part, property, inside)) };
}

function isExistsTest(value: unknown): value is { readonly exists: boolean } {
  return isOperators(value) && Object.keys(value).join() === 'exists' && typeof value['exists'] === 'boolean';
}

/** An embedded object exists when at least one of its columns does. */
function embeddedExists(resolver: PropertyResolver, property: string, exists: boolean): Condition {
  const columns = resolver.names.filter((name) => name.startsWith(`${property}.`));
  return {
    kind: exists ? 'any' : 'all',
    conditions: columns.map((name) => test(name, 'exists', [], !exists)),
  };
}

function unknownProperty(resolver: PropertyResolver, property: string): QueryError {
  return new QueryError(
    `where: ${resolver.entity} has no column "${property}". Its columns are ${resolver.names.join(', ')}.`,
    { details: { entity: resolver.entity, property } },
  );
}

/** @param codec the property's; undefined for a property inside of a document. */
function parseTests(entity: string, property: string, value: unknown, codec?: OperandCodec): Condition[] {
  if (value === null) return [test(property, 'exists', [], true)];
  if (!isOperators(value, codec))
    return [test(property, 'eq', [checkOperand(entity, property, value, codec)])];
  const operators = Object.keys(value);
  if (operators.length === 0) {
    throw new QueryError(`where: ${entity}.${property} is {}. Write an operator: ${OPERATORS.join(', ')}.`, {
      details: { entity, property },
    });
  }
  return operators.map((operator) => parseOperator(entity, property, operator, value[operator], codec));
}

function parseOperator(
  entity: string,
  property: string,
  operator: string,
  operand: unknown,
  codec: OperandCodec | undefined,
): Condition {
  const fail = (what: string): QueryError =>
    new QueryError(`where: ${entity}.${property}: ${what}`, { details: { entity, property } });
  if (!OPERATORS.includes(operator)) {
    throw fail(`unknown operator "${operator}". Write one of ${OPERATORS.join(', ')}.`);
  }
  if (operand === undefined) throw fail(`${operator} is undefined. Give it a value.`);
  if (operator === 'exists') {
    if (typeof operand !== 'boolean') throw fail('"exists" takes true or false.');
    return test(property, 'exists', [], !operand);
  }
  if (operand === null) {
    if (operator === 'eq') return test(property, 'exists', [], true);
    if (operator === 'ne') return test(property, 'exists', []);
    throw fail(`${operator} takes no null: nothing is less or greater than an absent value.`);
  }
  if (operator === 'in' || operator === 'notIn') {
    if (!isList(operand)) throw fail(`"${operator}" takes an array of values.`);
    return parseList(entity, property, operand, operator === 'notIn', codec);
  }
  if (operator === 'between') {
    if (!isList(operand) || operand.length !== 2) throw fail('"between" takes [lowest, highest].');
    const ends = operand.map((end) => checkOperand(entity, property, end, codec));
    return {
      kind: 'all',
      conditions: [test(property, 'gte', [ends[0]]), test(property, 'lte', [ends[1]])],
    };
  }
  // Parts of texts are compared with the stored text, and are no values of the codec.
  const isPart = typeof operand === 'string' && TEXT_OPERATORS.has(operator);
  const value = checkOperand(entity, property, operand, isPart ? undefined : codec);
  if (operator === 'ne') return test(property, 'eq', [value], true);
  return test(property, operator as TestOperator, [value]);
}

const TEXT_OPERATORS: ReadonlySet<string> = new Set(['startsWith', 'endsWith', 'contains']);

/** A null among the values means "absent". */
function parseList(
  entity: string,
  property: string,
  values: readonly unknown[],
  negated: boolean,
  codec: OperandCodec | undefined,
): Condition {
  const present = values
    .filter((value) => value !== null)
    .map((value) => checkOperand(entity, property, value, codec));
  const list = test(property, 'in', present, negated);
  if (present.length === values.length) return list;
  const absent = test(property, 'exists', [], !negated);
  return { kind: negated ? 'all' : 'any', conditions: [list, absent] };
}

/** The stored form of an operand, as a copy. @throws QueryError on a value that cannot be compared. */
function checkOperand(
  entity: string,
  property: string,
  value: unknown,
  codec: OperandCodec | undefined,
): unknown {
  if (value !== undefined && codec !== undefined && conversionOf(codec) !== undefined) {
    return transformedOperand(entity, property, value, codec);
  }
  const comparable =
    value !== undefined &&
    value !== null &&
    (typeof value !== 'object' ||
      (isRecord(value) && (value instanceof Date || value instanceof Uint8Array))) &&
    typeof value !== 'function' &&
    !(typeof value === 'number' && Number.isNaN(value)) &&
    !(value instanceof Date && Number.isNaN(value.getTime()));
  if (comparable) return copied(value);
  throw new QueryError(
    `where: ${entity}.${property} cannot be compared with ${literalOf(value)}. ` +
      'Compare with text, a number, a bigint, a boolean, a valid Date or bytes.',
    { details: { entity, property } },
  );
}

/** @throws RowanError `ERR_CODEC` naming the property. */
function transformedOperand(entity: string, property: string, value: unknown, codec: OperandCodec): unknown {
  try {
    return operandOf(codec, value);
  } catch (cause) {
    if (!(cause instanceof RowanError)) throw cause;
    throw new RowanError(
      'ERR_CODEC',
      `where: ${entity}.${property} cannot be compared with ${describe(value)}: ${cause.message}`,
      { cause, details: { entity, property } },
    );
  }
}

/** The conditions on one Map entry, given by its qualifier. @throws QueryError. */
export function parseEntry(
  entity: string,
  property: string,
  entry: { readonly qualifier: Uint8Array; readonly name: string },
  asked: unknown,
  codec?: OperandCodec,
): Condition {
  if (asked === undefined) {
    throw new QueryError(`where: ${entity}.${entry.name} is undefined. Give a value, or null for "absent".`, {
      details: { entity, property },
    });
  }
  const withEntry = (condition: Condition): Condition =>
    condition.kind === 'test'
      ? { ...condition, entry: entry.qualifier, entryName: entry.name }
      : { ...condition, conditions: condition.conditions.map(withEntry) };
  const conditions = parseTests(entity, property, asked, codec).map(withEntry);
  return conditions.length === 1 ? conditions[0]! : { kind: 'all', conditions };
}

function test(property: string, operator: TestOperator, values: readonly unknown[], negated = false): Test {
  return { kind: 'test', property, operator, negated, values };
}

/** The condition on a key part as one on the column that stores its value. */
export function keyPartAsCondition(property: string, condition: PartCondition): Condition {
  switch (condition.kind) {
    case 'eq':
      return test(property, 'eq', [condition.value]);
    case 'in':
      return test(property, 'in', condition.values);
    case 'startsWith':
    case 'endsWith':
      return test(property, condition.kind, [condition.value]);
    case 'range': {
      const { lower, upper } = condition;
      const conditions: Condition[] = [];
      if (lower) conditions.push(test(property, lower.inclusive ? 'gte' : 'gt', [lower.value]));
      if (upper) conditions.push(test(property, upper.inclusive ? 'lte' : 'lt', [upper.value]));
      return { kind: 'all', conditions };
    }
  }
}

/** The exact complement. */
export function negate(condition: Condition): Condition {
  if (condition.kind === 'test') return { ...condition, negated: !condition.negated };
  return {
    kind: condition.kind === 'all' ? 'any' : 'all',
    conditions: condition.conditions.map(negate),
  };
}

/** The conditions of nested `all`s, flattened. */
export function conjuncts(condition: Condition): Condition[] {
  return condition.kind === 'all' ? condition.conditions.flatMap(conjuncts) : [condition];
}

/** Every tested property. */
export function testedProperties(condition: Condition, into: Set<string> = new Set()): Set<string> {
  if (condition.kind === 'test') into.add(condition.property);
  else for (const part of condition.conditions) testedProperties(part, into);
  return into;
}

/** The name of what is tested, with dots: a property, or a path in its document. */
function testedName({ property, inside }: Pick<Test, 'property' | 'inside'>): string {
  return inside === undefined ? property : [property, ...inside].join('.');
}

const SIGNS: Readonly<Record<TestOperator, string>> = {
  eq: '=',
  lt: '<',
  lte: '<=',
  gt: '>',
  gte: '>=',
  in: 'in',
  startsWith: 'starts with',
  endsWith: 'ends with',
  contains: 'contains',
  exists: 'is present',
};

/** The condition as text, e.g. `status = "open" and not (total > 5)`. */
/** `literal` formats values, and the keys of Map entries. */
export function describeCondition(condition: Condition, literal = literalOf): string {
  if (condition.kind !== 'test') {
    if (condition.conditions.length === 0) return condition.kind === 'all' ? 'true' : 'false';
    const texts = condition.conditions.map((one) => describeCondition(one, literal));
    return texts.length === 1 ? texts[0]! : `(${texts.join(condition.kind === 'all' ? ' and ' : ' or ')})`;
  }
  const { operator, negated, values } = condition;
  const entry = literal === literalOf ? condition.entryName : undefined;
  const property = entry ?? testedName(condition);
  if (operator === 'exists') return `${property} is ${negated ? 'absent' : 'present'}`;
  if (operator === 'eq') return `${property} ${negated ? '!=' : '='} ${literal(values[0])}`;
  if (operator === 'in') {
    return `${property} ${negated ? 'not in' : 'in'} (${values.map(literal).join(', ')})`;
  }
  const text = `${property} ${SIGNS[operator]} ${literal(values[0])}`;
  return negated ? `not (${text})` : text;
}

/** Every test except a negated one is false for an absent value. */
export function impliesPresence(condition: Condition, property: string): condition is Test {
  return condition.kind === 'test' && condition.property === property && !condition.negated;
}
