import { SchemaError } from '../src/errors.js';
import { part } from '../src/key/declare.js';
import type { DerivedElement, KeyElement, PartElement } from '../src/key/index.js';
import { describe, isRecord } from '../src/table/checks.js';
import type {
  AnyClass,
  EntryOptions,
  EventualIndexOptions,
  IndexDeclaration,
  IndexOptions,
  StrongIndexOptions,
} from './declaration.js';
import { type AnyPropertyDecorator, classDecorator, memberDecorator } from './modes.js';
import {
  declaredElements,
  type ElementOrName,
  type ElementsOf,
  elementsOf,
  isElement,
  keyNames,
} from './row-key.js';
import type { FlatParts, KeyElements, KeyTuple, RowKeyMistake, UnknownPart } from './row-key-types.js';

/**
 * Declares a secondary index, which finds entities by properties outside their row key. Above a property it
 * indexes that property; above the class it takes key elements, like `@RowKey`. The class lists its indexes
 * and their parts so that queries are typed.
 *
 * @example
 * ```ts
 * @Index('byStatus', [part('status'), reverseTimestamp('placedAt')], { include: ['total'] })
 * class Order {
 *   declare static readonly key: ['id'];
 *   declare static readonly indexes: { byEmail: ['email']; byStatus: ['status', 'placedAt'] };
 *   id!: string;
 *   @Index('byEmail', { unique: true }) @Column('d:e', text) email?: string | null;
 *   …
 * }
 * ```
 */
export function Index(name: string, options?: IndexOptions): AnyPropertyDecorator;
export function Index<const Name extends string, Elements extends readonly KeyElement[]>(
  name: Name,
  elements: readonly [...Elements],
  options?: IndexOptions,
): IndexDecorator<Name, Elements>;
export function Index(
  name: string,
  given?: readonly KeyElement[] | IndexOptions,
  options?: IndexOptions,
): (target: unknown, property?: unknown) => void {
  if (!Array.isArray(given)) {
    const declare = memberDecorator('Index', 'field', (declaration, property) => {
      declaration.indexes.push({ name, elements: [part(property)], options: given as IndexOptions });
    });
    return (target, property) => declare(target, property);
  }
  return classDecorator('Index', (declaration) => {
    const wrong = given.find((element: unknown) => !isElement(element));
    if (wrong === undefined && given.length > 0) declaration.indexes.push({ name, elements: given, options });
    else {
      declaration.problems.push(
        `@Index(${describe(name)}) takes elements, [part('status')] and the like, not ${wrong === undefined ? 'an empty list' : describe(wrong)}.`,
      );
    }
  });
}

/**
 * An index declared by {@link index} or {@link uniqueIndex}: the names of its parts in order, its elements
 * and its options.
 */
export type DeclaredIndex<Elements extends readonly KeyElement[], Include extends string = string> = Readonly<
  KeyTuple<Elements>
> &
  KeyElements<Elements> & { readonly options: IndexOptions & { readonly include?: readonly Include[] } };

/** The options of {@link index}. */
export type PlainIndexOptions = Omit<StrongIndexOptions, 'unique'> | Omit<EventualIndexOptions, 'unique'>;

type Included<Include extends string> = { readonly include?: readonly Include[] };

/**
 * Declares an index in the static `indexes` of a class: elements as in `rowKey` (a bare name is short for
 * `part(name)`), then options. `@Entity` checks it against the properties of the class. The stored bytes are
 * the same as with `@Index` above the class, given the same elements and options.
 *
 * @example
 * ```ts
 * @Entity({ table: Orders })
 * class Order {
 *   static readonly key = rowKey('id');
 *   static readonly indexes = {
 *     byStatus: index('status', reverseTimestamp('placedAt'), { include: ['total'] }),
 *     byEmail: uniqueIndex('email'),
 *   };
 *   …
 * }
 * ```
 * @throws SchemaError without elements, or when an argument is no key element.
 */
export function index<const Given extends readonly ElementOrName[]>(
  ...given: Given
): DeclaredIndex<ElementsOf<Given>, never>;
export function index<const Given extends readonly ElementOrName[], const Include extends string = never>(
  ...given: [...Given, options: PlainIndexOptions & Included<Include>]
): DeclaredIndex<ElementsOf<Given>, Include>;
export function index(...given: readonly unknown[]): unknown {
  return declareIndex('index', given, {});
}

/**
 * Like {@link index}, for an index in which no two entities have the same values. @throws SchemaError as
 * `index`.
 */
export function uniqueIndex<const Given extends readonly ElementOrName[]>(
  ...given: Given
): DeclaredIndex<ElementsOf<Given>, never>;
export function uniqueIndex<
  const Given extends readonly ElementOrName[],
  const Include extends string = never,
>(...given: [...Given, options: EntryOptions & Included<Include>]): DeclaredIndex<ElementsOf<Given>, Include>;
export function uniqueIndex(...given: readonly unknown[]): unknown {
  return declareIndex('uniqueIndex', given, { unique: true });
}

function declareIndex(taker: string, given: readonly unknown[], own: IndexOptions): unknown {
  const last = given.at(-1);
  const hasOptions = isRecord(last) && !isElement(last);
  const elements = elementsOf(taker, hasOptions ? given.slice(0, -1) : given);
  if (elements.length === 0) {
    throw new SchemaError(`${taker}() names no property. Write: ${taker}('status').`);
  }
  const options = Object.freeze({ ...(hasOptions ? last : {}), ...own });
  return Object.freeze(Object.assign(keyNames(elements), { elements, options }));
}

/**
 * Returns the class's own indexes in `static readonly indexes = { … }`, made by {@link index} or {@link
 * uniqueIndex}.
 */
export function declaredIndexes(target: AnyClass): IndexDeclaration[] {
  const indexes: unknown = Object.hasOwn(target, 'indexes') ? Reflect.get(target, 'indexes') : undefined;
  if (!isRecord(indexes)) return [];
  return Object.entries(indexes).flatMap(([name, one]) => {
    const elements = declaredElements(one);
    if (elements === undefined) return [];
    return [{ name, elements, options: (one as Partial<DeclaredIndex<readonly KeyElement[]>>).options }];
  });
}

/**
 * `unknown` when the indexes that the class declares with {@link index} fit its properties, else a {@link RowKeyMistake}.
 */
export type CheckedIndexes<C extends { readonly prototype: unknown }> = C extends {
  readonly indexes: infer Indexes;
}
  ? [WrongIndex<C['prototype'], Indexes>] extends [never]
    ? unknown
    : RowKeyMistake<WrongIndex<C['prototype'], Indexes>>
  : unknown;

type WrongIndex<E, Indexes> = {
  [Name in keyof Indexes & string]: Indexes[Name] extends KeyElements<infer Elements>
    ? // Names known only at run time are checked there.
      string extends Elements[number]['parts'][number]
      ? never
      : `The index "${Name}": ${
          | UnknownPart<Elements>
          | WrongPart<E, Elements[number]>
          | UnknownInclude<E, Indexes[Name]>}`
    : never;
}[keyof Indexes & string];

type UnknownInclude<E, Declared> = Declared extends {
  readonly options: { readonly include?: readonly (infer Include extends string)[] };
}
  ? string extends Include
    ? never
    : Include extends unknown
      ? unknown extends IndexedValue<E, Include>
        ? Include extends keyof E
          ? never
          : `it includes "${Include}", but the class has no such property`
        : never
      : never
  : never;

/** Accepts only classes that list the index with these parts and whose properties fit the elements. */
export type IndexDecorator<Name extends string, Elements extends readonly KeyElement[]> = <
  C extends AnyClass,
>(
  target: C & NoInfer<IndexedClass<C, Name, Elements>>,
  context?: unknown,
) => void;

/** The constraint on the class. An interface, like `RowKeyClass`. */
export interface IndexedClass<
  C extends { readonly prototype: unknown },
  Name extends string,
  Elements extends readonly KeyElement[],
> {
  readonly prototype: C extends { readonly indexes: { readonly [N in Name]: FlatParts<Elements> } }
    ? Elements[number] extends
        | PartElement<string, unknown, C['prototype']>
        | DerivedElement<FlatParts<Elements>[number]>
      ? unknown
      : SlowlyChecked<C, Name, Elements>
    : SlowlyChecked<C, Name, Elements>;
}

/**
 * Handles optional properties, lists, Maps and mistakes. A class of plain values needs only two type
 * comparisons.
 */
type SlowlyChecked<
  C extends { readonly prototype: unknown },
  Name extends string,
  Elements extends readonly KeyElement[],
> = C extends { readonly indexes: { readonly [N in Name]: KeyTuple<Elements> } }
  ? [UnknownPart<Elements>] extends [never]
    ? CheckedParts<C['prototype'], Elements[number]>
    : RowKeyMistake<UnknownPart<Elements>>
  : [MissingPart<C['prototype'], KeyTuple<Elements>[number]>] extends [never]
    ? RowKeyMistake<`The class does not list the parts of the index "${Name}". Write: declare static readonly indexes: { ${Name}: [${Listed<KeyTuple<Elements>>}] }`>
    : RowKeyMistake<MissingPart<C['prototype'], KeyTuple<Elements>[number]>>;

/** The compiler's message about parts that are not properties. */
type MissingPart<E, Name extends string> = Name extends unknown
  ? unknown extends IndexedValue<E, Name>
    ? Name extends keyof E
      ? never
      : Missing<Name>
    : never
  : never;

type Listed<Names> = Names extends readonly [infer First extends string, ...infer Rest]
  ? Rest extends readonly []
    ? `'${First}'`
    : `'${First}', ${Listed<Rest>}`
  : '';

/**
 * Whether the elements' properties hold what their codecs store: a value, perhaps absent, or a list or Map of
 * values.
 */
type CheckedParts<E, Element extends KeyElement> = [WrongPart<E, Element>] extends [never]
  ? unknown
  : RowKeyMistake<WrongPart<E, Element>>;

type WrongPart<E, Element> = Element extends DerivedElement
  ? never
  : Element extends PartElement<infer Name, unknown, never, true>
    ? WrongPlain<E, Name>
    : WrongCoded<E, Element>;

/** The message about a part with its column's codec. Items of a list are text. */
type WrongPlain<E, Name extends string> =
  unknown extends IndexedValue<E, Name>
    ? Missing<Name>
    : Name extends keyof E
      ? NonNullable<E[Name]> extends readonly unknown[]
        ? WrongValue<E, Name, string>
        : never
      : never;

type WrongCoded<E, Element> = Element extends {
  readonly parts: readonly (infer Name extends string)[];
  readonly $value?: infer T;
}
  ? Name extends keyof E
    ? [E[Name]] extends [T]
      ? never
      : WrongValue<E, Name, T>
    : WrongValue<E, Name, T>
  : never;

/** The message about a part whose property type differs from what the codec stores. */
type WrongValue<E, Name extends string, T> =
  unknown extends IndexedValue<E, Name>
    ? Missing<Name>
    : unknown extends T
      ? never
      : [IndexedValue<E, Name>] extends [NonNullable<T>]
        ? never
        : Name extends keyof E
          ? NonNullable<E[Name]> extends ReadonlyMap<infer Key, infer Value>
            ? [Key] extends [NonNullable<T>]
              ? never
              : [NonNullable<Value>] extends [NonNullable<T>]
                ? never
                : WrongType<Name>
            : WrongType<Name>
          : WrongType<Name>;

type Missing<Name extends string> = `"${Name}" is a part of the index, but the class has no such property`;

type WrongType<Name extends string> = `The type of "${Name}" is not the one that its codec in @Index stores`;

/**
 * The type of an indexed part in a query: the value, or one item of a list or Map; `unknown` if there is no
 * such property.
 */
export type IndexedValue<E, Name extends string> = Name extends keyof E
  ? OneOf<NonNullable<E[Name]>>
  : Name extends `${infer Head}.${infer Rest}`
    ? Head extends keyof E
      ? IndexedValue<NonNullable<E[Head]>, Rest>
      : unknown
    : unknown;

type OneOf<T> = T extends string | number | bigint | boolean | Date | Uint8Array
  ? T
  : T extends readonly (infer Item)[]
    ? NonNullable<Item>
    : T extends ReadonlyMap<infer Key, infer Value>
      ? Key | NonNullable<Value>
      : T;
