/**
 * How changes enter a store: checked, numbered, appended to the log, put into the memstores, and acknowledged when the
 * commit queue says so. Between the look at the row and the append there is no `await`, so a row needs no lock.
 */

import { InvalidArgumentError } from '../../errors.js';
import {
  type CheckAndMutate,
  type CheckAndMutateResult,
  type CommitOutcome,
  LATEST_TIMESTAMP,
  type Put,
  type Result,
  type RowMutation,
  type RowMutations,
} from '../../table/index.js';
import type { Memstore } from '../memstore/memstore.js';
import type { Pressure } from '../pressure.js';
import type { WriteRecordBuilder } from '../record/write-record.js';
import type { FamilyStore } from '../region/family-store.js';
import type { TableState } from '../table-state.js';
import type { CommitHealth, CommitQueue, SettledDurability } from './commit-queue.js';
import { Preparation, type PreparationCore, type PreparedRow, strictest } from './preparation.js';
import { checkRow } from './row-operations.js';
import { asRowanError, checkIndependent, type StateChange } from './state-change.js';
import { WrittenCells } from './written-cells.js';

/** What the log can take, and read again, in one record. */
const MAX_RECORD_BYTES = 2 ** 30;

/** What the writer asks of the store. */
export interface WriterCore extends PreparationCore {
  readonly commits: CommitQueue;
  readonly journal: CommitHealth;
  readonly pressure: Pressure;
  readonly recordBuilder: WriteRecordBuilder;
  /** Stages a record with `count` writes from number `first`. @throws RowanError when the log cannot take it. */
  appendToLog(first: number, count: number, record: WriteRecordBuilder): void;
}

export class TableWriter {
  private readonly preparation: Preparation;
  /** The clock of the store as the log has it, unless records were lost since. */
  private clockInLog = 0;
  private losses = 0;

  constructor(private readonly core: WriterCore) {
    this.preparation = new Preparation(core);
  }

  /** Applies one change; resolves when it is as durable as it asks to be. */
  async mutate(state: TableState, change: RowMutation | RowMutations): Promise<Result> {
    this.core.rowClock.now();
    const prepared = this.preparation.prepare(state, change);
    await this.write([prepared]);
    return prepared.result;
  }

  async checkAndMutate(state: TableState, check: CheckAndMutate): Promise<CheckAndMutateResult> {
    const reader = this.core.rowReader(state, check.row);
    if (check.condition.kind === 'column' && !state.familyNumbers.has(check.condition.family)) {
      throw state.noSuchFamily(check.condition.family);
    }
    const outcome = checkRow(check.row, check.condition, reader);
    if (!outcome.matches) {
      // What was compared may not be durable yet; the answer must not outlive it.
      await this.core.commits.confirmed();
      return { success: false, result: undefined };
    }
    this.core.rowClock.now();
    const prepared = this.preparation.prepare(state, check.action, outcome.timestamp);
    await this.write([prepared]);
    return { success: true, result: prepared.result.isEmpty ? undefined : prepared.result };
  }

  /** Puts, each for itself, in one record of the log: what became of each, undefined when it was written. */
  async putEach(state: TableState, puts: readonly Put[]): Promise<(unknown | undefined)[]> {
    this.core.rowClock.now();
    const rows: PreparedRow[] = [];
    const errors: (unknown | undefined)[] = new Array(puts.length);
    for (let i = 0; i < puts.length; i++) {
      try {
        rows.push(this.preparation.prepare(state, puts[i]!));
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

  /**
   * Changes of several rows in one record of the log: all of them are applied, or none.
   * @throws InvalidArgumentError when one reads what another of them writes: it would not see it.
   */
  async mutateAll(state: TableState, changes: readonly (RowMutation | RowMutations)[]): Promise<Result[]> {
    checkIndependent(changes.map((change) => ({ state, change })));
    this.core.rowClock.now();
    const rows = changes.map((change) => this.preparation.prepare(state, change));
    if (rows.length > 0) await this.write(rows);
    return rows.map((row) => row.result);
  }

  /**
   * Groups of changes, of any tables, in one record of the log: a group is applied whole or, when one of its changes is
   * refused, not at all.
   * @throws InvalidArgumentError as {@link mutateAll}; what the log throws: nothing was written.
   */
  async commit(groups: readonly (readonly StateChange[])[]): Promise<CommitOutcome[]> {
    checkIndependent(groups.flat());
    this.core.rowClock.now();
    const rows: PreparedRow[] = [];
    const outcomes = groups.map((group): CommitOutcome => {
      try {
        const own = group.map(({ state, change }) => this.preparation.prepare(state, change));
        rows.push(...own);
        return { ok: true, results: own.map(({ result }) => result) };
      } catch (error) {
        return { ok: false, error: asRowanError(error) };
      }
    });
    // What was decided on may not be durable yet; the answer must not outlive it.
    if (rows.length === 0) await this.core.commits.confirmed();
    else await this.write(rows);
    return outcomes;
  }

  /**
   * Writes the rows in this turn; resolves when they are acknowledged.
   * @throws RowanError when the log cannot take them: nothing was written.
   */
  private write(rows: readonly PreparedRow[]): Promise<void> {
    const core = this.core;
    core.journal.checkWritable();
    let durability: SettledDurability = 'SKIP_WAL';
    for (let i = 0; i < rows.length; i++) durability = strictest(durability, rows[i]!.durability);
    const { highest } = core.rowClock;
    const tellsClock =
      durability !== 'SKIP_WAL' && (highest > this.clockInLog || this.losses < core.commits.losses);
    const count = tellsClock ? rows.length + 1 : rows.length;
    const first = core.commits.allocate(count);
    if (durability !== 'SKIP_WAL') this.append(rows, first, count, tellsClock ? highest : undefined);
    const cells = new WrittenCells();
    const upserts = rows.some((row) => row.upserts) ? new WrittenCells() : undefined;
    try {
      for (let i = 0; i < rows.length; i++) {
        const row = rows[i]!;
        row.region.writeRequests++;
        core.pressure.wrote(row.region, this.add(row, first + i, cells, upserts));
      }
    } catch (error) {
      cells.takeBack();
      throw error;
    }
    return core.commits.commit(first + count - 1, durability, cells, upserts);
  }

  /** Puts a row's cells into the memstores of their families; the bytes of their values. */
  private add(
    { region, row, cells, now, ttls, ttl, upserts }: PreparedRow,
    seq: number,
    written: WrittenCells,
    superseding: WrittenCells | undefined,
  ): number {
    let bytes = 0;
    let family = '';
    let memstore: Memstore | undefined;
    for (let i = 0; i < cells.length; i++) {
      const { family: own, qualifier, timestamp, type, value } = cells[i]!;
      const sameFamily = own === family;
      if (!sameFamily) memstore = memstoreFor(region.byFamily.get(own)!);
      family = own;
      const ref = memstore!.add(
        row,
        qualifier,
        timestamp === LATEST_TIMESTAMP ? now : timestamp,
        type,
        seq,
        ttls ? ttls[i]! : ttl,
        value,
        sameFamily,
      );
      written.add(memstore!, ref);
      if (upserts?.[i]) superseding!.add(memstore!, ref);
      bytes += value.length;
    }
    return bytes;
  }

  private append(
    rows: readonly PreparedRow[],
    first: number,
    count: number,
    clock: number | undefined,
  ): void {
    const builder = this.core.recordBuilder;
    builder.reset();
    for (let i = 0; i < rows.length; i++) {
      const { state, row, cells, now, ttls, ttl } = rows[i]!;
      builder.beginMutation(state.id, row, cells.length);
      let family = '';
      let familyNumber = 0;
      for (let j = 0; j < cells.length; j++) {
        const cell = cells[j]!;
        if (cell.family !== family) {
          family = cell.family;
          familyNumber = state.familyNumbers.get(family)!;
        }
        builder.cell(
          familyNumber,
          cell.qualifier,
          cell.timestamp === LATEST_TIMESTAMP ? now : cell.timestamp,
          cell.type,
          ttls ? ttls[j]! : ttl,
          cell.value,
        );
      }
    }
    if (clock !== undefined) builder.clock(clock);
    if (builder.length > MAX_RECORD_BYTES) throw tooLarge(builder.length);
    this.core.appendToLog(first, count, builder);
    if (clock === undefined) return;
    this.clockInLog = clock;
    this.losses = this.core.commits.losses;
  }
}

function memstoreFor(store: FamilyStore): Memstore {
  // What cannot be named by a place in it goes to the next.
  if (store.version.active.crowded) store.freeze();
  return store.version.active;
}

function tooLarge(bytes: number): InvalidArgumentError {
  return new InvalidArgumentError(
    `The changes have ${bytes} bytes together; one write may have ${MAX_RECORD_BYTES}. Send them in several batches.`,
  );
}
