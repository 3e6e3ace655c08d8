/** A lazy query on one entity in several tables: for example a table for each day. */

import { InvalidArgumentError, QueryError } from '../errors.js';
import type { CheckedNames, EntityOf, KeyedClass, Selected } from '../schema/entity-types.js';
import { describe } from '../table/checks.js';
import type { EntityQuery } from './entity-query.js';
import type { Explanation } from './explanation.js';
import { checkPage } from './page.js';
import type { Predicate, Where, WhereBuilder } from './where.js';

/** A page of a query over several tables. */
export interface TablesPage<T> {
  readonly items: readonly T[];
  /** The cursor of the next page. Undefined at the end. */
  readonly cursor: string | undefined;
}

/**
 * The rows of one table after those of another, in the order in which the tables were given, and in each by key.
 * Immutable. A table is read when those before it have ended.
 */
export class TablesQuery<C extends KeyedClass, T = EntityOf<C>> {
  constructor(
    private readonly queries: readonly EntityQuery<C, T>[],
    private readonly maxResults: number | undefined = undefined,
  ) {}

  /** As `where` of a query on one table. */
  where(condition: Where<C> | ((where: WhereBuilder<C>) => Predicate<C>)): TablesQuery<C, T> {
    return this.each((query) => query.where(condition));
  }

  /** Reads only these columns and the key. */
  select<Names extends keyof C['prototype'] & string>(
    ...names: readonly (Names & CheckedNames<C, Names>)[]
  ): TablesQuery<C, Selected<C, Names>> {
    return this.each((query) => query.select<Names>(...names)) as unknown as TablesQuery<
      C,
      Selected<C, Names>
    >;
  }

  /** Reverses the order of tables, and of rows in each. */
  reverse(): TablesQuery<C, T> {
    return new TablesQuery(
      [...this.queries].reverse().map((query) => query.reverse()),
      this.maxResults,
    );
  }

  /** Limits the number of rows of all tables together. @throws InvalidArgumentError unless it is a count. */
  limit(count: number): TablesQuery<C, T> {
    if (!Number.isSafeInteger(count) || count < 0) {
      throw new InvalidArgumentError(`limit is a whole number from 0 on, not ${describe(count)}.`);
    }
    return new TablesQuery(this.queries, count);
  }

  /** Every row, in one array. @throws QueryError when there are more than `max`. */
  async all(options: { readonly max?: number } = {}): Promise<T[]> {
    const found: T[] = [];
    for (const query of this.queries) {
      const left = this.maxResults === undefined ? undefined : this.maxResults - found.length;
      if (left === 0) break;
      const bounded = left === undefined ? query : query.limit(left);
      const max = options.max === undefined ? {} : { max: Math.max(1, options.max - found.length) };
      found.push(...(await bounded.all(max)));
      if (options.max !== undefined && found.length > options.max) {
        throw new QueryError(
          `all({ max: ${options.max} }) found more than ${options.max} rows. Use limit() or for await.`,
        );
      }
    }
    return found;
  }

  /** The first row, or null. */
  async first(): Promise<T | null> {
    const [first] = await this.limit(Math.min(1, this.maxResults ?? 1)).all();
    return first ?? null;
  }

  /** The number of rows. */
  async count(): Promise<number> {
    let count = 0;
    for (const query of this.queries) {
      const left = this.maxResults === undefined ? undefined : this.maxResults - count;
      if (left === 0) break;
      count += await (left === undefined ? query : query.limit(left)).count();
    }
    return count;
  }

  /** Whether there is any row. Reads up to the first. */
  async exists(): Promise<boolean> {
    if (this.maxResults === 0) return false;
    for (const query of this.queries) if (await query.exists()) return true;
    return false;
  }

  /**
   * A page of `size` rows, and a cursor to the next. Cursors are bound to the query and to the tables, in their
   * order.
   * @throws InvalidArgumentError without options; QueryError on a size that is not positive, and on a cursor of
   * another query.
   */
  async page(options: {
    readonly size: number;
    readonly cursor?: string | undefined;
  }): Promise<TablesPage<T>> {
    const { size, cursor: given } = checkPage(options, this.maxResults, ['size', 'cursor']);
    const items: T[] = [];
    let { at, cursor } = this.place(given);
    for (; at < this.queries.length; at++, cursor = undefined) {
      const page = await this.queries[at]!.page({ size: size - items.length, cursor });
      items.push(...page.items);
      if (page.cursor !== undefined) return { items, cursor: `${at}.${page.cursor}` };
      if (items.length < size) continue;
      const rest = new TablesQuery(this.queries.slice(at + 1));
      return { items, cursor: (await rest.exists()) ? `${at + 1}.` : undefined };
    }
    return { items, cursor: undefined };
  }

  private place(given: string | undefined): { at: number; cursor: string | undefined } {
    if (given === undefined) return { at: 0, cursor: undefined };
    const [, at, cursor] = (typeof given === 'string' && /^(\d{1,6})\.(.*)$/.exec(given)) || [];
    if (at === undefined || Number(at) >= this.queries.length) {
      throw new QueryError(
        'page: the cursor is none of this query over these tables. Pass page.cursor as it was.',
      );
    }
    return { at: Number(at), cursor: cursor === '' ? undefined : cursor };
  }

  /** Streams the rows, as fast as they are consumed. */
  async *[Symbol.asyncIterator](): AsyncIterableIterator<T> {
    let left = this.maxResults ?? Number.POSITIVE_INFINITY;
    for (const query of this.queries) {
      if (left === 0) return;
      for await (const item of left === Number.POSITIVE_INFINITY ? query : query.limit(left)) {
        left--;
        yield item;
      }
    }
  }

  /** Explains the query of each table, in their order. */
  explain(): Explanation[] {
    return this.queries.map((query) =>
      (this.maxResults === undefined ? query : query.limit(this.maxResults)).explain(),
    );
  }

  private each<U>(change: (query: EntityQuery<C, T>) => EntityQuery<C, U>): TablesQuery<C, U> {
    return new TablesQuery(this.queries.map(change), this.maxResults);
  }
}
