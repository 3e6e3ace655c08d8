import { startsWithBytes } from '../bytes/index.js';
import type { FoundRow, Recheck, RowAction, RowChanger, RowCheck } from '../query/bulk-change.js';
import type { ColumnSchema } from '../schema/types.js';
import { Get } from '../table/index.js';
import { applyAll } from './batch.js';
import type { Change, Expectation } from './change.js';
import { CONDITION_FAILED } from './conditional.js';
import type { RepositoryContext } from './row-access.js';
import type { RowImage } from './row-image.js';
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
      mismatch: () => CONDITION_FAILED,
    };
    const changes: Change[] = [];
    for (const found of rows) {
      const change = await this.compile(found, action, condition);
      changes.push(check === undefined ? change : onlyWhere(change, check));
    }
    const outcomes = await applyAll(this.context.executor, changes, signal && { signal });
    let changed = 0;
    let failure: unknown;
    for (const outcome of outcomes) {
      if (outcome.ok) {
        changed++;
        failure ??= outcome.hookError;
      } else if (outcome.error !== CONDITION_FAILED) {
        failure ??= outcome.error;
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
      if (!holds(before!.toResult())) throw CONDITION_FAILED;
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
