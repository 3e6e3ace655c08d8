/**
 * Converts entities to the items of each file format and back. The only loss is the difference between null and
 * undefined.
 */

import type { AvroSchema, JsonValue } from '../codec/index.js';
import { InvalidArgumentError, SchemaError } from '../errors.js';
import type { ParquetType } from '../job/files/parquet.js';
import { avroFiles, csvFiles, ndjsonFiles } from '../job/pipeline/file-sink.js';
import { parquetFiles } from '../job/pipeline/parquet-sink.js';
import type { Sink } from '../job/pipeline/sink.js';
import type { FileFormatName } from '../job/pipeline/source.js';
import { storedType, storedValue } from '../key/index.js';
import { type EntitySchema, isSingleCell } from '../schema/types.js';

type Plain = Readonly<Record<string, JsonValue>>;
type Properties = Readonly<Record<string, unknown>>;

export interface EntityFormat {
  sink(folder: string): Sink<never>;
  /** Converts an entity for the sink. */
  toItem(entity: Properties): unknown;
  /** Converts an item of a file to an entity. @throws RowanError, SyntaxError when it is invalid. */
  fromItem(item: unknown): object;
}

/**
 * Creates the conversion of a format.
 * @throws InvalidArgumentError for an unknown format; SchemaError for property names that the format cannot represent.
 */
export function entityFormat(
  format: FileFormatName,
  entity: EntitySchema,
  separator: string | undefined,
): EntityFormat {
  switch (format) {
    case 'ndjson':
      return new NdjsonEntities(entity);
    case 'csv':
      return new CsvEntities(entity, separator ?? ',');
    case 'avro':
      return new AvroEntities(entity);
    case 'parquet':
      return new ParquetEntities(entity);
    default:
      throw new InvalidArgumentError(
        `"${String(format)}" is not a file format of entities. Use ndjson, csv, avro or parquet.`,
      );
  }
}

class NdjsonEntities implements EntityFormat {
  constructor(private readonly entity: EntitySchema) {}

  sink(folder: string): Sink<never> {
    return ndjsonFiles(folder);
  }

  toItem(entity: Properties): unknown {
    return this.entity.mapper.toPlain(entity);
  }

  fromItem(item: unknown): object {
    return this.entity.mapper.fromPlain(objectOf(item));
  }
}

/**
 * A field holds a property's string, if its JSON is a string, else its JSON. A string that the property would also
 * accept as other JSON is written in JSON quotes.
 */
class CsvEntities implements EntityFormat {
  private readonly columns: readonly string[];
  /** The type of the JSON of a property's values, where its codec has one that it alone takes. */
  private readonly types: ReadonlyMap<string, string | undefined>;

  constructor(
    private readonly entity: EntitySchema,
    private readonly separator: string,
  ) {
    this.columns = propertiesOf(entity);
    this.types = new Map(this.columns.map((name) => [name, jsonTypeOf(entity, name)]));
  }

  sink(folder: string): Sink<never> {
    return csvFiles(folder, { columns: this.columns, separator: this.separator });
  }

  toItem(entity: Properties): unknown {
    const plain = this.entity.mapper.toPlain(entity);
    return Object.fromEntries(Object.entries(plain).map(([name, value]) => [name, this.textOf(name, value)]));
  }

  fromItem(item: unknown): object {
    const plain: Record<string, JsonValue> = {};
    for (const [name, text] of Object.entries(item as Readonly<Record<string, string>>)) {
      if (text !== '') plain[name] = this.valueOf(name, text);
    }
    return this.entity.mapper.fromPlain(plain);
  }

  private textOf(name: string, value: JsonValue): string {
    if (typeof value !== 'string') return JSON.stringify(value);
    return value === '' || this.valueOf(name, value) !== value ? JSON.stringify(value) : value;
  }

  private valueOf(name: string, text: string): JsonValue {
    const type = this.types.get(name);
    if (type === 'string' && !/^\s*"/.test(text)) return text;
    const value = jsonOf(text);
    if (value === undefined) return text;
    return typeof value === type || this.takes(name, value) ? value : text;
  }

  private takes(name: string, value: JsonValue): boolean {
    try {
      this.entity.mapper.fromPlain({ [name]: value });
      return true;
    } catch {
      return false;
    }
  }
}

const BIG_LONG: AvroSchema = { type: 'long', jsType: 'bigint' };

/** The Avro types for codecs with the same values. Other values are JSON strings. */
const AVRO_TYPES: ReadonlyMap<string, AvroSchema> = new Map<string, AvroSchema>([
  ['text', 'string'],
  ['boolean', 'boolean'],
  ['bytes', 'bytes'],
  ['date', { type: 'long', logicalType: 'timestamp-millis' }],
  ['int64', BIG_LONG],
  ['counter', BIG_LONG],
  ['float32', 'double'],
  ['float64', 'double'],
  ...['int8', 'int16', 'int32', 'uint8', 'uint16'].map((name): [string, AvroSchema] => [name, 'int']),
]);

/** The Parquet types, likewise. */
const PARQUET_TYPES: ReadonlyMap<string, ParquetType> = new Map<string, ParquetType>([
  ['text', 'text'],
  ['boolean', 'boolean'],
  ['bytes', 'bytes'],
  ['date', 'timestamp'],
  ['int64', 'int64'],
  ['counter', 'int64'],
  ['float32', 'float32'],
  ['float64', 'float64'],
  ...['int8', 'int16', 'int32', 'uint8', 'uint16'].map((name): [string, ParquetType] => [name, 'int32']),
]);

/** Files with typed columns. A property without a type is a JSON string. */
abstract class TypedEntities<T> implements EntityFormat {
  protected readonly types: ReadonlyMap<string, T | undefined>;

  constructor(
    protected readonly entity: EntitySchema,
    known: ReadonlyMap<string, T>,
    /** The type of 64-bit integers, which are strings in JSON. */
    private readonly long: T,
  ) {
    this.types = new Map(propertiesOf(entity).map((name) => [name, known.get(codecNameOf(entity, name))]));
  }

  abstract sink(folder: string): Sink<never>;

  toItem(entity: Properties): unknown {
    const plain = this.entity.mapper.toPlain(entity);
    const item: Record<string, unknown> = {};
    for (const [name, type] of this.types) {
      const value = entity[name];
      if (value === undefined || value === null) item[name] = null;
      else item[name] = type === undefined ? JSON.stringify(plain[name]) : storedOf(this.entity, name, value);
    }
    return item;
  }

  fromItem(item: unknown): object {
    const plain: Record<string, JsonValue> = {};
    for (const [name, value] of Object.entries(item as Properties)) {
      if (value === null || value === undefined) continue;
      const type = this.types.get(name);
      const isJson = this.types.has(name) && type === undefined && typeof value === 'string';
      // Files of other programs do not mark longs as bigints.
      const isLong = type === this.long && Number.isInteger(value);
      plain[name] = isJson ? (jsonOf(value) ?? value) : isLong ? String(value as number) : plainOf(value);
    }
    return this.entity.mapper.fromPlain(plain);
  }
}

class AvroEntities extends TypedEntities<AvroSchema> {
  private readonly schema: AvroSchema;

  constructor(entity: EntitySchema) {
    super(entity, AVRO_TYPES, BIG_LONG);
    const names = [...this.types.keys()];
    const unnamed = names.find((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
    if (unnamed !== undefined) {
      throw new SchemaError(
        `Avro cannot name a field "${unnamed}" of ${entity.name}: Avro names consist of letters, digits and "_". Export it as ndjson, csv or parquet.`,
      );
    }
    this.schema = {
      type: 'record',
      name: entity.name.replace(/[^A-Za-z0-9_]/g, '_').replace(/^(?=\d)/, '_'),
      fields: names.map((name) => ({ name, type: ['null', this.types.get(name) ?? 'string'] })),
    };
  }

  sink(folder: string): Sink<never> {
    return avroFiles(folder, this.schema);
  }
}

class ParquetEntities extends TypedEntities<ParquetType> {
  constructor(entity: EntitySchema) {
    super(entity, PARQUET_TYPES, 'int64');
  }

  sink(folder: string): Sink<never> {
    return parquetFiles(
      folder,
      Object.fromEntries([...this.types].map(([name, type]) => [name, type ?? 'text'])),
    );
  }
}

function plainOf(value: unknown): JsonValue {
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  return typeof value === 'bigint' ? String(value) : (value as JsonValue);
}

function codecNameOf(entity: EntitySchema, name: string): string {
  return singleCodec(entity, name)?.name ?? '';
}

/** The types of values in JSON, of codecs that take no other. */
const JSON_TYPES: ReadonlyMap<string, string> = new Map([
  ['text', 'string'],
  ['boolean', 'boolean'],
  ...['int8', 'int16', 'int32', 'uint8', 'uint16', 'uint32', 'float32', 'float64'].map(
    (name): [string, string] => [name, 'number'],
  ),
]);

/** The type of a property's values in JSON; undefined where it is not known, or there are several. */
function jsonTypeOf(entity: EntitySchema, name: string): string | undefined {
  const codec = singleCodec(entity, name);
  if (codec === undefined) return undefined;
  return storedType(codec) === undefined ? JSON_TYPES.get(codec.name) : 'string';
}

/** What is stored for a value of a property with a known type. */
function storedOf(entity: EntitySchema, name: string, value: unknown): unknown {
  return storedValue(singleCodec(entity, name)!, value);
}

/** The codec of a property that is one column or key part; undefined for others. */
function singleCodec(entity: EntitySchema, name: string): { readonly name: string } | undefined {
  const column = entity.columnsByProperty.get(name);
  const part = entity.key.parts.find((each) => each.name === name);
  if (column !== undefined && !isSingleCell(column)) return undefined;
  return (column ?? part)?.codec;
}

/** The properties of entities, as named by `toPlain`: the key parts, then columns in the order of declaration. */
export function propertiesOf({ key, columns }: EntitySchema): string[] {
  const windows = new Set(columns.map(({ window }) => window?.part));
  const parts = key.parts.filter(({ recoverable, name }) => recoverable || windows.has(name));
  const declared = [...columns].sort((a, b) => a.order - b.order);
  return [...new Set([...parts.map(({ name }) => name), ...declared.map(({ path }) => path[0]!)])];
}

/** What JSON can begin with. A failed parse takes 20 us, so that most texts that are not JSON are told by it. */
const JSON_BEGINNING = /^\s*(?:["{[]|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?\s*$|(?:true|false|null)\s*$)/;

/** Undefined if the text is not valid JSON. */
function jsonOf(text: string): JsonValue | undefined {
  if (!JSON_BEGINNING.test(text)) return undefined;
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

function objectOf(value: unknown): Plain {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Plain;
  throw new InvalidArgumentError('It is not a JSON object.');
}
