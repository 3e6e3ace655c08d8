import type { JsonValue } from '../codec/index.js';
import { InvalidArgumentError, QueryError } from '../errors.js';
import type { RowChanger } from '../query/bulk-change.js';
import { withDefaults } from '../query/find-options.js';
import {
  type CheckedWith,
  checkFindOptions,
  checkReadOptions,
  type EntityQuery,
  emptySpec,
  type FindOptions,
  type Predicate,
  parseKeyConditions,
  EntityQuery as Query,
  type ReadOptions,
  type ShapedBy,
  type ShapeOptions,
  splitConditions,
  type TableAccess,
  timeRangeAt,
  type Where,
  type WhereBuilder,
} from '../query/index.js';
import type { AccessPath } from '../query/query-spec.js';
import type {
  CheckedPrefix,
  EntityOf,
  IndexName,
  KeyedClass,
  KeyOf,
  KeyQuery,
} from '../schema/entity-types.js';
import type { EntitySchema, PlainOptions } from '../schema/types.js';
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
import type { TimeRange } from '../table/index.js';
import { ByIndex, type IndexFinder } from './by-index.js';
import { KeyReads } from './key-reads.js';
import type { PlainOf } from './options.js';
import { notFound } from './row-access.js';

/** Options of `get` and `getMany`. */
export type ShapedReadOptions<C extends KeyedClass> = ReadOptions & ShapeOptions<C>;

/** Conditions of `exists`. They lack at least one key part: an object with all of them is a key. */
type ConditionsWithoutKey<C extends KeyedClass> = {
  [Part in C['key'][number]]: Where<C> & { readonly [Name in Part]?: never };
}[C['key'][number]];

/** Reads entities of one class. Immutable. `Repository` extends it; `asOf()` and `reading()` return others. */
export class EntityReader<C extends KeyedClass> {
  /** What `get`, `getMany` and `exists` read. */
  private readonly rows: KeyReads;

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
    this.rows = new KeyReads(schema, access, timeRange, defaults);
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
    return this.rows.get(key, given) as Promise<EntityOf<C> | null>;
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

  /**
   * The entities with these keys, in order; null where there is none. `select` and `with` as in `get`.
   * @throws KeyError naming the position of a wrong key.
   */
  getMany(keys: readonly KeyOf<C>[], options?: ReadOptions): Promise<(EntityOf<C> | null)[]>;
  getMany<const O extends ShapedReadOptions<C>>(
    keys: readonly KeyOf<C>[],
    options: O & CheckedWith<EntityOf<C>, O>,
  ): Promise<(ShapedBy<C, O> | null)[]>;
  getMany(keys: readonly KeyOf<C>[], given?: ShapedReadOptions<C>): Promise<(EntityOf<C> | null)[]> {
    return this.rows.getMany(keys, given) as Promise<(EntityOf<C> | null)[]>;
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
    return this.rows.exists(key, options);
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

/** Whether an object has a value for each key part, so that `exists` treats it as a key. */
function isKey({ key }: EntitySchema, given: Readonly<Record<string, unknown>>): boolean {
  return key.parts.every(({ name }) => name in given && !isPlainObject(given[name]));
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
