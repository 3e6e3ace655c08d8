/** A table whose reads also load the texts of the rows that they give. */

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
} from '../../table/index.js';
import type { DictionaryLayout } from './layout.js';

/** The table of entities with dictionaries: every row that it gives can be decoded by its layout without a promise. */
export class DictionaryTable implements Table {
  constructor(
    private readonly inner: Table,
    private readonly layouts: readonly DictionaryLayout[],
  ) {}

  get name(): string {
    return this.inner.name;
  }

  async get(get: Get, options?: OperationOptions): Promise<Result> {
    const result = await this.inner.get(get, options);
    await loadTexts(this.layouts, [result]);
    return result;
  }

  async getAll(gets: readonly Get[], options?: OperationOptions): Promise<Result[]> {
    const results = await this.inner.getAll(gets, options);
    await loadTexts(this.layouts, results);
    return results;
  }

  async batch(actions: readonly BatchAction[], options?: BatchOptions): Promise<BatchOutcome[]> {
    const outcomes = await this.inner.batch(actions, options);
    await loadTexts(
      this.layouts,
      outcomes.flatMap((outcome) => (outcome.ok ? [outcome.result] : [])),
    );
    return outcomes;
  }

  scan(scan: Scan, options?: OperationOptions): ResultScanner {
    return new DictionaryScanner(this.inner.scan(scan, options), this.layouts);
  }

  exists(get: Get, options?: OperationOptions): Promise<boolean> {
    return this.inner.exists(get, options);
  }

  put(put: Put, options?: OperationOptions): Promise<void> {
    return this.inner.put(put, options);
  }

  putAll(puts: readonly Put[], options?: OperationOptions): Promise<void> {
    return this.inner.putAll(puts, options);
  }

  delete(del: Delete, options?: OperationOptions): Promise<void> {
    return this.inner.delete(del, options);
  }

  increment(increment: Increment, options?: OperationOptions): Promise<Result> {
    return this.inner.increment(increment, options);
  }

  append(append: Append, options?: OperationOptions): Promise<Result> {
    return this.inner.append(append, options);
  }

  mutateRow(mutations: RowMutations, options?: OperationOptions): Promise<Result> {
    return this.inner.mutateRow(mutations, options);
  }

  checkAndMutate(check: CheckAndMutate, options?: OperationOptions): Promise<CheckAndMutateResult> {
    return this.inner.checkAndMutate(check, options);
  }
}

class DictionaryScanner implements ResultScanner {
  constructor(
    private readonly inner: ResultScanner,
    private readonly layouts: readonly DictionaryLayout[],
  ) {}

  async next(): Promise<Result | undefined> {
    const [result] = await this.nextBatch(1);
    return result;
  }

  async nextBatch(count: number): Promise<Result[]> {
    const results = await this.inner.nextBatch(count);
    await loadTexts(this.layouts, results);
    return results;
  }

  close(): Promise<void> {
    return this.inner.close();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Result> {
    try {
      for (let result = await this.next(); result !== undefined; result = await this.next()) yield result;
    } finally {
      await this.close();
    }
  }
}

async function loadTexts(layouts: readonly DictionaryLayout[], results: readonly Result[]): Promise<void> {
  for (const layout of layouts) {
    const rows = results.filter((result) => !result.isEmpty && layout.matches(result.row));
    if (rows.length > 0) await layout.loadTexts(rows.map((result) => result.row));
  }
}
