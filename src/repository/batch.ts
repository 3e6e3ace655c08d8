/** Many changes in one call, each with its own outcome. */

import { toHex } from '../bytes/index.js';
import { QueryError, type RowanError } from '../errors.js';
import { loadEntity } from '../query/entity-query.js';
import { recovering } from '../query/recover.js';
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
import { asAction, hasDelete, loadRowOfKey, notFound, type RepositoryContext } from './row-access.js';
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

/** One item, ready to be sent. */
interface BatchItem {
  readonly row: Uint8Array;
  readonly action: BatchAction;
  readonly deletes: boolean;
  /** The error of a check that failed. */
  readonly onMismatch: (() => RowanError) | undefined;
  readonly read: ((result: Result) => unknown) | undefined;
  /** Runs when the item has taken effect. */
  readonly onSuccess: (() => void | Promise<void>) | undefined;
}

/** Collects the items of a batch; they are compiled, hooks and checks run, before any is sent. */
export class BatchBuilder<C extends KeyedClass> {
  private readonly pending: (() => Promise<BatchItem>)[] = [];

  constructor(
    private readonly context: RepositoryContext,
    private readonly schema: EntitySchema,
    private readonly compiler: WriteCompiler,
    private readonly options: WriteOptions,
  ) {}

  /** Stores an entity, as `repository.put`. */
  put(entity: Input<C>): this {
    return this.addEntity(entity as Record<string, unknown>, 'put');
  }

  /** Stores a new entity; the outcome is an `ERR_CONFLICT` when there is one. */
  insert(entity: Input<C>): this {
    return this.addEntity(entity as Record<string, unknown>, 'insert');
  }

  private addEntity(entity: Record<string, unknown>, operation: 'put' | 'insert'): this {
    this.pending.push(async () => {
      await this.compiler.beforeWrite(entity, operation);
      const { row, action, onMismatch, onSuccess } = this.compiler[operation](entity, this.options);
      return itemOf(row, action, onMismatch, onSuccess);
    });
    return this;
  }

  /** Changes columns of an entity; the outcome is an `ERR_NOT_FOUND` when there is none. */
  update(key: KeyOf<C>, patch: Patch<C>): this {
    this.pending.push(async () => {
      const row = await loadRowOfKey(this.schema, key, 'batch.update', false);
      if (this.schema.versionProperty !== undefined) {
        throw new QueryError(
          `batch.update on ${this.schema.name}: its @Version must be read first. Use update(), or put() a loaded entity.`,
          { details: { entity: this.schema.name } },
        );
      }
      const prepared = await this.compiler.preparePatch(patch);
      const builder = new RowBuilder<C>(this.schema, row, this.options.timestamp).set(prepared);
      const action = this.compiler.ifPresent(row, this.timed(builder.build()));
      return itemOf(row, action, () => notFound(this.schema, key));
    });
    return this;
  }

  /** Deletes the whole row. */
  delete(key: KeyOf<C>): this {
    this.pending.push(async () => {
      const row = await loadRowOfKey(this.schema, key, 'batch.delete', false);
      return itemOf(row, asAction(row, this.timed([new Delete(row, this.options.timestamp)])));
    });
    return this;
  }

  /** Any changes of one row, together. */
  mutate(key: KeyOf<C>, change: (row: RowBuilder<C>) => RowBuilder<C>): this {
    this.pending.push(async () => {
      const row = await loadRowOfKey(this.schema, key, 'batch.mutate', true);
      const builder = change(new RowBuilder<C>(this.schema, row, this.options.timestamp));
      return itemOf(row, asAction(row, this.timed(builder.build())));
    });
    return this;
  }

  /** Reads an entity; the outcome's value is the entity or null. */
  get(key: KeyOf<C>): this {
    this.pending.push(async () => {
      const row = await loadRowOfKey(this.schema, key, 'batch.get', false);
      return {
        row,
        action: this.compiler.get(row),
        deletes: false,
        onMismatch: undefined,
        onSuccess: undefined,
        read: (result) => recovering(this.context.access, () => loadEntity(this.schema, result)),
      };
    });
    return this;
  }

  /** The items, in order. @throws what is wrong with the first wrong one. */
  async compile(): Promise<BatchItem[]> {
    const items: BatchItem[] = [];
    for (const compile of this.pending) items.push(await compile());
    return items;
  }

  private timed(mutations: RowMutation[]): RowMutation[] {
    applyWriteOptions(mutations, this.options);
    return mutations;
  }
}

function itemOf(
  row: Uint8Array,
  action: RowMutation | RowMutations | CheckAndMutate,
  onMismatch?: BatchItem['onMismatch'],
  onSuccess?: BatchItem['onSuccess'],
): BatchItem {
  const deletes = hasDelete(action instanceof CheckAndMutate ? action.action : action);
  return { row, action, deletes, onMismatch, onSuccess, read: undefined };
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
    for (const [index, item] of chunk.entries()) {
      outcomes.push(await outcomeOf(context, item, answers[index]!));
    }
  }
  return outcomes;
}

async function outcomeOf(
  context: RepositoryContext,
  item: BatchItem,
  answer: BatchOutcome,
): Promise<ItemOutcome> {
  if (!answer.ok) return answer;
  if (answer.success === false && item.onMismatch !== undefined) {
    return { ok: false, error: item.onMismatch() };
  }
  if (item.deletes) context.deleteClock.noteDelete(item.row);
  await item.onSuccess?.();
  return { ok: true, value: await item.read?.(answer.result) };
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
