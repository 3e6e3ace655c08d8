import { setImmediate as nextTurn } from 'node:timers/promises';
import { asRowanError, type RowanError, throwIfAborted, UnsupportedError } from '../errors.js';
import { isGet } from '../table/get-and-scan.js';
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
  type Increment,
  type OperationOptions,
  type PackedPuts,
  type PackedPutsTable,
  type Put,
  type PutErrors,
  Result,
  type RowMutation,
  type RowMutations,
  type RowRead,
  type Scan,
  type ScannedRange,
  type SyncTable,
  type TableChange,
  type ThreadedScanner,
  type ThreadedScanOptions,
} from '../table/index.js';
import { checkAction, checkChange, checkCheck, checkEach } from '../table/observer.js';
import { ownCopy } from './commit/preparation.js';
import { isForThreads, ThreadedScan } from './parallel/threaded-scan.js';
import { ReadTable } from './read/read-table.js';
import type { StoreCore } from './store-core.js';
import type { TableState } from './table-state.js';

const NO_ERRORS: PutErrors = [];

/** Puts and cells of one call that are written in a turn of the event loop, and as one record of the log. */
const PUTS_IN_TURN = 2048;
const CELLS_IN_TURN = 4 * PUTS_IN_TURN;

/** One table of an embedded store. */
export class EmbeddedTable extends ReadTable<StoreCore> implements SyncTable, PackedPutsTable {
  scanInThreads(
    scan: Scan,
    ranges: readonly ScannedRange[],
    options: ThreadedScanOptions,
  ): ThreadedScanner | undefined {
    const { readerThreads, reads, catalog } = this.core;
    throwIfAborted(options.signal);
    if (readerThreads === undefined || !isForThreads(scan)) return undefined;
    return new ThreadedScan(readerThreads, reads, catalog.openTable(this.name), scan, ranges, options);
  }

  /** Mostly the promise of the commit queue is the only one: a put in flight costs little more than its cells. */
  put(put: Put, options?: OperationOptions): Promise<void> {
    try {
      checkChange(put);
      const waits = this.admission(options);
      if (waits !== undefined) return this.mutateLater(ownCopy(put), waits, options).then(noResult);
      return this.core.writer.put(this.core.catalog.writableTable(this.name), put);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async putAll(puts: readonly Put[], options?: OperationOptions): Promise<void> {
    checkEach('putAll', puts, checkChange);
    const waits = this.admission(options);
    // Puts that are not written in the turn of this call are copied: the caller may reuse its buffers after it.
    const own = waits || puts.length > PUTS_IN_TURN ? puts.map(ownCopy) : puts;
    const errors = await this.inTurns(own.length, PUTS_IN_TURN, options, waits, (from, to) =>
      this.putTurn(this.core.catalog.writableTable(this.name), own.slice(from, to)),
    );
    for (let i = 0; i < errors.length; i++) if (errors[i] !== undefined) throw errors[i];
  }

  /** The puts have bytes of their own, so none are copied when they wait. */
  async putPacked(puts: PackedPuts, options?: OperationOptions): Promise<PutErrors> {
    const { length } = puts.rows;
    const turn = Math.max(1, Math.floor((length * CELLS_IN_TURN) / Math.max(1, puts.cellCount)));
    return this.inTurns(length, turn, options, this.admission(options), async (from, to) => {
      const { writer, catalog } = this.core;
      const state = catalog.writableTable(this.name);
      const packed = puts.slice(from, to);
      if (!writer.takesPacked(state, packed)) return this.putTurn(state, packed.toPuts());
      await writer.putPacked(state, packed);
      return NO_ERRORS;
    });
  }

  private async putTurn(state: TableState, puts: readonly Put[]): Promise<PutErrors> {
    const errors = await this.core.writer.putEach(state, puts);
    return errors.map((error) => (error === undefined ? undefined : asRowanError(error)));
  }

  /**
   * Writes up to `turn` puts in each turn of the event loop, in their order, and waits where memory is full.
   * @param waits of the first turn.
   * @returns the errors of puts, by their positions. @throws the first error of a turn: other turns may be written.
   */
  private async inTurns(
    count: number,
    turn: number,
    options: OperationOptions | undefined,
    waits: Promise<void> | undefined,
    write: (from: number, to: number) => Promise<PutErrors>,
  ): Promise<PutErrors> {
    for (let wait = waits; wait; wait = this.admission(options)) await wait;
    if (count <= turn) return write(0, count);
    const turns: Promise<PutErrors>[] = [];
    try {
      for (let from = 0; from < count; from += turn) {
        if (from > 0) await nextTurn();
        for (let wait = this.admission(options); wait; wait = this.admission(options)) await wait;
        const written = write(from, from + turn);
        // The next turn begins before this one is on the disk. Its error is passed on at the end.
        written.catch(noResult);
        turns.push(written);
      }
    } finally {
      await Promise.allSettled(turns);
    }
    const errors: (RowanError | undefined)[] = [];
    for (const [i, written] of turns.entries()) {
      const found = await written;
      for (const [at, error] of found.entries()) if (error !== undefined) errors[i * turn + at] = error;
    }
    return errors;
  }

  async delete(del: Delete, options?: OperationOptions): Promise<void> {
    await this.mutate(del, options);
  }

  increment(increment: Increment, options?: OperationOptions): Promise<Result> {
    return this.mutate(increment, options);
  }

  append(append: Append, options?: OperationOptions): Promise<Result> {
    return this.mutate(append, options);
  }

  mutateRow(mutations: RowMutations, options?: OperationOptions): Promise<Result> {
    return this.mutate(mutations, options);
  }

  async checkAndMutate(check: CheckAndMutate, options?: OperationOptions): Promise<CheckAndMutateResult> {
    checkCheck(check);
    let waits = this.admission(options);
    const own = waits ? ownCopy(check) : check;
    for (; waits; waits = this.admission(options)) await waits;
    return this.core.writer.checkAndMutate(this.core.catalog.writableTable(this.name), own);
  }

  async batch(given: readonly BatchAction[], options?: BatchOptions): Promise<BatchOutcome[]> {
    checkEach('batch', given, checkAction);
    // A batch of reads needs neither memory nor a writable table.
    let waits = given.every(isGet) ? undefined : this.admission(options);
    // Actions that are not written in the turn of this call are copied: the caller may reuse its buffers after it.
    const actions = waits || (!options?.atomic && given.some(isGet)) ? given.map(ownCopy) : given;
    for (; waits; waits = this.admission(options)) await waits;
    if (options?.atomic) return this.atomicBatch(actions);
    if (!actions.every(isGet)) {
      const state = this.core.catalog.writableTable(this.name);
      if (actions.every(isPut)) return this.putEach(state, actions as readonly Put[]);
    }
    const outcomes: Promise<BatchOutcome>[] = [];
    for (const action of actions) {
      // A read sees the actions before it in the batch.
      if (isGet(action) && outcomes.length > 0) await Promise.all(outcomes);
      outcomes.push(this.outcomeOf(action, options));
    }
    return Promise.all(outcomes);
  }

  async commit(
    decide: (read: RowRead) => readonly (readonly TableChange[])[],
    options?: OperationOptions,
  ): Promise<readonly CommitOutcome[]> {
    let waits = this.admission(options);
    for (; waits; waits = this.admission(options)) await waits;
    const { catalog, reads } = this.core;
    const state = catalog.openTable(this.name);
    const stateOf = (table: string): TableState =>
      table === this.name && !state.descriptor.readOnly ? state : catalog.writableTable(table);
    const read: RowRead = (get, table = this.name) =>
      reads.rowReader(table === this.name ? state : catalog.openTable(table), get.row).read(get);
    // From here until the record is appended there is no await.
    const groups = decide(read).map((group) =>
      group.map(({ table, change, timestampsAssigned }) => ({
        state: stateOf(table),
        change,
        timestampsAssigned,
      })),
    );
    return this.core.writer.commit(groups);
  }

  async atomic<T>(decide: (step: AtomicStep) => T, options?: OperationOptions): Promise<T> {
    let waits = this.admission(options);
    for (; waits; waits = this.admission(options)) await waits;
    return this.core.writer.step(this.core.catalog.openTable(this.name), decide);
  }

  /** Writes many puts with one record of the log. */
  private async putEach(state: TableState, puts: readonly Put[]): Promise<BatchOutcome[]> {
    const errors = await this.core.writer.putEach(state, puts);
    // Not `map`: it skips holes, which stand for success.
    return Array.from(errors, (error) =>
      error === undefined ? { ok: true, result: Result.EMPTY } : { ok: false, error: asRowanError(error) },
    );
  }

  /** Starts one action of a batch; actions of one row start, and so take effect, in their order. */
  private async outcomeOf(action: BatchAction, options: OperationOptions | undefined): Promise<BatchOutcome> {
    try {
      if (isGet(action)) return { ok: true, result: await this.get(action, options) };
      // An earlier read of the batch may have been awaited since.
      for (let waits = this.admission(options); waits; waits = this.admission(options)) await waits;
      const state = this.core.catalog.writableTable(this.name);
      if (action.kind === 'checkAndMutate') {
        const { success, result } = await this.core.writer.checkAndMutate(state, action);
        return { ok: true, result: result ?? Result.EMPTY, success };
      }
      return { ok: true, result: await this.core.writer.mutate(state, action) };
    } catch (error) {
      return { ok: false, error: asRowanError(error) };
    }
  }

  private async atomicBatch(actions: readonly BatchAction[]): Promise<BatchOutcome[]> {
    const mutations: (RowMutation | RowMutations)[] = [];
    for (const action of actions) {
      if (isGet(action) || action.kind === 'checkAndMutate') {
        throw new UnsupportedError(
          'An atomic batch takes puts, deletes, increments, appends and row mutations. ' +
            'Read before it, or send checks one by one.',
        );
      }
      mutations.push(action);
    }
    const results = await this.core.writer.mutateAll(this.core.catalog.writableTable(this.name), mutations);
    return results.map((result) => ({ ok: true, result }));
  }

  /** Writes one change in the turn of the call, so that the caller may reuse its buffers after it. */
  private async mutate(change: RowMutation | RowMutations, options?: OperationOptions): Promise<Result> {
    checkChange(change);
    const waits = this.admission(options);
    if (waits !== undefined) return this.mutateLater(ownCopy(change), waits, options);
    return this.core.writer.mutate(this.core.catalog.writableTable(this.name), change);
  }

  private async mutateLater(
    own: RowMutation | RowMutations,
    admission: Promise<void>,
    options: OperationOptions | undefined,
  ): Promise<Result> {
    for (let waits: Promise<void> | undefined = admission; waits; waits = this.admission(options))
      await waits;
    return this.core.writer.mutate(this.core.catalog.writableTable(this.name), own);
  }

  /** Undefined when a write may begin now; else resolves when it is worth asking again, which must be done in the turn of the write. */
  private admission(options: OperationOptions | undefined): Promise<void> | undefined {
    if (options?.signal) throwIfAborted(options.signal);
    if (!this.core.throttle.full) return undefined;
    this.core.catalog.writableTable(this.name);
    this.core.journal.checkWritable();
    return this.core.throttle.admit(options?.signal);
  }
}

function noResult(): void {}

function isPut(action: BatchAction): boolean {
  return !isGet(action) && action.kind === 'put';
}
