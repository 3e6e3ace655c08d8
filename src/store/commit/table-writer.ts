import { toStringBinary } from '../../bytes/index.js';
import { asRowanError, InvalidArgumentError } from '../../errors.js';
import {
  CellType,
  type CheckAndMutate,
  type CheckAndMutateResult,
  type CommitOutcome,
  LATEST_TIMESTAMP,
  type PackedPuts,
  type Put,
  type Result,
  type RowMutation,
  type RowMutations,
  type TableChange,
} from '../../table/index.js';
import type { Region } from '../region/region.js';
import type { TableState } from '../table-state.js';
import type { WriteThrottle } from '../write-throttle.js';
import {
  type BegunWrite,
  type CommitHealth,
  type EffectiveDurability,
  isSynced,
  WrittenCells,
} from './commit-queue.js';
import { applyToMemstore, Preparation, type PreparedRow, strictest } from './preparation.js';
import { PackedPutBatch, PutBatch } from './put-batches.js';
import { checkRow } from './row-operations.js';
import { WriteRecordBuilder } from './write-record.js';
import { type StepCore, WriteStep } from './write-step.js';

// — The changes that share a log record must not depend on each other.

/** A change of one row of a table. */
interface StateChange {
  readonly state: TableState;
  readonly change: RowMutation | RowMutations;
  /** As {@link TableChange.timestampsAssigned}. */
  readonly timestampsAssigned?: boolean | undefined;
}

/** Increments, appends and deletes of the newest version read their row before anything of the batch is written. */
function checkIndependent(changes: readonly StateChange[]): void {
  if (changes.every(({ change }) => change.kind === 'put')) return;
  const readers = new Set<string>();
  const seen = new Set<string>();
  for (const { state, change } of changes) {
    const row = `${state.id}:${Buffer.from(change.row).toString('latin1')}`;
    const reads = readsItsRow(change);
    if (readers.has(row) || (reads && seen.has(row))) {
      throw new InvalidArgumentError(
        `An atomic batch has several changes of row ${toStringBinary(change.row)}, one of which reads it ` +
          '(increment, append, row mutations). Put all changes of that row into one RowMutations.',
      );
    }
    seen.add(row);
    if (reads) readers.add(row);
  }
}

function readsItsRow(mutation: RowMutation | RowMutations): boolean {
  if (mutation.kind === 'put') return false;
  if (mutation.kind === 'rowMutations') return mutation.mutations.some(readsItsRow);
  if (mutation.kind !== 'delete') return true;
  return mutation.cells.some((cell) => cell.type === CellType.Delete && cell.timestamp === LATEST_TIMESTAMP);
}

/** The longest record, in bytes, that the log can write and read back. */
const MAX_RECORD_BYTES = 2 ** 30;

/** A synced write of so many rows is logged before it is added to the memstores, which then happens while the disk works. */
const ROWS_ADDED_WHILE_SYNCING = 16;

/** The parts of the store that the writer uses. */
interface WriterCore extends StepCore {
  readonly journal: CommitHealth;
  readonly throttle: WriteThrottle;
  readonly log: {
    /** Stages a record with `count` writes from number `first`. @throws RowanError when the log cannot accept it. */
    append(first: number, count: number, record: WriteRecordBuilder): void;
  };
}

/**
 * Applies changes to the store: checks them, adds their cells to the memstores, numbers them and appends them to the log.
 * They are acknowledged when the commit queue says so. Everything up to the append happens in one turn of the event loop,
 * without an `await`, so rows need no lock.
 */
export class TableWriter {
  private readonly preparation: Preparation;
  private readonly recordBuilder = new WriteRecordBuilder();
  /** The greatest clock that the log has recorded, unless it lost records since. */
  private clockInLog = 0;
  /** As {@link clockInLog}, of the time. */
  private timeInLog = 0;
  /** `commits.losses` when the two were recorded last. After a loss they are recorded again. */
  private lossesBefore = 0;

  constructor(private readonly core: WriterCore) {
    this.preparation = new Preparation(core);
  }

  /** Applies one change; resolves when it has reached its durability. */
  async mutate(state: TableState, change: RowMutation | RowMutations): Promise<Result> {
    if (this.isObserved(state)) return this.step(state, (step) => step.applyTo(state, change));
    this.core.rowClock.now();
    const prepared = this.prepare(state, change);
    await this.write([prepared]);
    return prepared.result;
  }

  /** Like {@link mutate}, for a change without a result. Also throws. */
  put(state: TableState, put: Put): Promise<void> {
    if (this.isObserved(state)) return this.step(state, (step) => void step.applyTo(state, put));
    this.core.rowClock.now();
    return this.write([this.prepare(state, put)]);
  }

  async checkAndMutate(state: TableState, check: CheckAndMutate): Promise<CheckAndMutateResult> {
    const reader = this.core.reads.rowReader(state, check.row);
    if (check.condition.kind === 'column' && !state.familyNumbers.has(check.condition.family)) {
      throw state.noSuchFamily(check.condition.family);
    }
    const outcome = checkRow(check.row, check.condition, reader);
    if (!outcome.matches) {
      // The compared value may not be durable yet, and the answer must not survive a crash that the value does not.
      await this.core.commits.awaitPrior();
      return { success: false, result: undefined };
    }
    let result: Result;
    if (this.isObserved(state)) {
      result = await this.step(state, (step) => step.applyTo(state, check.action, outcome.timestamp));
    } else {
      this.core.rowClock.now();
      const prepared = this.prepare(state, check.action, outcome.timestamp);
      await this.write([prepared]);
      ({ result } = prepared);
    }
    return { success: true, result: result.isEmpty ? undefined : result };
  }

  /** Applies independent puts with one log record. Returns the error of each, undefined for success. */
  async putEach(state: TableState, puts: readonly Put[]): Promise<(unknown | undefined)[]> {
    if (this.isObserved(state)) {
      const outcomes = await this.commitInStep(puts.map((change) => [{ state, change }]));
      return outcomes.map((outcome) => (outcome.ok ? undefined : outcome.error));
    }
    this.core.rowClock.now();
    const rows: PreparedRow[] = [];
    const errors: (unknown | undefined)[] = new Array(puts.length);
    for (let i = 0; i < puts.length; i++) {
      try {
        rows.push(this.prepare(state, puts[i]!));
      } catch (error) {
        errors[i] = error;
      }
    }
    if (rows.length === 0) return errors;
    try {
      await this.write(rows);
      return errors;
    } catch (error) {
      return errors.fill(error);
    }
  }

  /** Whether {@link putPacked} can apply the puts; else `putEach` finds out what is wrong with which of them. */
  takesPacked(state: TableState, puts: PackedPuts): boolean {
    return !this.isObserved(state) && PackedPutBatch.isAccepted(state, puts);
  }

  /** Like `putEach`, for puts that {@link takesPacked} accepts, in the same turn. */
  async putPacked(state: TableState, puts: PackedPuts): Promise<void> {
    if (puts.rows.length === 0) return;
    this.core.space.checkPut(state, puts.rows.length);
    this.core.rowClock.now();
    const batch = this.preparation.preparePacked(state, puts);
    await this.apply([batch], puts.rows.length, undefined, (seq, cells) => batch.apply(seq, cells));
  }

  /**
   * Applies changes of several rows with one log record: all of them, or none.
   * @throws InvalidArgumentError when one reads a row that another one writes, because it would not see that write.
   */
  async mutateAll(state: TableState, changes: readonly (RowMutation | RowMutations)[]): Promise<Result[]> {
    checkIndependent(changes.map((change) => ({ state, change })));
    if (this.isObserved(state)) {
      return this.step(state, (step) => changes.map((change) => step.applyTo(state, change)));
    }
    this.core.rowClock.now();
    const rows = changes.map((change) => this.prepare(state, change));
    if (rows.length > 0) await this.write(rows);
    return rows.map((row) => row.result);
  }

  /**
   * Applies groups of changes, of any tables, with one log record. A group is applied whole, or not at all if one of its changes
   * is refused.
   * @throws InvalidArgumentError as {@link mutateAll}; the log's error, when nothing was written.
   */
  async commit(groups: readonly (readonly StateChange[])[]): Promise<CommitOutcome[]> {
    checkIndependent(groups.flat());
    if (groups.some((group) => group.some(({ state }) => this.isObserved(state)))) {
      return this.commitInStep(groups);
    }
    this.core.rowClock.now();
    const rows: PreparedRow[] = [];
    const outcomes = groups.map((group): CommitOutcome => {
      try {
        const own = group.map(({ state, change, timestampsAssigned }) =>
          this.prepare(state, change, 0, timestampsAssigned),
        );
        rows.push(...own);
        return { ok: true, results: own.map(({ result }) => result) };
      } catch (error) {
        return { ok: false, error: asRowanError(error) };
      }
    });
    // What the changes were decided on may not be durable yet, and the answer must not survive a crash that it does not.
    if (rows.length === 0) await this.core.commits.awaitPrior();
    else await this.write(rows);
    return outcomes;
  }

  /**
   * Runs `decide` in this turn. All that it applies becomes one log record, whole or not at all. If it throws, nothing is written,
   * and its error is passed on once everything that it may have read is durable.
   */
  async step<T>(state: TableState, decide: (step: WriteStep) => T): Promise<T> {
    const { core } = this;
    core.journal.checkWritable();
    this.checkNoStep();
    core.rowClock.now();
    const step = new WriteStep(core, this.preparation, state);
    let answer: T;
    try {
      answer = core.reads.asOf(core.rowClock.systemTime, () => {
        const decided = decide(step);
        if (decided instanceof Promise) throw stepIsAsync(decided);
        step.record();
        return decided;
      });
    } catch (error) {
      core.commits.abort(step.begun, error);
      step.end();
      await core.commits.awaitPrior();
      throw error;
    }
    step.end();
    await this.finish(step.begun, step.prepared, step.rows);
    if (step.rows > 0) step.committed();
    return answer;
  }

  /** Applies groups of changes, each whole or not at all, together with what observers add to them. */
  private commitInStep(groups: readonly (readonly StateChange[])[]): Promise<CommitOutcome[]> {
    const own = groups.find((group) => group.length > 0)?.[0]?.state;
    if (own === undefined) return Promise.resolve(groups.map(() => ({ ok: true, results: [] })));
    return this.step(own, (step) =>
      groups.map((group): CommitOutcome => {
        step.beginGroup();
        const before = step.savepoint();
        try {
          const results = group.map(({ state, change, timestampsAssigned }) =>
            step.applyTo(state, change, 0, timestampsAssigned),
          );
          return { ok: true, results };
        } catch (error) {
          step.rollbackTo(before);
          return { ok: false, error: asRowanError(error) };
        }
      }),
    );
  }

  private prepare(
    state: TableState,
    change: RowMutation | RowMutations,
    notBefore = 0,
    timestampsAssigned = false,
  ): PreparedRow {
    this.core.space.check(state, change);
    return this.preparation.prepare(state, change, notBefore, timestampsAssigned);
  }

  private isObserved(state: TableState): boolean {
    const { observers, recorders } = this.core;
    return observers.of(state.name) !== undefined || recorders.of(state.name) !== undefined;
  }

  /**
   * Writes the rows in this turn; resolves when they are acknowledged.
   * @throws RowanError when the log cannot accept them: nothing was written.
   */
  private write(rows: readonly PreparedRow[]): Promise<void> {
    const upserts = rows.some((row) => row.upserts) ? new WrittenCells() : undefined;
    return this.apply(rows, rows.length, upserts, (seq, cells) => {
      for (let i = 0; i < rows.length; i++) applyToMemstore(rows[i]!, seq + i, cells, upserts);
    });
  }

  /**
   * Adds cells to the memstores by `add`, which gets the first sequence number, and logs what was prepared: after that, or before if it
   * is much and is to be synced.
   */
  private apply(
    prepared: readonly (PreparedRow | PutBatch)[],
    rows: number,
    upserts: WrittenCells | undefined,
    add: (seq: number, cells: WrittenCells) => void,
  ): Promise<void> {
    const { commits, journal } = this.core;
    journal.checkWritable();
    this.checkNoStep();
    const cells = new WrittenCells();
    const begun = commits.begin(cells, upserts);
    const { seq } = begun;
    if (rows >= ROWS_ADDED_WHILE_SYNCING && prepared.some(({ durability }) => isSynced(durability)))
      return this.finish(begun, prepared, rows, () => add(seq, cells));
    try {
      add(seq, cells);
    } catch (error) {
      commits.abort(begun, error);
      throw error;
    }
    return this.finish(begun, prepared, rows);
  }

  /** Logs what is in the memstores already, or is added by `add`; then updates counters and the write throttle. */
  private finish(
    begun: BegunWrite,
    prepared: readonly (PreparedRow | PutBatch)[],
    rows: number,
    add?: () => void,
  ): Promise<void> {
    const { commits } = this.core;
    let done: Promise<void>;
    try {
      done = this.logAndCommit(begun, prepared, rows, add);
    } catch (error) {
      commits.abort(begun, error);
      throw error;
    }
    for (let i = 0; i < prepared.length; i++) {
      const each = prepared[i]!;
      if (each instanceof PutBatch) {
        for (const { region, rows, bytes } of each.parts) this.wrote(region, rows, bytes);
      } else this.wrote(each.region, 1, each.bytes);
    }
    return done;
  }

  private wrote(region: Region, rows: number, bytes: number): void {
    region.writeRequests += rows;
    this.core.throttle.wrote(region, rows, bytes);
  }

  /** Numbers the rows, appends them to the log and commits them. @throws RowanError when the log cannot accept them. */
  private logAndCommit(
    begun: BegunWrite,
    prepared: readonly (PreparedRow | PutBatch)[],
    rows: number,
    add: (() => void) | undefined,
  ): Promise<void> {
    const { commits, rowClock } = this.core;
    let durability: EffectiveDurability = 'SKIP_WAL';
    for (let i = 0; i < prepared.length; i++) durability = strictest(durability, prepared[i]!.durability);
    const { highest, time } = rowClock;
    const recordsClock =
      durability !== 'SKIP_WAL' &&
      (highest > this.clockInLog || time > this.timeInLog || this.lossesBefore < commits.losses);
    const count = recordsClock ? rows + 1 : rows;
    const first = commits.allocate(count);
    if (durability !== 'SKIP_WAL') this.append(prepared, first, count, recordsClock);
    return commits.commit(begun, first + count - 1, durability, add);
  }

  /** The numbers of a running step are not assigned yet: another write would take them. */
  private checkNoStep(): void {
    if (!this.core.commits.isWriting) return;
    throw new InvalidArgumentError(
      'A write was started inside an atomic step. Apply it to the step (`apply`), or return it from the observer.',
    );
  }

  private append(
    prepared: readonly (PreparedRow | PutBatch)[],
    first: number,
    count: number,
    recordsClock: boolean,
  ): void {
    const { recordBuilder: builder } = this;
    const { highest, time } = this.core.rowClock;
    builder.reset();
    for (let i = 0; i < prepared.length; i++) {
      const each = prepared[i]!;
      if (each instanceof PutBatch) each.record(builder);
      else recordRow(builder, each);
    }
    if (recordsClock) builder.clock(highest, time);
    if (builder.length > MAX_RECORD_BYTES) throw tooLarge(builder.length);
    this.core.log.append(first, count, builder);
    builder.reset();
    if (!recordsClock) return;
    this.clockInLog = highest;
    this.timeInLog = time;
    this.lossesBefore = this.core.commits.losses;
  }
}

function recordRow(builder: WriteRecordBuilder, { state, row, cells, now, ttls, ttl }: PreparedRow): void {
  builder.beginMutation(state.id, row, cells.length);
  let last = '';
  let familyNumber = 0;
  for (let i = 0; i < cells.length; i++) {
    const { family, qualifier, timestamp, type, value } = cells[i]!;
    if (family !== last) {
      last = family;
      familyNumber = state.familyNumbers.get(family)!;
    }
    const time = timestamp === LATEST_TIMESTAMP ? now : timestamp;
    builder.cell(familyNumber, qualifier, time, type, ttls ? ttls[i]! : ttl, value);
  }
}

function stepIsAsync(answer: Promise<unknown>): InvalidArgumentError {
  answer.catch(() => undefined);
  return new InvalidArgumentError(
    'The function of an atomic step returned a promise. It must run in one turn: read and apply without await.',
  );
}

function tooLarge(bytes: number): InvalidArgumentError {
  return new InvalidArgumentError(
    `The changes have ${bytes} bytes in total; one write may have ${MAX_RECORD_BYTES}. Send them in several batches.`,
  );
}
