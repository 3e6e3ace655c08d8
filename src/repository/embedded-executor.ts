/** Change sets on the embedded engine: what a change reads and what it writes is one step. */

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

/** How many changes are decided on in one turn. */
const TURN = 1024;

/** The table of an engine whose tables can write in steps. */
export type CommittingTable = SyncTable & Required<Pick<SyncTable, 'atomic'>>;

export class EmbeddedExecutor implements ChangeExecutor {
  readonly putAll: ChangeExecutor['putAll'];

  constructor(
    private readonly table: CommittingTable,
    private readonly maintainers: readonly StepMaintainer[],
    /** Default: rows are read back behind every change that has maintainers, and changes of other entities have no effects. */
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

  /** Puts that make rows go a short way; the others are changes like any. */
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

  /** Applies a change and its effects. @throws the change's mismatch; what maintainers throw. */
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
    // For itself: what is written behind a delete has a later time, in the same millisecond too.
    if (outlived !== undefined && outlived.length > 0)
      step.apply({ table, change: deleteOutlived(row, outlived, isDated === true ? undefined : step.time) });
    if (remains !== undefined && watched) before = RowImage.of(row, step.read(new Get(row)));
    if (!watched) return step.apply({ table, change: asAction(row, mutations) });
    return this.driver.apply({ table, operation, row, before: before!, mutations }, this.maintainers, step);
  }
}

/** What is read of the row: what the change depends on, and its marker where it may stay. */
function readsOf({ row, reads, markerApart }: Change): Get | undefined {
  if (reads !== undefined || markerApart === undefined) return reads;
  return new Get(row).addColumn(markerApart.family, markerApart.qualifier);
}

const DONE: ChangeOutcome = Object.freeze({ ok: true, result: Result.EMPTY });

/** A put that expects nothing, and of which nobody is told. */
function changeOf(put: Put): Change {
  return {
    operation: 'put',
    row: put.row,
    expects: [],
    mismatch: undefined,
    reads: undefined,
    resolve: () => ({ mutations: [put], seen: [] }),
    settled: undefined,
    failed: undefined,
  };
}

function holds(row: Uint8Array, expectation: Expectation, read: RowRead): boolean {
  if (expectation.kind === 'filter') return !read(getIf(row, [expectation])).isEmpty;
  const { family, qualifier } = expectation;
  return isMetBy(expectation, read(new Get(row).addColumn(family, qualifier)).getValue(family, qualifier));
}
