import { CorruptionError, UnsupportedError } from '../errors.js';
import type {
  BulkLoadResult,
  Capabilities,
  CellStream,
  Commits,
  Engine,
  SyncTable,
  SyncTableTransaction,
  TransactionOptions,
  WriteObserver,
} from '../table/index.js';
import { backupStore, type StoreBackup, type StoreBackupOptions } from './backup.js';
import { BulkLoad } from './bulk-load.js';
import { checkpoint } from './checkpoint.js';
import { EmbeddedAdmin } from './embedded-admin.js';
import { EmbeddedTable } from './embedded-table.js';
import { type StoreMetric, storeMetrics } from './metrics.js';
import type { EmbeddedOptions } from './options.js';
import { openStore } from './recovery.js';
import {
  type StoreVerifyOptions,
  startVerify,
  type Verification,
  type VerifyReport,
} from './repair/verify.js';
import { type StoreStats, storeStats } from './stats.js';
import type { StoreCore } from './store-core.js';
import { runTransaction } from './transaction/transaction-table.js';

const CAPABILITIES: Capabilities = Object.freeze({
  atomicBatch: true,
  sync: true,
  snapshotScans: true,
  checkpoint: true,
  timelineReads: true,
  cellTtl: true,
  deleteMarkers: true,
});

/** The store behind an engine, for the server, which serves it to other programs. Set by {@link EmbeddedEngine}. */
export let coreOf: (engine: EmbeddedEngine) => StoreCore;

/** The embedded engine: HBase's data model in this process, on files of its own. */
export class EmbeddedEngine implements Engine {
  static {
    coreOf = (engine) => engine.core;
  }

  readonly name = 'embedded';
  readonly place: string;
  readonly capabilities = CAPABILITIES;
  readonly maxCellSize: number;
  readonly admin: EmbeddedAdmin;
  readonly commits: Commits;
  private readonly tables = new Map<string, EmbeddedTable>();
  private readonly verified = { runs: 0, faults: 0 };

  constructor(private readonly core: StoreCore) {
    this.place = core.environment.directory;
    this.maxCellSize = core.settings.maxCellSize;
    this.admin = new EmbeddedAdmin(core);
    this.commits = {
      get last() {
        return core.commits.readPoint;
      },
      record: (tables, recorder) => core.recorders.add(tables, recorder),
    };
  }

  table(name: string): SyncTable {
    let table = this.tables.get(name);
    if (!table) {
      table = new EmbeddedTable(this.core, name);
      this.tables.set(name, table);
    }
    return table;
  }

  now(): number {
    return this.core.rowClock.now();
  }

  advanceClock(time: number): void {
    this.core.rowClock.advanceTo(time);
  }

  observe(table: string, observer: WriteObserver): () => void {
    this.core.lifecycle.checkOpen();
    return this.core.observers.add(table, observer);
  }

  transaction<T>(
    run: (transaction: SyncTableTransaction) => Promise<T>,
    options?: TransactionOptions,
  ): Promise<T> {
    return runTransaction(this.core, run, options);
  }

  /** Resolves when no flush, compaction or split that the store started by itself is in progress. */
  async quiet(): Promise<void> {
    await this.core.maintenance.drain();
  }

  checkWritable(): void {
    this.core.lifecycle.checkOpen();
    this.core.journal.checkWritable();
  }

  get archivesLog(): boolean {
    return this.core.journal.archive !== undefined;
  }

  /** Sizes, counts and loads of tables, regions and families. */
  stats(): StoreStats {
    this.core.lifecycle.checkOpen();
    const { catalog, journal, cache, commits, rowClock, scanners } = this.core;
    return storeStats({
      tables: catalog.tables(),
      state: journal.manifest.state,
      openLogBytes: journal.wal.size,
      cache,
      lastSeq: commits.lastSeq,
      rowClock,
      openScanners: scanners.size,
    });
  }

  /** Metrics of the whole store for monitoring: memory, cache, files, flushes, compactions, stalls, log (docs/observing.md). */
  metrics(): StoreMetric[] {
    const { memory, journal } = this.core;
    return storeMetrics(this.stats(), {
      stalls: memory.stalls,
      verified: this.verified,
      unarchived: journal.archive?.behind ?? 0,
    });
  }

  /**
   * Reads every file of the store and checks its contents.
   * @throws CorruptionError for the first fault, naming file and offset.
   */
  async verify(options?: StoreVerifyOptions): Promise<VerifyReport> {
    return this.startVerify(options).done;
  }

  /**
   * Begins to read every file of the store and check its contents, beside reads and writes: with a rate, and pauses. Its end is the event
   * `verifyEnd`, a fault the event `corruption`, and both are metrics.
   * @throws InvalidArgumentError on wrong options.
   */
  startVerify(options?: StoreVerifyOptions): Verification {
    const { core, verified } = this;
    core.lifecycle.checkOpen();
    const verification = startVerify(core, options);
    verification.done.then(
      ({ files, cells, bytes }) => {
        verified.runs++;
        core.environment.emit({ kind: 'verifyEnd', files, cells, bytes });
      },
      (error: unknown) => {
        if (!(error instanceof CorruptionError)) return;
        verified.faults++;
        core.environment.emit({ kind: 'corruption', error });
      },
    );
    return verification;
  }

  /**
   * Loads sorted cells as files, past the log. They come ordered by row, family, qualifier, newest timestamp first, and become
   * visible at one moment. They win over earlier writes of the same cells and lose to later ones (R83).
   * @throws RowanError `ERR_INVALID_ARGUMENT` when the cells are out of order, `ERR_SPACE` beyond a limit: nothing is loaded then.
   */
  async bulkLoad(table: string, cells: CellStream): Promise<BulkLoadResult> {
    const state = this.core.catalog.writableTable(table);
    this.core.space.checkPut(state);
    return new BulkLoad(this.core, state).run(cells);
  }

  /**
   * Creates a copy of the store as of now in the new folder `path`, which can be opened while this store stays open. Files are
   * linked where the file system has links.
   */
  async checkpoint(path: string): Promise<void> {
    this.core.lifecycle.checkOpen();
    await this.core.lifecycle.track<unknown>(
      checkpoint(this.core, this.core.environment.fileSystem.absolute?.(path) ?? path),
    );
  }

  /**
   * Adds a backup of the whole store to a folder, while reads and writes go on: only files that no earlier backup of the folder has
   * are copied. `restoreStore` makes a store of it.
   * @throws InvalidArgumentError when the folder holds something else; UnsupportedError with a `fileSystem` of the caller's; RowanError
   *   `ERR_BUSY` when a backup is being made, `ERR_LOCKED` when another process works in the folder, `ERR_ABORTED`, `ERR_IO`.
   */
  async backup(folder: string, options: StoreBackupOptions = {}): Promise<StoreBackup> {
    this.core.lifecycle.checkOpen();
    return this.core.lifecycle.track(backupStore(this.core, folder, options));
  }

  /**
   * Copies the log to its archive now: resolves when every write that was acknowledged before the call can be restored from it.
   * Otherwise that happens once a second.
   * @throws UnsupportedError when the store has no archive (option `logArchive`); RowanError `ERR_IO`, `ERR_BUSY`.
   */
  async archiveLog(): Promise<void> {
    this.core.lifecycle.checkOpen();
    const { archive } = this.core.journal;
    if (archive === undefined) {
      throw new UnsupportedError(
        'The log of this store is not archived. Open it with logArchive: the folder of an archive.',
      );
    }
    await this.core.lifecycle.track(archive.archiveAll());
  }

  async close(): Promise<void> {
    await this.core.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/**
 * Opens the embedded store in the folder `path`, or creates one in a new or empty folder.
 * @throws RowanError `ERR_LOCKED`, `ERR_NOT_A_STORE`, `ERR_FORMAT_VERSION`, `ERR_UNSUPPORTED`, `ERR_CORRUPTION`,
 * `ERR_IO`: each names the file and what to do.
 */
export async function openEmbedded(path: string, options: EmbeddedOptions = {}): Promise<EmbeddedEngine> {
  return new EmbeddedEngine(await openStore(path, options));
}
