/** The repository: reads and writes the entities of one class. */

import { InvalidArgumentError, ofItem, QueryError, UnsupportedError } from '../errors.js';
import type { Where } from '../query/index.js';
import type {
  CheckedPrefix,
  ColumnsOf,
  EntityOf,
  InsertInput,
  KeyedClass,
  KeyOf,
  KeyQuery,
  Patch,
  PutInput,
} from '../schema/entity-types.js';
import type { EntitySchema } from '../schema/types.js';
import { describe, isCallable, isList, isRecord } from '../table/checks.js';
import type { Delete, OperationOptions, Put, Result } from '../table/index.js';
import {
  applyAll,
  BatchBuilder,
  type CompileItem,
  checkBatchOptions,
  compileItems,
  runBatch,
  throwFirst,
} from './batch.js';
import { BulkChanges } from './bulk-changes.js';
import { afterWrite, type Change } from './change.js';
import { ConditionalWrite, checkFilter } from './conditional.js';
import { instanceOf, mutableCopy } from './entity-input.js';
import { type HistoryOptions, readHistory } from './history.js';
import { NewValues } from './new-values.js';
import {
  type Amounts,
  type BulkWriteOptions,
  type CheckOutcome,
  type CounterValues,
  type HistoryEntry,
  type HistoryOf,
  type ItemOutcome,
  optionsOf,
  type ReplaceOptions,
  type RepositoryBatchOptions,
  replaceOptions,
  type Suffixes,
  timestampOf,
  type WriteOptions,
} from './options.js';
import { cellChanges } from './plain-puts.js';
import { EntityReader } from './reader.js';
import { loadRowOfKey, type RepositoryContext } from './row-access.js';
import { changed, RowBuilder } from './row-builder.js';
import { firstOrCreate, type UpsertTarget, upsert, upsertMany } from './upsert.js';
import { type Existing, type Prepared, WriteCompiler } from './write-compiler.js';

/** Rows deleted in one batch of `deletePrefix`. */
const DELETED_AT_ONCE = 1000;

/** Collects the items of a batch over several entities, for `Database.batch`. Set by {@link Repository}, whose parts are private. */
export let batchBuilderOf: <C extends KeyedClass>(
  repository: Repository<C>,
  options: WriteOptions,
  collect: (item: CompileItem) => void,
) => BatchBuilder<C>;

/**
 * Reads and writes the entities of one class. Every write changes one row atomically. An acknowledged write is as
 * durable as its table's setting. Invalid input throws; `undefined` in a key never means "all".
 */
export class Repository<C extends KeyedClass> extends EntityReader<C> {
  static {
    batchBuilderOf = (repository, options, collect) => repository.batchBuilder(options, collect);
  }

  private readonly compiler: WriteCompiler;
  protected override readonly changer: BulkChanges;

  constructor(
    schema: EntitySchema,
    private readonly context: RepositoryContext,
  ) {
    super(schema, context.access, undefined);
    this.compiler = new WriteCompiler(schema, context.now, context.deferred);
    this.changer = new BulkChanges(context, this.compiler);
  }

  /** The entity's name in errors, explain and jobs. */
  get entityName(): string {
    return this.schema.name;
  }

  /**
   * Stores an entity, whether or not it exists. A property that is `undefined` leaves a stored cell unchanged, `null`
   * deletes it; empty strings and bytes are stored. With `@Version` it takes effect only if the stored version equals
   * the entity's.
   * @throws ConflictError when another write has changed the version since the entity was read.
   */
  put(entity: PutInput<C>, options?: WriteOptions): Promise<void> {
    try {
      return this.compiler.plain?.one(entity, options, this.context) ?? this.putChange(entity, options);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  private async putChange(entity: PutInput<C>, options: WriteOptions | undefined): Promise<void> {
    const done = this.compiler.prepare(entity, 'put');
    const prepared = done instanceof Promise ? await done : done;
    await this.runPrepared(prepared, () => this.compiler.put(prepared, options), options);
  }

  /**
   * Stores many entities in one call, each row independently. Of several with one key the last is stored (with `@Version` the later
   * ones fail); an empty list does nothing. @throws the first failure if any failed; `batch` reports each.
   */
  async putMany(entities: readonly PutInput<C>[], options?: BulkWriteOptions<PutInput<C>>): Promise<void> {
    checkList('putMany', entities);
    const { compiler, context } = this;
    const given = options as BulkWriteOptions<never> | undefined;
    if (compiler.plain !== undefined && (await compiler.plain.many(entities, given, context))) return;
    const changes: Change[] = [];
    try {
      for (const entity of entities) {
        const done = compiler.prepare(entity, 'put');
        const prepared = done instanceof Promise ? await done : done;
        changes.push(compiler.put(prepared, optionsOf(options, entity)));
      }
    } catch (error) {
      for (const change of changes) change.onFailed?.();
      throw ofItem(error, 'putMany', changes.length);
    }
    throwFirst('putMany', await applyAll(context.executor, changes, options as OperationOptions | undefined));
  }

  /**
   * The mutations that `putMany` would write, for bulk loads. @throws UnsupportedError where a put does more than
   * write cells.
   */
  mutationsOf(entities: readonly PutInput<C>[]): Promise<(Put | Delete)[][]> {
    const prepare = (entity: unknown) => this.compiler.prepare(entity, 'put');
    return cellChanges(this.schema, prepare, this.context, entities);
  }

  /**
   * Stores a new entity. Returns it as stored, with defaults and times: the given instance, or a new one.
   * @throws ConflictError when one with its key exists.
   */
  insert(entity: InsertInput<C>, options?: WriteOptions): Promise<EntityOf<C>> {
    return this.insertUnless(this.compiler.existing, entity, options);
  }

  /** `existing` makes the error where the entity exists. */
  private async insertUnless(
    existing: Existing,
    entity: InsertInput<C>,
    options: WriteOptions | undefined,
  ): Promise<EntityOf<C>> {
    const plain = this.compiler.insertPlain(entity, options, this.context, existing);
    if (plain !== undefined) {
      await plain;
      return instanceOf(this.schema, entity as Record<string, unknown>) as EntityOf<C>;
    }
    const prepared = await this.compiler.prepare(entity, 'insert');
    await this.runPrepared(prepared, () => this.compiler.insert(prepared, options, existing), options);
    return instanceOf(this.schema, prepared.entity) as EntityOf<C>;
  }

  /**
   * Stores many new entities in one call, each row separately, or all or none with `atomic`. Returns them as `insert` does, in their
   * order. An empty list does nothing.
   *
   * @example
   * ```ts
   * const [ada, grace] = await users.insertMany([{ name: 'Ada' }, { name: 'Grace' }]);
   * ```
   * @throws the first failure, a ConflictError where one with its key exists, or is before it in the list. The other entities are written,
   * unless one is invalid.
   */
  async insertMany(
    entities: readonly InsertInput<C>[],
    options: RepositoryBatchOptions = {},
  ): Promise<EntityOf<C>[]> {
    checkList('insertMany', entities);
    // Defaults and times are set on the objects.
    const own = entities.map((entity) =>
      isRecord(entity) && !Object.isExtensible(entity) ? mutableCopy(entity) : entity,
    ) as (InsertInput<C> & Record<string, unknown>)[];
    const insert = (batch: BatchBuilder<C>): BatchBuilder<C> => {
      for (const entity of own) batch.insert(entity);
      return batch;
    };
    throwFirst('insertMany', await this.outcomesOf('insertMany', insert, options));
    return own.map((entity) => instanceOf(this.schema, entity) as EntityOf<C>);
  }

  /**
   * Returns the stored entity with this key, or inserts the given one. Of several concurrent callers one creates it, and the others get
   * that one. `created` is true for the caller that inserted.
   *
   * @example
   * ```ts
   * const { entity, created } = await carts.firstOrCreate({ customerId: 'c1', items: [] });
   * ```
   * @throws ConflictError when a unique index has another entity with its values, or `@DeletedAt` keeps a deleted row with this key.
   */
  firstOrCreate(
    entity: InsertInput<C>,
    options?: WriteOptions,
  ): Promise<{ readonly entity: EntityOf<C>; readonly created: boolean }> {
    return firstOrCreate<C>(this, entity, options);
  }

  /**
   * Stores exactly this entity: columns that it does not have are deleted in the same atomic step. Dynamic columns
   * (`@Columns`) are read first; on HBase those written in between stay. With `unknown: 'remove'` undeclared columns
   * in the entity's families are deleted too.
   */
  async replace(entity: InsertInput<C>, options?: ReplaceOptions): Promise<void> {
    const { rest } = replaceOptions(options);
    const prepared = await this.compiler.prepare(entity, 'replace');
    await this.runPrepared(prepared, () => this.compiler.replace(prepared, options), rest);
  }

  /**
   * Changes columns of an existing entity, atomically: null deletes one, undefined leaves it unchanged. With
   * `@Version` the version is incremented; if the patch names it, it must be the stored one.
   * @throws RowanError `ERR_NOT_FOUND` when there is no such entity; ConflictError on another version.
   */
  update(key: KeyOf<C>, patch: Patch<C>, options?: WriteOptions): Promise<void> {
    try {
      return (
        this.compiler.updatePlain(key, patch, options, this.context) ?? this.updateChange(key, patch, options)
      );
    } catch (error) {
      return Promise.reject(error);
    }
  }

  private async updateChange(key: KeyOf<C>, patch: Patch<C>, options?: WriteOptions): Promise<void> {
    const row = await loadRowOfKey(this.schema, key, 'update', false);
    const prepared = await this.compiler.preparePatch(key, patch);
    await this.run(this.compiler.update(row, key, prepared, options), options);
  }

  /**
   * Stores the entity if none with its key exists, otherwise applies the patch to the stored one; each in one atomic
   * step. Returns which it was. Runs the hooks of inserts, and those of updates where the entity exists.
   */
  upsert(entity: InsertInput<C>, patch: Patch<C>, options?: WriteOptions): Promise<'inserted' | 'updated'> {
    return upsert<C>(this.upsertTarget(), entity, patch, options);
  }

  /**
   * `upsert` of many entities, each row separately, in two calls: it inserts the entities that are not stored, and applies the patch to
   * the others. The patch is one for all, or a function of the entity. Returns for each which it was, in their order. Of several with
   * one key the first is inserted if none is stored, and the patches of the others are applied in their order. An empty list does nothing.
   *
   * @example
   * ```ts
   * await prices.upsertMany(quotes, ({ price, quotedAt }) => ({ price, quotedAt }));
   * ```
   * @throws the first failure; the other entities are written.
   */
  async upsertMany<E extends InsertInput<C>>(
    entities: readonly E[],
    patch: Patch<C> | ((entity: E) => Patch<C>),
    options?: WriteOptions,
  ): Promise<('inserted' | 'updated')[]> {
    checkList('upsertMany', entities);
    const patchOf = isCallable(patch) ? (patch as (entity: E) => Patch<C>) : (): Patch<C> => patch;
    return upsertMany<C, E>(this.upsertTarget(), entities, patchOf, options);
  }

  private upsertTarget(): UpsertTarget<C> {
    return {
      schema: this.schema,
      existing: (entity) => this.compiler.existing(entity as Record<string, unknown>),
      exists: (key, options) => this.exists(key, options),
      insert: (existing, entity, options) => this.insertUnless(existing, entity, options),
      update: (key, patch, options) => this.update(key, patch, options),
      batch: (existing, fill, options) => this.outcomesOf('batch', fill, options ?? {}, existing),
    };
  }

  /**
   * Sets `@UpdatedAt` to the current time, as an update that changes nothing else: it increments `@Version` and runs update hooks.
   * @throws RowanError `ERR_NOT_FOUND` when there is no such entity; UnsupportedError when the entity has no `@UpdatedAt`.
   */
  async touch(key: KeyOf<C>, options?: WriteOptions): Promise<void> {
    const { name, lifecycle } = this.schema;
    if (lifecycle.updatedProperty === undefined) {
      throw new UnsupportedError(
        `${name}.touch: ${name} has no @UpdatedAt, the time that touch sets. Declare a property with @UpdatedAt.`,
        { details: { entity: name } },
      );
    }
    await this.update(key, {} as Patch<C>, options);
  }

  /**
   * Deletes the entity with its whole row. With `@DeletedAt` the row stays and stores the time. No error when there
   * is none.
   */
  async delete(key: KeyOf<C>, options?: WriteOptions): Promise<void> {
    const row = await loadRowOfKey(this.schema, key, 'delete', false);
    const before = this.compiler.beforeDelete(key);
    if (before !== undefined) await before;
    await this.run(this.compiler.delete(row, key, options), options);
  }

  /**
   * Restores a soft-deleted entity (`@DeletedAt`). One that is not deleted stays unchanged.
   * @throws RowanError `ERR_NOT_FOUND` when there is none; UnsupportedError when the entity has no `@DeletedAt`.
   */
  async restore(key: KeyOf<C>, options?: WriteOptions): Promise<void> {
    this.requireDeletedAt('restore');
    const row = await loadRowOfKey(this.schema, key, 'restore', false);
    await this.run(this.compiler.restore(row, key, options), options);
  }

  /**
   * Deletes the entity for good, soft-deleted or not. No error when there is none.
   * @throws UnsupportedError when the entity has no `@DeletedAt`: use `delete`.
   */
  async purge(key: KeyOf<C>, options?: WriteOptions): Promise<void> {
    this.requireDeletedAt('purge');
    const row = await loadRowOfKey(this.schema, key, 'purge', false);
    const before = this.compiler.beforeDelete(key);
    if (before !== undefined) await before;
    await this.run(this.compiler.purge(row, key, options), options);
  }

  private requireDeletedAt(doing: string): void {
    const { name, deletedProperty } = this.schema;
    if (deletedProperty !== undefined) return;
    throw new UnsupportedError(
      `${name}.${doing}: ${name} has no @DeletedAt, so that delete removes its rows. Declare a property with @DeletedAt to keep them.`,
      { details: { entity: name } },
    );
  }

  /**
   * Deletes many entities in one call, each row independently. Keys without an entity, or that are given twice, are no error; an empty list
   * does nothing. @throws the first failure if any failed.
   */
  async deleteMany(keys: readonly KeyOf<C>[], options: WriteOptions = {}): Promise<void> {
    checkList('deleteMany', keys);
    const remove = (batch: BatchBuilder<C>): BatchBuilder<C> => {
      for (const key of keys) batch.delete(key);
      return batch;
    };
    throwFirst('deleteMany', await this.outcomesOf('deleteMany', remove, options));
  }

  /**
   * Deletes every entity whose key begins with the prefix, a thousand rows at a time. Returns their number. Not
   * atomic: entities written meanwhile may stay, and after an error earlier deletes stay in effect.
   * @throws QueryError `ERR_FULL_SCAN` when the prefix would read the whole table.
   */
  async deletePrefix<const Q extends KeyQuery<C>>(
    prefix: Q & CheckedPrefix<C, Q>,
    options?: WriteOptions,
  ): Promise<number> {
    let keys: KeyOf<C>[] = [];
    let count = 0;
    const deleteKeys = async (): Promise<void> => {
      await this.deleteMany(keys, options);
      count += keys.length;
      keys = [];
    };
    const names = this.schema.key.parts.map(({ name }) => name as never);
    const rows = this.query(prefix as Readonly<Record<string, unknown>>).select(...names);
    try {
      for await (const key of rows) {
        keys.push(key as unknown as KeyOf<C>);
        if (keys.length === DELETED_AT_ONCE) await deleteKeys();
      }
    } catch (error) {
      throw error instanceof QueryError && error.code === 'ERR_FULL_SCAN' ? this.noPrefix(error) : error;
    }
    await deleteKeys();
    return count;
  }

  /** The error of a query says to allow the scan, which a delete by prefix does not take. */
  private noPrefix(cause: QueryError): QueryError {
    const { name, key } = this.schema;
    return new QueryError(
      `${name}.deletePrefix: what is given is no prefix of the key, so every row would be read. Give at least "${key.parts[0]?.name}"; to delete every ${name}, write find({}, { fullScan: true }).deleteAll().`,
      { code: 'ERR_FULL_SCAN', cause, details: cause.details },
    );
  }

  /**
   * Adds to counters, or to entries of Maps of counters, and returns their new values. An absent counter counts as 0.
   * Creates the entity if needed.
   * @throws RowanError ERR_CONNECTION with `details.outcome` `'applied'` when the amounts were added, but the new
   * values were lost with the server (HBase only).
   */
  async increment(key: KeyOf<C>, amounts: Amounts<C>, options?: WriteOptions): Promise<CounterValues<C>> {
    const values = new NewValues(this.schema, amounts, 'increment');
    const result = await this.mutateRow(key, (row) => row.increment(amounts), 'increment', options);
    return values.of(result) as CounterValues<C>;
  }

  /**
   * Appends to strings or bytes, and returns the new values. An absent value counts as empty. @throws RowanError as
   * `increment` does.
   */
  async append(key: KeyOf<C>, suffixes: Suffixes<C>, options?: WriteOptions): Promise<Suffixes<C>> {
    const values = new NewValues(this.schema, suffixes, 'append');
    const result = await this.mutateRow(key, (row) => row.append(suffixes), 'append', options);
    return values.of(result) as Suffixes<C>;
  }

  /** Any changes of one row, atomically. Hooks do not run, and `@Version` and `@UpdatedAt` are not touched. */
  async mutate(
    key: KeyOf<C>,
    change: (row: RowBuilder<C>) => RowBuilder<C>,
    options?: WriteOptions,
  ): Promise<void> {
    await this.mutateRow(key, change, 'mutate', options);
  }

  private async mutateRow(
    key: KeyOf<C>,
    change: (row: RowBuilder<C>) => RowBuilder<C>,
    doing: 'increment' | 'append' | 'mutate',
    options: WriteOptions | undefined,
  ): Promise<Result> {
    const row = await loadRowOfKey(this.schema, key, doing, true);
    const builder = new RowBuilder<C>(this.schema, row, timestampOf(options), key);
    const mutations = await changed(change, builder);
    const compiled = this.compiler.mutate(row, mutations, options);
    return this.context.executor.run({ ...compiled, addsOnly: doing !== 'mutate' }, options);
  }

  /**
   * A write that takes effect only if the entity exists and meets the condition, in one atomic step. The condition is an object of
   * columns, all of which must hold.
   *
   * @throws QueryError on another condition, and on one that the engine cannot decide.
   *
   * @example
   * ```ts
   * const outcome = await orders.check(key, { status: 'open' }).update({ status: 'shipped' });
   * if (!outcome.ok) console.log(outcome.current);
   * ```
   */
  check(key: KeyOf<C>, condition: Where<C>): ConditionalWrite<C> {
    const row = loadRowOfKey(this.schema, key, 'check', false);
    // The error is thrown where the row is awaited.
    if (row instanceof Promise) row.catch(() => undefined);
    const readCurrent = async (): Promise<CheckOutcome<C>> => ({ ok: false, current: await this.get(key) });
    return new ConditionalWrite<C>(
      this.context,
      this.schema,
      this.compiler,
      key,
      row,
      checkFilter<C>(this.schema, condition),
      readCurrent,
    );
  }

  /** The kept versions of one column, newest first. */
  async history<P extends ColumnsOf<C>>(
    key: KeyOf<C>,
    property: P,
    options: HistoryOptions = {},
  ): Promise<HistoryEntry<HistoryOf<NonNullable<EntityOf<C>[P & keyof EntityOf<C>]>>>[]> {
    const row = await loadRowOfKey(this.schema, key, 'history', false);
    const entries = await readHistory(this.schema, this.context.access, row, property, options);
    return entries as HistoryEntry<HistoryOf<NonNullable<EntityOf<C>[P & keyof EntityOf<C>]>>>[];
  }

  private batchBuilder(
    options: WriteOptions,
    collect: (item: CompileItem, inserted?: unknown) => void,
    existing?: Existing,
  ): BatchBuilder<C> {
    return new BatchBuilder<C>(this.schema, this.compiler, options, collect, existing);
  }

  /**
   * Many operations in one call, with an outcome for each, in order. Operations on one row take effect in their
   * order.
   */
  async batch(
    fill: (batch: BatchBuilder<C>) => BatchBuilder<C>,
    options: RepositoryBatchOptions = {},
  ): Promise<ItemOutcome[]> {
    if (!isCallable(fill)) {
      throw new InvalidArgumentError(
        `batch takes a function, (batch) => batch.put(…), not ${describe(fill)}.`,
      );
    }
    return this.outcomesOf('batch', fill, options);
  }

  /** `doing`: the call, for errors. */
  private async outcomesOf(
    doing: string,
    fill: (batch: BatchBuilder<C>) => BatchBuilder<C>,
    options: RepositoryBatchOptions,
    existing = this.compiler.existing,
  ): Promise<ItemOutcome[]> {
    checkBatchOptions(options);
    const items: CompileItem[] = [];
    const inserts: unknown[] = [];
    fill(
      this.batchBuilder(
        options,
        (item, inserted) => {
          items.push(item);
          if (inserted !== undefined) inserts.push(inserted);
        },
        existing,
      ),
    );
    if (items.length > 0 && inserts.length === items.length) {
      const outcomes = await this.compiler.insertAll(inserts, options, this.context, existing);
      if (outcomes !== undefined)
        return outcomes.map((outcome) => (outcome.ok ? { ok: true, value: undefined } : outcome));
    }
    return runBatch(this.context, this.schema, await compileItems(items, doing), options);
  }

  /** Compiles and runs a change. If it cannot be compiled, restores what hooks have set on the entity. */
  private runPrepared(
    prepared: Prepared,
    compile: () => Change,
    options: WriteOptions | undefined,
  ): Promise<void> {
    let change: Change;
    try {
      change = compile();
    } catch (error) {
      prepared.undo?.();
      throw error;
    }
    return this.run(change, options);
  }

  private async run(change: Change, options: WriteOptions | undefined): Promise<void> {
    try {
      await this.context.executor.run(change, options);
    } catch (error) {
      change.onFailed?.();
      throw error;
    }
    if (change.onApplied !== undefined) await afterWrite(change);
  }
}

function checkList(doing: string, given: unknown): void {
  if (isList(given)) return;
  throw new InvalidArgumentError(`${doing} takes a list, not ${describe(given)}.`);
}
