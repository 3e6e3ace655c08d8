import type { JsonValue } from '../codec/index.js';
import { InvalidArgumentError, ofItem, QueryError } from '../errors.js';
import type { EntityIndex } from '../features/indexes/entity-indexes.js';
import type { IndexUse } from '../features/indexes/query/access.js';
import { EqualLookUps } from '../features/indexes/query/equal-lookup.js';
import type { KeyDictionaries } from '../key/index.js';
import type { KeyLayout } from '../key/types.js';
import { recovering } from '../query/access.js';
import { timeOf } from '../query/base-query.js';
import type { RowChanger } from '../query/bulk-change.js';
import { withDefaults } from '../query/find-options.js';
import {
  checkFindOptions,
  checkReadOptions,
  type EntityQuery,
  emptySpec,
  type FindOptions,
  livingFilter,
  type Operations,
  parseKeyConditions,
  EntityQuery as Query,
  type ReadOptions,
  RowLoader,
  type TableAccess,
  timeRangeAt,
} from '../query/index.js';
import { loadTexts } from '../query/loader.js';
import { applyReadSet, type ReadSet, readAll, readColumns, storedParts } from '../query/projection.js';
import { applyHints } from '../query/read-plan.js';
import { giveBackRawRow, type ReadTally, takeRawRow } from '../query/row.js';
import { mapColumn, qualifierOf } from '../query/slice.js';
import type {
  CheckedPrefix,
  EntityOf,
  IndexName,
  IndexOf,
  KeyedClass,
  KeyOf,
  KeyQuery,
} from '../schema/entity-types.js';
import type { ColumnSchema, EntitySchema, PlainOptions } from '../schema/types.js';
import { checkOptions, checkPositiveInteger, describe, isList, isRecord } from '../table/checks.js';
import {
  type Filter,
  Get,
  LATEST_TIMESTAMP,
  type OperationOptions,
  type RawRow,
  type Result,
  type TimeRange,
} from '../table/index.js';
import type { HistoryEntry, PlainOf } from './options.js';
import { randomSalt } from './row-access.js';
import { beginOfRows } from './told-executor.js';

/** Queries by one index. */

const NOTHING: IndexUse['served'] = new Set();
const NO_OPTIONS: FindOptions = Object.freeze({});

/** The state that does not depend on conditions is prepared once. */
export class ByIndex<C extends KeyedClass> {
  private readonly title: string;
  private readonly asked: Pick<KeyLayout, 'parts'>;
  private readonly lookUps: EqualLookUps | undefined;

  constructor(
    private readonly index: EntityIndex,
    private readonly access: TableAccess,
    private readonly timeRange: TimeRange | undefined,
    private readonly defaults: ReadOptions | undefined,
    private readonly changer: RowChanger | undefined,
  ) {
    const { name, layout, parts } = index.index;
    this.title = `${index.schema.name}.by("${name}")`;
    this.asked = { parts: layout.parts.filter((part) => parts.includes(part.name)) };
    this.lookUps = EqualLookUps.of(index, access);
  }

  /** @throws KeyError on conditions that the index cannot search; InvalidArgumentError on unknown options. */
  find(conditions: Readonly<Record<string, unknown>>, said?: FindOptions): Query<C> {
    const { index, timeRange, access } = this;
    const given = said === undefined ? this.defaults : withDefaults(this.defaults, said);
    const options = given === undefined ? NO_OPTIONS : checkFindOptions(given);
    const key = parseKeyConditions(this.title, this.asked, conditions);
    const why = 'it was asked for by name';
    const through: IndexUse = { index, key, served: NOTHING, why, others: [] };
    const { fullScan = false, withDeleted } = options;
    const spec = emptySpec(index.schema, {}, { timeRange, fullScan, withDeleted }, through);
    return new Query<C>(access, spec, options, this.changer, this.lookUps);
  }
}

/** The read methods of a repository, for the present or a past time. */

/** Queries of one index. */
export interface IndexFinder<C extends KeyedClass, Name> {
  /**
   * Equality (or `in`) on leading parts, then at most one range.
   * @throws KeyError on conditions that the index cannot search; InvalidArgumentError on unknown options.
   */
  find<const Q extends KeyQuery<IndexOf<C, Name>>>(
    conditions: Q & CheckedPrefix<IndexOf<C, Name>, Q>,
    options?: FindOptions,
  ): EntityQuery<C>;
}

/** Reads entities of one class. Immutable. `Repository` extends it; `asOf()` and `reading()` return others. */
export class EntityReader<C extends KeyedClass> {
  private readonly loader: RowLoader;
  private readonly readSet: ReadSet;
  private readonly deterministic: boolean;
  /** Whether an entity can be built from its row without hooks and dictionaries. */
  private readonly loadsAlone: boolean;
  private readonly dictionaries: KeyDictionaries | undefined;
  /**
   * Columns of key parts that the key holds only as a digest or bucket: a row must have the requested values in them.
   */
  private readonly storedParts: readonly ColumnSchema[];

  /** The filter that excludes soft-deleted entities. */
  private readonly living: Filter | undefined;

  /** The finders that `by` has created. */
  private readonly finders = new Map<string, ByIndex<C>>();

  /** Changes the rows of queries. Undefined for readers of a past time. */
  protected readonly changer: RowChanger | undefined;

  constructor(
    readonly schema: EntitySchema,
    protected readonly access: TableAccess,
    private readonly timeRange: TimeRange | undefined,
    /** Default options of every read. */
    private readonly defaults?: ReadOptions,
  ) {
    this.loader = new RowLoader(schema, access);
    this.readSet = readAll(schema);
    this.deterministic = schema.key.deterministic;
    this.dictionaries = schema.key.dictionaries;
    this.loadsAlone = this.dictionaries === undefined && schema.lifecycle.afterLoad === undefined;
    this.storedParts = storedParts(schema);
    this.living = livingFilter(schema);
  }

  /**
   * The entity with this key, or null.
   * @throws KeyError when a part is missing, undefined, or of a wrong type; InvalidArgumentError on unknown options.
   */
  get(key: KeyOf<C>, said?: ReadOptions): Promise<EntityOf<C> | null> {
    const { operations } = this.access;
    if (operations?.heard) return this.getTold(key, said, operations);
    return this.getOne(key, said);
  }

  private async getTold(
    key: KeyOf<C>,
    said: ReadOptions | undefined,
    operations: Operations,
  ): Promise<EntityOf<C> | null> {
    checkKey(this.schema, 'get', key);
    const known = this.dictionaries === undefined ? key : await this.knownKey(key);
    const running = beginOfRows(operations, this.schema, 'get', [this.schema.mapper.rowOf(known)]);
    return running.follow(() => this.getOne(key, said, running));
  }

  private async getOne(
    key: KeyOf<C>,
    said: ReadOptions | undefined,
    tally?: ReadTally,
  ): Promise<EntityOf<C> | null> {
    const options = this.defaults === undefined ? said : this.withDefaults(said);
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
      return this.meant(key, entity);
    }
    const result = await table.get(get, options);
    if (tally !== undefined) count(tally, result);
    if (this.dictionaries !== undefined) await loadTexts([this.schema.key], [result]);
    return this.meant(key, await this.loader.load(result));
  }

  /** `getMany` where all reads are synchronous: one raw row is reused for all. */
  private getRaws(
    getRaw: (get: Get, into: RawRow) => boolean,
    gets: readonly Get[],
    keys: readonly KeyOf<C>[],
  ): (EntityOf<C> | null | Promise<EntityOf<C> | null>)[] {
    const raw = takeRawRow();
    const entities = gets.map((get, i) => {
      const found = getRaw(get, raw) ? this.loader.load(raw) : null;
      return found instanceof Promise
        ? found.then((entity) => this.meant(keys[i]!, entity))
        : this.meant(keys[i]!, found);
    });
    giveBackRawRow(raw);
    return entities;
  }

  /** The entity, unless its row shares only the digest of the key with the requested one. */
  private meant(key: KeyOf<C>, entity: object | null): EntityOf<C> | null {
    if (entity === null || this.storedParts.length === 0) return entity as EntityOf<C> | null;
    for (const { property, codec } of this.storedParts) {
      const stored: unknown = Reflect.get(entity, property);
      const asked: unknown = Reflect.get(key, property);
      if (stored === undefined || Buffer.compare(codec.encode(stored), codec.encode(asked)) !== 0)
        return null;
    }
    return entity as EntityOf<C>;
  }

  /** The key; if one of its texts has no dictionary id, a key that no entity has. */
  private async knownKey(key: KeyOf<C>): Promise<KeyOf<C>> {
    const [known] = await this.dictionaries!.known([key]);
    return known!;
  }

  /**
   * The entities with these keys, in order; null where there is none. @throws KeyError naming the position of a wrong
   * key.
   */
  async getMany(keys: readonly KeyOf<C>[], said?: ReadOptions): Promise<(EntityOf<C> | null)[]> {
    const options = this.withDefaults(said);
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
    if (sync?.getRaw !== undefined && options === undefined && this.loadsAlone && !operations?.heard) {
      return Promise.all(this.getRaws(sync.getRaw.bind(sync), gets, keys));
    }
    const read = (): Promise<Result[]> => table.getAll(gets, options);
    const results = operations?.heard
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
    const entities: (EntityOf<C> | null)[] = [];
    for (const [i, result] of results.entries()) {
      const loaded = this.loader.load(result);
      entities.push(this.meant(keys[i]!, loaded instanceof Promise ? await loaded : loaded));
    }
    return entities;
  }

  /**
   * An entity, or what `select` left of it, as `JSON.stringify` takes it: Dates as ISO texts, bigints as decimal texts,
   * bytes as base64, Maps as lists of [key, value]; with the related entities that `with` has loaded. class-transformer's
   * decorators on the classes hold: what `@Exclude` hides is left out, `@Expose` renames and adds getters, `@Transform`
   * changes. `options` are class-transformer's own (`groups`, `version`, ...).
   * @throws InvalidArgumentError naming the property whose value JSON cannot hold.
   *
   * @example
   * ```ts
   * response.json(users.toPlain(user, { groups: ['admin'] }));
   * ```
   */
  toPlain(entity: Readonly<Partial<EntityOf<C>>>, options: PlainOptions = {}): PlainOf<C> {
    const source = plainSource('toPlain', entity);
    checkOptions('toPlain', options, PLAIN_OPTIONS);
    const { related } = this.access;
    return this.schema.mapper.toView(
      source,
      options,
      (target) => related?.(target).schema.mapper,
    ) as PlainOf<C>;
  }

  /**
   * The reverse of `toPlain`, where no class-transformer decorator hides or changes anything. The constructor is not
   * called.
   * @throws InvalidArgumentError naming a property that is not stored, or whose value its codec cannot store.
   */
  fromPlain(plain: Readonly<PlainOf<C>>): EntityOf<C> {
    return this.schema.mapper.fromPlain(plainSource('fromPlain', plain) as PlainSource) as EntityOf<C>;
  }

  /** Whether there is an entity with this key. */
  async exists(key: KeyOf<C>, said?: ReadOptions): Promise<boolean> {
    const options = this.withDefaults(said);
    checkKey(this.schema, 'exists', key);
    this.refuseRandom('exists');
    const known = this.dictionaries === undefined ? key : await this.knownKey(key);
    const deleted = this.schema.columns.filter(({ property }) => property === this.schema.deletedProperty);
    const needed = [...this.storedParts, ...deleted];
    const { operations } = this.access;
    if (!operations?.heard) return this.isThere(key, known, needed, options);
    const row = this.schema.mapper.rowOf(known);
    return beginOfRows(operations, this.schema, 'exists', [row]).follow(async (running) => {
      const found = await this.isThere(key, known, needed, options);
      if (found) running.rows = 1;
      return found;
    });
  }

  private async isThere(
    key: KeyOf<C>,
    known: KeyOf<C>,
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

  /**
   * A lazy query: equality (or `in`) on leading key parts, then at most one range.
   *
   * @example
   * ```ts
   * for await (const order of orders.find({ customerId: 'c1', placedAt: { gte: january } }).limit(10)) …
   * ```
   * @throws KeyError on conditions that the key cannot search; InvalidArgumentError on unknown options. `ERR_FULL_SCAN`
   * comes when the query is run or explained.
   */
  find<const Q extends KeyQuery<C>>(
    prefix: Q & CheckedPrefix<C, Q>,
    options: FindOptions = {},
  ): EntityQuery<C> {
    return this.query(
      prefix as Readonly<Record<string, unknown>>,
      checkFindOptions(this.withDefaults(options)!),
    );
  }

  /**
   * Finds entities by an index, in its order: `find` takes conditions on its parts as `find` of the repository takes those on
   * the key's.
   *
   * @example
   * ```ts
   * const open = await orders.by('byStatus').find({ status: 'open', placedAt: { gte: january } }).limit(10).all();
   * ```
   * @throws QueryError when the entity has no such index; when the query is run, if the index is not built.
   */
  by<const Name extends IndexName<C>>(name: Name): IndexFinder<C, Name> {
    let finder = this.finders.get(name);
    if (finder === undefined) {
      finder = new ByIndex<C>(this.indexOf(name), this.access, this.timeRange, this.defaults, this.changer);
      this.finders.set(name, finder);
    }
    return finder as IndexFinder<C, Name>;
  }

  private indexOf(name: string): EntityIndex {
    const { schema, access } = this;
    const known = access.indexing?.access.indexes.all ?? [];
    const index = known.find((one) => one.index.name === name);
    if (index !== undefined) return index;
    const names = known.map((one) => one.index.name).join(', ');
    throw new QueryError(
      `${schema.name} has no index ${describe(name)}. ${names === '' ? 'It has none: declare one with @Index' : `It has ${names}`}.`,
      { details: { entity: schema.name, index: name } },
    );
  }

  protected query(prefix: Readonly<Record<string, unknown>>, options: FindOptions = {}): EntityQuery<C> {
    const { schema, timeRange } = this;
    const key = parseKeyConditions(schema.name, schema.key, prefix);
    const { fullScan = false, withDeleted } = options;
    const spec = emptySpec(schema, key, { timeRange, fullScan, withDeleted });
    return new Query<C>(this.access, spec, options, this.changer);
  }

  /** @throws KeyError where salts are random, so that a key may identify several rows. */
  private refuseRandom(doing: string): void {
    if (!this.deterministic) throw randomSalt(this.schema, doing);
  }

  private getOf(key: KeyOf<C>, options: ReadOptions | undefined, read: ReadSet = this.readSet): Get {
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

  /** The same reads as of this time (ms or Date), as far as families keep old versions and deletes. */
  asOf(time: number | Date): EntityReader<C> {
    return new EntityReader<C>(this.schema, this.access, timeRangeAt(time), this.defaults);
  }

  /**
   * The same reads with options that hold for all of them; what a call says itself goes before.
   *
   * @example
   * ```ts
   * const lagging = orders.reading({ consistency: 'TIMELINE', cacheBlocks: false });
   * ```
   * @throws QueryError on options that can never be right; UnsupportedError on what the engine cannot do.
   */
  reading(options: ReadOptions): EntityReader<C> {
    const defaults = { ...this.defaults, ...options };
    checkReadOptions('reading', options);
    return new EntityReader<C>(this.schema, this.access, this.timeRange, defaults);
  }

  private withDefaults<O extends ReadOptions>(said: O | undefined): O | undefined {
    return withDefaults(this.defaults, said);
  }
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

type PlainSource = Readonly<Record<string, JsonValue>>;

const PLAIN_OPTIONS: Readonly<Record<keyof PlainOptions, true>> = {
  strategy: true,
  groups: true,
  version: true,
  excludePrefixes: true,
  excludeExtraneousValues: true,
  ignoreDecorators: true,
};

function plainSource(doing: string, given: unknown): Readonly<Record<string, unknown>> {
  if (isRecord(given)) {
    return given as Readonly<Record<string, unknown>>;
  }
  throw new InvalidArgumentError(`${doing} takes one object, not ${describe(given)}.`);
}

/** Reads of a column's old versions. */

export interface HistoryOptions extends OperationOptions {
  /** Only versions written at or after this time (ms or Date). */
  readonly from?: number | Date;
  /** Only versions written before this time. */
  readonly to?: number | Date;
  /** For a Map of columns: the key of the entry. */
  readonly entry?: unknown;
  /** The most versions, newest first. Default: all that the family keeps. */
  readonly limit?: number;
}

const HISTORY_OPTIONS: Readonly<Record<keyof HistoryOptions, true>> = {
  from: true,
  to: true,
  entry: true,
  limit: true,
  signal: true,
  timeout: true,
  attributes: true,
};

/** The kept versions of a column, or of a Map entry, newest first. */
export async function readHistory(
  schema: EntitySchema,
  access: TableAccess,
  row: Uint8Array,
  property: string,
  options: HistoryOptions,
): Promise<HistoryEntry<unknown>[]> {
  checkOptions('history', options, HISTORY_OPTIONS);
  const column = historyColumn(schema, property, options.entry);
  const qualifier = options.entry === undefined ? column.qualifier : qualifierOf(column, options.entry);
  const get = new Get(row).addColumn(column.family, qualifier);
  if (options.limit === undefined) get.readAllVersions();
  else get.readVersions(checkPositiveInteger(options.limit, 'The limit of a history'));
  const { from = 0, to = LATEST_TIMESTAMP } = options;
  get.setTimeRange(timeOf('history', from), timeOf('history', to));
  const result = await access.table.get(get, options);
  return recovering(access, () =>
    result.cells.map((cell) => ({ timestamp: cell.timestamp, value: column.codec.decode(cell.value) })),
  );
}

function historyColumn(schema: EntitySchema, property: string, entry: unknown): ColumnSchema {
  if (entry !== undefined) return mapColumn(schema, property);
  const column = schema.columnsByProperty.get(property);
  if (column !== undefined && column.kind !== 'columns') return column;
  throw new QueryError(
    column === undefined
      ? `history: ${schema.name} has no column ${describe(property)}. It has ${[...schema.columnsByProperty.keys()].join(', ')}.`
      : `history: ${schema.name}.${property} holds many columns; ask for the history of one, { entry: key }.`,
    { details: { entity: schema.name, property } },
  );
}
