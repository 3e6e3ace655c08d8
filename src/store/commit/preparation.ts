import { copyBytes, EMPTY_BYTES, orderOfRows } from '../../bytes/index.js';
import { InvalidArgumentError, type RowanError } from '../../errors.js';
import { checkRow } from '../../table/checks.js';
import { isGet } from '../../table/get-and-scan.js';
import {
  Append,
  type BatchAction,
  Cell,
  CellType,
  CheckAndMutate,
  type ColumnPuts,
  Delete,
  type Durability,
  Increment,
  LATEST_TIMESTAMP,
  type MutationCell,
  type PackedPuts,
  Put,
  Result,
  type RowMutation,
  RowMutations,
  type TableChange,
  type WaitingPut,
} from '../../table/index.js';
import { isCheckAndMutate } from '../../table/row-mutations.js';
import type { Memstore } from '../memstore/memstore.js';
import { type Region, regionOf } from '../region/region.js';
import { noLabels, type TableState } from '../table-state.js';
import type { EffectiveDurability, WrittenCells } from './commit-queue.js';
import { ColumnPutBatch, memstoreFor, PackedPutBatch, SortedPutBatch } from './put-batches.js';
import type { RowClock } from './row-clock.js';
import {
  nextTimestamp,
  type PreparedCell,
  prepareDelete,
  prepareDelta,
  type RowReader,
} from './row-operations.js';

// — Copies of a caller's actions, for writes that cannot be made in the turn of the call.

/** A copy with its own bytes, so that the caller may reuse its buffers. Gets are not copied. */
export function ownCopy<T extends BatchAction>(action: T): T {
  return copyOf(action) as T;
}

function copyOf(action: BatchAction): BatchAction {
  if (isGet(action)) return action;
  if (action instanceof RowMutations) {
    return new RowMutations(copyBytes(action.row)).add(...action.mutations.map(copyOfMutation));
  }
  if (!isCheckAndMutate(action)) return copyOfMutation(action);
  const own = copyOf(action.action) as RowMutation | RowMutations;
  const { condition } = action;
  if (condition.kind === 'filter') return CheckAndMutate.ifFilter(condition.filter, own, condition.timeRange);
  const qualifier = copyBytes(condition.qualifier);
  return CheckAndMutate.ifMatches(
    { ...condition, qualifier, value: condition.value && copyBytes(condition.value) },
    own,
  );
}

function copyOfMutation(mutation: RowMutation): RowMutation {
  const row = copyBytes(mutation.row);
  let copy: RowMutation;
  if (mutation.kind === 'put') {
    copy = new Put(row, mutation.timestamp);
    copy.cells.push(...mutation.cells.map(copyOfCell));
  } else if (mutation.kind === 'delete') {
    copy = new Delete(row, mutation.timestamp);
    copy.cells.push(...mutation.cells.map(copyOfCell));
  } else {
    copy = mutation.kind === 'increment' ? new Increment(row) : new Append(row);
    for (const column of mutation.columns) {
      const qualifier = copyBytes(column.qualifier);
      if (copy.kind === 'increment')
        copy.addColumn(column.family, qualifier, (column as { amount: bigint }).amount, column.timestamp);
      else
        copy.addColumn(
          column.family,
          qualifier,
          copyBytes((column as { value: Uint8Array }).value),
          column.timestamp,
        );
    }
    copy.timeRange = mutation.timeRange;
    copy.setReturnResults(mutation.returnResults);
  }
  copy.visibility = mutation.visibility;
  return copy.setTtl(mutation.ttl).setDurability(mutation.durability) as RowMutation;
}

function copyOfCell(cell: MutationCell): MutationCell {
  return { ...cell, qualifier: copyBytes(cell.qualifier), value: copyBytes(cell.value) };
}

/** The cells of one row, ready to be written. They use the caller's bytes until they are copied in the same turn. */
export class PreparedRow {
  /** Bytes of its values; set when its cells are in the memstores. */
  bytes = 0;

  constructor(
    readonly state: TableState,
    readonly region: Region,
    readonly row: Uint8Array,
    readonly cells: readonly MutationCell[],
    /** Replaces LATEST_TIMESTAMP. */
    readonly now: number,
    readonly durability: EffectiveDurability,
    /** The time to live of all cells, unless each has its own in `ttls`. */
    readonly ttl: number,
    readonly ttls: readonly number[] | undefined,
    /** Which cells replace older ones in memory, because their families keep one version (R70). */
    readonly upserts: readonly boolean[] | undefined,
    readonly result: Result,
  ) {}
}

const RANK: Readonly<Record<EffectiveDurability, number>> = {
  SKIP_WAL: 0,
  ASYNC_WAL: 1,
  SYNC_WAL: 2,
  FSYNC_WAL: 3,
};

/** The strictest of several durabilities (R87). */
export function strictest(a: EffectiveDurability, b: EffectiveDurability): EffectiveDurability {
  return RANK[a] >= RANK[b] ? a : b;
}

/** Milliseconds that counters with several versions may be ahead of the clock. */
const MAX_AHEAD = 1_000;

/** What changes are prepared against: the store, or a transaction's view of it. */
export interface PreparationCore {
  readonly rowClock: RowClock;
  readonly settings: { readonly durability: EffectiveDurability };
  readonly reads: {
    /** Reads the row with every write so far, acknowledged or not. */
    rowReader(state: TableState, row: Uint8Array): RowReader;
  };
}

/** Turns changes into cells that can be written. Every reason to refuse a change is found here, before anything is written. */
export class Preparation {
  constructor(private readonly core: PreparationCore) {}

  /**
   * Checks a change and determines its cells, based on every write so far. A put without a timestamp gets none below `notBefore`;
   * `timestampsAssigned`: as {@link TableChange.timestampsAssigned}.
   * @throws RowanError when it cannot be applied; then nothing has happened.
   */
  prepare(
    state: TableState,
    change: RowMutation | RowMutations,
    notBefore = 0,
    timestampsAssigned = false,
  ): PreparedRow {
    const prepared =
      change instanceof RowMutations
        ? this.rowMutations(state, change, notBefore)
        : this.mutation(state, change, notBefore);
    if (timestampsAssigned) this.noteTimes(prepared);
    return prepared;
  }

  /** Registers the timestamps of its cells as if they had been assigned to the row now. */
  private noteTimes({ state, row, cells }: PreparedRow): void {
    const { rowClock } = this.core;
    const { highest } = rowClock;
    for (const { type, timestamp } of cells) {
      // Later than any time the store has assigned, so it was given by a user: it does not count for other writes.
      if (timestamp > highest) continue;
      if (type === CellType.Put) rowClock.written(state.id, row, timestamp);
      else rowClock.deleted(state.id, row, timestamp);
    }
  }

  /** `time`: the timestamp of the row mutations that the change is part of. */
  private mutation(state: TableState, change: RowMutation, notBefore: number, time?: number): PreparedRow {
    if (change.visibility !== undefined) throw noLabels('A cell visibility');
    if (change.kind === 'increment' || change.kind === 'append') return this.delta(state, change, time);
    const { row } = change;
    const region = regionOf(state.regions, row);
    const { rowClock } = this.core;
    let cells: readonly MutationCell[] = change.cells;
    let now: number;
    if (change.kind === 'put') {
      if (cells.length === 0) throw empty('put', 'addColumn');
      state.checkCells(row, cells);
      now = time ?? rowClock.ofPut(state.id, row);
      if (notBefore > now) now = notBefore;
    } else {
      now = time ?? rowClock.ofDelete(state.id, row);
      cells = this.deletion(state, change, now);
    }
    const durability = this.durabilityOf(state, change.durability);
    const ttl = change.ttl ?? 0;
    return new PreparedRow(
      state,
      region,
      row,
      cells,
      now,
      durability,
      ttl,
      undefined,
      undefined,
      Result.EMPTY,
    );
  }

  /** Prepares puts of one cell each to one column, without timestamps. `add` of the deferred puts has checked them. */
  prepareBatch(
    state: TableState,
    family: string,
    qualifier: Uint8Array,
    asked: Durability,
    rows: readonly Uint8Array[],
    values: readonly Uint8Array[],
  ): SortedPutBatch {
    const { rowClock } = this.core;
    const times = rows.map((row) => rowClock.ofPut(state.id, row));
    const durability = this.durabilityOf(state, asked);
    return new SortedPutBatch(state, family, qualifier, durability, rows, values, times);
  }

  /** Prepares packed puts that the table accepts. */
  preparePacked(state: TableState, puts: PackedPuts): PackedPutBatch {
    const { rowClock } = this.core;
    const times = puts.rows.map((row) => rowClock.ofPut(state.id, row));
    return new PackedPutBatch(state, puts, this.durabilityOf(state, puts.durability), times);
  }

  /** Prepares puts to one column that the table accepts. */
  prepareColumn(state: TableState, puts: ColumnPuts): ColumnPutBatch {
    const { rowClock } = this.core;
    const times: number[] = [];
    for (let i = 0; i < puts.count; i++)
      times.push(rowClock.isAhead ? rowClock.ofPut(state.id, puts.rowAt(i)) : rowClock.time);
    return new ColumnPutBatch(state, puts, this.durabilityOf(state, puts.durability), times);
  }

  private deletion(state: TableState, del: Delete, now: number): MutationCell[] {
    state.checkCells(del.row, del.cells);
    const cells = prepareDelete(del, this.core.reads.rowReader(state, del.row), now);
    for (let i = 0; i < cells.length; i++) {
      const { timestamp } = cells[i]!;
      // The timestamp of a version in the future was given by a user: it does not count for other writes.
      if ((del.cells[i] ?? del).timestamp === LATEST_TIMESTAMP && timestamp <= now)
        this.core.rowClock.deleted(state.id, del.row, timestamp);
    }
    return cells;
  }

  private delta(state: TableState, change: Increment | Append, time: number | undefined): PreparedRow {
    if (change.columns.length === 0) throw empty(change.kind, 'addColumn');
    for (const { family } of change.columns) state.checkFamily(family);
    const region = regionOf(state.regions, change.row);
    const now = time ?? this.core.rowClock.ofPut(state.id, change.row);
    const timeAfter = (cell: Cell): number => this.timeAfter(state, region, cell, now);
    const cells = prepareDelta(change, this.core.reads.rowReader(state, change.row), now, timeAfter);
    state.checkCells(change.row, cells);
    return new PreparedRow(
      state,
      region,
      change.row,
      cells,
      now,
      this.durabilityOf(state, change.durability),
      0,
      cells.map((cell) => cell.ttl),
      cells.map((cell) => region.byFamily.get(cell.family)!.descriptor.versions === 1),
      change.returnResults ? resultOf(state, change.row, cells) : Result.EMPTY,
    );
  }

  /**
   * The timestamp of a new value of `cell`'s column: later than `cell`, as in HBase (R67). If this store assigned the timestamp of
   * `cell`, that holds only where the family keeps more than one version, and within {@link MAX_AHEAD}: of two values with one
   * timestamp the later write wins, and a counter must not run ahead of the clock.
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

  private rowMutations(state: TableState, { row, mutations }: RowMutations, notBefore: number): PreparedRow {
    if (mutations.length === 0) throw empty('row mutations', 'add');
    const now = this.core.rowClock.ofPut(state.id, row);
    const parts = mutations.map((mutation) => this.mutation(state, mutation, notBefore, now));
    let durability: EffectiveDurability = 'SKIP_WAL';
    const cells: MutationCell[] = [];
    const ttls: number[] = [];
    const upserts: boolean[] = [];
    const results: Cell[] = [];
    for (const part of parts) {
      durability = strictest(durability, part.durability);
      part.cells.forEach((cell, index) => {
        cells.push(cell.timestamp === LATEST_TIMESTAMP ? { ...cell, timestamp: part.now } : cell);
        ttls.push(part.ttls?.[index] ?? part.ttl);
        upserts.push(part.upserts?.[index] ?? false);
      });
      results.push(...part.result.cells);
    }
    return new PreparedRow(
      state,
      parts[0]!.region,
      row,
      cells,
      now,
      durability,
      0,
      ttls,
      upserts.includes(true) ? upserts : undefined,
      results.length > 0 ? new Result(results[0]!.row, results) : Result.EMPTY,
    );
  }

  private durabilityOf(state: TableState, asked: Durability): EffectiveDurability {
    if (asked !== 'USE_DEFAULT') return asked;
    const ofTable = state.descriptor.durability;
    return ofTable !== 'USE_DEFAULT' ? ofTable : this.core.settings.durability;
  }
}

function empty(what: string, call: string): RowanError {
  return new InvalidArgumentError(`The ${what} is empty. Call ${call} at least once.`);
}

/** The new cells as the result of an increment or append: in the order of families and qualifiers, with bytes of its own. */
function resultOf(state: TableState, row: Uint8Array, cells: readonly PreparedCell[]): Result {
  const own = copyBytes(row);
  const answers = cells.map(
    ({ family, qualifier, timestamp, type, value }) =>
      new Cell(own, family, copyBytes(qualifier), timestamp, type, copyBytes(value)),
  );
  if (answers.length > 1) {
    const order = new Map(state.descriptor.families.map((family, index) => [family.name, index]));
    answers.sort(
      (a, b) => order.get(a.family)! - order.get(b.family)! || Buffer.compare(a.qualifier, b.qualifier),
    );
  }
  return new Result(own, answers);
}

/**
 * Puts of one cell each that a step collects and applies at its end. Adding scattered cells (index entries) to a memstore costs
 * half the time when they come in its order, and each deferred put costs nothing but its row and value.
 */
export class DeferredPuts {
  private family = '';
  private qualifier: Uint8Array = EMPTY_BYTES;
  private durability: Durability = 'USE_DEFAULT';
  private readonly rows: Uint8Array[] = [];
  /** Index i belongs to row i. */
  private readonly values: Uint8Array[] = [];
  /** How many of them are applied. */
  applied = 0;

  constructor(readonly state: TableState) {}

  get count(): number {
    return this.rows.length;
  }

  /** False: the put is of another column, or has another durability, than those collected. @throws RowanError when it is invalid. */
  add({ row, family, qualifier, value, durability }: WaitingPut): boolean {
    if (this.rows.length === 0) {
      this.family = family;
      this.qualifier = qualifier;
      this.durability = durability;
      this.state.checkFamily(family);
    } else if (family !== this.family || qualifier !== this.qualifier || durability !== this.durability) {
      return false;
    }
    this.state.checkSize(checkRow(row), family, qualifier, value);
    this.rows.push(row);
    this.values.push(value);
    return true;
  }

  /** Prepares the puts that are not applied yet, sorted by row. */
  prepareRest(preparation: Preparation): SortedPutBatch {
    const order = orderOfRows(this.rows, this.applied);
    const rows: Uint8Array[] = [];
    const values: Uint8Array[] = [];
    for (let i = 0; i < order.length; i++) {
      rows.push(this.rows[order[i]!]!);
      values.push(this.values[order[i]!]!);
    }
    this.applied = this.rows.length;
    return preparation.prepareBatch(this.state, this.family, this.qualifier, this.durability, rows, values);
  }

  /** Removes the puts after the first `count`; of the rest, the first `applied` are applied. */
  rollbackTo(count: number, applied: number): void {
    this.rows.length = count;
    this.values.length = count;
    this.applied = applied;
  }
}

/** Adds the cells of a prepared row to the memstores of their families. `superseding` collects the cells that replace older ones. */
export function applyToMemstore(
  prepared: PreparedRow,
  seq: number,
  written: WrittenCells,
  superseding: WrittenCells | undefined,
): void {
  const { region, row, cells, now, ttls, ttl, upserts } = prepared;
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
  prepared.bytes = bytes;
}
