import { compareBytes, equalBytes, startsWithBytes, toBytes } from '../bytes/index.js';
import type { ValueCodec } from '../codec/index.js';
import { QueryError } from '../errors.js';
import type { KeyCodec } from '../key/codecs/base.js';
import { BaseCodec, conversionOf, storedCodec } from '../key/codecs/index.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import type { Condition, Test } from './condition.js';
import {
  counterBound,
  encodeEqual,
  encodeOperand,
  isOrdered,
  testedColumn,
  wrongOperand,
} from './pushdown.js';
import { hasCell, type Row, valueIn } from './row.js';

// — The logical order of values, whatever their bytes.

/** Compares two values of a column or key part. @throws QueryError when they have no order. */
export type ValueComparator = (a: unknown, b: unknown) => number;

/**
 * The order of a codec's values: that of what is stored for them, the codec's own, that of its ordered bytes, or that of
 * the values.
 */
export function valueComparator(
  property: string,
  codec: ValueCodec<unknown> | KeyCodec<unknown>,
): ValueComparator {
  const conversion = conversionOf(codec);
  if (conversion !== undefined) {
    const compare = valueComparator(property, storedCodec(codec));
    return (a, b) => compare(conversion.toStored(a), conversion.toStored(b));
  }
  const own = codec as Partial<ValueCodec<unknown>>;
  if (own.compare !== undefined) return (a, b) => own.compare!(a, b);
  const ordered = orderedEncoder(codec);
  return ordered === undefined
    ? (a, b) => compareValues(property, a, b)
    : (a, b) => compareBytes(ordered(a), ordered(b));
}

/** Encodes values so that bytes are in their order. Undefined when no such codec is known. */
export function orderedEncoder(
  codec: ValueCodec<unknown> | KeyCodec<unknown>,
): ((value: unknown) => Uint8Array) | undefined {
  const order = codec instanceof BaseCodec ? codec.order : undefined;
  return order?.ordered && !order.descending ? (value) => order.encode(value) : undefined;
}

/** Compares numbers, bigints, dates and booleans by value, text by code point, bytes unsigned. */
function compareValues(property: string, a: unknown, b: unknown): number {
  if (isNumeric(a) && isNumeric(b)) return a < b ? -1 : a > b ? 1 : 0;
  if (typeof a === 'string' && typeof b === 'string') return compareBytes(toBytes(a), toBytes(b));
  if (a instanceof Date && b instanceof Date) return a.getTime() - b.getTime();
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b);
  if (a instanceof Uint8Array && b instanceof Uint8Array) return compareBytes(a, b);
  throw new QueryError(
    `where: ${property} holds a ${typeName(a)}, which has no order against a ${typeName(b)}.`,
    { details: { property } },
  );
}

function isNumeric(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

export function typeName(value: unknown): string {
  return typeof value === 'object' && value !== null ? (value.constructor?.name ?? 'object') : typeof value;
}

// — Evaluates conditions that the engine cannot evaluate.

/** Whether a row satisfies a condition. */
export type RowTest = (row: Row) => boolean;

/** Compiles a condition on columns and key parts, which are looked up once, not for each row. */
export function compileCondition(condition: Condition, schema: EntitySchema): RowTest {
  if (condition.kind === 'test') return compileTest(condition, schema);
  const parts = condition.conditions.map((part) => compileCondition(part, schema));
  return condition.kind === 'all'
    ? (row) => parts.every((part) => part(row))
    : (row) => parts.some((part) => part(row));
}

function compileTest(test: Test, schema: EntitySchema): RowTest {
  const column = testedColumn(test, schema.columnsByProperty.get(test.property));
  if (column === undefined) return compileKeyTest(test, schema);
  if (column.kind === 'columns') return compileMapTest(test, column, schema);
  if (test.inside !== undefined) return compileDocumentTest(test, test.inside, column);
  const bound = column.kind === 'counter' ? counterBound(test) : undefined;
  if (typeof bound === 'boolean') {
    return (row) => (valueIn(row, column.family, column.qualifier) !== undefined && bound) !== test.negated;
  }
  const holds = compileValueTest(test, {
    encode: (value) => encodeOperand(column, value),
    equal: (values) => encodeEqual(column, values),
    ordered: isOrdered(column.codec) && column.kind !== 'counter',
    compare: valueComparator(test.property, column.codec),
  });
  return (row) => {
    const stored = valueIn(row, column.family, column.qualifier);
    const present = stored !== undefined && holds(stored, () => column.codec.decode(stored));
    return present !== test.negated;
  };
}

/**
 * The values of a property may have different types in different documents. Those that cannot be compared do not
 * match.
 */
function compileDocumentTest(test: Test, inside: readonly string[], column: ColumnSchema): RowTest {
  const holds = compileValueTest(test, undefined);
  return (row) => {
    const stored = valueIn(row, column.family, column.qualifier);
    const value = stored === undefined ? undefined : valueInside(column.codec.decode(stored), inside);
    const comparable =
      test.operator === 'exists' || test.values.some((operand) => sort(operand) === sort(value));
    const present = value !== undefined && value !== null && comparable;
    return (present && holds(undefined, () => value)) !== test.negated;
  };
}

function valueInside(document: unknown, path: readonly string[]): unknown {
  let value = document;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return value;
}

function sort(value: unknown): string {
  return isNumeric(value) ? 'numeric' : typeName(value);
}

function compileMapTest(test: Test, column: ColumnSchema, { marker }: EntitySchema): RowTest {
  if (test.operator !== 'exists') {
    throw new QueryError(
      `where: ${column.property} holds many columns; it can only be asked whether it { exists: true }, or for one entry: where((w) => w.entry('${column.property}', key, test)).`,
      { details: { property: column.property } },
    );
  }
  const without = marker?.family === column.family ? marker.qualifier : undefined;
  return (row) => hasCell(row, column.family, column.qualifier, without) !== test.negated;
}

function compileKeyTest(test: Test, schema: EntitySchema): RowTest {
  const { stored: key } = schema.key;
  const codec = key.parts.find((part) => part.name === test.property)?.codec;
  const encode = codec && orderedEncoder(codec);
  const operand = (value: unknown): Uint8Array => {
    try {
      return encode!(value);
    } catch (cause) {
      throw wrongOperand(test.property, codec!, cause);
    }
  };
  const holds = compileValueTest(
    test,
    encode && {
      encode: operand,
      equal: (values) => values.map(operand),
      ordered: true,
      compare: valueComparator(test.property, codec),
    },
  );
  return (row) => {
    const value = key.decode(row.row)[test.property];
    const present = value !== undefined && holds(encode?.(value), () => value);
    return present !== test.negated;
  };
}

/** A test of a present value: by its bytes where they decide, otherwise decoded. */
type ValueTest = (stored: Uint8Array | undefined, decode: () => unknown) => boolean;

/** How values are encoded so that equal values have equal bytes, in order if `ordered`. */
interface Encoding {
  readonly encode: (value: unknown) => Uint8Array;
  /** The encodings of all values equal to these. */
  readonly equal: (values: readonly unknown[]) => Uint8Array[];
  readonly ordered: boolean;
  readonly compare: ValueComparator;
}

function compileValueTest(test: Test, encoding: Encoding | undefined): ValueTest {
  const operands = test.values;
  const compare = encoding?.compare ?? ((a, b) => compareValues(test.property, a, b));
  switch (test.operator) {
    case 'exists':
      return () => true;
    case 'eq':
    case 'in': {
      if (encoding === undefined) {
        return (_, decode) => {
          const value = decode();
          return operands.some(
            (operand) =>
              (test.inside === undefined || sort(operand) === sort(value)) && compare(value, operand) === 0,
          );
        };
      }
      const wanted = encoding.equal(operands);
      return (stored) => wanted.some((bytes) => equalBytes(bytes, stored!));
    }
    case 'startsWith':
      return (_, decode) => startsWithBytes(asBytes(test, decode()), asBytes(test, operands[0]));
    case 'endsWith':
      return (_, decode) => asText(test, decode()).endsWith(asText(test, operands[0]));
    case 'contains':
      return (_, decode) => asText(test, decode()).includes(asText(test, operands[0]));
    default: {
      const holds = SIGNS[test.operator];
      if (!encoding?.ordered) return (_, decode) => holds(compare(decode(), operands[0]));
      const bytes = encoding.encode(operands[0]);
      return (stored) => holds(compareBytes(stored!, bytes));
    }
  }
}

const SIGNS: Readonly<Record<'lt' | 'lte' | 'gt' | 'gte', (order: number) => boolean>> = {
  lt: (order) => order < 0,
  lte: (order) => order <= 0,
  gt: (order) => order > 0,
  gte: (order) => order >= 0,
};

function asBytes(test: Test, value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  return toBytes(asText(test, value));
}

function asText(test: Test, value: unknown): string {
  if (typeof value === 'string') return value;
  throw new QueryError(
    `where: ${test.property} holds a ${typeName(value)}; ${test.operator} goes with text${test.operator === 'startsWith' ? ' and bytes' : ''}.`,
    { details: { property: test.property } },
  );
}
