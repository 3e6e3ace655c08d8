/** Writes of entities that may exist: `firstOrCreate`, `upsert`, `upsertMany`. If other writers insert or delete the row meanwhile, they try again. */

import { ConflictError, ofItem, RowanError } from '../errors.js';
import type { ReadOptions } from '../query/index.js';
import type { EntityOf, InsertInput, KeyedClass, KeyOf, Patch } from '../schema/entity-types.js';
import type { EntitySchema } from '../schema/types.js';
import type { BatchBuilder } from './batch.js';
import type { ItemOutcome, WriteOptions } from './options.js';
import type { Existing } from './write-compiler.js';

/** The repository that is read and written. */
interface FirstOrCreateTarget<C extends KeyedClass> {
  readonly schema: EntitySchema;
  get(key: KeyOf<C>, options?: ReadOptions): Promise<EntityOf<C> | null>;
  exists(key: KeyOf<C>, options?: ReadOptions): Promise<boolean>;
  insert(entity: InsertInput<C>, options?: WriteOptions): Promise<EntityOf<C>>;
}

/** The repository that is written to. `existing` makes the errors of inserts whose entities exist. */
export interface UpsertTarget<C extends KeyedClass> {
  readonly schema: EntitySchema;
  /** Makes the error that `insert` of the repository throws where the entity exists. */
  existing(entity: InsertInput<C>): ConflictError;
  exists(key: KeyOf<C>, options?: ReadOptions): Promise<boolean>;
  insert(existing: Existing, entity: InsertInput<C>, options: WriteOptions | undefined): Promise<EntityOf<C>>;
  update(key: KeyOf<C>, patch: Patch<C>, options?: WriteOptions): Promise<void>;
  batch(
    existing: Existing,
    fill: (batch: BatchBuilder<C>) => BatchBuilder<C>,
    options: WriteOptions | undefined,
  ): Promise<ItemOutcome[]>;
}

/**
 * The error of an upsert's inserts whose entities exist. Observers of operations see it, callers do not. To make one for each takes as long as
 * the insert.
 */
const FOUND = new ConflictError('The entity exists, so the upsert updates it.');
const found: Existing = () => FOUND;

/** Whether an insert failed because of its key. A conflict on a unique index is no conflict on the key, and would recur. */
function isKeyConflict(error: unknown): error is ConflictError {
  return error instanceof ConflictError && error.details['index'] === undefined;
}

/** Whether the row is a deleted one that `@DeletedAt` keeps. */
async function isSoftDeleted<C extends KeyedClass>(
  target: Pick<UpsertTarget<C>, 'schema' | 'exists'>,
  key: KeyOf<C>,
): Promise<boolean> {
  return target.schema.deletedProperty !== undefined && (await target.exists(key, { withDeleted: true }));
}

/** As `Repository.firstOrCreate`. */
export async function firstOrCreate<C extends KeyedClass>(
  target: FirstOrCreateTarget<C>,
  entity: InsertInput<C>,
  options: WriteOptions | undefined,
): Promise<{ readonly entity: EntityOf<C>; readonly created: boolean }> {
  const key = entity as unknown as KeyOf<C>;
  const { signal, timeout, attributes } = options ?? {};
  const reading = {
    ...(signal && { signal }),
    ...(timeout && { timeout }),
    ...(attributes && { attributes }),
  };
  for (;;) {
    const found = await target.get(key, reading);
    if (found !== null) return { entity: found, created: false };
    try {
      return { entity: await target.insert(entity, options), created: true };
    } catch (error) {
      if (!isKeyConflict(error) || (await isSoftDeleted(target, key))) throw error;
    }
  }
}

/** As `Repository.upsert`. */
export async function upsert<C extends KeyedClass>(
  target: UpsertTarget<C>,
  entity: InsertInput<C>,
  patch: Patch<C>,
  options: WriteOptions | undefined,
): Promise<'inserted' | 'updated'> {
  const key = entity as unknown as KeyOf<C>;
  for (;;) {
    try {
      await target.insert(found, entity, options);
      return 'inserted';
    } catch (error) {
      if (!isKeyConflict(error)) throw error;
    }
    try {
      await target.update(key, patch, options);
      return 'updated';
    } catch (error) {
      // Deleted in between: insert again. A soft-deleted entity would conflict each time.
      if (!(error instanceof RowanError && error.code === 'ERR_NOT_FOUND')) throw error;
      if (await isSoftDeleted(target, key)) throw target.existing(entity);
    }
  }
}

/**
 * Returns for each entity whether it was inserted or updated. Rows deleted between the two calls are inserted in another round.
 * @throws the failure of the first entity that has one; the other entities are written.
 */
export async function upsertMany<C extends KeyedClass, E extends InsertInput<C>>(
  target: UpsertTarget<C>,
  entities: readonly E[],
  patchOf: (entity: E) => Patch<C>,
  options: WriteOptions | undefined,
): Promise<('inserted' | 'updated')[]> {
  const done: ('inserted' | 'updated')[] = new Array(entities.length);
  const failures = new Map<number, RowanError>();
  const write = async (
    which: readonly number[],
    as: 'inserted' | 'updated',
    add: (batch: BatchBuilder<C>, entity: E) => void,
  ): Promise<Map<number, RowanError>> => {
    const refused = new Map<number, RowanError>();
    const fill = (batch: BatchBuilder<C>): BatchBuilder<C> => {
      for (const at of which) add(batch, entities[at]!);
      return batch;
    };
    const outcomes = await target.batch(found, fill, options);
    for (const [i, outcome] of outcomes.entries()) {
      const at = which[i]!;
      if (!outcome.ok) {
        refused.set(at, outcome.error);
        continue;
      }
      done[at] = as;
      if (outcome.hookError !== undefined) failures.set(at, outcome.hookError);
    }
    return refused;
  };
  for (let pending = [...entities.keys()]; pending.length > 0; ) {
    const present: number[] = [];
    const refused = await write(pending, 'inserted', (batch, entity) => batch.insert(entity));
    for (const [at, error] of refused) {
      if (isKeyConflict(error)) present.push(at);
      else failures.set(at, error);
    }
    pending = [];
    if (present.length === 0) break;
    const missed = await write(present, 'updated', (batch, entity) =>
      batch.update(entity as unknown as KeyOf<C>, patchOf(entity)),
    );
    for (const [at, error] of missed) {
      if (error.code !== 'ERR_NOT_FOUND') failures.set(at, error);
      // A deleted row that is kept would fail each round.
      else if (await isSoftDeleted(target, entities[at] as unknown as KeyOf<C>))
        failures.set(at, target.existing(entities[at]!));
      else pending.push(at);
    }
  }
  const [first] = [...failures.keys()].sort((a, b) => a - b);
  if (first !== undefined) throw ofItem(failures.get(first), 'upsertMany', first);
  return done;
}
