/** The types of `where`, and the small builder for alternatives. */

import { QueryError } from '../errors.js';
import type { EntityOf, KeyedClass, PropertiesOf } from '../schema/entity-types.js';
import { describe } from '../table/checks.js';
import { type Condition, negate, type PropertyResolver, parseEntry, parseWhere } from './condition.js';
import { BuiltPredicate, type Predicate } from './predicate.js';

/** Values that are compared as a whole; other objects are embedded ones. */
type Scalar = string | number | bigint | boolean | Date | Uint8Array;

/** What one column can be asked. Every operator but `ne`, `notIn`, `exists: false` fails where the column is absent. */
export interface ColumnOperators<V> {
  readonly eq?: V | null;
  readonly ne?: V | null;
  readonly lt?: V;
  readonly lte?: V;
  readonly gt?: V;
  readonly gte?: V;
  /** Lowest and highest, both included. */
  readonly between?: readonly [V, V];
  readonly in?: readonly (V | null)[];
  readonly notIn?: readonly (V | null)[];
  readonly startsWith?: V extends string ? string : V extends Uint8Array ? Uint8Array : never;
  readonly endsWith?: V extends string ? string : never;
  readonly contains?: V extends string ? string : never;
  readonly exists?: boolean;
}

/** A union of scalars is asked as one: `{ in: ['open', 'shipped'] }`. */
type ColumnTest<V> = [V] extends [Scalar] ? V | ColumnOperators<V> : MemberTest<V>;

type MemberTest<V> = V extends Scalar
  ? V | ColumnOperators<V>
  : V extends readonly unknown[] | ReadonlyMap<unknown, unknown>
    ? { readonly exists: boolean }
    : V extends object
      ? { readonly [P in keyof V]?: ColumnTest<NonNullable<V[P]>> | null } | { readonly exists: boolean }
      : never;

/** Conditions on columns that must all hold. A bare value is equality, `null` is "absent". */
export type Where<C extends KeyedClass> = WhereProperties<EntityOf<C>>;

type WhereProperties<E> = {
  readonly [P in PropertiesOf<E> & keyof E]?: ColumnTest<NonNullable<E[P]>> | null;
};

/** Combines conditions: `query.where((w) => w.or({ status: 'open' }, w.not({ total: { gt: 5 } })))`. */
export class WhereBuilder<C extends KeyedClass> {
  constructor(private readonly resolver: PropertyResolver) {}

  and(...parts: readonly (Where<C> | Predicate<C>)[]): Predicate<C> {
    return new BuiltPredicate<C>({ kind: 'all', conditions: parts.map((part) => this.read(part)) }, parts);
  }

  or(...parts: readonly (Where<C> | Predicate<C>)[]): Predicate<C> {
    return new BuiltPredicate<C>({ kind: 'any', conditions: parts.map((part) => this.read(part)) }, parts);
  }

  /** The exact complement: it also passes where the tested columns are absent. */
  not(part: Where<C> | Predicate<C>): Predicate<C> {
    return new BuiltPredicate<C>(negate(this.read(part)), [part]);
  }

  /** A test of one entry of a Map of columns: `w.entry('anchors', 'cnn.com', { exists: true })`. */
  entry<P extends MapsOf<EntityOf<C>>>(
    property: P,
    key: KeyOfMap<EntityOf<C>[P]>,
    asked: ColumnTest<ValueOfMap<EntityOf<C>[P]>> | { readonly exists: boolean } | null,
  ): Predicate<C> {
    const { resolver } = this;
    return new BuiltPredicate<C>(
      parseEntry(resolver.entity, property, resolver.entryOf(property, key), asked),
      [],
    );
  }

  /** The condition of what `where` was given. @throws QueryError when it is none. */
  read(part: Where<C> | Predicate<C>): Condition {
    if (part instanceof BuiltPredicate) return part.condition;
    if (typeof part !== 'object' || part === null || Array.isArray(part)) {
      throw new QueryError(`where takes an object of columns, or a function, not ${describe(part)}.`);
    }
    return parseWhere(this.resolver, part as Readonly<Record<string, unknown>>);
  }
}

/** The properties of an entity that are Maps. */
type MapsOf<E> = {
  [P in keyof E & string]: NonNullable<E[P]> extends ReadonlyMap<unknown, unknown> ? P : never;
}[keyof E & string];

type KeyOfMap<M> = NonNullable<M> extends ReadonlyMap<infer K, unknown> ? K : never;

type ValueOfMap<M> = NonNullable<M> extends ReadonlyMap<unknown, infer V> ? V : never;
