/** Rows by the values of some properties: what `groupBy` gives. */

import type { AggregateResults, AggregateSet, Aggregates } from './aggregates.js';
import { checkGrouping, type Grouping, type GroupOptions } from './groups.js';

/** What a group is told apart by; null where the value is absent. */
export type GroupKey<E, P extends keyof E> = {
  -readonly [Name in P]-?: NonNullable<E[Name]> | (undefined extends E[Name] ? null : Extract<E[Name], null>);
};

type Flat<T> = { [Name in keyof T]: T[Name] };

export class GroupedQuery<E, P extends keyof E & string> {
  constructor(
    private readonly properties: readonly P[],
    private readonly run: (
      build: (on: Aggregates<E>) => AggregateSet,
      maxGroups: number,
    ) => Promise<Grouping>,
  ) {}

  /**
   * The figures of each group, in the order of the groups' values; absent values come last.
   *
   * @example
   * ```ts
   * const byStatus = await query.groupBy('status').aggregate((on) => ({ n: on.count(), turnover: on.sum('total') }));
   * // [{ status: 'open', n: 3, turnover: '120.50' }, …]
   * ```
   * @throws QueryError when there are more groups than `maxGroups`: nothing is left out silently.
   */
  async aggregate<A extends AggregateSet>(
    figures: (on: Aggregates<E>) => A,
    options: GroupOptions = {},
  ): Promise<Flat<GroupKey<E, P> & AggregateResults<A>>[]> {
    const maxGroups = checkGrouping(this.properties, options);
    const grouping = await this.run(figures, maxGroups);
    return grouping.results() as Flat<GroupKey<E, P> & AggregateResults<A>>[];
  }

  /** How many rows each group has. */
  count(options: GroupOptions = {}): Promise<Flat<GroupKey<E, P> & { count: number }>[]> {
    return this.aggregate((on) => ({ count: on.count() }), options) as Promise<
      Flat<GroupKey<E, P> & { count: number }>[]
    >;
  }
}
