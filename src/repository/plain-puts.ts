import { ofItem, type RowanError, UnsupportedError } from '../errors.js';
import type { ColumnSchema, EntityPacking, EntitySchema } from '../schema/types.js';
import { isNamed, isPlainObject } from '../table/checks.js';
import {
  type Delete,
  type OperationOptions,
  type Put,
  type RowMutation,
  takesPackedPuts,
} from '../table/index.js';
import type { ChangeOutcome, Expectation } from './change.js';
import { checkEntity, checkRequired } from './entity-input.js';
import { Expiry } from './expiry.js';
import {
  applyWriteOptions,
  type BulkWriteOptions,
  optionsOf,
  type RepositoryBatchOptions,
  timestampOf,
  type WriteOptions,
} from './options.js';
import { notFound, type RepositoryContext, rowOfKey } from './row-access.js';
import { RowMarker } from './row-marker.js';

/** Fast paths for writes of entities that consist of cells only. They make no change set, and for many entities no object for each cell. */

type Entity = Record<string, unknown>;

export class PlainPuts {
  /** The columns that one cell each is for, by property. */
  private readonly settable: ReadonlyMap<string, ColumnSchema>;

  constructor(
    private readonly schema: EntitySchema,
    private readonly required: readonly ColumnSchema[],
  ) {
    const parts = new Set(schema.key.parts.map(({ name }) => name));
    const settable = schema.columns.filter(
      ({ kind, path, property }) => kind === 'column' && path.length === 1 && !parts.has(property),
    );
    this.settable = new Map(settable.map((column) => [column.property, column]));
  }

  /** Puts an entity. Undefined, and nothing is done: it needs a change set. @throws as `many`; the options' errors. */
  one(
    entity: unknown,
    options: WriteOptions | undefined,
    context: RepositoryContext,
  ): Promise<void> | undefined {
    const { schema } = this;
    const { write } = context.executor;
    if (write === undefined || this.needsChange(context)) return undefined;
    checkEntity(schema, entity, 'put');
    checkRequired(schema, this.required, entity);
    const row = schema.mapper.rowOf(entity);
    return write(row, this.mutationsOf(entity, row, options), options);
  }

  /** Inserts an entity. Undefined, and nothing is done: it needs a change set. @throws as `one`. */
  insertOne(
    entity: unknown,
    options: WriteOptions | undefined,
    context: RepositoryContext,
    absent: Expectation,
    mismatch: (entity: Entity) => RowanError,
  ): Promise<void> | undefined {
    const { schema } = this;
    const { writeIf } = context.executor;
    if (writeIf === undefined || this.needsChange(context)) return undefined;
    checkEntity(schema, entity, 'insert');
    checkRequired(schema, this.required, entity);
    const row = rowOfKey(schema, entity, 'insert');
    return writeIf(row, this.mutationsOf(entity, row, options), absent, options).then((written) => {
      if (!written) throw mismatch(entity);
    });
  }

  /**
   * Sets columns of an entity that exists. Undefined, and nothing is done: it needs a change set. @throws errors of the key, of codecs and of
   * the options.
   */
  update(
    key: Readonly<Entity>,
    patch: unknown,
    options: WriteOptions | undefined,
    context: RepositoryContext,
    present: Expectation,
  ): Promise<void> | undefined {
    const { schema, settable } = this;
    const { writeIf } = context.executor;
    if (writeIf === undefined || this.needsChange(context) || !isPlainObject(patch)) return undefined;
    // A marker that would be the only cell of its family may be left as it is.
    let marked = false;
    for (const name in patch) {
      const value = patch[name];
      if (value === undefined) continue;
      const column = settable.get(name);
      if (column === undefined || value === null) return undefined;
      marked ||= column.family === schema.marker!.family;
    }
    if (!marked) return undefined;
    const row = rowOfKey(schema, key, 'update');
    return writeIf(row, this.mutationsOf(patch, row, options), present, options).then((written) => {
      if (!written) throw notFound(schema, key, 'update');
    });
  }

  /** Whether one write needs a change set: for listeners, or for ids of texts in keys. */
  private needsChange({ access }: RepositoryContext): boolean {
    return this.schema.key.dictionaries !== undefined || access.operations?.hasListeners === true;
  }

  private mutationsOf(
    values: Readonly<Entity>,
    row: Uint8Array,
    options: WriteOptions | undefined,
  ): RowMutation[] {
    const mutations = this.schema.mapper.toMutations(values, row, timestampOf(options));
    applyWriteOptions(mutations, options);
    return mutations;
  }

  /** Writes the entities. False, and nothing is written: one of them needs a change set. @throws the first failure. */
  async many(
    entities: readonly unknown[],
    options: BulkWriteOptions<never> | undefined,
    { putsAlone, access, executor, observed }: RepositoryContext,
  ): Promise<boolean> {
    const calls = options as OperationOptions | undefined;
    if (executor.putAll !== undefined) {
      const packing = executor.putPacked && this.packingOf(options);
      const puts = await this.putsOf(entities, options, packing);
      if (puts === undefined) return false;
      if (packing === undefined || puts.length > 0) checkPut(await executor.putAll(puts, calls));
      else {
        checkPut(await executor.putPacked!(packing.puts, calls));
        packing.release();
      }
      return true;
    }
    if (!putsAlone) return false;
    const { table } = access;
    const observer = access.operations?.hasListeners ? observed : undefined;
    if (observer === undefined && takesPackedPuts(table)) {
      const packing = this.packingOf(options);
      const puts = await this.putsOf(entities, options, packing);
      if (puts === undefined) return false;
      if (packing === undefined || puts.length > 0) await table.putAll(puts, calls);
      else {
        for (const error of await table.putPacked(packing.puts, calls)) if (error !== undefined) throw error;
        packing.release();
      }
      return true;
    }
    const puts = await this.putsOf(entities, options);
    if (puts === undefined) return false;
    if (observer === undefined) await table.putAll(puts, calls);
    else await observer.puts(puts, () => table.putAll(puts, calls));
    return true;
  }

  /**
   * Inserts the entities, with an outcome for each. Undefined, and nothing is written: they need a change set each.
   * `mismatch`: the error of an entity that exists. @throws with `atomic`, the first failure.
   */
  async insert(
    entities: readonly Entity[],
    { atomic = false, ...options }: RepositoryBatchOptions,
    { access, executor }: RepositoryContext,
    absent: Expectation,
    mismatch: (entity: Entity) => RowanError,
  ): Promise<ChangeOutcome[] | undefined> {
    const { key } = this.schema;
    if (executor.insertPacked === undefined || access.operations?.hasListeners) return undefined;
    if (!key.deterministic || key.dictionaries !== undefined) return undefined;
    const packing = this.packingOf(options as BulkWriteOptions<never>);
    if (packing === undefined || !this.pack(entities, packing)) return undefined;
    const given = [...entities];
    const existing = (at: number): RowanError => mismatch(given[at]!);
    const outcomes = await executor.insertPacked(packing.puts, absent, existing, options, atomic);
    packing.release();
    return outcomes;
  }

  /**
   * The puts of the entities. Undefined where one of them needs a change set. If all of them can be packed into
   * `packing` they are there, and the list is empty.
   * @throws InvalidArgumentError on values that are no object, or lack a required column; errors of keys and codecs.
   */
  private async putsOf(
    entities: readonly unknown[],
    options: BulkWriteOptions<never> | undefined,
    packing?: EntityPacking,
  ): Promise<Put[] | undefined> {
    const { schema } = this;
    const checked = entities as readonly Entity[];
    const { dictionaries } = schema.key;
    // Without dictionaries, values are encoded in the turn of the call.
    if (dictionaries !== undefined) {
      this.check(entities);
      await dictionaries.giveIds(checked);
    }
    if (packing !== undefined && this.pack(checked, packing)) return [];
    if (dictionaries === undefined) this.check(entities);
    const puts: Put[] = [];
    const isPut = eachItem(checked, (entity) => {
      const own = optionsOf(options, entity as never);
      const mutations = schema.mapper.toMutations(entity, schema.mapper.rowOf(entity), own?.timestamp);
      applyWriteOptions(mutations, own);
      const only = mutations[0]!;
      if (mutations.length !== 1 || only.kind !== 'put') return false;
      puts.push(only);
      return true;
    });
    return isPut ? puts : undefined;
  }

  /** @throws InvalidArgumentError on values that are no object, or lack a required column. */
  private check(entities: readonly unknown[]): void {
    const { schema, required } = this;
    eachItem(entities, (entity) => {
      checkEntity(schema, entity, 'put');
      checkRequired(schema, required, entity);
      return true;
    });
  }

  /**
   * False, and the packing is released: one of the entities cannot be packed, or is refused. Made into a put of its own, it is refused
   * for the same reason.
   */
  private pack(entities: readonly Entity[], packing: EntityPacking): boolean {
    const { mapper } = this.schema;
    try {
      for (let i = 0; i < entities.length; i++)
        if (!packing.add(entities[i]!, mapper.rowOf(entities[i]!))) {
          packing.release();
          return false;
        }
      return true;
    } catch {
      packing.release();
      return false;
    }
  }

  /** Undefined where options or entity give the puts more than cells. */
  private packingOf(options: BulkWriteOptions<never> | undefined): EntityPacking | undefined {
    if (options !== undefined && !isNamed(options as unknown)) return undefined;
    const { durability = 'USE_DEFAULT', ...others } = options ?? {};
    return Object.keys(others).length === 0 ? this.schema.mapper.packing(durability) : undefined;
  }
}

/** @throws the first failure, with the position of its item. */
function checkPut(outcomes: readonly ChangeOutcome[]): void {
  for (let i = 0; i < outcomes.length; i++) {
    const outcome = outcomes[i]!;
    if (!outcome.ok) throw ofItem(outcome.error, 'putMany', i);
  }
}

/**
 * Calls `work` for each item. @returns false as soon as `work` does. @throws errors of `work`, with the item's
 * position.
 */
function eachItem<T>(items: readonly T[], work: (item: T) => boolean): boolean {
  let index = 0;
  try {
    for (; index < items.length; index++) if (!work(items[index]!)) return false;
  } catch (error) {
    throw ofItem(error, 'putMany', index);
  }
  return true;
}

// — Entities as cells, for bulk loads.

/** An entity after its hooks. */
interface PreparedPut {
  readonly entity: Entity;
}

/**
 * The mutations of each entity's row, for writes that bypass repositories. `prepare` runs put
 * hooks, stamps and checks. @throws UnsupportedError where a put depends on stored cells; errors of compiling an
 * entity.
 */
export async function cellChanges(
  schema: EntitySchema,
  prepare: (entity: unknown) => PreparedPut | Promise<PreparedPut>,
  context: RepositoryContext,
  entities: readonly unknown[],
): Promise<(Put | Delete)[][]> {
  const more = beyondCells(schema, context);
  if (more !== undefined) {
    throw new UnsupportedError(
      `${schema.name} has ${more}, so that a put of it does more than write the cells of its row. Put its entities: putMany, or \`rowan entities import\`.`,
      { details: { entity: schema.name } },
    );
  }
  const rowMarker = new RowMarker(schema);
  const changes: (Put | Delete)[][] = [];
  for (const [index, given] of entities.entries()) {
    try {
      const done = prepare(given);
      const { entity } = done instanceof Promise ? await done : done;
      changes.push(schema.mapper.toMutations(rowMarker.revived(entity), schema.mapper.rowOf(entity)));
    } catch (error) {
      throw ofItem(error, 'mutationsOf', index);
    }
  }
  return changes;
}

function beyondCells(schema: EntitySchema, { putsAlone, now }: RepositoryContext): string | undefined {
  if (!putsAlone) return 'indexes, copies or summaries';
  if (schema.versionProperty !== undefined) return 'a @Version';
  if (Expiry.of(schema, now) !== undefined) return 'a time to live';
  return schema.lifecycle.afterWrite === undefined ? undefined : 'hooks that follow a put';
}
