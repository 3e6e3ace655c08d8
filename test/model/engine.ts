/** The model as an engine: lists of cells and the rules, no files, no log, nothing fast. */

import { RowanError, UnsupportedError } from '../../src/errors.js';
import {
  type Admin,
  type Append,
  type BatchAction,
  type BatchOutcome,
  type CheckAndMutate,
  type CheckAndMutateResult,
  type Delete,
  type Engine,
  Get,
  type Increment,
  type Put,
  type RegionInfo,
  Result,
  type ResultScanner,
  type RowMutations,
  type Scan,
  type Table,
  type TableDescriptor,
  type WriteObserver,
  WriteObservers,
} from '../../src/table/index.js';
import { ObservedTable } from '../../src/table/observer.js';
import { ModelTable, type Surroundings } from './store.js';
import { apply, checkAndMutate } from './write.js';

export class ModelEngine implements Engine {
  readonly name = 'model';
  readonly capabilities = {
    atomicBatch: false,
    sync: false,
    snapshotScans: true,
    checkpoint: false,
    timelineReads: false,
    cellTtl: true,
    deleteMarkers: true,
  };
  readonly admin: ModelAdmin;
  private readonly tables = new Map<string, ModelTable>();
  private readonly observers = new WriteObservers();

  constructor(private readonly surroundings: Surroundings) {
    this.admin = new ModelAdmin(this.tables, surroundings);
  }

  table(name: string): Table {
    return new ObservedTable(new ModelTableHandle(name, this.tables), this.observers, (other) =>
      this.table(other),
    );
  }

  observe(table: string, observer: WriteObserver): () => void {
    return this.observers.add(table, observer);
  }

  now(): number {
    return this.surroundings.now();
  }

  async close(): Promise<void> {}
}

function find(tables: ReadonlyMap<string, ModelTable>, name: string): ModelTable {
  const table = tables.get(name);
  if (!table) throw new RowanError('ERR_TABLE_NOT_FOUND', `There is no table "${name}".`);
  return table;
}

class ModelAdmin implements Admin {
  constructor(
    private readonly tables: Map<string, ModelTable>,
    private readonly surroundings: Surroundings,
  ) {}

  async createTable(descriptor: TableDescriptor): Promise<void> {
    this.tables.set(descriptor.name, new ModelTable(descriptor, this.surroundings));
  }

  async deleteTable(name: string): Promise<void> {
    this.tables.delete(name);
  }

  async flush(table: string, family?: string): Promise<void> {
    find(this.tables, table).flush(family);
  }

  async majorCompact(table: string, family?: string): Promise<void> {
    find(this.tables, table).majorCompact(family);
  }

  /** Splits change no answers, so there is nothing to do. */
  async split(): Promise<void> {}

  async tableExists(name: string): Promise<boolean> {
    return this.tables.has(name);
  }

  async getDescriptor(name: string): Promise<TableDescriptor> {
    return find(this.tables, name).descriptor;
  }

  async getDescriptors(names: readonly string[]): Promise<TableDescriptor[]> {
    return names.flatMap((name) => this.tables.get(name)?.descriptor ?? []);
  }

  async listTables(): Promise<TableDescriptor[]> {
    return [...this.tables.values()].map((table) => table.descriptor);
  }

  async enableTable(): Promise<void> {}
  async disableTable(): Promise<void> {}
  async isTableEnabled(): Promise<boolean> {
    return true;
  }

  async compact(): Promise<void> {
    throw lacks('minor compactions');
  }
  async truncateTable(): Promise<void> {
    throw lacks('truncation');
  }
  async modifyTable(): Promise<void> {
    throw lacks('changes of tables');
  }
  async createNamespace(): Promise<void> {
    throw lacks('namespaces');
  }
  async getNamespace(): Promise<Record<string, string>> {
    return {};
  }
  async modifyNamespace(): Promise<void> {
    throw lacks('namespaces');
  }
  async deleteNamespace(): Promise<void> {
    throw lacks('namespaces');
  }
  async listNamespaces(): Promise<string[]> {
    return ['default'];
  }
  async getRegions(): Promise<RegionInfo[]> {
    throw lacks('regions');
  }
}

function lacks(what: string): UnsupportedError {
  return new UnsupportedError(`The model has no ${what}.`);
}

class ModelTableHandle implements Table {
  constructor(
    readonly name: string,
    private readonly tables: ReadonlyMap<string, ModelTable>,
  ) {}

  private get model(): ModelTable {
    return find(this.tables, this.name);
  }

  async get(get: Get): Promise<Result> {
    return this.model.get(get);
  }

  async getAll(gets: readonly Get[]): Promise<Result[]> {
    return gets.map((get) => this.model.get(get));
  }

  async exists(get: Get): Promise<boolean> {
    return this.model.get(get).row.length > 0;
  }

  async put(put: Put): Promise<void> {
    apply(this.model, put);
  }

  async putAll(puts: readonly Put[]): Promise<void> {
    for (const put of puts) apply(this.model, put);
  }

  async delete(del: Delete): Promise<void> {
    apply(this.model, del);
  }

  async increment(increment: Increment): Promise<Result> {
    return apply(this.model, increment);
  }

  async append(append: Append): Promise<Result> {
    return apply(this.model, append);
  }

  async mutateRow(mutations: RowMutations): Promise<Result> {
    return apply(this.model, mutations);
  }

  async checkAndMutate(check: CheckAndMutate): Promise<CheckAndMutateResult> {
    return checkAndMutate(this.model, check);
  }

  async batch(actions: readonly BatchAction[]): Promise<BatchOutcome[]> {
    return actions.map((action) => {
      try {
        if (action instanceof Get) return { ok: true, result: this.model.get(action) };
        if (action.kind === 'checkAndMutate') {
          const { success, result } = checkAndMutate(this.model, action);
          return { ok: true, result: result ?? Result.EMPTY, success };
        }
        return { ok: true, result: apply(this.model, action) };
      } catch (error) {
        return { ok: false, error: error as RowanError };
      }
    });
  }

  scan(scan: Scan): ResultScanner {
    return new ListScanner(this.model.scan(scan));
  }
}

/** A scan's results, found when it began. */
class ListScanner implements ResultScanner {
  constructor(private readonly results: Result[]) {}

  async next(): Promise<Result | undefined> {
    return this.results.shift();
  }

  async nextBatch(count: number): Promise<Result[]> {
    return this.results.splice(0, count);
  }

  async close(): Promise<void> {
    this.results.length = 0;
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Result> {
    yield* this.results.splice(0);
  }
}
