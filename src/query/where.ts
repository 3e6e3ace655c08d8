import { AvroCodec } from '../codec/index.js';
import { QueryError } from '../errors.js';
import { conversionOf, storedValue } from '../key/codecs/index.js';
import type { EntityOf, IsValueObject, KeyedClass, PropertiesOf } from '../schema/entity-types.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import { describe, isInstance, isNamed, literalOf } from '../table/checks.js';
import { type Condition, negate, type PropertyResolver, parseEntry, parseWhere } from './condition.js';
import { propertyNames } from './projection.js';
import { mapColumn, qualifierOf } from './slice.js';

/** A condition built by `WhereBuilder`. */
export interface Predicate<C extends KeyedClass> {
  /** In types only: distinguishes the predicates of different entities. */
  readonly $entity?: (entity: C) => void;
  readonly condition: Condition;
}

/** The deepest nesting of `and`, `or` and `not`. */
const MAX_DEPTH = 64;

/** A predicate of the builder. Refuses conditions that are nested too deep. */
class BuiltPredicate<C extends KeyedClass> implements Predicate<C> {
  declare readonly $entity?: (entity: C) => void;
  private readonly depth: number;

  constructor(
    readonly condition: Condition,
    parts: readonly unknown[],
  ) {
    const depths = parts.map((part) => (part instanceof BuiltPredicate ? part.depth : 0));
    this.depth = 1 + Math.max(0, ...depths);
    if (this.depth > MAX_DEPTH) {
      throw new QueryError(
        `where: conditions are put into each other more than ${MAX_DEPTH} deep. and() and or() take any number of parts.`,
      );
    }
  }
}

// — The types of `where`, and the builder of alternatives.

/** Values that are compared as a whole. Other objects are embedded ones. */
type Scalar = string | number | bigint | boolean | Date | Uint8Array;

/**
 * The operators on a column. Every operator except `ne`, `notIn` and `exists: false` is false where the column is
 * absent.
 */
export interface ColumnOperators<V> {
  readonly eq?: V | null;
  readonly ne?: V | null;
  readonly lt?: V;
  readonly lte?: V;
  readonly gt?: V;
  readonly gte?: V;
  /** Lower and upper bound, both inclusive. */
  readonly between?: readonly [V, V];
  readonly in?: readonly (V | null)[];
  readonly notIn?: readonly (V | null)[];
  /** The beginning of a text or of bytes; of a value object that is stored as text, of that. */
  readonly startsWith?: V extends Uint8Array
    ? Uint8Array
    : V extends number | bigint | boolean | Date
      ? never
      : string;
  readonly endsWith?: V extends number | bigint | boolean | Date | Uint8Array ? never : string;
  readonly contains?: V extends number | bigint | boolean | Date | Uint8Array ? never : string;
  readonly exists?: boolean;
}

/** A union of scalars is one type: `{ in: ['open', 'shipped'] }`. */
type ColumnTest<V> = [V] extends [Scalar] ? V | ColumnOperators<V> : MemberTest<V>;

type MemberTest<V> = V extends Scalar
  ? V | ColumnOperators<V>
  : V extends readonly unknown[] | ReadonlyMap<unknown, unknown>
    ? { readonly exists: boolean }
    : V extends object
      ?
          | ValueTest<V>
          | { readonly [P in keyof V]?: ColumnTest<NonNullable<V[P]>> | null }
          | { readonly exists: boolean }
      : never;

/** Objects with methods may be values of a transformed codec, which are compared as a whole. */
type ValueTest<V> = IsValueObject<V> extends true ? V | ColumnOperators<V> : never;

/** Conditions on columns. All must hold. A bare value means equality, `null` means "absent". */
export type Where<C extends KeyedClass> = WhereOf<EntityOf<C>>;

/** As {@link Where}, by the type of the entity. */
export type WhereOf<E> = {
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

  /** The exact complement: true also where the tested columns are absent. */
  not(part: Where<C> | Predicate<C>): Predicate<C> {
    return new BuiltPredicate<C>(negate(this.read(part)), [part]);
  }

  /** A test of one entry of a Map: `w.entry('anchors', 'cnn.com', { exists: true })`. */
  entry<P extends MapsOf<EntityOf<C>>>(
    property: P,
    key: KeyOfMap<EntityOf<C>[P]>,
    asked: ColumnTest<ValueOfMap<EntityOf<C>[P]>> | { readonly exists: boolean } | null,
  ): Predicate<C> {
    const { resolver } = this;
    return new BuiltPredicate<C>(
      parseEntry(
        resolver.entity,
        property,
        resolver.entryOf(property, key),
        asked,
        resolver.codecOf(property),
      ),
      [],
    );
  }

  /** The condition of an argument of `where`. @throws QueryError when it is no condition. */
  read(part: Where<C> | Predicate<C>): Condition {
    const given: unknown = part;
    if (isInstance(given, BuiltPredicate)) return given.condition;
    if (!isNamed(given)) {
      throw new QueryError(`where takes an object of columns, or a function, not ${describe(part)}.`);
    }
    return parseWhere(this.resolver, given);
  }
}

/** The Map properties of an entity. */
export type MapsOf<E> = {
  [P in keyof E & string]: NonNullable<E[P]> extends ReadonlyMap<unknown, unknown> ? P : never;
}[keyof E & string] &
  keyof E;

export type KeyOfMap<M> = NonNullable<M> extends ReadonlyMap<infer K, unknown> ? K : never;

type ValueOfMap<M> = NonNullable<M> extends ReadonlyMap<unknown, infer V> ? V : never;

// — The properties that conditions may name.

/** Tells columns and key parts from embedded objects. */
export function resolverOf(schema: EntitySchema): PropertyResolver {
  return {
    entity: schema.name,
    names: propertyNames(schema),
    kindOf(property) {
      const column = schema.columnsByProperty.get(property);
      if (column !== undefined) return isDocument(column) ? 'document' : 'value';
      if (schema.key.parts.some((part) => part.name === property && part.recoverable)) return 'value';
      const head = `${property}.`;
      return schema.columns.some((other) => other.property.startsWith(head)) ? 'object' : undefined;
    },
    codecOf(property) {
      const column = schema.columnsByProperty.get(property);
      return column?.codec ?? schema.key.parts.find((part) => part.name === property)?.codec;
    },
    entryOf(property, key) {
      const column = mapColumn(schema, property);
      const qualifier = qualifierOf(column, key);
      const { qualifierCodec } = column;
      return { qualifier, name: `${property}[${literalOf(storedValue(qualifierCodec!, key))}]` };
    },
  };
}

/** Whether the column holds objects whose properties can be tested. */
function isDocument({ kind, codec }: ColumnSchema): boolean {
  if (kind !== 'column' || conversionOf(codec) !== undefined) return false;
  return codec instanceof AvroCodec || codec.name.startsWith('json');
}
