/** The lazy query on one entity. */

import { AvroCodec } from '../codec/index.js';
import { InvalidArgumentError, QueryError } from '../errors.js';
import { DictionaryLayout } from '../key/index.js';
import type { CheckedNames, EntityOf, KeyedClass, Selected } from '../schema/entity-types.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import { describe } from '../table/checks.js';
import { type OperationOptions, type RawRow, type Result, TimeRange } from '../table/index.js';
import { conjuncts, describeCondition, type PropertyResolver } from './condition.js';
import { type Explanation, explainQuery } from './explain.js';
import { describeKeyConditions } from './key-conditions.js';
import type { Page, PageOptions } from './page.js';
import { planQuery, type QueryPlan, type QuerySpec } from './plan.js';
import { propertyNames } from './projection.js';
import { recovering } from './recover.js';
import { RowQueryRunner } from './row-query.js';
import type { TableAccess } from './source.js';
import { type Predicate, type Where, WhereBuilder } from './where.js';

/** Options of `find`. */
export interface FindOptions extends OperationOptions {
  /** Allows the query to read a whole table. Default false: it throws `ERR_FULL_SCAN`. */
  readonly fullScan?: boolean;
  /** Ranges that are read at the same time when salts or buckets are merged; default 16. */
  readonly concurrency?: number;
}

/**
 * A query that reads nothing until it is asked: `for await`, `first`, `all`, `page`, `count`. It is immutable: each
 * step gives a new query, and a query can be run any number of times.
 */
export class EntityQuery<C extends KeyedClass, T = EntityOf<C>> implements AsyncIterable<T> {
  private planned: QueryPlan | undefined;

  constructor(
    private readonly access: TableAccess,
    private readonly spec: QuerySpec,
    private readonly options: FindOptions,
  ) {}

  /**
   * Conditions on columns; all of them must hold, those of earlier calls too. Decided by the engine where it can
   * (`explain().filters` says which).
   * @throws QueryError on an unknown column or operator, and on `undefined`.
   */
  where(condition: Where<C> | ((where: WhereBuilder<C>) => Predicate<C>)): EntityQuery<C, T> {
    const builder = new WhereBuilder<C>(resolverOf(this.spec.schema));
    const parsed = builder.read(typeof condition === 'function' ? condition(builder) : condition);
    return this.with({ where: [...this.spec.where, ...conjuncts(parsed)] });
  }

  /** Reads only these columns and the key. The rest is neither fetched nor in the type. */
  select<Names extends keyof C['prototype'] & string>(
    ...names: readonly (Names & CheckedNames<C, Names>)[]
  ): EntityQuery<C, Selected<C, Names>> {
    return this.with({ selected: names });
  }

  /** From the last key to the first. Called twice it is as if it had not been. */
  reverse(): EntityQuery<C, T> {
    return this.with({ reversed: !this.spec.reversed });
  }

  /** At most this many rows. */
  limit(rows: number): EntityQuery<C, T> {
    if (!Number.isSafeInteger(rows) || rows < 0) {
      throw new InvalidArgumentError(`limit takes a whole number of rows, not ${describe(rows)}.`);
    }
    return this.with({ limit: rows });
  }

  /** As the rows were at this time (ms or Date), as far as the families keep old versions and deletes. */
  asOf(time: number | Date): EntityQuery<C, T> {
    return this.with({ timeRange: timeRangeAt(time) });
  }

  /** Only cells written in [from, to). */
  writtenBetween(from: number | Date, to: number | Date): EntityQuery<C, T> {
    return this.with({ timeRange: new TimeRange(Number(from), Number(to)) });
  }

  /** Ends the reading with `ERR_ABORTED` when the signal is aborted. */
  signal(signal: AbortSignal): EntityQuery<C, T> {
    return new EntityQuery(this.access, this.spec, { ...this.options, signal });
  }

  private with<U = T>(change: Partial<QuerySpec>): EntityQuery<C, U> {
    return new EntityQuery(this.access, { ...this.spec, ...change }, this.options);
  }

  /** What the query will do. Reads nothing and needs no server. */
  explain(): Explanation {
    return explainQuery(this.plan());
  }

  /** The first row, or null. */
  async first(): Promise<T | null> {
    const [row] = await this.limit(Math.min(this.spec.limit ?? 1, 1)).all();
    return row ?? null;
  }

  /** Every row, in one array. @throws QueryError when there are more than `max`: nothing is cut off silently. */
  async all(options: { readonly max?: number } = {}): Promise<T[]> {
    const runner = this.ready();
    return runner instanceof Promise ? (await runner).all(options.max) : runner.all(options.max);
  }

  /** One page, with cursors to the next and the one before. Cursors are bound to the query; other queries refuse them. */
  async page(options: PageOptions): Promise<Page<T>> {
    return (await this.ready()).page(options);
  }

  /** How many rows there are; reads only the markers of rows and what conditions test. */
  async count(): Promise<number> {
    return (await this.with({ selected: [] }).ready()).count();
  }

  /** Streams the rows; reads on only as fast as they are taken. */
  [Symbol.asyncIterator](): AsyncIterableIterator<T> {
    const runner = this.ready();
    return runner instanceof Promise ? iterateLater(runner) : runner.iterate();
  }

  private plan(): QueryPlan {
    this.planned ??= planQuery(this.spec);
    return this.planned;
  }

  /** Waits only for the ids of texts that stand in the key as such. */
  private ready(): RowQueryRunner<T> | Promise<RowQueryRunner<T>> {
    const { spec } = this;
    const { key } = spec.schema;
    if (!(key instanceof DictionaryLayout)) return this.runner(spec, this.plan());
    return key.knownConditions(spec.key).then((known) => {
      const resolved = { ...spec, key: known };
      return this.runner(resolved, planQuery(resolved));
    });
  }

  private runner(spec: QuerySpec, plan: QueryPlan): RowQueryRunner<T> {
    const { access } = this;
    const load = loaderOf(spec.schema, plan) as (row: Result) => T | null | Promise<T | null>;
    return new RowQueryRunner<T>(
      this.access,
      {
        plan,
        reversedPlan: () => planQuery({ ...spec, reversed: !spec.reversed }),
        scope: { identity: () => identityOf(this.spec), schemas: [spec.schema] },
        load: access.recover === undefined ? load : (row) => recovering(access, () => load(row)),
        loadRaw: rawLoaderOf(spec.schema, plan) as ((raw: RawRow) => T | null) | undefined,
      },
      { ...this.options, limit: spec.limit },
    );
  }
}

/** The rows of a query that is still being made ready. */
export async function* iterateLater<T>(runner: Promise<RowQueryRunner<T>>): AsyncGenerator<T, void> {
  yield* (await runner).iterate();
}

function loaderOf(
  schema: EntitySchema,
  plan: QueryPlan,
): (row: Result) => object | null | Promise<object | null> {
  const { mapper } = schema;
  const { properties } = plan.read;
  if (properties !== undefined) return (row) => mapper.fromResultPartial(row, properties);
  return schema.lifecycle.afterLoad === undefined
    ? (row) => mapper.fromResult(row)
    : (row) => loadEntity(schema, row);
}

/** Whole entities without hooks are made of raw rows. */
function rawLoaderOf(schema: EntitySchema, plan: QueryPlan): ((raw: RawRow) => object | null) | undefined {
  const { mapper, lifecycle } = schema;
  if (plan.read.properties !== undefined || lifecycle.afterLoad !== undefined) return undefined;
  return (raw) => mapper.fromRaw(raw);
}

/** The entity of a row, its `@AfterLoad` hooks run; null when there is none. */
export function loadEntity(schema: EntitySchema, row: Result): object | null | Promise<object | null> {
  const entity = schema.mapper.fromResult(row);
  const { afterLoad } = schema.lifecycle;
  const done = entity === null || afterLoad === undefined ? undefined : afterLoad(entity);
  return done instanceof Promise ? done.then(() => entity) : entity;
}

/** All cells up to and including this time. @throws InvalidArgumentError when it is no time. */
export function timeRangeAt(time: number | Date): TimeRange {
  const ms = Number(time);
  if (!Number.isSafeInteger(ms) || ms < 0) {
    throw new InvalidArgumentError(`asOf takes a Date or milliseconds since 1970, not ${describe(time)}.`);
  }
  return new TimeRange(0, ms + 1);
}

/** The text that a cursor is bound to. Limit, page size and selection may change from page to page. */
function identityOf(spec: QuerySpec): string {
  const { schema, key, where, reversed, timeRange } = spec;
  const times = timeRange === undefined ? '' : `${timeRange.min}..${timeRange.max}`;
  return JSON.stringify([
    schema.name,
    describeKeyConditions(key),
    where.map(describeCondition).sort(),
    reversed ? 'reverse' : 'forward',
    times,
  ]);
}

/** Tells columns and key parts from the heads of embedded objects. */
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
  };
}

/** Whether the column holds objects whose properties can be asked. */
function isDocument({ kind, codec }: ColumnSchema): boolean {
  return kind === 'column' && (codec instanceof AvroCodec || codec.name.startsWith('json'));
}

/** @throws QueryError on options that can never be right. */
export function checkFindOptions(options: FindOptions): FindOptions {
  const { concurrency } = options;
  if (concurrency !== undefined && (!Number.isSafeInteger(concurrency) || concurrency < 1)) {
    throw new QueryError(`concurrency is a positive integer, not ${describe(concurrency)}.`);
  }
  return options;
}
