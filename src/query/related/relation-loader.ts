/** Reads related entities in batches: never one query for each row. */

import { toLatin1 } from '../../bytes/index.js';
import { QueryError, throwIfAborted } from '../../errors.js';
import { storedValue } from '../../key/codecs/index.js';
import type { KeyPart } from '../../key/types.js';
import { type EntityClass, type EntitySchema, type RelationSchema, valueAt } from '../../schema/types.js';
import { TimeRange } from '../../table/index.js';
import { type FindOptions, type JoinStrategy, type ReadOptionsOf, readOptionsOf } from '../find-options.js';

/** A row whose relations are read. */
export type Item = Record<string, unknown>;

/** Reads the related entities: their repository. */
export interface RelatedReader {
  readonly schema: EntitySchema;
  getMany(
    keys: readonly never[],
    options?: ReadOptionsOf & { readonly select?: readonly never[] },
  ): Promise<(object | null)[]>;
  find(prefix: never, options?: { readonly fullScan?: boolean; readonly cacheBlocks?: boolean }): RelatedRows;
  by(index: never): { find(prefix: never): RelatedRows };
}

export interface RelatedRows extends AsyncIterable<object> {
  limit(count: number): RelatedRows;
  where(condition: never): RelatedRows;
  whereRelated(tests: never): CountableRows;
  select(...names: readonly never[]): RelatedRows;
  orderBy(property: never, direction?: 'asc' | 'desc'): RelatedRows;
  reverse(): RelatedRows;
  all(options: { readonly max: number }): Promise<object[]>;
  count(): Promise<number>;
  exists(): Promise<boolean>;
}

/** Rows that are counted, and not read. */
export type CountableRows = Pick<RelatedRows, 'count' | 'exists'>;

/** How related rows are read: at the time of the query's own rows, and with its options. */
export interface ReadView {
  /** Undefined: the present. */
  readonly timeRange: TimeRange | undefined;
  readonly options: ReadOptionsOf;
}

/** How rows of relations are read: at the time of the query's own rows. */
export function viewOf(timeRange: TimeRange | undefined, options: FindOptions): ReadView {
  return {
    // Cells older than a time window belong to the rows written in it.
    timeRange: timeRange && new TimeRange(0, timeRange.max),
    options: readOptionsOf(options),
  };
}

/**
 * Returns the reader of an entity, for a view or for the present. @throws SchemaError on a class that the database
 * was not opened with.
 */
export type RelatedReaders = (target: EntityClass, view?: ReadView) => RelatedReader;

/** One relation to load, with the options for the related entity and its own relations. */
export interface RelatedNode {
  readonly relation: RelationSchema;
  readonly target: EntitySchema;
  /** Properties of the related entity to read. Undefined: all. */
  readonly selected: readonly string[] | undefined;
  /** Properties read only because nested relations need them. */
  readonly extra: readonly string[];
  /** Applies the options to a query of related entities. */
  readonly narrow: (rows: RelatedRows) => RelatedRows;
  readonly limit: number | undefined;
  readonly children: readonly RelatedNode[];
}

/** Keys read in one call. */
export const KEYS_AT_ONCE = 1000;

/** Lists read concurrently. */
export const LISTS_AT_ONCE = 16;

/** The most entities of a hash join. With more it continues with lookups. */
export const MAX_HASHED = 200_000;

/** Reads one relation of some entities. */
export class RelationLoader {
  private readonly reader: RelatedReader;
  private readonly below: readonly RelationLoader[];
  /** Related entities whose nested relations are loaded. A hash join returns the same instances to each batch. */
  private readonly complete = new WeakSet<object>();
  private readonly signal: AbortSignal | undefined;
  /** All related entities by row key, for a hash join. */
  private hashed: Promise<ReadonlyMap<string, object> | undefined> | undefined;

  constructor(
    private readonly node: RelatedNode,
    readers: RelatedReaders,
    private readonly strategy: JoinStrategy,
    view: ReadView,
  ) {
    this.reader = readers(node.relation.target(), view);
    this.signal = view.options.signal;
    this.below = node.children.map((child) => new RelationLoader(child, readers, 'lookup', view));
  }

  async attach(items: readonly object[]): Promise<void> {
    throwIfAborted(this.signal);
    if (this.node.relation.kind === 'one') await this.attachOne(items as readonly Item[]);
    else await this.attachMany(items as readonly Item[]);
    if (this.below.length > 0) await this.attachBelow(items as readonly Item[]);
  }

  private async attachBelow(items: readonly Item[]): Promise<void> {
    const { relation, extra } = this.node;
    const found: object[] = [];
    for (const item of items) {
      const related = item[relation.property];
      for (const one of Array.isArray(related) ? (related as object[]) : [related]) {
        if (one === null || this.complete.has(one as object)) continue;
        this.complete.add(one as object);
        found.push(one as object);
      }
    }
    for (let at = 0; at < found.length; at += KEYS_AT_ONCE) {
      const some = found.slice(at, at + KEYS_AT_ONCE);
      for (const loader of this.below) await loader.attach(some);
    }
    withoutProperties(found, extra);
  }

  private async attachOne(items: readonly Item[]): Promise<void> {
    const { property } = this.node.relation;
    const { wanted, without } = await byKeyHeld(items, this.node.relation, this.reader);
    for (const item of without) item[property] = null;
    const hashed = this.strategy === 'hash' ? await this.others() : undefined;
    const groups = [...wanted];
    for (let at = 0; at < groups.length; at += KEYS_AT_ONCE) {
      const some = groups.slice(at, at + KEYS_AT_ONCE);
      const found =
        hashed === undefined
          ? await this.reader.getMany(
              some.map(([, { key }]) => key as never),
              this.node.selected && { select: this.node.selected as readonly never[] },
            )
          : some.map(([id]) => hashed.get(id) ?? null);
      for (const [i, [, { holders }]] of some.entries()) {
        for (const holder of holders) holder[property] = found[i] ?? null;
      }
    }
  }

  private others(): Promise<ReadonlyMap<string, object> | undefined> {
    this.hashed ??= this.hash();
    return this.hashed;
  }

  private async hash(): Promise<ReadonlyMap<string, object> | undefined> {
    const all = new Map<string, object>();
    const rows = this.reader.find({} as never, { fullScan: true, cacheBlocks: false });
    for await (const entity of this.node.narrow(rows)) {
      if (all.size === MAX_HASHED) return undefined;
      all.set(rowIdOf(this.reader, entity as Item), entity);
    }
    return all;
  }

  private async attachMany(items: readonly Item[]): Promise<void> {
    const { relation } = this.node;
    const { property } = relation;
    await forEachList(items, relation, this.reader, this.signal, async (prefix, holders) => {
      const found = prefix === undefined ? [] : await this.read(prefix);
      for (const [i, holder] of holders.entries()) holder[property] = i === 0 ? found : [...found];
    });
  }

  private async read(prefix: Item): Promise<object[]> {
    const { relation, narrow, limit } = this.node;
    const { property, max } = relation;
    const rows = narrow(listOf(this.reader, relation, prefix));
    if (limit !== undefined) return rows.all({ max: limit });
    const oneMore = max + 1;
    const found = await rows.limit(oneMore).all({ max: oneMore });
    if (found.length <= max) return found;
    throw new QueryError(
      `with("${property}"): there are more than ${max} entities of ${this.reader.schema.name} for one. Allow more ` +
        '(@References(…, { max })), or find them by a query of their own.',
      { details: { property } },
    );
  }
}

/** The rows of a `@References` that a key prefix finds: by their key or by the index of the relation. */
export function listOf(reader: RelatedReader, { index }: RelationSchema, prefix: Item): RelatedRows {
  return index === undefined ? reader.find(prefix as never) : reader.by(index as never).find(prefix as never);
}

/**
 * Calls `work` once for each distinct prefix that the items hold, with its holders, some at a time; and once for those that hold none.
 */
export async function forEachList(
  items: readonly Item[],
  relation: RelationSchema,
  reader: RelatedReader,
  signal: AbortSignal | undefined,
  work: (prefix: Item | undefined, holders: readonly Item[]) => void | Promise<void>,
): Promise<void> {
  const wanted = new Map<string, { readonly prefix: Item | undefined; readonly holders: Item[] }>();
  const parts = partsOf(reader, relation).filter(({ name }) => relation.via.some(([part]) => part === name));
  for (const item of items) {
    const prefix = keyHeld(relation, item);
    const id = prefix === undefined ? '' : partsText(parts, prefix);
    const known = wanted.get(id);
    if (known === undefined) wanted.set(id, { prefix, holders: [item] });
    else known.holders.push(item);
  }
  await severalAtOnce([...wanted.values()], signal, ({ prefix, holders }) => work(prefix, holders));
}

/** Works on the members of a list, {@link LISTS_AT_ONCE} at a time. */
export async function severalAtOnce<T>(
  list: readonly T[],
  signal: AbortSignal | undefined,
  work: (one: T) => void | Promise<void>,
): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < list.length) {
      throwIfAborted(signal);
      await work(list[next++]!);
    }
  };
  await Promise.all(Array.from({ length: Math.min(LISTS_AT_ONCE, list.length) }, worker));
}

/** The key of the related entity that an item holds, or its prefix. Undefined where a value is absent. */
function keyHeld({ via }: RelationSchema, item: Item): Item | undefined {
  const key: Item = {};
  for (const [part, property] of via) {
    const value = valueAt(item, property.split('.'));
    if (value === undefined) return undefined;
    key[part] = value;
  }
  return key;
}

/** Items by the row key of the entity that they name. */
interface ItemsByKey {
  readonly wanted: ReadonlyMap<string, { readonly key: Item; readonly holders: readonly Item[] }>;
  /** Items that name none. */
  readonly without: readonly Item[];
}

/** Groups items by the one entity that each names. */
export async function byKeyHeld(
  items: readonly Item[],
  relation: RelationSchema,
  reader: RelatedReader,
): Promise<ItemsByKey> {
  const wanted = new Map<string, { readonly key: Item; readonly holders: Item[] }>();
  const without: Item[] = [];
  const keys: Item[] = [];
  const holders: Item[] = [];
  for (const item of items) {
    const key = keyHeld(relation, item);
    if (key === undefined) {
      without.push(item);
      continue;
    }
    keys.push(key);
    holders.push(item);
  }
  const { dictionaries } = reader.schema.key;
  const known = dictionaries === undefined ? keys : await dictionaries.known(keys);
  for (const [i, holder] of holders.entries()) {
    const id = rowIdOf(reader, known[i]!);
    const group = wanted.get(id);
    if (group === undefined) wanted.set(id, { key: keys[i]!, holders: [holder] });
    else group.holders.push(holder);
  }
  return { wanted, without };
}

/** The row key of a related entity as text. */
export function rowIdOf({ schema }: RelatedReader, key: Item): string {
  return toLatin1(schema.mapper.rowOf(key));
}

/** Removes properties that were read only because relations needed them. */
export function withoutProperties(items: readonly object[], names: readonly string[]): void {
  if (names.length === 0) return;
  for (const item of items) for (const name of names) remove(item, name);
}

/** Removes a property, and the embedded object around it if it becomes empty. */
function remove(item: object, name: string): void {
  const [head, ...rest] = name.split('.') as [string, ...string[]];
  const inner: unknown = rest.length === 0 ? undefined : Reflect.get(item, head);
  if (typeof inner === 'object' && inner !== null) remove(inner, rest.join('.'));
  const left = typeof inner === 'object' && inner !== null ? Object.values(inner) : [];
  if (left.every((value) => value === undefined)) Reflect.deleteProperty(item, head);
}

function partsOf({ schema }: RelatedReader, { index }: RelationSchema): readonly KeyPart[] {
  const layout = schema.indexes.find(({ name }) => name === index)?.layout;
  return (layout ?? schema.key).parts;
}

/** The values of some parts as a text that distinguishes them. */
export function partsText(parts: readonly KeyPart[], values: Item): string {
  return JSON.stringify(
    parts.map(({ name, codec }) => storedValue(codec, values[name])),
    asText,
  );
}

function asText(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`;
  return value instanceof Uint8Array ? toLatin1(value) : value;
}
