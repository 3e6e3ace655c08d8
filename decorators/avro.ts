import type { AvroCodecOptions, AvroSchema, AvroType, AvroValue } from '../src/codec/index.js';
import { isRecord, optionsProblem } from '../src/table/checks.js';
import type { AvroRecordDeclaration, ColumnName, ColumnOptions, NestedType } from './declaration.js';
import type { ClassOf } from './json.js';
import {
  type AnyClassDecorator,
  type AnyPropertyDecorator,
  classDecorator,
  memberDecorator,
  type PropertyDecoratorOf,
} from './modes.js';

/** A function that returns a list with one class: the property holds a list of instances of that class. */
export type ListOf<T> = () => readonly [abstract new (...args: never[]) => T];

/** Options of an Avro column whose values have type `T`. */
export interface AvroColumnOptions<T> extends AvroCodecOptions, ColumnOptions<T> {}

/** Options of an Avro column whose schema comes from a class. */
export interface AvroClassOptions<T> extends Omit<AvroCodecOptions, 'classes'>, ColumnOptions<T> {}

/**
 * Stores a property as Avro in one cell, in Avro's single-object encoding (with the fingerprint of the
 * writer's schema). Values written with an older schema are read by Avro's schema resolution.
 *
 * The schema comes from a class with `@AvroRecord` or a list of that class, from a type made with `avro`, or
 * is given as JSON. With a class, loaded values are instances of it. With a type or a JSON schema, `classes`
 * maps record names to classes, nested records included. No constructor is called.
 *
 * `compatibility` (default `backward`) is checked when a database is opened: the changed schema must be
 * compatible with the stored ones in that way.
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
  options?: AvroColumnOptions<unknown>,
): AnyPropertyDecorator {
  return memberDecorator('Avro', 'field', (declaration, property) => {
    declaration.properties.push({
      kind: 'avro',
      decorator: 'Avro',
      property,
      column,
      type,
      options,
    });
  });
}

/**
 * Makes a class an Avro record: its schema has the fields of the class and of its base classes. The name must
 * be given, because stored values and other programs identify the record by it.
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
  return classDecorator('AvroRecord', (declaration) => {
    const problem = optionsProblem('@AvroRecord', record, RECORD_OPTIONS);
    if (problem !== undefined) declaration.problems.push(problem);
    if (isRecord(record)) declaration.avroRecords.push(record);
  });
}

const RECORD_OPTIONS: Readonly<Record<keyof AvroRecordDeclaration, true>> = {
  name: true,
  namespace: true,
  aliases: true,
};

const FIELD_OPTIONS: Readonly<Record<keyof AvroFieldOptions, true>> = { optional: true, aliases: true };

export interface AvroFieldOptions {
  /** Earlier names of the field: values stored under one of them are read into this field. */
  readonly aliases?: readonly string[];
  /**
   * Whether a nested record may be null, which is then the default. For types made with `avro`, use
   * `avro.optional(...)`.
   */
  readonly optional?: boolean;
}

/**
 * Declares a field of a class with `@AvroRecord`: a type made with `avro`, another such class, or a list of
 * one.
 */
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
    const problem = optionsProblem(`@AvroField of "${property}"`, options, FIELD_OPTIONS);
    if (problem !== undefined) declaration.problems.push(problem);
    declaration.avroFields.push({ property, type, optional, aliases });
  });
}
