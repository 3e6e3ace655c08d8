/** Writes that take effect only if the row is as it was expected: one atomic step on the engine. */

import { QueryError } from '../errors.js';
import { describeCondition } from '../query/condition.js';
import { resolverOf } from '../query/entity-query.js';
import { pushCondition } from '../query/pushdown.js';
import { type Where, WhereBuilder } from '../query/where.js';
import type { Input, KeyedClass, Patch } from '../schema/entity-types.js';
import type { EntitySchema } from '../schema/types.js';
import { CheckAndMutate, Delete, type Filter, type RowMutation } from '../table/index.js';
import { applyWriteOptions, type WriteOptions } from './options.js';
import { asAction, hasDelete, keyText, type RepositoryContext } from './row-access.js';
import { RowBuilder } from './row-builder.js';
import type { CheckOutcome } from './types.js';
import type { WriteCompiler } from './write-compiler.js';

/** The filter of a condition that the engine must decide by itself. @throws QueryError when it cannot. */
export function checkFilter<C extends KeyedClass>(schema: EntitySchema, condition: Where<C>): Filter {
  const parsed = new WhereBuilder<C>(resolverOf(schema)).read(condition);
  const filter = pushCondition(parsed, schema.columnsByProperty);
  if (filter === undefined) {
    throw new QueryError(
      `check on ${schema.name}: the engine cannot decide ${describeCondition(parsed)}. Check columns for equality, absence, ` +
        'or by order where their codec is ordered.',
      { details: { entity: schema.name } },
    );
  }
  return filter;
}

/** The second half of `check(key, condition)`: what is to be done if the condition holds. */
export class ConditionalWrite<C extends KeyedClass> {
  constructor(
    private readonly context: RepositoryContext,
    private readonly schema: EntitySchema,
    private readonly compiler: WriteCompiler,
    private readonly row: Uint8Array | Promise<Uint8Array>,
    private readonly filter: Filter,
    private readonly readCurrent: () => Promise<CheckOutcome<C>>,
  ) {}

  /** Stores the entity. Its key must be the one that is checked. */
  async put(entity: Input<C>, options?: WriteOptions): Promise<CheckOutcome<C>> {
    const source = entity as Readonly<Record<string, unknown>>;
    const checked = await this.row;
    await this.compiler.dictionaries?.giveIds([source]);
    const row = this.schema.mapper.rowOf(source);
    if (Buffer.compare(row, checked) !== 0) {
      throw new QueryError(
        `check(...).put: the entity ${keyText(this.schema, source)} is not the one that is checked. Check its own key.`,
        { details: { entity: this.schema.name } },
      );
    }
    await this.compiler.beforeWrite(source, 'put');
    const mutations = this.schema.mapper.toMutations(source, row, options?.timestamp);
    const outcome = await this.run(row, mutations, options);
    if (outcome.ok) await this.schema.lifecycle.afterWrite?.(source);
    return outcome;
  }

  /** Sets columns; null deletes one, undefined leaves it alone. */
  async update(patch: Patch<C>, options?: WriteOptions): Promise<CheckOutcome<C>> {
    const prepared = await this.compiler.preparePatch(patch);
    return this.mutate((row) => row.set(prepared), options);
  }

  async delete(options?: WriteOptions): Promise<CheckOutcome<C>> {
    const row = await this.row;
    return this.run(row, [new Delete(row, options?.timestamp)], options);
  }

  /** Any changes of the row, together. */
  async mutate(
    change: (row: RowBuilder<C>) => RowBuilder<C>,
    options?: WriteOptions,
  ): Promise<CheckOutcome<C>> {
    const row = await this.row;
    const builder = new RowBuilder<C>(this.schema, row, options?.timestamp);
    return this.run(row, change(builder).build(), options);
  }

  private async run(
    row: Uint8Array,
    mutations: RowMutation[],
    options: WriteOptions | undefined,
  ): Promise<CheckOutcome<C>> {
    applyWriteOptions(mutations, options);
    const action = asAction(row, mutations);
    const { access, deleteClock } = this.context;
    const wait = deleteClock.beforeWrite(row);
    if (wait !== undefined) await wait;
    const { success } = await access.table.checkAndMutate(
      CheckAndMutate.ifFilter(this.filter, action),
      options,
    );
    if (!success) return this.readCurrent();
    if (hasDelete(action)) deleteClock.noteDelete(row);
    return { ok: true };
  }
}
