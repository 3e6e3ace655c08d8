/** The repository: what is done with the entities of one class. */

import { ConflictError } from '../errors.js';
import type { Where } from '../query/index.js';
import { recovering } from '../query/recover.js';
import type { ColumnsOf, EntityOf, Input, KeyedClass, KeyOf, Patch } from '../schema/entity-types.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import { CheckAndMutate, Delete, Get, type Put, type Result, type RowMutation } from '../table/index.js';
import { BatchBuilder, type RepositoryBatchOptions, runBatch } from './batch.js';
import { ConditionalWrite, checkFilter } from './conditional.js';
import { type HistoryOptions, readHistory } from './history.js';
import { applyWriteOptions, type WriteOptions } from './options.js';
import { EntityReader } from './reader.js';
import {
  applyAction,
  asAction,
  hasDelete,
  keyText,
  loadRowOfKey,
  notFound,
  type RepositoryContext,
} from './row-access.js';
import { RowBuilder } from './row-builder.js';
import type {
  Amounts,
  CheckOutcome,
  CounterValues,
  HistoryEntry,
  HistoryOf,
  ItemOutcome,
  Suffixes,
} from './types.js';
import { type CompiledWrite, WriteCompiler } from './write-compiler.js';

/** How often an update of a `@Version` entity is tried again when others write it at the same time. */
const UPDATE_ATTEMPTS = 16;

/**
 * Reads and writes the entities of one class. Every write changes one row, atomically; an acknowledged write is as
 * durable as its table says. Wrong input throws; `undefined` in a key never means "all".
 */
export class Repository<C extends KeyedClass> extends EntityReader<C> {
  private readonly compiler: WriteCompiler;

  constructor(
    schema: EntitySchema,
    private readonly context: RepositoryContext,
  ) {
    super(schema, context.access, undefined);
    this.compiler = new WriteCompiler(schema);
  }

  /**
   * Stores an entity, new or not. A property that is `undefined` leaves a stored cell alone, `null` deletes it; empty
   * text and bytes are kept. With `@Version` it takes effect only if the stored version is the entity's.
   * @throws ConflictError when another write changed the version since the entity was read.
   */
  async put(entity: Input<C>, options?: WriteOptions): Promise<void> {
    const before = this.compiler.beforeWrite(entity, 'put');
    if (before !== undefined) await before;
    await this.write(this.compiler.put(entity as Record<string, unknown>, options), options);
  }

  /**
   * Stores many entities, each row for itself, in one call.
   * @throws the first failure when any failed; `batch` tells them apart.
   */
  async putMany(entities: readonly Input<C>[], options?: WriteOptions): Promise<void> {
    const puts: Put[] = [];
    const { compiler } = this;
    const { deleteClock, access } = this.context;
    const plain =
      this.schema.lifecycle.beforeWrite === undefined && this.schema.lifecycle.afterWrite === undefined;
    if (!plain || compiler.lock !== undefined) return this.putEach(entities, options);
    await compiler.dictionaries?.giveIds(entities as readonly Record<string, unknown>[]);
    for (const entity of entities) {
      const write = compiler.put(entity as Record<string, unknown>, options);
      const { action } = write;
      if (action.kind !== 'put' || deleteClock.beforeWrite(write.row) !== undefined) {
        return this.putEach(entities, options);
      }
      puts.push(action);
    }
    await access.table.putAll(puts, options);
  }

  private async putEach(entities: readonly Input<C>[], options: WriteOptions | undefined): Promise<void> {
    const outcomes = await this.batch((batch) => {
      for (const entity of entities) batch.put(entity);
      return batch;
    }, options);
    const failed = outcomes.find((outcome) => !outcome.ok);
    if (failed !== undefined && !failed.ok) throw failed.error;
  }

  /** Stores a new entity. @throws ConflictError when there is one with its key. */
  async insert(entity: Input<C>, options?: WriteOptions): Promise<void> {
    const before = this.compiler.beforeWrite(entity, 'insert');
    if (before !== undefined) await before;
    await this.write(this.compiler.insert(entity as Record<string, unknown>, options), options);
  }

  /**
   * Stores exactly this entity: columns that it does not have are deleted, in the same atomic step. Where an entity has
   * dynamic columns (`@Columns`) they are read first, and those written in between stay.
   */
  async replace(entity: Input<C>, options?: WriteOptions): Promise<void> {
    const source = entity as Record<string, unknown>;
    await this.compiler.beforeWrite(source, 'replace');
    const write = this.compiler.put(source, options);
    const missing = this.schema.columns.filter((column) => isMissing(source, column));
    const del = new Delete(write.row, options?.timestamp);
    for (const column of missing)
      if (column.kind !== 'columns') del.addColumns(column.family, column.qualifier);
    await this.dropDynamic(write, source, del);
    if (del.cells.length > 0) applyWriteOptions([del], options);
    await this.write(del.cells.length === 0 ? write : withDelete(write, del), options);
  }

  /** Adds the stored dynamic columns that the new entity does not have. */
  private async dropDynamic(
    write: CompiledWrite,
    source: Readonly<Record<string, unknown>>,
    del: Delete,
  ): Promise<void> {
    const dynamic = this.schema.columns.filter((column) => column.kind === 'columns');
    if (dynamic.length === 0) return;
    const get = new Get(write.row);
    for (const column of dynamic) get.addFamily(column.family);
    const { access } = this.context;
    const result = await access.table.get(get);
    const stored = await recovering(access, () => this.schema.mapper.fromResult(result));
    if (stored === null) return;
    const clear: Record<string, unknown> = { ...keyParts(this.schema, source) };
    for (const column of dynamic) {
      const before = (stored as Record<string, unknown>)[column.property];
      if (!(before instanceof Map)) continue;
      const after = source[column.property];
      const gone = [...before.keys()].filter((key) => !(after instanceof Map && after.has(key)));
      clear[column.property] = new Map(gone.map((key) => [key, null]));
    }
    for (const mutation of this.schema.mapper.toMutations(clear, write.row)) {
      if (mutation.kind === 'delete') del.cells.push(...mutation.cells);
    }
  }

  /**
   * Changes columns of an entity that exists: null deletes one, undefined leaves it alone. One atomic step. With
   * `@Version` the version is counted up; if the patch names it, it must be the stored one.
   * @throws RowanError `ERR_NOT_FOUND` when there is no such entity; ConflictError on another version.
   */
  async update(key: KeyOf<C>, patch: Patch<C>, options?: WriteOptions): Promise<void> {
    const row = await loadRowOfKey(this.schema, key, 'update', false);
    const prepared = await this.compiler.preparePatch(patch);
    if (this.compiler.lock !== undefined) return this.updateVersioned(key, row, prepared, options);
    const mutations = new RowBuilder<C>(this.schema, row, options?.timestamp).set(prepared).build();
    applyWriteOptions(mutations, options);
    const action = this.compiler.ifPresent(row, mutations);
    await this.write(
      { row, action, onMismatch: () => notFound(this.schema, key), onSuccess: undefined },
      options,
    );
  }

  private async updateVersioned(
    key: KeyOf<C>,
    row: Uint8Array,
    patch: Patch<C>,
    options: WriteOptions | undefined,
  ): Promise<void> {
    const lock = this.compiler.lock!;
    const given = patch as Readonly<Record<string, unknown>>;
    const expected = given[lock.property];
    for (let attempt = 0; attempt < UPDATE_ATTEMPTS; attempt++) {
      const stored = await lock.read(this.context, row);
      if (stored === undefined) throw notFound(this.schema, key);
      if (expected !== undefined && expected !== stored) throw lock.conflict({ ...key, ...given });
      const counted = { ...given, [lock.property]: lock.next(stored) } as Patch<C>;
      const mutations = new RowBuilder<C>(this.schema, row, options?.timestamp).set(counted).build();
      applyWriteOptions(mutations, options);
      if (await this.tryCheck(lock.check(row, stored, mutations), options)) return;
    }
    throw new ConflictError(
      `${this.schema.name} ${keyText(this.schema, key)} was changed by others at each of ${UPDATE_ATTEMPTS} attempts. Try again later.`,
      { retryable: true, details: { entity: this.schema.name } },
    );
  }

  /** Deletes the entity, its whole row. No error when there is none. */
  async delete(key: KeyOf<C>, options?: WriteOptions): Promise<void> {
    const row = await loadRowOfKey(this.schema, key, 'delete', false);
    const del = new Delete(row, options?.timestamp);
    applyWriteOptions([del], options);
    await applyAction(this.context, del, options);
  }

  /** Adds to counters, an absent one counting as 0, and answers their new values. Creates the entity if need be. */
  async increment(key: KeyOf<C>, amounts: Amounts<C>, options?: WriteOptions): Promise<CounterValues<C>> {
    const result = await this.mutateRow(key, (row) => row.increment(amounts), 'increment', options);
    return this.valuesOf(result, Object.keys(amounts)) as CounterValues<C>;
  }

  /** Adds at the end of text or bytes, an absent value counting as empty, and answers the new values. */
  async append(key: KeyOf<C>, suffixes: Suffixes<C>, options?: WriteOptions): Promise<Suffixes<C>> {
    const result = await this.mutateRow(key, (row) => row.append(suffixes), 'append', options);
    return this.valuesOf(result, Object.keys(suffixes)) as Suffixes<C>;
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
    const mutations = change(new RowBuilder<C>(this.schema, row, options?.timestamp)).build();
    applyWriteOptions(mutations, options);
    return applyAction(this.context, asAction(row, mutations), options);
  }

  private valuesOf(result: Result, properties: readonly string[]): Record<string, unknown> {
    const values: Record<string, unknown> = {};
    for (const property of properties) {
      const column = this.schema.columnsByProperty.get(property)!;
      const stored = result.getValue(column.family, column.qualifier);
      if (stored !== undefined) values[property] = column.codec.decode(stored);
    }
    return values;
  }

  /**
   * A write that takes effect only if the entity exists and meets the condition, in one atomic step.
   *
   * @example
   * ```ts
   * const outcome = await orders.check(key, { status: 'open' }).update({ status: 'shipped' });
   * if (!outcome.ok) console.log(outcome.current);
   * ```
   */
  check(key: KeyOf<C>, condition: Where<C>): ConditionalWrite<C> {
    const row = loadRowOfKey(this.schema, key, 'check', true);
    // It is thrown where the row is awaited.
    if (row instanceof Promise) row.catch(() => undefined);
    const readCurrent = async (): Promise<CheckOutcome<C>> => ({ ok: false, current: await this.get(key) });
    return new ConditionalWrite<C>(
      this.context,
      this.schema,
      this.compiler,
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

  /** Many operations in one call, an outcome for each, in order. Operations on one row take effect in their order. */
  async batch(
    fill: (batch: BatchBuilder<C>) => BatchBuilder<C>,
    options: RepositoryBatchOptions = {},
  ): Promise<ItemOutcome[]> {
    const builder = new BatchBuilder<C>(this.context, this.schema, this.compiler, options);
    fill(builder);
    return runBatch(this.context, this.schema, await builder.compile(), options);
  }

  private async write(write: CompiledWrite, options: WriteOptions | undefined): Promise<void> {
    const { action } = write;
    if (action instanceof CheckAndMutate) {
      if (!(await this.tryCheck(action, options))) throw write.onMismatch!();
    } else {
      await applyAction(this.context, action, options);
    }
    const after = write.onSuccess?.();
    if (after !== undefined) await after;
  }

  private async tryCheck(check: CheckAndMutate, options: WriteOptions | undefined): Promise<boolean> {
    const { access, deleteClock } = this.context;
    const wait = deleteClock.beforeWrite(check.row);
    if (wait !== undefined) await wait;
    const { success } = await access.table.checkAndMutate(check, options);
    if (success && hasDelete(check.action)) deleteClock.noteDelete(check.row);
    return success;
  }
}

function isMissing(source: Readonly<Record<string, unknown>>, column: ColumnSchema): boolean {
  let value: unknown = source;
  for (const step of column.path) {
    if (value === undefined || value === null) return value === undefined;
    value = (value as Readonly<Record<string, unknown>>)[step];
  }
  return value === undefined;
}

function keyParts(schema: EntitySchema, source: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(schema.key.parts.map((part) => [part.name, source[part.name]]));
}

/** The same write that also deletes. */
function withDelete(write: CompiledWrite, del: Delete): CompiledWrite {
  const { action } = write;
  const inner = action instanceof CheckAndMutate ? action.action : action;
  const mutations: RowMutation[] = inner.kind === 'rowMutations' ? [...inner.mutations, del] : [inner, del];
  const joined = asAction(write.row, mutations);
  return { ...write, action: action instanceof CheckAndMutate ? action.withAction(joined) : joined };
}
