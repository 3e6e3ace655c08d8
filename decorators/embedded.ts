import type { ClassOf } from './json.js';
import { memberDecorator, type PropertyDecoratorOf } from './modes.js';

export interface EmbedOptions {
  /** What the qualifiers of the embedded object begin with, e.g. "a." Default: nothing. */
  readonly prefix?: string;
}

/**
 * Stores the properties of an object as columns of one family. The embedded class names its columns without a family:
 * `@Column('city', text)`; an object embedded in it names no family either: `@Embedded(() => Geo)`. A loaded object is
 * there when at least one of its columns is; null deletes them all, undefined leaves them alone.
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
    declaration.properties.push({ kind: 'embedded', decorator: 'Embedded', property, family, prefix, type });
  });
}
