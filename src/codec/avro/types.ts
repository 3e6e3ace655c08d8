/** Avro types by functions, with the TypeScript type of their values: what `avroSchemaOf` makes records of. */

import { SchemaError } from '../../errors.js';
import type { AvroSchema } from './schema.js';

/** A schema and, in types only, what its values are. */
export interface AvroType<T> {
  readonly schema: AvroSchema;
  /** What an older value without the field is read as; undefined when there is none. */
  readonly default: unknown;
  readonly $value?: T;
}

/** The type of an Avro type's values. */
export type AvroValue<A> = A extends { readonly $value?: infer T } ? Exclude<T, undefined> : never;

/** Fields of a record by name; a name with an AvroType, or with another field's old names as well. */
export type AvroFields = Readonly<Record<string, AvroType<unknown>>>;

/** The type of a record of these fields. */
export type AvroRecordOf<F extends AvroFields> = { -readonly [Name in keyof F]: AvroValue<F[Name]> };

function type<T>(schema: AvroSchema): AvroType<T> {
  return Object.freeze({ schema, default: undefined });
}

/** Keeps the type and gives it a default in the schema's own JSON. */
function defaulted<T>(of: AvroType<T>, value: unknown): AvroType<T> {
  return Object.freeze({ ...of, default: value });
}

const bytes: AvroType<Uint8Array> = type('bytes');

export const avro = Object.freeze({
  string: type<string>('string'),
  boolean: type<boolean>('boolean'),
  int: type<number>('int'),
  /** A whole number within 2^53-2; one beyond it is an error, when written and when read. */
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
  /** An exact number as text, `precision` digits of which `scale` stand behind the point. */
  decimal: (precision: number, scale = 0): AvroType<string> =>
    type({ type: 'bytes', logicalType: 'decimal', precision, scale }),
  fixed: (name: string, size: number): AvroType<Uint8Array> => type({ type: 'fixed', name, size }),
  enum: <const Symbol extends string>(name: string, symbols: readonly Symbol[]): AvroType<Symbol> =>
    type({ type: 'enum', name, symbols }),
  array: <T>(items: AvroType<T>): AvroType<T[]> => type({ type: 'array', items: items.schema }),
  map: <T>(values: AvroType<T>): AvroType<Record<string, T>> => type({ type: 'map', values: values.schema }),
  /** Null or a value; null is the default, so that older values without the field can be read. */
  optional: <T>(of: AvroType<T>): AvroType<T | null> => defaulted<T | null>(type(['null', of.schema]), null),
  /** Gives a field a default, as Avro's JSON has it (bytes as latin1 text, dates as numbers). */
  withDefault: <T>(
    of: AvroType<T>,
    value: string | number | boolean | null | readonly unknown[] | object,
  ): AvroType<T> => defaulted(of, value),
  record: <const F extends AvroFields>(name: string, fields: F): AvroType<AvroRecordOf<F>> =>
    type(avroSchemaOf(name, fields)),
  /** A record, enum or fixed that is defined elsewhere in the same schema, by its name. */
  named: <T>(name: string): AvroType<T> => type(name),
});

/** Options of a record's schema. */
export interface RecordOptions {
  /** Java's package. */
  readonly namespace?: string | undefined;
  /** Earlier names of the record. */
  readonly aliases?: readonly string[] | undefined;
  /** Earlier names of fields: a renamed field is read from values that have an earlier name. */
  readonly fieldAliases?: Readonly<Record<string, readonly string[]>> | undefined;
}

/**
 * The schema of a record of `fields`, in their order: what a class with declared fields becomes.
 * @throws SchemaError on a name that Avro does not allow.
 */
export function avroSchemaOf(name: string, fields: AvroFields, options: RecordOptions = {}): AvroSchema {
  for (const one of [name, ...Object.keys(fields)]) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(one)) {
      throw new SchemaError(
        `"${one}" is no name that Avro allows: letters, digits and _, not beginning with a digit.`,
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
