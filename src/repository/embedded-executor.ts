import { RowanError } from '../errors.js';
import {
  type AtomicStep,
  type CheckAndMutateResult,
  type ColumnPuts,
  Get,
  type OperationOptions,
  type PackedPuts,
  type Put,
  Result,
  type RowMutation,
  type RowRead,
  type StepTable,
  takesPackedPuts,
} from '../table/index.js';
import {
  applyAction,
  applyIf,
  asAction,
  type Change,
  type ChangeExecutor,
  type ChangeOutcome,
  checked,
  DONE,
  deleteOutlived,
  type Expectation,
  getIf,
  isSatisfiedBy,
  resolvedFor,
} from './change.js';
import type { PutLater, StepMaintainer } from './maintainer.js';
import { RowImage } from './row-image.js';
import { StepDriver } from './step-driver.js';

/** Changes processed in one turn of the event loop. */
const TURN = 1024;

/** The executor of the embedded engine: reading and writing of a change are one step. */
export class EmbeddedExecutor implements ChangeExecutor {
  readonly write: ChangeExecutor['write'];
  readonly writeIf: ChangeExecutor['writeIf'];
  readonly putAll: ChangeExecutor['putAll'];
  readonly putPacked: ChangeExecutor['putPacked'];
  readonly insertPacked: ChangeExecutor['insertPacked'];

  constructor(
    private readonly table: StepTable,
    private readonly maintainers: readonly StepMaintainer[],
    /** Without maintainers: changes have no effects. */
    private readonly driver = new StepDriver(
      () => [],
      () => 0,
    ),
    /** The family of the shadows of rows; undefined: they have none. */
    private readonly shadows: string | undefined = undefined,
  ) {
    // V8 allocates a function in its old space if the literal itself is assigned to a property: with all that it refers to, here a whole
    // transaction, it would be kept until the next full garbage collection.
    if (maintainers.length === 0) {
      const write: ChangeExecutor['write'] = (row, mutations, options) => this.alone(row, mutations, options);
      const writeIf: ChangeExecutor['writeIf'] = (row, mutations, expected, options) =>
        this.table.checkAndMutate(checked(row, [expected], mutations), options).then(isSuccess);
      this.write = write;
      this.writeIf = writeIf;
    }
    const { effectsOfNewRow, effectsOfNewRows } = maintainers.length === 1 ? maintainers[0]! : NO_FAST_PATHS;
    // Elsewhere the puts may be kept longer than the call lasts.
    const packed = takesPackedPuts(table);
    const effectsOfInserts = maintainers.length === 0 ? noEffects : effectsOfNewRows;
    this.insertPacked =
      packed && effectsOfInserts
        ? (puts, absent, mismatch, options, atomic) => {
            const insert = (from: number, to: number, step: AtomicStep): ChangeOutcome[] => {
              const turn = puts.slice(from, to);
              if (!step.isShared && putNewRows(turn, step, effectsOfInserts))
                return turn.rows.map(() => DONE);
              return turn.toPuts().map((put, i) => {
                const change = insertOf(put, absent, () => mismatch(from + i));
                return atomic ? { ok: true, result: this.apply(change, step) } : this.attempt(change, step);
              });
            };
            const { length } = puts.rows;
            return atomic
              ? this.table.atomic((step) => insert(0, length, step), options)
              : this.inTurns(length, options, insert);
          }
        : undefined;
    if (effectsOfNewRow === undefined && effectsOfNewRows === undefined) return;
    const putAll: ChangeExecutor['putAll'] = (puts, options) =>
      this.inTurns(puts.length, options, (from, to, step) =>
        this.putTurn(puts.slice(from, to), step, effectsOfNewRow),
      );
    this.putAll = putAll;
    if (effectsOfNewRows === undefined || !packed) return;
    this.putPacked = (puts, options) =>
      this.inTurns(puts.rows.length, options, (from, to, step) => {
        const turn = puts.slice(from, to);
        return !step.isShared && putNewRows(turn, step, effectsOfNewRows)
          ? turn.rows.map(() => DONE)
          : this.putTurn(turn.toPuts(), step, effectsOfNewRow);
      });
  }

  run(change: Change, options: OperationOptions | undefined): Promise<Result> {
    if (change.reads === undefined && change.markerApart === undefined && this.maintainers.length === 0)
      return this.direct(change, options);
    return this.table.atomic((step) => this.apply(change, step), options);
  }

  /** A put's promise is the table's own, without one around it. */
  private alone(
    row: Uint8Array,
    mutations: readonly RowMutation[],
    options: OperationOptions | undefined,
  ): Promise<void> {
    const action = asAction(row, mutations);
    if (action.kind === 'put') return this.table.put(action, options);
    return applyAction(this.table, action, options).then(noResult);
  }

  /** Applies a change that reads nothing, and that no maintainer follows. */
  private async direct(change: Change, options: OperationOptions | undefined): Promise<Result> {
    const { row, expects } = change;
    const result = await applyIf(this.table, row, expects, change.resolve(undefined).mutations, options);
    if (result === undefined) throw change.mismatch!();
    return result;
  }

  runAll(changes: readonly Change[], options: OperationOptions | undefined): Promise<ChangeOutcome[]> {
    return this.inTurns(changes.length, options, (from, to, step) =>
      changes.slice(from, to).map((change) => this.attempt(change, step)),
    );
  }

  /** Calls `decide` for up to {@link TURN} items at a time, each time in a step. */
  private async inTurns(
    count: number,
    options: OperationOptions | undefined,
    decide: (from: number, to: number, step: AtomicStep) => readonly ChangeOutcome[],
  ): Promise<ChangeOutcome[]> {
    const outcomes: ChangeOutcome[] = [];
    for (let from = 0; from < count; from += TURN)
      outcomes.push(...(await this.table.atomic((step) => decide(from, from + TURN, step), options)));
    return outcomes;
  }

  /** Fast path for puts that create rows, if there is one. Other puts go the general way. */
  private putTurn(
    puts: readonly Put[],
    step: AtomicStep,
    effectsOfNewRow: StepMaintainer['effectsOfNewRow'],
  ): readonly ChangeOutcome[] {
    const table = this.table.name;
    const putLater: PutLater | undefined =
      effectsOfNewRow === undefined || step.isShared || step.putLater === undefined
        ? undefined
        : (later) => step.putLater!(later);
    let put: Put;
    const putNew = (): boolean => {
      if (!effectsOfNewRow!(put, putLater!)) return false;
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
    const isMaintained = this.maintainers.length > 0;
    const reads = isMaintained ? new Get(row) : readsOf(change);
    let before = reads && RowImage.of(row, step.read(reads));
    if (!expects.every((expectation) => holds(row, expectation, step.read))) throw change.mismatch!();
    const resolved = before === undefined ? change.resolve(before) : resolvedFor(change, before);
    const { mutations, remains, isDated } = resolved;
    if (mutations.length === 0) return Result.EMPTY;
    const outlived = remains?.in(RowImage.of(row, step.read(remains.reads))) ?? resolved.outlived;
    const { operation } = change;
    const table = this.table.name;
    // A separate change: what follows a delete gets a later timestamp, even within the millisecond. It is attempted by itself, so that the
    // mutations do not count as what belongs to a removal, which a full store takes.
    if (outlived !== undefined && outlived.length > 0) {
      const removal = deleteOutlived(row, outlived, isDated === true ? undefined : step.time);
      step.attempt(() => step.apply({ table, change: removal }));
    }
    if (remains !== undefined && isMaintained) before = RowImage.of(row, step.read(new Get(row)));
    if (!isMaintained) return step.apply({ table, change: asAction(row, mutations) });
    const { shadows } = this;
    const decided = { table, operation, row, before: before!, mutations, shadows };
    return this.driver.apply(decided, this.maintainers, step);
  }
}

/** The columns to read: those the change depends on, and the marker where it may be left as it is. */
function readsOf({ row, reads, markerApart }: Change): Get | undefined {
  if (reads !== undefined || markerApart === undefined) return reads;
  return new Get(row).addColumn(markerApart.family, markerApart.qualifier);
}

function noResult(): void {}

function isSuccess({ success }: CheckAndMutateResult): boolean {
  return success;
}

const NO_FAST_PATHS: Pick<StepMaintainer, 'effectsOfNewRow' | 'effectsOfNewRows'> = {};

/** False, and nothing is put: the rows are not certain to be new, or the puts have to be processed one by one. */
function putNewRows(
  puts: PackedPuts,
  step: AtomicStep,
  effectsOfNewRows: (puts: PackedPuts) => ColumnPuts | 'none' | undefined,
): boolean {
  try {
    return step.putNewRows?.(puts, () => effectsOfNewRows(puts)) ?? false;
  } catch (error) {
    // Nothing was put. Put one by one, some of the rows may be accepted.
    if (error instanceof RowanError) return false;
    throw error;
  }
}

/** No row changes with these puts. */
function noEffects(): 'none' {
  return 'none';
}

/** A put of an entity that must not exist. */
function insertOf(put: Put, absent: Expectation, mismatch: () => RowanError): Change {
  return { ...changeOf(put), operation: 'insert', expects: [absent], mismatch };
}

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
  return isSatisfiedBy(
    expectation,
    read(new Get(row).addColumn(family, qualifier)).getValue(family, qualifier),
  );
}
