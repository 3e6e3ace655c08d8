/** The types of row keys. With them the compiler checks that a class fits the elements of its key; if not, its message says what to write. */

import type {
  BucketElement,
  DerivedElement,
  ElementNames,
  HashElement,
  HeldType,
  KeyElement,
  KeyValue,
  PartElement,
  SaltElement,
  TimeBucketElement,
} from '../src/key/index.js';

/**
 * The result of `rowKey`: the names of the parts that can be queried, in order, and the elements that
 * hold them.
 */
export type DeclaredKey<Elements extends readonly KeyElement[]> = Readonly<KeyTuple<Elements>> &
  KeyElements<Elements> &
  ([RandomSalts<Elements>] extends [never] ? unknown : SaltedAtRandom<Readonly<KeyTuple<Elements>>>);

/**
 * The parts of a key with a random salt: `declare static readonly key: RandomlySalted<['id', 'n']>`.
 * Repositories of such a class have only the operations that do not address a single row.
 */
export type RandomlySalted<Names extends readonly string[]> = Names & SaltedAtRandom<Names>;

/** Marks a class whose key parts alone do not determine the row. With `@RowKey` it exists only in types. */
export interface SaltedAtRandom<Names extends readonly string[] = readonly string[]> {
  readonly salted: 'random';
  readonly names: Names;
}

export type RandomSalts<Elements extends readonly KeyElement[]> = Extract<
  Elements[number],
  SaltElement<'random'>
>;

export interface KeyElements<Elements extends readonly KeyElement[] = readonly KeyElement[]> {
  readonly elements: Elements;
}

/**
 * `unknown` when the class fits the key that it declares with `rowKey`, else a {@link RowKeyMistake}.
 */
export type CheckedKey<C extends { readonly prototype: unknown }> = C extends {
  readonly key: KeyElements<infer Elements>;
}
  ? Elements[number] extends
      | PartElement<string, unknown, C['prototype']>
      | DerivedElement<FlatParts<Elements>[number]>
    ? unknown
    : CheckedElements<C['prototype'], Elements>
  : C extends { readonly prototype: { readonly key: KeyElements } }
    ? RowKeyMistake<'The key must be static. Write: static readonly key = rowKey(...)'>
    : unknown;

/**
 * Accepts only classes whose key and properties fit the elements. `Parts` are the parts of all elements in sequence, `Each` is the
 * union of the elements. The compiler compares the class with the constraint once, after it is known; it would evaluate
 * an intersection in the parameter three times.
 */
export type RowKeyDecorator<
  Elements extends readonly KeyElement[],
  Parts extends readonly string[] = FlatParts<Elements>,
  Each extends KeyElement = Elements[number],
> = <C extends RowKeyClass<C, Elements, Parts, Each>>(target: C, context?: unknown) => void;

/** The constraint on the class. It is an interface so that the compiler evaluates it only when it compares it with the class. */
export interface RowKeyClass<
  C extends { readonly prototype: unknown },
  Elements extends readonly KeyElement[],
  Parts extends readonly string[] = FlatParts<Elements>,
  Each extends KeyElement = Elements[number],
> {
  readonly prototype: CheckedClass<C, Elements, Parts, Each>;
}

/** Carries a message of the compiler about a class. No class has this type. */
export interface RowKeyMistake<Message extends string> {
  readonly __mistake: Message;
}

/**
 * `unknown` when the class fits the elements, else a {@link RowKeyMistake} that says what to write. A class that fits is recognized in
 * two type comparisons, which is cheap; only otherwise is the mistake searched for. Digests take the slow path, because the type of
 * their property depends on the other elements.
 */
export type CheckedClass<
  C extends { readonly prototype: unknown },
  Elements extends readonly KeyElement[],
  Parts extends readonly string[] = FlatParts<Elements>,
  Each extends KeyElement = Elements[number],
> =
  Held<Each> extends Held<PartElement<string, unknown, C['prototype']> | DerivedElement<Parts[number]>>
    ? C extends Listing<Parts>
      ? unknown
      : SlowlyChecked<C, Elements>
    : SlowlyChecked<C, Elements>;

/** Compares a union whole. (A tuple would do so too, but the compiler looks up all of its members.) */
interface Held<out T> {
  readonly held: T;
}

/** A class that lists these parts of its key. */
interface Listing<Parts> {
  readonly key: Parts;
}

/**
 * The parts of all elements in sequence. These are the key's parts if no element is a digest of another's
 * part.
 */
export type FlatParts<E extends readonly KeyElement[]> = FlatByLength<E>[E['length'] & Lengths];

type Lengths = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8;

/**
 * Spreads without recursion, which takes the compiler a third less time. Longer row keys are checked by
 * recursion.
 */
interface FlatByLength<E extends readonly KeyElement[]> {
  1: [...E[0]['parts']];
  2: [...E[0]['parts'], ...E[1]['parts']];
  3: [...E[0]['parts'], ...E[1]['parts'], ...E[2]['parts']];
  4: [...E[0]['parts'], ...E[1]['parts'], ...E[2]['parts'], ...E[3]['parts']];
  5: [...E[0]['parts'], ...E[1]['parts'], ...E[2]['parts'], ...E[3]['parts'], ...E[4]['parts']];
  6: [
    ...E[0]['parts'],
    ...E[1]['parts'],
    ...E[2]['parts'],
    ...E[3]['parts'],
    ...E[4]['parts'],
    ...E[5]['parts'],
  ];
  7: [
    ...E[0]['parts'],
    ...E[1]['parts'],
    ...E[2]['parts'],
    ...E[3]['parts'],
    ...E[4]['parts'],
    ...E[5]['parts'],
    ...E[6]['parts'],
  ];
  8: [
    ...E[0]['parts'],
    ...E[1]['parts'],
    ...E[2]['parts'],
    ...E[3]['parts'],
    ...E[4]['parts'],
    ...E[5]['parts'],
    ...E[6]['parts'],
    ...E[7]['parts'],
  ];
}

/** The properties that the elements hold, as an object type. */
export type KeyRow<Elements extends readonly KeyElement[]> = Elements[number] extends {
  readonly kind: string;
  readonly $row?: (row: infer Row) => void;
}
  ? keyof Row extends string
    ? Row
    : WritableKeyTypes<Elements>
  : WritableKeyTypes<Elements>;

type WritableKeyTypes<Elements extends readonly KeyElement[]> = {
  -readonly [Part in keyof KeyTypes<Elements[number]>]: KeyTypes<Elements[number]>[Part];
};

/** Equals `ElementNames`, but needs no recursion if no element is a digest. */
export type KeyTuple<Elements extends readonly KeyElement[]> = Elements[number] extends {
  readonly kind: string;
  readonly $row?: (row: never) => void;
}
  ? FlatParts<Elements>
  : ElementNames<Elements>;

type SlowlyChecked<C, Elements extends readonly KeyElement[]> = [C] extends [
  { readonly key: infer Key; readonly prototype: infer E },
]
  ? [Key] extends [Readonly<ElementNames<Elements>>]
    ? [RandomSalts<Elements>] extends [never]
      ? CheckedElements<E, Elements>
      : Key extends SaltedAtRandom
        ? CheckedElements<E, Elements>
        : RowKeyMistake<`The salt is random, so the key parts alone do not determine a row. Write: declare static readonly key: RandomlySalted<[${Quoted<ElementNames<Elements>>}]>`>
    : MissingPart<E, Elements, `The parts of @RowKey are not those of the class's key. ${WriteKey<Elements>}`>
  : C extends { readonly prototype: infer E }
    ? MissingPart<E, Elements, `The class does not list its key's parts. ${WriteKey<Elements>}`>
    : never;

/** The message about a key that is not listed correctly. A part that is not a property is reported first. */
type MissingPart<E, Elements extends readonly KeyElement[], Otherwise extends string> = [
  Exclude<ElementNames<Elements>[number], keyof E>,
] extends [never]
  ? RowKeyMistake<Otherwise>
  : RowKeyMistake<`"${Exclude<ElementNames<Elements>[number], keyof E>}" is a part of the row key, but the class has no such property`>;

type WriteKey<Elements extends readonly KeyElement[]> =
  `Write: declare static readonly key: [${Quoted<ElementNames<Elements>>}]`;

/** The required property types, by part: of parts held whole, and of those held only as a digest. */
export type KeyTypes<Element extends KeyElement> = TypesOf<Extract<Element, { readonly exact: true }>> &
  DigestTypes<Digest<Element, Extract<Element, { readonly exact: true }>['parts'][number]>>;

type TypesOf<Element> = {
  readonly [E in Element as NamesOf<E>]: StoredType<E>;
};

/** Any key value, if the codec of the property's column decides the type. */
type DigestTypes<Element> = { readonly [Name in NamesOf<Element>]: HeldType<Element, Name> };

type NamesOf<E> = E extends { readonly parts: readonly (infer Name extends string)[] } ? Name : never;

/** Digests of properties that are not also held whole. */
type Digest<Element, Exact extends string> = Element extends {
  readonly exact: false;
  readonly parts: readonly (infer Name)[];
}
  ? [Name] extends [Exact]
    ? never
    : Element
  : never;

/** The required type of the property. A part without a codec is text. */
type StoredType<E> = E extends { readonly kind: 'hash'; readonly $types?: infer Types }
  ? TextOr<NonNullable<Types>[keyof NonNullable<Types>]>
  : E extends { readonly $value?: infer T }
    ? TextOr<T>
    : never;

type TextOr<T> = [KeyValue] extends [T] ? string : NonNullable<T>;

type CheckedElements<E, Elements extends readonly KeyElement[]> = [UnknownPart<Elements>] extends [never]
  ? CheckedTypes<E, Elements[number]>
  : RowKeyMistake<UnknownPart<Elements>>;

/**
 * The message about a salt or bucket over a part that no element holds. Names known only at run time are
 * checked there.
 */
export type UnknownPart<Elements extends readonly KeyElement[]> = UnknownName<
  NamedPart<Elements[number]>,
  Elements[number]['parts'][number]
>;

/** `unknown` when an element holds every part that a salt or bucket names, else a {@link RowKeyMistake}. */
export type KnownParts<Elements extends readonly KeyElement[]> =
  // One comparison with the names of the entity's key, which are known at this point.
  Elements[number] extends HeldElement | DerivedElement<KeyTuple<Elements>[number]>
    ? unknown
    : [UnknownPart<Elements>] extends [never]
      ? unknown
      : RowKeyMistake<UnknownPart<Elements>>;

type HeldElement = PartElement | HashElement | TimeBucketElement;

type NamedPart<Element> =
  Element extends SaltElement<'hash' | 'random', infer Over>
    ? Over
    : Element extends BucketElement<infer Of>
      ? Of
      : never;

type UnknownName<Named extends string, Parts extends string> = string extends Named
  ? never
  : Exclude<Named, Parts> extends infer Unknown extends string
    ? [Unknown] extends [never]
      ? never
      : `"${Unknown}" is named by salt() or bucket(), but no element holds it. The parts are: ${Parts}`
    : never;

type CheckedTypes<E, Element extends KeyElement> =
  E extends KeyTypes<Element> ? unknown : RowKeyMistake<TypeMistakes<E, KeyTypes<Element>>>;

type TypeMistakes<E, Types> = {
  [Name in keyof Types & string]: Name extends keyof E
    ? undefined extends E[Name]
      ? `"${Name}" is a part of the key: it may not be optional or undefined`
      : null extends E[Name]
        ? `"${Name}" is a part of the key: it may not be null`
        : E[Name] extends Types[Name]
          ? never
          : `The type of "${Name}" is not the one that its codec in the row key stores`
    : `"${Name}" is a part of the row key, but the class has no such property`;
}[keyof Types & string];

type Quoted<Names extends readonly string[]> = Names extends readonly [
  infer First extends string,
  ...infer Rest extends readonly string[],
]
  ? Rest extends readonly []
    ? `'${First}'`
    : `'${First}', ${Quoted<Rest>}`
  : '';
