import { SchemaError } from '../src/errors.js';
import { describe, isRecord } from '../src/table/checks.js';
import type { AnyClass, CopyDeclaration } from './declaration.js';
import { classDecorator, memberDecorator, type PropertyDecoratorOf } from './modes.js';
import type { RowKeyMistake } from './row-key-types.js';

/**
 * Maps each part of the other entity's key to the property that holds it here. For a key with one part, the
 * name of the property is enough.
 */
export type Via<Key extends readonly string[]> =
  | { readonly [Part in Key[number]]: string }
  | (Key extends readonly [string] ? string : { readonly [Part in Key[number]]: string });

/** The options of `@Denormalized`. */
export interface DenormalizedOptions<
  Key extends readonly string[],
  Fields extends Readonly<Record<string, string>>,
> {
  /**
   * The property that holds the source's key, or a map from each part of that key to the property that holds
   * it. One of these properties may be a Map (`@Columns`): then each of its keys names a source, and its values are
   * the copies.
   */
  readonly via: Via<Key>;
  /** Maps each own property to the source's property that it copies. */
  readonly fields: Fields;
  /**
   * The largest number of rows that a change of the source updates in the same step; beyond it the outbox
   * updates them. Default 100.
   */
  readonly fanOut?: number;
}

/**
 * Declares properties as copies of another entity's properties. Every write of the row sets them, and a
 * change of the source updates them (docs/denormalization.md).
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

/** The results of {@link copy}. */
const declared = new WeakMap<object, CopyDeclaration>();

/** A declaration of copies, made by {@link copy}. */
export interface DeclaredCopy<S extends object, Fields extends Readonly<Record<string, string>>> {
  /** The class that has the properties. */
  readonly source: () => abstract new (...args: never[]) => S;
  readonly fields: Fields;
}

/**
 * Declares copies in the static `copies` of a class; takes what `@Denormalized` takes. `@Entity` checks the properties
 * of the class against those of the source. The names in `copies` are your own.
 *
 * @example
 * ```ts
 * @Entity({ table: Lines })
 * class Line {
 *   static readonly key = rowKey('order', 'line');
 *   static readonly copies = {
 *     location: copy(() => ShippingLocation, { via: 'locationId', fields: { city: 'city' } }),
 *   };
 *   …
 * }
 * ```
 * @throws SchemaError when it is no declaration.
 */
export function copy<
  S extends object,
  const Key extends readonly string[],
  const Fields extends { readonly [Own in string]: keyof S & string },
>(source: RelatedType<S, Key>, options: DenormalizedOptions<Key, Fields>): DeclaredCopy<S, Fields> {
  if (typeof source !== 'function' || !isRecord(options)) {
    throw new SchemaError(
      `copy() takes a source and options, copy(() => Source, { via: 'sourceId', fields: { own: 'property' } }), not ${describe(source)} and ${describe(options)}.`,
    );
  }
  const own = Object.freeze({ source, fields: options.fields });
  declared.set(own, { source: source as () => AnyClass, options });
  return own;
}

/** Whether a value in the static `copies` of a class is made by {@link copy}. */
export function isDeclaredCopy(one: unknown): boolean {
  return isRecord(one) && declared.has(one);
}

/** Returns the class's own copies in `static readonly copies = { … }`, made by {@link copy}. */
export function declaredCopies(target: AnyClass): CopyDeclaration[] {
  const copies: unknown = Object.hasOwn(target, 'copies') ? Reflect.get(target, 'copies') : undefined;
  if (!isRecord(copies)) return [];
  return Object.values(copies).flatMap((one) => (isRecord(one) ? (declared.get(one) ?? []) : []));
}

/** `unknown` when the properties of the class can hold what its `copies` name, else a {@link RowKeyMistake}. */
export type CheckedCopies<C extends { readonly prototype: unknown }> = C extends {
  readonly copies: infer Copies;
}
  ? [WrongCopies<C['prototype'], Copies>] extends [never]
    ? unknown
    : RowKeyMistake<WrongCopies<C['prototype'], Copies>>
  : unknown;

type WrongCopies<E, Copies> = {
  [Name in keyof Copies]: Copies[Name] extends DeclaredCopy<infer S, infer Fields>
    ? WrongCopy<E, S, Fields>
    : never;
}[keyof Copies];

/** Accepts only classes whose properties can hold the copied values. */
export type CopyDecorator<S, Fields> = <C extends AnyClass>(
  target: C & NoInfer<CopyingClass<C, S, Fields>>,
  context?: unknown,
) => void;

/** The constraint on the class. An interface, like `RowKeyClass`. */
export interface CopyingClass<C extends { readonly prototype: unknown }, S, Fields> {
  readonly prototype: [WrongCopy<C['prototype'], S, Fields>] extends [never]
    ? unknown
    : RowKeyMistake<WrongCopy<C['prototype'], S, Fields>>;
}

type WrongCopy<E, S, Fields> = {
  [Own in keyof Fields & string]: Own extends keyof E
    ? NonNullable<E[Own]> extends ReadonlyMap<unknown, infer Value>
      ? [NonNullable<S[Fields[Own] & keyof S]>] extends [NonNullable<Value>]
        ? never
        : `The values of the Map "${Own}" differ in type from the source's property that they copy`
      : undefined extends E[Own]
        ? [NonNullable<S[Fields[Own] & keyof S]>] extends [NonNullable<E[Own]>]
          ? never
          : `The type of "${Own}" differs from that of the source's property that it copies`
        : `"${Own}" is a copy, which is absent when there is no source: declare it optional`
    : `"${Own}" is declared as a copy, but the class has no such property`;
}[keyof Fields & string];

declare const relation: unique symbol;

/**
 * The type of a property with `@Reference` or `@References`. It marks the property as a relation, so that the
 * compiler refuses it in `select`, `where`, `update` and similar places. Plain values can be assigned to it.
 *
 * @example
 * ```ts
 * @Reference(() => Customer, { customerId: 'customerId' }) customer?: Related<Customer> | null;
 * @References(() => Line, { orderNo: 'orderNo' }) lines?: Related<Line[]>;
 * ```
 */
export type Related<T extends object> = T & RelationMark<T>;

/** The mark that {@link Related} adds to a type. Exists only in types. */
export interface RelationMark<T = unknown> {
  readonly [relation]?: T;
}

/**
 * A function that returns a class with the names of its key parts. The function allows modules to import each
 * other.
 */
export type RelatedType<E extends object, Key extends readonly string[]> = () => (abstract new (
  ...args: never[]
) => E) & { readonly key: Key };

/** The rule for entities whose referenced entity is deleted. */
export type OnDelete = 'restrict' | 'cascade' | 'setNull';

/** Options of `@Reference`: referential rules. How each engine enforces them: docs/relations.md. */
export interface ReferenceOptions {
  /**
   * When the referenced entity is deleted, in the same step: `restrict` refuses the deletion with
   * ERR_REFERENCE, `cascade` deletes this entity too, `setNull` sets the referencing properties to null,
   * those that are optional.
   * Default: nothing happens.
   */
  readonly onDelete?: OnDelete;
  /**
   * Whether a write that references a missing entity is refused with ERR_REFERENCE. Default: true if
   * `onDelete` is given.
   */
  readonly exists?: boolean;
}

/** Options of `@References`. */
export interface ReferencesOptions {
  /** The largest number of entities that a read loads; more are an error. Default 1000. */
  readonly max?: number;
}

/** Options of `@References` by an index. */
export interface IndexedReferencesOptions extends ReferencesOptions {
  /** The name of an index of the other entity. `via` maps leading parts of that index. */
  readonly index: string;
}

/**
 * A property that stands for one other entity. `via` maps each part of the other's key to the property that
 * holds it here. The property is not stored. It is undefined until a query loads it by `with`; then it is the
 * entity, or null.
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
      options,
    });
  });
}

/**
 * A property that stands for the entities whose keys begin with values of this entity. `via` maps leading
 * parts of the other's key to the properties that hold them here. The property is not stored. It is undefined
 * until a query loads it by `with`; then it is a list in the order of the other's key. With `index`, `via` maps leading
 * parts of that index of the other entity, and the list is in the order of the index.
 *
 * @example
 * ```ts
 * @References(() => Line, { orderNo: 'orderNo' }) lines?: Related<Line[]>;
 * @References(() => Offer, { item: 'id' }, { index: 'byItem' }) offers?: Related<Offer[]>;
 * ```
 */
export function References<E extends object, const Key extends readonly string[]>(
  target: RelatedType<E, Key>,
  via: { readonly [Part in keyof E & string]?: string },
  options: IndexedReferencesOptions,
): PropertyDecoratorOf<E[]>;
export function References<E extends object, const Key extends readonly string[]>(
  target: RelatedType<E, Key>,
  via: { readonly [Part in Key[number]]?: string },
  options?: ReferencesOptions,
): PropertyDecoratorOf<E[]>;
export function References<E extends object>(
  target: RelatedType<E, readonly string[]>,
  via: Readonly<Record<string, string | undefined>>,
  options: ReferencesOptions & { readonly index?: string } = {},
): PropertyDecoratorOf<E[]> {
  return memberDecorator('References', 'field', (declaration, property) => {
    declaration.relations.push({
      kind: 'many',
      decorator: 'References',
      property,
      target: target as () => AnyClass,
      via: via as Readonly<Record<string, string>>,
      max: options?.max,
      index: options?.index,
      options,
    });
  });
}
