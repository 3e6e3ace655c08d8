/** A query whose rows are returned with related entities (`with`). */

import { QueryError } from '../../errors.js';
import type { EntitySchema } from '../../schema/types.js';
import { describe, isList } from '../../table/checks.js';
import { Deadline } from '../deadline.js';
import { type Explanation, explainedWith, type RelationExplanation } from '../explanation.js';
import type { JoinStrategy } from '../find-options.js';
import type { Page, PageOptions } from '../page.js';
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
import { neededFor, relatedNodes } from './relation-tree.js';

/** Rows of a stream whose relations are read in one batch. */
const ROWS_AT_ONCE = 256;

/** The part of the underlying query that a related query uses. */
export interface PlainQuery<T> extends AsyncIterable<T> {
  all(options?: { readonly max?: number }): Promise<T[]>;
  first(): Promise<T | null>;
  page(options: PageOptions): Promise<Page<T>>;
  explain(): Explanation;
}

/** The arguments of `with`. */
interface RelatedSpec {
  readonly nodes: readonly RelatedNode[];
  readonly join: JoinStrategy;
  readonly readers: RelatedReaders;
  readonly view: ReadView;
  /** Properties that were read only to find the relations. */
  readonly extra: readonly string[];
}

/** The rows of a query with their related entities, read in batches. Immutable. */
export class RelatedQuery<T> implements AsyncIterable<T> {
  constructor(
    private readonly query: PlainQuery<object>,
    private readonly spec: RelatedSpec,
  ) {}

  /** Every row. @throws QueryError when there are more than `max`, or too many of a `@References`. */
  async all(options?: { readonly max?: number }): Promise<T[]> {
    return this.inTime(async () => {
      const items = await this.query.all(options);
      const attach = this.attaching();
      for (let at = 0; at < items.length; at += KEYS_AT_ONCE)
        await attach(items.slice(at, at + KEYS_AT_ONCE));
      return items as T[];
    });
  }

  /** The first row, or null. */
  async first(): Promise<T | null> {
    return this.inTime(async () => {
      const item = await this.query.first();
      if (item !== null) await this.attaching()([item]);
      return item as T | null;
    });
  }

  /** A page. Its cursors are those of the query without relations. */
  async page(options: PageOptions): Promise<Page<T>> {
    return this.inTime(async () => {
      const page = await this.query.page(options);
      await this.attaching()(page.items);
      return page as Page<T>;
    });
  }

  /** Streams the rows, 256 at a time. */
  async *[Symbol.asyncIterator](): AsyncIterableIterator<T> {
    const attach = this.attaching();
    let items: object[] = [];
    for await (const item of this.query) {
      items.push(item);
      if (items.length < ROWS_AT_ONCE) continue;
      await this.inTime(() => attach(items));
      yield* items as T[];
      items = [];
    }
    await this.inTime(() => attach(items));
    yield* items as T[];
  }

  /** The explanation of the query, with how its relations are read. */
  explain(): Explanation {
    const { nodes, join } = this.spec;
    return explainedWith(this.query.explain(), explainedNodes(nodes, join, ''));
  }

  /** Rows and relations share one timeout. */
  private inTime<R>(run: () => Promise<R>): Promise<R> {
    const { timeout } = this.spec.view.options;
    return timeout === undefined ? run() : new Deadline(timeout, false).within(run());
  }

  private attaching(): (items: readonly object[]) => Promise<void> {
    return attaching(this.spec);
  }
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

/** Loads the relations of rows, batch by batch, and removes properties that only the relations needed. */
function attaching({
  nodes,
  readers,
  join,
  view,
  extra,
}: RelatedSpec): (items: readonly object[]) => Promise<void> {
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
    const { kind, via, max } = relation;
    const property = `${path}${relation.property}`;
    const entity = target.name;
    const by = via.map(([part, from]) => `${part} = ${from}`).join(', ');
    const reads =
      kind === 'many'
        ? `one range for each row, ${LISTS_AT_ONCE} at a time, at most ${limit ?? max} rows each`
        : join === 'hash'
          ? `all of ${entity} once, while they are at most ${MAX_HASHED}; else gets, ${KEYS_AT_ONCE} in a call`
          : `a get for each distinct key, ${KEYS_AT_ONCE} in a call`;
    const own: RelationExplanation = {
      property,
      entity,
      kind,
      by,
      join: kind === 'many' ? 'lookup' : join,
      reads,
    };
    return [own, ...explainedNodes(children, 'lookup', `${property}.`)];
  });
}
