/** Many changes in one call, each with its own outcome. */

import { toHex } from '../bytes/index.js';
import { QueryError, type RowanError } from '../errors.js';
import type { Input, KeyedClass, KeyOf, Patch } from '../schema/entity-types.js';
import type { EntitySchema } from '../schema/types.js';
import {
  type BatchAction,
  type BatchOutcome,
  CheckAndMutate,
  Delete,
  Get,
  type Result,
  type RowMutation,
  type RowMutations,
} from '../table/index.js';
import { applyWriteOptions, type WriteOptions } from './options.js';
import { asAction, hasDelete, notFound, type RepositoryContext, rowOfKey } from './row-access.js';
import { RowBuilder } from './row-builder.js';
import type { ItemOutcome } from './types.js';
import type { WriteCompiler } from './write-compiler.js';

/** Options of `batch`. */
export interface RepositoryBatchOptions extends WriteOptions {
  /**
   * All items or none. Needs an engine with atomic batches (the embedded one), else `ERR_UNSUPPORTED`. Default false:
   * each row stands alone.
   */
  readonly atomic?: boolean;
}

interface BatchItem {
  readonly row: Uint8Array;
  readonly action: BatchAction;
  readonly deletes: boolean;
  /** The error of a check that failed. */
  readonly onMismatch: (() => RowanError) | undefined;
  readonly read: ((result: Result) => unknown) | undefined;
  /** Runs when the item has taken effect. */
  readonly onSuccess: (() => void) | undefined;
}

/** Collects the items of a batch. Wrong input throws here, before anything is sent. */
export class BatchBuilder<C extends KeyedClass> {
  readonly items: BatchItem[] = [];

  constructor(
    private readonly schema: EntitySchema,
    private readonly compiler: WriteCompiler,
    private readonly options: WriteOptions,
  ) {}

  /** Stores an entity, as `repository.put`. */
  put(entity: Input<C>): this {
    const write = this.compiler.put(entity as Record<string, unknown>, this.options);
    return this.add(write.row, write.action, write.onMismatch, write.onSuccess);
  }

  /** Stores a new entity; the outcome is an `ERR_CONFLICT` when there is one. */
  insert(entity: Input<C>): this {
    const write = this.compiler.insert(entity as Record<string, unknown>, this.options);
    return this.add(write.row, write.action, write.onMismatch, write.onSuccess);
  }

  /** Changes columns of an entity; the outcome is an `ERR_NOT_FOUND` when there is none. */
  update(key: KeyOf<C>, patch: Patch<C>): this {
    const row = rowOfKey(this.schema, key, 'batch.update');
    if (this.schema.versionProperty !== undefined) {
      throw new QueryError(
        `batch.update on ${this.schema.name}: its @Version must be read first. Use update(), or put() a loaded entity.`,
        { details: { entity: this.schema.name } },
      );
    }
    const mutations = this.timed(
      new RowBuilder<C>(this.schema, row, this.options.timestamp).set(patch).build(),
    );
    return this.add(row, this.compiler.ifPresent(row, mutations), () => notFound(this.schema, key));
  }

  /** Deletes the whole row. */
  delete(key: KeyOf<C>): this {
    const row = rowOfKey(this.schema, key, 'batch.delete');
    return this.add(row, asAction(row, this.timed([new Delete(row, this.options.timestamp)])));
  }

  /** Any changes of one row, together. */
  mutate(key: KeyOf<C>, change: (row: RowBuilder<C>) => RowBuilder<C>): this {
    const row = rowOfKey(this.schema, key, 'batch.mutate');
    const builder = change(new RowBuilder<C>(this.schema, row, this.options.timestamp));
    return this.add(row, asAction(row, this.timed(builder.build())));
  }

  /** Reads an entity; the outcome's value is the entity or null. */
  get(key: KeyOf<C>): this {
    const row = rowOfKey(this.schema, key, 'batch.get');
    const { mapper } = this.schema;
    this.items.push({
      row,
      action: this.compiler.get(row),
      deletes: false,
      onMismatch: undefined,
      onSuccess: undefined,
      read: (result) => mapper.fromResult(result),
    });
    return this;
  }

  private timed(mutations: RowMutation[]): RowMutation[] {
    applyWriteOptions(mutations, this.options);
    return mutations;
  }

  private add(
    row: Uint8Array,
    action: RowMutation | RowMutations | CheckAndMutate,
    onMismatch?: () => RowanError,
    onSuccess?: () => void,
  ): this {
    const deletes = hasDelete(action instanceof CheckAndMutate ? action.action : action);
    this.items.push({ row, action, deletes, onMismatch, onSuccess, read: undefined });
    return this;
  }
}

/** Runs the items in order; outcomes stand in the same order. */
export async function runBatch(
  context: RepositoryContext,
  schema: EntitySchema,
  items: readonly BatchItem[],
  options: RepositoryBatchOptions,
): Promise<ItemOutcome[]> {
  const outcomes: ItemOutcome[] = [];
  const chunks = splitAtDeletes(items);
  if (chunks.length > 1 && options.atomic) {
    throw new QueryError(
      `An atomic batch on ${schema.name} deletes a row and writes it again; all of it has one timestamp, at which the delete would win. ` +
        'Use replace(), or two batches.',
      { details: { entity: schema.name } },
    );
  }
  for (const chunk of chunks) {
    for (const item of chunk) {
      const wait = context.deleteClock.beforeWrite(item.row);
      if (wait !== undefined) await wait;
    }
    const answers = await context.access.table.batch(
      chunk.map((item) => item.action),
      options,
    );
    for (const [index, item] of chunk.entries()) outcomes.push(outcomeOf(context, item, answers[index]!));
  }
  return outcomes;
}

function outcomeOf(context: RepositoryContext, item: BatchItem, answer: BatchOutcome): ItemOutcome {
  if (!answer.ok) return answer;
  if (answer.success === false && item.onMismatch !== undefined) {
    return { ok: false, error: item.onMismatch() };
  }
  if (item.deletes) context.deleteClock.noteDelete(item.row);
  item.onSuccess?.();
  return { ok: true, value: item.read?.(answer.result) };
}

/** A new chunk where an item writes a row that an earlier one of the chunk deletes. */
function splitAtDeletes(items: readonly BatchItem[]): BatchItem[][] {
  if (!items.some((item) => item.deletes)) return items.length === 0 ? [] : [[...items]];
  const chunks: BatchItem[][] = [];
  let chunk: BatchItem[] = [];
  const deleted = new Set<string>();
  for (const item of items) {
    const row = toHex(item.row);
    if (deleted.has(row) && !(item.action instanceof Get)) {
      chunks.push(chunk);
      chunk = [];
      deleted.clear();
    }
    chunk.push(item);
    if (item.deletes) deleted.add(row);
  }
  chunks.push(chunk);
  return chunks;
}
