/**
 * An open embedded store: what its tables, its admin and its background work share. Made by `openStore`
 * (recovery.ts), closed by {@link StoreCore.close}.
 */

import { ClosedError, InvalidArgumentError, RowanError } from '../errors.js';
import { canonicalTableName, type FamilyDescriptor, type Query } from '../table/index.js';
import type { JobExecutor } from './background/job.js';
import { Maintenance } from './background/maintenance.js';
import type { BlockCache, FileHandleCache } from './cache/index.js';
import { Catalog } from './catalog.js';
import { disabledError } from './embedded-admin.js';
import type { StoreEvent } from './events.js';
import type { WrittenFile } from './file/file-meta.js';
import { SortedFileReader } from './file/sorted-file-reader.js';
import { type DirectoryLock, type FileSystem, joinPath, sortedFileName, walFileName } from './fs/index.js';
import type { Edit, Manifest } from './manifest/index.js';
import { ChunkPool } from './memstore/arena.js';
import type { StoreSettings } from './options.js';
import { Pressure } from './pressure.js';
import type { TableScanner } from './read/table-scanner.js';
import { WriteRecordBuilder } from './record/write-record.js';
import type { FamilyStore } from './region/family-store.js';
import { type Region, regionOf } from './region/region.js';
import { UncommittedRowReader } from './region/row-reader.js';
import { StoreFile } from './region/store-file.js';
import type { FamilySource } from './scan/family-source.js';
import type { TableState } from './table-state.js';
import type { Wal } from './wal/index.js';
import { CommitQueue } from './write/commit-queue.js';
import { RowClock } from './write/row-clock.js';
import type { RowReader } from './write/row-operations.js';
import { TableWriter } from './write/table-writer.js';

/** What recovery has opened for the store. */
export interface StoreParts {
  readonly directory: string;
  readonly fileSystem: FileSystem;
  readonly settings: StoreSettings;
  readonly lock: DirectoryLock;
  readonly manifest: Manifest;
  readonly wal: Wal;
  readonly lastSeq: number;
  readonly files: FileHandleCache;
  readonly cache: BlockCache;
  readonly flushExecutor: JobExecutor;
  readonly compactionExecutor: JobExecutor;
}

export class StoreCore {
  readonly settings: StoreSettings;
  readonly directory: string;
  readonly fileSystem: FileSystem;
  readonly manifest: Manifest;
  readonly wal: Wal;
  readonly commits: CommitQueue;
  readonly catalog: Catalog;
  readonly pressure: Pressure;
  readonly maintenance: Maintenance;
  readonly writer: TableWriter;
  readonly rowClock: RowClock;
  readonly recordBuilder = new WriteRecordBuilder();
  readonly cache: BlockCache;
  readonly chunkPool: ChunkPool;
  closed = false;
  private readonly lock: DirectoryLock;
  private readonly files: FileHandleCache;
  private nextFile: number;
  private nextId: number;
  /** Those that are open, each at its slot. */
  private readonly scanners: TableScanner[] = [];
  private readonly open = new Map<number, StoreFile>();
  private collecting = false;
  private collectAgain = false;
  private readonly operations = new Set<Promise<unknown>>();
  private closingDone: Promise<void> | undefined;

  constructor(parts: StoreParts) {
    this.settings = parts.settings;
    this.directory = parts.directory;
    this.fileSystem = parts.fileSystem;
    this.manifest = parts.manifest;
    this.wal = parts.wal;
    this.lock = parts.lock;
    this.files = parts.files;
    this.cache = parts.cache;
    this.chunkPool = new ChunkPool(parts.settings.memstoreFlushSize);
    this.nextFile = Math.max(parts.manifest.state.nextFile, parts.wal.number + 1);
    this.nextId = parts.manifest.state.nextId;
    this.rowClock = new RowClock(parts.settings.clock);
    this.rowClock.restore(parts.manifest.state.clock);
    this.commits = new CommitQueue(parts.wal, parts.lastSeq);
    this.catalog = new Catalog(this);
    this.maintenance = new Maintenance(this, parts.flushExecutor, parts.compactionExecutor);
    this.writer = new TableWriter(this);
    this.pressure = new Pressure(this, parts.settings.memstoreLimit, parts.settings.automatic);
  }

  /** @throws InvalidArgumentError when the clock that was given tells no time. */
  now(): number {
    const now = this.settings.clock();
    if (Number.isSafeInteger(now) && now >= 0) return now;
    throw new InvalidArgumentError(
      `The clock of the store told ${now}. It must give whole milliseconds since 1970 (option "clock").`,
    );
  }

  emit(event: StoreEvent): void {
    try {
      this.settings.onEvent(event);
    } catch {
      // A listener's failure is its own: the store's work goes on.
    }
  }

  checkOpen(): void {
    if (this.closed) throw new ClosedError('The store is closed. Open it again to go on.');
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

  /** The families of a region that a read asks for, in order. */
  sourcesOf(region: Region, query: Query): readonly FamilySource[] {
    if (query.asksForAll) return region.stores;
    return region.stores.filter((store) => query.families.has(store.descriptor.name));
  }

  appendToLog(first: number, count: number, record: WriteRecordBuilder): void {
    // Before the record: where the disk has no room for another segment, the write is not in the log.
    if (this.wal.full) this.rotateLog();
    this.wal.append(first, count, record.buffer, 0, record.length);
  }

  newFileNumber(): number {
    return this.nextFile++;
  }

  /** A number for a table, a family or a region. */
  newId(): number {
    return this.nextId++;
  }

  filePath(fileNo: number): string {
    return joinPath(this.directory, sortedFileName(fileNo));
  }

  /** A sorted file that stores can hold; the same for all who ask while somebody holds it. */
  openFile(fileNo: number, size: number, seq: number | undefined, family: FamilyDescriptor): StoreFile {
    const known = this.open.get(fileNo);
    if (known) return known;
    const path = this.filePath(fileNo);
    const reader = SortedFileReader.open({ files: this.files, cache: this.cache }, path, fileNo, {
      cacheBlocks: family.blockCache,
      inMemory: family.inMemory,
      ...(seq === undefined ? {} : { seq }),
    });
    const file = new StoreFile(fileNo, path, seq, reader, size, () => this.unused(file));
    this.open.set(fileNo, file);
    return file;
  }

  /** Nobody holds the file any more: unless the store closes, it has been replaced. */
  private unused(file: StoreFile): void {
    this.open.delete(file.fileNo);
    file.reader.close();
    // Without a sound MANIFEST nobody knows which files the next opener will look for; it removes the others.
    if (!this.closed && this.manifest.poisoned === undefined) this.removeFile(file.path);
  }

  private removeFile(path: string): void {
    try {
      this.fileSystem.unlink(path);
    } catch {
      // A file that nothing names: the next opener removes it.
    }
  }

  get openScanners(): number {
    return this.scanners.length;
  }

  scannerOpened(scanner: TableScanner): void {
    scanner.slot = this.scanners.length;
    this.scanners.push(scanner);
  }

  scannerClosed(scanner: TableScanner): void {
    const last = this.scanners.pop()!;
    if (last === scanner) return;
    this.scanners[scanner.slot] = last;
    last.slot = scanner.slot;
  }

  /** The oldest moment that an open scan still looks at. */
  smallestReadPoint(): number {
    let smallest = this.commits.readPoint;
    for (const { readPoint } of this.scanners) if (readPoint < smallest) smallest = readPoint;
    return smallest;
  }

  /**
   * Edits that are on the disk when this resolves, and every write before them: a crash never takes back an earlier
   * change and leaves a later one.
   */
  async record(edits: readonly Edit[]): Promise<void> {
    await this.wal.sync();
    await this.manifest.logAsync([...edits, this.clockEdit()]);
  }

  /** Records a file that was written, and has `adopt` take it in. Removes it when it could not be recorded. */
  async recordFile(
    fileNo: number,
    written: WrittenFile | undefined,
    family: FamilyDescriptor,
    edits: readonly Edit[],
    adopt: (file: StoreFile | undefined) => void,
  ): Promise<void> {
    // Before it is recorded: a file that cannot be opened must not take the place of others.
    const file = written && this.openFile(fileNo, written.size, undefined, family);
    file?.retain();
    try {
      await this.record(edits);
      adopt(file);
    } finally {
      file?.release();
    }
  }

  private rotateLog(): void {
    this.wal.rotate(this.newFileNumber(), (closed, opened) => {
      this.manifest.log([
        { type: 'walClosed', ...closed },
        { type: 'walAdd', number: opened },
        this.clockEdit(),
      ]);
    });
    this.maintenance.requestLogCollection();
  }

  /** Removes the segments of the log whose every write is in files; flushes who holds the oldest when there are many. */
  async collectLog(): Promise<void> {
    this.collectAgain = true;
    if (this.collecting) return;
    this.collecting = true;
    try {
      while (this.collectAgain && !this.closed) {
        this.collectAgain = false;
        await this.collectSegments();
      }
    } finally {
      this.collecting = false;
    }
  }

  private async collectSegments(): Promise<void> {
    const oldest = this.oldestUnflushedSeq();
    const closed = [...this.manifest.state.walSegments.values()].filter((segment) => segment.closed);
    const done = closed.filter((segment) => segment.closed!.lastSeq < oldest);
    if (done.length > 0) {
      await this.record(done.map(({ number }) => ({ type: 'walRemove', number })));
      for (const { number } of done) this.removeFile(joinPath(this.directory, walFileName(number)));
    }
    const kept = closed.filter((segment) => !done.includes(segment));
    if (this.settings.automatic && kept.length > this.settings.maxWalSegments)
      this.flushHolders(kept[0]!.closed!.lastSeq);
  }

  private oldestUnflushedSeq(): number {
    let oldest = Number.POSITIVE_INFINITY;
    for (const state of this.catalog.tables()) {
      for (const store of state.stores()) oldest = Math.min(oldest, store.oldestUnflushedSeq);
    }
    return oldest;
  }

  private flushHolders(seq: number): void {
    for (const state of this.catalog.tables()) {
      for (const region of state.regions) {
        for (const store of region.stores) {
          if (store.oldestUnflushedSeq <= seq) this.maintenance.requestFlush(state, region, store);
        }
      }
    }
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
    const ended: Promise<unknown> = operation.catch(() => {}).then(() => this.operations.delete(ended));
    this.operations.add(ended);
    return operation;
  }

  /** Ends background work, makes every write durable, and lets go of the folder. Memstores are not flushed. */
  close(): Promise<void> {
    this.closingDone ??= this.closeOnce();
    return this.closingDone;
  }

  private async closeOnce(): Promise<void> {
    this.closed = true;
    for (const scanner of [...this.scanners]) scanner.cutOff();
    this.pressure.close();
    try {
      await this.maintenance.close();
      while (this.operations.size > 0) await Promise.all(this.operations);
      this.closeLog();
    } finally {
      for (const state of this.catalog.tables()) for (const store of state.stores()) store.close();
      this.files.closeAll();
      try {
        this.manifest.close();
      } finally {
        await this.lock.release();
      }
    }
  }

  private closeLog(): void {
    if (this.wal.poisoned) this.wal.abandon();
    else this.manifest.log([{ type: 'walClosed', ...this.wal.close() }, this.clockEdit()]);
  }

  /** What the log has told of the clock must outlive the log. */
  private clockEdit(): Edit {
    return { type: 'counters', clock: this.rowClock.highest };
  }
}
