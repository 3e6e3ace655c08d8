import type { ColumnName, ColumnOptions, NestedType } from './declaration.js';
import { type AnyPropertyDecorator, memberDecorator, type PropertyDecoratorOf } from './modes.js';

/** A function that returns a class. The function allows modules to import each other. */
export type ClassOf<T> = () => abstract new (...args: never[]) => T;

/**
 * Stores a property as JSON in one cell. With a class, class-transformer rebuilds the value as its instance
 * (`@Type`, `@Transform`, `@Exclude` work); with a list of one class, as a list of instances.
 *
 * @example
 * ```ts
 * @Json('d:tags') tags!: string[];
 * @Json('d:addr', () => Address) address?: Address | null;
 * @Json('d:lines', () => [LineItem]) lines!: LineItem[];
 * ```
 */
export function Json(column: ColumnName): AnyPropertyDecorator;
export function Json<T extends object>(
  column: ColumnName,
  type: () => readonly [abstract new (...args: never[]) => T],
  options?: ColumnOptions<readonly T[]>,
): PropertyDecoratorOf<readonly T[]>;
export function Json<T extends object>(
  column: ColumnName,
  type: ClassOf<T>,
  options?: ColumnOptions<T>,
): PropertyDecoratorOf<T>;
export function Json(
  column: ColumnName,
  type: undefined,
  options: ColumnOptions<unknown>,
): AnyPropertyDecorator;
export function Json(
  column: ColumnName,
  type?: NestedType,
  options?: ColumnOptions<unknown>,
): AnyPropertyDecorator {
  return memberDecorator('Json', 'field', (declaration, property) => {
    declaration.properties.push({
      kind: 'json',
      decorator: 'Json',
      property,
      column,
      type,
      options,
    });
  });
}

export interface EmbedOptions {
  /** Prefix of the embedded object's qualifiers, e.g. "a.". Default: none. */
  readonly prefix?: string;
}

/**
 * Stores the properties of an object as columns of one family. The embedded class names its columns without a
 * family: `@Column('city', text)`. So does an object embedded in it: `@Embedded(() => Geo)`. A loaded object
 * is present if at least one of its columns is. A put with null deletes all its columns; with undefined it
 * leaves them alone.
 *
 * @example
 * ```ts
 * class Address {
 *   @Column('c', text) city!: string;
 * }
 * class Customer {
 *   @Embedded('d', () => Address, { prefix: 'a.' }) address?: Address | null;
 * }
 * ```
 */
export function Embedded<T extends object>(
  family: string,
  type: ClassOf<T>,
  options?: EmbedOptions,
): PropertyDecoratorOf<T>;
export function Embedded<T extends object>(type: ClassOf<T>, options?: EmbedOptions): PropertyDecoratorOf<T>;
export function Embedded(
  first: string | ClassOf<object>,
  second?: ClassOf<object> | EmbedOptions,
  third?: EmbedOptions,
): PropertyDecoratorOf<object> {
  const family = typeof first === 'string' ? first : undefined;
  const type = typeof first === 'string' ? (second as ClassOf<object>) : first;
  const options = typeof first === 'string' ? third : (second as EmbedOptions | undefined);
  const prefix = options?.prefix ?? '';
  return memberDecorator('Embedded', 'field', (declaration, property) => {
    declaration.properties.push({
      kind: 'embedded',
      decorator: 'Embedded',
      property,
      family,
      prefix,
      type,
      options,
    });
  });
}
