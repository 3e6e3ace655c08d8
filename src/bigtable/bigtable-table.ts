import { setTimeout as wait } from 'node:timers/promises';
import { toLatin1 } from '../bytes/index.js';
import { InvalidArgumentError, RowanError, UnsupportedError } from '../errors.js';
import type { ScanContext } from '../store/scan/store-read.js';
import { Cell, CellType } from '../table/checks.js';
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
import { type BatchRunner, mutateRows, runBatch } from './batches.js';
import { ChunkReader, compareCells } from './chunks.js';
import type { BigtableClient } from './client.js';
import { type Descriptors, type KnownTable, noSuchFamily } from './descriptors.js';
import { checkChange, mutationsOf, partsOf, readsRow } from './mutations.js';
import { checkRowKey, tableIdOf } from './names.js';
import { type Predicate, predicateOf } from './predicate.js';
import { ReadPlan } from './read-plan.js';
import { ATTEMPTS, overtaken, ReadRow } from './row-change.js';
import { BigtableScanner } from './scanner.js';
import type { CellMutation, ReadModifyWriteRule, ReadRowsResponse, RowFilter } from './wire.js';
import { toMilliseconds } from './wire.js';

/** The largest number of keys in one ReadRows request. */
const MOST_KEYS = 1000;
const NO_OPTIONS: OperationOptions = {};

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
    const known = await this.known(options);
    const plan = this.planOf(get, known);
    const [cells] = await this.readRows([get.row], plan.filter, options);
    return plan.rowOf(get, cells, this.context());
  }

  async getAll(gets: readonly Get[], options: OperationOptions = NO_OPTIONS): Promise<Result[]> {
    const known = await this.known(options);
    const groups = new Map<string, { readonly filter: RowFilter | undefined; readonly at: number[] }>();
    const plans = gets.map((get) => this.planOf(get, known));
    for (const [at, { filter }] of plans.entries()) {
      const shape = JSON.stringify(filter) ?? '';
      const group = groups.get(shape) ?? { filter, at: [] };
      groups.set(shape, group);
      group.at.push(at);
    }
    const results: Result[] = new Array(gets.length);
    await Promise.all(
      [...groups.values()].map(async ({ filter, at }) => {
        for (let from = 0; from < at.length; from += MOST_KEYS) {
          const places = at.slice(from, from + MOST_KEYS);
          const byRow = new Map<string, readonly Cell[]>();
          const rows = new Map(places.map((place) => [toLatin1(gets[place]!.row), gets[place]!.row]));
          for (const cells of await this.readRows([...rows.values()], filter, options)) {
            byRow.set(toLatin1(cells[0]!.row), cells);
          }
          for (const place of places) {
            const get = gets[place]!;
            results[place] = plans[place]!.rowOf(get, byRow.get(toLatin1(get.row)), this.context());
          }
        }
      }),
    );
    return results;
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
    const { condition, action } = check;
    if (condition.kind === 'column' && condition.operator === 'NO_OP') {
      throw new InvalidArgumentError('NO_OP makes no comparison. Use another operator.');
    }
    const known = await this.known(options);
    checkChange(action, known);
    if (condition.kind === 'column' && !known.families.has(condition.family)) {
      this.descriptors.forget(this.id);
      throw noSuchFamily(this.name, condition.family, known);
    }
    const predicate = readsRow(action) ? undefined : predicateOf(condition, known, this.now());
    if (predicate === undefined) {
      const result = await this.workOut(action, known, options, (row) => row.meets(condition));
      return { success: result !== undefined, result };
    }
    const mutations = mutationsOf(action);
    const isMet = await this.mutateIf(check.row, predicate, mutations, options);
    return isMet ? { success: true, result: Result.EMPTY } : { success: false, result: undefined };
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

  private runner(known: KnownTable, options: OperationOptions): BatchRunner {
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
            failed.set(at, error);
          }
        }
        const entries = sent.map((at) => ({
          rowKey: changes[at]!.row,
          mutations: mutationsOf(changes[at]!),
        }));
        if (entries.length === 0) return failed;
        for (const [i, error] of await mutateRows(this.client, this.name, this.id, entries, options)) {
          this.learn(error);
          failed.set(sent[i]!, error);
        }
        return failed;
      },
    };
  }

  /** Makes any change of one row. */
  private async change(change: RowMutation | RowMutations, options: OperationOptions): Promise<Result> {
    checkNotEmpty(change);
    const known = await this.known(options);
    this.learning(() => checkChange(change, known));
    if (!readsRow(change)) {
      await this.call('mutateRow', { rowKey: change.row, mutations: mutationsOf(change) }, true, options);
      return Result.EMPTY;
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

  /**
   * An increment or append as Bigtable's own operation, which changes the newest version; that must not have expired.
   */
  private rulesOf(change: RowMutation | RowMutations, known: KnownTable): ReadModifyWriteRule[] | undefined {
    if (change.kind !== 'increment' && change.kind !== 'append') return undefined;
    const isPlain = change.columns.every(({ family }) => known.families.get(family)!.ttl === FOREVER);
    if (!isPlain || !change.timeRange.isAll) return undefined;
    return change.columns.map((each) => ({
      familyName: each.family,
      columnQualifier: each.qualifier,
      ...('amount' in each ? { incrementAmount: String(each.amount) } : { appendValue: each.value }),
    }));
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
      if (await this.mutateIf(change.row, row.unchanged(), mutations, options)) return result;
    }
    throw overtaken(this.name, change.row);
  }

  /** Changes the row if the condition holds; returns whether it does. */
  private async mutateIf(
    rowKey: Uint8Array,
    { filter, isMetBy }: Predicate,
    mutations: readonly CellMutation[],
    options: OperationOptions,
  ): Promise<boolean> {
    const bySomething = isMetBy === 'something';
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
        const answers = this.client.stream<ReadRowsResponse>('readRows', this.id, request, deadline);
        for await (const { chunks } of answers) reader.read(chunks ?? [], rows);
        return rows;
      } catch (error) {
        this.learn(error);
        await deadline.retry(deadline.errorOf(error), true);
      }
    }
  }

  private planOf(query: Get, known: KnownTable): ReadPlan {
    return this.learning(() => new ReadPlan(query, known));
  }

  private async known(options: OperationOptions): Promise<KnownTable> {
    const known = await this.descriptors.of(this.id, options);
    if (!known.isDisabled) return known;
    this.descriptors.forget(this.id);
    throw new RowanError('ERR_TABLE_DISABLED', `Table "${this.name}" is disabled. Enable it first.`, {
      details: { table: this.name },
    });
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
    if (error.code === 'ERR_TABLE_NOT_FOUND' || error.code === 'ERR_NO_SUCH_FAMILY')
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

/** The result of an increment or append. */
function modifiedRow(row: Uint8Array, modified: ModifiedRow['row']): Result {
  const cells: Cell[] = [];
  for (const family of modified?.families ?? []) {
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
