import { equalBytes } from '../bytes/index.js';
import { QueryError, RowanError } from '../errors.js';
import { describeCondition } from '../query/condition.js';
import { liveFilter, resolverOf } from '../query/index.js';
import { pushCondition } from '../query/pushdown.js';
import { type Where, WhereBuilder } from '../query/where.js';
import type { Input, KeyedClass, KeyOf, Patch } from '../schema/entity-types.js';
import type { EntitySchema } from '../schema/types.js';
import { describe, isRecord } from '../table/checks.js';
import { type Filter, filters } from '../table/index.js';
import { afterWrite, type Change, type Expectation } from './change.js';
import { checkEntity } from './entity-input.js';
import { type CheckOutcome, timestampOf, type WriteOptions } from './options.js';
import { keyText, type RepositoryContext, rowOfKey } from './row-access.js';
import { changed, RowBuilder } from './row-builder.js';
import type { Condition, WriteCompiler } from './write-compiler.js';

/**
 * Thrown inside the executor when the predicate of a conditional write is false. The repository turns it into `{ ok:
 * false }`. One for all: nobody reads its stack, which takes longer to record than the row to read.
 */
export const CONDITION_FAILED: RowanError = new RowanError(
  'ERR_CONFLICT',
  'The condition of a check did not hold.',
);

/**
 * A put on condition that the entity exists and satisfies a condition.
 * @throws QueryError when the entity's key differs from the checked one; errors of compiling the entity.
 */
export async function checkedPut(
  schema: EntitySchema,
  compiler: WriteCompiler,
  key: Readonly<Record<string, unknown>>,
  entity: unknown,
  condition: Required<Condition>,
  options: WriteOptions | undefined,
): Promise<Change> {
  checkEntity(schema, entity, 'check(...).put');
  const known = (await compiler.dictionaries?.known([key]))?.[0] ?? key;
  const row = rowOfKey(schema, known, 'check');
  // A dictionary text without an id is in no row, so the condition fails. No id is assigned for it.
  if (known !== key) return compiler.purge(row, key, options, condition);
  const prepared = await compiler.prepare(entity, 'put');
  const change = compiler.put(prepared, options);
  if (equalBytes(change.row, row)) return compiler.onlyIf(change, condition.expects, condition.mismatch!);
  prepared.undo?.();
  throw new QueryError(
    `check(...).put: the entity ${keyText(schema, prepared.entity)} is not the one that is checked. Check its own key.`,
    { details: { entity: schema.name } },
  );
}

// — Conditional writes: `check(key, condition)`, one atomic step of the engine.

/** The filter of a condition that the engine must evaluate. @throws QueryError when it cannot. */
export function checkFilter<C extends KeyedClass>(schema: EntitySchema, condition: Where<C>): Filter {
  if (!isRecord(condition) || Object.keys(condition).length === 0) {
    throw new QueryError(
      `check on ${schema.name}: the condition is ${describe(condition)}. Give an object of columns, all of which must hold: ` +
        "check(key, { status: 'open' }). To write without a condition, use update or put.",
      { details: { entity: schema.name } },
    );
  }
  const parsed = new WhereBuilder<C>(resolverOf(schema)).read(condition);
  const filter = pushCondition(parsed, schema.columnsByProperty, true, true);
  const living = liveFilter(schema);
  if (filter !== undefined && living !== undefined) return filters.all(living, filter);
  if (filter === undefined) {
    throw new QueryError(
      `check on ${schema.name}: the engine cannot decide ${describeCondition(parsed)}. Check columns for equality, absence, ` +
        'or by order where their codec is ordered.',
      { details: { entity: schema.name } },
    );
  }
  return filter;
}

/** The result of `check(key, condition)`, which takes the write that depends on the condition. */
export class ConditionalWrite<C extends KeyedClass> {
  private readonly expects: readonly Expectation[];

  constructor(
    private readonly context: RepositoryContext,
    private readonly schema: EntitySchema,
    private readonly compiler: WriteCompiler,
    private readonly key: KeyOf<C>,
    private readonly row: Uint8Array | Promise<Uint8Array>,
    filter: Filter,
    private readonly readCurrent: () => Promise<CheckOutcome<C>>,
  ) {
    this.expects = [{ kind: 'filter', filter }];
  }

  /**
   * Stores the entity. Its key must be the checked one. With `@Version` the stored version must also be the entity's.
   */
  async put(entity: Input<C>, options?: WriteOptions): Promise<CheckOutcome<C>> {
    const { schema, compiler, key, expects, mismatch } = this;
    // Awaited for its error.
    await this.row;
    return this.run(await checkedPut(schema, compiler, key, entity, { expects, mismatch }, options), options);
  }

  /** Sets columns; null deletes one, undefined leaves it alone. */
  async update(patch: Patch<C>, options?: WriteOptions): Promise<CheckOutcome<C>> {
    const row = await this.row;
    const { key, expects, mismatch } = this;
    const prepared = await this.compiler.preparePatch(key, patch);
    return this.run(this.compiler.update(row, key, prepared, options, { expects, mismatch }), options);
  }

  async delete(options?: WriteOptions): Promise<CheckOutcome<C>> {
    const row = await this.row;
    const { key, expects, mismatch } = this;
    await this.compiler.beforeDelete(key);
    return this.run(this.compiler.delete(row, key, options, { expects, mismatch }), options);
  }

  /** Any changes of the row, atomically. Hooks do not run, and `@Version` and `@UpdatedAt` are not touched. */
  async mutate(
    change: (row: RowBuilder<C>) => RowBuilder<C>,
    options?: WriteOptions,
  ): Promise<CheckOutcome<C>> {
    const row = await this.row;
    const builder = new RowBuilder<C>(this.schema, row, timestampOf(options));
    const { expects, mismatch } = this;
    return this.run(
      this.compiler.mutate(row, await changed(change, builder), options, { expects, mismatch }),
      options,
    );
  }

  private readonly mismatch = (): RowanError => CONDITION_FAILED;

  private async run(change: Change, options?: WriteOptions): Promise<CheckOutcome<C>> {
    try {
      await this.context.executor.run(change, options);
    } catch (error) {
      change.onFailed?.();
      if (error === CONDITION_FAILED) return this.readCurrent();
      throw error;
    }
    await afterWrite(change);
    return { ok: true };
  }
}
