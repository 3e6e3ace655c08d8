/** The repository: what is done with the entities of one class. */

import { ConflictError, InvalidArgumentError, ofItem, RowanError, UnsupportedError } from '../errors.js';
import type { Where } from '../query/index.js';
import type {
  CheckedPrefix,
  ColumnsOf,
  EntityOf,
  Input,
  KeyedClass,
  KeyOf,
  KeyQuery,
  Patch,
} from '../schema/entity-types.js';
import type { EntitySchema } from '../schema/types.js';
import { describe, isCallable, isList } from '../table/checks.js';
import type { Delete, OperationOptions, Put, Result } from '../table/index.js';
import {
  BatchBuilder,
  type CompileItem,
  checkBatchOptions,
  compileItems,
  type RepositoryBatchOptions,
  runBatch,
} from './batch.js';
import { type Change, settle } from './change.js';
import { ConditionalWrite, checkFilter } from './conditional.js';
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
  replaceOptions,
  type Suffixes,
  timestampOf,
  type WriteOptions,
} from './options.js';
import { checkPut, NewValues } from './plain-puts.js';
import { EntityReader, type HistoryOptions, readHistory } from './reader.js';
import { loadRowOfKey, type RepositoryContext } from './row-access.js';
import { changed, RowBuilder } from './row-builder.js';
import { BulkChanges, cellChanges } from './row-changes.js';
import { type Prepared, WriteCompiler } from './write-compiler.js';

/** Rows of one batch of `deletePrefix`. */
const DELETED_AT_ONCE = 1000;

/**
 * Reads and writes the entities of one class. Every write changes one row, atomically; an acknowledged write is as
 * durable as its table says. Wrong input throws; `undefined` in a key never means "all".
 */
export class Repository<C extends KeyedClass> extends EntityReader<C> {
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

  /** The name that errors, explain and jobs call the entity by. */
  get entityName(): string {
    return this.schema.name;
  }

  /**
   * Stores an entity, new or not. A property that is `undefined` leaves a stored cell alone, `null` deletes it; empty
   * text and bytes are kept. With `@Version` it takes effect only if the stored version is the entity's.
   * @throws ConflictError when another write changed the version since the entity was read.
   */
  async put(entity: Input<C>, options?: WriteOptions): Promise<void> {
    const done = this.compiler.prepare(entity, 'put');
    const prepared = done instanceof Promise ? await done : done;
    await this.run(
      this.compile(prepared, () => this.compiler.put(prepared, options)),
      options,
    );
  }

  /**
   * Stores many entities, each row for itself, in one call.
   * @throws the first failure when any failed; `batch` tells them apart.
   */
  async putMany(entities: readonly Input<C>[], options?: BulkWriteOptions<Input<C>>): Promise<void> {
    checkList('putMany', entities);
    const { compiler } = this;
    const calls = options as OperationOptions | undefined;
    const { putsAlone, access, executor, told } = this.context;
    if (compiler.plain !== undefined && (putsAlone || executor.putAll !== undefined)) {
      const puts = await compiler.plain.of(entities, options as BulkWriteOptions<never> | undefined);
      if (puts !== undefined && putsAlone) {
        const write = (): Promise<void> => access.table.putAll(puts, calls);
        return access.operations?.heard && told !== undefined ? told.puts(puts, write) : write();
      }
      if (puts !== undefined) return checkPut(await executor.putAll!(puts, calls));
    }
    const changes: Change[] = [];
    try {
      for (const entity of entities) {
        const done = compiler.prepare(entity, 'put');
        const prepared = done instanceof Promise ? await done : done;
        changes.push(compiler.put(prepared, optionsOf(options, entity)));
      }
    } catch (error) {
      for (const change of changes) change.failed?.();
      throw ofItem(error, 'putMany', changes.length);
    }
    const outcomes = await this.context.executor.runAll(changes, calls);
    let failure: unknown;
    for (const [index, outcome] of outcomes.entries()) {
      const change = changes[index]!;
      if (outcome.ok) {
        try {
          const after = settle(change);
          if (after !== undefined) await after;
        } catch (error) {
          failure ??= ofItem(error, 'putMany', index);
        }
      } else {
        change.failed?.();
        failure ??= ofItem(outcome.error, 'putMany', index);
      }
    }
    if (failure !== undefined) throw failure;
  }

  /** For bulk loads: what `putMany` would write. @throws UnsupportedError where it does more than write cells. */
  mutationsOf(entities: readonly Input<C>[]): Promise<(Put | Delete)[][]> {
    return cellChanges(this.schema, this.compiler, this.context, entities);
  }

  /** Stores a new entity. @throws ConflictError when there is one with its key. */
  async insert(entity: Input<C>, options?: WriteOptions): Promise<void> {
    const prepared = await this.compiler.prepare(entity, 'insert');
    await this.run(
      this.compile(prepared, () => this.compiler.insert(prepared, options)),
      options,
    );
  }

  /**
   * Stores exactly this entity: columns that it does not have are deleted, in the same atomic step. Where an entity has
   * dynamic columns (`@Columns`) they are read first; on HBase those written in between stay. With `unknown: 'remove'` what no
   * declaration speaks of goes too, in the families of the entity.
   */
  async replace(entity: Input<C>, options?: ReplaceOptions): Promise<void> {
    const prepared = await this.compiler.prepare(entity, 'replace');
    await this.run(
      this.compile(prepared, () => this.compiler.replace(prepared, options)),
      replaceOptions(options).rest,
    );
  }

  /**
   * Changes columns of an entity that exists: null deletes one, undefined leaves it alone. One atomic step. With
   * `@Version` the version is counted up; if the patch names it, it must be the stored one.
   * @throws RowanError `ERR_NOT_FOUND` when there is no such entity; ConflictError on another version.
   */
  async update(key: KeyOf<C>, patch: Patch<C>, options?: WriteOptions): Promise<void> {
    const row = await loadRowOfKey(this.schema, key, 'update', false);
    const prepared = await this.compiler.preparePatch(key, patch);
    await this.run(this.compiler.update(row, key, prepared, options), options);
  }

  /**
   * Stores the entity if there is none with its key, else changes the stored one by the patch; each in one atomic step.
   * Tells which it was. The hooks of inserts and, where there is an entity, those of updates run.
   */
  async upsert(entity: Input<C>, patch: Patch<C>, options?: WriteOptions): Promise<'inserted' | 'updated'> {
    for (;;) {
      let conflict: ConflictError;
      try {
        await this.insert(entity, options);
        return 'inserted';
      } catch (error) {
        // A conflict over a unique index is none over the key, and would come again.
        if (!(error instanceof ConflictError) || error.details['index'] !== undefined) throw error;
        conflict = error;
      }
      try {
        await this.update(entity as unknown as KeyOf<C>, patch, options);
        return 'updated';
      } catch (error) {
        // Deleted in between: insert again. One that was deleted and left would be in the way each time.
        if (!(error instanceof RowanError && error.code === 'ERR_NOT_FOUND')) throw error;
        if (await this.isLeft(entity as unknown as KeyOf<C>)) throw conflict;
      }
    }
  }

  private async isLeft(key: KeyOf<C>): Promise<boolean> {
    return this.schema.deletedProperty !== undefined && (await this.exists(key, { withDeleted: true }));
  }

  /** Deletes the entity, its whole row; with `@DeletedAt` the row stays and says when. No error when there is none. */
  async delete(key: KeyOf<C>, options?: WriteOptions): Promise<void> {
    const row = await loadRowOfKey(this.schema, key, 'delete', false);
    const before = this.compiler.beforeDelete(key);
    if (before !== undefined) await before;
    await this.run(this.compiler.delete(row, key, options), options);
  }

  /**
   * Brings back an entity that was deleted and left (`@DeletedAt`). One that is there stays as it is.
   * @throws RowanError `ERR_NOT_FOUND` when there is none; UnsupportedError when the entity has no `@DeletedAt`.
   */
  async restore(key: KeyOf<C>, options?: WriteOptions): Promise<void> {
    this.requireDeletedAt('restore');
    const row = await loadRowOfKey(this.schema, key, 'restore', false);
    await this.run(this.compiler.restore(row, key, options), options);
  }

  /**
   * Deletes the entity for good, whether it was deleted and left before (`@DeletedAt`) or not. No error when there is none.
   * @throws UnsupportedError when the entity has no `@DeletedAt`: then `delete` does it.
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

  /** Deletes many entities, each row for itself, in one call. @throws the first failure when any failed. */
  async deleteMany(keys: readonly KeyOf<C>[], options: WriteOptions = {}): Promise<void> {
    checkList('deleteMany', keys);
    const outcomes = await this.batch((batch) => {
      for (const key of keys) batch.delete(key);
      return batch;
    }, options);
    for (const [index, outcome] of outcomes.entries()) {
      const error = outcome.ok ? outcome.hookError : outcome.error;
      if (error !== undefined) throw ofItem(error, 'deleteMany', index);
    }
  }

  /**
   * Deletes every entity whose key begins with the prefix, a thousand rows at a time, and answers how many. It is no atomic
   * step: what is written meanwhile may stay, and after an error what was deleted before it stays deleted.
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
    for await (const entity of this.query(prefix as Readonly<Record<string, unknown>>)) {
      keys.push(entity as unknown as KeyOf<C>);
      if (keys.length === DELETED_AT_ONCE) await deleteKeys();
    }
    await deleteKeys();
    return count;
  }

  /**
   * Adds to counters and to entries of Maps of counters, an absent one counting as 0, and answers their new values. Creates
   * the entity if need be.
   * @throws RowanError ERR_CONNECTION with `details.outcome` `'applied'` when the amounts were added, and the new values were
   * lost with the server that made them (HBase only).
   */
  async increment(key: KeyOf<C>, amounts: Amounts<C>, options?: WriteOptions): Promise<CounterValues<C>> {
    const values = new NewValues(this.schema, amounts, 'increment');
    const result = await this.mutateRow(key, (row) => row.increment(amounts), 'increment', options);
    return values.of(result) as CounterValues<C>;
  }

  /**
   * Adds at the end of text or bytes, an absent value counting as empty, and answers the new values.
   * @throws RowanError as `increment` does.
   */
  async append(key: KeyOf<C>, suffixes: Suffixes<C>, options?: WriteOptions): Promise<Suffixes<C>> {
    const values = new NewValues(this.schema, suffixes, 'append');
    const result = await this.mutateRow(key, (row) => row.append(suffixes), 'append', options);
    return values.of(result) as Suffixes<C>;
  }

  /** Any changes of one row, in one atomic step. Hooks do not run, and `@Version` and `@UpdatedAt` are left alone. */
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
    doing: string,
    options: WriteOptions | undefined,
  ): Promise<Result> {
    const row = await loadRowOfKey(this.schema, key, doing, true);
    const builder = new RowBuilder<C>(this.schema, row, timestampOf(options), key);
    const mutations = await changed(change, builder);
    return this.context.executor.run(this.compiler.mutate(row, mutations, options), options);
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
    // It is thrown where the row is awaited.
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

  /** For `Database.batch`. */
  batchBuilder(options: WriteOptions, collect: (item: CompileItem) => void): BatchBuilder<C> {
    return new BatchBuilder<C>(this.schema, this.compiler, options, collect);
  }

  /** Many operations in one call, an outcome for each, in order. Operations on one row take effect in their order. */
  async batch(
    fill: (batch: BatchBuilder<C>) => BatchBuilder<C>,
    options: RepositoryBatchOptions = {},
  ): Promise<ItemOutcome[]> {
    const items: CompileItem[] = [];
    if (!isCallable(fill)) {
      throw new InvalidArgumentError(
        `batch takes a function, (batch) => batch.put(…), not ${describe(fill)}.`,
      );
    }
    checkBatchOptions(options);
    fill(this.batchBuilder(options, (item) => items.push(item)));
    return runBatch(this.context, this.schema, await compileItems(items), options);
  }

  /** The change; what the hooks left on the entity is taken back where it cannot be compiled. */
  private compile(prepared: Prepared, compile: () => Change): Change {
    try {
      return compile();
    } catch (error) {
      prepared.undo?.();
      throw error;
    }
  }

  private async run(change: Change, options: WriteOptions | undefined): Promise<void> {
    try {
      await this.context.executor.run(change, options);
    } catch (error) {
      change.failed?.();
      throw error;
    }
    if (change.settled !== undefined) await settle(change);
  }
}

function checkList(doing: string, given: unknown): void {
  if (isList(given)) return;
  throw new InvalidArgumentError(`${doing} takes a list, not ${describe(given)}.`);
}
