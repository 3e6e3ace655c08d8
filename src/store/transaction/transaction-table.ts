/** Tables as a transaction sees them. */

import { asRowanError, throwIfAborted, UnsupportedError } from '../../errors.js';
import { isGet } from '../../table/get-and-scan.js';
import {
  type Append,
  type AtomicStep,
  type BatchAction,
  type BatchOptions,
  type BatchOutcome,
  type CheckAndMutate,
  type CheckAndMutateResult,
  type CommitOutcome,
  type Delete,
  type Get,
  type Increment,
  type OperationOptions,
  type Put,
  type RawRow,
  Result,
  type ResultScanner,
  type RowMutation,
  type RowMutations,
  type RowRead,
  type Scan,
  type SyncResultScanner,
  type SyncTable,
  type TableChange,
  type TableTransaction,
} from '../../table/index.js';
import { checkRow } from '../commit/row-operations.js';
import { plainGet } from '../read/plain-get.js';
import { AsyncScanner, TableScanner } from '../read/table-scanner.js';
import { regionOf } from '../region/region.js';
import type { ScannedRange } from './read-set.js';
import type { StoreTransaction } from './transaction.js';

/** The tables of a store as one transaction sees them. */
export class TransactionTables implements TableTransaction {
  private readonly tables = new Map<string, TransactionTable>();

  constructor(private readonly transaction: StoreTransaction) {}

  table(name: string): SyncTable {
    this.transaction.checkRunning();
    let table = this.tables.get(name);
    if (table === undefined) {
      table = new TransactionTable(this.transaction, name);
      this.tables.set(name, table);
    }
    return table;
  }
}

class TransactionTable implements SyncTable {
  constructor(
    private readonly transaction: StoreTransaction,
    readonly name: string,
  ) {}

  getSync(get: Get): Result {
    return this.read(get, this.name);
  }

  private readonly read: RowRead = (get, table = this.name) => {
    const { transaction } = this;
    const state = transaction.stateOf(table);
    state.checkQuery(get);
    return transaction.rowReader(state, get.row).read(get);
  };

  getRaw(get: Get, into: RawRow): boolean {
    const { transaction } = this;
    const state = transaction.stateOf(this.name);
    if (transaction.isUnwritten(state)) {
      state.checkQuery(get);
      transaction.track(state, get);
      into.clear();
      const region = regionOf(state.regions, get.row);
      if (plainGet(region, get, transaction.readPoint, transaction, into) !== undefined)
        return into.count > 0;
    }
    into.clear();
    const result = this.getSync(get);
    into.fill(result);
    return into.count > 0;
  }

  async get(get: Get, options?: OperationOptions): Promise<Result> {
    throwIfAborted(options?.signal);
    return this.getSync(get);
  }

  async getAll(gets: readonly Get[], options?: OperationOptions): Promise<Result[]> {
    throwIfAborted(options?.signal);
    return gets.map((get) => this.getSync(get));
  }

  async exists(get: Get, options?: OperationOptions): Promise<boolean> {
    return (await this.get(get, options)).row.length > 0;
  }

  async put(put: Put, options?: OperationOptions): Promise<void> {
    this.mutate(put, options);
  }

  async putAll(puts: readonly Put[], options?: OperationOptions): Promise<void> {
    for (const put of puts) this.mutate(put, options);
  }

  async delete(del: Delete, options?: OperationOptions): Promise<void> {
    this.mutate(del, options);
  }

  async increment(increment: Increment, options?: OperationOptions): Promise<Result> {
    return this.mutate(increment, options);
  }

  async append(append: Append, options?: OperationOptions): Promise<Result> {
    return this.mutate(append, options);
  }

  async mutateRow(mutations: RowMutations, options?: OperationOptions): Promise<Result> {
    return this.mutate(mutations, options);
  }

  async checkAndMutate(check: CheckAndMutate, options?: OperationOptions): Promise<CheckAndMutateResult> {
    throwIfAborted(options?.signal);
    const { transaction } = this;
    const state = transaction.writableState(this.name);
    const { condition } = check;
    if (condition.kind === 'column' && !state.familyNumbers.has(condition.family)) {
      throw state.noSuchFamily(condition.family);
    }
    const outcome = checkRow(check.row, condition, transaction.rowReader(state, check.row));
    if (!outcome.matches) return { success: false, result: undefined };
    const result = transaction.apply(state, check.action, outcome.timestamp);
    return { success: true, result: result.isEmpty ? undefined : result };
  }

  async batch(actions: readonly BatchAction[], options?: BatchOptions): Promise<BatchOutcome[]> {
    if (options?.atomic) {
      const results = await this.atomic((step) =>
        actions.map((action) => step.apply(changeOf(this.name, action))),
      );
      return results.map((result) => ({ ok: true, result }));
    }
    const outcomes: BatchOutcome[] = [];
    for (const action of actions) outcomes.push(await this.outcomeOf(action, options));
    return outcomes;
  }

  async commit(
    decide: (read: RowRead) => readonly (readonly TableChange[])[],
    options?: OperationOptions,
  ): Promise<readonly CommitOutcome[]> {
    throwIfAborted(options?.signal);
    this.transaction.checkRunning();
    return decide(this.read).map((group): CommitOutcome => {
      const before = this.transaction.savepoint();
      try {
        return { ok: true, results: group.map((change) => this.apply(change)) };
      } catch (error) {
        this.transaction.rollbackTo(before);
        return { ok: false, error: asRowanError(error) };
      }
    });
  }

  async atomic<T>(decide: (step: AtomicStep) => T, options?: OperationOptions): Promise<T> {
    throwIfAborted(options?.signal);
    this.transaction.checkRunning();
    const step: AtomicStep = {
      // Its writes get their timestamps at the commit.
      time: 0,
      read: this.read,
      scan: (scan, table = this.name) => [...new TransactionTable(this.transaction, table).scanSync(scan)],
      apply: (change) => this.apply(change),
      attempt: (work) => this.attempt(work),
    };
    return this.attempt(() => decide(step));
  }

  /** Runs `work`, and rolls back what it applied if it throws. */
  private attempt<T>(work: () => T): T {
    const before = this.transaction.savepoint();
    try {
      return work();
    } catch (error) {
      this.transaction.rollbackTo(before);
      throw error;
    }
  }

  scan(scan: Scan, options?: OperationOptions): ResultScanner {
    return new AsyncScanner(this.scanSync(scan), options?.signal);
  }

  scanSync(scan: Scan): SyncResultScanner {
    const { transaction } = this;
    const state = transaction.stateOf(this.name);
    const scanner = new TableScanner(transaction.core.reads, state, scan, transaction.viewOf(state));
    return new TrackedScanner(scanner, transaction, transaction.trackScan(state, scan));
  }

  private async outcomeOf(action: BatchAction, options: OperationOptions | undefined): Promise<BatchOutcome> {
    try {
      if (isGet(action)) return { ok: true, result: await this.get(action, options) };
      if (action.kind !== 'checkAndMutate') return { ok: true, result: this.mutate(action, options) };
      const { success, result } = await this.checkAndMutate(action, options);
      return { ok: true, result: result ?? Result.EMPTY, success };
    } catch (error) {
      return { ok: false, error: asRowanError(error) };
    }
  }

  private apply({ table, change, settled }: TableChange): Result {
    return this.transaction.apply(this.transaction.writableState(table), change, 0, settled);
  }

  private mutate(change: RowMutation | RowMutations, options: OperationOptions | undefined): Result {
    throwIfAborted(options?.signal);
    return this.apply({ table: this.name, change });
  }
}

/** A scan of the snapshot and the transaction's earlier writes, which records how far it has come. */
class TrackedScanner implements SyncResultScanner {
  private done = false;

  constructor(
    private readonly inner: TableScanner,
    private readonly transaction: StoreTransaction,
    private readonly range: ScannedRange,
  ) {
    transaction.opened(this);
  }

  next(): Result | undefined {
    this.transaction.checkRunning();
    const result = this.inner.next();
    if (result === undefined) this.ended();
    else this.range.reached(result.row);
    return result;
  }

  nextBatch(count: number): Result[] {
    const results: Result[] = [];
    while (results.length < count) {
      const result = this.next();
      if (result === undefined) break;
      results.push(result);
    }
    return results;
  }

  nextRaw(into: RawRow): boolean {
    this.transaction.checkRunning();
    if (!this.inner.nextRaw(into)) {
      this.ended();
      return false;
    }
    this.range.reached(into.row);
    return true;
  }

  close(): void {
    if (this.done) return;
    this.done = true;
    this.inner.close();
    this.transaction.closed(this);
  }

  *[Symbol.iterator](): Iterator<Result> {
    try {
      for (let result = this.next(); result; result = this.next()) yield result;
    } finally {
      this.close();
    }
  }

  /** The rows after the last one count as read too, unless the scan has reached its limit. */
  private ended(): void {
    if (!this.done && !this.inner.isFull) this.range.ended();
    this.close();
  }
}

/** @throws UnsupportedError as the table itself does. */
function changeOf(table: string, action: BatchAction): TableChange {
  if (!isGet(action) && action.kind !== 'checkAndMutate') return { table, change: action };
  throw new UnsupportedError(
    'An atomic batch takes puts, deletes, increments, appends and row mutations. ' +
      'Read before it, or send checks one by one.',
  );
}
