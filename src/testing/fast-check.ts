/**
 * `rowan-orm/testing/fast-check`: arbitraries of entities, derived from their declarations. A separate entry point, since fast-check is an optional peer dependency.
 */

import fc from 'fast-check';
import {
  cidr,
  codecKind,
  decimalText,
  enumerationNames,
  enumerationNumbers,
  ipv6,
  ksuid,
} from '../codec/index.js';
import { SchemaError } from '../errors.js';
import { GEOHASH_DIGITS } from '../key/codecs/geohash.js';
import { conversionOf, isOfDays, isStoredForm, valueOfStored } from '../key/codecs/index.js';
import { schemaOf } from '../mapper/index.js';
import { listedCodec } from '../schema/derived.js';
import type { Input, KeyedClass } from '../schema/entity-types.js';
import { givenColumns } from '../schema/lifecycle.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';

const DAY = 86_400_000;

/** The part of a codec that is used. */
interface AnyCodec {
  readonly name: string;
  encode(value: unknown): Uint8Array;
  decode(bytes: Uint8Array): unknown;
}

/** Custom arbitraries, by property; for an embedded object, of the whole object. */
export type Overrides<C extends KeyedClass> = { readonly [P in keyof Input<C>]?: fc.Arbitrary<Input<C>[P]> };

/**
 * Creates an arbitrary of entities that can be put: each key part and column has a value that its codec accepts.
 * Counters, histories (`@Versions`), packed columns and properties that Rowan sets are omitted; give an override to
 * include them. ⏎@param target The entity class. ⏎@param overrides Arbitraries for properties with a meaning to the
 * program.
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
  const schema = schemaOf(target);
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

/** The arbitrary at a path: of a column, or of an embedded object. */
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
  const listed = listedCodec(schema, column.property);
  if (listed !== undefined) {
    const item = valid(schema, column.property, listed as unknown as AnyCodec, true);
    return fc.array(item, { maxLength: 5 });
  }
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

/** Filters out values that the codec refuses, and empty texts and bytes in keys, since a row key must not be empty. */
function valid(
  schema: EntitySchema,
  property: string,
  codec: AnyCodec,
  inKey: boolean,
): fc.Arbitrary<unknown> {
  const known = valuesOf(codec);
  if (known === undefined) {
    throw new SchemaError(
      `entities(${schema.name}): no values can be generated for ${property}, whose codec is ${codec.name}. Pass an override: entities(${schema.name}, { ${property}: fc.… }).`,
    );
  }
  const values = conversionOf(codec) === undefined ? known : transformedValues(codec, known);
  return values.filter((value) => {
    try {
      const { length } = codec.encode(value);
      return length <= 1000 && (!inKey || length > 0);
    } catch {
      return false;
    }
  });
}

function transformedValues(codec: AnyCodec, known: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const midnight = (at: unknown): Date => new Date(Math.floor((at as Date).getTime() / DAY) * DAY);
  return (isOfDays(codec) ? known.map(midnight) : known)
    .filter((stored) => isStoredForm(codec, stored))
    .map((stored) => valueOfStored(codec, stored));
}

function bytesOf(count: number): fc.Arbitrary<Uint8Array> {
  return fc.uint8Array({ minLength: count, maxLength: count });
}

/** Networks of both kinds, as the codec's bytes: an address whose bits after the prefix are zero, and the prefix. */
function networks(): fc.Arbitrary<string> {
  return fc.tuple(fc.boolean(), bytesOf(16), fc.nat(128)).map(([isV4, address, length]) => {
    const bits = isV4 ? 96 + Math.floor(length / 4) : length;
    const all = isV4 ? [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, ...address.subarray(12)] : [...address];
    const network = all.map((byte, i) => byte & ~(0xff >> Math.min(8, Math.max(0, bits - 8 * i))));
    return cidr.decode(Uint8Array.of(...network, bits));
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
  // -0 is stored as 0, so it would not be read back unchanged.
  float64: fc.double({ noNaN: true }).map((value) => value + 0),
  float32: fc.float({ noNaN: true }).map((value) => value + 0),
  float: fc.float({ noNaN: true }).map((value) => value + 0),
  uuid: fc.uuid(),
  ulid: fc.ulid(),
  ksuid: bytesOf(20).map((bytes) => ksuid.decode(bytes)),
  ipv4: fc.ipV4(),
  ipv6: bytesOf(16).map((bytes) => ipv6.decode(bytes)),
  cidr: networks(),
  // JSON columns refuse the key "__proto__", which fast-check generates often. The value is parsed from its text, since
  // JSON does not preserve -0.
  json: fc
    .jsonValue()
    .filter((value) => value !== null && !JSON.stringify(value).includes('"__proto__"'))
    .map((value) => JSON.parse(JSON.stringify(value)) as unknown),
};

/** Values for a codec, by its name with parameters. Undefined for a codec that is not one of Rowan's. */
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
    case 'geohash':
      return fc.string({
        unit: fc.constantFrom(...GEOHASH_DIGITS),
        minLength: count,
        maxLength: count,
      });
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
    case 'numericEnum':
      return fc.constantFrom(...enumerationNumbers(known));
    default:
      return WHOLE[kind];
  }
}
