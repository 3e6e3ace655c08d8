import type { ValueCodec } from '../src/codec/index.js';
import type { ColumnName, ColumnOptions } from './declaration.js';
import { memberDecorator, type PropertyDecoratorOf } from './modes.js';

/** One value of a column's history. */
export interface Versioned<T> {
  readonly value: T;
  /** Milliseconds. Left out in a put: the time of the write. */
  readonly timestamp?: number;
}

/**
 * A column with the versions that its family keeps (`versions` in `@Table`), newest first. A put writes each entry at
 * its timestamp and leaves other versions alone; null deletes them all.
 *
 * @example
 * ```ts
 * @Versions('d:price', decimal(2)) prices!: Versioned<string>[];
 * ```
 */
export function Versions<T>(
  column: ColumnName,
  codec: ValueCodec<T>,
  options?: ColumnOptions<T>,
): PropertyDecoratorOf<readonly Versioned<T>[]> {
  return memberDecorator('Versions', 'field', (declaration, property) => {
    const was = options?.was;
    declaration.properties.push({
      kind: 'versions',
      decorator: 'Versions',
      property,
      column,
      codec,
      ...(was && { was }),
    });
  });
}
