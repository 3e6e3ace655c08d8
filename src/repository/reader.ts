import type { JsonValue } from '../codec/index.js';
import { InvalidArgumentError, ofItem, QueryError } from '../errors.js';
import type { KeyDictionaries } from '../key/index.js';
import type { RowChanger } from '../query/bulk-change.js';
import { Deadline } from '../query/deadline.js';
import { readOptionsOf, withDefaults } from '../query/find-options.js';
import {
  type CheckedWith,
  checkFindOptions,
  checkReadOptions,
  type EntityQuery,
  emptySpec,
  type FindOptions,
  liveFilter,
  type Operations,
  type Predicate,
  parseKeyConditions,
  EntityQuery as Query,
  type ReadOptions,
  RowLoader,
  relatedRead,
  type ShapedBy,
  type ShapeOptions,
  splitConditions,
  type TableAccess,
  timeRangeAt,
  type Where,
  type WhereBuilder,
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
import type { AccessPath } from '../query/query-spec.js';
import { applyHints } from '../query/read-plan.js';
import { giveBackRawRow, type ReadTally, takeRawRow } from '../query/row.js';
import type {
  CheckedPrefix,
  EntityOf,
  IndexName,
  KeyedClass,
  KeyOf,
  KeyQuery,
} from '../schema/entity-types.js';
import type { ColumnSchema, EntitySchema, PlainOptions } from '../schema/types.js';
import {
  checkGiven,
  checkOptions,
  describe,
  isCallable,
  isList,
  isNamed,
  isPlainObject,
  isRecord,
} from '../table/checks.js';
import { type Filter, Get, type RawRow, type Result, type TimeRange } from '../table/index.js';
import { ByIndex, type IndexFinder } from './by-index.js';
import { beginOfRows } from './observed-executor.js';
import type { PlainOf } from './options.js';
import { notFound, randomSalt } from './row-access.js';

/** Options of `get` and `getMany`. */
export type ShapedReadOptions<C extends KeyedClass> = ReadOptions & ShapeOptions<C>;

/** Conditions of `exists`. They lack at least one key part: an object with all of them is a key. */
type ConditionsWithoutKey<C extends KeyedClass> = {
  [Part in C['key'][number]]: Where<C> & { readonly [Name in Part]?: never };
}[C['key'][number]];

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
    /** The properties that `get` and `getMany` read besides the key. Undefined: all. */
    selected?: readonly string[],
  ) {
    this.readSet =
      selected === undefined ? readAll(schema) : readSelected(schema, selected, [], timeRange !== undefined);
    this.loader = new RowLoader(schema, access, this.readSet.properties);
    this.deterministic = schema.key.deterministic;
    this.dictionaries = schema.key.dictionaries;
    this.loadsAlone = this.dictionaries === undefined && schema.lifecycle.afterLoad === undefined;
    this.storedParts = storedParts(schema);
    this.living = liveFilter(schema);
  }

  /**
   * The entity with this key, or null. `select` reads only some columns, `with` loads related entities too.
   *
   * @example
   * ```ts
   * const order = await orders.get({ customerId: 'c1', orderNo: 7 }, { with: { customer: true, lines: { product: true } } });
   * ```
   * @throws KeyError when a part is missing, undefined, or of a wrong type; InvalidArgumentError on unknown options.
   */
  get(key: KeyOf<C>, options?: ReadOptions): Promise<EntityOf<C> | null>;
  get<const O extends ShapedReadOptions<C>>(
    key: KeyOf<C>,
    options: O & CheckedWith<EntityOf<C>, O>,
  ): Promise<ShapedBy<C, O> | null>;
  get(key: KeyOf<C>, given?: ShapedReadOptions<C>): Promise<EntityOf<C> | null> {
    if (isShaped(given)) return this.getShaped(given!, (reader, options) => reader.get(key, options));
    const { operations } = this.access;
    if (operations?.hasListeners) return this.getObserved(key, given, operations);
    return this.getOne(key, given);
  }

  /**
   * The entity with this key.
   * @throws RowanError `ERR_NOT_FOUND` when there is none; else as `get`.
   */
  getOrThrow(key: KeyOf<C>, options?: ReadOptions): Promise<EntityOf<C>>;
  getOrThrow<const O extends ShapedReadOptions<C>>(
    key: KeyOf<C>,
    options: O & CheckedWith<EntityOf<C>, O>,
  ): Promise<ShapedBy<C, O>>;
  async getOrThrow(key: KeyOf<C>, given?: ReadOptions): Promise<EntityOf<C>> {
    const entity = await this.get(key, given);
    if (entity === null) throw notFound(this.schema, key, 'get');
    return entity;
  }

  private async getObserved(
    key: KeyOf<C>,
    given: ReadOptions | undefined,
    operations: Operations,
  ): Promise<EntityOf<C> | null> {
    checkKey(this.schema, 'get', key);
    const known = this.dictionaries === undefined ? key : await this.knownKey(key);
    const running = beginOfRows(operations, this.schema, 'get', [this.schema.mapper.rowOf(known)]);
    return running.follow(() => this.getOne(key, given, running));
  }

  private async getOne(
    key: KeyOf<C>,
    given: ReadOptions | undefined,
    tally?: ReadTally,
  ): Promise<EntityOf<C> | null> {
    const options = this.defaults === undefined ? given : this.withDefaults(given);
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
        ? found.then((entity) => this.withStoredParts(keys[i]!, entity))
        : this.withStoredParts(keys[i]!, found);
    });
    giveBackRawRow(raw);
    return entities;
  }

  /** Reads with `select` and `with`: through a reader of the selected properties, then loads the relations. */
  private async getShaped<R>(
    { select, with: relations, ...rest }: ShapedReadOptions<C>,
    read: (reader: EntityReader<C>, options: ReadOptions) => Promise<R>,
  ): Promise<R> {
    const { schema, access, timeRange, defaults } = this;
    const options = this.withDefaults<ReadOptions>(rest)!;
    const view = { timeRange, options: readOptionsOf(options) };
    const related = relatedRead(schema, access.related, select, relations, view);
    const reader = new EntityReader<C>(schema, access, timeRange, defaults, related.selected);
    const work = async (): Promise<R> => {
      const found = await read(reader, options);
      const entities = (isList(found) ? found : [found]) as readonly (object | null)[];
      await related.attach(entities.filter((one) => one !== null));
      return found;
    };
    return options.timeout === undefined ? work() : new Deadline(options.timeout, false).within(work());
  }

  /** The entity, unless its row shares only the digest of the key with the requested one. */
  private withStoredParts(key: KeyOf<C>, entity: object | null): EntityOf<C> | null {
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
   * The entities with these keys, in order; null where there is none. `select` and `with` as in `get`.
   * @throws KeyError naming the position of a wrong key.
   */
  getMany(keys: readonly KeyOf<C>[], options?: ReadOptions): Promise<(EntityOf<C> | null)[]>;
  getMany<const O extends ShapedReadOptions<C>>(
    keys: readonly KeyOf<C>[],
    options: O & CheckedWith<EntityOf<C>, O>,
  ): Promise<(ShapedBy<C, O> | null)[]>;
  async getMany(keys: readonly KeyOf<C>[], given?: ShapedReadOptions<C>): Promise<(EntityOf<C> | null)[]> {
    if (isShaped(given)) return this.getShaped(given!, (reader, options) => reader.getMany(keys, options));
    const options = this.withDefaults(given);
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
    const entities: (EntityOf<C> | null)[] = [];
    for (const [i, result] of results.entries()) {
      const loaded = this.loader.load(result);
      entities.push(this.withStoredParts(keys[i]!, loaded instanceof Promise ? await loaded : loaded));
    }
    return entities;
  }

  /**
   * An entity, or the selected part of one, as values for `JSON.stringify`: Dates as ISO texts, bigints as decimal
   * texts, bytes as base64, Maps as lists of [key, value]; with the related entities that `with` has loaded.
   * class-transformer's decorators on the classes apply: properties with `@Exclude` are omitted, `@Expose` renames
   * and adds getters, `@Transform` changes. `options` are class-transformer's own (`groups`, `version`, ...).
   * @throws InvalidArgumentError naming the property whose value JSON cannot hold.
   *
   * @example
   * ```ts
   * response.json(users.toPlain(user, { groups: ['admin'] }));
   * ```
   */
  toPlain(entity: { readonly [P in keyof EntityOf<C>]?: unknown }, options: PlainOptions = {}): PlainOf<C> {
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

  /**
   * Whether an entity with this key exists, or one that meets the conditions (as in `where`). An object with a value for each key
   * part is a key, whatever else it has.
   *
   * @example
   * ```ts
   * if (await users.exists({ email: 'ada@example.org' })) …
   * ```
   * @throws KeyError on a wrong key; QueryError `ERR_FULL_SCAN` on conditions that would read the whole table.
   */
  async exists(key: KeyOf<C> | ConditionsWithoutKey<C>, options?: ReadOptions): Promise<boolean> {
    if (isRecord(key) && !isKey(this.schema, key)) return this.where(key as Where<C>, options).exists();
    return this.existsKey(key as KeyOf<C>, options);
  }

  private async existsKey(key: KeyOf<C>, given: ReadOptions | undefined): Promise<boolean> {
    const options = this.withDefaults(given);
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
   * A lazy query by conditions on any properties. Conditions on leading key parts become the key range. For the others the query uses
   * an index or a filter.
   *
   * @example
   * ```ts
   * const open = await orders.where({ customerId: 'c1', status: 'open' }).limit(10).all();
   * ```
   * @throws QueryError on an unknown property or operator, and on `undefined`. `ERR_FULL_SCAN` comes when the query is run.
   */
  where(
    conditions: Where<C> | ((where: WhereBuilder<C>) => Predicate<C>),
    options: FindOptions = {},
  ): EntityQuery<C> {
    const checked = checkFindOptions(this.withDefaults(options)!, 'where');
    if (isCallable(conditions)) return this.query({}, checked).where(conditions);
    if (!isNamed(conditions)) {
      throw new InvalidArgumentError(
        `${this.schema.name}.where: the conditions are ${describe(conditions)}. Give an object of properties, {} for none.`,
        { details: { entity: this.schema.name } },
      );
    }
    const { prefix, rest } = splitConditions(this.schema.key, conditions);
    const query = this.query(prefix, checked);
    return Object.keys(rest).length === 0 ? query : query.where(rest as Where<C>);
  }

  /**
   * The first entity that meets conditions on any properties (as in `where`), or null.
   *
   * @example
   * ```ts
   * const user = await users.findOne({ email: 'ada@example.org' }, { with: { team: true } });
   * ```
   * @throws QueryError as `where`; `ERR_FULL_SCAN` if neither the key nor an index limits what it reads.
   */
  findOne(conditions: Where<C>, options?: FindOptions): Promise<EntityOf<C> | null>;
  findOne<const O extends FindOptions & ShapeOptions<C>>(
    conditions: Where<C>,
    options: O & CheckedWith<EntityOf<C>, O>,
  ): Promise<ShapedBy<C, O> | null>;
  async findOne(
    conditions: Where<C>,
    given: FindOptions & ShapeOptions<C> = {},
  ): Promise<EntityOf<C> | null> {
    const { select, with: relations, ...options } = checkGiven('findOne', given);
    let query: EntityQuery<C, unknown> = this.where(conditions, options);
    if (select !== undefined) query = query.select(...(select as never[]));
    if (relations === undefined) return query.first() as Promise<EntityOf<C> | null>;
    const trees = (isList(relations) ? relations : [relations]) as never[];
    return query.with(...trees).first() as Promise<EntityOf<C> | null>;
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

  private indexOf(name: string): AccessPath {
    const { schema, access } = this;
    const known = access.indexing?.access.indexes.all ?? [];
    const index = known.find((one) => one.index.name === name);
    if (index !== undefined) return index;
    const names = known.map((one) => one.index.name).join(', ');
    throw new QueryError(
      `${schema.name} has no index ${describe(name)}. ${names === '' ? 'It has none: declare one, static readonly indexes = { name: index(…) }' : `It has ${names}`}.`,
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
   * The same reads with options that apply to all of them. Options of a call take precedence.
   *
   * @example
   * ```ts
   * const lagging = orders.reading({ consistency: 'TIMELINE', cacheBlocks: false });
   * ```
   * @throws QueryError on invalid options; UnsupportedError on options that the engine does not support.
   */
  reading(options: ReadOptions): EntityReader<C> {
    const defaults = { ...this.defaults, ...options };
    checkReadOptions('reading', options);
    return new EntityReader<C>(this.schema, this.access, this.timeRange, defaults);
  }

  private withDefaults<O extends ReadOptions>(given: O | undefined): O | undefined {
    return withDefaults(this.defaults, given);
  }
}

/** Whether options have `select` or `with`. */
function isShaped(options: unknown): boolean {
  return isRecord(options) && (options['select'] !== undefined || options['with'] !== undefined);
}

/** Whether an object has a value for each key part, so that `exists` treats it as a key. */
function isKey({ key }: EntitySchema, given: Readonly<Record<string, unknown>>): boolean {
  return key.parts.every(({ name }) => name in given && !isPlainObject(given[name]));
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
