import { isGet } from '../../table/get-and-scan.js';
import type {
  Admin,
  AtomicStep,
  BatchAction,
  BatchOptions,
  BatchOutcome,
  BulkLoadResult,
  Capabilities,
  CheckAndMutateResult,
  CommitOutcome,
  Commits,
  Engine,
  OperationOptions,
  Result,
  SyncTable,
  TableTransaction,
} from '../../table/index.js';
import { checkAction, checkEach } from '../../table/observer.js';
import { ReadAdmin } from '../embedded-admin.js';
import type { EmbeddedOptions } from '../options.js';
import { ReadTable } from '../read/read-table.js';
import {
  type StoreVerifyOptions,
  startVerify,
  type Verification,
  type VerifyReport,
} from '../repair/verify.js';
import type { StoreStats } from '../stats.js';
import { Follower, type StoreMoment } from './follower.js';

const CAPABILITIES: Capabilities = Object.freeze({
  atomicBatch: true,
  sync: true,
  snapshotScans: true,
  checkpoint: false,
  timelineReads: true,
  cellTtl: true,
  deleteMarkers: true,
  readOnly: true,
});

/** Options of {@link openReadOnly}: those options of a store that concern reads. */
export interface ReadOnlyOptions
  extends Pick<
    EmbeddedOptions,
    'fileSystem' | 'clock' | 'random' | 'blockCacheSize' | 'scannerIdleTimeout' | 'encryption' | 'onEvent'
  > {
  /** Milliseconds between automatic refreshes; default: the store is refreshed only when `refresh` is called. */
  readonly refreshEvery?: number;
}

/** The engine of a store that is opened read-only, beside the process that writes it or without one. */
export class ReadOnlyStore implements Engine {
  readonly name = 'embedded';
  readonly place: string;
  readonly capabilities = CAPABILITIES;
  readonly maxCellSize: number;
  readonly admin: Admin;
  /** No write goes through this engine, so recorders are never called. */
  readonly commits: Commits;
  private readonly tables = new Map<string, ReadOnlyTable>();

  constructor(private readonly follower: Follower) {
    this.place = follower.directory;
    this.maxCellSize = follower.settings.maxCellSize;
    this.admin = new ReadOnlyAdmin(follower);
    this.commits = {
      get last() {
        return follower.commits.readPoint;
      },
      record: () => () => undefined,
    };
  }

  table(name: string): SyncTable {
    let table = this.tables.get(name);
    if (table === undefined) {
      table = new ReadOnlyTable(this.follower, name);
      this.tables.set(name, table);
    }
    return table;
  }

  now(): number {
    return this.follower.now();
  }

  /** The observer is never called: no write goes through this engine. */
  observe(): () => void {
    this.follower.lifecycle.checkOpen();
    return () => undefined;
  }

  /** @throws RowanError `ERR_READONLY`. */
  async transaction<T>(_run: (transaction: TableTransaction) => Promise<T>): Promise<T> {
    throw this.follower.refusal('A transaction');
  }

  /** @throws RowanError `ERR_READONLY`. */
  async bulkLoad(): Promise<BulkLoadResult> {
    throw this.follower.refusal('A bulk load');
  }

  /** The state that reads see: its last write, and when it was read. */
  get moment(): StoreMoment {
    return this.follower.moment;
  }

  /**
   * Shows the store as it is now, with every write acknowledged before the call in any process. Open scans continue on the
   * state that they began with.
   * @throws RowanError `ERR_TIMEOUT`, `ERR_BUSY` when the process that has the store open does not answer; reads then see the same
   *   state as before.
   */
  async refresh(): Promise<StoreMoment> {
    this.follower.lifecycle.checkOpen();
    return this.follower.refresh();
  }

  /** Sizes, counts and loads of tables, regions and families. */
  stats(): StoreStats {
    return this.follower.stats();
  }

  /**
   * Reads every file of the shown state and checks its contents.
   * @throws CorruptionError for the first fault, naming file and offset.
   */
  async verify(options?: StoreVerifyOptions): Promise<VerifyReport> {
    return this.startVerify(options).done;
  }

  /** As {@link verify}, with a rate and pauses. @throws InvalidArgumentError on wrong options. */
  startVerify(options?: StoreVerifyOptions): Verification {
    this.follower.lifecycle.checkOpen();
    return startVerify(this.follower, options);
  }

  close(): Promise<void> {
    return this.follower.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

class ReadOnlyTable extends ReadTable<Follower> implements SyncTable {
  put(): Promise<void> {
    return this.refuse('A put');
  }

  putAll(): Promise<void> {
    return this.refuse('A put');
  }

  delete(): Promise<void> {
    return this.refuse('A delete');
  }

  increment(): Promise<Result> {
    return this.refuse('An increment');
  }

  append(): Promise<Result> {
    return this.refuse('An append');
  }

  mutateRow(): Promise<Result> {
    return this.refuse('A change of a row');
  }

  checkAndMutate(): Promise<CheckAndMutateResult> {
    return this.refuse('A change of a row');
  }

  /** A batch of gets is answered, any other is refused. */
  async batch(actions: readonly BatchAction[], options?: BatchOptions): Promise<BatchOutcome[]> {
    checkEach('batch', actions, checkAction);
    const gets = actions.filter(isGet);
    if (gets.length < actions.length || options?.atomic) return this.refuse('A batch with writes');
    const results = await this.getAll(gets, options);
    return results.map((result) => ({ ok: true, result }));
  }

  commit(): Promise<readonly CommitOutcome[]> {
    return this.refuse('A write');
  }

  atomic<T>(_decide: (step: AtomicStep) => T, _options?: OperationOptions): Promise<T> {
    return this.refuse('A write');
  }

  private async refuse(what: string): Promise<never> {
    throw this.core.refusal(`${what} of table "${this.name}"`);
  }
}

class ReadOnlyAdmin extends ReadAdmin implements Admin {
  declare protected readonly core: Follower;

  createNamespace(): Promise<void> {
    return this.refuse('Creating a namespace');
  }

  modifyNamespace(): Promise<void> {
    return this.refuse('Changing a namespace');
  }

  deleteNamespace(): Promise<void> {
    return this.refuse('Deleting a namespace');
  }

  createTable(): Promise<void> {
    return this.refuse('Creating a table');
  }

  deleteTable(): Promise<void> {
    return this.refuse('Deleting a table');
  }

  truncateTable(): Promise<void> {
    return this.refuse('Truncating a table');
  }

  modifyTable(): Promise<void> {
    return this.refuse('Changing a table');
  }

  enableTable(): Promise<void> {
    return this.refuse('Enabling a table');
  }

  disableTable(): Promise<void> {
    return this.refuse('Disabling a table');
  }

  flush(): Promise<void> {
    return this.refuse('A flush');
  }

  compact(): Promise<void> {
    return this.refuse('A compaction');
  }

  majorCompact(): Promise<void> {
    return this.refuse('A compaction');
  }

  split(): Promise<void> {
    return this.refuse('A split');
  }

  mergeRegions(): Promise<void> {
    return this.refuse('A merge');
  }

  private async refuse(what: string): Promise<never> {
    throw this.core.refusal(what);
  }
}

/**
 * Opens the store in a folder read-only, beside the process that writes it or without one. It takes no lock and writes nothing.
 * @throws RowanError `ERR_NOT_A_STORE`, `ERR_FORMAT_VERSION`, `ERR_CORRUPTION`, `ERR_IO`; `ERR_BUSY` when the process that has
 *   the store open accepts no readers, `ERR_TIMEOUT` when it does not answer.
 */
export async function openReadOnly(path: string, options: ReadOnlyOptions = {}): Promise<ReadOnlyStore> {
  const { refreshEvery, ...embedded } = options;
  return new ReadOnlyStore(await Follower.open(path, embedded, refreshEvery));
}
