import { memberDecorator, type PropertyDecoratorFrom } from './modes.js';

/**
 * The value of a property that is undefined: of a column in `insert` and `replace`, of a key part in `put` too (a put
 * leaves undefined columns as they are stored). `make` is called for each entity, and the entity is given the value; the
 * property's type must take all that it may give.
 *
 * @example
 * ```ts
 * @Default(newUuid) id!: string;
 * @Default(() => 'open') @Column('d:s', text) status!: string;
 * ```
 */
export function Default<T extends Literal | object>(make: () => T): PropertyDecoratorFrom<T> {
  return memberDecorator('Default', 'field', (declaration, property) => {
    declaration.defaults.push({ property, make });
  });
}

/** What the compiler is to keep as it is written: 'open', and not string. */
type Literal = string | number | bigint | boolean | null | undefined;
