/** A table as its entities are declared: nobody above it sees where moved columns stand yet. */

import { UnsupportedError } from '../errors.js';
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
import type { Change, TableMoves } from './table-moves.js';

/** Of an engine whose calls go somewhere else. */
export class MovedTable<T extends Table = Table> implements Table {
  constructor(
    protected readonly inner: T,
    protected readonly moves: TableMoves,
  ) {}

  get name(): string {
    return this.inner.name;
  }

  /**
   * Makes rows ready whose moved columns are asked or added to on the engine, which sees them as they are stored.
   * @throws UnsupportedError where that cannot be one step with what follows.
   */
  protected async settle(items: readonly (Get | Change | CheckAndMutate)[]): Promise<void> {
    for (const item of items) if (this.moves.mustSettle(item)) throw unsettled(this.name);
  }

  async get(get: Get, options?: OperationOptions): Promise<Result> {
    await this.settle([get]);
    return this.moves.declared(await this.inner.get(this.moves.widened(get), options), get.maxVersions);
  }

  async getAll(gets: readonly Get[], options?: OperationOptions): Promise<Result[]> {
    await this.settle(gets);
    const wide = gets.map((get) => this.moves.widened(get));
    const results = await this.inner.getAll(wide, options);
    return results.map((result, i) => this.moves.declared(result, gets[i]!.maxVersions));
  }

  async exists(get: Get, options?: OperationOptions): Promise<boolean> {
    await this.settle([get]);
    return this.inner.exists(this.moves.widened(get), options);
  }

  async put(put: Put, options?: OperationOptions): Promise<void> {
    const change = this.moves.settled(put);
    if (change.kind === 'put') return this.inner.put(change, options);
    await this.inner.mutateRow(change, options);
  }

  async putAll(puts: readonly Put[], options?: OperationOptions): Promise<void> {
    const outcomes = await this.batch(puts, options);
    for (const outcome of outcomes) if (!outcome.ok) throw outcome.error;
  }

  async delete(del: Delete, options?: OperationOptions): Promise<void> {
    const change = this.moves.settled(del);
    if (change.kind === 'delete') return this.inner.delete(change, options);
    await this.inner.mutateRow(change, options);
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

export function unsettled(table: string): UnsupportedError {
  return new UnsupportedError(
    `A column of table "${table}" that is moving from one place to another was to be checked or added to, while its value ` +
      'may stand at either: the engine cannot do that in one step. Have the move done first: rowan schema apply.',
    { details: { table } },
  );
}
