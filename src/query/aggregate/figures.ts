/** Figures of the rows of a query. */

import { QueryError } from '../../errors.js';
import type { QuerySpec } from '../query-spec.js';
import type { Aggregate } from './aggregate.js';
import { type AggregateResults, type AggregateSet, Aggregates, checkAggregates } from './aggregates.js';
import { GroupedQuery } from './grouped-query.js';
import { Grouping } from './groups.js';

/** Reads these properties of every row of the query. */
type ReadEach = (
  properties: readonly string[],
  each: (entity: Record<string, unknown>) => void,
) => Promise<void>;

/** Works out figures of a query on entities of type `E`. (Its methods stand on the query: a base class costs compilers more.) */
export class Figures<E> {
  constructor(
    private readonly spec: QuerySpec,
    private readonly readEach: ReadEach,
  ) {}

  async aggregate<A extends AggregateSet>(figures: (on: Aggregates<E>) => A): Promise<AggregateResults<A>> {
    const grouping = await this.fold([], this.figuresOf(figures), 1);
    return grouping.single() as AggregateResults<A>;
  }

  async one<R>(build: (on: Aggregates<E>) => Aggregate<R>): Promise<R> {
    const { figure } = await this.aggregate((on) => ({ figure: build(on) }));
    return figure;
  }

  groupBy<P extends keyof E & string>(properties: readonly P[]): GroupedQuery<E, P> {
    return new GroupedQuery(properties, (build, maxGroups) =>
      this.fold(properties, this.figuresOf(build), maxGroups),
    );
  }

  private figuresOf<A extends AggregateSet>(build: (on: Aggregates<E>) => A): AggregateSet {
    if (typeof build !== 'function') return checkAggregates(build);
    return checkAggregates(build(new Aggregates<E>(this.spec.schema)));
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
    await this.readEach([...new Set([...properties, ...read])], (entity) => grouping.add(entity));
    return grouping;
  }
}
