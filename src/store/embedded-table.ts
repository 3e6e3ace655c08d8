/** One table of an embedded store. */

import { throwIfAborted, UnsupportedError } from '../errors.js';
import {
  type Append,
  type BatchAction,
  type BatchOptions,
  type BatchOutcome,
  type CheckAndMutate,
  type CheckAndMutateResult,
  type CommitOutcome,
  type Delete,
  Get,
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
} from '../table/index.js';
import { AsyncScanner } from './read/async-scanner.js';
import { readRawRow, readRow } from './read/point-read.js';
import { TableScanner } from './read/table-scanner.js';
import type { StoreCore } from './store-core.js';
import type { TableState } from './table-state.js';
import { asRowanError } from './write/state-change.js';

export class EmbeddedTable implements SyncTable {
  constructor(
    private readonly core: StoreCore,
    readonly name: string,
  ) {}

  getSync(get: Get): Result {
    return readRow(this.core, this.core.openTable(this.name), get);
  }

  getRaw(get: Get, into: RawRow): boolean {
    return readRawRow(this.core, this.core.openTable(this.name), get, into);
  }

  async get(get: Get, options?: OperationOptions): Promise<Result> {
    if (options?.signal) throwIfAborted(options.signal);
    return readRow(this.core, this.core.openTable(this.name), get);
  }

  async getAll(gets: readonly Get[], options?: OperationOptions): Promise<Result[]> {
    throwIfAborted(options?.signal);
    const state = this.core.openTable(this.name);
    const results: Result[] = new Array(gets.length);
    for (let i = 0; i < gets.length; i++) results[i] = readRow(this.core, state, gets[i]!);
    return results;
  }

  async exists(get: Get, options?: OperationOptions): Promise<boolean> {
    // A get that asks for existence alone answers with the row and no cells.
    return (await this.get(get, options)).row.length > 0;
  }

  async put(put: Put, options?: OperationOptions): Promise<void> {
    await this.core.writer.mutate(await this.writable(options), put);
  }

  async putAll(puts: readonly Put[], options?: OperationOptions): Promise<void> {
    await this.core.writer.mutateAll(await this.writable(options), puts);
  }

  async delete(del: Delete, options?: OperationOptions): Promise<void> {
    await this.core.writer.mutate(await this.writable(options), del);
  }

  async increment(increment: Increment, options?: OperationOptions): Promise<Result> {
    return this.core.writer.mutate(await this.writable(options), increment);
  }

  async append(append: Append, options?: OperationOptions): Promise<Result> {
    return this.core.writer.mutate(await this.writable(options), append);
  }

  async mutateRow(mutations: RowMutations, options?: OperationOptions): Promise<Result> {
    return this.core.writer.mutate(await this.writable(options), mutations);
  }

  async checkAndMutate(check: CheckAndMutate, options?: OperationOptions): Promise<CheckAndMutateResult> {
    return this.core.writer.checkAndMutate(await this.writable(options), check);
  }

  async batch(actions: readonly BatchAction[], options?: BatchOptions): Promise<BatchOutcome[]> {
    if (options?.atomic) return this.atomicBatch(actions, options);
    // Reads alone ask for neither room in memory nor a table that takes writes.
    if (!actions.every(isGet)) {
      const state = await this.writable(options);
      if (actions.every(isPut)) return this.putEach(state, actions as readonly Put[]);
    }
    const outcomes: Promise<BatchOutcome>[] = [];
    for (const action of actions) {
      // A read sees what stands before it in the batch.
      if (action instanceof Get && outcomes.length > 0) await Promise.all(outcomes);
      outcomes.push(this.outcomeOf(action, options));
    }
    return Promise.all(outcomes);
  }

  async commit(
    decide: (read: RowRead) => readonly (readonly TableChange[])[],
    options?: OperationOptions,
  ): Promise<readonly CommitOutcome[]> {
    const state = await this.writable(options);
    const stateOf = (table: string): TableState =>
      table === this.name ? state : this.core.writableTable(table);
    const read: RowRead = (get, table = this.name) => this.core.rowReader(stateOf(table), get.row).read(get);
    // From here to the append of the record nothing is awaited.
    const groups = decide(read).map((group) =>
      group.map(({ table, change }) => ({ state: stateOf(table), change })),
    );
    return this.core.writer.commit(groups);
  }

  scan(scan: Scan, options?: OperationOptions): ResultScanner {
    return new AsyncScanner(this.scanSync(scan), options?.signal);
  }

  scanSync(scan: Scan): SyncResultScanner {
    return new TableScanner(this.core, this.core.openTable(this.name), scan);
  }

  /** Many puts at the price of one write: they share a record of the log. */
  private async putEach(state: TableState, puts: readonly Put[]): Promise<BatchOutcome[]> {
    const errors = await this.core.writer.putEach(state, puts);
    // Not `map`: it passes over the holes, which stand for success.
    return Array.from(errors, (error) =>
      error === undefined ? { ok: true, result: Result.EMPTY } : { ok: false, error: asRowanError(error) },
    );
  }

  /** Starts one action of a batch; actions of one row start, and so take effect, in their order. */
  private async outcomeOf(action: BatchAction, options: OperationOptions | undefined): Promise<BatchOutcome> {
    try {
      if (action instanceof Get) return { ok: true, result: await this.get(action, options) };
      const state = this.core.writableTable(this.name);
      if (action.kind === 'checkAndMutate') {
        const { success, result } = await this.core.writer.checkAndMutate(state, action);
        return { ok: true, result: result ?? Result.EMPTY, success };
      }
      return { ok: true, result: await this.core.writer.mutate(state, action) };
    } catch (error) {
      return { ok: false, error: asRowanError(error) };
    }
  }

  private async atomicBatch(actions: readonly BatchAction[], options: BatchOptions): Promise<BatchOutcome[]> {
    const mutations: (RowMutation | RowMutations)[] = [];
    for (const action of actions) {
      if (action instanceof Get || action.kind === 'checkAndMutate') {
        throw new UnsupportedError(
          'An atomic batch takes puts, deletes, increments, appends and row mutations. ' +
            'Read before it, or send checks one by one.',
        );
      }
      mutations.push(action);
    }
    const results = await this.core.writer.mutateAll(await this.writable(options), mutations);
    return results.map((result) => ({ ok: true, result }));
  }

  /** The table, when there is room for a write. */
  private async writable(options: OperationOptions | undefined): Promise<TableState> {
    if (options?.signal) throwIfAborted(options.signal);
    if (this.core.pressure.full) await this.core.pressure.admit(options?.signal);
    return this.core.writableTable(this.name);
  }
}

function isGet(action: BatchAction): boolean {
  return action instanceof Get;
}

function isPut(action: BatchAction): boolean {
  return !(action instanceof Get) && action.kind === 'put';
}
