/**
 * The types that repositories derive from a class: its key, conditions on the key, writable and selectable
 * properties. All are aliases of the class, so they print short and can be named; all grow linearly with the number
 * of key parts and columns (a test measures the budget).
 */

import type { RelationMark } from '../../decorators/denormalized.js';
import type { IndexedValue } from '../../decorators/indexes.js';
import type { KeyTuple, SaltedAtRandom } from '../../decorators/row-key-types.js';
import type { KeyElement } from '../key/index.js';
import type { EntityClass } from './types.js';

/**
 * An entity class with the names of its key's parts, in order: `static readonly key = rowKey(part('a'), part('b'))`,
 * or `declare static readonly key: ['a', 'b']` beside `@RowKey`.
 *
 * Exported as `KeyedClass`. The compiler shows this name where an entity type was written instead of its class: write
 * `Repository<typeof Order>`, not `Repository<Order>`.
 */
export interface TypeofClass<E extends object = object> extends EntityClass<E> {
  readonly key: readonly string[];
  readonly prototype: E;
}

export type { TypeofClass as KeyedClass };

/** A class whose rows have a random salt (`RandomlySalted`): a key does not identify one row. */
export interface ScatteredClass<E extends object = object> extends TypeofClass<E> {
  readonly key: readonly string[] & SaltedAtRandom;
}

/**
 * The instance type. (Read from `prototype`: inferring it from the constructor costs the compiler three times as
 * much.)
 */
export type EntityOf<C extends { readonly prototype: unknown }> = C['prototype'];

/** One whole key: a value for every part. */
export type KeyOf<C extends TypeofClass> = Whole<C['prototype'], C['key'][number] & keyof C['prototype']>;

/** The properties with these names, all required. Cheaper for the compiler than `Pick`. */
type Whole<E, Names extends keyof E> = { [Name in Names]-?: E[Name] };

/**
 * A condition on one key part other than equality: `in` (counts as equality, so further parts may follow), one lower
 * and one upper bound, the beginning of a string or bytes, or its end where the key stores the string reversed.
 * Contradictory combinations throw when the query runs.
 */
export interface PartTest<T> {
  readonly in?: readonly T[];
  readonly gt?: T;
  readonly gte?: T;
  readonly lt?: T;
  readonly lte?: T;
  readonly startsWith?: T;
  readonly endsWith?: T;
}

type PartOperator = keyof PartTest<unknown>;

/** The members of a value or operator object: one comparison finds an operator object with another key. */
type MemberName =
  | PartOperator
  | keyof string
  | keyof number
  | keyof bigint
  | keyof boolean
  | keyof Date
  | keyof Uint8Array;

/** A condition on a key part of type `T`. */
export type PartQuery<T> = T | PartTest<T>;

/**
 * Conditions on key parts, without regard to their order. {@link CheckedPrefix} checks the order, with readable
 * messages.
 */
export type KeyQuery<C extends TypeofClass> = QueryOf<
  C['prototype'],
  C['key'][number] & keyof C['prototype']
>;

type QueryOf<E, Names extends keyof E> = { readonly [Part in Names]?: E[Part] | PartTest<E[Part]> };

/** A compiler message. No value has this type. */
export interface KeyMistake<Message extends string> {
  readonly __mistake: Message;
}

/**
 * Checks a {@link KeyQuery}: equality (or `in`) on leading parts, then at most one range, then nothing. It is `unknown`
 * when the query is right, else an object type with a {@link KeyMistake} at each wrong part. To be used as
 * `find<Q extends KeyQuery<C>>(prefix: Q & CheckedPrefix<C, Q>)`.
 *
 * A right query of up to three parts, equality but for the last, is recognized without recursion, which is cheap for
 * the compiler; whatever is not goes to the slow check, which accepts or says why not. An empty query is right, and so is
 * the constraint of Q, at which the compiler tries the type as well.
 */
export type CheckedPrefix<C extends TypeofClass, Q> = NoInfer<
  Q extends unknown
    ? Record<never, never> extends Q
      ? unknown
      : Q[keyof Q] extends Equality
        ? keyof Q extends C['key'][0]
          ? unknown
          : NamesLeading<C['key'], Q> extends true
            ? unknown
            : SlowPrefix<C['key'], C['prototype'], Q>
        : undefined extends Q[keyof Q]
          ? SlowPrefix<C['key'], C['prototype'], Q>
          : EndsWith<C['key'][0], C['key'][1], Q> extends true
            ? unknown
            : keyof Q extends C['key'][0]
              ? keyof Q[keyof Q] extends MemberName
                ? unknown
                : SlowPrefix<C['key'], C['prototype'], Q>
              : EndsWith<C['key'][0] | C['key'][1], C['key'][2], Q> extends true
                ? unknown
                : SlowPrefix<C['key'], C['prototype'], Q>
    : never
>;

/** Whether the query names the first two or three parts of the key, and nothing else. */
type NamesLeading<K extends readonly string[], Q> = K[0] | K[1] extends keyof Q
  ? keyof Q extends K[0] | K[1]
    ? true
    : K[2] extends keyof Q
      ? keyof Q extends K[0] | K[1] | K[2]
        ? true
        : false
      : false
  : false;

/**
 * Whether the query has a value for each leading part, possibly a condition on the next part, and nothing else. Each
 * step looks at members that no later step looks at; otherwise the compiler would repeat the work.
 */
type EndsWith<Leading extends string, Last, Q> = keyof Q[Last & keyof Q] extends MemberName
  ? keyof Q extends Leading | Last
    ? Q extends { readonly [Part in Leading]: Equality }
      ? true
      : false
    : false
  : false;

/** Types that are no range. Other values of codecs are left to the slow check. */
type Equality = string | number | bigint | boolean | Date | Uint8Array;

/** Checks a prefix against the keys of several classes: it must be a {@link CheckedPrefix} of each. */
export type CheckedPrefixes<Classes extends readonly TypeofClass[], Q> = Classes extends readonly [
  infer C extends TypeofClass,
  ...infer Rest extends readonly TypeofClass[],
]
  ? CheckedPrefix<C, Q> & NoInfer<CheckedTypes<C, Q>> & CheckedPrefixes<Rest, Q>
  : unknown;

/** The constraint `Q extends KeyQuery<C>` of queries on one class. */
type CheckedTypes<C extends TypeofClass, Q> = Q extends KeyQuery<C> ? unknown : KeyQuery<C>;

type SlowPrefix<K extends readonly string[], E, Q> = UnknownParts<Names<K>, Q> &
  MisplacedParts<Names<K>, E, Q>;

/** The tuple of names of a key made by `rowKey`: the compiler cannot destructure a tuple in an intersection. */
type Names<K extends readonly string[]> = K extends { readonly elements: infer Elements }
  ? KeyTuple<Extract<Elements, readonly KeyElement[]>>
  : K extends SaltedAtRandom<infer Listed>
    ? Listed
    : K;

type UnknownParts<Names extends readonly string[], Q> = [Exclude<keyof Q, Names[number]>] extends [never]
  ? unknown
  : {
      readonly [Name in Exclude<
        keyof Q,
        Names[number]
      >]: KeyMistake<`"${Name & string}" is no part of the key. The parts are: ${Joined<Names>}. Put conditions on other columns into where().`>;
    };

type MisplacedParts<Names extends readonly string[], E, Q> = Names extends readonly [
  infer Part extends string,
  ...infer Rest extends readonly string[],
]
  ? Part extends keyof Q
    ? undefined extends Q[Part]
      ? Q extends { readonly [P in Part]: unknown }
        ? Undefined<Part>
        : [NonNullable<Q[Part]>] extends [never]
          ? Hole<Rest, Q, Part>
          : Undefined<Part>
      : Q[Part] extends E[Part & keyof E]
        ? MisplacedParts<Rest, E, Q>
        : UnknownOperators<Part, Exclude<keyof Exclude<Q[Part], E[Part & keyof E]>, PartOperator>> &
            (Q[Part] extends E[Part & keyof E] | { readonly in: readonly unknown[] }
              ? MisplacedParts<Rest, E, Q>
              : Forbidden<
                  Rest[number] & keyof Q,
                  Q,
                  `follows a range on "${Part}". Only the last part with a condition may have a range.`
                >)
    : Hole<Rest, Q, Part>
  : unknown;

type Hole<Rest extends readonly string[], Q, Part extends string> = Forbidden<
  Rest[number] & keyof Q,
  Q,
  `needs a condition on "${Part}", which precedes it in the key.`
>;

type UnknownOperators<Part extends string, Names> = [Names] extends [never]
  ? unknown
  : {
      readonly [Name in Part]: KeyMistake<`"${Names & string}" is no operator on a part of a key. Write in, gt, gte, lt, lte, startsWith or endsWith.`>;
    };

type Undefined<Part extends string> = {
  readonly [Name in Part]: KeyMistake<`"${Name}" may be undefined. Undefined never means "any": leave the part out, or give a value.`>;
};

/** A mistake at each of the names that has a value. `{ part?: never }` declares the part absent. */
type Forbidden<Names extends keyof Q, Q, Why extends string> = [Names] extends [never]
  ? unknown
  : {
      readonly [Name in Names as [NonNullable<Q[Name]>] extends [never]
        ? never
        : Name]: KeyMistake<`"${Name & string}" ${Why}`>;
    };

/** "a, b, c". */
export type Joined<Names extends readonly string[]> = Names extends readonly [
  infer First extends string,
  ...infer Rest extends readonly string[],
]
  ? Rest extends readonly []
    ? First
    : `${First}, ${Joined<Rest>}`
  : '';

/**
 * A key prefix as a type for variables and parameters: equality (or `in`) on leading parts, then at most one range,
 * then nothing.
 */
export type KeyPrefix<C extends TypeofClass> = PrefixOf<Names<C['key']>, C['prototype']>;

type PrefixOf<Names extends readonly string[], E> = Names extends readonly [
  infer Part extends string,
  ...infer Rest extends readonly string[],
]
  ?
      | Absent<Names>
      | ({ readonly [P in Part]: PartQuery<E[P & keyof E]> } & Absent<Rest>)
      | ({ readonly [P in Part]: E[P & keyof E] | { readonly in: readonly E[P & keyof E][] } } & PrefixOf<
          Rest,
          E
        >)
  : unknown;

type Absent<Names extends readonly string[]> = { readonly [Name in Names[number]]?: never };

/** Whether `Related` marks the type. `any` accepts every name and lacks the mark. */
export type IsRelation<V> = string extends keyof V
  ? false
  : keyof RelationMark extends keyof V
    ? true
    : false;

/** The names of everything stored: all properties except methods and relations. */
export type PropertiesOf<E> = {
  [Name in keyof E]-?: E[Name] extends ColumnValue
    ? Name
    : E[Name] extends Method | undefined
      ? never
      : IsRelation<NonNullable<E[Name]>> extends true
        ? never
        : Name;
}[keyof E] &
  string;

/** The names of columns: for `select`, `update` and `where`. */
export type ColumnsOf<C extends TypeofClass> = Exclude<PropertiesOf<C['prototype']>, C['key'][number]>;

/**
 * An instance, or an object with the same properties without methods. An optional
 * property may be omitted or undefined (a stored cell is unchanged) or null (the cell is deleted). Maps and histories
 * may be omitted, and `readonly` properties outside the key: the compiler cannot tell a getter from a readonly
 * column.
 */
export type Input<C extends TypeofClass> = InputOf<C['prototype'], C['key'][number]>;

/**
 * Lets the compiler accept an instance without comparing its properties. (Of a union it looks into every intersection
 * first, but not behind `NoInfer`.)
 */
type InputOf<E, Key> = E | NoInfer<PlainInput<E, Key>>;

/**
 * The argument of `put`: as {@link Input}, and key parts with a default may be omitted. A put sets no defaults of
 * columns.
 */
export type PutInput<C extends TypeofClass> = Input<C> | GeneratedInput<C>;

/** Of most classes it is nothing, which the first condition finds cheaply. */
type GeneratedInput<C extends TypeofClass> = C extends
  | { readonly generated: string }
  | { readonly defaults: object }
  ? DefaultedInput<C, GeneratedOf<C> & C['key'][number]>
  : never;

/** The names with a static default, and the key parts that `defineEntity` makes. */
type GeneratedOf<C> = C extends
  | { readonly generated: infer Names }
  | { readonly defaults: Readonly<Record<infer Names extends string, unknown>> }
  ? Names
  : never;

/**
 * The argument of `insert`, `replace`, `upsert` and `firstOrCreate`: as {@link Input}, and columns and key parts with a
 * default may be omitted: those of the static `defaults` of a class, and of `defineEntity`. (Decorators do not change
 * the type of a class.)
 */
export type InsertInput<C extends TypeofClass> = Input<C> | DefaultedInput<C, DefaultedOf<C>>;

type DefaultedOf<C> = (C extends { readonly defaulted: infer Columns } ? Columns : never) | GeneratedOf<C>;

type DefaultedInput<C extends TypeofClass, Defaulted> = [Defaulted] extends [never]
  ? never
  : NoInfer<WithoutDefaulted<C['prototype'], C['key'][number], Defaulted>>;

type WithoutDefaulted<E, Key, Defaulted> = Omit<PlainInput<E, Key>, Defaulted & keyof E> & {
  readonly [Name in Defaulted & keyof E]?: E[Name] | undefined;
};

type PlainInput<E, Key> = {
  readonly [Name in keyof E as Omittable<E, Key, Name> extends never
    ? E[Name] extends Method
      ? never
      : Name
    : never]: E[Name];
} & {
  readonly [Name in keyof E as Omittable<E, Key, Name>]?:
    | (undefined extends E[Name] ? E[Name] | null : E[Name])
    | undefined;
};

type Method = (...args: never[]) => unknown;

/** Whether an object type has a method, as the classes of value objects do (`transformed`). Data has none. */
export type IsValueObject<V> = V extends readonly unknown[] | ReadonlyMap<unknown, unknown>
  ? false
  : IsRelation<V> extends true
    ? false
    : [Extract<V[keyof V], Method>] extends [never]
      ? false
      : true;

/** The name of a property that a put may omit. */
type Omittable<E, Key, Name extends keyof E> = Name extends Key
  ? never
  : undefined extends E[Name]
    ? Name
    : Name extends ReadonlyNames<E>
      ? Name
      : E[Name] extends SingleValue
        ? never
        : E[Name] extends ReadonlyMap<unknown, unknown>
          ? Name
          : E[Name] extends readonly (infer Item)[]
            ? HistoryName<Name, Item>
            : never;

/** What most columns hold: one comparison tells them from Maps and histories. */
type SingleValue = string | number | bigint | boolean | Date | Uint8Array | null;

/** The name of a list that is a history: one of `Versioned`, not of other objects with a value. */
type HistoryName<Name, Item> = Item extends { readonly value: unknown; readonly timestamp?: number }
  ? 'timestamp' extends keyof Item
    ? Name
    : never
  : never;

/** The names of the readonly properties. Most types have none, which one comparison finds out. */
type ReadonlyNames<E> =
  IsSame<E, { -readonly [Name in keyof E]: E[Name] }> extends true
    ? never
    : { [Name in keyof E]-?: ReadonlyName<E, Name> }[keyof E];

type ReadonlyName<E, Name extends keyof E> =
  IsSame<Pick<E, Name>, Readonly<Pick<E, Name>>> extends true ? Name : never;

/** Whether two types are identical. Only that tells `readonly` apart. */
type IsSame<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/**
 * The argument of `update`: any columns. Undefined leaves one unchanged, null deletes an optional one. `readonly`
 * properties (getters, columns set once) cannot be updated.
 */
export type Patch<C extends TypeofClass> = PatchOf<C['prototype'], C['key'][number]>;

type PatchOf<E, Key> = {
  readonly [Name in keyof E as Name extends Key
    ? never
    : Name extends ReadonlyNames<E>
      ? never
      : E[Name] extends ColumnValue
        ? Name
        : E[Name] extends Method | undefined
          ? never
          : IsRelation<NonNullable<E[Name]>> extends true
            ? never
            : Name]?: PatchValue<E[Name]>;
};

type PatchValue<T> = undefined extends T ? T | null : T | undefined;

/** Values of columns, as opposed to methods and relations. Cheap to compare with. */
type ColumnValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | undefined
  | ({ toString(): string; readonly call?: never } & RelationMark<never>);

/**
 * Checks the names given to `select`: `unknown` when all are columns, otherwise a {@link KeyMistake}. It looks at
 * these names only, while `Names extends ColumnsOf<C>` would make the compiler look at every property. While the names are not
 * known the compiler evaluates the first condition several times, so that is a cheap one. No class has all text as names.
 */
export type CheckedNames<C extends TypeofClass, Names extends keyof C['prototype']> = NoInfer<
  string extends Names
    ? KeyMistake<'Give the names of columns.'>
    : C['prototype'][Names] extends ColumnValue
      ? Names & C['key'][number] extends never
        ? unknown
        : NameMistake<C, Names>
      : NameMistake<C, Names>
>;

type NameMistake<C extends TypeofClass, Names> =
  // Every property is the constraint of Names, with which the compiler names what may be given: in messages and completions.
  keyof C['prototype'] & string extends Names
    ? ColumnsOf<C>
    : [Exclude<Names, ColumnsOf<C>>] extends [never]
      ? unknown
      : KeyMistake<`"${Exclude<Names, ColumnsOf<C>> & string}" is no column. Parts of the key are always read, relations by with(), methods never.`>;

/** The type that `select(...names)` returns: these columns and the key. */
export type Selected<C extends TypeofClass, Names extends keyof C['prototype']> = {
  [P in keyof C['prototype'] as P & (Names | C['key'][number])]: C['prototype'][P];
};

/** One object type, of which editors show the properties: `& {}` drops the name. */
export type Shown<T> = { [P in keyof T]: T[P] } & {};

/** The names of the indexes that a class lists: `declare static readonly indexes: { byEmail: ['email'] }`. */
export type IndexName<C> = C extends { readonly indexes: infer Indexes } ? keyof Indexes & string : never;

/** An index as a class: its parts are the key. */
export type IndexOf<C extends TypeofClass, Name> = C extends { readonly indexes: infer Indexes }
  ? Name extends keyof Indexes
    ? Indexes[Name] extends readonly string[]
      ? IndexTarget<{ [P in Indexes[Name][number]]: IndexedValue<C['prototype'], P> }, Indexes[Name]>
      : never
    : never
  : never;

export interface IndexTarget<E extends object, Key extends readonly string[]> {
  new (...args: never[]): E;
  readonly key: Key;
  readonly prototype: E;
}
