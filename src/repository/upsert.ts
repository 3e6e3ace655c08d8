import { ConflictError, ofItem, type RowanError } from '../errors.js';
import type { Input, KeyedClass, KeyOf, Patch } from '../schema/entity-types.js';
import type { BatchBuilder } from './batch.js';
import type { ItemOutcome } from './options.js';

/** `upsertMany`: inserts new entities and patches stored ones, in two calls. */

/** Whether an insert failed because of its key. A conflict on a unique index is no conflict on the key, and would recur. */
export function isKeyConflict(error: unknown): error is ConflictError {
  return error instanceof ConflictError && error.details['index'] === undefined;
}

/** The repository that is written to. */
interface UpsertTarget<C extends KeyedClass> {
  batch(fill: (batch: BatchBuilder<C>) => BatchBuilder<C>): Promise<ItemOutcome[]>;
  /** Whether the row is a deleted one that `@DeletedAt` keeps. */
  isLeft(entity: Input<C>): Promise<boolean>;
}

/**
 * Returns for each entity whether it was inserted or updated. Rows deleted between the two calls are inserted in another round.
 * @throws the failure of the first entity that has one; the other entities are written.
 */
export async function upsertAll<C extends KeyedClass, E extends Input<C>>(
  target: UpsertTarget<C>,
  entities: readonly E[],
  patchOf: (entity: E) => Patch<C>,
): Promise<('inserted' | 'updated')[]> {
  const done: ('inserted' | 'updated')[] = new Array(entities.length);
  const failures = new Map<number, RowanError>();
  const write = async (
    which: readonly number[],
    as: 'inserted' | 'updated',
    add: (batch: BatchBuilder<C>, entity: E) => void,
  ): Promise<Map<number, RowanError>> => {
    const refused = new Map<number, RowanError>();
    const outcomes = await target.batch((batch) => {
      for (const at of which) add(batch, entities[at]!);
      return batch;
    });
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
    const conflicts = new Map<number, RowanError>();
    const refused = await write(pending, 'inserted', (batch, entity) => batch.insert(entity));
    for (const [at, error] of refused) (isKeyConflict(error) ? conflicts : failures).set(at, error);
    pending = [];
    if (conflicts.size === 0) break;
    const missed = await write([...conflicts.keys()], 'updated', (batch, entity) =>
      batch.update(entity as unknown as KeyOf<C>, patchOf(entity)),
    );
    for (const [at, error] of missed) {
      if (error.code !== 'ERR_NOT_FOUND') failures.set(at, error);
      // A deleted row that is kept would fail each round.
      else if (await target.isLeft(entities[at]!)) failures.set(at, conflicts.get(at)!);
      else pending.push(at);
    }
  }
  const [first] = [...failures.keys()].sort((a, b) => a - b);
  if (first !== undefined) throw ofItem(failures.get(first), 'upsertMany', first);
  return done;
}
