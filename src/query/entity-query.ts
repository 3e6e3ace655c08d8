/** The lazy query on one entity. */

import { QueryError } from '../errors.js';
import type { CheckedNames, EntityOf, KeyedClass, Patch, Shown } from '../schema/entity-types.js';
import { isCallable } from '../table/checks.js';
import type { TableAccess } from './access.js';
import type {
  AggregateResults,
  AggregateSet,
  Aggregates,
  OrderedOf,
  SummableOf,
  SumOf,
} from './aggregate/aggregates.js';
import {
  type DownsampleOptions,
  downsampling,
  type PointFigures,
  type PointOf,
  type PointsOf,
} from './aggregate/downsample.js';
import {
  checkUnordered,
  Figures,
  type GroupedQuery,
  type Grouping,
  type GroupKey,
  type RelatedOrderedOf,
} from './aggregate/grouped-query.js';
import { groupsInThreads } from './aggregate/threaded-groups.js';
import { BaseQuery, type Prepared } from './base-query.js';
import {
  type BulkOptions,
  type BulkProgress,
  type BulkQuery,
  changeAll,
  type RowAction,
  type RowChanger,
} from './bulk-change.js';
import { conjuncts } from './condition.js';
import { explainedWithoutIds, explainPlan } from './explain.js';
import type { Explanation } from './explanation.js';
import { PATHS } from './feature-planners.js';
import type { FindOptions } from './find-options.js';
import { RowLoader } from './loader.js';
import { type EqualLookUps, type PathPlan, pathIdentity } from './path-planner.js';
import { type EntityPlan, planQuery, readPlanOf } from './plan.js';
import { describeSpec, identityOf, type QuerySpec } from './query-spec.js';
import { type ReadPlan, rowSourceOf } from './read-plan.js';
import { type PlainQuery, RelatedQuery } from './related/related-query.js';
import type { CheckedCounts, RelatedCounts, RelatedWhere, WithCounts } from './related/related-tests.js';
import { type RelatedReaders, viewOf } from './related/relation-loader.js';
import type { RelationArguments, RelationsGiven, TreeOfGiven, WithTree } from './related/relation-tree.js';
import type { RowSource } from './row.js';
import { parseSlice, type SliceBounds } from './slice.js';
import { compareItems, orderedProperty } from './sort.js';
import { type KeyOfMap, type MapsOf, type Predicate, resolverOf, type Where, WhereBuilder } from './where.js';

/**
 * A lazy query on one entity. It reads only when it is run: `for await`, `first`, `all`, `page`, `count`, `exists`.
 * It is immutable: each method returns a new query, and a query can be run any number of times.
 */
export class EntityQuery<C extends KeyedClass, T = EntityOf<C>> extends BaseQuery<T> {
  private planned: EntityPlan | PathPlan | undefined;

  constructor(
    access: TableAccess,
    protected readonly spec: QuerySpec,
    options: FindOptions,
    private readonly changer?: RowChanger,
    /** The fast path for single entities by the named index, where there is one. */
    private readonly lookUps?: EqualLookUps,
  ) {
    super(access, options);
  }

  /**
   * Conditions on columns. All must hold, including those of earlier calls. The engine evaluates them where it can
   * (`explain().filters`). Values are copied: changing them later does not affect the query.
   * @throws QueryError on an unknown column or operator, and on `undefined`.
   */
  where(condition: Where<C> | ((where: WhereBuilder<C>) => Predicate<C>)): this {
    const builder = new WhereBuilder<C>(resolverOf(this.spec.schema));
    const parsed = builder.read(isCallable(condition) ? condition(builder) : condition);
    return this.derive({ where: [...this.spec.where, ...conjuncts(parsed)] });
  }

  /**
   * Reads only these columns and the key. Others are neither fetched nor part of the type, which is `Selected` written out so that
   * editors show the properties.
   */
  select<
    Names extends keyof C['prototype'] & string,
    Read extends keyof C['prototype'] = Names | (C['key'][number] & keyof C['prototype']),
  >(
    ...names: readonly (Names & CheckedNames<C, Names>)[]
  ): EntityQuery<C, { [P in Read]: C['prototype'][P] }> {
    const { access, options, changer, lookUps } = this;
    return new EntityQuery(access, { ...this.spec, selected: names }, options, changer, lookUps);
  }

  /**
   * Orders by a column instead of the key. Absent values come last. Rows are sorted in memory, so their number must
   * be bounded: `limit(n)` keeps the first n while it reads all, `all({ max })` throws when there are more.
   * @throws QueryError when the property is not single-valued or has no order.
   */
  orderBy(property: OrderedOf<EntityOf<C>>, direction: 'asc' | 'desc' = 'asc'): this {
    const { schema } = this.spec;
    return this.derive({ orderBy: orderedProperty(schema, property, direction) });
  }

  /**
   * Reads only some entries of a Map of columns, in the order of their stored keys. @throws QueryError when the
   * property is no Map, or the bounds are invalid.
   */
  slice<P extends MapsOf<EntityOf<C>>>(property: P, bounds: SliceBounds<KeyOfMap<EntityOf<C>[P]>>): this {
    const { schema, slices } = this.spec;
    return this.derive({ slices: [...slices, parseSlice(schema, property, bounds)] });
  }

  /**
   * Deletes every row of the query, batch by batch. Each row is one atomic step, which checks the conditions of
   * `where` and `by` again, so a row that has changed meanwhile stays. `limit` bounds the number of rows. After an
   * error, or with a limit, the same query continues from the last `cursor`.
   *
   * @example
   * ```ts
   * const { changed } = await visits.find({ site: 's1' }).where({ bot: true }).deleteAll();
   * ```
   * @throws QueryError `ERR_FULL_SCAN` as every query; QueryError when the engine cannot decide a condition (see
   *   `recheck`).
   */
  deleteAll(options: BulkOptions = {}): Promise<BulkProgress> {
    return this.changeAll('deleteAll', { kind: 'delete' }, options);
  }

  /**
   * Changes columns of every row of the query, as `update` does: null deletes one, undefined leaves it unchanged;
   * hooks run, `@Version` is incremented. Batches and steps as in `deleteAll`; a row deleted meanwhile is not created
   * again. @throws QueryError as `deleteAll`.
   */
  updateAll(patch: Patch<C>, options: BulkOptions = {}): Promise<BulkProgress> {
    return this.changeAll('updateAll', { kind: 'update', patch }, options);
  }

  private async changeAll(doing: string, action: RowAction, options: BulkOptions): Promise<BulkProgress> {
    const { spec, changer } = this;
    const names = spec.schema.key.parts.map(({ name }) => name);
    const keys = this.derive({ selected: names, slices: [], limit: undefined });
    const query: BulkQuery = {
      spec,
      signal: this.options.signal,
      changer,
      asked: spec.through && PATHS!.membership(spec, spec.through),
      find: (which) => keys.readBatches(which),
    };
    return changeAll(query, doing, action, options);
  }

  /**
   * Loads related entities with the rows, in batches (docs/relations.md). Takes names of relations, paths to relations of related
   * entities, or a tree with options for each. It comes last: only `all`, `first`, `page`, `for await` and `explain` follow it.
   *
   * @example
   * ```ts
   * const rows = await orders.find({ customerId: 'c1' }).with('customer', 'lines.product').all();
   * const same = await orders.find({ customerId: 'c1' }).with({ customer: { select: ['name'] }, lines: { product: true } }).all();
   * ```
   * They are read as the query reads its rows: as of the same time (of `writtenBetween`, its end), with the same `consistency`,
   * `withDeleted`, `signal`, `timeout` and `attributes`.
   *
   * @throws QueryError on a name that is no relation, and on options that the related entity cannot take; SchemaError when the
   * database was not opened with the other entity.
   */
  with<const Given extends RelationsGiven<EntityOf<C>>>(
    ...given: RelationArguments<EntityOf<C>, Given>
  ): RelatedQuery<WithTree<T, EntityOf<C>, TreeOfGiven<Given>>, EntityOf<C>> {
    return this.related('with').with(...(given as never[])) as never;
  }

  /**
   * Keeps the rows whose related entities meet conditions: of one entity its conditions, `{}` (there is one) or null (there is
   * none); of a list `some`, `none` or `every`. Conditions name columns and relations of the related entity, to any depth. Rows are
   * tested in batches after they are read (`explain().related`). It comes after `where`, `select` and `orderBy`, and before `limit`.
   *
   * @example
   * ```ts
   * const rows = await orders.find({ customerId: 'c1' }).whereRelated({ customer: { name: 'Ada' }, lines: { some: { product: 'pen' } } }).all();
   * ```
   * @throws QueryError on a name that is no relation, on conditions that the related entity cannot take, and after `limit`;
   * SchemaError when the database was not opened with the other entity.
   */
  whereRelated(tests: RelatedWhere<EntityOf<C>>): RelatedQuery<T, EntityOf<C>> {
    return this.related('whereRelated').whereRelated(tests);
  }

  /**
   * Sets the number of related entities on each row, under names of your own: of a relation to a list, or of those of its entities
   * that meet conditions. They are counted, not loaded, some rows at a time.
   *
   * @example
   * ```ts
   * const rows = await orders.find({ customerId: 'c1' }).withCounts({ lineCount: 'lines', pens: { of: 'lines', where: { product: 'pen' } } }).all();
   * ```
   * @throws QueryError on an unknown relation or one that stands for one entity, on a name that the entity has, and on conditions that
   * the related entity cannot take.
   */
  withCounts<const Counts extends RelatedCounts<EntityOf<C>>>(
    counts: Counts & CheckedCounts<EntityOf<C>, Counts>,
  ): RelatedQuery<WithCounts<T, Counts>, EntityOf<C>> {
    return this.related('withCounts').withCounts<Counts>(counts);
  }

  private related(doing: string): RelatedQuery<T, EntityOf<C>> {
    const { spec, options } = this;
    const { schema, selected, limit, orderBy } = spec;
    const readers = this.relatedReaders(doing);
    const scans = options.fullScan === true && limit === undefined;
    return new RelatedQuery<T, EntityOf<C>>({
      schema,
      selected,
      orderBy,
      rows: (names, isOrdered) =>
        names === selected && isOrdered
          ? this.plain()
          : this.derive({ selected: names, ...(!isOrdered && { orderBy: undefined }) }).plain(),
      bare: (names) => this.derive({ selected: names, slices: [], orderBy: undefined }).plain(),
      nodes: [],
      tests: [],
      counts: [],
      join: options.join ?? (scans ? 'hash' : 'lookup'),
      readers,
      view: viewOf(spec.timeRange, options),
      limit,
    });
  }

  private relatedReaders(doing: string): RelatedReaders {
    const { related } = this.access;
    if (related === undefined) throw new QueryError(`${doing}() needs the repositories of a database.`);
    return related;
  }

  /** The query for those that read rows of any type. */
  private plain(): PlainQuery {
    return this as BaseQuery<unknown> as PlainQuery;
  }

  /**
   * Computes figures of all rows in one pass, without holding rows. Reads only the columns that the figures need.
   *
   * @example
   * ```ts
   * const { orders, turnover } = await query.aggregate((on) => ({ orders: on.count(), turnover: on.sum('total') }));
   * ```
   * @throws QueryError when a property has no such figure; `ERR_FULL_SCAN` as every query.
   */
  async aggregate<A extends AggregateSet>(
    figures: (on: Aggregates<EntityOf<C>>) => A,
  ): Promise<AggregateResults<A>> {
    return this.figures().aggregate(figures);
  }

  /** The sum of a column: exact for bigints and decimals. 0 without values. */
  sum<P extends SummableOf<EntityOf<C>>>(property: P): Promise<SumOf<NonNullable<EntityOf<C>[P]>>> {
    return this.figures().one((on) => on.sum(property));
  }

  /** The average of a column, rounded to the nearest double. Null without values. */
  avg(property: SummableOf<EntityOf<C>>): Promise<number | null> {
    return this.figures().one((on) => on.avg(property));
  }

  /** The minimum of a column. Null without values. */
  min<P extends OrderedOf<EntityOf<C>>>(property: P): Promise<NonNullable<EntityOf<C>[P]> | null> {
    return this.figures().one((on) => on.min(property));
  }

  /** The maximum of a column. Null without values. */
  max<P extends OrderedOf<EntityOf<C>>>(property: P): Promise<NonNullable<EntityOf<C>[P]> | null> {
    return this.figures().one((on) => on.max(property));
  }

  /**
   * Groups rows by the values of some columns or key parts, or of a property of a related entity: `'customer.country'`. `aggregate` and `count` of the result give one row for
   * each group. @throws QueryError when a property has no order.
   */
  groupBy<const P extends readonly (OrderedOf<EntityOf<C>> | RelatedOrderedOf<EntityOf<C>>)[]>(
    ...properties: P
  ): GroupedQuery<EntityOf<C>, P[number]> {
    return this.figures().groupBy(properties);
  }

  /**
   * Figures of the points of a `@Packed` property over intervals of time: one row for each interval that has points, in the order
   * of `by` and then of time. `at` is the start of the interval. Points are read row by row, and not kept.
   *
   * @example
   * ```ts
   * const rows = await hours
   *   .find({ metric: 'cpu', hour: { gte: from, lt: to } })
   *   .downsample('points', { every: '5m', by: ['host'] }, (on) => ({ mean: on.avg(), most: on.max() }));
   * // [{ host: 'a', at: 2026-01-01T10:00:00.000Z, mean: 0.5, most: 1 }, …]
   * ```
   * @throws QueryError when the property is not packed or its values have no such figure, and when there are more rows
   * than `maxGroups` (100,000); InvalidArgumentError on an invalid length; `ERR_FULL_SCAN` as every query.
   */
  async downsample<
    P extends PointsOf<EntityOf<C>>,
    A extends AggregateSet,
    const By extends OrderedOf<EntityOf<C>> = never,
  >(
    property: P,
    options: DownsampleOptions<By>,
    figures: (on: PointFigures<PointOf<EntityOf<C>[P]>>) => A,
  ): Promise<Shown<GroupKey<EntityOf<C>, By> & { at: Date } & AggregateResults<A>>[]> {
    checkUnordered(this.spec);
    const { selected, add, results } = downsampling(this.spec.schema, property, options, figures);
    await this.readEach(selected, add);
    return results() as Shown<GroupKey<EntityOf<C>, By> & { at: Date } & AggregateResults<A>>[];
  }

  private figures(): Figures<EntityOf<C>> {
    return new Figures(this.spec, {
      each: (selected, take) => this.readEach(selected, take),
      inThreads: (by, read, grouping) => this.groupInThreads(by, read, grouping),
      eachRelated: async (selected, relations, take) => {
        const rows = this.derive({ selected, slices: [] }).related('groupBy');
        for await (const row of rows.with(relations as never)) take(row as Record<string, unknown>);
      },
      related: ({ target }) => this.relatedReaders('groupBy')(target()).schema,
    });
  }

  private async groupInThreads(
    by: readonly string[],
    read: readonly string[],
    grouping: Grouping,
  ): Promise<boolean> {
    if ((this.options.threads ?? 1) === 1) return false;
    const { schema } = this.spec;
    const query = this.derive({ selected: [...new Set([...by, ...read])], slices: [] });
    return query.runInThreads('aggregate', (plan, access, options) =>
      groupsInThreads(plan, access, options, schema, by, read, grouping),
    );
  }

  private readEach(
    selected: readonly string[],
    take: (entity: Record<string, unknown>) => void,
  ): Promise<void> {
    return this.derive({ selected, slices: [] }).forEach('aggregate', (entity) =>
      take(entity as Record<string, unknown>),
    );
  }

  explain(): Explanation {
    const { spec, access } = this;
    const found = spec.schema.key.dictionaries?.conditionsAtHand(spec.key);
    if (found === undefined || found.withoutId.length === 0) return explainPlan(this.plan(), access);
    const plan = this.planOf({ ...spec, key: found.conditions });
    return explainedWithoutIds(explainPlan(plan, access), spec.key, found.withoutId);
  }

  protected derive(change: Partial<QuerySpec>, options: FindOptions = this.options): this {
    const { access, spec, changer, lookUps } = this;
    return new EntityQuery<C, T>(access, { ...spec, ...change }, options, changer, lookUps) as this;
  }

  protected forCounting(): BaseQuery<unknown> {
    return this.derive({ selected: [], slices: [], orderBy: undefined });
  }

  /**
   * The query as a source of jobs (`db.job(...).from(query)`): its ranges in any order, each row by itself. @throws
   * QueryError on `limit`, `orderBy` and `reverse`, which jobs cannot honor.
   */
  async toSource(): Promise<RowSource<T>> {
    const { limit, orderBy, reversed, selected } = this.spec;
    if (limit !== undefined || orderBy !== undefined || reversed) {
      throw new QueryError(
        'A job reads the rows of a query in parts and in no order: leave out limit(), orderBy() and reverse().',
      );
    }
    const { plan, loaders } = await this.byKey().prepare();
    if (plan.through !== undefined) {
      throw new QueryError(
        'A job reads the rows of the table itself, and this query is answered from an index: query by the key, or allow { fullScan: true }.',
      );
    }
    return rowSourceOf<T>(plan, loaders, {
      signature: `${identityOf(this.spec)} ${JSON.stringify(selected ?? 'all')}`,
      table: this.access.table.name,
    });
  }

  private plan(): EntityPlan | PathPlan {
    this.planned ??= this.planOf(this.spec);
    return this.planned;
  }

  /** The same query, read by the key, for operations that an index cannot serve. */
  private byKey(): this {
    const { through, schema, key } = this.spec;
    if (through !== undefined || schema.key.dictionaries !== undefined) return this;
    return schema.key.plan(key).kind === 'full' ? this : this.derive({ fullScan: true });
  }

  /** The plan by the named index, or by an index that reads less than the key; otherwise by the key. */
  private planOf(spec: QuerySpec): EntityPlan | PathPlan {
    const { indexing } = this.access;
    if (spec.through !== undefined) {
      PATHS!.requireActive(spec.schema, spec.through.path.index, indexing?.access);
      return PATHS!.plan(spec, spec.through);
    }
    if (indexing === undefined || spec.fullScan) return planQuery(spec);
    const keyPlan = spec.schema.key.plan(spec.key);
    const { key } = spec.schema;
    if (keyPlan.kind !== 'full' && (spec.where.length === 0 || key.dictionaries !== undefined)) {
      return planQuery(spec, undefined, keyPlan);
    }
    const { use, others } = PATHS!.choose(spec, indexing.access, keyPlan);
    return use === undefined ? planQuery(spec, others, keyPlan) : PATHS!.plan(spec, use);
  }

  protected override lookUp(limit: number | undefined): T[] | Promise<T[]> | undefined {
    const { spec, access, options, lookUps } = this;
    const { through } = spec;
    if (through === undefined || spec.orderBy !== undefined || limit === 0) return undefined;
    // Observers get an event for the running query.
    if (access.operations?.hasQueryListeners) return undefined;
    if (lookUps !== undefined) {
      PATHS!.requireActive(spec.schema, through.path.index, access.indexing?.access);
      const found = lookUps.find(spec, through.key, options, limit === 1);
      if (found instanceof Promise) return found.then((one) => (one === null ? [] : [one as T]));
      if (found !== undefined) return found === null ? [] : [found as T];
    }
    if (limit === undefined) return undefined;
    return PATHS!.lookUp(this.plan() as PathPlan, access, options, limit) as T[] | undefined;
  }

  protected prepare(): Prepared | Promise<Prepared> {
    const resolved = this.resolved();
    return resolved instanceof Promise ? resolved.then((one) => this.prepared(one)) : this.prepared(resolved);
  }

  /** Plans the query after loading dictionary ids of its key. Only `explain` plans without them. */
  private resolved(): Resolved | Promise<Resolved> {
    const { spec } = this;
    const { dictionaries } = spec.schema.key;
    if (dictionaries === undefined) return { spec, plan: this.plan() };
    return dictionaries.knownConditions(spec.key).then((key) => {
      const known = { ...spec, key };
      return { spec: known, plan: this.planOf(known) };
    });
  }

  private prepared({ spec, plan }: Resolved): Prepared {
    const { schema, orderBy } = spec;
    const { through } = this.spec;
    const index = 'use' in plan ? plan.use.path.index : undefined;
    return {
      plan: this.reading(plan),
      reversedPlan: () => this.reading(this.planOf({ ...spec, reversed: !spec.reversed })),
      scope: {
        identity: () => `${identityOf(this.spec)}${'use' in plan ? pathIdentity(plan) : ''}`,
        ...(index === undefined && {
          formerly: () =>
            (this.access.formerNames?.(schema) ?? []).map((name) => identityOf(this.spec, name)),
        }),
        schemas: [index === undefined ? schema : { name: schema.name, key: index.layout }],
        secret: this.access.cursorSecret,
      },
      loaders: [new RowLoader(schema, this.access, plan.read.properties, plan.finish)],
      compare: orderBy && compareItems(schema, orderBy),
      explain: () => explainPlan(plan, this.access),
      conditions: (literal) => describeSpec({ ...this.spec, key: through?.key ?? this.spec.key }, literal),
    };
  }

  private reading(plan: EntityPlan | PathPlan): ReadPlan {
    return 'use' in plan ? PATHS!.readPlan(plan, this.access.indexing!.entries) : readPlanOf(plan);
  }
}

interface Resolved {
  readonly spec: QuerySpec;
  readonly plan: EntityPlan | PathPlan;
}
