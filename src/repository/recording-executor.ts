/** Change sets that are decided on by the rows as they are, and not sent: for a preview of a write. */

import { RowanError } from '../errors.js';
import { Get, Result, type RowMutation, type Table } from '../table/index.js';
import { type Change, deleteOutlived, getIf, isMetBy, resolvedFor } from './change.js';
import type { ChangeExecutor, ChangeOutcome } from './executor.js';
import { RowImage } from './row-image.js';

export class RecordingExecutor implements ChangeExecutor {
  readonly mutations: RowMutation[] = [];

  constructor(private readonly table: Table) {}

  async run(change: Change): Promise<Result> {
    const { row, expects } = change;
    const image = RowImage.of(row, await this.table.get(new Get(row)));
    for (const expectation of expects) {
      const isMet =
        expectation.kind === 'filter'
          ? !(await this.table.get(getIf(row, [expectation]))).isEmpty
          : isMetBy(expectation, image.value(expectation.family, expectation.qualifier));
      if (!isMet) throw change.mismatch!();
    }
    const { mutations, outlived } = resolvedFor(change, image);
    if (outlived !== undefined && outlived.length > 0) this.mutations.push(deleteOutlived(row, outlived));
    this.mutations.push(...mutations);
    return Result.EMPTY;
  }

  async runAll(changes: readonly Change[]): Promise<ChangeOutcome[]> {
    const outcomes: ChangeOutcome[] = [];
    for (const change of changes) {
      try {
        outcomes.push({ ok: true, result: await this.run(change) });
      } catch (error) {
        if (!(error instanceof RowanError)) throw error;
        outcomes.push({ ok: false, error });
      }
    }
    return outcomes;
  }

  /** Each change by the row as it is stored: it does not see those before it. */
  async runAtomic(changes: readonly Change[]): Promise<Result[]> {
    const results: Result[] = [];
    for (const change of changes) results.push(await this.run(change));
    return results;
  }
}
