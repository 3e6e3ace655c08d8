import { ConflictError, ofItem, RowanError } from '../errors.js';
import { loadEntity } from '../query/index.js';
import type { Where } from '../query/where.js';
import type { Input, InsertInput, KeyedClass, KeyOf, Patch, PutInput } from '../schema/entity-types.js';
import type { EntitySchema } from '../schema/types.js';
import { checkOptions } from '../table/checks.js';
import type { Get, OperationOptions, Result } from '../table/index.js';
import { afterWrite, type Change, type ChangeExecutor, type ChangeOutcome } from './change.js';
import { checkedPut, checkFilter } from './conditional.js';
import type { ItemOutcome, ReplaceOptions, RepositoryBatchOptions, WriteOptions } from './options.js';
import { keyText, loadRowOfKey, type RepositoryContext } from './row-access.js';
import { changed, RowBuilder } from './row-builder.js';
import type { Condition, Existing, WriteCompiler } from './write-compiler.js';

/** A compiled item: a change or a get. */
export type BatchItem = Change | { readonly get: Get };

/** Compiles an item: runs its hooks and checks. */
export type CompileItem = () => Promise<BatchItem>;

/** The result of `batch.check(key, condition)`, which takes the write that depends on the condition. */
export class CheckedItem<C extends KeyedClass, B> {
  constructor(
    private readonly schema: EntitySchema,
    private readonly compiler: WriteCompiler,
    private readonly options: WriteOptions,
    private readonly key: KeyOf<C>,
    private readonly condition: Required<Condition>,
    private readonly collect: (item: CompileItem) => B,
  ) {}

  /** Stores the entity. @throws QueryError when its key differs from the checked one. */
  put(entity: Input<C>): B {
    const { schema, compiler, key, condition, options } = this;
    return this.collect(() => checkedPut(schema, compiler, key, entity, condition, options));
  }

  /** Changes columns: null deletes one, undefined leaves it alone. */
  update(patch: Patch<C>): B {
    const { compiler, key, condition, options } = this;
    return this.collect(async () =>
      compiler.update(await this.row(), key, await compiler.preparePatch(key, patch), options, condition),
    );
  }

  /** Deletes the whole row. */
  delete(): B {
    const { compiler, key, condition, options } = this;
    return this.collect(async () => {
      const row = await this.row();
      await compiler.beforeDelete(key);
      return compiler.delete(row, key, options, condition);
    });
  }

  private async row(): Promise<Uint8Array> {
    return loadRowOfKey(this.schema, this.key, 'batch.check', false);
  }
}

// — Batches: many changes in one call, each with its own outcome.

const BATCH_OPTIONS: Readonly<Record<keyof RepositoryBatchOptions, true>> = {
  timestamp: true,
  ttl: true,
  durability: true,
  signal: true,
  timeout: true,
  attributes: true,
  atomic: true,
};

/** @throws InvalidArgumentError on values that are no object, and on unknown options. */
export function checkBatchOptions(options: RepositoryBatchOptions): void {
  checkOptions('batch', options, BATCH_OPTIONS);
}

/** Collects the items of a batch. All are compiled, with hooks and checks, before any is sent. */
export class BatchBuilder<C extends KeyedClass> {
  constructor(
    private readonly schema: EntitySchema,
    private readonly compiler: WriteCompiler,
    private readonly options: WriteOptions,
    /** `inserted`: the entity, if the item is an insert. */
    private readonly collect: (item: CompileItem, inserted?: unknown) => void,
    /** Makes the errors of inserts whose entities exist. */
    private readonly existing: Existing = compiler.existing,
  ) {}

  /** Stores an entity, as `repository.put`. */
  put(entity: PutInput<C>): this {
    return this.addEntity(entity, 'put');
  }

  /** Stores a new entity. The outcome is `ERR_CONFLICT` when one exists. */
  insert(entity: InsertInput<C>): this {
    return this.addEntity(entity, 'insert');
  }

  /** Stores exactly this entity, as `repository.replace`. */
  replace(entity: InsertInput<C>, options?: Pick<ReplaceOptions, 'unknown'>): this {
    return this.addEntity(entity, 'replace', options);
  }

  private addEntity(
    entity: InsertInput<C>,
    operation: 'put' | 'insert' | 'replace',
    options?: Pick<ReplaceOptions, 'unknown'>,
  ): this {
    const compile: CompileItem = async () => {
      const prepared = await this.compiler.prepare(entity, operation);
      const given = { ...this.options, ...options };
      return operation === 'insert'
        ? this.compiler.insert(prepared, given, this.existing)
        : this.compiler[operation](prepared, given);
    };
    this.collect(compile, operation === 'insert' ? entity : undefined);
    return this;
  }

  /** Changes columns of an entity, as `repository.update`. The outcome is `ERR_NOT_FOUND` when none exists. */
  update(key: KeyOf<C>, patch: Patch<C>): this {
    this.collect(async () => {
      const row = await loadRowOfKey(this.schema, key, 'batch.update', false);
      const prepared = await this.compiler.preparePatch(key, patch);
      return this.compiler.update(row, key, prepared, this.options);
    });
    return this;
  }

  /** Deletes the whole row. */
  delete(key: KeyOf<C>): this {
    this.collect(async () => {
      const row = await loadRowOfKey(this.schema, key, 'batch.delete', false);
      await this.compiler.beforeDelete(key);
      return this.compiler.delete(row, key, this.options);
    });
    return this;
  }

  /** Any changes of one row, atomically. Hooks do not run, and `@Version` and `@UpdatedAt` are not touched. */
  mutate(key: KeyOf<C>, change: (row: RowBuilder<C>) => RowBuilder<C>): this {
    this.collect(async () => {
      const row = await loadRowOfKey(this.schema, key, 'batch.mutate', true);
      const builder = new RowBuilder<C>(this.schema, row, this.options.timestamp, key);
      return this.compiler.mutate(row, await changed(change, builder), this.options);
    });
    return this;
  }

  /** Reads an entity. The outcome's value is the entity or null. In an atomic batch: as it is after all writes. */
  get(key: KeyOf<C>): this {
    this.collect(async () => ({
      get: this.compiler.get(await loadRowOfKey(this.schema, key, 'batch.get', false)),
    }));
    return this;
  }

  /**
   * Makes the next write conditional: it takes effect only if the entity exists and satisfies the condition.
   * Otherwise its outcome is `ERR_CONFLICT`.
   * @throws QueryError when the engine cannot evaluate the condition.
   */
  check(key: KeyOf<C>, condition: Where<C>): CheckedItem<C, this> {
    const { schema, compiler, options } = this;
    const held: Required<Condition> = {
      expects: [{ kind: 'filter', filter: checkFilter<C>(schema, condition) }],
      mismatch: () => conditionFailed(schema, key),
    };
    return new CheckedItem(schema, compiler, options, key, held, (item) => {
      this.collect(item);
      return this;
    });
  }
}

function conditionFailed(schema: EntitySchema, key: unknown): ConflictError {
  return new ConflictError(
    `The condition of a check on ${schema.name} ${keyText(schema, key)} did not hold. Read it again and decide again.`,
    { details: { entity: schema.name, key } },
  );
}

/**
 * Compiles the items in order. `doing`: the call, for errors. @throws the first error; the objects given by the caller are unchanged
 * then.
 */
export async function compileItems(pending: readonly CompileItem[], doing = 'batch'): Promise<BatchItem[]> {
  const items: BatchItem[] = [];
  try {
    for (const compile of pending) items.push(await compile());
  } catch (error) {
    for (const item of items) if (!('get' in item)) item.onFailed?.();
    throw ofItem(error, doing, items.length);
  }
  return items;
}

/** Runs the items. The outcomes are in the same order. */
export async function runBatch(
  context: RepositoryContext,
  schema: EntitySchema,
  items: readonly BatchItem[],
  options: RepositoryBatchOptions,
): Promise<ItemOutcome[]> {
  const outcomes: ItemOutcome[] = new Array(items.length);
  const gets: number[] = [];
  const load = async (index: number): Promise<void> => {
    const { get } = items[index] as { readonly get: Get };
    const result = await context.access.table.get(get, options);
    const value = await loadEntity(schema, context.access, result);
    outcomes[index] = { ok: true, value };
  };
  let pending: number[] = [];
  const flush = async (): Promise<void> => {
    const indexes = pending;
    pending = [];
    if (indexes.length === 0) return;
    const changes = indexes.map((index) => items[index] as Change);
    const done = options.atomic
      ? await allOrNone(context, changes, options)
      : await applyAll(context.executor, changes, options);
    for (const [at, index] of indexes.entries()) outcomes[index] = done[at]!;
  };
  for (const [index, item] of items.entries()) {
    if (!('get' in item)) {
      pending.push(index);
    } else if (options.atomic) {
      gets.push(index);
    } else {
      await flush();
      await load(index);
    }
  }
  await flush();
  for (const index of gets) await load(index);
  return outcomes;
}

async function allOrNone(
  context: RepositoryContext,
  changes: readonly Change[],
  options: RepositoryBatchOptions,
): Promise<ItemOutcome[]> {
  let results: Result[];
  try {
    results = await context.executor.runAtomic(changes, options);
  } catch (error) {
    for (const change of changes) change.onFailed?.();
    throw error;
  }
  return afterAll(
    changes,
    results.map((result) => ({ ok: true, result })),
  );
}

/** Applies each change by itself, then runs its hooks. */
export async function applyAll(
  executor: ChangeExecutor,
  changes: readonly Change[],
  options: OperationOptions | undefined,
): Promise<ItemOutcome[]> {
  return afterAll(changes, await executor.runAll(changes, options));
}

async function afterAll(
  changes: readonly Change[],
  outcomes: readonly ChangeOutcome[],
): Promise<ItemOutcome[]> {
  const after: ItemOutcome[] = [];
  for (const [i, outcome] of outcomes.entries()) after.push(await outcomeAfterHooks(changes[i]!, outcome));
  return after;
}

/** Adds the error of a hook that ran after the write: the write itself has taken effect. */
export async function outcomeAfterHooks(change: Change, outcome: ChangeOutcome): Promise<ItemOutcome> {
  if (!outcome.ok) {
    change.onFailed?.();
    return outcome;
  }
  if (change.onApplied === undefined) return { ok: true, value: undefined };
  try {
    await afterWrite(change);
    return { ok: true, value: undefined };
  } catch (error) {
    if (!(error instanceof RowanError)) throw error;
    return { ok: true, value: undefined, hookError: error };
  }
}

/** @throws the first failure, with the position of its item. `doing`: the call, for the error. */
export function throwFirst(doing: string, outcomes: readonly ItemOutcome[]): void {
  for (const [index, outcome] of outcomes.entries()) {
    const error = outcome.ok ? outcome.hookError : outcome.error;
    if (error !== undefined) throw ofItem(error, doing, index);
  }
}
