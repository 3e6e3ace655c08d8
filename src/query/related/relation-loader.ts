/** Reads related entities in batches: never one query for each row. */

import { toLatin1 } from '../../bytes/index.js';
import { QueryError, throwIfAborted } from '../../errors.js';
import type { EntityClass, EntitySchema, RelationSchema } from '../../schema/types.js';
import type { TimeRange } from '../../table/index.js';
import type { JoinStrategy, ReadOptionsOf } from '../find-options.js';

type Item = Record<string, unknown>;

/** Reads the related entities: their repository. */
export interface RelatedReader {
  readonly schema: EntitySchema;
  getMany(keys: readonly never[]): Promise<(object | null)[]>;
  find(prefix: never, options?: { readonly fullScan?: boolean; readonly cacheBlocks?: boolean }): RelatedRows;
}

export interface RelatedRows extends AsyncIterable<object> {
  limit(count: number): RelatedRows;
  all(options: { readonly max: number }): Promise<object[]>;
}

/** How related rows are read: at the time of the query's own rows, and with its options. */
export interface ReadView {
  /** Undefined: the present. */
  readonly timeRange: TimeRange | undefined;
  readonly options: ReadOptionsOf;
}

/**
 * Returns the reader of an entity, for a view or for the present. @throws SchemaError on a class that the database
 * was not opened with.
 */
export type RelatedReaders = (target: EntityClass, view?: ReadView) => RelatedReader;

/** Keys read in one call. */
export const KEYS_AT_ONCE = 1000;

/** Lists read concurrently. */
export const LISTS_AT_ONCE = 16;

/** The most entities of a hash join. With more it continues with lookups. */
export const MAX_HASHED = 200_000;

/** Reads one relation of some entities. */
export class RelationLoader {
  private readonly reader: RelatedReader;
  private readonly signal: AbortSignal | undefined;
  /** All related entities by row key, for a hash join. */
  private hashed: Promise<ReadonlyMap<string, object> | undefined> | undefined;

  constructor(
    private readonly relation: RelationSchema,
    readers: RelatedReaders,
    private readonly strategy: JoinStrategy,
    view: ReadView,
  ) {
    this.reader = readers(relation.target(), view);
    this.signal = view.options.signal;
  }

  async attach(items: readonly object[]): Promise<void> {
    throwIfAborted(this.signal);
    if (this.relation.kind === 'one') await this.attachOne(items as readonly Item[]);
    else await this.attachMany(items as readonly Item[]);
  }

  private async attachOne(items: readonly Item[]): Promise<void> {
    const { property } = this.relation;
    const wanted = new Map<string, { readonly key: Item; readonly holders: Item[] }>();
    const keys: Item[] = [];
    const holders: Item[] = [];
    for (const item of items) {
      const key = this.keyOf(item);
      if (key === undefined) {
        item[property] = null;
        continue;
      }
      keys.push(key);
      holders.push(item);
    }
    const { dictionaries } = this.reader.schema.key;
    const known = dictionaries === undefined ? keys : await dictionaries.known(keys);
    for (const [i, holder] of holders.entries()) {
      const id = this.idOf(known[i]!);
      const group = wanted.get(id);
      if (group === undefined) wanted.set(id, { key: keys[i]!, holders: [holder] });
      else group.holders.push(holder);
    }
    const hashed = this.strategy === 'hash' ? await this.others() : undefined;
    const groups = [...wanted];
    for (let at = 0; at < groups.length; at += KEYS_AT_ONCE) {
      const some = groups.slice(at, at + KEYS_AT_ONCE);
      const found =
        hashed === undefined
          ? await this.reader.getMany(some.map(([, { key }]) => key as never))
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
    for await (const entity of this.reader.find({} as never, { fullScan: true, cacheBlocks: false })) {
      if (all.size === MAX_HASHED) return undefined;
      all.set(this.idOf(entity as Item), entity);
    }
    return all;
  }

  private async attachMany(items: readonly Item[]): Promise<void> {
    const { property } = this.relation;
    const wanted = new Map<string, { readonly prefix: Item; readonly holders: Item[] }>();
    for (const item of items) {
      const prefix = this.keyOf(item);
      if (prefix === undefined) {
        item[property] = [];
        continue;
      }
      const id = JSON.stringify(Object.values(prefix), asText);
      const known = wanted.get(id);
      if (known === undefined) wanted.set(id, { prefix, holders: [item] });
      else known.holders.push(item);
    }
    const groups = [...wanted.values()];
    let next = 0;
    const work = async (): Promise<void> => {
      while (next < groups.length) {
        const { prefix, holders } = groups[next++]!;
        throwIfAborted(this.signal);
        const found = await this.read(prefix);
        for (const [i, holder] of holders.entries()) holder[property] = i === 0 ? found : [...found];
      }
    };
    await Promise.all(Array.from({ length: Math.min(LISTS_AT_ONCE, groups.length) }, work));
  }

  private async read(prefix: Item): Promise<object[]> {
    const { property, max } = this.relation;
    const oneMore = max + 1;
    const found = await this.reader
      .find(prefix as never)
      .limit(oneMore)
      .all({ max: oneMore });
    if (found.length <= max) return found;
    throw new QueryError(
      `with("${property}"): there are more than ${max} entities of ${this.reader.schema.name} for one. Allow more ` +
        '(@References(…, { max })), or find them by a query of their own.',
      { details: { property } },
    );
  }

  /** The key of the related entity, or its prefix. Undefined where a value is absent. */
  private keyOf(item: Item): Item | undefined {
    const key: Item = {};
    for (const [part, property] of this.relation.via) {
      const value = valueAt(item, property);
      if (value === undefined || value === null) return undefined;
      key[part] = value;
    }
    return key;
  }

  private idOf(key: Item): string {
    return toLatin1(this.reader.schema.mapper.rowOf(key));
  }
}

function valueAt(item: Item, property: string): unknown {
  let value: unknown = item;
  for (const step of property.split('.')) {
    if (value === undefined || value === null) return undefined;
    value = (value as Item)[step];
  }
  return value;
}

/** Key values as texts that distinguish them. */
function asText(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`;
  return value instanceof Uint8Array ? toLatin1(value) : value;
}
