/** Figures of the rows of a query. */

import { QueryError } from '../../errors.js';
import type { EntityOf, KeyedClass } from '../../schema/entity-types.js';
import { BaseQuery } from '../base-query.js';
import type { FindOptions } from '../find-options.js';
import type { QuerySpec } from '../plan.js';
import {
  type Aggregate,
  type AggregateResults,
  type AggregateSet,
  Aggregates,
  checkAggregates,
  type OrderedOf,
  type SummableOf,
  type SumOf,
} from './aggregates.js';
import { GroupedQuery } from './grouped-query.js';
import { Grouping } from './groups.js';

/** A query on one entity, of which figures can be worked out. */
export abstract class FiguredQuery<C extends KeyedClass, T> extends BaseQuery<T> {
  protected abstract override readonly spec: QuerySpec;
  protected abstract override derive(change: Partial<QuerySpec>, options?: FindOptions): this;

  /**
   * Figures of all rows, worked out in one pass without keeping rows. Only the columns that they need are read.
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
    const grouping = await this.fold([], this.figuresOf(figures), 1);
    return grouping.single() as AggregateResults<A>;
  }

  /** The sum of a column: exact for bigints and decimals; 0 of no values. */
  sum<P extends SummableOf<EntityOf<C>>>(property: P): Promise<SumOf<NonNullable<EntityOf<C>[P]>>> {
    return this.figure((on) => on.sum(property));
  }

  /** The average of a column, the double nearest to the exact one; null of no values. */
  avg(property: SummableOf<EntityOf<C>>): Promise<number | null> {
    return this.figure((on) => on.avg(property));
  }

  /** The least value of a column; null of no values. */
  min<P extends OrderedOf<EntityOf<C>>>(property: P): Promise<NonNullable<EntityOf<C>[P]> | null> {
    return this.figure((on) => on.min(property));
  }

  /** The greatest value of a column; null of no values. */
  max<P extends OrderedOf<EntityOf<C>>>(property: P): Promise<NonNullable<EntityOf<C>[P]> | null> {
    return this.figure((on) => on.max(property));
  }

  /**
   * The rows by the values of some columns or key parts; `aggregate` and `count` of it give a result for each group.
   * @throws QueryError when a property has no order.
   */
  groupBy<const P extends readonly OrderedOf<EntityOf<C>>[]>(
    ...properties: P
  ): GroupedQuery<EntityOf<C>, P[number]> {
    return new GroupedQuery(properties, (build, maxGroups) =>
      this.fold(properties, this.figuresOf(build), maxGroups),
    );
  }

  private figuresOf<A extends AggregateSet>(build: (on: Aggregates<EntityOf<C>>) => A): AggregateSet {
    if (typeof build !== 'function') return checkAggregates(build);
    return checkAggregates(build(new Aggregates<EntityOf<C>>(this.spec.schema)));
  }

  private async figure<R>(build: (on: Aggregates<EntityOf<C>>) => Aggregate<R>): Promise<R> {
    const { figure } = await this.aggregate((on) => ({ figure: build(on) }));
    return figure;
  }

  private async fold(
    properties: readonly string[],
    figures: AggregateSet,
    maxGroups: number,
  ): Promise<Grouping> {
    const { schema, orderBy } = this.spec;
    if (orderBy !== undefined) {
      throw new QueryError(
        'Figures have no order of rows: orderBy() does not go together with them. Leave it out.',
      );
    }
    const grouping = new Grouping(schema, properties, figures, maxGroups);
    const read = Object.values(figures).flatMap(({ property }) => (property === undefined ? [] : [property]));
    const query = this.derive({ selected: [...new Set([...properties, ...read])], slices: [] });
    await query.forEach('aggregate', (entity) => grouping.add(entity as Record<string, unknown>));
    return grouping;
  }
}
