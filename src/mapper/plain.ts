/** Converts entities to JSON values and back, without loss: for exports, tools and tests. */

import { compareBytes } from '../bytes/index.js';
import { accepts, type JsonValue } from '../codec/index.js';
import { InvalidArgumentError } from '../errors.js';
import { storedCodec, storedType, storedValue, valueOfStored } from '../key/codecs/index.js';
import type { ColumnSchema, ValueCodec } from '../schema/types.js';
import { isRecord } from '../table/checks.js';
import type { MappedEntity, ObjectShape, ShapeProperty } from './shape.js';
import { fromTagged, toTagged } from './tagged.js';

type Properties = Record<string, unknown>;
type PlainObject = Record<string, JsonValue>;

/** A codec that can test a value by encoding it. */
type Encoder = Pick<ValueCodec<unknown>, 'name' | 'encode'>;

/**
 * Converts the objects of one entity. Dates become ISO texts, bigints decimal texts, bytes base64, Maps lists of
 * [key, value], values of user-defined codecs tagged objects. So do scalars whose text the codec would read as another value, as
 * those of a union, and NaN and -0. Undefined is omitted, null is kept.
 */
export class PlainConverter {
  /** The names of a shape's properties. */
  private readonly names = new Map<ObjectShape, ReadonlySet<string>>();

  constructor(
    private readonly entity: MappedEntity,
    private readonly shape: ObjectShape,
  ) {}

  /** @throws InvalidArgumentError naming the property when its codec refuses a value. */
  toPlain(source: Readonly<Properties>): PlainObject {
    return this.objectToPlain(this.shape, source, '');
  }

  /** An instance, without calling the constructor. @throws InvalidArgumentError naming the property. */
  fromPlain(plain: Readonly<PlainObject>): object {
    return this.objectFromPlain(this.shape, plain, '');
  }

  private objectToPlain(shape: ObjectShape, source: Readonly<Properties>, path: string): PlainObject {
    const plain: PlainObject = {};
    for (const property of shape.properties) {
      const value = source[property.name];
      if (value === undefined) continue;
      plain[property.name] = value === null ? null : this.propertyToPlain(property, value, path);
    }
    return plain;
  }

  private propertyToPlain(property: ShapeProperty, value: unknown, path: string): JsonValue {
    try {
      return property.kind === 'embedded'
        ? this.objectToPlain(property.shape, value as Properties, join(path, property.name))
        : this.valueToPlain(property, value);
    } catch (cause) {
      throw this.located(join(path, property.name), cause);
    }
  }

  private objectFromPlain(shape: ObjectShape, plain: unknown, path: string): object {
    if (!isRecord(plain)) {
      throw this.wrong(path, 'an object is wanted');
    }
    const names = this.namesOf(shape);
    for (const name of Object.keys(plain)) {
      if (!names.has(name))
        throw this.wrong(join(path, name), `it is not stored. Stored: ${[...names].join(', ')}`);
    }
    const entity = Object.create(shape.target.prototype as object) as Properties;
    for (const property of shape.properties) {
      const value = (plain as PlainObject)[property.name];
      entity[property.name] =
        value === undefined || value === null ? value : this.propertyFromPlain(property, value, path);
    }
    return entity;
  }

  private propertyFromPlain(property: ShapeProperty, value: JsonValue, path: string): unknown {
    try {
      return property.kind === 'embedded'
        ? this.objectFromPlain(property.shape, value, join(path, property.name))
        : this.valueFromPlain(property, value);
    } catch (cause) {
      throw this.located(join(path, property.name), cause);
    }
  }

  private namesOf(shape: ObjectShape): ReadonlySet<string> {
    let names = this.names.get(shape);
    if (names === undefined) {
      names = new Set(shape.properties.map(({ name }) => name));
      this.names.set(shape, names);
    }
    return names;
  }

  private valueToPlain(property: ShapeProperty, value: unknown): JsonValue {
    if (property.kind !== 'column') return valueToScalar(this.partCodec(property.name), value);
    const column = this.entity.columns[property.slot]!;
    switch (column.kind) {
      case 'columns':
        return [...(value as ReadonlyMap<unknown, unknown>)].map(([key, inner]) => [
          column.window === undefined ? valueToScalar(column.qualifierCodec!, key) : toTagged(key),
          inner === null ? null : columnToPlain(column, inner),
        ]);
      case 'versions':
        return (value as readonly { value: unknown; timestamp?: number }[]).map((version) => ({
          value: columnToPlain(column, version.value),
          ...(version.timestamp === undefined ? {} : { timestamp: version.timestamp }),
        }));
      default:
        return columnToPlain(column, value);
    }
  }

  private valueFromPlain(property: ShapeProperty, plain: JsonValue): unknown {
    if (property.kind !== 'column') {
      return valueFromScalar(this.partCodec(property.name), plain);
    }
    const column = this.entity.columns[property.slot]!;
    switch (column.kind) {
      case 'columns':
        return new Map(
          (plain as readonly (readonly [JsonValue, JsonValue])[]).map(([key, inner]) => [
            column.window === undefined ? valueFromScalar(column.qualifierCodec!, key) : key,
            inner === null ? null : columnFromPlain(column, inner),
          ]),
        );
      case 'versions':
        return (plain as readonly { value: JsonValue; timestamp?: number }[]).map((version) => ({
          ...version,
          value: columnFromPlain(column, version.value),
        }));
      default:
        return columnFromPlain(column, plain);
    }
  }

  private partCodec(part: string): Encoder {
    return this.entity.key.parts.find(({ name }) => name === part)!.codec as unknown as Encoder;
  }

  /** The error of a property; one that names a property already stays. */
  private located(property: string, cause: unknown): unknown {
    if (cause instanceof InvalidArgumentError && cause.details.entity !== undefined) return cause;
    return this.wrong(property, (cause as Error).message, cause);
  }

  private wrong(property: string, why: string, cause?: unknown): InvalidArgumentError {
    const { name } = this.entity;
    const where = property === '' ? `Entity "${name}"` : `Entity "${name}", property "${property}"`;
    return new InvalidArgumentError(`${where}: ${why}`, { cause, details: { entity: name, property } });
  }
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

function columnToPlain(column: ColumnSchema, given: unknown): JsonValue {
  const codec = storedCodec(column.codec);
  const value = storedValue(column.codec, given);
  if (codec.name === 'json') return JSON.parse(Buffer.from(codec.encode(value)).toString()) as JsonValue;
  if (typeof value !== 'object' || value instanceof Date || value instanceof Uint8Array) {
    return scalarToPlain(codec, value);
  }
  return toTagged(value, true);
}

function columnFromPlain({ codec }: ColumnSchema, plain: JsonValue): unknown {
  if (codec.name === 'json') return codec.decode(Buffer.from(JSON.stringify(plain)));
  if (typeof plain === 'object') return valueOfStored(codec, fromTagged(plain));
  return valueFromScalar(codec, plain);
}

function valueToScalar(codec: Encoder, value: unknown): JsonValue {
  return scalarToPlain(storedCodec(codec), storedValue(codec, value));
}

function valueFromScalar(codec: Encoder, plain: JsonValue): unknown {
  return valueOfStored(codec, scalarFromPlain(storedCodec(codec), plain));
}

function scalarToPlain(codec: Encoder, value: unknown): JsonValue {
  if (typeof value === 'number' && Object.is(value, -0)) return numberToPlain(codec);
  const text = textOf(value);
  if (text === undefined) return toTagged(value);
  const kind = KINDS.findIndex(({ isOne }) => isOne(value));
  return kindsOf(codec).some((other) => other < kind) ? toTagged(value) : text;
}

/** The text of a scalar that JSON lacks; undefined for the others. */
function textOf(value: unknown): string | undefined {
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (typeof value === 'bigint') return String(value);
  return value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY ? String(value) : undefined;
}

/** -0, which JSON does not tell from 0, as the codec stores it. */
function numberToPlain(codec: Encoder): JsonValue {
  return compareBytes(codec.encode(0), codec.encode(-0)) === 0 ? 0 : { $number: '-0' };
}

/** The kinds of values that become texts, in the order of {@link READINGS}, and values that most codecs of the kind accept. */
const KINDS: readonly { isOne(value: unknown): boolean; readonly samples: readonly unknown[] }[] = [
  {
    isOne: (value) => typeof value === 'string',
    samples: ['', '0', 'AAAA', 'Infinity', '1970-01-01T00:00:00.000Z'],
  },
  { isOne: (value) => typeof value === 'bigint', samples: [0n] },
  { isOne: (value) => typeof value === 'number', samples: [Number.POSITIVE_INFINITY] },
  { isOne: (value) => value instanceof Date, samples: [new Date(0)] },
  { isOne: (value) => value instanceof Uint8Array, samples: [new Uint8Array(0)] },
];

const kindsOfCodecs = new WeakMap<Encoder, readonly number[]>();

/** The kinds that a codec accepts: several of a union, or of a user-defined codec. */
function kindsOf(codec: Encoder): readonly number[] {
  const known = kindsOfCodecs.get(codec);
  if (known !== undefined) return known;
  const kinds = KINDS.flatMap(({ samples }, kind) =>
    samples.some((sample) => accepts(codec, sample)) ? [kind] : [],
  );
  kindsOfCodecs.set(codec, kinds);
  return kinds;
}

/** The value that the codec accepts. Scalars of which several interpretations fit are tagged. */
function scalarFromPlain(codec: Encoder, plain: JsonValue): unknown {
  if (typeof plain === 'object' && plain !== null) return fromTagged(plain);
  if (typeof plain !== 'string') {
    codec.encode(plain);
    return plain;
  }
  const type = storedType(codec);
  const known = type && READING_OF[type](plain);
  if (known !== undefined) {
    codec.encode(known);
    return known;
  }
  let refusal: unknown;
  for (const read of READINGS) {
    const value = read(plain);
    if (value === undefined) continue;
    try {
      codec.encode(value);
      return value;
    } catch (error) {
      refusal ??= error;
    }
  }
  throw refusal;
}

type Reading = (text: string) => unknown;

const asBigInt: Reading = (text) => (/^-?\d+$/.test(text) ? BigInt(text) : undefined);
const asDate: Reading = (text) => {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? undefined : date;
};
const asBytes: Reading = (text) => (isBase64(text) ? new Uint8Array(Buffer.from(text, 'base64')) : undefined);

/** The interpretations of a text, the text itself first. */
const READINGS: readonly Reading[] = [
  (text) => text,
  asBigInt,
  (text) => (/^-?Infinity$/.test(text) ? Number(text) : undefined),
  asDate,
  asBytes,
];

/** The only interpretation that a codec of one type takes: the errors of refused ones would take 20 us each. */
const READING_OF: Readonly<Record<'bigint' | 'date' | 'bytes', Reading>> = {
  bigint: asBigInt,
  date: asDate,
  bytes: asBytes,
};

function isBase64(text: string): boolean {
  return /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text);
}
