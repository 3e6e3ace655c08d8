/** A table as its entities are declared: nobody above it sees where moved columns stand yet. */

import { toHex } from '../bytes/index.js';
import { isGet } from '../table/get.js';
import type {
  Append,
  BatchAction,
  BatchOptions,
  BatchOutcome,
  CheckAndMutate,
  CheckAndMutateResult,
  Delete,
  Get,
  Increment,
  OperationOptions,
  Put,
  Result,
  ResultScanner,
  RowMutations,
  Scan,
  Table,
} from '../table/index.js';
import { isCheckAndMutate } from '../table/row-mutations.js';
import { moveCounts, unsettled, upgradeChecked } from './settle-row.js';
import type { Change, TableMoves } from './table-moves.js';

/** Of an engine whose calls go somewhere else. */
export class MovedTable<T extends Table = Table> implements Table {
  constructor(
    protected readonly inner: T,
    protected readonly moves: TableMoves,
    /** Whether rows of an older version that are read by their keys may be written as upgraded. */
    private readonly writesBack: boolean,
  ) {}

  get name(): string {
    return this.inner.name;
  }

  /**
   * Makes rows ready whose moved columns are asked or added to on the engine, which sees them as they are stored.
   * @throws UnsupportedError where that cannot be one step with what follows.
   */
  protected async settle(items: readonly (Get | Change | CheckAndMutate)[]): Promise<void> {
    const rows: Uint8Array[] = [];
    const counted: Uint8Array[] = [];
    for (const item of items) {
      if (!this.moves.mustSettle(item)) continue;
      if (this.moves.upgradesOf(item.row) !== undefined) rows.push(item.row);
      else if (this.moves.onlyCounts(item)) counted.push(item.row);
      else throw unsettled(this.name);
    }
    if (rows.length > 0) await this.writeBack(rows);
    if (counted.length > 0) await moveCounts(this.inner, this.moves, counted);
  }

  /** Writes rows of entities with upgrades as they are declared. */
  protected async writeBack(rows: readonly Uint8Array[]): Promise<void> {
    const distinct = new Map(rows.map((row) => [toHex(row), row]));
    await Promise.all(
      [...distinct.values()].map((row) => upgradeChecked(this.inner, this.moves.upgradesOf(row)!, row)),
    );
  }

  /** What was read by key, as it is declared; rows of an older version are written anew where they are to be. */
  private async read(results: readonly Result[], gets: readonly Get[]): Promise<Result[]> {
    const declared = results.map((result, i) => this.moves.declared(result, gets[i]!.maxVersions));
    if (!this.writesBack) return declared;
    const old = results.filter(
      (result) => !result.isEmpty && this.moves.upgradesOf(result.row)?.writesBack(result),
    );
    if (old.length > 0) await this.writeBack(old.map(({ row }) => row));
    return declared;
  }

  async get(get: Get, options?: OperationOptions): Promise<Result> {
    await this.settle([get]);
    const [result] = await this.read([await this.inner.get(this.moves.widened(get), options)], [get]);
    return result!;
  }

  async getAll(gets: readonly Get[], options?: OperationOptions): Promise<Result[]> {
    await this.settle(gets);
    const wide = gets.map((get) => this.moves.widened(get));
    return this.read(await this.inner.getAll(wide, options), gets);
  }

  async exists(get: Get, options?: OperationOptions): Promise<boolean> {
    await this.settle([get]);
    return this.inner.exists(this.moves.widened(get), options);
  }

  async put(put: Put, options?: OperationOptions): Promise<void> {
    await this.change(put, options);
  }

  async putAll(puts: readonly Put[], options?: OperationOptions): Promise<void> {
    const outcomes = await this.batch(puts, options);
    for (const outcome of outcomes) if (!outcome.ok) throw outcome.error;
  }

  async delete(del: Delete, options?: OperationOptions): Promise<void> {
    await this.change(del, options);
  }

  /** A put or a delete. */
  protected async change(change: Put | Delete, options?: OperationOptions): Promise<void> {
    if (this.moves.upgradesOf(change.row) !== undefined) await this.settle([change]);
    const settled = this.moves.settled(change);
    if (settled.kind === 'put') await this.inner.put(settled, options);
    else if (settled.kind === 'delete') await this.inner.delete(settled, options);
    else await this.inner.mutateRow(settled, options);
  }

  async increment(increment: Increment, options?: OperationOptions): Promise<Result> {
    await this.settle([increment]);
    return this.inner.increment(increment, options);
  }

  async append(append: Append, options?: OperationOptions): Promise<Result> {
    await this.settle([append]);
    return this.inner.append(append, options);
  }

  async mutateRow(mutations: RowMutations, options?: OperationOptions): Promise<Result> {
    await this.settle([mutations]);
    return this.inner.mutateRow(this.moves.settled(mutations), options);
  }

  async checkAndMutate(check: CheckAndMutate, options?: OperationOptions): Promise<CheckAndMutateResult> {
    await this.settle([check]);
    return this.inner.checkAndMutate(this.settledCheck(check), options);
  }

  async batch(actions: readonly BatchAction[], options?: BatchOptions): Promise<BatchOutcome[]> {
    await this.settle(actions);
    const outcomes = await this.inner.batch(
      actions.map((action): BatchAction => {
        if (isGet(action)) return this.moves.widened(action);
        return isCheckAndMutate(action) ? this.settledCheck(action) : this.moves.settled(action);
      }),
      options,
    );
    return outcomes.map((outcome, i) => {
      const action = actions[i]!;
      if (!outcome.ok || !isGet(action)) return outcome;
      return { ...outcome, result: this.moves.declared(outcome.result, action.maxVersions) };
    });
  }

  scan(scan: Scan, options?: OperationOptions): ResultScanner {
    if (scan.raw) return this.inner.scan(scan, options);
    const scanner = this.inner.scan(this.moves.widened(scan), options);
    const declared = (result: Result): Result => this.moves.declared(result, scan.maxVersions);
    return {
      next: async () => {
        const result = await scanner.next();
        return result && declared(result);
      },
      nextBatch: async (count) => (await scanner.nextBatch(count)).map(declared),
      close: () => scanner.close(),
      async *[Symbol.asyncIterator]() {
        for await (const result of scanner) yield declared(result);
      },
    };
  }

  private settledCheck(check: CheckAndMutate): CheckAndMutate {
    return check.withAction(this.moves.settled(check.action));
  }
}
