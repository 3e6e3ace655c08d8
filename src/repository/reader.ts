/** The reads of a repository, of the present or of a time past. */

import { DictionaryLayout } from '../key/index.js';
import { loadEntity, timeRangeAt } from '../query/entity-query.js';
import {
  type EntityQuery,
  type FindOptions,
  EntityQuery as Query,
  type TableAccess,
} from '../query/index.js';
import { parseKeyConditions } from '../query/key-conditions.js';
import { applyReadSet, type ReadSet, readAll } from '../query/projection.js';
import { giveBackRawRow, takeRawRow } from '../query/raw-reader.js';
import { recovering } from '../query/recover.js';
import type { CheckedPrefix, EntityOf, KeyedClass, KeyOf, KeyQuery } from '../schema/entity-types.js';
import type { EntityMapper, EntitySchema } from '../schema/types.js';
import { Get, type OperationOptions, type Result, type TimeRange } from '../table/index.js';
import { randomSalt } from './row-access.js';

/** Reads one entity. Immutable; `Repository` and what its `at()` gives are such. */
export class EntityReader<C extends KeyedClass> {
  private readonly mapper: EntityMapper;
  private readonly readSet: ReadSet;
  private readonly deterministic: boolean;
  /** Entities are made of rows at once: no hook runs, and nothing may have to be loaded. */
  private readonly plain: boolean;
  private readonly dictionaries: DictionaryLayout | undefined;

  constructor(
    readonly schema: EntitySchema,
    protected readonly access: TableAccess,
    private readonly timeRange: TimeRange | undefined,
  ) {
    this.mapper = schema.mapper;
    this.readSet = readAll(schema);
    this.deterministic = schema.key.deterministic;
    this.plain = schema.lifecycle.afterLoad === undefined && access.recover === undefined;
    this.dictionaries = schema.key instanceof DictionaryLayout ? schema.key : undefined;
  }

  /**
   * The entity with this key, or null.
   * @throws KeyError when a part is missing, undefined, or of a wrong type.
   */
  async get(key: KeyOf<C>, options?: OperationOptions): Promise<EntityOf<C> | null> {
    this.refuseRandom('get');
    const get = this.getOf(this.dictionaries === undefined ? key : await this.knownKey(key));
    const { sync, table } = this.access;
    if (sync?.getRaw !== undefined && options === undefined && this.plain) {
      const raw = takeRawRow();
      const entity = sync.getRaw(get, raw) ? this.mapper.fromRaw(raw) : null;
      giveBackRawRow(raw);
      return entity as EntityOf<C> | null;
    }
    const result =
      sync === undefined || options !== undefined ? await table.get(get, options) : sync.getSync(get);
    return this.load(result);
  }

  /** The key, or where one of its texts has no id one that no entity has. */
  private async knownKey(key: KeyOf<C>): Promise<KeyOf<C>> {
    const [known] = await this.dictionaries!.known([key]);
    return known!;
  }

  /** The entities with these keys, in their order, null where there is none. */
  async getMany(keys: readonly KeyOf<C>[], options?: OperationOptions): Promise<(EntityOf<C> | null)[]> {
    this.refuseRandom('getMany');
    const known = this.dictionaries === undefined ? keys : await this.dictionaries.known(keys);
    const gets = known.map((key) => this.getOf(key));
    const results = await this.access.table.getAll(gets, options);
    const entities: (EntityOf<C> | null)[] = [];
    for (const result of results) {
      const loaded = this.load(result);
      entities.push(loaded instanceof Promise ? await loaded : loaded);
    }
    return entities;
  }

  /** Whether there is an entity with this key. */
  async exists(key: KeyOf<C>, options?: OperationOptions): Promise<boolean> {
    this.refuseRandom('exists');
    const get = this.getOf(this.dictionaries === undefined ? key : await this.knownKey(key));
    const { marker } = this.schema;
    if (marker !== undefined) {
      get.families.clear();
      get.addColumn(marker.family, marker.qualifier);
    }
    return this.access.table.exists(get.setCheckExistenceOnly(true), options);
  }

  /**
   * A lazy query: equality (or `in`) on leading key parts, then at most one range.
   *
   * @example
   * ```ts
   * for await (const order of orders.find({ customerId: 'c1', placedAt: { gte: january } }).limit(10)) …
   * ```
   * @throws KeyError on conditions that the key cannot search. `ERR_FULL_SCAN` comes when the query is run or explained.
   */
  find<const Q extends KeyQuery<C>>(
    prefix: Q & CheckedPrefix<C, Q>,
    options: FindOptions = {},
  ): EntityQuery<C> {
    return this.query(prefix as Readonly<Record<string, unknown>>, options);
  }

  protected query(prefix: Readonly<Record<string, unknown>>, options: FindOptions = {}): EntityQuery<C> {
    const { schema } = this;
    return new Query<C>(
      this.access,
      {
        schema,
        key: parseKeyConditions(schema.name, schema.key, prefix),
        where: [],
        selected: undefined,
        reversed: false,
        limit: undefined,
        timeRange: this.timeRange,
        fullScan: options.fullScan ?? false,
      },
      options,
    );
  }

  /** @throws KeyError when a key names one row in each salt, and so perhaps several. */
  private refuseRandom(doing: string): void {
    if (!this.deterministic) throw randomSalt(this.schema, doing);
  }

  private getOf(key: KeyOf<C>): Get {
    const get = new Get(this.mapper.rowOf(key));
    applyReadSet(get, this.readSet);
    if (this.timeRange !== undefined) get.setTimeRange(this.timeRange.min, this.timeRange.max);
    return get;
  }

  private load(result: Result): EntityOf<C> | null | Promise<EntityOf<C> | null> {
    return (this.plain ? this.mapper.fromResult(result) : this.loadSlowly(result)) as
      | EntityOf<C>
      | null
      | Promise<EntityOf<C> | null>;
  }

  private loadSlowly(result: Result): object | null | Promise<object | null> {
    const { access, schema } = this;
    if (access.recover === undefined) return loadEntity(schema, result);
    return recovering(access, () => loadEntity(schema, result));
  }

  /** The same reads as things were at this time (ms or Date), as far as the families keep old versions and deletes. */
  asOf(time: number | Date): EntityReader<C> {
    return new EntityReader<C>(this.schema, this.access, timeRangeAt(time));
  }
}
