/** Reads of entities by whole keys. */

import { InvalidArgumentError, ofItem } from '../errors.js';
import type { KeyDictionaries } from '../key/index.js';
import { Deadline } from '../query/deadline.js';
import { readOptionsOf, withDefaults } from '../query/find-options.js';
import {
  checkReadOptions,
  liveFilter,
  type Operations,
  type ReadOptions,
  RowLoader,
  relatedRead,
  type TableAccess,
} from '../query/index.js';
import { loadTexts } from '../query/loader.js';
import {
  applyReadSet,
  type ReadSet,
  readAll,
  readColumns,
  readSelected,
  storedParts,
} from '../query/projection.js';
import { applyHints } from '../query/read-plan.js';
import { giveBackRawRow, type ReadTally, takeRawRow } from '../query/row.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import { describe, isList, isRecord } from '../table/checks.js';
import { type Filter, Get, type RawRow, type Result, type TimeRange } from '../table/index.js';
import { beginOfRows } from './observed-executor.js';
import { randomSalt } from './row-access.js';

/** The values of a key's parts. */
type Key = Readonly<Record<string, unknown>>;

/** Options of a read whose `select` and `with` the compiler has checked. */
export type KeyReadOptions = ReadOptions & { readonly select?: unknown; readonly with?: unknown };

/**
 * Reads rows by whole keys, at a time and with options that hold for all of its reads: `get`, `getMany` and `exists` of a
 * reader.
 */
export class KeyReads {
  private readonly loader: RowLoader;
  private readonly readSet: ReadSet;
  /** Whether an entity can be built from its row without hooks and dictionaries. */
  private readonly loadsAlone: boolean;
  private readonly dictionaries: KeyDictionaries | undefined;
  /**
   * Columns of key parts that the key holds only as a digest or bucket: a row must have the requested values in them.
   */
  private readonly storedParts: readonly ColumnSchema[];
  /** The filter that excludes soft-deleted entities. */
  private readonly living: Filter | undefined;

  constructor(
    private readonly schema: EntitySchema,
    private readonly access: TableAccess,
    private readonly timeRange: TimeRange | undefined,
    /** Default options of every read. */
    private readonly defaults: ReadOptions | undefined,
    /** The properties that `get` and `getMany` read besides the key. Undefined: all. */
    selected?: readonly string[],
  ) {
    this.readSet =
      selected === undefined ? readAll(schema) : readSelected(schema, selected, [], timeRange !== undefined);
    this.loader = new RowLoader(schema, access, this.readSet.properties);
    this.dictionaries = schema.key.dictionaries;
    this.loadsAlone = this.dictionaries === undefined && schema.lifecycle.afterLoad === undefined;
    this.storedParts = storedParts(schema);
    this.living = liveFilter(schema);
  }

  get(key: Key, given?: KeyReadOptions): Promise<object | null> {
    if (isShaped(given)) return this.getShaped(given!, (rows, options) => rows.get(key, options));
    const { operations } = this.access;
    if (operations?.hasListeners) return this.getObserved(key, given, operations);
    return this.getOne(key, given);
  }

  private async getObserved(
    key: Key,
    given: ReadOptions | undefined,
    operations: Operations,
  ): Promise<object | null> {
    checkKey(this.schema, 'get', key);
    const known = this.dictionaries === undefined ? key : await this.knownKey(key);
    const running = beginOfRows(operations, this.schema, 'get', [this.schema.mapper.rowOf(known)]);
    return running.follow(() => this.getOne(key, given, running));
  }

  private async getOne(key: Key, given: ReadOptions | undefined, tally?: ReadTally): Promise<object | null> {
    const options = this.defaults === undefined ? given : withDefaults(this.defaults, given);
    checkKey(this.schema, 'get', key);
    const get = this.getOf(this.dictionaries === undefined ? key : await this.knownKey(key), options);
    this.refuseRandom('get');
    const { sync, table } = this.access;
    if (sync?.getRaw !== undefined && options === undefined && tally === undefined) {
      const raw = takeRawRow();
      const found = sync.getRaw(get, raw) ? this.loader.load(raw) : null;
      // A promised entity has copied its bytes.
      giveBackRawRow(raw);
      const entity = found instanceof Promise ? await found : found;
      return this.withStoredParts(key, entity);
    }
    const result = await table.get(get, options);
    if (tally !== undefined) count(tally, result);
    if (this.dictionaries !== undefined) await loadTexts([this.schema.key], [result]);
    return this.withStoredParts(key, await this.loader.load(result));
  }

  async getMany(keys: readonly Key[], given?: KeyReadOptions): Promise<(object | null)[]> {
    if (isShaped(given)) return this.getShaped(given!, (rows, options) => rows.getMany(keys, options));
    const options = withDefaults(this.defaults, given);
    if (!isList(keys)) {
      throw new InvalidArgumentError(`getMany takes an array of keys, not ${describe(keys)}.`);
    }
    keys.forEach((key, i) => {
      at(i, () => checkKey(this.schema, 'getMany', key));
    });
    this.refuseRandom('getMany');
    const known = this.dictionaries === undefined ? keys : await this.dictionaries.known(keys);
    const gets = known.map((key, i) => at(i, () => this.getOf(key, options)));
    const { operations, sync, table } = this.access;
    if (sync?.getRaw !== undefined && options === undefined && this.loadsAlone && !operations?.hasListeners) {
      const ahead = sync.readAhead?.(gets);
      if (ahead !== undefined) await ahead;
      return Promise.all(this.getRaws(sync.getRaw.bind(sync), gets, keys));
    }
    const read = (): Promise<Result[]> => table.getAll(gets, options);
    const results = operations?.hasListeners
      ? await beginOfRows(
          operations,
          this.schema,
          'getMany',
          gets.map(({ row }) => row),
        ).follow(async (running) => {
          const found = await read();
          for (const result of found) count(running, result);
          return found;
        })
      : await read();
    if (this.dictionaries !== undefined) await loadTexts([this.schema.key], results);
    const entities: (object | null)[] = [];
    for (const [i, result] of results.entries()) {
      const loaded = this.loader.load(result);
      entities.push(this.withStoredParts(keys[i]!, loaded instanceof Promise ? await loaded : loaded));
    }
    return entities;
  }

  /** `getMany` where all reads are synchronous: one raw row is reused for all. */
  private getRaws(
    getRaw: (get: Get, into: RawRow) => boolean,
    gets: readonly Get[],
    keys: readonly Key[],
  ): (object | null | Promise<object | null>)[] {
    const raw = takeRawRow();
    const entities = gets.map((get, i) => {
      const found = getRaw(get, raw) ? this.loader.load(raw) : null;
      return found instanceof Promise
        ? found.then((entity) => this.withStoredParts(keys[i]!, entity))
        : this.withStoredParts(keys[i]!, found);
    });
    giveBackRawRow(raw);
    return entities;
  }

  async exists(key: Key, given: ReadOptions | undefined): Promise<boolean> {
    const options = withDefaults(this.defaults, given);
    checkKey(this.schema, 'exists', key);
    this.refuseRandom('exists');
    const known = this.dictionaries === undefined ? key : await this.knownKey(key);
    const deleted = this.schema.columns.filter(({ property }) => property === this.schema.deletedProperty);
    const needed = [...this.storedParts, ...deleted];
    const { operations } = this.access;
    if (!operations?.hasListeners) return this.isThere(key, known, needed, options);
    const row = this.schema.mapper.rowOf(known);
    return beginOfRows(operations, this.schema, 'exists', [row]).follow(async (running) => {
      const found = await this.isThere(key, known, needed, options);
      if (found) running.rows = 1;
      return found;
    });
  }

  private async isThere(
    key: Key,
    known: Key,
    needed: readonly ColumnSchema[],
    options: ReadOptions | undefined,
  ): Promise<boolean> {
    const read = readColumns(this.schema, needed, [], undefined, this.timeRange !== undefined);
    const get = this.getOf(known, options, read);
    const { marker, timeToLive } = this.schema;
    // An expired entity may leave columns for a moment, but no marker.
    const ends = timeToLive.lifelong ? marker : undefined;
    if (needed.length === 0 && ends === undefined) {
      return this.access.table.exists(get.setCheckExistenceOnly(true), options);
    }
    const result = await this.access.table.get(get, options);
    if (result.isEmpty) return false;
    if (ends !== undefined && !result.getValue(ends.family, ends.qualifier)) return false;
    return this.storedParts.every(({ property, codec, family, qualifier }) => {
      const stored = result.getValue(family, qualifier);
      return stored !== undefined && Buffer.compare(stored, codec.encode(Reflect.get(key, property))) === 0;
    });
  }

  /** Reads with `select` and `with`: through reads of the selected properties, then loads the relations. */
  private async getShaped<R>(
    { select, with: relations, ...rest }: KeyReadOptions,
    read: (rows: KeyReads, options: ReadOptions) => Promise<R>,
  ): Promise<R> {
    const { schema, access, timeRange, defaults } = this;
    const options = withDefaults<ReadOptions>(defaults, rest)!;
    const view = { timeRange, options: readOptionsOf(options) };
    const related = relatedRead(schema, access.related, select, relations, view);
    const rows = new KeyReads(schema, access, timeRange, defaults, related.selected);
    const work = async (): Promise<R> => {
      const found = await read(rows, options);
      const entities = (isList(found) ? found : [found]) as readonly (object | null)[];
      await related.attach(entities.filter((one) => one !== null));
      return found;
    };
    return options.timeout === undefined ? work() : new Deadline(options.timeout, false).within(work());
  }

  /** The entity, unless its row shares only the digest of the key with the requested one. */
  private withStoredParts(key: Key, entity: object | null): object | null {
    if (entity === null || this.storedParts.length === 0) return entity;
    for (const { property, codec } of this.storedParts) {
      const stored: unknown = Reflect.get(entity, property);
      const asked: unknown = Reflect.get(key, property);
      if (stored === undefined || Buffer.compare(codec.encode(stored), codec.encode(asked)) !== 0)
        return null;
    }
    return entity;
  }

  /** The key; if one of its texts has no dictionary id, a key that no entity has. */
  private async knownKey(key: Key): Promise<Key> {
    const [known] = await this.dictionaries!.known([key]);
    return known!;
  }

  /** @throws KeyError where salts are random, so that a key may identify several rows. */
  private refuseRandom(doing: string): void {
    if (!this.schema.key.deterministic) throw randomSalt(this.schema, doing);
  }

  private getOf(key: Key, options: ReadOptions | undefined, read: ReadSet = this.readSet): Get {
    const get = new Get(this.schema.mapper.rowOf(key));
    applyReadSet(get, read);
    if (this.timeRange !== undefined) get.setTimeRange(this.timeRange.min, this.timeRange.max);
    if (options !== undefined) {
      checkReadOptions('get', options);
      applyHints(get, options);
    }
    if (this.living !== undefined && options?.withDeleted !== true) get.setFilter(this.living);
    return get;
  }
}

/** Whether options have `select` or `with`. */
function isShaped(options: unknown): boolean {
  return isRecord(options) && (options['select'] !== undefined || options['with'] !== undefined);
}

/** @throws InvalidArgumentError on a key that is no object. */
function checkKey(schema: EntitySchema, doing: string, key: unknown): void {
  if (isRecord(key)) return;
  throw new InvalidArgumentError(
    `${schema.name}.${doing}: the key is ${describe(key)}. Give an object with ${schema.key.parts.map(({ name }) => name).join(', ')}.`,
    { details: { entity: schema.name } },
  );
}

function count(tally: ReadTally, result: Result): void {
  if (result.isEmpty) return;
  tally.rows++;
  for (const { value } of result.cells) tally.bytes += value.length;
}

/** Calls `work` for the key at `index`. @throws its error, with the position. */
function at<T>(index: number, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw ofItem(error, 'getMany', index);
  }
}
