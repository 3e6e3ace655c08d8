/** Tables as a transaction sees them. */

import {
  asRowanError,
  RowanError,
  SerializationError,
  TimeoutError,
  throwIfAborted,
  UnsupportedError,
} from '../../errors.js';
import { timerDelay } from '../../table/checks.js';
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
  type SyncTableTransaction,
  type TableChange,
  type TransactionOptions,
  transactionLimits,
} from '../../table/index.js';
import { checkRow } from '../commit/row-operations.js';
import { plainGet } from '../read/point-read.js';
import { AsyncScanner, TableScanner, takeBatch } from '../read/table-scanner.js';
import { regionOf } from '../region/region.js';
import type { StoreCore } from '../store-core.js';
import type { Wait } from './contention.js';
import type { ScannedRange } from './read-set.js';
import { StoreTransaction } from './transaction.js';

/** The tables of a store as one transaction sees them. */
class TransactionTables implements SyncTableTransaction {
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
    transaction.space.begin();
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
      try {
        return { ok: true, results: this.attempt(() => group.map((change) => this.apply(change))) };
      } catch (error) {
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
      isShared: this.transaction.core.servers.writable > 0,
      read: this.read,
      scan: (scan, table = this.name) => [...new TransactionTable(this.transaction, table).scanSync(scan)],
      apply: (change) => this.apply(change),
      attempt: (work) => this.attempt(work),
    };
    return this.attempt(() => decide(step));
  }

  /** Runs `work`, and rolls back what it applied if it throws. */
  private attempt<T>(work: () => T): T {
    const { transaction } = this;
    const before = transaction.savepoint();
    const space = transaction.space.begin();
    try {
      return work();
    } catch (error) {
      transaction.rollbackTo(before);
      throw error;
    } finally {
      transaction.space.resume(space);
    }
  }

  scan(scan: Scan, options?: OperationOptions): ResultScanner {
    return new AsyncScanner(this.scanSync(scan), options?.signal);
  }

  scanSync(scan: Scan): TrackedScanner {
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

  private apply({ table, change, timestampsAssigned }: TableChange): Result {
    return this.transaction.apply(this.transaction.writableState(table), change, 0, timestampsAssigned);
  }

  private mutate(change: RowMutation | RowMutations, options: OperationOptions | undefined): Result {
    throwIfAborted(options?.signal);
    this.transaction.space.begin();
    return this.apply({ table: this.name, change });
  }
}

/** A scan of the snapshot and the transaction's earlier writes, which records how far it has come. */
export class TrackedScanner implements SyncResultScanner {
  private done = false;

  constructor(
    private readonly inner: TableScanner,
    private readonly transaction: StoreTransaction,
    private readonly range: ScannedRange,
  ) {
    transaction.opened(this);
  }

  /** As {@link TableScanner.maxSkipped}. */
  get maxSkipped(): number {
    return this.inner.maxSkipped;
  }

  set maxSkipped(rows: number) {
    this.inner.maxSkipped = rows;
  }

  get pausedAt(): Uint8Array | undefined {
    return this.inner.pausedAt;
  }

  get filterDone(): boolean {
    return this.inner.filterDone;
  }

  next(): Result | undefined {
    this.transaction.checkRunning();
    const result = this.inner.next();
    if (result !== undefined) this.range.reached(result.row);
    else if (this.inner.maxSkipped > 0) this.ended();
    else if (this.inner.pausedAt !== undefined) this.range.reached(this.inner.pausedAt);
    return result;
  }

  nextBatch(count: number, bytes?: number): Result[] {
    return takeBatch(this, count, bytes);
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

/** The longest pause before another attempt, in milliseconds. */
const LONGEST_PAUSE = 128;
/** From this attempt on the conflicts come from writes outside of transactions, which take no turns: a pause lets them end. */
const PAUSE_FROM = 3;

/**
 * Runs a transaction, and runs it again after conflicts, within its limits of attempts and time.
 * @throws what `run` throws, when nothing was written; SerializationError when all attempts had conflicts; RowanError
 * `ERR_TIMEOUT`, `ERR_ABORTED`, `ERR_CLOSED`.
 */
export async function runTransaction<T>(
  core: StoreCore,
  run: (transaction: SyncTableTransaction) => Promise<T>,
  options: TransactionOptions = {},
): Promise<T> {
  const { attempts, timeout } = transactionLimits(run, options);
  const contender = core.contention.enter();
  const limit = new TransactionLimit(timeout, options.signal);
  const wait: Wait = (begin) => limit.wait(begin);
  let last: SerializationError | undefined;
  try {
    for (let attempt = 1; attempt <= attempts; attempt++) {
      if (attempt > PAUSE_FROM) await limit.wait(pause(attempt, core.settings.random));
      await contender.takeTurns(wait);
      // Writes at the conflicting row that are not acknowledged yet must be in the next snapshot.
      if (last !== undefined) await core.commits.awaitDecided();
      const transaction = new StoreTransaction(core);
      limit.ends((why) => transaction.cut(why));
      try {
        const answer = await untilCut(transaction, run);
        await transaction.commit(contender, wait, options.signal);
        return answer;
      } catch (error) {
        last = transaction.conflict;
        if (last === undefined) throw error;
        transaction.reportConflict(contender);
      } finally {
        limit.ends(undefined);
        transaction.end();
        contender.ended();
      }
    }
  } finally {
    contender.ended();
    limit.lift();
  }
  throw new SerializationError(
    `The transaction was run ${attempts} times, and each time other writes had changed what it read. ` +
      'Read less in it, let fewer run at once on the same rows, or allow more attempts.',
    { cause: last, details: { ...last!.details, attempts } },
  );
}

/** The result of `run`; does not wait for it when the transaction is ended by a deadline, a signal or the store's close. */
function untilCut<T>(
  transaction: StoreTransaction,
  run: (transaction: SyncTableTransaction) => Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    transaction.onCut = reject;
    // In a promise, so that a synchronous throw is a rejection too.
    Promise.resolve()
      .then(() => run(new TransactionTables(transaction)))
      .then(resolve, reject);
  });
}

/** The deadline of a transaction over all of its runs and waits, and the signal that aborts it. */
class TransactionLimit {
  private readonly deadline: number;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private over: RowanError | undefined;
  private onEnd: ((why: RowanError) => void) | undefined;
  private readonly abort = (): void => this.end(aborted(this.signal!));

  constructor(
    private readonly timeout: number,
    private readonly signal: AbortSignal | undefined,
  ) {
    throwIfAborted(signal);
    this.deadline = performance.now() + timeout;
    this.arm();
    signal?.addEventListener('abort', this.abort, { once: true });
  }

  /** Re-arms the timer: the platform's timers are limited to 2^31 - 1 ms. */
  private arm(): void {
    const left = Math.max(1, Math.ceil(this.deadline - performance.now()));
    this.timer = setTimeout(() => {
      if (performance.now() < this.deadline) this.arm();
      else this.end(timedOut(this.timeout));
    }, timerDelay(left));
    this.timer.unref();
  }

  /** Sets the callback for the end of the time, which replaces the one before; undefined: none. */
  ends(onEnd: ((why: RowanError) => void) | undefined): void {
    this.onEnd = onEnd;
    if (this.over !== undefined) onEnd?.(this.over);
  }

  /**
   * Resolves when the function that `begin` receives is called. At the deadline or on abort it calls the function that `begin`
   * returned, then the callback set before, and rejects.
   */
  wait(begin: (wake: () => void) => () => void): Promise<void> {
    const before = this.onEnd;
    return new Promise((resolve, reject) => {
      const giveUp = begin(() => {
        this.onEnd = before;
        resolve();
      });
      this.ends((why) => {
        giveUp();
        before?.(why);
        reject(why);
      });
    });
  }

  lift(): void {
    this.onEnd = undefined;
    clearTimeout(this.timer);
    this.signal?.removeEventListener('abort', this.abort);
  }

  private end(why: RowanError): void {
    this.over = why;
    this.onEnd?.(why);
  }
}

function timedOut(milliseconds: number): TimeoutError {
  return new TimeoutError(
    `The transaction was not committed within ${milliseconds} ms: nothing of it was written. Do less in it, wait for ` +
      'nothing else, or give it more time (timeout).',
    { retryable: false },
  );
}

function aborted(signal: AbortSignal): RowanError {
  return new RowanError(
    'ERR_ABORTED',
    'The transaction was aborted by its AbortSignal: nothing of it was written.',
    {
      cause: signal.reason,
    },
  );
}

/** For {@link TransactionLimit.wait}: a random pause whose upper bound grows with the attempts. */
function pause(attempt: number, random: () => number): (wake: () => void) => () => void {
  const longest = Math.min(LONGEST_PAUSE, 2 ** attempt);
  return (wake) => {
    const timer = setTimeout(wake, random() * longest);
    return () => clearTimeout(timer);
  };
}
