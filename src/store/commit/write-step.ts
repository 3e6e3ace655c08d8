import { equalBytes, toLatin1 } from '../../bytes/index.js';
import { InvalidArgumentError } from '../../errors.js';
import {
  type AtomicStep,
  Cell,
  CellWithTtl,
  type CommitRecorder,
  type CommitRecorders,
  type CommittedRow,
  Get,
  LATEST_TIMESTAMP,
  Put,
  type Result,
  type Scan,
  type TableChange,
  type WaitingPut,
  type WriteObservers,
} from '../../table/index.js';
import type { TableState } from '../table-state.js';
import type { BegunWrite, CommitQueue, SettledDurability } from './commit-queue.js';
import { applyBatchToMemstore, applyToMemstore, DeferredPuts } from './deferred-puts.js';
import {
  type Preparation,
  type PreparationCore,
  type PreparedRow,
  type SortedPutBatch,
  strictest,
} from './preparation.js';
import type { RowReader } from './row-operations.js';
import { WrittenCells } from './written-cells.js';

/** Rows of recorded tables that a step changes: as they were, and at its end as it leaves them. */

interface Touched {
  readonly state: TableState;
  readonly row: Uint8Array;
  readonly before: Result;
}

export class CommitRecording {
  private readonly touched = new Map<string, Touched>();
  private readonly told = new Set<CommitRecorder>();

  constructor(private readonly rowReader: (state: TableState, row: Uint8Array) => RowReader) {}

  /** Called before each change of a row. What is taken back later leaves the row as it was noted. */
  note(state: TableState, row: Uint8Array, recorders: readonly CommitRecorder[]): void {
    const key = `${state.id} ${toLatin1(row)}`;
    if (this.touched.has(key) || !recorders.some((recorder) => recorder.wants(state.name, row))) return;
    for (const recorder of recorders) this.told.add(recorder);
    this.touched.set(key, { state, row: row.slice(), before: this.read(state, row) });
  }

  /** Writes that recorders add. */
  *finish(number: number, durability: SettledDurability): Generator<TableChange> {
    const rows: CommittedRow[] = [];
    for (const { state, row, before } of this.touched.values()) {
      const after = this.read(state, row);
      if (!isSame(before, after)) rows.push({ table: state.name, row, before, after });
    }
    if (rows.length === 0) return;
    for (const recorder of this.told) {
      const wanted = rows.filter(({ table, row }) => recorder.wants(table, row));
      if (wanted.length > 0) yield* recorder.record({ number, durability, rows: wanted });
    }
  }

  /** The step can be read. */
  committed(): void {
    for (const recorder of this.told) recorder.committed();
  }

  private read(state: TableState, row: Uint8Array): Result {
    return this.rowReader(state, row).read(new Get(row));
  }
}

/** Whether both have the same columns and values, whenever they were written. */
function isSame(a: Result, b: Result): boolean {
  return (
    a.cells.length === b.cells.length &&
    a.cells.every((cell, i) => {
      const other = b.cells[i]!;
      return (
        cell.family === other.family &&
        equalBytes(cell.qualifier, other.qualifier) &&
        equalBytes(cell.value, other.value)
      );
    })
  );
}

/**
 * A step of writes: changes of any rows and tables that are made one after the other in one turn of the event loop, each
 * seen by what is read and changed behind it, and that are one record of the log. They stand in the memstores at once,
 * with numbers that no reader's read point has reached; what is taken back leaves nothing behind.
 */

/** The parts of the store that steps use. */
export interface StepCore extends PreparationCore {
  readonly commits: CommitQueue;
  readonly observers: WriteObservers;
  readonly recorders: CommitRecorders;
  readonly catalog: {
    /** @throws RowanError when there is no such table, or none that takes writes now. */
    writableTable(name: string): TableState;
  };
  readonly reads: PreparationCore['reads'] & {
    /** The rows of a scan with every write so far, durable or not. */
    scanUncommitted(state: TableState, scan: Scan): Result[];
  };
}

/** Observers that answer each other's changes for ever are stopped here. */
const MOST_NESTED = 16;

/** How far a step had come. */
interface Savepoint {
  readonly prepared: number;
  readonly rows: number;
  readonly cells: number;
  readonly upserts: number;
  readonly waiting: number;
  readonly made: number;
}

export class WriteStep implements AtomicStep {
  readonly prepared: (PreparedRow | SortedPutBatch)[] = [];
  /** How many rows they are. */
  rows = 0;
  private readonly cells = new WrittenCells();
  private readonly upserts = new WrittenCells();
  /** The place in the queue of writes, from before its first change. */
  readonly begun: BegunWrite;
  private recording: CommitRecording | undefined;
  /** Of the table that was asked for last. */
  private waiting: DeferredPuts | undefined;
  private depth = 0;
  private ended = false;

  constructor(
    private readonly core: StepCore,
    private readonly preparation: Preparation,
    /** The table that is meant where none is named. */
    private readonly own: TableState,
  ) {
    this.begun = core.commits.begin(this.cells, this.upserts);
  }

  get time(): number {
    return this.core.rowClock.time;
  }

  readonly read = (get: Get, table?: string): Result => {
    this.checkRunning();
    return this.core.reads.rowReader(this.lookedAt(table), get.row).read(get);
  };

  readonly scan = (scan: Scan, table?: string): readonly Result[] => {
    this.checkRunning();
    return this.core.reads.scanUncommitted(this.lookedAt(table), scan);
  };

  apply({ table, change, settled }: TableChange): Result {
    this.checkRunning();
    return this.applyTo(this.lookedAt(table), change, 0, settled);
  }

  putLater(put: WaitingPut): void {
    this.checkRunning();
    const { observers, recorders } = this.core;
    const state = this.stateOf(put.table);
    if (observers.of(state.name) === undefined && recorders.of(state.name) === undefined) {
      this.waiting ??= new DeferredPuts(state);
      if (this.waiting.state === state && this.waiting.add(put)) return;
    }
    const { table, row, family, qualifier, value, durability } = put;
    const change = new Put(row).setDurability(durability).addColumn(family, qualifier, value);
    this.apply({ table, change });
  }

  /** The table, with what waited for somebody to look at it. */
  private lookedAt(table: string | undefined): TableState {
    const state = this.stateOf(table);
    if (this.waiting?.state === state) this.makeWaiting(this.waiting);
    return state;
  }

  private makeWaiting(waiting: DeferredPuts): void {
    if (waiting.made === waiting.count) return;
    // All of them or none: they would be lost, else, for who goes on behind the error.
    this.attempt(() => {
      const run = waiting.take(this.preparation);
      this.prepared.push(run);
      applyBatchToMemstore(run, this.begun.seq + this.rows, this.cells);
      this.rows += run.rows.length;
    });
  }

  attempt<T>(work: () => T): T {
    const before = this.savepoint();
    try {
      return work();
    } catch (error) {
      this.backTo(before);
      throw error;
    }
  }

  /**
   * Applies a change, with what the observers of its table add. `notBefore` and `settled`: as `Preparation.prepare` takes
   * them.
   */
  applyTo(state: TableState, change: TableChange['change'], notBefore = 0, settled = false): Result {
    const observers = this.core.observers.told(state.name, change);
    if (observers === undefined) return this.write(state, change, notBefore, settled).result;
    if (this.depth === MOST_NESTED) throw tooDeep(state.name);
    this.depth++;
    const write = {
      table: state.name,
      change,
      read: (get: Get, table = state.name) => this.read(get, table),
    };
    for (const { before } of observers) this.applyAll(before?.(write));
    const prepared = this.write(state, change, notBefore, settled);
    const behind = { ...write, stored: () => storedCells(prepared) };
    for (const { after } of observers) this.applyAll(after?.(behind));
    this.depth--;
    return prepared.result;
  }

  private applyAll(changes: unknown): void {
    if (changes === undefined) return;
    if (!Array.isArray(changes)) throw asynchronous();
    for (const change of changes as readonly TableChange[]) this.apply(change);
  }

  private write(
    state: TableState,
    change: TableChange['change'],
    notBefore: number,
    settled: boolean,
  ): PreparedRow {
    const recorders = this.core.recorders.of(state.name);
    if (recorders !== undefined) this.note(state, change.row, recorders);
    const row = this.preparation.prepare(state, change, notBefore, settled);
    const { cells, upserts } = this;
    const cellsBefore = cells.count;
    const upsertsBefore = upserts.count;
    try {
      applyToMemstore(row, this.begun.seq + this.rows, cells, row.upserts && upserts);
    } catch (error) {
      this.rollback(this.prepared.length, this.rows, cellsBefore, upsertsBefore);
      throw error;
    }
    this.prepared.push(row);
    this.rows++;
    return row;
  }

  private note(state: TableState, row: Uint8Array, recorders: readonly CommitRecorder[]): void {
    this.recording ??= new CommitRecording((table, key) => this.core.reads.rowReader(table, key));
    this.recording.note(state, row, recorders);
  }

  /** Has what was changed recorded, behind all of it. @throws what recorders throw. */
  record(): void {
    if (this.waiting !== undefined) this.makeWaiting(this.waiting);
    if (this.recording === undefined) return;
    let durability: SettledDurability = 'SKIP_WAL';
    for (const each of this.prepared) durability = strictest(durability, each.durability);
    for (const change of this.recording.finish(this.begun.seq, durability)) this.apply(change);
  }

  /** Tells recorders that what they added can be read. */
  committed(): void {
    this.recording?.committed();
  }

  savepoint(): Savepoint {
    return {
      prepared: this.prepared.length,
      rows: this.rows,
      cells: this.cells.count,
      upserts: this.upserts.count,
      waiting: this.waiting?.count ?? 0,
      made: this.waiting?.made ?? 0,
    };
  }

  /** Takes back what was applied since. */
  backTo(point: Savepoint): void {
    this.waiting?.backTo(point.waiting, point.made);
    this.rollback(point.prepared, point.rows, point.cells, point.upserts);
  }

  private rollback(prepared: number, rows: number, cells: number, upserts: number): void {
    this.cells.rollbackTo(cells, this.begun.seq + rows - 1);
    this.upserts.forgetTo(upserts);
    this.prepared.length = prepared;
    this.rows = rows;
    this.depth = 0;
  }

  /** Nothing more can be read or applied through it. */
  end(): void {
    this.ended = true;
  }

  private stateOf(table: string | undefined): TableState {
    return table === undefined || table === this.own.name ? this.own : this.core.catalog.writableTable(table);
  }

  private checkRunning(): void {
    if (!this.ended) return;
    throw new InvalidArgumentError(
      'This step of writes has ended. Read and apply in the function that it was given to, before it returns.',
    );
  }
}

/** What a row was given: the caller's own bytes, until the turn has ended. */
function storedCells({ row, cells, now, ttl, ttls }: PreparedRow): Cell[] {
  return cells.map(({ family, qualifier, timestamp, type, value }, index) => {
    const time = timestamp === LATEST_TIMESTAMP ? now : timestamp;
    const lives = ttls?.[index] ?? ttl;
    return lives === 0
      ? new Cell(row, family, qualifier, time, type, value)
      : new CellWithTtl(row, family, qualifier, time, type, value, lives);
  });
}

function tooDeep(table: string): InvalidArgumentError {
  return new InvalidArgumentError(
    `Observers of writes have answered each other's changes ${MOST_NESTED} deep, the last of table "${table}". ` +
      'An observer must not add changes that lead back to it.',
    { details: { table } },
  );
}

function asynchronous(): InvalidArgumentError {
  return new InvalidArgumentError(
    'An observer of writes answers a list of changes, or nothing, and on the embedded engine at once: what it adds is ' +
      'one step with the write. Do not give it async functions.',
  );
}
