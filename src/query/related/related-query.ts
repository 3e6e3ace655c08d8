/** A query whose rows are returned with related entities (`with`). */

import type { RelationMark } from '../../../decorators/index.js';
import { QueryError } from '../../errors.js';
import type { IsRelation } from '../../schema/entity-types.js';
import type { EntitySchema, RelationSchema } from '../../schema/types.js';
import { describe } from '../../table/checks.js';
import { Deadline } from '../deadline.js';
import { type Explanation, explainedWith, type RelationExplanation } from '../explanation.js';
import type { JoinStrategy } from '../find-options.js';
import type { Page, PageOptions } from '../page.js';
import {
  KEYS_AT_ONCE,
  LISTS_AT_ONCE,
  MAX_HASHED,
  type ReadView,
  type RelatedReaders,
  RelationLoader,
} from './relation-loader.js';

/** Properties that may be relations: other entities, or lists of them. */
export type RelationsOf<E> = {
  [P in keyof E & string]: undefined extends E[P]
    ? NonNullable<E[P]> extends Date | Uint8Array | ReadonlyMap<unknown, unknown>
      ? never
      : NonNullable<E[P]> extends object
        ? P
        : never
    : never;
}[keyof E & string];

/** A row with its relations: a list, an entity, or null where there is none. */
export type WithRelations<T, E, Names extends keyof E> = Omit<T, Names> & {
  -readonly [Name in Names]-?: Loaded<NonNullable<E[Name]>>;
};

/** The loaded type of a property, without the mark of `Related`. */
type Loaded<V> = IsRelation<V> extends true ? Found<V extends RelationMark<infer T> ? T : never> : Found<V>;

type Found<V> = V extends readonly unknown[] ? V : V | null;

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
export interface RelatedSpec {
  readonly schema: EntitySchema;
  readonly relations: readonly RelationSchema[];
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
    const { relations, join, readers } = this.spec;
    return explainedWith(
      this.query.explain(),
      relations.map(({ kind, property, via, target, max }): RelationExplanation => {
        const entity = readers(target()).schema.name;
        const by = via.map(([part, from]) => `${part} = ${from}`).join(', ');
        const reads =
          kind === 'many'
            ? `one range for each row, ${LISTS_AT_ONCE} at a time, at most ${max} rows each`
            : join === 'hash'
              ? `all of ${entity} once, while they are at most ${MAX_HASHED}; else gets, ${KEYS_AT_ONCE} in a call`
              : `a get for each distinct key, ${KEYS_AT_ONCE} in a call`;
        return { property, entity, kind, by, join: kind === 'many' ? 'lookup' : join, reads };
      }),
    );
  }

  /** Rows and relations share one timeout. */
  private inTime<R>(run: () => Promise<R>): Promise<R> {
    const { timeout } = this.spec.view.options;
    return timeout === undefined ? run() : new Deadline(timeout, false).within(run());
  }

  private attaching(): (items: readonly object[]) => Promise<void> {
    const { relations, readers, join, view, extra } = this.spec;
    const loaders = relations.map((relation) => new RelationLoader(relation, readers, join, view));
    return async (items) => {
      if (items.length === 0) return;
      for (const loader of loaders) await loader.attach(items);
      if (extra.length === 0) return;
      for (const item of items) for (const name of extra) remove(item, name);
    };
  }
}

/** Removes a property, and the embedded object around it if it becomes empty. */
function remove(item: object, name: string): void {
  const [head, ...rest] = name.split('.') as [string, ...string[]];
  const inner: unknown = rest.length === 0 ? undefined : Reflect.get(item, head);
  if (typeof inner === 'object' && inner !== null) remove(inner, rest.join('.'));
  const left = typeof inner === 'object' && inner !== null ? Object.values(inner) : [];
  if (left.every((value) => value === undefined)) Reflect.deleteProperty(item, head);
}

/** The relations of these names. @throws QueryError on an unknown name. */
export function relationsNamed(schema: EntitySchema, names: readonly unknown[]): RelationSchema[] {
  if (names.length === 0) {
    throw new QueryError(`with() names no relation. ${schema.name} has ${listed(schema)}.`);
  }
  return [...new Set(names)].map((name) => {
    const relation = typeof name === 'string' ? schema.relations.get(name) : undefined;
    if (relation !== undefined) return relation;
    throw new QueryError(
      `with: ${schema.name} has no relation ${typeof name === 'string' ? `"${name}"` : describe(name)}. It has ${listed(schema)}.`,
      { details: { entity: schema.name } },
    );
  });
}

/** The columns that relations need and that are not selected. */
export function neededFor(
  schema: EntitySchema,
  relations: readonly RelationSchema[],
  selected: readonly string[],
): string[] {
  const from = relations.flatMap(({ via }) => via.map(([, property]) => property));
  const columns = from.filter((property) => schema.columnsByProperty.has(property));
  return [...new Set(columns)].filter(
    (property) => !selected.some((name) => property === name || property.startsWith(`${name}.`)),
  );
}

function listed(schema: EntitySchema): string {
  const names = [...schema.relations.keys()];
  return names.length === 0 ? 'none: declare one with @Reference or @References' : names.join(', ');
}
