import { ofItem, UnsupportedError } from '../errors.js';
import type { FoundRow, RowAction, RowChanger } from '../query/bulk-change.js';
import type { EntitySchema } from '../schema/types.js';
import type { Delete, Filter, Put } from '../table/index.js';
import { type Change, settle } from './change.js';
import { Expiry } from './expiry.js';
import type { RepositoryContext } from './row-access.js';
import { RowMarker } from './row-marker.js';
import { ConditionFailed } from './version-lock.js';
import type { Condition, WriteCompiler } from './write-compiler.js';

/** The writing half of `deleteAll` and `updateAll`. */

export class BulkChanges implements RowChanger {
  constructor(
    private readonly context: RepositoryContext,
    private readonly compiler: WriteCompiler,
  ) {}

  async changeRows(
    rows: readonly FoundRow[],
    action: RowAction,
    filter: Filter | undefined,
    signal: AbortSignal | undefined,
  ): Promise<number> {
    const condition: Condition = {
      expects: filter === undefined ? [] : [{ kind: 'filter', filter }],
      mismatch: () => new ConditionFailed(),
    };
    const changes: Change[] = [];
    for (const found of rows) changes.push(await this.compile(found, action, condition));
    const outcomes = await this.context.executor.runAll(changes, signal && { signal });
    let changed = 0;
    let failure: unknown;
    for (const [index, outcome] of outcomes.entries()) {
      const change = changes[index]!;
      if (!outcome.ok) {
        change.failed?.();
        if (!(outcome.error instanceof ConditionFailed)) failure ??= outcome.error;
        continue;
      }
      changed++;
      try {
        await settle(change);
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

/** Entities as the cells that a put of them writes, for what writes past repositories: bulk loads. */

/**
 * Of each entity the changes of its row. Hooks before a put, stamps and checks run.
 * @throws UnsupportedError where a put does more than write cells that nothing stored decides; what is wrong with an entity.
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
  const presence = new RowMarker(schema);
  const changes: (Put | Delete)[][] = [];
  for (const [index, given] of entities.entries()) {
    try {
      const done = compiler.prepare(given, 'put');
      const { entity } = done instanceof Promise ? await done : done;
      changes.push(schema.mapper.toMutations(presence.revived(entity), schema.mapper.rowOf(entity)));
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
