import { equalBytes, toLatin1 } from '../../bytes/index.js';
import { InvalidArgumentError } from '../../errors.js';
import {
  type AtomicStep,
  Cell,
  CellWithTtl,
  type ColumnPuts,
  type CommitRecorder,
  type CommitRecorders,
  type CommittedRow,
  Get,
  LATEST_TIMESTAMP,
  type PackedPuts,
  Put,
  type Result,
  type Scan,
  type TableChange,
  type WaitingPut,
  type WriteObservers,
} from '../../table/index.js';
import { type SpaceChecks, StepSpace } from '../space-limits.js';
import type { TableState } from '../table-state.js';
import { type BegunWrite, type CommitQueue, type EffectiveDurability, WrittenCells } from './commit-queue.js';
import {
  applyToMemstore,
  DeferredPuts,
  type Preparation,
  type PreparationCore,
  type PreparedRow,
  strictest,
} from './preparation.js';
import { ColumnPutBatch, PackedPutBatch, type PutBatch } from './put-batches.js';
import type { RowReader } from './row-operations.js';

interface ChangedRow {
  readonly state: TableState;
  readonly row: Uint8Array;
  readonly before: Result;
}

/** Collects the rows of recorded tables that a step changes: their contents before the step, and at its end those after it. */
class CommitRecording {
  private readonly changed = new Map<string, ChangedRow>();
  private readonly recorders = new Set<CommitRecorder>();

  constructor(private readonly rowReader: (state: TableState, row: Uint8Array) => RowReader) {}

  /** Called before each change of a row. If the change is rolled back, the row is found unchanged at the end. */
  note(state: TableState, row: Uint8Array, recorders: readonly CommitRecorder[]): void {
    const key = `${state.id} ${toLatin1(row)}`;
    if (this.changed.has(key) || !recorders.some((recorder) => recorder.wants(state.name, row))) return;
    for (const recorder of recorders) this.recorders.add(recorder);
    this.changed.set(key, { state, row: row.slice(), before: this.read(state, row) });
  }

  /** The writes that recorders add. */
  *finish(number: number, durability: EffectiveDurability): Generator<TableChange> {
    const rows: CommittedRow[] = [];
    for (const { state, row, before } of this.changed.values()) {
      const after = this.read(state, row);
      if (!isSame(before, after)) rows.push({ table: state.name, row, before, after });
    }
    if (rows.length === 0) return;
    for (const recorder of this.recorders) {
      const wanted = rows.filter(({ table, row }) => recorder.wants(table, row));
      if (wanted.length > 0) yield* recorder.record({ number, durability, rows: wanted });
    }
  }

  /** Called when the step is visible to readers. */
  committed(): void {
    for (const recorder of this.recorders) recorder.committed();
  }

  private read(state: TableState, row: Uint8Array): Result {
    return this.rowReader(state, row).read(new Get(row));
  }
}

/** Whether both have the same columns and values, whatever their timestamps. */
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

/** The parts of the store that steps use. */
export interface StepCore extends PreparationCore {
  readonly space: SpaceChecks;
  /** How many servers let connections write the store. */
  readonly servers: { readonly writable: number };
  readonly commits: CommitQueue;
  readonly observers: WriteObservers;
  readonly recorders: CommitRecorders;
  readonly catalog: {
    /** @throws RowanError when there is no such table, or it is disabled. */
    openTable(name: string): TableState;
    /** As {@link openTable}. @throws RowanError when it does not accept writes. */
    writableTable(name: string): TableState;
  };
  readonly reads: PreparationCore['reads'] & {
    /** Returns the rows of a scan with every write so far, acknowledged or not. */
    scanUncommitted(state: TableState, scan: Scan): Result[];
    /** Whether the rows are distinct and certain to have no cells, written by anyone, acknowledged or not. */
    areNew(state: TableState, rows: readonly Uint8Array[]): boolean;
    /** Runs a step, whose reads all have this time. */
    asOf<T>(time: number, step: () => T): T;
  };
}

/** Stops observers that add changes in response to each other endlessly. */
export const MAX_DEPTH = 16;

/** A state of the step that it can be rolled back to. */
interface Savepoint {
  readonly prepared: number;
  readonly rows: number;
  readonly cells: number;
  readonly upserts: number;
  readonly deferred: number;
  readonly applied: number;
}

/**
 * An atomic step: changes of any rows and tables, made one after the other in one turn of the event loop, and written as one log
 * record. Each change sees those before it. The changes are in the memstores at once, with sequence numbers beyond every read
 * point, so no other reader sees them; a rollback removes them without a trace.
 */
export class WriteStep implements AtomicStep {
  readonly prepared: (PreparedRow | PutBatch)[] = [];
  /** The number of rows in `prepared`. */
  rows = 0;
  private readonly cells = new WrittenCells();
  private readonly upserts = new WrittenCells();
  /** The step's entry in the commit queue, made before its first change. */
  readonly begun: BegunWrite;
  private recording: CommitRecording | undefined;
  /** Puts of the table named last that are not applied yet. */
  private deferred: DeferredPuts | undefined;
  private depth = 0;
  private readonly space: StepSpace;
  private ended = false;

  constructor(
    private readonly core: StepCore,
    private readonly preparation: Preparation,
    /** The default table. */
    private readonly own: TableState,
  ) {
    this.begun = core.commits.begin(this.cells, this.upserts);
    this.space = new StepSpace(core.space);
  }

  get time(): number {
    return this.core.rowClock.time;
  }

  get isShared(): boolean {
    return this.core.servers.writable > 0;
  }

  readonly read = (get: Get, table?: string): Result => {
    this.checkRunning();
    return this.core.reads.rowReader(this.upToDate(table, false), get.row).read(get);
  };

  readonly scan = (scan: Scan, table?: string): readonly Result[] => {
    this.checkRunning();
    return this.core.reads.scanUncommitted(this.upToDate(table, false), scan);
  };

  apply({ table, change, timestampsAssigned, unrecorded }: TableChange): Result {
    this.checkRunning();
    return this.applyTo(this.upToDate(table), change, 0, timestampsAssigned, unrecorded);
  }

  putLater(put: WaitingPut): void {
    this.checkRunning();
    const state = this.stateOf(put.table, true);
    if (!this.isWatched(state)) {
      this.deferred ??= new DeferredPuts(state);
      if (this.deferred.state === state && this.deferred.add(put)) return;
    }
    const { table, row, family, qualifier, value, durability } = put;
    const change = new Put(row).setDurability(durability).addColumn(family, qualifier, value);
    this.apply({ table, change });
  }

  /** The table, for reading or changing: applies its deferred puts first. */
  private upToDate(table: string | undefined, writes = true): TableState {
    const state = this.stateOf(table, writes);
    if (this.deferred?.state === state) this.applyDeferred(this.deferred);
    return state;
  }

  private applyDeferred(deferred: DeferredPuts): void {
    if (deferred.applied === deferred.count) return;
    this.space.checkPut(deferred.state, deferred.count - deferred.applied);
    // All or none: after an error, a caller that continues would otherwise lose some of them.
    this.attempt(() => this.applyBatch(deferred.prepareRest(this.preparation)));
  }

  putNewRows(puts: PackedPuts, others: () => ColumnPuts | 'none' | undefined): boolean {
    this.checkRunning();
    const state = this.upToDate(undefined);
    if (this.isWatched(state) || !PackedPutBatch.isAccepted(state, puts)) return false;
    if (!this.core.reads.areNew(state, puts.rows)) return false;
    const column = others();
    if (column === undefined) return false;
    const other = column === 'none' ? undefined : this.takingColumn(column);
    if (other === undefined && column !== 'none') return false;
    this.space.checkPut(state, puts.rows.length);
    if (other !== undefined) this.space.checkPut(other, puts.rows.length);
    this.attempt(() => {
      this.applyBatch(this.preparation.preparePacked(state, puts));
      if (column !== 'none') this.applyBatch(this.preparation.prepareColumn(other!, column));
    });
    return true;
  }

  putColumn(puts: ColumnPuts): boolean {
    this.checkRunning();
    const state = this.upToDate(puts.table);
    if (this.isWatched(state) || !ColumnPutBatch.isAccepted(state, puts)) return false;
    this.space.checkPut(state, puts.count);
    this.attempt(() => this.applyBatch(this.preparation.prepareColumn(state, puts)));
    return true;
  }

  /** The table of the puts. Undefined: it does not take them as they are, or one of them may only create a row, which may exist. */
  private takingColumn(puts: ColumnPuts): TableState | undefined {
    const state = this.upToDate(puts.table);
    if (this.isWatched(state) || !ColumnPutBatch.isAccepted(state, puts)) return undefined;
    const { ofNewRows } = puts;
    if (ofNewRows.length === 0) return state;
    const rows = ofNewRows.map((put) => puts.rowAt(put));
    return this.core.reads.areNew(state, rows) ? state : undefined;
  }

  private applyBatch(batch: PutBatch): void {
    this.prepared.push(batch);
    batch.apply(this.begun.seq + this.rows, this.cells);
    this.rows += batch.count;
  }

  /** Whether each change of the table has to be processed by itself. */
  private isWatched({ name }: TableState): boolean {
    const { observers, recorders } = this.core;
    return observers.of(name) !== undefined || recorders.of(name) !== undefined;
  }

  attempt<T>(work: () => T): T {
    const before = this.savepoint();
    const space = this.space.begin();
    try {
      return work();
    } catch (error) {
      this.rollbackTo(before);
      throw error;
    } finally {
      this.space.resume(space);
    }
  }

  /**
   * Applies a change, together with what the observers of its table add. `notBefore` and `timestampsAssigned`: as for
   * `Preparation.prepare`.
   */
  applyTo(
    state: TableState,
    change: TableChange['change'],
    notBefore = 0,
    timestampsAssigned = false,
    unrecorded = false,
  ): Result {
    const observers = this.core.observers.interested(state.name, change);
    if (observers === undefined)
      return this.write(state, change, notBefore, timestampsAssigned, unrecorded).result;
    if (this.depth === MAX_DEPTH) throw tooDeep(state.name);
    this.depth++;
    const write = {
      table: state.name,
      change,
      read: (get: Get, table = state.name) => this.read(get, table),
    };
    for (const { before } of observers) this.applyAll(before?.(write));
    const prepared = this.write(state, change, notBefore, timestampsAssigned, unrecorded);
    const behind = { ...write, stored: () => storedCells(prepared) };
    for (const { after } of observers) this.applyAll(after?.(behind));
    this.depth--;
    return prepared.result;
  }

  private applyAll(additions: unknown): void {
    for (const change of changesOf(additions)) this.apply(change);
  }

  private write(
    state: TableState,
    change: TableChange['change'],
    notBefore: number,
    timestampsAssigned: boolean,
    unrecorded: boolean,
  ): PreparedRow {
    const recorders = this.core.recorders.of(state.name);
    if (recorders !== undefined && !unrecorded) this.note(state, change.row, recorders);
    this.space.check(state, change);
    const row = this.preparation.prepare(state, change, notBefore, timestampsAssigned);
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

  /** Applies deferred puts, then adds what recorders record of all changes. @throws what recorders throw. */
  record(): void {
    if (this.deferred !== undefined) this.applyDeferred(this.deferred);
    if (this.recording === undefined) return;
    let durability: EffectiveDurability = 'SKIP_WAL';
    for (const each of this.prepared) durability = strictest(durability, each.durability);
    this.space.beginLast();
    for (const change of this.recording.finish(this.begun.seq, durability)) this.apply(change);
  }

  /** Notifies recorders that what they added can be read. */
  committed(): void {
    this.recording?.committed();
  }

  savepoint(): Savepoint {
    return {
      prepared: this.prepared.length,
      rows: this.rows,
      cells: this.cells.count,
      upserts: this.upserts.count,
      deferred: this.deferred?.count ?? 0,
      applied: this.deferred?.applied ?? 0,
    };
  }

  /** Rolls back to an earlier state. */
  rollbackTo(point: Savepoint): void {
    this.deferred?.rollbackTo(point.deferred, point.applied);
    this.rollback(point.prepared, point.rows, point.cells, point.upserts);
  }

  private rollback(prepared: number, rows: number, cells: number, upserts: number): void {
    this.cells.rollbackTo(cells, this.begun.seq + rows - 1);
    this.upserts.forgetTo(upserts);
    this.prepared.length = prepared;
    this.rows = rows;
    this.depth = 0;
  }

  /** Called before changes that do not belong to those before. */
  beginGroup(): void {
    this.space.begin();
  }

  /** Ends the step: it can no longer be read or changed. */
  end(): void {
    this.ended = true;
  }

  private stateOf(table: string | undefined, writes: boolean): TableState {
    const { own } = this;
    const { catalog } = this.core;
    const name = table ?? own.name;
    if (name === own.name && !(writes && own.descriptor.readOnly)) return own;
    return writes ? catalog.writableTable(name) : catalog.openTable(name);
  }

  private checkRunning(): void {
    if (!this.ended) return;
    throw new InvalidArgumentError(
      'This atomic step has ended. Read and apply only inside its function, before that returns.',
    );
  }
}

/** The cells written to a row. They use the caller's bytes, and are valid until the turn ends. */
export function storedCells({ row, cells, now, ttl, ttls }: PreparedRow): Cell[] {
  return cells.map(({ family, qualifier, timestamp, type, value }, index) => {
    const time = timestamp === LATEST_TIMESTAMP ? now : timestamp;
    const lives = ttls?.[index] ?? ttl;
    return lives === 0
      ? new Cell(row, family, qualifier, time, type, value)
      : new CellWithTtl(row, family, qualifier, time, type, value, lives);
  });
}

export function tooDeep(table: string): InvalidArgumentError {
  return new InvalidArgumentError(
    `Observers of writes have responded to each other's changes ${MAX_DEPTH} levels deep, last for table "${table}". ` +
      'An observer must not add changes that lead back to it.',
    { details: { table } },
  );
}

/** What an observer has returned. @throws InvalidArgumentError for anything but a list or nothing. */
export function changesOf(additions: unknown): readonly TableChange[] {
  if (additions === undefined) return [];
  if (!Array.isArray(additions)) throw notAList();
  return additions as readonly TableChange[];
}

function notAList(): InvalidArgumentError {
  return new InvalidArgumentError(
    'On the embedded engine an observer of writes must return a list of changes, or undefined, and no promise: what it adds is ' +
      'one step with the write. Do not give it async functions.',
  );
}
