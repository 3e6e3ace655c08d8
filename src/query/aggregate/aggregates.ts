import { QueryError } from '../../errors.js';
import type { IsValueObject, Shown } from '../../schema/entity-types.js';
import { zeroOf } from '../../schema/sum-kinds.js';
import { type EntitySchema, isSingleCell, type ValueCodec } from '../../schema/types.js';
import { describe, isInstance, isRecord } from '../../table/checks.js';
import { type ValueComparator, valueComparator } from '../evaluate.js';
import { type RunningSum, sumFor } from './exact-sum.js';

/** The running state of a figure over one group. */
export interface Fold<T> {
  add(entity: Readonly<Record<string, unknown>>): void;
  result(): T;
}

/** The part of a schema that figures and groups use: its properties of one value. */
export interface ValueSchema {
  /** The entity's name, for messages. */
  readonly name: string;
  /** The codec of a property. Undefined when there is no such property of one value. */
  codecOf(property: string): AnyCodec | undefined;
  /** Where its value is in a row. */
  pathOf(property: string): readonly string[];
}

type AnyCodec = Pick<ValueCodec<unknown>, 'name'> & Partial<ValueCodec<unknown>>;

/** The columns and key parts of an entity that have one value. */
export function valuesOf({ name, columnsByProperty, key }: EntitySchema): ValueSchema {
  return {
    name,
    codecOf: (property) => {
      const column = columnsByProperty.get(property);
      if (column !== undefined) return isSingleCell(column) ? column.codec : undefined;
      return key.parts.find((part) => part.name === property && part.recoverable)?.codec;
    },
    pathOf: (property) => columnsByProperty.get(property)?.path ?? [property],
  };
}

/** A figure to be computed. Made by the methods of {@link Aggregates}. */
export class Aggregate<T> {
  constructor(
    /** The property that is read. Undefined: only the row. */
    readonly property: string | undefined,
    readonly start: () => Fold<T>,
  ) {}
}

// — Figures over the rows of a query: counts, sums, averages, minima and maxima.

/** Properties that have an order. */
export type OrderedOf<E> = {
  [P in keyof E & string]: NonNullable<E[P]> extends string | number | bigint | boolean | Date | Uint8Array
    ? P
    : NonNullable<E[P]> extends Method
      ? never
      : IsValueObject<NonNullable<E[P]>> extends true
        ? P
        : never;
}[keyof E & string] &
  keyof E;

type Method = (...args: never[]) => unknown;

/** Properties that can be summed: numbers, bigints, and strings of a decimal codec. */
export type SummableOf<E> = {
  [P in keyof E & string]: NonNullable<E[P]> extends number | bigint | string ? P : never;
}[keyof E & string] &
  keyof E;

/** The type of a sum. Strings are decimals. */
export type SumOf<V> = V extends bigint ? bigint : V extends number ? number : string;

/** Sums the present values. Undefined if there are none. */
function foldedSum<T>(
  property: string,
  read: ValueReader,
  result: (sum: RunningSum | undefined, count: number) => T,
): Fold<T> {
  let sum: RunningSum | undefined;
  let count = 0;
  return {
    add: (entity) => {
      const value = read(entity);
      if (value === undefined) return;
      sum ??= sumFor(property, value);
      sum.add(value);
      count++;
    },
    result: () => result(sum, count),
  };
}

/** Figures, by name. */
export type AggregateSet = Readonly<Record<string, Aggregate<unknown>>>;

/** The results of figures. */
export type AggregateResults<A extends AggregateSet> = Shown<{
  -readonly [Name in keyof A]: A[Name] extends Aggregate<infer T> ? T : never;
}>;

/**
 * The available figures. Absent values are ignored: without any value a sum is 0, and minimum, maximum and average
 * are null.
 */
export class Aggregates<E> {
  constructor(private readonly schema: ValueSchema) {}

  /** The number of rows; with a property, of those with a value. */
  count(property?: keyof E & string): Aggregate<number> {
    const read = property === undefined ? undefined : this.value(property, 'count');
    return new Aggregate(property, () => {
      let count = 0;
      return {
        add: (entity) => {
          if (read === undefined || read(entity) !== undefined) count++;
        },
        result: () => count,
      };
    });
  }

  /** The sum: exact for bigints and decimals, with compensated rounding for numbers. */
  sum<P extends SummableOf<E>>(property: P): Aggregate<SumOf<NonNullable<E[P]>>> {
    const read = this.number(property, 'sum');
    const zero = zeroOf(this.schema.codecOf(property)!);
    return new Aggregate(property, () =>
      foldedSum(property, read, (sum) => (sum === undefined ? zero : sum.total) as SumOf<NonNullable<E[P]>>),
    );
  }

  /** The average, rounded to the nearest double. Null without values. */
  avg<P extends SummableOf<E>>(property: P): Aggregate<number | null> {
    const read = this.number(property, 'avg');
    return new Aggregate(property, () =>
      foldedSum(property, read, (sum, count) => (sum === undefined ? null : sum.average(count))),
    );
  }

  /** The minimum, in the order of `orderBy`. Null without values. */
  min<P extends OrderedOf<E>>(property: P): Aggregate<NonNullable<E[P]> | null> {
    return this.extreme(property, 'min', -1);
  }

  /** The maximum, in the order of `orderBy`. Null without values. */
  max<P extends OrderedOf<E>>(property: P): Aggregate<NonNullable<E[P]> | null> {
    return this.extreme(property, 'max', 1);
  }

  private extreme<P extends OrderedOf<E>>(
    property: P,
    doing: string,
    sign: 1 | -1,
  ): Aggregate<NonNullable<E[P]> | null> {
    const read = this.value(property, doing);
    const compare = comparatorOf(this.schema, property, doing);
    return new Aggregate(property, () => {
      let best: unknown;
      return {
        add: (entity) => {
          const value = read(entity);
          if (value !== undefined && (best === undefined || sign * compare(value, best) > 0)) best = value;
        },
        result: () => (best ?? null) as NonNullable<E[P]> | null,
      };
    });
  }

  private value(property: string, doing: string): ValueReader {
    return readerOf(this.schema, property, doing);
  }

  /** @throws QueryError when the property's values cannot be summed. */
  private number(property: string, doing: string): ValueReader {
    const read = this.value(property, doing);
    if (zeroOf(this.schema.codecOf(property)!) === undefined) {
      throw new QueryError(
        `${doing}: ${this.schema.name}.${property} is kept as ${this.schema.codecOf(property)!.name}, which is no number. ` +
          'Declare it a number, a bigint or a decimal.',
        { details: { entity: this.schema.name, property } },
      );
    }
    return read;
  }
}

/** Reads one property of a loaded entity. Undefined when absent. */
export type ValueReader = (entity: Readonly<Record<string, unknown>>) => unknown;

/** @throws QueryError when the entity has no such single-valued property. */
export function readerOf(schema: ValueSchema, property: string, doing: string): ValueReader {
  if (schema.codecOf(property) === undefined) {
    throw new QueryError(
      `${doing}: ${schema.name} has no column or key part ${typeof property === 'string' ? `"${property}"` : describe(property)} of one value.`,
      { details: { entity: schema.name, property } },
    );
  }
  const path = schema.pathOf(property);
  if (path.length === 1) {
    const [name] = path as readonly [string];
    return (entity) => entity[name] ?? undefined;
  }
  return (entity) => {
    let value: unknown = entity;
    for (const step of path) {
      if (value === undefined || value === null) return undefined;
      value = (value as Readonly<Record<string, unknown>>)[step];
    }
    return value ?? undefined;
  };
}

/** Compares values of a property. @throws QueryError when they have no order. */
export function comparatorOf(schema: ValueSchema, property: string, doing: string): ValueComparator {
  readerOf(schema, property, doing);
  return valueComparator(property, schema.codecOf(property) as ValueCodec<unknown>);
}

/** @throws QueryError on an argument that is no set of figures. */
export function checkAggregates(given: unknown): AggregateSet {
  if (!isRecord(given) || Object.keys(given).length === 0) {
    throw new QueryError(
      `aggregate takes a function that names figures, (on) => ({ total: on.sum("total") }), not ${describe(given)}.`,
    );
  }
  for (const [name, figure] of Object.entries(given)) {
    if (!isInstance(figure, Aggregate)) {
      throw new QueryError(
        `aggregate: "${name}" is ${describe(figure)}, not one of count(), sum(), avg(), min(), max().`,
      );
    }
  }
  return given as AggregateSet;
}
