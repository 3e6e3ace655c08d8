import { toHex } from '../../bytes/index.js';
import { ClosedError, RowanError, SerializationError } from '../../errors.js';
import {
  type Get,
  LATEST_TIMESTAMP,
  type ObservedWrite,
  type Query,
  type Result,
  type RowMutation,
  RowMutations,
  type Scan,
  type WriteObserver,
} from '../../table/index.js';
import { Preparation, type PreparedRow } from '../commit/preparation.js';
import { RowClock } from '../commit/row-clock.js';
import type { RowReader } from '../commit/row-operations.js';
import { changesOf, MAX_DEPTH, storedCells, tooDeep } from '../commit/write-step.js';
import { UncommittedRowReader } from '../read/point-read.js';
import type { RegisteredReader } from '../read/scanner-registry.js';
import { type FamilyStore, type Region, regionOf, type VersionSource } from '../region/region.js';
import type { FamilySource } from '../scan/store-read.js';
import { StepSpace } from '../space-limits.js';
import type { StoreCore } from '../store-core.js';
import type { TableState } from '../table-state.js';
import type { Contender, Wait, WrittenRow } from './contention.js';
import { type PrivateChange, type PrivateSavepoint, PrivateWrites } from './private-writes.js';
import { type ReadRange, ReadSet, type ScannedRange } from './read-set.js';

/** A table as the transaction found it. */
interface TableSeen {
  readonly state: TableState;
  readonly descriptor: TableState['descriptor'];
}

/**
 * A transaction on the embedded engine: reads of a snapshot with its own writes over it, and a commit that, in one turn, verifies that
 * nothing it has read was changed since, and writes. It guarantees:
 *
 * - Every read sees the writes that were acknowledged when the transaction began, its own writes, and no others.
 * - Nobody sees any of its writes before all of them are acknowledged, and none of them when it fails.
 * - It commits only if every row and range that it has read is unchanged at that moment, also by writes that are not acknowledged
 *   yet. So transactions take effect as if each had run alone at its commit: they are strictly serializable. A transaction
 *   without writes takes effect when it began, and needs no check.
 * - While it is open, flushes and compactions keep what it may read, and the sequence numbers of later writes.
 */
export class StoreTransaction implements RegisteredReader {
  /** Used by the registry. */
  slot = -1;
  readonly readPoint: number;
  readonly pinsAll = true;
  /** The time that decides which cells have expired. */
  readonly time: number;
  readonly space: StepSpace;
  private readonly reads = new ReadSet();
  private readonly writes: PrivateWrites;
  private readonly tablesSeen = new Map<string, TableSeen>();
  private readonly scanners = new Set<{ close(): void }>();
  private readonly preparation: Preparation;
  /** It cannot be used any more. */
  private over = false;
  /** What has ended it before its function had. */
  private cause: RowanError | undefined;
  /** Called when the transaction is ended by something other than its function. */
  onCut: ((why: RowanError) => void) | undefined;
  /** The conflict, after which it can only be run again. */
  private conflictError: SerializationError | undefined;
  /** Where others have changed what it had read, and what it would have written. */
  private conflictDetails: { readonly place: ReadRange; readonly written: readonly WrittenRow[] } | undefined;

  constructor(readonly core: StoreCore) {
    core.lifecycle.checkOpen();
    this.readPoint = core.commits.readPoint;
    this.time = core.environment.now();
    this.space = new StepSpace(core.space);
    this.writes = new PrivateWrites(this.readPoint, core.privateMemstores);
    const rowClock = new RowClock(() => this.time);
    rowClock.restore(Math.max(core.rowClock.highest, this.time));
    this.preparation = new Preparation({
      rowClock,
      settings: core.settings,
      reads: { rowReader: (state, row) => this.rowReader(state, row) },
    });
    core.scanners.opened(this);
  }

  /** The conflict that occurred, whatever the transaction's function did with the error. */
  get conflict(): SerializationError | undefined {
    return this.conflictError;
  }

  /** The rows that it changes. */
  private *writtenRows(): Iterable<WrittenRow> {
    for (const { state, change } of this.writes.changes) yield { state, row: change.row };
  }

  /** Reports the conflict to the contender. */
  reportConflict(contender: Contender): void {
    const { conflictDetails } = this;
    if (conflictDetails !== undefined)
      contender.onConflict(conflictDetails.place, this.reads, conflictDetails.written);
  }

  /** @throws RowanError when the transaction is over; SerializationError when the table was altered or replaced. */
  stateOf(name: string): TableState {
    this.checkRunning();
    const state = this.core.catalog.openTable(name);
    const { descriptor } = state;
    const known = this.tablesSeen.get(name);
    if (known === undefined) {
      this.tablesSeen.set(name, { state, descriptor });
    } else if (known.state !== state || known.descriptor !== descriptor) {
      throw this.setConflict(conflictAt(state.name, undefined));
    }
    return state;
  }

  writableState(name: string): TableState {
    this.stateOf(name);
    return this.core.catalog.writableTable(name);
  }

  now(): number {
    return this.time;
  }

  /** Whether it has written nothing to the table. */
  isUnwritten(state: TableState): boolean {
    return !this.writes.has(state);
  }

  track(state: TableState, get: Get): void {
    this.reads.addGet(state, get);
  }

  trackScan(state: TableState, scan: Scan): ScannedRange {
    return this.reads.addScan(state, scan);
  }

  rowReader(state: TableState, row: Uint8Array): RowReader {
    const { writes, core, time } = this;
    const view = {
      settings: core.settings,
      readPoint: writes.visible,
      merged: writes.has(state),
      now: () => time,
      sourcesOf: (region: Region, query: Query) => this.sourcesOf(state, region, query),
    };
    const reader = new UncommittedRowReader(view, state, regionOf(state.regions, row));
    return {
      families: reader.families,
      read: (get, withTtl): Result => {
        this.track(state, get);
        return reader.read(get, withTtl);
      },
    };
  }

  /** The data that a scan reads, retained for it. */
  viewOf(state: TableState): {
    readonly readPoint: number;
    readonly now: number;
    hold(store: FamilyStore): VersionSource;
  } {
    return {
      readPoint: this.writes.snapshotPoint(),
      now: this.time,
      hold: (store) => this.writes.held(state, store),
    };
  }

  private sourcesOf(state: TableState, region: Region, query: Query): readonly FamilySource[] {
    return this.core.reads
      .sourcesOf(region, query)
      .map((source) => this.writes.over(state, source as FamilyStore));
  }

  opened(scanner: { close(): void }): void {
    this.scanners.add(scanner);
  }

  closed(scanner: { close(): void }): void {
    this.scanners.delete(scanner);
  }

  /** Makes a change that only the transaction sees. @throws RowanError when it cannot be made; then nothing was changed. */
  apply(
    state: TableState,
    change: RowMutation | RowMutations,
    notBefore = 0,
    timestampsAssigned = false,
  ): Result {
    const given = { state, change, notBefore, timestampsAssigned, madeAt: this.core.rowClock.now() };
    const observers = this.observersOf(state.name, change);
    if (observers.length === 0) return this.write(given, true).result;
    const before = this.savepoint();
    try {
      return this.observed(given, true, observers, 0);
    } catch (error) {
      this.rollbackTo(before);
      throw error;
    }
  }

  /** The observers that take part in transactions. */
  private observersOf(table: string, change: RowMutation | RowMutations): readonly WriteObserver[] {
    const all = this.core.observers.interested(table, change);
    return all?.filter(({ inTransactions }) => inTransactions === true) ?? [];
  }

  /** Makes a change, and what its observers add, which the commit will not make: they add it then, too. */
  private observed(
    given: PrivateChange,
    isOwn: boolean,
    observers: readonly WriteObserver[],
    depth: number,
  ): Result {
    const { state, change } = given;
    if (depth === MAX_DEPTH) throw tooDeep(state.name);
    const write: ObservedWrite = {
      table: state.name,
      change,
      read: (get, table = state.name) => this.rowReader(this.stateOf(table), get.row).read(get),
    };
    const add = (additions: unknown): void => {
      for (const { table, change: added, timestampsAssigned = false } of changesOf(additions)) {
        const addition = { ...given, state: this.writableState(table), change: added, timestampsAssigned };
        this.observed({ ...addition, notBefore: 0 }, false, this.observersOf(table, added), depth + 1);
      }
    };
    for (const { before } of observers) add(before?.(write));
    const row = this.write(given, isOwn);
    for (const { after } of observers) add(after?.({ ...write, stored: () => storedCells(row) }));
    return row.result;
  }

  private write(given: PrivateChange, isOwn: boolean): PreparedRow {
    const { state, change, notBefore, timestampsAssigned } = given;
    this.space.check(state, change);
    const row = this.preparation.prepare(state, change, notBefore, timestampsAssigned);
    this.writes.add(row, isOwn ? given : undefined);
    return row;
  }

  savepoint(): PrivateSavepoint {
    return this.writes.savepoint();
  }

  rollbackTo(point: PrivateSavepoint): void {
    this.writes.rollbackTo(point);
  }

  /** Writes the changes if nothing that was read has changed since. @throws SerializationError when it has. */
  async commit(contender: Contender, wait: Wait, signal: AbortSignal | undefined): Promise<void> {
    const { core, writes } = this;
    this.checkRunning();
    if (this.conflictError !== undefined) throw this.conflictError;
    const [first] = writes.changes;
    if (first === undefined) return this.end();
    for (;;) {
      const others = contender.blockedBy(this.writtenRows(), wait);
      if (others !== undefined) {
        await others;
      } else if (core.throttle.full) {
        core.journal.checkWritable();
        await core.throttle.admit(signal);
      } else {
        break;
      }
      this.checkRunning();
    }
    for (const name of this.tablesSeen.keys()) this.stateOf(name);
    const written = core.writer.step(core.catalog.writableTable(first.state.name), (step) => {
      const changed = this.reads.changedSince(this.readPoint);
      if (changed !== undefined) {
        this.conflictDetails = { place: changed, written: [...this.writtenRows()] };
        throw this.setConflict(conflictAt(changed.state.name, changed.start));
      }
      for (const { state, change, notBefore, timestampsAssigned, madeAt } of writes.changes) {
        shortenLife(change, step.time - madeAt);
        step.applyTo(state, change, notBefore, timestampsAssigned);
      }
    });
    this.end();
    await written;
  }

  /** Releases everything; further calls fail. */
  end(): void {
    if (this.over) return;
    this.over = true;
    for (const scanner of [...this.scanners]) scanner.close();
    this.writes.free();
    this.core.scanners.closed(this);
  }

  /** Ends it before its function has; further calls fail with `why`. */
  cut(why: RowanError): void {
    if (this.over) return;
    this.cause = why;
    this.end();
    this.onCut?.(why);
  }

  readsFrom(): boolean {
    return true;
  }

  cutOff(): void {
    this.cut(new ClosedError('The store was closed during this transaction: nothing of it was written.'));
  }

  checkRunning(): void {
    if (this.over) throw this.cause ?? ended();
  }

  private setConflict(conflict: SerializationError): SerializationError {
    this.conflictError ??= conflict;
    return conflict;
  }
}

function conflictAt(table: string, row: Uint8Array | undefined): SerializationError {
  const where = row === undefined ? '' : ` at or after row ${toHex(row.subarray(0, 40))}`;
  return new SerializationError(
    `Another write has changed what this transaction had read: table "${table}"${where}.`,
    {
      details: { table, ...(row !== undefined && { keyHex: toHex(row) }) },
    },
  );
}

function ended(): RowanError {
  return new RowanError(
    'ERR_TRANSACTION_ENDED',
    'This transaction has ended. Use it only inside its function, and await everything that is started there.',
  );
}

/** Shortens the time to live of cells that get the time of the commit, which is later by so many milliseconds than that of the write. */
function shortenLife(change: RowMutation | RowMutations, later: number): void {
  if (change instanceof RowMutations) {
    for (const mutation of change.mutations) shortenLife(mutation, later);
  } else if (change.ttl !== undefined && change.kind !== 'delete') {
    const cells: readonly { readonly timestamp: number }[] =
      change.kind === 'put' ? change.cells : change.columns;
    if (cells.every(({ timestamp }) => timestamp === LATEST_TIMESTAMP))
      change.setTtl(Math.max(1, change.ttl - later));
  }
}
