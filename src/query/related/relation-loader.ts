/** Finds the entities that relations stand for: many at once, never one query for each row. */

import { toLatin1 } from '../../bytes/index.js';
import { QueryError, throwIfAborted } from '../../errors.js';
import type { EntityClass, EntitySchema, RelationSchema } from '../../schema/types.js';
import type { TimeRange } from '../../table/index.js';
import type { JoinStrategy, ReadOptionsOf } from '../find-options.js';

type Item = Record<string, unknown>;

/** Reads the other entities: their repository. */
export interface RelatedReader {
  readonly schema: EntitySchema;
  getMany(keys: readonly never[]): Promise<(object | null)[]>;
  find(prefix: never, options?: { readonly fullScan?: boolean; readonly cacheBlocks?: boolean }): RelatedRows;
}

export interface RelatedRows extends AsyncIterable<object> {
  limit(count: number): RelatedRows;
  all(options: { readonly max: number }): Promise<object[]>;
}

/** How a query reads: what it reads beside its own rows is of the same time, and read in the same way. */
export interface ReadView {
  /** Undefined: the present. */
  readonly timeRange: TimeRange | undefined;
  readonly options: ReadOptionsOf;
}

/**
 * What reads another entity; without a view as the present is.
 * @throws SchemaError on a class that the database was not opened with.
 */
export type RelatedReaders = (target: EntityClass, view?: ReadView) => RelatedReader;

/** Keys looked up in one call. */
export const KEYS_AT_ONCE = 1000;

/** Lists read at the same time. */
export const LISTS_AT_ONCE = 16;

/** Entities that a hash join holds; where there are more it goes on with lookups. */
export const MAX_HASHED = 200_000;

/** Sets one relation of entities. */
export class RelationLoader {
  private readonly reader: RelatedReader;
  private readonly signal: AbortSignal | undefined;
  /** All of the others by row key, when they are hashed and are not too many. */
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

  /** The other's key, or what it begins with; undefined where a value is absent. */
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

/** Values of keys, told apart as texts. */
function asText(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`;
  return value instanceof Uint8Array ? toLatin1(value) : value;
}
