/**
 * A transaction on the embedded engine: reads of a snapshot with its own writes over it, and a commit that checks that
 * nothing it has read was changed since, and writes, in one turn. It holds that:
 *
 * - Every read sees the writes that were acknowledged when the transaction began, its own, and no others.
 * - Nobody sees any of its writes before all of them are acknowledged, and none of them when it fails.
 * - It commits only if every row and every range that it has read is at that moment as it was read, also by what is
 *   written and not acknowledged yet. So transactions take effect as if each had run alone at its commit: they are
 *   strictly serializable. One that writes nothing is as if it had run when it began, and needs no check.
 * - While it is open, flushes and compactions keep what it may read, and the numbers of what was written since.
 */

import { toHex } from '../../bytes/index.js';
import { ClosedError, RowanError, SerializationError } from '../../errors.js';
import type { Get, Query, Result, RowMutation, RowMutations, Scan } from '../../table/index.js';
import { Preparation } from '../commit/preparation.js';
import { RowClock } from '../commit/row-clock.js';
import type { RowReader } from '../commit/row-operations.js';
import { UncommittedRowReader } from '../read/row-reader.js';
import type { RegisteredReader } from '../read/scanner-registry.js';
import type { FamilyStore, VersionSource } from '../region/family-store.js';
import { type Region, regionOf } from '../region/region.js';
import type { FamilySource } from '../scan/store-read.js';
import type { StoreCore } from '../store-core.js';
import type { TableState } from '../table-state.js';
import type { Contender, Patience, WrittenRow } from './contention.js';
import { type PrivateSavepoint, PrivateWrites } from './private-writes.js';
import { type ReadRange, ReadSet, type ScannedRange } from './read-set.js';

/** A table as the transaction has found it. */
interface Touched {
  readonly state: TableState;
  readonly descriptor: TableState['descriptor'];
}

export class StoreTransaction implements RegisteredReader {
  /** The registry's own. */
  slot = -1;
  readonly readPoint: number;
  readonly pinsAll = true;
  /** The time by which cells have expired or not. */
  readonly time: number;
  private readonly reads = new ReadSet();
  private readonly writes: PrivateWrites;
  private readonly touched = new Map<string, Touched>();
  private readonly scanners = new Set<{ close(): void }>();
  private readonly preparation: Preparation;
  /** Why nothing can be done in it any more. */
  private over: RowanError | undefined;
  /** Called when it is ended from outside. */
  onCut: ((why: RowanError) => void) | undefined;
  /** Set when it can only be tried again. */
  private overtaken: SerializationError | undefined;
  /** Where others have changed what it had read, when that is why, and what it would have written. */
  private overtakenAt: { readonly place: ReadRange; readonly written: readonly WrittenRow[] } | undefined;

  constructor(readonly core: StoreCore) {
    core.lifecycle.checkOpen();
    this.readPoint = core.commits.readPoint;
    this.time = core.environment.now();
    this.writes = new PrivateWrites(this.readPoint, core.chunkPool);
    const rowClock = new RowClock(() => this.time);
    rowClock.restore(Math.max(core.rowClock.highest, this.time));
    this.preparation = new Preparation({
      rowClock,
      settings: core.settings,
      reads: { rowReader: (state, row) => this.rowReader(state, row) },
    });
    core.scanners.opened(this);
  }

  /** The conflict that was met, whatever the transaction's function has made of it. */
  get conflict(): SerializationError | undefined {
    return this.overtaken;
  }

  /** The rows that it changes. */
  private *writtenRows(): Iterable<WrittenRow> {
    for (const { state, change } of this.writes.changes) yield { state, row: change.row };
  }

  /** Tells who runs it where it was overtaken. */
  tellConflict(contender: Contender): void {
    const { overtakenAt } = this;
    if (overtakenAt !== undefined) contender.overtaken(overtakenAt.place, this.reads, overtakenAt.written);
  }

  /** @throws RowanError when the transaction is over; SerializationError when the table is no longer what it was. */
  stateOf(name: string): TableState {
    this.checkRunning();
    const state = this.core.catalog.openTable(name);
    const { descriptor } = state;
    const known = this.touched.get(name);
    if (known === undefined) {
      this.touched.set(name, { state, descriptor });
    } else if (known.state !== state || known.descriptor !== descriptor) {
      throw this.overtake(conflictAt(state.name, undefined));
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

  /** Whether the table holds nothing but the snapshot. */
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
      ttlOf: (cell) => reader.ttlOf(cell),
      read: (get): Result => {
        this.track(state, get);
        return reader.read(get);
      },
    };
  }

  /** What a scan looks at, held for it. */
  viewOf(state: TableState): {
    readonly readPoint: number;
    readonly now: number;
    hold(store: FamilyStore): VersionSource;
  } {
    return {
      readPoint: this.writes.look(),
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

  /** Makes the change for the transaction alone. @throws RowanError when it cannot be made; nothing was changed then. */
  apply(state: TableState, change: RowMutation | RowMutations, notBefore = 0, settled = false): Result {
    const row = this.preparation.prepare(state, change, notBefore, settled);
    this.writes.add(row, { state, change, notBefore, settled });
    return row.result;
  }

  savepoint(): PrivateSavepoint {
    return this.writes.savepoint();
  }

  backTo(point: PrivateSavepoint): void {
    this.writes.backTo(point);
  }

  /** Writes what was changed, if nothing that was read is otherwise by now. @throws SerializationError when it is. */
  async commit(contender: Contender, patience: Patience, signal: AbortSignal | undefined): Promise<void> {
    const { core, writes } = this;
    this.checkRunning();
    if (this.overtaken !== undefined) throw this.overtaken;
    const [first] = writes.changes;
    if (first === undefined) return this.end(ended());
    for (;;) {
      const others = contender.toWaitFor(this.writtenRows(), patience);
      if (others !== undefined) {
        await others;
      } else if (core.pressure.full) {
        core.journal.checkWritable();
        await core.pressure.admit(signal);
      } else {
        break;
      }
      this.checkRunning();
    }
    for (const name of this.touched.keys()) this.stateOf(name);
    const written = core.writer.step(core.catalog.writableTable(first.state.name), (step) => {
      const changed = this.reads.changedSince(this.readPoint);
      if (changed !== undefined) {
        this.overtakenAt = { place: changed, written: [...this.writtenRows()] };
        throw this.overtake(conflictAt(changed.state.name, changed.start));
      }
      for (const { state, change, notBefore, settled } of writes.changes)
        step.applyTo(state, change, notBefore, settled);
    });
    this.end(ended());
    await written;
  }

  /** Lets go of everything; calls from now on fail with `why`. */
  end(why: RowanError = ended()): void {
    if (this.over !== undefined) return;
    this.over = why;
    for (const scanner of [...this.scanners]) scanner.close();
    this.writes.free();
    this.core.scanners.closed(this);
  }

  /** Ends it from outside. */
  cut(why: RowanError): void {
    if (this.over !== undefined) return;
    this.end(why);
    this.onCut?.(why);
  }

  looksAt(): boolean {
    return true;
  }

  cutOff(): void {
    this.cut(new ClosedError('The store was closed during this transaction: nothing of it was written.'));
  }

  checkRunning(): void {
    if (this.over !== undefined) throw this.over;
  }

  private overtake(conflict: SerializationError): SerializationError {
    this.overtaken ??= conflict;
    return conflict;
  }
}

function conflictAt(table: string, row: Uint8Array | undefined): SerializationError {
  const where = row === undefined ? '' : ` at or behind row ${toHex(row.subarray(0, 40))}`;
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
    'This transaction has ended. Use it only inside of its function, and await everything that is begun there.',
  );
}
