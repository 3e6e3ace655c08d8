import type { ValueCodec } from '../src/codec/index.js';
import type { ColumnName, ColumnOptions } from './declaration.js';
import { type AnyPropertyDecorator, memberDecorator, type PropertyDecoratorOf } from './modes.js';

/**
 * Stores a property in one cell, "family:qualifier". Without a codec it is taken from the property's type where the
 * compiler emits types (`emitDecoratorMetadata` of tsc, swc, Vite): string, number (float64), bigint (int64), boolean,
 * Date, Uint8Array. Elsewhere (esbuild, tsx, standard decorators) write the codec; the compiler checks the property's
 * type against it.
 *
 * @example
 * ```ts
 * @Column('d:n', text) name!: string;
 * @Column('d:t', decimal(2)) total?: string | null;
 * @Column('d:m', text, { was: ['d:mail'] }) mail?: string | null;
 * ```
 */
export function Column(column: ColumnName): AnyPropertyDecorator;
export function Column<T>(
  column: ColumnName,
  codec: ValueCodec<T>,
  options?: ColumnOptions<T>,
): PropertyDecoratorOf<T>;
export function Column(
  column: ColumnName,
  codec?: ValueCodec<unknown>,
  options?: ColumnOptions<unknown>,
): AnyPropertyDecorator {
  return memberDecorator('Column', 'field', (declaration, property) => {
    const was = options?.was;
    declaration.properties.push({
      kind: 'column',
      decorator: 'Column',
      property,
      column,
      codec,
      ...(was && { was }),
    });
  });
}
