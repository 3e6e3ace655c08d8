import { memberDecorator, type PropertyDecoratorOf } from './modes.js';

/**
 * The value of a property that is undefined: of a column in `insert` and `replace`, of a key part in `put` too (a put
 * leaves undefined columns as they are stored). `make` is called for each entity, and the entity is given the value.
 *
 * @example
 * ```ts
 * @Default(newUuid) id!: string;
 * @Default(() => 'open') @Column('d:s', text) status!: string;
 * ```
 */
export function Default<T>(make: () => T): PropertyDecoratorOf<T> {
  return memberDecorator('Default', 'field', (declaration, property) => {
    declaration.defaults.push({ property, make });
  });
}
