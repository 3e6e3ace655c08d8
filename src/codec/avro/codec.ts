import type avsc from 'avsc';
import { toHex } from '../../bytes/index.js';
import { CorruptionError, RowanError, SchemaError } from '../../errors.js';
import { describe, optionsProblem } from '../../table/checks.js';
import type { ValueCodec } from '../scalars.js';
import { type RecordClasses, readerType, writerType } from './avro-type.js';
import { type BoundsCheck, boundsCheck, lossIn } from './bounds.js';
import { incompatibilities } from './compatibility.js';
import { canonicalForm, fingerprintOf, knownSchema, learnSchema, UnknownSchemaError } from './fingerprint.js';
import type { AvroSchema } from './schema.js';
import type { CompatibilityLevel } from './schema-store.js';

/** How many values without bytes (nulls, empty records) one block may have; their size does not limit their number. */
const MAX_EMPTY_VALUES = 65_536;

/**
 * Reads consecutive values of one schema, as in Avro container files, with the same conversions as {@link AvroCodec}.
 */
export class AvroValues {
  private readonly type: avsc.Type;
  private readonly bounds: BoundsCheck | undefined;

  /**
   * Creates a reader.
   * @throws SchemaError when the schema is invalid.
   */
  constructor(schema: AvroSchema) {
    this.type = readerType(schema);
    this.bounds = boundsCheck(this.type);
  }

  /** Must be called before the values are read. @throws Error when the bytes are not exactly `values` values. */
  check(bytes: Uint8Array, values: number): void {
    if (values > bytes.length + MAX_EMPTY_VALUES) {
      throw new CorruptionError(`${bytes.length} bytes cannot be ${values} values`);
    }
    this.bounds?.(bytes, values);
  }

  /**
   * Reads one value.
   * @throws Error when the bytes end within the value.
   */
  read(bytes: Buffer, at: number): { readonly value: unknown; readonly end: number } {
    const { value, offset } = this.type.decode(bytes, at);
    if (offset < 0 || offset > bytes.length) throw new CorruptionError('a value extends beyond its block');
    return { value, end: offset };
  }
}

// — Avro columns. Each value carries the fingerprint of the schema that wrote it.

/** C3 01 and the 8 bytes of the fingerprint (Avro specification, "Single-object encoding"). */
const HEADER = 10;

export interface AvroCodecOptions {
  /** Classes by record name; decoded records become instances. Default: plain objects. */
  readonly classes?: RecordClasses;
  /** The compatibility required of a changed schema when a database registers it. Default `backward`. */
  readonly compatibility?: CompatibilityLevel;
}

/**
 * A codec of Avro values in single-object encoding: C3 01, the CRC-64-AVRO of the writer's schema, the value. Values of
 * other schemas are read by Avro's schema resolution. The writer's schema must be known (by `learnSchema`, or an
 * `AvroRegistry`), else `decode` throws an {@link UnknownSchemaError} with its fingerprint.
 */
export class AvroCodec<T> implements ValueCodec<T> {
  /** Contains the name of the schema, not its fingerprint, so that it stays the same when the schema evolves. */
  readonly name: string;
  readonly ordered = false;
  readonly schema: AvroSchema;
  readonly compatibility: CompatibilityLevel;
  /** Fingerprint of the schema that this codec writes, in hex, in the byte order of stored values. */
  readonly fingerprint: string;
  private readonly type: avsc.Type;
  private readonly bounds: BoundsCheck | undefined;
  private readonly writers = new Map<string, Writer>();
  private buffer: Buffer;

  constructor(schema: AvroSchema, options: AvroCodecOptions = {}) {
    const problem = optionsProblem('An Avro codec', options, OPTIONS);
    if (problem !== undefined) throw new SchemaError(problem);
    this.schema = schema;
    this.compatibility = checkLevel(options.compatibility ?? 'backward');
    this.type = readerType(schema, options.classes);
    this.bounds = boundsCheck(this.type);
    const own = fingerprintOf(schema);
    this.fingerprint = toHex(own);
    this.name = `avro(${this.label})`;
    this.buffer = this.makeBuffer(1024, own);
    learnSchema(schema);
  }

  private makeBuffer(size: number, fingerprint: Uint8Array): Buffer {
    const buffer = Buffer.alloc(size);
    buffer[0] = 0xc3;
    buffer[1] = 0x01;
    buffer.set(fingerprint, 2);
    return buffer;
  }

  encode(value: T): Uint8Array {
    if (!this.type.isValid(value, STRICT)) throw this.invalid(value);
    const loss = lossIn(value);
    if (loss !== undefined) {
      throw new RowanError('ERR_CODEC', `The Avro schema "${this.label}" cannot hold the value: ${loss}.`, {
        details: { codec: this.name },
      });
    }
    let end = this.type.encode(value, this.buffer, HEADER);
    if (end < 0) {
      const larger = this.makeBuffer(2 * (this.buffer.length - end), this.buffer.subarray(2, HEADER));
      this.buffer = larger;
      end = this.type.encode(value, larger, HEADER);
    }
    return new Uint8Array(this.buffer.subarray(0, end));
  }

  private invalid(value: T): RowanError {
    const problems: string[] = [];
    this.type.isValid(value, {
      ...STRICT,
      errorHook: (path: string[], part: unknown, type: avsc.Type) => {
        if (problems.length < 10) problems.push(problemAt(path, part, type));
      },
    });
    return new RowanError(
      'ERR_CODEC',
      `The Avro schema "${this.label}" cannot hold the value: ${problems.join('; ')}.`,
      {
        details: { codec: this.name, problems },
      },
    );
  }

  private get label(): string {
    return this.type.name ?? this.type.typeName;
  }

  decode(bytes: Uint8Array): T {
    if (bytes.length < HEADER || bytes[0] !== 0xc3 || bytes[1] !== 0x01) {
      throw new RowanError(
        'ERR_CODEC',
        `Not a value in Avro single-object encoding: it has ${bytes.length} bytes and begins ${toHex(bytes.subarray(0, 2)) || '(empty)'}, not c301.`,
        { details: { codec: this.name } },
      );
    }
    const body = Buffer.from(bytes.buffer, bytes.byteOffset + HEADER, bytes.length - HEADER);
    const writer = this.isOwn(bytes) ? undefined : this.writerOf(toHex(bytes.subarray(2, HEADER)));
    try {
      (writer === undefined ? this.bounds : writer.bounds)?.(body);
      return this.type.fromBuffer(body, writer?.resolver) as T;
    } catch (cause) {
      throw new RowanError(
        'ERR_CODEC',
        `Damaged Avro value of "${this.label}": ${(cause as Error).message}.`,
        {
          cause,
          details: { codec: this.name },
        },
      );
    }
  }

  private isOwn(bytes: Uint8Array): boolean {
    for (let i = 2; i < HEADER; i++) if (bytes[i] !== this.buffer[i]) return false;
    return true;
  }

  private writerOf(fingerprint: string): Writer {
    const found = this.writers.get(fingerprint);
    if (found !== undefined) return found;
    const schema = knownSchema(fingerprint);
    if (schema === undefined) throw new UnknownSchemaError(fingerprint, this.label);
    const problems = incompatibilities(this.schema, schema);
    if (problems.length > 0) {
      const list = problems.map(({ path, message }) => `${path}: ${message}`);
      throw new RowanError(
        'ERR_CODEC',
        `The Avro schema "${this.label}" cannot read a value that schema ${fingerprint} wrote: ${list.join('; ')}. Give added fields a default, and keep old names as aliases.`,
        { details: { codec: this.name, fingerprint, problems: list } },
      );
    }
    const type = writerType(schema);
    const resolver = this.type.createResolver(type, { ignoreNamespaces: true });
    const writer = { resolver, bounds: boundsCheck(type) };
    this.writers.set(fingerprint, writer);
    return writer;
  }
}

/** Reads the values of another schema. */
interface Writer {
  readonly resolver: avsc.Resolver;
  readonly bounds: BoundsCheck | undefined;
}

const OPTIONS: Readonly<Record<keyof AvroCodecOptions, true>> = { classes: true, compatibility: true };

const LEVELS: readonly CompatibilityLevel[] = ['none', 'backward', 'forward', 'full'];

function checkLevel(level: CompatibilityLevel): CompatibilityLevel {
  if (LEVELS.includes(level)) return level;
  throw new SchemaError(`"${String(level)}" is not a compatibility level. Use one of ${LEVELS.join(', ')}.`);
}

/** Otherwise fields that the schema does not have would be lost silently. */
const STRICT = { noUndeclaredFields: true };

function problemAt(path: readonly string[], part: unknown, type: avsc.Type): string {
  const where = path.length === 0 ? 'the value' : path.join('.');
  const wanted = type.name === undefined ? type.typeName.replace(/^(logical|abstract):/, '') : type.name;
  if (typeof part === 'object' && part !== null && 'fields' in type) {
    const fields = (type as avsc.types.RecordType).fields.map(({ name }) => name);
    const extra = Object.keys(part).filter((name) => !fields.includes(name));
    if (extra.length > 0) return `${where} has ${extra.join(', ')}, which ${wanted} does not declare`;
  }
  return `${where} is ${describe(part)}, which is not of type ${wanted}`;
}

/** Whether two schemas have the same canonical form, and so read the same bytes in the same way. */
export function sameAvroSchema(a: AvroSchema, b: AvroSchema): boolean {
  return canonicalForm(a) === canonicalForm(b);
}

/** Creates a codec of an Avro type made with `avro`, or of a schema given as JSON. */
export function avroCodec<A extends AvroType<unknown>>(
  type: A,
  options?: AvroCodecOptions,
): AvroCodec<AvroValue<A>>;
export function avroCodec<T = unknown>(
  schema: AvroSchema | AvroType<unknown>,
  options?: AvroCodecOptions,
): AvroCodec<T>;
export function avroCodec(
  of: AvroSchema | AvroType<unknown>,
  options?: AvroCodecOptions,
): AvroCodec<unknown> {
  const schema =
    typeof of === 'object' && of !== null && !Array.isArray(of) && 'schema' in of
      ? (of as AvroType<unknown>).schema
      : of;
  return new AvroCodec(schema as AvroSchema, options);
}

/** A schema and, in types only, the type of its values. */
export interface AvroType<T> {
  readonly schema: AvroSchema;
  /** The value to read from an older value without the field; undefined if there is none. */
  readonly default: unknown;
  readonly $value?: T;
}

/** The TypeScript type of an Avro type's values. */
export type AvroValue<A> = A extends { readonly $value?: infer T } ? Exclude<T, undefined> : never;

/** Fields of a record by name: an AvroType, or one with the former names of the field. */
export type AvroFields = Readonly<Record<string, AvroType<unknown>>>;

/** The type of a record of these fields. */
export type AvroRecordOf<F extends AvroFields> = { -readonly [Name in keyof F]: AvroValue<F[Name]> };

function type<T>(schema: AvroSchema): AvroType<T> {
  return Object.freeze({ schema, default: undefined });
}

/** Returns the type with a default, given in the schema's own JSON. */
function defaulted<T>(of: AvroType<T>, value: unknown): AvroType<T> {
  return Object.freeze({ ...of, default: value });
}

const bytes: AvroType<Uint8Array> = type('bytes');

/** Functions that make Avro types with the TypeScript type of their values. `avroSchemaOf` makes records of them. */
export const avro = Object.freeze({
  string: type<string>('string'),
  boolean: type<boolean>('boolean'),
  int: type<number>('int'),
  /** An integer whose absolute value is at most 2^53-2. Others are errors, in writes and reads. */
  long: type<number>('long'),
  /** All 64 bits, as a bigint. */
  bigLong: type<bigint>({ type: 'long', jsType: 'bigint' }),
  /** Rounded to 32 bits. */
  float: type<number>('float'),
  double: type<number>('double'),
  bytes,
  /** A Date at midnight UTC. */
  date: type<Date>({ type: 'int', logicalType: 'date' }),
  timestampMillis: type<Date>({ type: 'long', logicalType: 'timestamp-millis' }),
  uuid: type<string>({ type: 'string', logicalType: 'uuid' }),
  /** An exact number as a string of at most `precision` digits, with `scale` decimals. */
  decimal: (precision: number, scale = 0): AvroType<string> =>
    type({ type: 'bytes', logicalType: 'decimal', precision, scale }),
  fixed: (name: string, size: number): AvroType<Uint8Array> => type({ type: 'fixed', name, size }),
  enum: <const Symbol extends string>(name: string, symbols: readonly Symbol[]): AvroType<Symbol> =>
    type({ type: 'enum', name, symbols }),
  array: <T>(items: AvroType<T>): AvroType<T[]> => type({ type: 'array', items: items.schema }),
  map: <T>(values: AvroType<T>): AvroType<Record<string, T>> => type({ type: 'map', values: values.schema }),
  /** Null or a value. Null is the default, so that older values without the field can be read. */
  optional: <T>(of: AvroType<T>): AvroType<T | null> => defaulted<T | null>(type(['null', of.schema]), null),
  /** Gives a field a default, in Avro's JSON (bytes as latin1 text, dates as numbers). */
  withDefault: <T>(
    of: AvroType<T>,
    value: string | number | boolean | null | readonly unknown[] | object,
  ): AvroType<T> => defaulted(of, value),
  record: <const F extends AvroFields>(name: string, fields: F): AvroType<AvroRecordOf<F>> =>
    type(avroSchemaOf(name, fields)),
  /** A reference by name to a record, enum or fixed defined elsewhere in the same schema. */
  named: <T>(name: string): AvroType<T> => type(name),
});

/** Options of a record's schema. */
export interface RecordOptions {
  /** The namespace, which is the package in Java. */
  readonly namespace?: string | undefined;
  /** Earlier names of the record. */
  readonly aliases?: readonly string[] | undefined;
  /** Earlier names of fields: values stored under an earlier name are read into the field. */
  readonly fieldAliases?: Readonly<Record<string, readonly string[]>> | undefined;
}

/**
 * Creates the schema of a record with `fields`, in their order, as `@AvroRecord` does for a class.
 * @throws SchemaError on a name that Avro does not allow.
 */
export function avroSchemaOf(name: string, fields: AvroFields, options: RecordOptions = {}): AvroSchema {
  for (const one of [name, ...Object.keys(fields)]) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(one)) {
      throw new SchemaError(
        `"${one}" is not a valid Avro name. Use letters, digits and _, and do not begin with a digit.`,
      );
    }
  }
  const { namespace, aliases, fieldAliases = {} } = options;
  return {
    type: 'record',
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(aliases === undefined ? {} : { aliases }),
    fields: Object.entries(fields).map(([field, { schema, default: value }]) => ({
      name: field,
      type: schema,
      ...(fieldAliases[field] === undefined ? {} : { aliases: fieldAliases[field] }),
      ...(value === undefined ? {} : { default: value }),
    })),
  };
}
