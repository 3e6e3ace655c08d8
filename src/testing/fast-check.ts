/**
 * `rowan-orm/testing/fast-check`: arbitraries of entities, made from their declarations. An entry of its own, for
 * fast-check is an optional peer.
 */

import fc from 'fast-check';
import { codecKind, decimalText, enumerationNames } from '../codec/index.js';
import { SchemaError } from '../errors.js';
import { compileSchema } from '../mapper/index.js';
import type { Input, KeyedClass } from '../schema/entity-types.js';
import { givenColumns } from '../schema/lifecycle.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';

/** What is used of a codec of keys or columns. */
interface AnyCodec {
  readonly name: string;
  encode(value: unknown): Uint8Array;
  decode(bytes: Uint8Array): unknown;
}

/** Arbitraries of one's own, by property; of an embedded object, for the whole of it. */
export type Overrides<C extends KeyedClass> = { readonly [P in keyof Input<C>]?: fc.Arbitrary<Input<C>[P]> };

/**
 * An arbitrary of entities that can be put: each key part and column has a value that its codec takes. Left out are
 * counters, histories (`@Versions`), packed columns, and what Rowan sets itself; give an override where one is wanted.
 *
 * @param target The entity class.
 * @param overrides Arbitraries for the properties that mean something to the program.
 * @throws SchemaError on wrong declarations, and on a column whose codec is not one of Rowan's and has no override.
 * @example
 * ```ts
 * fc.assert(fc.asyncProperty(entities(Order), async (order) => { … }));
 * ```
 */
export function entities<C extends KeyedClass>(
  target: C,
  overrides: Overrides<C> = {},
): fc.Arbitrary<Input<C>> {
  const schema = compileSchema([target]).entities[0]!;
  const properties: Record<string, fc.Arbitrary<unknown>> = {
    ...(overrides as Record<string, fc.Arbitrary<unknown>>),
  };
  for (const part of schema.key.parts) {
    properties[part.name] ??= valid(schema, part.name, part.codec as unknown as AnyCodec, true);
  }
  const columns = givenColumns(schema);
  const outer = new Set(columns.map(({ path }) => path[0]!).filter((name) => properties[name] === undefined));
  for (const name of outer) properties[name] = objectOrValue(schema, columns, [name]);
  return fc.record(properties, { noNullPrototype: true }) as unknown as fc.Arbitrary<Input<C>>;
}

/** The arbitrary of what stands at a path: a column, or an embedded object of columns. */
function objectOrValue(
  schema: EntitySchema,
  columns: readonly ColumnSchema[],
  path: readonly string[],
): fc.Arbitrary<unknown> {
  const below = columns.filter((column) => path.every((step, at) => column.path[at] === step));
  const own = below.find((column) => column.path.length === path.length);
  if (own !== undefined) return columnValue(schema, own);
  const steps = [...new Set(below.map((column) => column.path[path.length]!))];
  return fc.record(
    Object.fromEntries(steps.map((step) => [step, objectOrValue(schema, columns, [...path, step])])),
    { noNullPrototype: true },
  );
}

function columnValue(schema: EntitySchema, column: ColumnSchema): fc.Arbitrary<unknown> {
  const value = valid(schema, column.property, column.codec as unknown as AnyCodec, false);
  if (column.kind === 'column') return value;
  const key = valid(schema, column.property, column.qualifierCodec as unknown as AnyCodec, true);
  return fc
    .uniqueArray(fc.tuple(key, value), {
      maxLength: 5,
      selector: ([name]) =>
        Buffer.from((column.qualifierCodec as unknown as AnyCodec).encode(name)).toString('hex'),
    })
    .map((entries) => new Map(entries));
}

/** Values that the codec takes; texts and bytes of keys are not empty, for an empty row is none. */
function valid(
  schema: EntitySchema,
  property: string,
  codec: AnyCodec,
  inKey: boolean,
): fc.Arbitrary<unknown> {
  const known = valuesOf(codec);
  if (known === undefined) {
    throw new SchemaError(
      `entities(${schema.name}): no values are known for ${property}, whose codec is ${codec.name}. Give an override: entities(${schema.name}, { ${property}: fc.… }).`,
    );
  }
  return known.filter((value) => {
    try {
      const { length } = codec.encode(value);
      return length <= 1000 && (!inKey || length > 0);
    } catch {
      return false;
    }
  });
}

const WHOLE: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  text: fc.string({ unit: 'grapheme', maxLength: 40 }),
  boolean: fc.boolean(),
  bytes: fc.uint8Array({ maxLength: 40 }),
  date: fc.date({ noInvalidDate: true }),
  reverseTimestamp: fc.date({ min: new Date(0), noInvalidDate: true }),
  timeBucket: fc.date({ min: new Date(0), noInvalidDate: true }),
  int8: fc.integer({ min: -128, max: 127 }),
  int16: fc.integer({ min: -32768, max: 32767 }),
  int32: fc.integer(),
  uint8: fc.nat(255),
  uint16: fc.nat(65535),
  uint32: fc.integer({ min: 0, max: 0xffffffff }),
  int53: fc.maxSafeInteger(),
  int64: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  uint64: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  bigint: fc.bigInt({ min: -(2n ** 100n), max: 2n ** 100n }),
  // -0 is stored as 0: one that is put and got again would not be the same.
  float64: fc.double({ noNaN: true }).map((value) => value + 0),
  float32: fc.float({ noNaN: true }).map((value) => value + 0),
  float: fc.float({ noNaN: true }).map((value) => value + 0),
  uuid: fc.uuid(),
  ulid: fc.ulid(),
  // JSON columns refuse a key "__proto__", which fast-check likes to give.
  // As its text is read again: -0 is not written as such.
  json: fc
    .jsonValue()
    .filter((value) => value !== null && !JSON.stringify(value).includes('"__proto__"'))
    .map((value) => JSON.parse(JSON.stringify(value)) as unknown),
};

/** Values for a codec by its name, which says its parameters too. Undefined for a codec of somebody else. */
function valuesOf(codec: AnyCodec): fc.Arbitrary<unknown> | undefined {
  const known = codecKind(codec.name);
  if (known === undefined) return undefined;
  const { kind, inner, count } = known;
  switch (kind) {
    case 'desc':
    case 'reverse':
      return valuesOf({ name: inner, encode: (v) => codec.encode(v), decode: (b) => codec.decode(b) });
    case 'fixedString':
      return fc.string({ maxLength: count });
    case 'fixedBytes':
      return fc.uint8Array({ minLength: count, maxLength: count });
    case 'textNumber':
      return inner.includes('bigint')
        ? fc.bigInt({ min: 0n, max: 10n ** BigInt(count) - 1n })
        : fc.nat(Math.min(Number.MAX_SAFE_INTEGER, 10 ** count - 1));
    case 'decimal':
      return fc
        .bigInt({ min: -(10n ** 18n), max: 10n ** 18n })
        .map((unscaled) => decimalText(unscaled, count));
    case 'enumeration':
      return fc.constantFrom(...enumerationNames(known));
    default:
      return WHOLE[kind];
  }
}
