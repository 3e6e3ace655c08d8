/** Figures of packed points over intervals of time. */

import { date } from '../../codec/index.js';
import { InvalidArgumentError, QueryError } from '../../errors.js';
import { spanOf } from '../../key/declare.js';
import type { EntitySchema } from '../../schema/types.js';
import { describe, isCallable, isList, isRecord } from '../../table/checks.js';
import { checkNames } from '../slice.js';
import {
  type Aggregate,
  type AggregateSet,
  Aggregates,
  checkAggregates,
  type SumOf,
  type ValueSchema,
  valuesOf,
} from './aggregates.js';
import { checkGrouping, Grouping, type GroupOptions } from './grouped-query.js';

/** Properties that may be packed points: Maps from times to values. */
export type PointsOf<E> = {
  [P in keyof E & string]: NonNullable<E[P]> extends ReadonlyMap<number, unknown> ? P : never;
}[keyof E & string] &
  keyof E;

/** The value of a point. */
export type PointOf<V> = NonNullable<V> extends ReadonlyMap<number, infer Value> ? NonNullable<Value> : never;

/** Options of `downsample`. */
export interface DownsampleOptions<By extends string> extends GroupOptions {
  /**
   * The length of the intervals: a number followed by ms, s, m, h, d or w. Intervals are counted from 1970-01-01T00:00Z, so weeks begin
   * on Thursdays.
   */
  readonly every: string;
  /** Columns and key parts that tell series apart. Default: none, and all points of an interval count together. */
  readonly by?: readonly By[];
}

/** The name of the start of an interval in results. */
const AT = 'at';

/** Figures of the points in an interval. Every interval in a result has at least one. */
export class PointFigures<V> {
  private readonly on: Aggregates<Record<string, never>>;

  constructor(
    values: ValueSchema,
    private readonly property: string,
  ) {
    this.on = new Aggregates(values);
  }

  /** The number of points. */
  count(): Aggregate<number> {
    return this.on.count();
  }

  /** The sum: exact for bigints and decimals, with compensated rounding for numbers. */
  sum(): Aggregate<SumOf<V>> {
    return this.on.sum(this.property) as Aggregate<unknown> as Aggregate<SumOf<V>>;
  }

  /** The average, rounded to the nearest double. */
  avg(): Aggregate<number> {
    return this.on.avg(this.property) as Aggregate<number>;
  }

  /** The minimum. */
  min(): Aggregate<V> {
    return this.on.min(this.property) as Aggregate<unknown> as Aggregate<V>;
  }

  /** The maximum. */
  max(): Aggregate<V> {
    return this.on.max(this.property) as Aggregate<unknown> as Aggregate<V>;
  }
}

/** The intervals of a query's points, filled row by row. */
interface Downsampling {
  /** The properties to read of each row. */
  readonly selected: readonly string[];
  add(entity: Readonly<Record<string, unknown>>): void;
  results(): Record<string, unknown>[];
}

/**
 * @throws QueryError on a property that is not packed, and on figures that its values do not have; InvalidArgumentError on an
 * invalid length.
 */
export function downsampling<V>(
  schema: EntitySchema,
  property: string,
  options: DownsampleOptions<string>,
  figures: (on: PointFigures<V>) => AggregateSet,
): Downsampling {
  const column = schema.columnsByProperty.get(property);
  const details = { entity: schema.name, property };
  if (column?.window === undefined) {
    throw new QueryError(
      `downsample: ${schema.name}.${typeof property === 'string' ? property : describe(property)} is not declared by @Packed.`,
      { details },
    );
  }
  if (!isRecord(options)) {
    throw new InvalidArgumentError(`downsample takes options, { every: '5m' }, not ${describe(options)}.`, {
      details,
    });
  }
  checkNames('downsample', options, ['every', 'by', 'maxGroups']);
  const { every, by = [], maxGroups } = options;
  const span = spanOf(every);
  if (span === undefined) {
    throw new InvalidArgumentError(
      `downsample: every is ${describe(every)}. Use a number followed by ms, s, m, h, d or w: '5m'.`,
      { details },
    );
  }
  if (!isList(by) || by.includes(AT)) {
    throw new QueryError(
      `downsample: by is a list of columns and key parts without "${AT}", which is the start of an interval, not ${describe(by)}.`,
      { details },
    );
  }
  const values = pointValues(schema, property);
  if (!isCallable(figures)) {
    throw new QueryError(
      `downsample takes a function that names figures, (on) => ({ mean: on.avg() }), not ${describe(figures)}.`,
      { details },
    );
  }
  const properties = [...by, AT];
  const most = checkGrouping(properties, maxGroups === undefined ? {} : { maxGroups });
  const set = checkAggregates(figures(new PointFigures<V>(values, property)));
  const grouping = new Grouping(values, properties, set, most);
  return {
    selected: [property, ...by],
    add: (series) => {
      const points = series[property] as ReadonlyMap<number, unknown> | undefined;
      for (const [time, value] of points ?? []) {
        grouping.add({ series, [AT]: new Date(Math.floor(time / span) * span), [property]: value });
      }
    },
    results: () => grouping.results(),
  };
}

/** The values of a point: its own, its interval, and those of its row. */
function pointValues(schema: EntitySchema, property: string): ValueSchema {
  const values = valuesOf(schema);
  const own = schema.columnsByProperty.get(property)!.codec;
  return {
    name: schema.name,
    codecOf: (name) => (name === property ? own : name === AT ? date : values.codecOf(name)),
    pathOf: (name) => (name === property || name === AT ? [name] : ['series', ...values.pathOf(name)]),
  };
}
