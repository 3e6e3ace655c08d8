/**
 * How changes enter a store: checked, numbered, appended to the log, put into the memstores, and acknowledged when the
 * commit queue says so. Between the look at the row and the append there is no `await`, so a row needs no lock.
 */

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
import { regionOf } from '../region/region.js';
import type { StoreCore } from '../store-core.js';
import type { TableState } from '../table-state.js';
import type { SettledDurability } from './commit-queue.js';
import { Preparation, type PreparedRow, strictest } from './preparation.js';
import { checkRow } from './row-operations.js';
import { asRowanError, checkIndependent, type StateChange } from './state-change.js';

export class TableWriter {
  private readonly preparation: Preparation;
  /** The clock of the store as the log has it. */
  private clockInLog = 0;

  constructor(private readonly core: StoreCore) {
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
      await this.core.commits.settle();
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
    if (rows.length === 0) await this.core.commits.settle();
    else await this.write(rows);
    return outcomes;
  }

  /** Resolves when the rows are acknowledged. @throws RowanError when the log cannot take them: nothing was written. */
  private async write(rows: readonly PreparedRow[]): Promise<void> {
    let durability: SettledDurability = 'SKIP_WAL';
    for (let i = 0; i < rows.length; i++) durability = strictest(durability, rows[i]!.durability);
    const first = this.apply(rows, durability);
    try {
      await this.core.commits.commit(first + rows.length, durability);
    } catch (error) {
      this.clockInLog = 0;
      for (const { state, region, row } of rows) {
        // A split has taken the cells along to a daughter.
        const holder = region.retired ? regionOf(state.regions, row) : region;
        for (const store of holder.stores) store.rollback(first, first + rows.length - 1);
      }
      throw error;
    }
    for (let i = 0; i < rows.length; i++) if (rows[i]!.upserts) this.upsert(rows[i]!);
  }

  /** Appends the rows to the log as one record and puts them into the memstores. The first number given to them. */
  private apply(rows: readonly PreparedRow[], durability: SettledDurability): number {
    const core = this.core;
    core.commits.checkWritable();
    const first = core.commits.allocate(rows.length + 1);
    if (durability !== 'SKIP_WAL') this.append(rows, first);
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i]!;
      row.region.writeRequests++;
      core.pressure.wrote(row.region, this.add(row, first + i));
    }
    return first;
  }

  /** Puts a row's cells into the memstores of their families; the bytes of their values. */
  private add({ region, row, cells, now, ttls, ttl }: PreparedRow, seq: number): number {
    let bytes = 0;
    let family = '';
    let memstore: Memstore | undefined;
    for (let i = 0; i < cells.length; i++) {
      const { family: own, qualifier, timestamp, type, value } = cells[i]!;
      const sameFamily = own === family;
      if (!sameFamily) memstore = region.byFamily.get(own)!.version.active;
      family = own;
      memstore!.add(
        row,
        qualifier,
        timestamp === LATEST_TIMESTAMP ? now : timestamp,
        type,
        seq,
        ttls ? ttls[i]! : ttl,
        value,
        sameFamily,
      );
      bytes += value.length;
    }
    return bytes;
  }

  private append(rows: readonly PreparedRow[], first: number): void {
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
    const { highest } = this.core.rowClock;
    const moved = highest > this.clockInLog;
    if (moved) builder.clock(highest);
    this.core.appendToLog(first, moved ? rows.length + 1 : rows.length, builder);
    this.clockInLog = highest;
  }

  private upsert({ upserts, cells, region, row }: PreparedRow): void {
    for (const [index, cell] of cells.entries()) {
      const memstore = upserts![index] ? region.byFamily.get(cell.family)?.version.active : undefined;
      memstore?.dropOlderVersions(row, cell.qualifier, this.core.smallestReadPoint());
    }
  }
}
