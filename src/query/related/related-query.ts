/** A query whose rows are returned with related entities (`with`). */

import { QueryError } from '../../errors.js';
import type { EntitySchema, RelationSchema } from '../../schema/types.js';
import { describe, isList } from '../../table/checks.js';
import { Deadline } from '../deadline.js';
import {
  type Explanation,
  explainedWith,
  printedQuery,
  type RelationExplanation,
  unreadQuery,
} from '../explanation.js';
import { type JoinStrategy, maxOf, tooManyRows } from '../find-options.js';
import { checkPage, Page, type PageOptions } from '../page.js';
import type { QuerySpec } from '../query-spec.js';
import { compareItems, orderedPage, unboundedOrder } from '../sort.js';
import {
  type CheckedCounts,
  RelatedCounter,
  type RelatedCountNode,
  type RelatedCounts,
  RelatedFilter,
  type RelatedTestNode,
  type RelatedWhere,
  relatedCounts,
  relatedTests,
  type WithCounts,
} from './related-tests.js';
import {
  KEYS_AT_ONCE,
  LISTS_AT_ONCE,
  MAX_HASHED,
  type ReadView,
  type RelatedNode,
  type RelatedReaders,
  RelationLoader,
  withoutProperties,
} from './relation-loader.js';
import {
  neededFor,
  type RelationArguments,
  type RelationsGiven,
  relatedNodes,
  type TreeOfGiven,
  type WithTree,
} from './relation-tree.js';

/** Rows of a stream whose relations are read in one batch. */
const ROWS_AT_ONCE = 256;

/** The part of the underlying query that a related query uses. */
export interface PlainQuery extends AsyncIterable<object> {
  all(options?: { readonly max?: number }): Promise<object[]>;
  first(): Promise<object | null>;
  page(options: PageOptions): Promise<Page<object>>;
  count(): Promise<number>;
  exists(): Promise<boolean>;
  limit(rows: number): PlainQuery;
  explain(): Explanation;
}

/** The rows of a query on one entity, and what is asked about their relations. */
interface RelatedSpec {
  readonly schema: EntitySchema;
  /** The properties to read. Undefined: all. */
  readonly selected: readonly string[] | undefined;
  readonly orderBy: QuerySpec['orderBy'];
  /** The rows with these properties, in the order of `orderBy` or of the key. */
  readonly rows: (selected: readonly string[] | undefined, isOrdered: boolean) => PlainQuery;
  /** The rows with these properties only, to be counted. */
  readonly bare: (selected: readonly string[]) => PlainQuery;
  readonly nodes: readonly RelatedNode[];
  readonly tests: readonly RelatedTestNode[];
  readonly counts: readonly RelatedCountNode[];
  readonly join: JoinStrategy;
  readonly readers: RelatedReaders;
  readonly view: ReadView;
  /** The most rows that meet the tests. Undefined: all. */
  readonly limit: number | undefined;
}

/**
 * The rows of a query with their related entities, read in batches: loaded (`with`), counted (`withCounts`), or tested
 * (`whereRelated`). Immutable.
 */
export class RelatedQuery<T, E = unknown> implements AsyncIterable<T> {
  private readonly query: PlainQuery;
  /** Properties that were read only to find the relations, or to sort by. */
  private readonly extra: readonly string[];
  private readonly compare: ((a: object, b: object) => number) | undefined;

  constructor(private readonly spec: RelatedSpec) {
    const { schema, nodes, tests, counts, limit, selected, orderBy } = spec;
    const isTested = tests.length > 0;
    // Rows that are tested are sorted after that, here.
    this.compare = isTested && orderBy !== undefined ? compareItems(schema, orderBy) : undefined;
    const sorted = this.compare === undefined ? [] : [orderBy!.property];
    this.extra =
      selected === undefined
        ? []
        : [
            ...neededFor(schema, [...nodes, ...tests, ...counts], selected),
            ...sorted.filter(
              (property) => schema.columnsByProperty.has(property) && !selected.includes(property),
            ),
          ];
    const rows = spec.rows(selected && [...selected, ...this.extra], !isTested);
    this.query = limit === undefined || isTested ? rows : rows.limit(limit);
  }

  /** Loads related entities, besides those of earlier calls. Takes what `with` of a query takes, and throws as that. */
  with<const Given extends RelationsGiven<E>>(
    ...given: RelationArguments<E, Given>
  ): RelatedQuery<WithTree<T, E, TreeOfGiven<Given>>, E> {
    const { schema, readers, nodes } = this.spec;
    const added = relatedNodes(schema, given, readers);
    const names = new Set(added.map(({ relation }) => relation.property));
    return this.derive({
      nodes: [...nodes.filter(({ relation }) => !names.has(relation.property)), ...added],
    });
  }

  /** Sets counts of related entities on the rows. Takes what `withCounts` of a query takes, and throws as that. */
  withCounts<const Counts extends RelatedCounts<E>>(
    counts: Counts & CheckedCounts<E, Counts>,
  ): RelatedQuery<WithCounts<T, Counts>, E> {
    const { schema, readers } = this.spec;
    return this.derive({ counts: [...this.spec.counts, ...relatedCounts(schema, counts, readers)] });
  }

  /** Keeps rows whose related entities meet conditions. Takes what `whereRelated` of a query takes, and throws as that. */
  whereRelated(tests: RelatedWhere<E>): RelatedQuery<T, E> {
    const { schema, readers, limit } = this.spec;
    if (limit !== undefined) throw limitedBefore();
    return this.derive({ tests: [...this.spec.tests, ...relatedTests(schema, tests, readers)] });
  }

  /** The most rows. @throws InvalidArgumentError unless it is a whole number, 0 or more. */
  limit(rows: number): RelatedQuery<T, E> {
    this.query.limit(rows);
    return this.derive({ limit: rows });
  }

  private derive<R>(change: Partial<RelatedSpec>): RelatedQuery<R, E> {
    return new RelatedQuery<R, E>({ ...this.spec, ...change });
  }

  /** Every row. @throws QueryError when there are more than `max`, or too many of a `@References`. */
  async all(options: { readonly max?: number } = {}): Promise<T[]> {
    return this.inTime(async () => {
      const items = await this.rows(options);
      const attach = this.attaching();
      for (let at = 0; at < items.length; at += KEYS_AT_ONCE)
        await attach(items.slice(at, at + KEYS_AT_ONCE));
      return items as T[];
    });
  }

  /** The rows without their relations. */
  private async rows(options: { readonly max?: number }): Promise<object[]> {
    const { compare } = this;
    const { tests, limit } = this.spec;
    if (tests.length === 0) return this.query.all(options);
    const max = maxOf(options);
    const most = Math.min(limit ?? Number.POSITIVE_INFINITY, (max ?? Number.POSITIVE_INFINITY) + 1);
    if (compare !== undefined && most === Number.POSITIVE_INFINITY) throw unboundedOrder();
    const items: object[] = [];
    for await (const batch of most === 0 ? [] : this.batches(this.query)) {
      items.push(...batch);
      if (compare === undefined) {
        if (items.length >= most) break;
      } else if (items.length > 2 * most) {
        items.sort(compare).splice(most);
      }
    }
    if (compare !== undefined) items.sort(compare);
    items.splice(most);
    if (max === undefined || items.length <= max) return items;
    throw tooManyRows(max);
  }

  /** The first row, or null. */
  async first(): Promise<T | null> {
    const { tests, limit } = this.spec;
    if (tests.length > 0) return (await this.limit(Math.min(limit ?? 1, 1)).all())[0] ?? null;
    return this.inTime(async () => {
      const item = await this.query.first();
      if (item !== null) await this.attaching()([item]);
      return item as T | null;
    });
  }

  /** The number of rows. Reads only the columns by which relations are found. */
  async count(): Promise<number> {
    const { tests, limit, bare } = this.spec;
    if (tests.length === 0) return this.query.count();
    return this.inTime(async () => {
      let count = 0;
      for await (const batch of this.batches(bare(neededFor(this.spec.schema, tests, [])))) {
        count += batch.length;
        if (limit !== undefined && count >= limit) return limit;
      }
      return count;
    });
  }

  /** Whether there is any row. Reads up to the first. */
  async exists(): Promise<boolean> {
    if (this.spec.tests.length === 0) return this.query.exists();
    return this.spec.limit !== 0 && (await this.limit(1).count()) > 0;
  }

  /** A page. Its cursors are those of the query without relations. */
  async page(options: PageOptions): Promise<Page<T>> {
    const { tests, limit } = this.spec;
    return this.inTime(async () => {
      if (tests.length === 0) return this.attached(await this.query.page(options));
      const { total, ...asked } = options;
      checkPage(options, limit);
      if (this.compare !== undefined) throw orderedPage();
      const page = await this.attached(await this.testedPage(asked));
      return total === true ? page.withTotal(await this.count()) : page;
    });
  }

  private async attached(page: Page<object>): Promise<Page<T>> {
    await this.attaching()(page.items);
    return page as Page<T>;
  }

  /** Reads pages of the query until enough of their rows meet the tests. */
  private async testedPage({ size, cursor, back = false }: PageOptions): Promise<Page<object>> {
    const filter = this.filter();
    const found: { readonly item: object; readonly at: () => string }[] = [];
    let from = cursor;
    do {
      const page = await this.query.page({
        size: Math.max(size + 1, ROWS_AT_ONCE),
        cursor: from,
        back: back && from !== undefined,
      });
      const kept = new Set(await filter.kept(page.items));
      const rows = page.items.map((item, i) => ({ item, at: () => page.cursorAt(i) }));
      for (const row of back ? rows.reverse() : rows) if (kept.has(row.item)) found.push(row);
      from = back ? page.backCursor : page.cursor;
    } while (from !== undefined && found.length <= size);
    const rows = found.slice(0, size);
    if (back) rows.reverse();
    const more = found.length > size;
    const next = back ? rows.length > 0 : more;
    const previous = back ? more : cursor !== undefined;
    return new Page(
      rows.map(({ item }) => item),
      next ? rows.at(-1)?.at() : undefined,
      previous ? rows[0]?.at() : undefined,
      (index) => rows[index]!.at(),
    );
  }

  /** Streams the rows, 256 at a time. */
  async *[Symbol.asyncIterator](): AsyncIterableIterator<T> {
    const { limit } = this.spec;
    if (this.compare !== undefined) return yield* await this.all();
    const attach = this.attaching();
    let left = limit ?? Number.POSITIVE_INFINITY;
    if (left === 0) return;
    for await (const batch of this.batches(this.query)) {
      const items = batch.slice(0, left);
      await this.inTime(() => attach(items));
      yield* items as T[];
      left -= items.length;
      if (left === 0) return;
    }
  }

  /** The rows that meet the tests, in batches. */
  private async *batches(query: PlainQuery): AsyncGenerator<object[]> {
    const filter = this.filter();
    let items: object[] = [];
    for await (const item of query) {
      items.push(item);
      if (items.length < ROWS_AT_ONCE) continue;
      yield await this.inTime(() => filter.kept(items));
      items = [];
    }
    if (items.length > 0) yield await this.inTime(() => filter.kept(items));
  }

  private filter(): RelatedFilter {
    const { tests, readers, view } = this.spec;
    return new RelatedFilter(tests, readers, view);
  }

  /** The explanation of the query, with how its relations are read. */
  explain(): Explanation {
    const { nodes, tests, counts, join } = this.spec;
    return explainedWith(this.query.explain(), [
      ...explainedTests(tests, ''),
      ...explainedCounts(counts),
      ...explainedNodes(nodes, join, ''),
    ]);
  }

  /** @throws QueryError: a query is not its rows. */
  toJSON(): never {
    throw unreadQuery();
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return printedQuery(this);
  }

  /** Rows and relations share one timeout. */
  private inTime<R>(run: () => Promise<R>): Promise<R> {
    const { timeout } = this.spec.view.options;
    return timeout === undefined ? run() : new Deadline(timeout, false).within(run());
  }

  private attaching(): (items: readonly object[]) => Promise<void> {
    const { counts, readers, view } = this.spec;
    const attach = attaching({ ...this.spec, extra: this.extra });
    if (counts.length === 0) return attach;
    const counter = new RelatedCounter(counts, readers, view);
    return async (items) => {
      await counter.attach(items);
      await attach(items);
    };
  }
}

/** The refusal of a limit that would cut off rows before they are tested. */
function limitedBefore(): QueryError {
  return new QueryError(
    'whereRelated() comes before limit(), which counts the rows that meet it: find(…).whereRelated(…).limit(n).',
  );
}

/** A read by keys with `select` and `with`. */
interface RelatedRead {
  /** The properties to read. Undefined: all. */
  readonly selected: readonly string[] | undefined;
  attach(items: readonly object[]): Promise<void>;
}

/**
 * Compiles the options `select` and `with` of `get`.
 * @throws QueryError when `select` is no list, and as `relatedNodes`.
 */
export function relatedRead(
  schema: EntitySchema,
  readers: RelatedReaders | undefined,
  select: unknown,
  relations: unknown,
  view: ReadView,
): RelatedRead {
  if (select !== undefined && !isList(select)) {
    throw new QueryError(`${schema.name}.get: select is a list of properties, not ${describe(select)}.`);
  }
  const names = select as readonly string[] | undefined;
  if (relations === undefined) return { selected: names, attach: () => Promise.resolve() };
  if (readers === undefined) throw new QueryError('with needs the repositories of a database.');
  const nodes = relatedNodes(schema, isList(relations) ? relations : [relations], readers);
  const extra = names === undefined ? [] : neededFor(schema, nodes, names);
  return {
    selected: names && [...names, ...extra],
    attach: attaching({ nodes, join: 'lookup', readers, view, extra }),
  };
}

/** The input of {@link attaching}. */
interface Attaching extends Pick<RelatedSpec, 'nodes' | 'readers' | 'join' | 'view'> {
  readonly extra: readonly string[];
}

/** Loads the relations of rows, batch by batch, and removes properties that only the relations needed. */
function attaching({
  nodes,
  readers,
  join,
  view,
  extra,
}: Attaching): (items: readonly object[]) => Promise<void> {
  const loaders = nodes.map((node) => new RelationLoader(node, readers, join, view));
  return async (items) => {
    if (items.length === 0) return;
    for (const loader of loaders) await loader.attach(items);
    withoutProperties(items, extra);
  };
}

/** How each relation is read. Nested relations have their path as name. */
function explainedNodes(
  nodes: readonly RelatedNode[],
  join: JoinStrategy,
  path: string,
): RelationExplanation[] {
  return nodes.flatMap(({ relation, target, limit, children }) => {
    const { kind, max } = relation;
    const property = `${path}${relation.property}`;
    const reads =
      kind === 'many'
        ? `one range for each row, ${LISTS_AT_ONCE} at a time, at most ${limit ?? max} rows each`
        : join === 'hash'
          ? `all of ${target.name} once, while they are at most ${MAX_HASHED}; else gets, ${KEYS_AT_ONCE} in a call`
          : `a get for each distinct key, ${KEYS_AT_ONCE} in a call`;
    return [
      explainedRead(relation, target, property, join, reads),
      ...explainedNodes(children, 'lookup', `${property}.`),
    ];
  });
}

function explainedRead(
  { kind, via, index }: RelationSchema,
  { name: entity }: EntitySchema,
  property: string,
  join: JoinStrategy,
  reads: string,
): RelationExplanation {
  const by = via.map(([part, from]) => `${part} = ${from}`).join(', ');
  return {
    property,
    entity,
    kind,
    by: index === undefined ? by : `${by} (index ${index})`,
    join: kind === 'many' ? 'lookup' : join,
    reads,
  };
}

function explainedTests(tests: readonly RelatedTestNode[], path: string): RelationExplanation[] {
  return tests.flatMap(({ relation, target, text, conditions }) => {
    const reads =
      relation.kind === 'one'
        ? `tests ${path}${text}: a get for each distinct key, ${KEYS_AT_ONCE} in a call, with the conditions as filters`
        : `tests ${path}${text}: one range for each row, ${LISTS_AT_ONCE} at a time, up to the first row that decides`;
    const below = conditions === undefined ? [] : explainedTests(conditions.related, `${path}${text}: `);
    return [explainedRead(relation, target, relation.property, 'lookup', reads), ...below];
  });
}

function explainedCounts(counts: readonly RelatedCountNode[]): RelationExplanation[] {
  return counts.map(({ name, relation, target }) =>
    explainedRead(
      relation,
      target,
      relation.property,
      'lookup',
      `counted as ${name}: one range for each row, ${LISTS_AT_ONCE} at a time`,
    ),
  );
}
