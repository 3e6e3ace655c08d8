import type { ColumnName, ColumnOptions } from './declaration.js';
import { memberDecorator, type PropertyDecoratorOf } from './modes.js';

/**
 * A counter: 8 bytes that the engine adds to (`repository.increment`), without reading first. A put sets it; leave it
 * undefined in puts, or increments of others are lost.
 */
export function Counter(column: ColumnName, options?: ColumnOptions<bigint>): PropertyDecoratorOf<bigint> {
  return memberDecorator('Counter', 'field', (declaration, property) => {
    const was = options?.was;
    declaration.properties.push({
      kind: 'counter',
      decorator: 'Counter',
      property,
      column,
      ...(was && { was }),
    });
  });
}
