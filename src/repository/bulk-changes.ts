/** The writing half of `deleteAll` and `updateAll`. */

import type { FoundRow, RowAction, RowChanger } from '../query/bulk-change.js';
import type { Filter } from '../table/index.js';
import { type Change, settle } from './change.js';
import type { RepositoryContext } from './row-access.js';
import { Unmet } from './unmet.js';
import type { Condition, WriteCompiler } from './write-compiler.js';

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
      mismatch: () => new Unmet(),
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
        if (!(outcome.error instanceof Unmet)) failure ??= outcome.error;
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
