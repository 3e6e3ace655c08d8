/** Change sets on the embedded engine: what a change reads and what it writes is one step. */

import { RowanError } from '../errors.js';
import {
  type AtomicStep,
  Get,
  type OperationOptions,
  Result,
  type RowRead,
  type SyncTable,
} from '../table/index.js';
import { type Change, checked, deleteOutlived, type Expectation, getIf, isMetBy } from './change.js';
import { ChangeFlow } from './change-flow.js';
import type { ChangeExecutor, ChangeOutcome, ChangeParticipant } from './executor.js';
import { applyAction, asAction } from './row-action.js';
import { RowImage } from './row-image.js';

/** How many changes are decided on in one turn. */
const TURN = 1024;

/** The table of an engine whose tables can write in steps. */
export type CommittingTable = SyncTable & Required<Pick<SyncTable, 'atomic'>>;

export class EmbeddedExecutor implements ChangeExecutor {
  constructor(
    private readonly table: CommittingTable,
    private readonly participants: readonly ChangeParticipant[],
    /** Default: rows are read back behind every change that participants follow, and nothing takes part in what follows. */
    private readonly flow = new ChangeFlow(
      () => [],
      () => 0,
    ),
  ) {}

  async run(change: Change, options: OperationOptions | undefined): Promise<Result> {
    if (change.reads === undefined && this.participants.length === 0) return this.direct(change, options);
    return this.table.atomic((step) => this.apply(change, step), options);
  }

  private async direct(change: Change, options: OperationOptions | undefined): Promise<Result> {
    const { mutations } = change.resolve(undefined);
    if (change.expects.length === 0) return applyAction(this.table, asAction(change.row, mutations), options);
    const check = checked(change.row, change.expects, mutations);
    const { success, result } = await this.table.checkAndMutate(check, options);
    if (!success) throw change.mismatch!();
    return result ?? Result.EMPTY;
  }

  async runAll(changes: readonly Change[], options: OperationOptions | undefined): Promise<ChangeOutcome[]> {
    const outcomes: ChangeOutcome[] = [];
    for (let from = 0; from < changes.length; from += TURN) {
      const turn = changes.slice(from, from + TURN);
      const decided = await this.table.atomic(
        (step) => turn.map((change) => this.attempt(change, step)),
        options,
      );
      outcomes.push(...decided);
    }
    return outcomes;
  }

  /** One change for itself: when it is refused nothing of it is left. */
  private attempt(change: Change, step: AtomicStep): ChangeOutcome {
    try {
      return { ok: true, result: step.attempt(() => this.apply(change, step)) };
    } catch (error) {
      if (!(error instanceof RowanError)) throw error;
      return { ok: false, error };
    }
  }

  runAtomic(changes: readonly Change[], options: OperationOptions | undefined): Promise<Result[]> {
    return this.table.atomic((step) => changes.map((change) => this.apply(change, step)), options);
  }

  /** Applies a change and what follows it. @throws the change's mismatch; what participants throw. */
  private apply(change: Change, step: AtomicStep): Result {
    const { row, expects, reads } = change;
    const watched = this.participants.length > 0;
    const before =
      watched || reads !== undefined
        ? RowImage.of(row, step.read(watched ? new Get(row) : reads!))
        : undefined;
    if (!expects.every((expectation) => holds(row, expectation, step.read))) throw change.mismatch!();
    const { mutations, outlived } = change.resolve(before);
    if (mutations.length === 0) return Result.EMPTY;
    const { operation } = change;
    const table = this.table.name;
    // For itself: what is written behind a delete has a later time, in the same millisecond too.
    if (outlived !== undefined) step.apply({ table, change: deleteOutlived(row, outlived, false) });
    if (!watched) return step.apply({ table, change: asAction(row, mutations) });
    return this.flow.apply({ table, operation, row, before: before!, mutations }, this.participants, step);
  }
}

function holds(row: Uint8Array, expectation: Expectation, read: RowRead): boolean {
  if (expectation.kind === 'filter') return !read(getIf(row, [expectation])).isEmpty;
  const { family, qualifier } = expectation;
  return isMetBy(expectation, read(new Get(row).addColumn(family, qualifier)).getValue(family, qualifier));
}
