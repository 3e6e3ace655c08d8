import type { AnyClass } from './declaration.js';
import { classDecorator, memberDecorator, type PropertyDecoratorOf } from './modes.js';
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

declare const relation: unique symbol;

/**
 * The type of a property with `@Reference` or `@References`: what it gives, and the mark by which the compiler tells it from a
 * column, so that it refuses the property in `select`, `where`, `update` and their like. Values are given to it as they are.
 *
 * @example
 * ```ts
 * @Reference(() => Customer, { customerId: 'customerId' }) customer?: Related<Customer> | null;
 * @References(() => Line, { orderNo: 'orderNo' }) lines?: Related<Line[]>;
 * ```
 */
export type Related<T extends object> = T & RelationMark<T>;

/** What {@link Related} adds to a type. Only in types. */
export interface RelationMark<T = unknown> {
  readonly [relation]?: T;
}

/** A class with the names of its key's parts, behind a function, so that modules may import each other. */
export type RelatedType<E extends object, Key extends readonly string[]> = () => (abstract new (
  ...args: never[]
) => E) & { readonly key: Key };

/** What becomes of the entities that name one which is deleted. */
export type OnDelete = 'restrict' | 'cascade' | 'setNull';

/** Options of `@Reference`: referential rules, on the embedded engine (docs/relations.md). */
export interface ReferenceOptions {
  /**
   * When the other is deleted: `restrict` refuses it with ERR_REFERENCE, `cascade` deletes this one too, `setNull` takes the
   * properties away that name it. In the same step. Default: nothing.
   */
  readonly onDelete?: OnDelete;
  /** Whether a write that names an entity which is not there is refused with ERR_REFERENCE. Default: with `onDelete`. */
  readonly exists?: boolean;
}

/** Options of `@References`. */
export interface ReferencesOptions {
  /** Entities that one may have at most; more are an error where they are read. Default 1000. */
  readonly max?: number;
}

/**
 * A property that stands for one other entity: `via` says for each part of the other's key which property of this one
 * holds it. It is not stored, and undefined until a query asks for it by `with`; then it is the entity, or null.
 *
 * @example
 * ```ts
 * @Reference(() => Customer, { customerId: 'customerId' }, { onDelete: 'restrict' }) customer?: Related<Customer> | null;
 * ```
 */
export function Reference<E extends object, const Key extends readonly string[]>(
  target: RelatedType<E, Key>,
  via: { readonly [Part in Key[number]]: string },
  options: ReferenceOptions = {},
): PropertyDecoratorOf<E> {
  return memberDecorator('Reference', 'field', (declaration, property) => {
    declaration.relations.push({
      kind: 'one',
      decorator: 'Reference',
      property,
      target: target as () => AnyClass,
      via,
      rule: options,
    });
  });
}

/**
 * A property that stands for the entities whose keys begin with values of this one: `via` says for the leading parts of
 * the other's key which property of this one holds them. It is not stored, and undefined until a query asks for it by
 * `with`; then it is the list, in the order of the other's key.
 *
 * @example
 * ```ts
 * @References(() => Line, { orderNo: 'orderNo' }) lines?: Related<Line[]>;
 * ```
 */
export function References<E extends object, const Key extends readonly string[]>(
  target: RelatedType<E, Key>,
  via: { readonly [Part in Key[number]]?: string },
  options: ReferencesOptions = {},
): PropertyDecoratorOf<E[]> {
  return memberDecorator('References', 'field', (declaration, property) => {
    declaration.relations.push({
      kind: 'many',
      decorator: 'References',
      property,
      target: target as () => AnyClass,
      via: via as Readonly<Record<string, string>>,
      max: options?.max,
    });
  });
}
