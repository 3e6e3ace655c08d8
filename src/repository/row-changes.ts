import { startsWithBytes } from '../bytes/index.js';
import { ConflictError, ofItem, type RowanError, UnsupportedError } from '../errors.js';
import type { FoundRow, Recheck, RowAction, RowChanger, RowCheck } from '../query/bulk-change.js';
import type { InsertInput, KeyedClass, KeyOf, Patch } from '../schema/entity-types.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import { type Delete, Get, type Put } from '../table/index.js';
import type { BatchBuilder } from './batch.js';
import { afterWrite, type Change, type Expectation } from './change.js';
import { ConditionFailed } from './conditional.js';
import { Expiry } from './expiry.js';
import type { ItemOutcome } from './options.js';
import type { RepositoryContext } from './row-access.js';
import type { RowImage } from './row-image.js';
import { RowMarker } from './row-marker.js';
import type { Condition, WriteCompiler } from './write-compiler.js';

/** The writes of `deleteAll` and `updateAll`. */
export class BulkChanges implements RowChanger {
  constructor(
    private readonly context: RepositoryContext,
    private readonly compiler: WriteCompiler,
  ) {}

  async changeRows(
    rows: readonly FoundRow[],
    action: RowAction,
    { filter, row: check }: Recheck,
    signal: AbortSignal | undefined,
  ): Promise<number> {
    const condition: Condition = {
      expects: filter === undefined ? [] : [{ kind: 'filter', filter }],
      mismatch: () => new ConditionFailed(),
    };
    const changes: Change[] = [];
    for (const found of rows) {
      const change = await this.compile(found, action, condition);
      changes.push(check === undefined ? change : onlyWhere(change, check));
    }
    const outcomes = await this.context.executor.runAll(changes, signal && { signal });
    let changed = 0;
    let failure: unknown;
    for (const [index, outcome] of outcomes.entries()) {
      const change = changes[index]!;
      if (!outcome.ok) {
        change.onFailed?.();
        if (!(outcome.error instanceof ConditionFailed)) failure ??= outcome.error;
        continue;
      }
      changed++;
      try {
        await afterWrite(change);
      } catch (error) {
        failure ??= error;
      }
    }
    if (failure !== undefined) throw failure;
    return changed;
  }

  private async compile(found: FoundRow, action: RowAction, condition: Condition): Promise<Change> {
    const { compiler } = this;
    const { row } = found;
    const key = found.key as Readonly<Record<string, unknown>>;
    if (action.kind === 'delete') {
      await compiler.beforeDelete(key);
      return compiler.delete(row, key, undefined, condition);
    }
    return compiler.update(row, key, await compiler.preparePatch(key, action.patch), undefined, condition);
  }
}

/**
 * The change on condition that the row passes the check, whose columns are read first and re-checked by the writing
 * step.
 */
function onlyWhere(change: Change, { holds, columns }: RowCheck): Change {
  return {
    ...change,
    reads: new Get(change.row),
    resolve: (before) => {
      if (!holds(before!.toResult())) throw new ConditionFailed();
      const resolved = change.resolve(before);
      return {
        ...resolved,
        seen: [...resolved.seen, ...columns.flatMap((column) => seenIn(before!, column))],
      };
    },
  };
}

function seenIn(image: RowImage, { kind, family, qualifier }: ColumnSchema): Expectation[] {
  if (kind === 'columns') {
    return [...image.all()]
      .filter((cell) => cell.family === family && startsWithBytes(cell.qualifier, qualifier))
      .map((cell) => ({ kind: 'equal', family, qualifier: cell.qualifier, value: cell.value }));
  }
  const value = image.value(family, qualifier);
  return [
    value === undefined ? { kind: 'absent', family, qualifier } : { kind: 'equal', family, qualifier, value },
  ];
}

/**
 * Entities as cells, for writes that bypass repositories (bulk loads): the mutations of each entity's row. Runs put
 * hooks, stamps and checks. @throws UnsupportedError where a put depends on stored cells; errors of compiling an
 * entity.
 */
export async function cellChanges(
  schema: EntitySchema,
  compiler: WriteCompiler,
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
      const done = compiler.prepare(given, 'put');
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

// — `upsertMany`: inserts new entities and patches stored ones, in two calls.

/** Whether an insert failed because of its key. A conflict on a unique index is no conflict on the key, and would recur. */
export function isKeyConflict(error: unknown): error is ConflictError {
  return error instanceof ConflictError && error.details['index'] === undefined;
}

/** The repository that is written to. */
interface UpsertTarget<C extends KeyedClass> {
  batch(fill: (batch: BatchBuilder<C>) => BatchBuilder<C>): Promise<ItemOutcome[]>;
  /** Whether the row is a deleted one that `@DeletedAt` keeps. */
  isSoftDeleted(entity: InsertInput<C>): Promise<boolean>;
}

/**
 * Returns for each entity whether it was inserted or updated. Rows deleted between the two calls are inserted in another round.
 * @throws the failure of the first entity that has one; the other entities are written.
 */
export async function upsertAll<C extends KeyedClass, E extends InsertInput<C>>(
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
      else if (await target.isSoftDeleted(entities[at]!)) failures.set(at, conflicts.get(at)!);
      else pending.push(at);
    }
  }
  const [first] = [...failures.keys()].sort((a, b) => a - b);
  if (first !== undefined) throw ofItem(failures.get(first), 'upsertMany', first);
  return done;
}
