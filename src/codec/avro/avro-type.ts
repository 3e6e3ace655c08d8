import type avsc from 'avsc';
import { canGenerate } from '../../codegen/generated.js';
import { SchemaError, UnsupportedError } from '../../errors.js';
import { avroLibrary } from './avsc.js';
import { type AvroSchema, type AvroSchemaObject, parseAvroSchema } from './schema.js';

// — Avro's logical types as JavaScript values. Conversions are exact and refuse values that they cannot represent.

type Underlying = Parameters<typeof avsc.Type.forSchema>[0];

/** Converts the values of one logical type. */
interface Conversion {
  fromValue(value: unknown): unknown;
  /** Undefined for an invalid value; avsc then reports it with its path. */
  toValue(value: unknown): unknown;
}

const DAY = 86_400_000;

/** Avro `date`: days since 1970 as a Date at midnight UTC; any other time of day is refused. */
class DateType implements Conversion {
  fromValue(value: unknown): Date {
    return new Date((value as number) * DAY);
  }

  toValue(value: unknown): number | undefined {
    if (!(value instanceof Date)) return undefined;
    const days = value.getTime() / DAY;
    return Number.isInteger(days) ? days : undefined;
  }
}

/** Avro `timestamp-millis`: ms since 1970 as a Date. */
class TimestampMillisType implements Conversion {
  fromValue(value: unknown): Date {
    const date = new Date(Number(value));
    if (Number.isNaN(date.getTime())) throw new Error(`the time ${value} ms is out of the range of a Date`);
    return date;
  }

  toValue(value: unknown): number | undefined {
    return value instanceof Date && !Number.isNaN(value.getTime()) ? value.getTime() : undefined;
  }
}

const UUID = /^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/;

/** Avro `uuid` as a string; over fixed(16) in lower case. */
class UuidType implements Conversion {
  private readonly binary: boolean;

  constructor(schema: Underlying) {
    this.binary = (schema as { type: string }).type === 'fixed';
  }

  fromValue(value: unknown): string {
    if (!this.binary) return value as string;
    return (value as Buffer).toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  }

  toValue(value: unknown): string | Buffer | undefined {
    if (typeof value !== 'string' || !UUID.test(value)) return undefined;
    if (!this.binary) return value;
    return value === value.toLowerCase() ? Buffer.from(value.replaceAll('-', ''), 'hex') : undefined;
  }
}

interface DecimalSchema {
  readonly type: string;
  readonly precision: number;
  readonly scale?: number;
  readonly size?: number;
}

/** Avro `decimal` over bytes or fixed: an exact number as a string with `scale` decimals. */
class DecimalType implements Conversion {
  private readonly precision: number;
  private readonly scale: number;
  private readonly size: number | undefined;
  /** One byte more than the digits need, since other programs pad with a sign byte. */
  private readonly maxBytes: number;

  constructor(schema: Underlying) {
    const { type, precision, scale = 0, size } = schema as unknown as DecimalSchema;
    if (
      !Number.isInteger(precision) ||
      precision < 1 ||
      !Number.isInteger(scale) ||
      scale < 0 ||
      scale > precision
    ) {
      throw new Error(
        `decimal needs a precision of at least 1 and a scale between 0 and the precision, not ${precision} and ${scale}`,
      );
    }
    this.precision = precision;
    this.scale = scale;
    this.size = type === 'fixed' ? size : undefined;
    this.maxBytes = this.size ?? Math.ceil((precision * Math.log2(10)) / 8) + 2;
  }

  fromValue(value: unknown): string {
    const bytes = value as Buffer;
    if (bytes.length > this.maxBytes) {
      throw new Error(
        `a decimal of ${this.precision} digits has at most ${this.maxBytes} bytes, not ${bytes.length}`,
      );
    }
    const unscaled =
      bytes.length === 0 ? 0n : BigInt.asIntN(8 * bytes.length, BigInt(`0x${bytes.toString('hex')}`));
    const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(this.scale + 1, '0');
    const point = digits.length - this.scale;
    const text = this.scale === 0 ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`;
    return unscaled < 0n ? `-${text}` : text;
  }

  toValue(value: unknown): Buffer | undefined {
    const short = typeof value === 'string' && value.length <= this.precision + 2 * this.scale + 64;
    const match = short ? /^(-?)([0-9]+)(?:\.([0-9]+))?$/.exec(value) : null;
    const fraction = match?.[3] ?? '';
    if (match === null || fraction.length > this.scale) return undefined;
    const magnitude = BigInt(match[2]! + fraction.padEnd(this.scale, '0'));
    if (magnitude >= 10n ** BigInt(this.precision)) return undefined;
    return twosComplement(match[1] === '-' ? -magnitude : magnitude, this.size);
  }
}

/** Big-endian two's complement in the fewest bytes, or in `size` bytes; undefined if the value does not fit. */
function twosComplement(value: bigint, size: number | undefined): Buffer | undefined {
  let length = 1;
  while (BigInt.asIntN(8 * length, value) !== value) length++;
  if (size !== undefined && length > size) return undefined;
  const width = size ?? length;
  return Buffer.from(
    BigInt.asUintN(8 * width, value)
      .toString(16)
      .padStart(2 * width, '0'),
    'hex',
  );
}

/** Gives bytes and fixed as Uint8Array instead of avsc's Buffer. */
class ByteArrayType implements Conversion {
  fromValue(value: unknown): Uint8Array {
    return Uint8Array.from(value as Buffer);
  }

  toValue(value: unknown): Buffer | undefined {
    return value instanceof Uint8Array
      ? Buffer.from(value.buffer, value.byteOffset, value.length)
      : undefined;
  }
}

/** The logical type that this module adds to bytes and fixed that have none. */
const BYTE_ARRAY = 'rowan-bytes';

/** Conversions by the name of the logical type. Values with other logical types are not converted. */
const CONVERSIONS: Readonly<Record<string, new (schema: Underlying) => Conversion>> = {
  date: DateType,
  'timestamp-millis': TimestampMillisType,
  uuid: UuidType,
  decimal: DecimalType,
  [BYTE_ARRAY]: ByteArrayType,
};

/** {@link CONVERSIONS} as avsc classes; created when the library is loaded. */
function logicalTypes(): Readonly<Record<string, unknown>> {
  madeLogicalTypes ??= Object.fromEntries(
    Object.entries(CONVERSIONS).map(([name, conversion]) => [name, logicalType(conversion)]),
  );
  return madeLogicalTypes;
}

let madeLogicalTypes: Readonly<Record<string, unknown>> | undefined;

function logicalType(conversion: new (schema: Underlying) => Conversion): unknown {
  return class extends avroLibrary().builtins.LogicalType {
    private readonly conversion: Conversion;

    constructor(schema: Underlying, options?: unknown) {
      super(schema, options);
      this.conversion = new conversion(schema);
    }

    protected override _fromValue(value: unknown): unknown {
      return this.conversion.fromValue(value);
    }

    protected override _toValue(value: unknown): unknown {
      return this.conversion.toValue(value);
    }

    /** Reads values of another schema through the underlying type. */
    protected override _resolve(writer: avsc.Type): (value: unknown) => unknown {
      const { underlyingType } = this;
      const resolver = underlyingType.createResolver(writer);
      if (writer.typeName === underlyingType.typeName) return (value) => this._fromValue(value);
      return (value) => this._fromValue(underlyingType.fromBuffer(writer.toBuffer(value), resolver));
    }
  };
}

/** A long as a bigint, with all 64 bits. Created on first use, since avsc generates code for it. */
function bigLong(): avsc.Type {
  madeBigLong ??= avroLibrary().builtins.LongType.__with({
    fromBuffer: (buffer: Buffer) => buffer.readBigInt64LE(),
    toBuffer: (value: bigint) => {
      const buffer = Buffer.alloc(8);
      buffer.writeBigInt64LE(value);
      return buffer;
    },
    fromJSON: (value: number | string) => BigInt(value),
    toJSON: (value: bigint) => (Number.isSafeInteger(Number(value)) ? Number(value) : value.toString()),
    isValid: (value: unknown) => typeof value === 'bigint' && BigInt.asIntN(64, value) === value,
    compare: (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0),
  });
  return madeBigLong;
}

let madeBigLong: avsc.Type | undefined;

// — Turns schemas into avsc types that use Rowan's values instead of avsc's own.

/** Classes by record name. Decoded records become their instances, without a constructor call. */
export type RecordClasses = Readonly<Record<string, abstract new (...args: never[]) => object>>;

/**
 * Creates the type that encodes and decodes values of a schema. Records become plain objects or instances of `classes`.
 * @throws SchemaError when the schema is invalid.
 */
export function readerType(schema: AvroSchema, classes: RecordClasses = {}): avsc.Type {
  parseAvroSchema(schema);
  checkGenerating();
  const used = new Set<string>();
  const type = build(adapt(schema), {
    logicalTypes: logicalTypes() as never,
    assertLogicalTypes: true,
    registry: { [BIG_LONG_NAME]: bigLong() },
    omitRecordMethods: true,
    typeHook: undefined as never,
  });
  eachRecord(type, (record) => {
    const simple = record.name!.slice(record.name!.lastIndexOf('.') + 1);
    const target = classes[record.name!] ?? classes[simple];
    if (target !== undefined) used.add(classes[record.name!] === undefined ? simple : record.name!);
    const { recordConstructor } = record as avsc.types.RecordType;
    (recordConstructor as { prototype: object }).prototype = target?.prototype ?? Object.prototype;
  });
  const unused = Object.keys(classes).filter((name) => !used.has(name));
  if (unused.length > 0) {
    throw new SchemaError(
      `The Avro schema has no record named ${unused.join(', ')}, for which "classes" has an entry.`,
    );
  }
  return type;
}

/** Creates the type of a writer's schema, whose values are only read through a reader's type. */
export function writerType(schema: AvroSchema): avsc.Type {
  return build(schema, { logicalTypes: {}, registry: {}, omitRecordMethods: true });
}

function build(schema: AvroSchema, options: Partial<avsc.ForSchemaOptions>): avsc.Type {
  checkGenerating();
  try {
    return avroLibrary().Type.forSchema(schema as never, options);
  } catch (cause) {
    throw new SchemaError(`Not an Avro schema: ${(cause as Error).message}.`, undefined, { cause });
  }
}

/**
 * Checks that code generation is allowed, which avsc needs for every type.
 * @throws UnsupportedError where it is forbidden.
 */
function checkGenerating(): void {
  if (canGenerate()) return;
  throw new UnsupportedError(
    'Avro columns need code generation, which this runtime forbids (a content security policy, or ' +
      '--disallow-code-generation-from-strings). Store the value as json(), or allow code generation.',
  );
}

const BIG_LONG_NAME = 'rowan.bigLong';

/** Replaces bytes, fixed and bigint longs by Rowan's own types. */
function adapt(schema: AvroSchema): AvroSchema {
  if (schema === 'bytes') return { type: 'bytes', logicalType: BYTE_ARRAY };
  if (typeof schema === 'string') return schema;
  if (Array.isArray(schema)) return schema.map(adapt);
  const object = schema as AvroSchemaObject;
  const { type, logicalType, jsType } = object;
  if (type === 'long' && jsType === 'bigint') return BIG_LONG_NAME;
  if (type === 'bytes' || type === 'fixed') {
    const known = typeof logicalType === 'string' && Object.hasOwn(CONVERSIONS, logicalType);
    return known ? object : { ...object, logicalType: BYTE_ARRAY };
  }
  if (type === 'record' || type === 'error') {
    const fields = object['fields'] as readonly { readonly type: AvroSchema }[];
    return { ...object, fields: fields.map((field) => ({ ...field, type: adapt(field.type) })) };
  }
  if (type === 'array') return { ...object, items: adapt(object['items'] as AvroSchema) };
  if (type === 'map') return { ...object, values: adapt(object['values'] as AvroSchema) };
  return typeof type === 'object' ? { ...object, type: adapt(type) } : object;
}

function eachRecord(type: avsc.Type, visit: (record: avsc.Type) => void, seen = new Set<avsc.Type>()): void {
  if (seen.has(type)) return;
  seen.add(type);
  const { Type } = avroLibrary();
  if (Type.isType(type, 'record', 'error')) {
    visit(type);
    for (const field of (type as avsc.types.RecordType).fields) eachRecord(field.type, visit, seen);
  } else if (Type.isType(type, 'array')) {
    eachRecord((type as avsc.types.ArrayType).itemsType, visit, seen);
  } else if (Type.isType(type, 'map')) {
    eachRecord((type as avsc.types.MapType).valuesType, visit, seen);
  } else if (Type.isType(type, 'union')) {
    for (const branch of (type as avsc.types.UnwrappedUnionType).types) eachRecord(branch, visit, seen);
  }
}
