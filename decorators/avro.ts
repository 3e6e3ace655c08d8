import type { AvroCodecOptions, AvroSchema, AvroType, AvroValue } from '../src/codec/index.js';
import type { AvroRecordDeclaration, ColumnName, ColumnOptions, NestedType } from './declaration.js';
import type { ClassOf } from './json.js';
import {
  type AnyClassDecorator,
  type AnyPropertyDecorator,
  classDecorator,
  memberDecorator,
  type PropertyDecoratorOf,
} from './modes.js';

/** A class behind a function in a list: the type is a list of its instances. */
export type ListOf<T> = () => readonly [abstract new (...args: never[]) => T];

/** Options of a column of Avro whose values are `T`. */
export interface AvroColumnOptions<T> extends AvroCodecOptions, ColumnOptions<T> {}

/** Options of a column whose schema comes from a class. */
export interface AvroClassOptions<T> extends Omit<AvroCodecOptions, 'classes'>, ColumnOptions<T> {}

/**
 * Stores a property as Avro in one cell: single-object encoding, with the fingerprint of the writer's schema. Values
 * that an older schema wrote are read by Avro's schema resolution. The schema comes from a class with `@AvroRecord`, or
 * a list of it; from a type made with `avro`; or is given as JSON. Of a class, loaded values are instances; of a type or
 * schema, `classes` (by the names of records) says what records become, nested ones too. No constructor is called.
 * `compatibility` (default `backward`) is what a database that is opened demands of a changed schema.
 *
 * @example
 * ```ts
 * @Avro('d:l', () => [LineItem]) lines!: LineItem[];
 * @Avro('d:o', avro.record('Order', { number: avro.int }), { classes: { Order } }) order!: Order;
 * @Avro('d:e', eventSchemaAsJson, { compatibility: 'full' }) event!: Event;
 * ```
 */
export function Avro<T extends object>(
  column: ColumnName,
  type: ListOf<T>,
  options?: AvroClassOptions<T[]>,
): PropertyDecoratorOf<readonly T[]>;
export function Avro<T extends object>(
  column: ColumnName,
  type: ClassOf<T>,
  options?: AvroClassOptions<T>,
): PropertyDecoratorOf<T>;
export function Avro<A extends AvroType<unknown>>(
  column: ColumnName,
  type: A,
  options?: AvroColumnOptions<AvroValue<A>>,
): PropertyDecoratorOf<AvroValue<A>>;
export function Avro(
  column: ColumnName,
  schema: AvroSchema,
  options?: AvroColumnOptions<unknown>,
): AnyPropertyDecorator;
export function Avro(
  column: ColumnName,
  type: NestedType | AvroType<unknown> | AvroSchema,
  { was, ...options }: AvroColumnOptions<unknown> = {},
): AnyPropertyDecorator {
  return memberDecorator('Avro', 'field', (declaration, property) => {
    declaration.properties.push({
      kind: 'avro',
      decorator: 'Avro',
      property,
      column,
      type,
      options,
      ...(was && { was }),
    });
  });
}

/**
 * Makes a class a record of Avro: its schema has the fields of the class and of those it extends. The name is written,
 * since values in the store and other programs know the record by it.
 *
 * @example
 * ```ts
 * @AvroRecord({ name: 'LineItem', namespace: 'com.shop' })
 * class LineItem {
 *   @AvroField(avro.string) sku!: string;
 *   @AvroField(avro.decimal(9, 2)) price!: string;
 *   @AvroField(() => Discount, { optional: true }) discount!: Discount | null;
 * }
 * ```
 */
export function AvroRecord(record: AvroRecordDeclaration): AnyClassDecorator {
  return classDecorator('AvroRecord', (declaration) => declaration.avroRecords.push(record));
}

export interface AvroFieldOptions {
  /** Earlier names of the field: values that have one of them are read into it. */
  readonly aliases?: readonly string[];
  /** A nested record may be null; null is the default. Of types made with `avro`, say `avro.optional(...)`. */
  readonly optional?: boolean;
}

/** A field of a class with `@AvroRecord`: a type made with `avro`, another such class, or a list of it. */
export function AvroField<T extends object>(
  type: ListOf<T>,
  options?: AvroFieldOptions,
): PropertyDecoratorOf<readonly T[]>;
export function AvroField<T extends object>(
  type: ClassOf<T>,
  options?: AvroFieldOptions,
): PropertyDecoratorOf<T>;
export function AvroField<T>(type: AvroType<T>, options?: AvroFieldOptions): PropertyDecoratorOf<T>;
export function AvroField(
  type: NestedType | AvroType<unknown>,
  options: AvroFieldOptions = {},
): AnyPropertyDecorator {
  const { optional = false, aliases } = options ?? {};
  return memberDecorator('AvroField', 'field', (declaration, property) => {
    const unknown = Object.keys(options ?? {}).filter((name) => name !== 'optional' && name !== 'aliases');
    if (unknown.length > 0) {
      declaration.problems.push(
        `@AvroField of "${property}" has no option "${unknown[0]}". Its options are optional, aliases.`,
      );
    }
    declaration.avroFields.push({ property, type, optional, aliases });
  });
}
