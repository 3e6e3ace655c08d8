import { InvalidArgumentError, UnsupportedError } from '../errors.js';
import type { ExplainedCopying } from '../features/copies/handle.js';
import type { Features } from '../features/registry.js';
import type { ExplainedKeyChange } from '../features/rekey/strategy.js';
import type { ExplainedReferring } from '../features/relations/handle.js';
import { loadEntity } from '../query/index.js';
import { checkBatchOptions } from '../repository/batch.js';
import type { Contexts } from '../repository/contexts.js';
import {
  type BatchBuilder,
  type BatchItem,
  batchBuilderOf,
  type CompileItem,
  compileItems,
  type ItemOutcome,
  loadRowOfKey,
  outcomeAfterHooks,
  type RepositoryBatchOptions,
  type RepositoryContext,
  runBatch,
  type ScatteredBatch,
} from '../repository/index.js';
import type { KeyedClass, ScatteredClass } from '../schema/entity-types.js';
import type { EntityClass, EntitySchema } from '../schema/types.js';
import { describe, isCallable } from '../table/checks.js';
import { type Engine, Result, type TableTransaction, type TransactionOptions } from '../table/index.js';

/** Batches over several entities (`Database.batch`). */

/** The most attempts of an atomic batch. It reads little and waits for nothing, so conflicts are short. */
const ATTEMPTS = 100;

/** The parts of a database that a batch uses. */
export interface BatchSource {
  readonly engine: Engine;
  schemaOf(target: EntityClass): EntitySchema;
  readonly contexts: Contexts;
  /** Contexts on the tables of a transaction. */
  within(tables: TableTransaction): Contexts;
}

interface OwnedItem {
  readonly schema: EntitySchema;
  readonly item: BatchItem;
}

/** Collects the items of a batch over several entities, in order. */
export class DatabaseBatch {
  /** Made by `Database.batch`. */
  constructor(
    private readonly source: BatchSource,
    private readonly options: RepositoryBatchOptions,
    private readonly collect: (target: EntityClass, item: CompileItem) => void,
  ) {}

  /** The items of one entity: put, insert, replace, update, delete, mutate, check and get, in order. */
  of<C extends ScatteredClass>(target: C): ScatteredBatch<C>;
  of<C extends KeyedClass>(target: C): BatchBuilder<C>;
  of<C extends KeyedClass>(target: C): BatchBuilder<C> {
    const repository = this.source.contexts.repository(target);
    return batchBuilderOf(repository, this.options, (item) => this.collect(target, item));
  }
}

/** @throws as `Database.batch`. */
export async function runDatabaseBatch(
  source: BatchSource,
  fill: (batch: DatabaseBatch) => unknown,
  options: RepositoryBatchOptions,
): Promise<ItemOutcome[]> {
  checkBatchOptions(options);
  if (options.atomic && source.engine.transaction === undefined) {
    throw new UnsupportedError(
      `The engine "${source.engine.name}" cannot write several rows as one: it changes one row at a time. Leave out ` +
        'atomic and look at each outcome.',
    );
  }
  if (!isCallable(fill)) {
    throw new InvalidArgumentError(
      `batch takes a function, (batch) => batch.of(Order).put(…), not ${describe(fill)}.`,
    );
  }
  const targets: EntityClass[] = [];
  const pending: CompileItem[] = [];
  fill(
    new DatabaseBatch(source, options, (target, item) => {
      targets.push(target);
      pending.push(item);
    }),
  );
  const items = (await compileItems(pending)).map((item, index) => ({
    schema: source.schemaOf(targets[index]!),
    item,
  }));
  return options.atomic ? allOrNone(source, items, options) : eachAlone(source, items, options);
}

/** Runs the items of each entity in order, one entity after another. */
async function eachAlone(
  { contexts }: BatchSource,
  items: readonly OwnedItem[],
  options: RepositoryBatchOptions,
): Promise<ItemOutcome[]> {
  const bySchema = new Map<EntitySchema, number[]>();
  for (const [index, { schema }] of items.entries()) {
    const indexes = bySchema.get(schema);
    if (indexes === undefined) bySchema.set(schema, [index]);
    else indexes.push(index);
  }
  const outcomes: ItemOutcome[] = new Array(items.length);
  for (const [schema, indexes] of bySchema) {
    const own = indexes.map((index) => items[index]!.item);
    const answers = await runBatch(contexts.of(schema), schema, own, options);
    for (const [at, index] of indexes.entries()) outcomes[index] = answers[at]!;
  }
  return outcomes;
}

/** Runs all items in one transaction. Each sees those before it; gets see all. */
async function allOrNone(
  source: BatchSource,
  items: readonly OwnedItem[],
  options: RepositoryBatchOptions,
): Promise<ItemOutcome[]> {
  const { signal, timeout } = options;
  const transaction: TransactionOptions = { signal, timeout, attempts: ATTEMPTS };
  const outcomes: ItemOutcome[] = new Array(items.length);
  try {
    await source.engine.transaction!(async (tables) => {
      const contexts = source.within(tables);
      const known = new Map<EntitySchema, RepositoryContext>();
      const contextOf = (schema: EntitySchema): RepositoryContext => {
        let context = known.get(schema);
        if (context === undefined) {
          context = contexts.of(schema);
          known.set(schema, context);
        }
        return context;
      };
      for (const { schema, item } of items) {
        if (!('get' in item)) await contextOf(schema).executor.run(item, options);
      }
      for (const [index, { schema, item }] of items.entries()) {
        if (!('get' in item)) continue;
        const { access } = contextOf(schema);
        const value = await loadEntity(schema, access, await access.table.get(item.get, options));
        outcomes[index] = { ok: true, value };
      }
      await contexts.rest();
    }, transaction);
  } catch (error) {
    for (const { item } of items) if (!('get' in item)) item.onFailed?.();
    throw error;
  }
  for (const [index, { item }] of items.entries()) {
    if (!('get' in item)) outcomes[index] = await outcomeAfterHooks(item, DONE);
  }
  return outcomes;
}

const DONE = Object.freeze({ ok: true, result: Result.EMPTY } as const);

/** The result of `Database.explainWrite`. */
export interface ExplainedWrite extends ExplainedCopying, ExplainedKeyChange, ExplainedReferring {
  readonly entity: string;
  /** Indexes with entries of the row. */
  readonly indexes: readonly string[];
  /** Summaries that count the row. */
  readonly summaries: readonly string[];
  /** Whether the row of the other side is written, too (mutual links). */
  readonly mirror: boolean;
  /** Retention time of the change for `db.watch`, ms. Null: it is not recorded. */
  readonly changes: number | null;
}

/** The effects of a write, without writing. */
export async function explainWrite(
  { copies, references, rekey }: Features,
  schema: EntitySchema,
  key: object,
): Promise<ExplainedWrite> {
  const row = await loadRowOfKey(schema, key as Readonly<Record<string, unknown>>, 'explainWrite', false);
  return {
    ...(await references.explain(schema, row)),
    entity: schema.name,
    indexes: schema.indexes.map(({ name }) => name),
    ...(await copies.explain(schema, row)),
    ...(await rekey.explain(schema)),
    summaries: schema.summaries.map(({ name }) => name),
    mirror: schema.mutual !== undefined,
    changes: schema.changesKept ?? null,
  };
}
