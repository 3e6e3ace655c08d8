/** The executor of HBase: the writing step re-checks what a change has read. */

import { equalBytes, toHex } from '../../bytes/index.js';
import { ConflictError, RowanError, TimeoutError, UnsupportedError } from '../../errors.js';
import { isGet } from '../../table/get-and-scan.js';
import {
  type BatchAction,
  type BatchOutcome,
  type CheckAndMutate,
  Get,
  type OperationOptions,
  type Put,
  Result,
  type RowMutation,
  type Table,
  takesPackedPuts,
} from '../../table/index.js';
import {
  applyIf,
  asAction,
  type Change,
  type ChangeExecutor,
  type ChangeOutcome,
  checked,
  chunksOf,
  DONE,
  deleteOutlived,
  type Expectation,
  getIf,
  hasDelete,
  leavingMarker,
  type Remains,
  type ResolvedChange,
  resolvedFor,
} from '../change.js';
import { WholeCall } from '../options.js';
import { RowImage } from '../row-image.js';
import { nextMillisecond, pauseBefore, ROW_ATTEMPTS, RowLock, type RowUse } from '../row-lock.js';

export class RemoteExecutor implements ChangeExecutor {
  readonly putPacked: ChangeExecutor['putPacked'];

  constructor(
    private readonly table: Table,
    private readonly rowLock: RowLock = new RowLock(),
  ) {
    if (!takesPackedPuts(table)) return;
    this.putPacked = async (puts, options) => {
      const call = WholeCall.of(options, table);
      const errors = await rowLock.runPuts(puts.rows, () => table.putPacked(puts, call), call);
      return puts.rows.map((_, i): ChangeOutcome => {
        const error = errors[i];
        return error === undefined ? DONE : { ok: false, error };
      });
    };
  }

  async run(change: Change, options: OperationOptions | undefined): Promise<Result> {
    const call = WholeCall.of(options, this.table);
    if (change.reads !== undefined) return this.readAndWrite(change, call);
    const resolved = change.resolve(undefined);
    const use = useOf(asAction(change.row, resolved.mutations), change.addsOnly);
    return this.rowLock.run(change.row, use, () => this.attempt(change, resolved, call), call);
  }

  private async attempt(change: Change, { mutations }: ResolvedChange, call: WholeCall): Promise<Result> {
    const { row, expects } = change;
    const leaving = leavingMarker(change);
    const result =
      (leaving &&
        (await applyIf(this.table, row, leaving.expects, leaving.resolve(undefined).mutations, call))) ??
      (await applyIf(this.table, row, expects, mutations, call));
    if (result === undefined) throw change.mismatch!();
    return result;
  }

  /** Such changes of one row run one after another in this process. Those of other processes cause a retry. */
  private readAndWrite(change: Change, options: WholeCall): Promise<Result> {
    const write = async (): Promise<Result> => {
      for (let attempt = 0; attempt < ROW_ATTEMPTS; attempt++) {
        if (attempt > 0) await pauseBefore(attempt);
        const before = RowImage.of(change.row, await this.table.get(change.reads!, options));
        const { mutations: put, seen, outlived, remains } = resolvedFor(change, before);
        if (remains !== undefined && (await this.removed(change.row, remains, seen, options))) continue;
        const mutations =
          outlived === undefined || outlived.length === 0
            ? put
            : [...put, deleteOutlived(change.row, outlived)];
        // A tombstone hides cells written in the same millisecond (R32).
        if (outlived !== undefined && outlived.length > 0) await nextMillisecond();
        if (mutations.length === 0) {
          if (await this.meets(change, options)) return Result.EMPTY;
          throw change.mismatch!();
        }
        const expectations = [...change.expects, ...seen];
        const result = await applyIf(this.table, change.row, expectations, mutations, options);
        if (result !== undefined) return result;
        if (change.expects.length > 0 && !(seen.length > 0 && (await this.meets(change, options))))
          throw change.mismatch!();
      }
      throw new ConflictError(
        `Other writers changed the row at each of ${ROW_ATTEMPTS} attempts of the ${change.operation}. Try again later.`,
        { retryable: true, details: { table: this.table.name, keyHex: toHex(change.row) } },
      );
    };
    return this.rowLock.run(change.row, 'alone', write, options);
  }

  /** Deletes the remaining cells of an expired entity. @returns false when there are none. */
  private async removed(
    row: Uint8Array,
    remains: Remains,
    seen: readonly Expectation[],
    options: OperationOptions | undefined,
  ): Promise<boolean> {
    const left = remains.in(RowImage.of(row, await this.table.get(remains.reads, options)));
    if (left.length === 0) return false;
    await this.table.checkAndMutate(checked(row, seen, [deleteOutlived(row, left)]), options);
    return true;
  }

  /** Whether the row is now as the caller expects. */
  private async meets({ row, expects }: Change, options: OperationOptions | undefined): Promise<boolean> {
    return expects.length === 0 || !(await this.table.get(getIf(row, expects), options)).isEmpty;
  }

  async runAll(changes: readonly Change[], options: OperationOptions | undefined): Promise<ChangeOutcome[]> {
    const outcomes: ChangeOutcome[] = [];
    const call = WholeCall.of(options, this.table);
    // Changes that must read first are not sent with others.
    const isAlike = ([first]: readonly Change[], change: Change): boolean =>
      (first!.reads === undefined) === (change.reads === undefined);
    for (const chunk of chunksOf(changes, isAlike)) {
      const own =
        chunk[0]!.reads === undefined
          ? await this.send(chunk, call)
          : await Promise.all(chunk.map((change) => this.outcomeOf(change, call)));
      outcomes.push(...own);
    }
    return outcomes;
  }

  private async outcomeOf(change: Change, options: OperationOptions | undefined): Promise<ChangeOutcome> {
    try {
      return { ok: true, result: await this.run(change, options) };
    } catch (error) {
      if (error instanceof RowanError) return { ok: false, error };
      throw error;
    }
  }

  private async send(changes: readonly Change[], call: WholeCall): Promise<ChangeOutcome[]> {
    const tried = changes.map((change) => leavingMarker(change) ?? change);
    const actions = tried.map(
      (change): BatchAction =>
        change.expects.length === 0
          ? asAction(change.row, change.resolve(undefined).mutations)
          : checkedChange(change),
    );
    const rows = changes.map(({ row, addsOnly }, i) => ({ row, use: useOf(actions[i]!, addsOnly) }));
    let answers: readonly BatchOutcome[];
    try {
      answers = await this.rowLock.runAll(rows, () => this.table.batch(actions, call), call);
    } catch (error) {
      // The time was over before these were sent. Changes of earlier chunks are made.
      if (error instanceof TimeoutError) return changes.map(() => ({ ok: false, error }));
      throw error;
    }
    const outcomes = answers.map((answer, index): ChangeOutcome | Promise<ChangeOutcome> => {
      if (!answer.ok) return answer;
      if (answer.success !== false) return { ok: true, result: answer.result };
      const change = changes[index]!;
      if (tried[index] !== change) return this.outcomeOf({ ...change, markerApart: undefined }, call);
      return { ok: false, error: change.mismatch!() };
    });
    return Promise.all(outcomes);
  }

  async putAll(puts: readonly Put[], options: OperationOptions | undefined): Promise<ChangeOutcome[]> {
    const rows = puts.map(({ row }) => row);
    const call = WholeCall.of(options, this.table);
    const answers = await this.rowLock.runPuts(rows, () => this.table.batch(puts, call), call);
    return answers.map((answer) => (answer.ok ? DONE : answer));
  }

  async runAtomic(): Promise<Result[]> {
    throw new UnsupportedError(
      'The HBase engine has no atomic batches over rows (capability atomicBatch). Put what belongs together into ' +
        'one row, or leave out `atomic`.',
    );
  }
}

/** A change that reads nothing, as one step that checks and writes. */
function checkedChange(change: Change): CheckAndMutate {
  return checked(change.row, change.expects, change.resolve(undefined).mutations);
}

/** `addsOnly`: apart from increments and appends the action only marks its row. */
function useOf(action: BatchAction, addsOnly: boolean | undefined): RowUse {
  if (isGet(action)) return 'puts';
  const change = action.kind === 'checkAndMutate' ? action.action : action;
  const mutations = change.kind === 'rowMutations' ? change.mutations : [change];
  if (mutations.every(({ kind }) => kind === 'put')) return 'puts';
  return addsOnly === true && !hasDelete(change) ? 'adds' : 'alone';
}

/** Applies changes to other rows than those that they name: to rows that these follow. */
export class RedirectingExecutor implements ChangeExecutor {
  constructor(
    private readonly inner: ChangeExecutor,
    private readonly rowOf: (row: Uint8Array) => Uint8Array,
  ) {}

  run(change: Change, options: OperationOptions | undefined): Promise<Result> {
    return this.inner.run(this.redirected(change), options);
  }

  runAll(changes: readonly Change[], options: OperationOptions | undefined): Promise<ChangeOutcome[]> {
    return this.inner.runAll(
      changes.map((change) => this.redirected(change)),
      options,
    );
  }

  runAtomic(changes: readonly Change[], options: OperationOptions | undefined): Promise<Result[]> {
    return this.inner.runAtomic(
      changes.map((change) => this.redirected(change)),
      options,
    );
  }

  private redirected(change: Change): Change {
    const row = this.rowOf(change.row);
    if (equalBytes(row, change.row)) return change;
    return {
      ...change,
      row,
      reads: change.reads && new Get(row),
      resolve: (before) => {
        const { mutations, ...rest } = change.resolve(before);
        return { ...rest, mutations: mutations.map((mutation) => movedTo(mutation, row)) };
      },
    };
  }
}

/** The same mutation of another row. */
function movedTo<M extends RowMutation>(mutation: M, row: Uint8Array): M {
  return Object.assign(Object.create(Object.getPrototypeOf(mutation) as object) as M, mutation, { row });
}
