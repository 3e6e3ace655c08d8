/**
 * An open embedded store, put together of its parts. Made by `openStore` (recovery.ts), closed by
 * {@link StoreCore.close}.
 */

import { RowanError } from '../errors.js';
import {
  CommitRecorders,
  canonicalTableName,
  type Query,
  type Result,
  type Scan,
  WriteObservers,
} from '../table/index.js';
import type { JobExecutor } from './background/job.js';
import { Maintenance } from './background/maintenance.js';
import { MaintenanceLocks } from './background/maintenance-locks.js';
import type { BlockCache, FileHandleCache } from './cache/index.js';
import { Catalog, disabledError } from './catalog.js';
import { CommitQueue } from './commit/commit-queue.js';
import type { RowClock } from './commit/row-clock.js';
import type { RowReader } from './commit/row-operations.js';
import { TableWriter } from './commit/table-writer.js';
import { WriteRecordBuilder } from './commit/write-record.js';
import type { StoreEnvironment } from './environment.js';
import type { StoreEvent } from './events.js';
import type { DirectoryLock, FileSystem } from './fs/index.js';
import type { FileLedger } from './ledger/file-ledger.js';
import type { Journal } from './ledger/journal.js';
import { LogCollector, LogRoller } from './ledger/log-roller.js';
import { Lifecycle } from './lifecycle.js';
import type { Manifest } from './manifest/index.js';
import type { ChunkPool } from './memstore/arena.js';
import type { StoreSettings } from './options.js';
import { UncommittedRowReader } from './read/row-reader.js';
import { ScannerRegistry } from './read/scanner-registry.js';
import { TableScanner, UncommittedView } from './read/table-scanner.js';
import type { FamilyStore } from './region/family-store.js';
import { type Region, regionOf } from './region/region.js';
import type { FamilySource } from './scan/store-read.js';
import type { TableState } from './table-state.js';
import { Contention } from './transaction/contention.js';
import type { Wal } from './wal/index.js';
import { WriteThrottle } from './write-throttle.js';

/** What recovery has opened for the store. */
export interface StoreParts {
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
}

export class StoreCore {
  readonly environment: StoreEnvironment;
  readonly settings: StoreSettings;
  readonly directory: string;
  readonly fileSystem: FileSystem;
  readonly manifest: Manifest;
  readonly wal: Wal;
  readonly lifecycle = new Lifecycle();
  readonly journal: Journal;
  readonly ledger: FileLedger;
  readonly commits: CommitQueue;
  readonly catalog: Catalog;
  readonly collector: LogCollector;
  private readonly roller: LogRoller;
  readonly scanners: ScannerRegistry;
  /** Who goes first among transactions that meet. */
  readonly contention = new Contention();
  readonly observers = new WriteObservers();
  readonly recorders = new CommitRecorders();
  readonly pressure: WriteThrottle;
  readonly maintenance: Maintenance;
  readonly writer: TableWriter;
  readonly rowClock: RowClock;
  readonly recordBuilder = new WriteRecordBuilder();
  readonly cache: BlockCache;
  readonly chunkPool: ChunkPool;
  private readonly lock: DirectoryLock;
  private readonly files: FileHandleCache;
  private closingDone: Promise<void> | undefined;

  constructor(parts: StoreParts) {
    const { environment, journal, ledger, chunkPool } = parts;
    const { settings } = environment;
    this.environment = environment;
    this.settings = settings;
    this.directory = environment.directory;
    this.fileSystem = environment.fileSystem;
    this.manifest = journal.manifest;
    this.wal = journal.wal;
    this.journal = journal;
    this.rowClock = parts.rowClock;
    this.ledger = ledger;
    this.lock = parts.lock;
    this.files = parts.files;
    this.cache = parts.cache;
    this.chunkPool = chunkPool;
    this.scanners = new ScannerRegistry(settings.scannerIdleTimeout);
    this.commits = new CommitQueue(journal.wal, journal, parts.lastSeq, (memstore) =>
      this.scanners.smallestIn(memstore, this.commits.readPoint),
    );
    this.pressure = new WriteThrottle(this, settings.memstoreLimit, settings.automatic);
    const shared = { ...parts, ...this.shared(), work: new MaintenanceLocks() };
    this.catalog = new Catalog(shared, parts.tables);
    this.maintenance = new Maintenance(shared, () => this.collector.collect());
    this.collector = new LogCollector(environment, journal, this.catalog, (state, region, store) =>
      this.maintenance.requestFlush(state, region, store),
    );
    this.roller = new LogRoller(environment, journal, () => this.maintenance.requestLogCollection());
    this.writer = new TableWriter(this);
  }

  private shared() {
    const { lifecycle, commits, scanners, pressure } = this;
    return { lifecycle, commits, scanners, pressure };
  }

  now(): number {
    return this.environment.now();
  }

  emit(event: StoreEvent): void {
    this.environment.emit(event);
  }

  checkOpen(): void {
    if (this.lifecycle.closed) this.lifecycle.checkOpen();
  }

  /** @throws RowanError when the store is closed, or the table is not there or disabled. */
  openTable(name: string): TableState {
    this.checkOpen();
    const state = this.catalog.find(name) ?? this.catalog.get(canonicalTableName(name));
    if (!state.enabled) throw disabledError(state.name);
    return state;
  }

  writableTable(name: string): TableState {
    const state = this.openTable(name);
    if (!state.descriptor.readOnly) return state;
    throw new RowanError('ERR_READONLY', `The table "${name}" is read-only (READONLY). Alter it to write.`, {
      details: { table: name },
    });
  }

  rowReader(state: TableState, row: Uint8Array): RowReader {
    return new UncommittedRowReader(this, state, regionOf(state.regions, row));
  }

  /** Flushed or not, acknowledged or not: what {@link rowReader} sees, row after row. */
  scanUncommitted(state: TableState, scan: Scan): Result[] {
    return [...new TableScanner(this, state, scan, new UncommittedView(this.now()))];
  }

  /** The families of a region that a read asks for, in order. */
  sourcesOf(region: Region, query: Query): readonly FamilySource[] {
    if (query.asksForAll) return region.stores;
    return region.stores.filter((store) => query.families.has(store.descriptor.name));
  }

  appendToLog(first: number, count: number, record: WriteRecordBuilder): void {
    this.roller.makeRoom(record.length);
    this.wal.append(first, count, record.buffer, 0, record.length);
  }

  flushSizeOf(region: Region): number {
    return this.catalog.tableOf(region)?.descriptor.memstoreFlushSize ?? this.settings.memstoreFlushSize;
  }

  requestFlush(region: Region, store: FamilyStore): void {
    const state = this.catalog.tableOf(region);
    if (state) this.maintenance.requestFlush(state, region, store);
  }

  memstoreBytes(): number {
    let bytes = 0;
    for (const state of this.catalog.tables()) {
      for (const region of state.regions) bytes += region.memstoreBytes;
    }
    return bytes;
  }

  largest(): { readonly region: Region; readonly store: FamilyStore } | undefined {
    let found: { readonly region: Region; readonly store: FamilyStore } | undefined;
    for (const state of this.catalog.tables()) {
      for (const region of state.regions) {
        for (const store of region.stores) {
          if (!found || store.memstoreBytes > found.store.memstoreBytes) found = { region, store };
        }
      }
    }
    return found;
  }

  onStall(milliseconds: number, memstoreBytes: number): void {
    this.emit({ kind: 'stall', milliseconds, memstoreBytes });
  }

  clock(): number {
    return this.now();
  }

  /** Has `close` wait for an operation that somebody asked for. */
  track<T>(operation: Promise<T>): Promise<T> {
    return this.lifecycle.track(operation);
  }

  /** Ends background work, makes every write durable, flushes (`flushOnClose`), and lets go of the folder. */
  close(): Promise<void> {
    this.closingDone ??= this.closeOnce();
    return this.closingDone;
  }

  /** Writes memory to files, the largest first, as far as the option says: what is left is replayed at the next opening. */
  private async flushBeforeEnd(): Promise<void> {
    const bounds = this.settings.flushOnClose;
    if (bounds === undefined || this.journal.poisoned || this.memstoreBytes() < bounds.minBytes) return;
    const end = performance.now() + bounds.maxMilliseconds;
    const places = [...this.catalog.tables()].flatMap((state) =>
      state.regions.flatMap((region) => region.stores.map((store) => ({ state, region, store }))),
    );
    places.sort((a, b) => b.store.memstoreBytes - a.store.memstoreBytes);
    for (const place of places) {
      if (performance.now() >= end) return;
      // What fails is told as every flush of the store's own is; the log has the writes.
      if (place.store.memstoreBytes > 0) await this.maintenance.flushQuietly(place);
    }
  }

  private async closeOnce(): Promise<void> {
    this.lifecycle.end();
    this.scanners.cutOffAll();
    this.pressure.close();
    this.maintenance.end();
    await this.flushBeforeEnd();
    try {
      await this.maintenance.close();
      await this.lifecycle.ending();
      await this.roller.end();
      this.collector.closeLog(this.roller.finish());
    } finally {
      await this.roller.end();
      this.roller.finish();
      for (const state of this.catalog.tables()) for (const store of state.stores()) store.close();
      this.files.closeAll();
      try {
        this.manifest.close();
      } finally {
        await this.lock.release();
        this.fileSystem.letGo?.();
      }
    }
  }
}
