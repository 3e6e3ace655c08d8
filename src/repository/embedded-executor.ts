/** The executor of the embedded engine: reading and writing of a change are one step. */

import { RowanError } from '../errors.js';
import {
  type AtomicStep,
  Get,
  type OperationOptions,
  type Put,
  Result,
  type RowRead,
  type SyncTable,
} from '../table/index.js';
import {
  applyAction,
  asAction,
  type Change,
  checked,
  deleteOutlived,
  type Expectation,
  getIf,
  isMetBy,
  resolvedFor,
} from './change.js';
import type { ChangeExecutor, ChangeOutcome } from './executor.js';
import type { PutLater, StepMaintainer } from './maintainer.js';
import { RowImage } from './row-image.js';
import { StepDriver } from './step-driver.js';

/** Changes processed in one turn of the event loop. */
const TURN = 1024;

/** A table whose writes can be steps. */
export type CommittingTable = SyncTable & Required<Pick<SyncTable, 'atomic'>>;

export class EmbeddedExecutor implements ChangeExecutor {
  readonly putAll: ChangeExecutor['putAll'];

  constructor(
    private readonly table: CommittingTable,
    private readonly maintainers: readonly StepMaintainer[],
    /** Without maintainers: changes have no effects. */
    private readonly driver = new StepDriver(
      () => [],
      () => 0,
    ),
  ) {
    const effectsOfNewRow = maintainers.length === 1 ? maintainers[0]!.effectsOfNewRow : undefined;
    this.putAll =
      effectsOfNewRow &&
      ((puts, options) =>
        this.inTurns(puts, options, (turn, step) => this.putTurn(turn, step, effectsOfNewRow)));
  }

  async run(change: Change, options: OperationOptions | undefined): Promise<Result> {
    if (change.reads === undefined && change.markerApart === undefined && this.maintainers.length === 0)
      return this.direct(change, options);
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

  runAll(changes: readonly Change[], options: OperationOptions | undefined): Promise<ChangeOutcome[]> {
    return this.inTurns(changes, options, (turn, step) => turn.map((change) => this.attempt(change, step)));
  }

  private async inTurns<T>(
    items: readonly T[],
    options: OperationOptions | undefined,
    decide: (turn: readonly T[], step: AtomicStep) => readonly ChangeOutcome[],
  ): Promise<ChangeOutcome[]> {
    const outcomes: ChangeOutcome[] = [];
    for (let from = 0; from < items.length; from += TURN) {
      const turn = items.slice(from, from + TURN);
      outcomes.push(...(await this.table.atomic((step) => decide(turn, step), options)));
    }
    return outcomes;
  }

  /** Fast path for puts that create rows. Other puts go the general way. */
  private putTurn(
    puts: readonly Put[],
    step: AtomicStep,
    effectsOfNewRow: (put: Put, putLater: PutLater) => boolean,
  ): readonly ChangeOutcome[] {
    const table = this.table.name;
    const putLater: PutLater | undefined = step.putLater && ((later) => step.putLater!(later));
    let put: Put;
    const putNew = (): boolean => {
      if (!effectsOfNewRow(put, putLater!)) return false;
      step.apply({ table, change: put });
      return true;
    };
    return puts.map((each): ChangeOutcome => {
      put = each;
      try {
        if (putLater !== undefined && step.read(new Get(put.row)).isEmpty && step.attempt(putNew))
          return DONE;
      } catch (error) {
        if (!(error instanceof RowanError)) throw error;
        return { ok: false, error };
      }
      return this.attempt(changeOf(put), step);
    });
  }

  /** Applies one change. If it is refused, none of it is written. */
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

  /** Applies a change with its effects. @throws the change's mismatch; errors of maintainers. */
  private apply(change: Change, step: AtomicStep): Result {
    const { row, expects } = change;
    const watched = this.maintainers.length > 0;
    const reads = watched ? new Get(row) : readsOf(change);
    let before = reads && RowImage.of(row, step.read(reads));
    if (!expects.every((expectation) => holds(row, expectation, step.read))) throw change.mismatch!();
    const { mutations, remains, isDated, ...resolved } =
      before === undefined ? change.resolve(before) : resolvedFor(change, before);
    if (mutations.length === 0) return Result.EMPTY;
    const outlived = remains?.in(RowImage.of(row, step.read(remains.reads))) ?? resolved.outlived;
    const { operation } = change;
    const table = this.table.name;
    // A separate change: what follows a delete gets a later timestamp, even within the millisecond.
    if (outlived !== undefined && outlived.length > 0)
      step.apply({ table, change: deleteOutlived(row, outlived, isDated === true ? undefined : step.time) });
    if (remains !== undefined && watched) before = RowImage.of(row, step.read(new Get(row)));
    if (!watched) return step.apply({ table, change: asAction(row, mutations) });
    return this.driver.apply({ table, operation, row, before: before!, mutations }, this.maintainers, step);
  }
}

/** The columns to read: those the change depends on, and the marker where it may be left as it is. */
function readsOf({ row, reads, markerApart }: Change): Get | undefined {
  if (reads !== undefined || markerApart === undefined) return reads;
  return new Get(row).addColumn(markerApart.family, markerApart.qualifier);
}

const DONE: ChangeOutcome = Object.freeze({ ok: true, result: Result.EMPTY });

/** A put without expectations and hooks, as a change. */
function changeOf(put: Put): Change {
  return {
    operation: 'put',
    row: put.row,
    expects: [],
    mismatch: undefined,
    reads: undefined,
    resolve: () => ({ mutations: [put], seen: [] }),
    onApplied: undefined,
    onFailed: undefined,
  };
}

function holds(row: Uint8Array, expectation: Expectation, read: RowRead): boolean {
  if (expectation.kind === 'filter') return !read(getIf(row, [expectation])).isEmpty;
  const { family, qualifier } = expectation;
  return isMetBy(expectation, read(new Get(row).addColumn(family, qualifier)).getValue(family, qualifier));
}
