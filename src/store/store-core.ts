import { CommitRecorders, WriteObservers } from '../table/index.js';
import type { JobExecutor } from './background/job.js';
import { Maintenance } from './background/maintenance.js';
import { MaintenanceLocks } from './background/maintenance-locks.js';
import type { BlockCache, FileHandleCache } from './cache.js';
import { Catalog } from './catalog.js';
import { CommitQueue } from './commit/commit-queue.js';
import type { RowClock } from './commit/row-clock.js';
import { TableWriter } from './commit/table-writer.js';
import { Lifecycle, type StoreEnvironment } from './environment.js';
import type { DirectoryLock } from './fs/index.js';
import type { FileLedger } from './ledger/file-ledger.js';
import { type Journal, LogCollector, LogRoller } from './ledger/journal.js';
import type { ChunkPool } from './memstore/arena.js';
import type { StoreSettings } from './options.js';
import type { ReaderThreads } from './parallel/reader-threads.js';
import { StoreReads } from './read/read-table.js';
import { ScannerRegistry } from './read/scanner-registry.js';
import { ReaderRegistry } from './read-only/reader-registry.js';
import type { FamilyStore, Region } from './region/region.js';
import { SpaceLimits } from './space-limits.js';
import type { TableState } from './table-state.js';
import { Contention } from './transaction/contention.js';
import { PrivateMemstores } from './transaction/private-writes.js';
import { WriteThrottle, type WriteThrottleActions } from './write-throttle.js';

/** The parts that recovery has opened. */
interface StoreParts {
  readonly environment: StoreEnvironment;
  readonly lock: DirectoryLock;
  readonly journal: Journal;
  readonly ledger: FileLedger;
  readonly tables: readonly TableState[];
  readonly rowClock: RowClock;
  readonly lastSeq: number;
  readonly files: FileHandleCache;
  readonly cache: BlockCache;
  readonly chunkPool: ChunkPool;
  readonly flushExecutor: JobExecutor;
  readonly compactionExecutor: JobExecutor;
  readonly readerThreads: ReaderThreads | undefined;
}

/** An open embedded store: creates its parts and connects them, and does nothing else. Created by `openStore` (`recovery.ts`). */
export class StoreCore {
  readonly environment: StoreEnvironment;
  readonly settings: StoreSettings;
  /** Whether the store is open, and the operations that its close waits for. */
  readonly lifecycle = new Lifecycle();
  /** The tables and namespaces. */
  readonly catalog: Catalog;
  /** The parts that reads use. */
  readonly reads: StoreReads;
  readonly scanners: ScannerRegistry;
  /** Applies changes to tables. */
  readonly writer: TableWriter;
  /** The order of commits, and the read point. */
  readonly commits: CommitQueue;
  readonly rowClock: RowClock;
  /** WAL and MANIFEST. */
  readonly journal: Journal;
  /** Appends to the WAL, and prepares its next segment. */
  readonly log: LogRoller;
  readonly observers = new WriteObservers();
  readonly recorders = new CommitRecorders();
  /** Orders transactions that conflict. */
  readonly contention = new Contention();
  /** How many servers let connections write the store. */
  readonly servers = { writable: 0 };
  readonly memory: MemoryUse;
  readonly throttle: WriteThrottle;
  readonly space: SpaceLimits;
  /** Flushes, compactions and splits. */
  readonly maintenance: Maintenance;
  /** The sorted files. */
  readonly ledger: FileLedger;
  readonly cache: BlockCache;
  readonly chunkPool: ChunkPool;
  readonly privateMemstores: PrivateMemstores;
  /** Readers in other processes. */
  readonly readers: ReaderRegistry;
  /** Threads for scans; undefined where the store has no worker threads. */
  readonly readerThreads: ReaderThreads | undefined;
  private readonly closing: StoreClosing;

  constructor(parts: StoreParts) {
    const { environment, journal, chunkPool } = parts;
    const { settings } = environment;
    this.environment = environment;
    this.settings = settings;
    this.journal = journal;
    this.ledger = parts.ledger;
    this.cache = parts.cache;
    this.chunkPool = chunkPool;
    this.privateMemstores = new PrivateMemstores(chunkPool);
    this.rowClock = parts.rowClock;
    this.readerThreads = parts.readerThreads;
    this.scanners = new ScannerRegistry(settings.scannerIdleTimeout);
    this.commits = new CommitQueue(journal.wal, journal, parts.lastSeq, (memstore) =>
      this.scanners.smallestIn(memstore, this.commits.readPoint),
    );
    this.reads = new StoreReads(environment, this.commits, this.scanners);
    this.memory = new MemoryUse(this);
    this.throttle = new WriteThrottle(this.memory, settings.memstoreLimit, settings.automatic);
    const { lifecycle, commits, scanners, throttle } = this;
    const shared = { ...parts, lifecycle, commits, scanners, throttle, locks: new MaintenanceLocks() };
    this.catalog = new Catalog(shared, parts.tables);
    this.space = new SpaceLimits(this, settings.maxDiskSize);
    this.maintenance = new Maintenance(shared, () => collector.collect());
    const collector = new LogCollector(environment, journal, this.catalog, (state, region, store) =>
      this.maintenance.requestFlush(state, region, store),
    );
    this.log = new LogRoller(environment, journal, () => this.maintenance.requestLogCollection());
    this.writer = new TableWriter(this);
    this.readers = new ReaderRegistry(this);
    const { catalog, maintenance, memory, readers, log: roller } = this;
    this.closing = new StoreClosing({ ...shared, catalog, maintenance, memory, readers, roller, collector });
  }

  /** Ends background work, makes every write durable, flushes (`flushOnClose`), and unlocks the folder. */
  close(): Promise<void> {
    return this.closing.close();
  }
}

/** The parts of the store that closing uses. */
interface ClosingParts {
  readonly environment: StoreEnvironment;
  readonly lifecycle: Lifecycle;
  readonly journal: Journal;
  readonly catalog: Catalog;
  readonly scanners: ScannerRegistry;
  readonly throttle: WriteThrottle;
  readonly memory: MemoryUse;
  readonly maintenance: Maintenance;
  readonly roller: LogRoller;
  readonly collector: LogCollector;
  readonly ledger: FileLedger;
  readonly files: FileHandleCache;
  readonly cache: BlockCache;
  readonly chunkPool: ChunkPool;
  readonly readers: ReaderRegistry;
  readonly readerThreads: ReaderThreads | undefined;
  readonly lock: DirectoryLock;
}

/** Flushes at a time when a store is closed: their files are synced at once, and recorded in the MANIFEST together. */
const CLOSING_FLUSHES = 16;

/** Closes a store: ends background work, makes every write durable, flushes (`flushOnClose`), and unlocks the folder. */
class StoreClosing {
  private done: Promise<void> | undefined;

  constructor(private readonly parts: ClosingParts) {}

  /** Further calls wait for the same end. */
  close(): Promise<void> {
    this.done ??= this.closeOnce();
    return this.done;
  }

  /** Flushes memstores, the largest first, within the limits of the option. What stays in memory is replayed at the next opening. */
  private async flushBeforeEnd(): Promise<void> {
    const { environment, journal, memory, maintenance } = this.parts;
    const bounds = environment.settings.flushOnClose;
    if (bounds === undefined || journal.poisoned || memory.memstores().bytes < bounds.minBytes) return;
    const end = performance.now() + bounds.maxMilliseconds;
    const places = memory.bySize().values();
    const flushInTurn = async (): Promise<void> => {
      for (const place of places) {
        if (performance.now() >= end) return;
        // A failure is reported as for every automatic flush; the log still has the writes.
        await maintenance.flushQuietly(place);
      }
    };
    await Promise.all(Array.from({ length: CLOSING_FLUSHES }, flushInTurn));
  }

  private async closeOnce(): Promise<void> {
    const { lifecycle, scanners, throttle, maintenance, roller, collector, lock } = this.parts;
    const { ledger, files, cache, chunkPool } = this.parts;
    const { fileSystem } = this.parts.environment;
    lifecycle.end();
    scanners.cutOffAll();
    throttle.close();
    maintenance.end();
    await this.parts.readerThreads?.close();
    await this.flushBeforeEnd();
    try {
      await maintenance.close();
      await lifecycle.ending();
      await roller.end();
      collector.closeLog(roller.finish());
    } finally {
      await roller.end();
      roller.finish();
      ledger.end();
      for (const state of this.parts.catalog.tables()) for (const store of state.stores()) store.close();
      files.closeAll();
      // The program may keep the closed store for long.
      cache.end();
      chunkPool.end();
      try {
        this.parts.journal.manifest.close();
      } finally {
        await this.parts.journal.archive?.close();
        await this.parts.readers.close();
        await lock.release();
        fileSystem.letGo?.();
      }
    }
  }
}

/** A family of one region of a table. */
interface MemoryPlace {
  readonly state: TableState;
  readonly region: Region;
  readonly store: FamilyStore;
}

/** Counts the bytes of a store's memstores and requests flushes, for the write throttle. */
class MemoryUse implements WriteThrottleActions {
  /** How often and how long writers have waited for memory. */
  readonly stalls = { count: 0, milliseconds: 0 };

  constructor(
    /** Its parts are read when needed: they are created after this object. */
    private readonly owner: {
      readonly environment: StoreEnvironment;
      readonly catalog: Catalog;
      readonly maintenance: Maintenance;
    },
  ) {}

  flushSizeOf(region: Region): number {
    const { catalog, environment } = this.owner;
    return catalog.tableOf(region)?.descriptor.memstoreFlushSize ?? environment.settings.memstoreFlushSize;
  }

  requestFlush(region: Region, store: FamilyStore): void {
    const { catalog, maintenance } = this.owner;
    const state = catalog.tableOf(region);
    if (state) maintenance.requestFlush(state, region, store);
  }

  memstores(): { readonly bytes: number; readonly regions: number } {
    let bytes = 0;
    let regions = 0;
    for (const state of this.owner.catalog.tables()) {
      for (const region of state.regions) bytes += region.memstoreBytes;
      regions += state.regions.length;
    }
    return { bytes, regions };
  }

  largest(): MemoryPlace | undefined {
    let found: MemoryPlace | undefined;
    for (const state of this.owner.catalog.tables()) {
      for (const region of state.regions) {
        for (const store of region.stores) {
          if (!found || store.memstoreBytes > found.store.memstoreBytes) found = { state, region, store };
        }
      }
    }
    return found;
  }

  /** The families that have cells in memory, the largest first. */
  bySize(): MemoryPlace[] {
    const places = [...this.owner.catalog.tables()].flatMap((state) =>
      state.regions.flatMap((region) => region.stores.map((store) => ({ state, region, store }))),
    );
    return places
      .filter(({ store }) => store.memstoreBytes > 0)
      .sort((a, b) => b.store.memstoreBytes - a.store.memstoreBytes);
  }

  onStall(milliseconds: number, memstoreBytes: number): void {
    this.stalls.count++;
    this.stalls.milliseconds += milliseconds;
    this.owner.environment.emit({ kind: 'stall', milliseconds, memstoreBytes });
  }

  clock(): number {
    return this.owner.environment.now();
  }
}
