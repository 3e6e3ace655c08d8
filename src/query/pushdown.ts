// — Predicate pushdown: which conditions the engine can evaluate, as HBase filters. A comparison is pushed only when
// the codec's byte order is the order of values. Others are evaluated by Rowan, and `explain` says so.

import { AvroCodec } from '../codec/index.js';
import { QueryError, RowanError } from '../errors.js';
import { BaseCodec, storedCodec } from '../key/codecs/index.js';
import type { ColumnSchema, EntitySchema, ValueCodec } from '../schema/types.js';
import { literalOf } from '../table/checks.js';
import { type Comparator, type CompareOperator, comparators, type Filter, filters } from '../table/index.js';
import type { Condition, Test } from './condition.js';
import { equalTo } from './key-conditions.js';

/** Codecs whose values are stored as UTF-8 or as they are, so that a prefix of the value is one of the bytes. */
const PLAIN_CODECS: ReadonlySet<string> = new Set(['text', 'bytes']);

const COMPARE: Readonly<Record<'lt' | 'lte' | 'gt' | 'gte', readonly [CompareOperator, CompareOperator]>> = {
  lt: ['LESS', 'GREATER_OR_EQUAL'],
  lte: ['LESS_OR_EQUAL', 'GREATER'],
  gt: ['GREATER', 'LESS_OR_EQUAL'],
  gte: ['GREATER_OR_EQUAL', 'LESS'],
};

/**
 * A filter that passes exactly the rows that satisfy the condition. Undefined when the engine cannot evaluate it. A
 * filter sees only columns that the query reads, so each tested column must be read too.
 */
export function pushCondition(
  condition: Condition,
  columns: ReadonlyMap<string, ColumnSchema>,
  /** False when other entities may store other values in the column, which a numeric comparison would fail on. */
  onlyOwn = true,
  /** Whether moved columns may be tested: only for single rows, which are migrated first. */
  moved = false,
): Filter | undefined {
  if (condition.kind === 'test') {
    const column = testedColumn(condition, columns.get(condition.property));
    if (column === undefined || ((column.was.length > 0 || column.upgraded) && !moved)) return undefined;
    return pushTest(condition, column, onlyOwn);
  }
  const parts: Filter[] = [];
  for (const part of condition.conditions) {
    const filter = pushCondition(part, columns, onlyOwn, moved);
    if (filter === undefined) return undefined;
    parts.push(filter);
  }
  if (parts.length === 0) return undefined;
  if (parts.length === 1) return parts[0];
  return condition.kind === 'all' ? filters.all(...parts) : filters.any(...parts);
}

function pushTest(test: Test, column: ColumnSchema, onlyOwn: boolean): Filter | undefined {
  if (column.kind === 'columns' || test.inside !== undefined) return undefined;
  checkAskable(test, column);
  const single = (operator: CompareOperator, value: Uint8Array | Comparator): Filter =>
    filters.singleColumnValue(column.family, column.qualifier, operator, value, {
      filterIfMissing: !test.negated,
    });
  if (column.kind === 'counter' && typeof counterBound(test) === 'boolean') return undefined;
  const equality: CompareOperator = test.negated ? 'NOT_EQUAL' : 'EQUAL';
  switch (test.operator) {
    case 'exists':
      // Every value is equal to or greater than the empty one.
      return single(test.negated ? 'LESS' : 'GREATER_OR_EQUAL', new Uint8Array(0));
    case 'eq':
    case 'in': {
      const parts = encodeEqual(column, test.values).map((value) => single(equality, value));
      if (parts.length === 0) return undefined;
      if (parts.length === 1) return parts[0];
      return test.negated ? filters.all(...parts) : filters.any(...parts);
    }
    case 'startsWith':
      if (!PLAIN_CODECS.has(column.codec.name)) return undefined;
      return single(equality, comparators.binaryPrefix(encodeOperand(column, test.values[0])));
    case 'contains':
      if (column.codec.name !== 'text') return undefined;
      return single(equality, comparators.regex(escapeRegex(String(test.values[0])), 's'));
    case 'endsWith':
      return undefined;
    default: {
      const operator = COMPARE[test.operator][test.negated ? 1 : 0];
      if (column.kind === 'counter') {
        if (!onlyOwn) return undefined;
        return single(operator, comparators.long(BigInt(test.values[0] as bigint | number)));
      }
      return isOrdered(column.codec) ? single(operator, encodeOperand(column, test.values[0])) : undefined;
    }
  }
}

/** Whether greater values have greater bytes. False for a descending codec, which reverses the order. */
export function isOrdered(codec: ValueCodec<unknown>): boolean {
  return codec.ordered && !(codec instanceof BaseCodec && codec.descending);
}

/** @throws QueryError on a comparison of an Avro column: equal values of two schemas have different bytes. */
function checkAskable(test: Test, column: ColumnSchema): void {
  if (test.operator === 'exists' || !(column.codec instanceof AvroCodec)) return;
  throw new QueryError(
    `where: ${column.property} holds Avro, which cannot be compared as a whole. Ask whether it { exists: true }, or for its properties: { ${column.property}: { name: … } }.`,
    { details: { property: column.property } },
  );
}

/** The column that a test reads, with the codec of what is stored: for a test of a Map entry, the column of that. */
export function testedColumn(test: Test, column: ColumnSchema | undefined): ColumnSchema | undefined {
  if (column === undefined) return undefined;
  const stored = storedColumn(column);
  return test.entry === undefined ? stored : { ...stored, kind: 'column', qualifier: test.entry };
}

/** The column with the codec of what is stored, as conditions compare it. */
export function storedColumn(column: ColumnSchema): ColumnSchema {
  const codec = storedCodec(column.codec);
  return codec === column.codec ? column : { ...column, codec };
}

const MIN_LONG = -(2n ** 63n);
const GREATEST_LONG = 2n ** 63n - 1n;

/**
 * The result of comparing any counter with a number that no counter can hold. Undefined when a counter can hold it.
 * @throws QueryError when it is no whole number.
 */
export function counterBound(test: Test): boolean | undefined {
  if (test.operator === 'exists' || test.operator === 'in') return undefined;
  const operand = test.values[0];
  const whole = typeof operand === 'bigint' || (typeof operand === 'number' && Number.isInteger(operand));
  if (!whole) {
    throw new QueryError(
      `where: ${test.property} is a counter, which cannot be compared with ${literalOf(operand)}. Give a bigint or a whole number.`,
      { details: { property: test.property } },
    );
  }
  const value = BigInt(operand as bigint | number);
  if (value >= MIN_LONG && value <= GREATEST_LONG) return undefined;
  if (test.operator === 'eq') return false;
  const below = value < MIN_LONG;
  return test.operator === 'gt' || test.operator === 'gte' ? below : !below;
}

/** @throws RowanError `ERR_CODEC` naming the property. */
export function encodeOperand({ property, family, codec }: ColumnSchema, value: unknown): Uint8Array {
  try {
    return codec.encode(value);
  } catch (cause) {
    throw wrongOperand(property, codec, cause, { family });
  }
}

/** The error of a value that the codec of a column or key part cannot hold. */
export function wrongOperand(
  property: string,
  { name }: { readonly name: string },
  cause: unknown,
  details: object = {},
): RowanError {
  return new RowanError(
    'ERR_CODEC',
    `where: ${property} (${name}) cannot be compared with this value: ${(cause as Error).message}`,
    { cause, details: { property, ...details } },
  );
}

/** The encodings of every value equal to one of these. @throws RowanError `ERR_CODEC` naming the property. */
export function encodeEqual(column: ColumnSchema, values: readonly unknown[]): Uint8Array[] {
  return equalTo(column.codec, values).map((value) => encodeOperand(column, value));
}

/** Escapes the special characters of regular expressions of both Java and JavaScript. */
function escapeRegex(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}

// — The rule for soft-deleted rows (`@DeletedAt`): rows without a time of deletion exist.

/** The condition under which a row exists. Empty for entities without `@DeletedAt`. */
export function liveConditions(schema: EntitySchema): readonly Condition[] {
  const { deletedProperty: property } = schema;
  return property === undefined
    ? NOTHING
    : [{ kind: 'test', property, operator: 'exists', negated: true, values: NOTHING }];
}

/** The same as an engine filter. Undefined for entities without `@DeletedAt`. */
export function liveFilter(schema: EntitySchema): Filter | undefined {
  const [live] = liveConditions(schema);
  return live && pushCondition(live, schema.columnsByProperty);
}

const NOTHING: readonly never[] = Object.freeze([]);
