/**
 * How changes enter a store: checked, numbered, appended to the log, put into the memstores, and acknowledged when the
 * commit queue says so. Between the look at the row and the append there is no `await`, so a row needs no lock.
 */

import { InvalidArgumentError, type RowanError } from '../../errors.js';
import {
  type Append,
  Cell,
  type CheckAndMutate,
  type CheckAndMutateResult,
  type CommitOutcome,
  type Delete,
  type Durability,
  type Increment,
  LATEST_TIMESTAMP,
  type MutationCell,
  type Put,
  Result,
  type RowMutation,
  RowMutations,
} from '../../table/index.js';
import type { Memstore } from '../memstore/memstore.js';
import type { Region } from '../region/region.js';
import { regionOf } from '../region/region.js';
import type { StoreCore } from '../store-core.js';
import type { TableState } from '../table-state.js';
import type { SettledDurability } from './commit-queue.js';
import { checkRow, nextTimestamp, type PreparedCell, prepareDelete, prepareDelta } from './row-operations.js';
import { asRowanError, checkIndependent, type StateChange } from './state-change.js';

/** One row's cells, ready to be written: what may still fail has been checked. */
class PreparedRow {
  constructor(
    readonly state: TableState,
    readonly region: Region,
    readonly row: Uint8Array,
    readonly cells: readonly MutationCell[],
    /** Takes the place of LATEST_TIMESTAMP. */
    readonly now: number,
    /** The time to live of all cells, unless each has its own in `ttls`. */
    readonly ttl: number,
    readonly ttls: readonly number[] | undefined,
    /** Columns of families with one version, whose older versions in memory are dropped behind this write (R70). */
    readonly upserts: readonly MutationCell[] | undefined,
    readonly result: Result,
  ) {}
}

const RANK: Readonly<Record<SettledDurability, number>> = {
  SKIP_WAL: 0,
  ASYNC_WAL: 1,
  SYNC_WAL: 2,
  FSYNC_WAL: 3,
};

/** The strictest of some mutations' durabilities (R87). */
export function strictest(a: SettledDurability, b: SettledDurability): SettledDurability {
  return RANK[a] >= RANK[b] ? a : b;
}

/** How far counters with several versions may run ahead of the clock: milliseconds. */
const MAX_AHEAD = 1_000;

export class TableWriter {
  /** The clock of the store as the log has it. */
  private clockInLog = 0;

  constructor(private readonly core: StoreCore) {}

  /** Applies one change; resolves when it is as durable as it asks to be. */
  async mutate(state: TableState, mutation: RowMutation): Promise<Result> {
    this.core.rowClock.now();
    const prepared = this.prepare(state, mutation, 0);
    const durability = this.durabilityOf(state, mutation.durability);
    await this.write([prepared], durability);
    this.upsert(prepared);
    return prepared.result;
  }

  async mutateRow(state: TableState, mutations: RowMutations): Promise<Result> {
    this.core.rowClock.now();
    const { prepared, durability } = this.prepareRow(state, mutations, 0);
    await this.write([prepared], durability);
    this.upsert(prepared);
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
    const action = check.action;
    let prepared: PreparedRow;
    let durability: SettledDurability;
    if (action instanceof RowMutations) {
      ({ prepared, durability } = this.prepareRow(state, action, outcome.timestamp));
    } else {
      prepared = this.prepare(state, action, outcome.timestamp);
      durability = this.durabilityOf(state, action.durability);
    }
    await this.write([prepared], durability);
    this.upsert(prepared);
    return { success: true, result: prepared.result.isEmpty ? undefined : prepared.result };
  }

  /** Puts, each for itself, in one record of the log: what became of each, undefined when it was written. */
  async putEach(state: TableState, puts: readonly Put[]): Promise<(unknown | undefined)[]> {
    this.core.rowClock.now();
    const rows: PreparedRow[] = [];
    const errors: (unknown | undefined)[] = new Array(puts.length);
    let durability: SettledDurability = 'SKIP_WAL';
    for (let i = 0; i < puts.length; i++) {
      const put = puts[i]!;
      try {
        rows.push(this.prepare(state, put, 0));
        durability = strictest(durability, this.durabilityOf(state, put.durability));
      } catch (error) {
        errors[i] = error;
      }
    }
    if (rows.length === 0) return errors;
    try {
      await this.write(rows, durability);
      return errors;
    } catch (error) {
      return errors.fill(error);
    }
  }

  /**
   * Changes of several rows in one record of the log: all of them are applied, or none.
   * @throws InvalidArgumentError when one reads what another of them writes: it would not see it.
   */
  async mutateAll(state: TableState, mutations: readonly (RowMutation | RowMutations)[]): Promise<Result[]> {
    checkIndependent(mutations.map((change) => ({ state, change })));
    this.core.rowClock.now();
    const rows: PreparedRow[] = [];
    let durability: SettledDurability = 'SKIP_WAL';
    for (const mutation of mutations) {
      if (mutation instanceof RowMutations) {
        const row = this.prepareRow(state, mutation, 0);
        rows.push(row.prepared);
        durability = strictest(durability, row.durability);
      } else {
        rows.push(this.prepare(state, mutation, 0));
        durability = strictest(durability, this.durabilityOf(state, mutation.durability));
      }
    }
    if (rows.length === 0) return [];
    await this.write(rows, durability);
    const results: Result[] = new Array(rows.length);
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i]!;
      if (row.upserts) this.upsert(row);
      results[i] = row.result;
    }
    return results;
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
    let durability: SettledDurability = 'SKIP_WAL';
    const outcomes = groups.map((group): CommitOutcome => {
      try {
        const own = group.map(({ state, change }) => this.prepareChange(state, change));
        for (const row of own) {
          rows.push(row.prepared);
          durability = strictest(durability, row.durability);
        }
        return { ok: true, results: own.map(({ prepared }) => prepared.result) };
      } catch (error) {
        return { ok: false, error: asRowanError(error) };
      }
    });
    // What was decided on may not be durable yet; the answer must not outlive it.
    if (rows.length === 0) await this.core.commits.settle();
    else await this.write(rows, durability);
    for (const row of rows) this.upsert(row);
    return outcomes;
  }

  private prepareChange(
    state: TableState,
    change: RowMutation | RowMutations,
  ): { prepared: PreparedRow; durability: SettledDurability } {
    if (change instanceof RowMutations) return this.prepareRow(state, change, 0);
    return {
      prepared: this.prepare(state, change, 0),
      durability: this.durabilityOf(state, change.durability),
    };
  }

  /**
   * Checks a change and settles its cells. `time` is that of the row mutations it is part of.
   * @throws RowanError when it cannot be applied; nothing has happened then.
   */
  private prepare(state: TableState, mutation: RowMutation, notBefore: number, time?: number): PreparedRow {
    const { row } = mutation;
    const region = regionOf(state.regions, row);
    if (mutation.kind === 'increment' || mutation.kind === 'append') {
      return this.prepareDelta(state, region, mutation, time);
    }
    const { rowClock } = this.core;
    let cells: readonly MutationCell[] = mutation.cells;
    let now: number;
    if (mutation.kind === 'put') {
      if (cells.length === 0) throw empty('put', 'addColumn');
      state.checkCells(row, cells);
      now = time ?? rowClock.ofPut(state.id, row);
      if (notBefore > now) now = notBefore;
    } else {
      now = time ?? rowClock.ofDelete(state.id, row);
      cells = this.deleteCells(state, mutation, now);
    }
    const ttl = mutation.ttl ?? 0;
    return new PreparedRow(state, region, row, cells, now, ttl, undefined, undefined, Result.EMPTY);
  }

  private deleteCells(state: TableState, del: Delete, now: number): MutationCell[] {
    state.checkCells(del.row, del.cells);
    const cells = prepareDelete(del, this.core.rowReader(state, del.row), now);
    // A version that was found in the future has a timestamp that was given to it: it counts for nobody else.
    const given = (cell: MutationCell, index: number): boolean =>
      (del.cells[index] ?? del).timestamp === LATEST_TIMESTAMP && cell.timestamp <= now;
    for (const [index, cell] of cells.entries()) {
      if (given(cell, index)) this.core.rowClock.deleted(state.id, del.row, cell.timestamp);
    }
    return cells;
  }

  private prepareDelta(
    state: TableState,
    region: Region,
    mutation: Increment | Append,
    time: number | undefined,
  ): PreparedRow {
    if (mutation.columns.length === 0) throw empty(mutation.kind, 'addColumn');
    for (const column of mutation.columns) {
      if (!state.familyNumbers.has(column.family)) throw state.noSuchFamily(column.family);
    }
    const now = time ?? this.core.rowClock.ofPut(state.id, mutation.row);
    const timeAfter = (cell: Cell): number => this.timeAfter(state, region, cell, now);
    const cells = prepareDelta(mutation, this.core.rowReader(state, mutation.row), now, timeAfter);
    state.checkCells(mutation.row, cells);
    return new PreparedRow(
      state,
      region,
      mutation.row,
      cells,
      now,
      0,
      cells.map((cell) => cell.ttl),
      cells.filter((cell) => region.byFamily.get(cell.family)!.descriptor.versions === 1),
      mutation.returnResults ? resultOf(state, mutation.row, cells) : Result.EMPTY,
    );
  }

  /**
   * The time of a new value of `cell`'s column: later than `cell`, as in HBase (R67). But of cells with times of this
   * store only as far as the family keeps more than one version, and within {@link MAX_AHEAD}: of two values of one
   * time the later stands, and a counter must not run away from the clock.
   */
  private timeAfter(state: TableState, region: Region, cell: Cell, now: number): number {
    if (cell.timestamp < now) return now;
    const next = nextTimestamp(cell);
    if (cell.timestamp > now) return next;
    const { rowClock } = this.core;
    if (region.byFamily.get(cell.family)!.descriptor.versions === 1 || next > rowClock.time + MAX_AHEAD)
      return now;
    rowClock.written(state.id, cell.row, next);
    return next;
  }

  private prepareRow(
    state: TableState,
    mutations: RowMutations,
    notBefore: number,
  ): { prepared: PreparedRow; durability: SettledDurability } {
    if (mutations.mutations.length === 0) throw empty('row mutations', 'add');
    const now = this.core.rowClock.ofPut(state.id, mutations.row);
    const parts = mutations.mutations.map((mutation) => this.prepare(state, mutation, notBefore, now));
    let durability: SettledDurability = 'SKIP_WAL';
    for (const mutation of mutations.mutations) {
      durability = strictest(durability, this.durabilityOf(state, mutation.durability));
    }
    const cells: MutationCell[] = [];
    const ttls: number[] = [];
    const upserts: MutationCell[] = [];
    const results: Cell[] = [];
    for (const part of parts) {
      part.cells.forEach((cell, index) => {
        cells.push(cell.timestamp === LATEST_TIMESTAMP ? { ...cell, timestamp: part.now } : cell);
        ttls.push(part.ttls?.[index] ?? part.ttl);
      });
      if (part.upserts) upserts.push(...part.upserts);
      results.push(...part.result.cells);
    }
    const prepared = new PreparedRow(
      state,
      parts[0]!.region,
      mutations.row,
      cells,
      now,
      0,
      ttls,
      upserts.length > 0 ? upserts : undefined,
      results.length > 0 ? new Result(mutations.row, results) : Result.EMPTY,
    );
    return { prepared, durability };
  }

  /** Resolves when the rows are acknowledged. @throws RowanError when the log cannot take them: nothing was written. */
  private async write(rows: readonly PreparedRow[], durability: SettledDurability): Promise<void> {
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

  private upsert(row: PreparedRow): void {
    if (!row.upserts) return;
    for (const cell of row.upserts) {
      const memstore = row.region.byFamily.get(cell.family)?.version.active;
      memstore?.dropOlderVersions(row.row, cell.qualifier, this.core.smallestReadPoint());
    }
  }

  private durabilityOf(state: TableState, asked: Durability): SettledDurability {
    if (asked !== 'USE_DEFAULT') return asked;
    const ofTable = state.descriptor.durability;
    return ofTable !== 'USE_DEFAULT' ? ofTable : this.core.settings.durability;
  }
}

function empty(what: string, call: string): RowanError {
  return new InvalidArgumentError(`The ${what} has nothing in it. Call ${call} at least once.`);
}

/** The new cells as an increment or append answers them: in the order of families and qualifiers. */
function resultOf(state: TableState, row: Uint8Array, cells: readonly PreparedCell[]): Result {
  const order = new Map(state.descriptor.families.map((family, index) => [family.name, index]));
  const sorted = [...cells].sort(
    (a, b) => order.get(a.family)! - order.get(b.family)! || Buffer.compare(a.qualifier, b.qualifier),
  );
  return new Result(
    row,
    sorted.map((cell) => new Cell(row, cell.family, cell.qualifier, cell.timestamp, cell.type, cell.value)),
  );
}
