import type { AvroCodecOptions, AvroSchema, AvroType, AvroValue } from '../src/codec/index.js';
import type { ColumnName } from './declaration.js';
import { type AnyPropertyDecorator, memberDecorator, type PropertyDecoratorOf } from './modes.js';

/**
 * Stores a property as Avro in one cell: single-object encoding, with the fingerprint of the writer's schema. Values
 * that an older schema wrote are read by Avro's schema resolution. With `classes` (by the names of records) records
 * become their instances, nested ones too; their constructors are not called. `compatibility` (default `backward`) is
 * what a database that is opened demands of a changed schema.
 *
 * @example
 * ```ts
 * @Avro('d:o', avro.record('Order', { number: avro.int }), { classes: { Order } }) order!: Order;
 * @Avro('d:e', eventSchemaAsJson, { compatibility: 'full' }) event!: Event;
 * ```
 */
export function Avro<A extends AvroType<unknown>>(
  column: ColumnName,
  type: A,
  options?: AvroCodecOptions,
): PropertyDecoratorOf<AvroValue<A>>;
export function Avro(
  column: ColumnName,
  schema: AvroSchema,
  options?: AvroCodecOptions,
): AnyPropertyDecorator;
export function Avro(
  column: ColumnName,
  type: AvroType<unknown> | AvroSchema,
  options: AvroCodecOptions = {},
): AnyPropertyDecorator {
  return memberDecorator('Avro', 'field', (declaration, property) => {
    declaration.properties.push({ kind: 'avro', decorator: 'Avro', property, column, type, options });
  });
}
