import type { AnyClass } from './any-class.js';
import { classDecorator } from './modes.js';
import type { RelatedType } from './reference.js';
import type { RowKeyMistake } from './row-key.js';

/** For each part of another's key the property of this one that holds it; of a key of one part the property alone. */
export type Via<Key extends readonly string[]> =
  | { readonly [Part in Key[number]]: string }
  | (Key extends readonly [string] ? string : { readonly [Part in Key[number]]: string });

/** What `@Denormalized` takes. */
export interface DenormalizedOptions<
  Key extends readonly string[],
  Fields extends Readonly<Record<string, string>>,
> {
  /** The property that holds the source's key, or for each part of that key the property that holds it. */
  readonly via: Via<Key>;
  /** Own property -> property of the source that it is a copy of. */
  readonly fields: Fields;
  /** Rows that a change of the source changes in the same step at most; more are changed by the outbox. Default 100. */
  readonly fanOut?: number;
}

/**
 * Properties that are copies of another entity's: written with every row, and changed when the source changes
 * (docs/denormalization.md). Embedded engine only.
 *
 * @example
 * ```ts
 * @Denormalized(() => ShippingLocation, { via: 'locationId', fields: { city: 'city' } })
 * class Line {
 *   @Column('d:l', text) locationId?: string | null;
 *   @Column('d:c', text) city?: string | null;
 *   …
 * }
 * ```
 */
export function Denormalized<
  S extends object,
  const Key extends readonly string[],
  const Fields extends { readonly [Own in string]: keyof S & string },
>(source: RelatedType<S, Key>, options: DenormalizedOptions<Key, Fields>): CopyDecorator<S, Fields> {
  return classDecorator('Denormalized', (declaration) => {
    declaration.copies.push({ source: source as () => AnyClass, options });
  });
}

/** Accepts only classes whose properties hold what is copied to them. */
export type CopyDecorator<S, Fields> = <C extends AnyClass>(
  target: C & NoInfer<CopyingClass<C, S, Fields>>,
  context?: unknown,
) => void;

/** What the class must be. An interface, as `RowKeyClass`. */
export interface CopyingClass<C extends { readonly prototype: unknown }, S, Fields> {
  readonly prototype: [WrongCopy<C['prototype'], S, Fields>] extends [never]
    ? unknown
    : RowKeyMistake<WrongCopy<C['prototype'], S, Fields>>;
}

type WrongCopy<E, S, Fields> = {
  [Own in keyof Fields & string]: Own extends keyof E
    ? undefined extends E[Own]
      ? [NonNullable<S[Fields[Own] & keyof S]>] extends [NonNullable<E[Own]>]
        ? never
        : `The type of "${Own}" is not that of the source's property which it copies`
      : `"${Own}" is a copy, and absent where there is no source: declare it optional`
    : `"${Own}" is to be a copy, but the class has no such property`;
}[keyof Fields & string];
