import { setTimeout as wait } from 'node:timers/promises';
import { toLatin1 } from '../bytes/index.js';
import { InvalidArgumentError, RowanError, UnsupportedError } from '../errors.js';
import type { ScanContext } from '../store/scan/store-read.js';
import { Cell, CellType, LATEST_TIMESTAMP } from '../table/checks.js';
import { canonicalTableName, FOREVER } from '../table/descriptor.js';
import type { Get, Scan } from '../table/get-and-scan.js';
import type { Append, Delete, Increment, Put, RowMutation } from '../table/mutation.js';
import { Result } from '../table/result.js';
import type { CheckAndMutate, CheckAndMutateResult, RowMutations } from '../table/row-mutations.js';
import type {
  BatchAction,
  BatchOptions,
  BatchOutcome,
  OperationOptions,
  ResultScanner,
  Table,
} from '../table/table.js';
import { FENCE_FAMILY, FENCE_QUALIFIER, isFenceFamily } from '../table/write-fence.js';
import { type BatchRunner, mutateRows, type RowEntry, runBatch, sizeOf } from './batches.js';
import { ChunkReader, compareCells } from './chunks.js';
import type { BigtableClient } from './client.js';
import { type Descriptors, type KnownTable, noSuchFamily, tableDisabled } from './descriptors.js';
import { Gathering } from './gathering.js';
import { runGets } from './many-gets.js';
import { checkChange, mutationsOf, partsOf, readsRow, throughFence } from './mutations.js';
import { checkRowKey, MAX_MUTATIONS, tableIdOf, tooLarge } from './names.js';
import { type Predicate, predicateOf } from './predicate.js';
import { ReadPlan } from './read-plan.js';
import { ATTEMPTS, overtaken, ReadRow } from './row-change.js';
import { BigtableScanner } from './scanner.js';
import type { CellMutation, ReadModifyWriteRule, ReadRowsResponse, RowFilter } from './wire.js';
import { toMilliseconds } from './wire.js';

/** The largest change, in bytes, that shares a request with others. */
const MAX_SHARED = 64 * 1024;
const NO_OPTIONS: OperationOptions = {};
/** The most attempts of a change, each with a descriptor that was just read. */
const FENCE_ATTEMPTS = 3;
/** An append of zero bytes to the fence's cell: it leaves the cell as it is, and the service refuses it once the fence's family is dropped. */
const PASS_FENCE: ReadModifyWriteRule = {
  familyName: FENCE_FAMILY,
  columnQualifier: FENCE_QUALIFIER,
  appendValue: new Uint8Array(0),
};

/** Whether a call must have requests of its own. */
function isOwn({ signal, timeout }: OperationOptions): boolean {
  return signal !== undefined || timeout !== undefined;
}

function entryOf(change: RowMutation | RowMutations, known: KnownTable): RowEntry {
  return { row: change.row, mutations: throughFence(known, mutationsOf(change)) };
}

interface ModifiedRow {
  readonly row?: {
    readonly families?: readonly {
      readonly name?: string;
      readonly columns?: readonly {
        readonly qualifier?: Uint8Array;
        readonly cells?: readonly {
          readonly timestampMicros?: string | number;
          readonly value?: Uint8Array;
        }[];
      }[];
    }[];
  };
}

/** A table of a Bigtable instance. */
export class BigtableTable implements Table {
  readonly name: string;
  private readonly id: string;

  private readonly gets = new Gathering<Get, Result>((gets) => this.getTogether(gets));
  private readonly changes = new Gathering<RowEntry, Result>(
    (entries) => this.changeTogether(entries),
    ({ row }) => toLatin1(row),
  );

  constructor(
    private readonly client: BigtableClient,
    private readonly descriptors: Descriptors,
    private readonly now: () => number,
    name: string,
  ) {
    this.name = canonicalTableName(name);
    this.id = tableIdOf(name);
  }

  get operationTimeout(): number {
    return this.client.settings.operationTimeout;
  }

  async get(get: Get, options: OperationOptions = NO_OPTIONS): Promise<Result> {
    return isOwn(options) ? (await this.getAll([get], options))[0]! : this.gets.add(get);
  }

  async getAll(gets: readonly Get[], options: OperationOptions = NO_OPTIONS): Promise<Result[]> {
    const known = await this.known(options);
    return runGets(gets, {
      planOf: (get) => this.learning(() => new ReadPlan(get, known)),
      readRows: (rowKeys, filter) => this.readRows(rowKeys, filter, options),
      context: () => this.context(),
    });
  }

  async exists(get: Get, options: OperationOptions = NO_OPTIONS): Promise<boolean> {
    const only = get.copy().setCheckExistenceOnly(true);
    // A result without cells still has its row.
    return (await this.get(only, options)).row.length > 0;
  }

  async put(put: Put, options: OperationOptions = NO_OPTIONS): Promise<void> {
    await this.change(put, options);
  }

  async putAll(puts: readonly Put[], options: OperationOptions = NO_OPTIONS): Promise<void> {
    for (const outcome of await this.batch(puts, options)) if (!outcome.ok) throw outcome.error;
  }

  async delete(del: Delete, options: OperationOptions = NO_OPTIONS): Promise<void> {
    await this.change(del, options);
  }

  increment(increment: Increment, options: OperationOptions = NO_OPTIONS): Promise<Result> {
    return this.change(increment, options);
  }

  append(append: Append, options: OperationOptions = NO_OPTIONS): Promise<Result> {
    return this.change(append, options);
  }

  mutateRow(mutations: RowMutations, options: OperationOptions = NO_OPTIONS): Promise<Result> {
    return this.change(mutations, options);
  }

  async checkAndMutate(
    check: CheckAndMutate,
    options: OperationOptions = NO_OPTIONS,
  ): Promise<CheckAndMutateResult> {
    checkNotEmpty(check.action);
    const { condition } = check;
    if (condition.kind === 'column' && condition.operator === 'NO_OP') {
      throw new InvalidArgumentError('NO_OP makes no comparison. Use another operator.');
    }
    return this.againstFence(options, (known) => this.checkWith(check, known, options));
  }

  private async checkWith(
    { row, condition, action }: CheckAndMutate,
    known: KnownTable,
    options: OperationOptions,
  ): Promise<CheckAndMutateResult> {
    this.learning(() => checkChange(action, known));
    if (condition.kind === 'column' && !known.families.has(condition.family)) {
      this.descriptors.forget(this.id);
      throw noSuchFamily(this.name, condition.family, known);
    }
    const predicate = readsRow(action) ? undefined : predicateOf(condition, known, this.now());
    if (predicate === undefined) {
      const result = await this.workOut(action, known, options, (read) => read.meets(condition));
      return { success: result !== undefined, result };
    }
    const mutations = throughFence(known, mutationsOf(action));
    const holds = await this.mutateIf(row, predicate, mutations, options);
    return holds ? { success: true, result: Result.EMPTY } : { success: false, result: undefined };
  }

  async batch(actions: readonly BatchAction[], options: BatchOptions = NO_OPTIONS): Promise<BatchOutcome[]> {
    if (options.atomic === true) {
      throw new UnsupportedError(
        'The Bigtable engine has no atomic batches over rows (capability atomicBatch). Store data that must change together in ' +
          'one row, or use the embedded engine.',
      );
    }
    if (actions.length === 0) return [];
    const known = await this.known(options);
    return runBatch(actions, this.runner(known, options));
  }

  scan(scan: Scan, options: OperationOptions = NO_OPTIONS): ResultScanner {
    const { client, descriptors, name, id } = this;
    return new BigtableScanner(
      { client, descriptors, name, id, context: () => this.context() },
      scan,
      options,
    );
  }

  private runner(known: KnownTable, options: BatchOptions): BatchRunner {
    return {
      getAll: (gets) => this.getAll(gets, options),
      change: (change) => this.change(change, options),
      check: (check) => this.checkAndMutate(check, options),
      isSimple: (change) => !readsRow(change),
      changeAll: async (changes) => {
        const failed = new Map<number, RowanError>();
        const sent: number[] = [];
        for (const [at, change] of changes.entries()) {
          try {
            checkNotEmpty(change);
            checkChange(change, known);
            sent.push(at);
          } catch (error) {
            if (!(error instanceof RowanError)) throw error;
            this.learn(error);
            failed.set(at, error);
          }
        }
        const entries = sent.map((at) => entryOf(changes[at]!, known));
        if (entries.length === 0) return failed;
        for (const [i, error] of await mutateRows(this.client, this.name, this.id, entries, options)) {
          this.learn(error);
          const at = sent[i]!;
          const left = isShut(error, known) ? await this.errorOf(changes[at]!, options) : error;
          if (left !== undefined) failed.set(at, left);
        }
        return failed;
      },
    };
  }

  private async errorOf(
    change: RowMutation | RowMutations,
    options: BatchOptions,
  ): Promise<RowanError | undefined> {
    try {
      await this.change(change, options);
      return undefined;
    } catch (error) {
      if (error instanceof RowanError) return error;
      throw error;
    }
  }

  /**
   * Does work with the cached descriptor of the table. If the table's write fence refuses it, nothing was changed; the descriptor is read
   * again, and the work repeated with it.
   */
  private async againstFence<T>(
    options: OperationOptions,
    work: (known: KnownTable) => Promise<T>,
  ): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const known = await this.known(options);
      try {
        return await work(known);
      } catch (error) {
        if (!isShut(error, known) || attempt === FENCE_ATTEMPTS) throw error;
        this.descriptors.forget(this.id);
      }
    }
  }

  /** Makes any change of one row. */
  private async change(change: RowMutation | RowMutations, options: BatchOptions): Promise<Result> {
    checkNotEmpty(change);
    return this.againstFence(options, (known) => this.changeWith(change, known, options));
  }

  private async changeWith(
    change: RowMutation | RowMutations,
    known: KnownTable,
    options: BatchOptions,
  ): Promise<Result> {
    this.learning(() => checkChange(change, known));
    if (!readsRow(change)) {
      const entry = entryOf(change, known);
      const isAlone = isOwn(options) || sizeOf(entry) > MAX_SHARED;
      return isAlone ? this.changeRow(entry, options) : this.changes.add(entry);
    }
    const rules = this.rulesOf(change, known);
    if (rules === undefined) return (await this.workOut(change, known, options, () => true))!;
    const { row } = await this.call<ModifiedRow>(
      'readModifyWriteRow',
      { rowKey: change.row, rules },
      false,
      options,
    );
    return (change as Increment).returnResults ? modifiedRow(change.row, row) : Result.EMPTY;
  }

  private async changeRow({ row, mutations }: RowEntry, options: BatchOptions): Promise<Result> {
    await this.call('mutateRow', { rowKey: row, mutations }, options.once !== true, options);
    return Result.EMPTY;
  }

  /** Combines concurrent changes of different rows into shared requests. */
  private async changeTogether(entries: readonly RowEntry[]): Promise<PromiseSettledResult<Result>[]> {
    const each = (): Promise<PromiseSettledResult<Result>[]> =>
      Promise.allSettled(entries.map((entry) => this.changeRow(entry, NO_OPTIONS)));
    if (entries.length === 1) return each();
    const { rpcTimeout } = this.client.settings;
    const failed = await mutateRows(this.client, this.name, this.id, entries, NO_OPTIONS, rpcTimeout);
    const [first] = failed.values();
    // A request that was refused as a whole: one of them may be the cause.
    if (failed.size === entries.length && !first!.retryable) return each();
    return entries.map((_, at) => {
      const reason = failed.get(at);
      if (reason === undefined) return { status: 'fulfilled', value: Result.EMPTY };
      this.learn(reason);
      return { status: 'rejected', reason };
    });
  }

  /** Combines concurrent gets into shared requests. */
  private async getTogether(gets: readonly Get[]): Promise<PromiseSettledResult<Result>[]> {
    try {
      const results = await this.getAll(gets);
      return results.map((value) => ({ status: 'fulfilled', value }));
    } catch (error) {
      const isOfEach = gets.length === 1 || (error instanceof RowanError && error.retryable);
      if (isOfEach) return gets.map(() => ({ status: 'rejected', reason: error }));
      return Promise.allSettled(gets.map(async (get) => (await this.getAll([get]))[0]!));
    }
  }

  /**
   * An increment or append as Bigtable's own operation, which changes the newest version; that must not have expired.
   */
  private rulesOf(change: RowMutation | RowMutations, known: KnownTable): ReadModifyWriteRule[] | undefined {
    if (change.kind !== 'increment' && change.kind !== 'append') return undefined;
    const isPlain = change.columns.every(
      ({ family, timestamp }) =>
        timestamp === LATEST_TIMESTAMP && known.families.get(family)!.ttl === FOREVER,
    );
    if (!isPlain || !change.timeRange.isAll) return undefined;
    const rules = change.columns.map((each) => ({
      familyName: each.family,
      columnQualifier: each.qualifier,
      ...('amount' in each ? { incrementAmount: String(each.amount) } : { appendValue: each.value }),
    }));
    return known.isFenced ? [PASS_FENCE, ...rules] : rules;
  }

  /** Reads the row, computes the change, and makes it if the row has not changed; undefined if `meets` refuses it. */
  private async workOut(
    change: RowMutation | RowMutations,
    known: KnownTable,
    options: OperationOptions,
    meets: (row: ReadRow) => boolean,
  ): Promise<Result | undefined> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      if (attempt > 0) await wait(Math.random() * Math.min(50, attempt));
      const [cells = []] = await this.readRows([change.row], undefined, options);
      const row = new ReadRow(change.row, cells, known, this.context());
      if (!meets(row)) return undefined;
      const { mutations, result } = row.work(change);
      if (mutations.length === 0) return result;
      const all = throughFence(known, mutations);
      if (await this.mutateIf(change.row, row.unchanged(), all, options)) return result;
    }
    throw overtaken(this.name, change.row);
  }

  /** Changes the row if the condition holds; returns whether it does. */
  private async mutateIf(
    rowKey: Uint8Array,
    { filter, satisfiedBy }: Predicate,
    mutations: readonly CellMutation[],
    options: OperationOptions,
  ): Promise<boolean> {
    // A delete that reads its row has a mutation for each column that is there.
    if (mutations.length > MAX_MUTATIONS)
      throw tooLarge('The change of a row has', mutations.length, 'mutations', MAX_MUTATIONS);
    const bySomething = satisfiedBy === 'something';
    const sides = bySomething ? { trueMutations: mutations } : { falseMutations: mutations };
    const answer = await this.call<{ readonly predicateMatched?: boolean }>(
      'checkAndMutateRow',
      { rowKey, predicateFilter: filter, ...sides },
      false,
      options,
    );
    return (answer.predicateMatched === true) === bySomething;
  }

  private async call<T>(
    method: 'mutateRow' | 'checkAndMutateRow' | 'readModifyWriteRow',
    request: object,
    repeatable: boolean,
    options: OperationOptions,
  ): Promise<T> {
    const deadline = this.client.deadline({ call: method, table: this.name }, options);
    try {
      return await this.client.call<T>(method, this.id, request, { repeatable }, deadline);
    } catch (error) {
      this.learn(error);
      throw error;
    }
  }

  /** The existing rows with these keys. */
  private async readRows(
    rowKeys: readonly Uint8Array[],
    filter: RowFilter | undefined,
    options: OperationOptions,
  ): Promise<Cell[][]> {
    for (const row of rowKeys) checkRowKey(row);
    const deadline = this.client.deadline({ call: 'readRows', table: this.name }, options);
    const request = { rows: { rowKeys }, ...(filter && { filter }) };
    for (;;) {
      const rows: Cell[][] = [];
      const reader = new ChunkReader();
      try {
        const take = ({ chunks }: ReadRowsResponse): void => reader.read(chunks ?? [], rows);
        await this.client.read('readRows', this.id, request, deadline, take);
        return rows;
      } catch (error) {
        this.learn(error);
        await deadline.retry(deadline.errorOf(error), true);
      }
    }
  }

  private async known(options: OperationOptions): Promise<KnownTable> {
    const known = await this.descriptors.of(this.id, options);
    if (!known.isDisabled) return known;
    this.descriptors.forget(this.id);
    throw tableDisabled(this.name);
  }

  private context(): ScanContext {
    return { readPoint: Number.MAX_SAFE_INTEGER, now: this.now(), random: Math.random };
  }

  private learning<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      this.learn(error);
      throw error;
    }
  }

  /** Drops the cached descriptor, which may be out of date. */
  private learn(error: unknown): void {
    if (!(error instanceof RowanError)) return;
    if (['ERR_TABLE_NOT_FOUND', 'ERR_NO_SUCH_FAMILY', 'ERR_READONLY'].includes(error.code))
      this.descriptors.forget(this.id);
  }
}

/**
 * Checks that there is something to write. An empty delete deletes the row.
 * @throws InvalidArgumentError when there is not.
 */
function checkNotEmpty(change: RowMutation | RowMutations): void {
  if (change.kind === 'rowMutations' && change.mutations.length === 0) {
    throw new InvalidArgumentError('Row mutations need at least one mutation. Add one with add.');
  }
  for (const part of partsOf(change)) {
    if (part.kind === 'delete') continue;
    const count = part.kind === 'put' ? part.cells.length : part.columns.length;
    if (count === 0) {
      throw new InvalidArgumentError(`A ${part.kind} needs at least one column. Add one with addColumn.`);
    }
  }
}

/** Whether a change was refused because the family of the table's fence is missing, or another one. */
function isShut(error: unknown, { isFenced }: KnownTable): boolean {
  return isFenced && error instanceof RowanError && error.code === 'ERR_NO_SUCH_FAMILY';
}

/** The result of an increment or append. */
function modifiedRow(row: Uint8Array, modified: ModifiedRow['row']): Result {
  const cells: Cell[] = [];
  for (const family of modified?.families ?? []) {
    if (isFenceFamily(family.name!)) continue;
    for (const column of family.columns ?? []) {
      for (const cell of column.cells ?? []) {
        const time = toMilliseconds(cell.timestampMicros);
        const value = cell.value ?? new Uint8Array(0);
        cells.push(new Cell(row, family.name!, column.qualifier!, time, CellType.Put, value));
      }
    }
  }
  return cells.length === 0 ? Result.EMPTY : new Result(row, cells.sort(compareCells));
}
