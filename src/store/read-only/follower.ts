import { setImmediate as turn } from 'node:timers/promises';
import { compareBytes } from '../../bytes/index.js';
import { prepareCodecs } from '../../compression/index.js';
import { CorruptionError, errnoOf, RowanError } from '../../errors.js';
import { threadFile } from '../../threads.js';
import { BlockCache, FileHandleCache } from '../cache.js';
import { RowClock } from '../commit/row-clock.js';
import { loadKeys, withEncryption } from '../encryption/encrypted-file-system.js';
import { isKeyMissing } from '../encryption/keys.js';
import { closedStore, Lifecycle, SerialQueue, StoreEnvironment } from '../environment.js';
import { type FileSystem, joinPath, manifestFileName, NodeFileSystem, walFileName } from '../fs/index.js';
import { FileLedger } from '../ledger/file-ledger.js';
import { bytesOfTurn, Replay } from '../log-replay.js';
import {
  findStore,
  type RegionEntry,
  readCurrent,
  readManifestTo,
  requireStore,
  type VersionState,
} from '../manifest/index.js';
import { ChunkPool } from '../memstore/arena.js';
import { Memstore } from '../memstore/memstore.js';
import { type EmbeddedOptions, type StoreSettings, storeSettings } from '../options.js';
import { ReaderThreads, workerSetup } from '../parallel/reader-threads.js';
import { type ReadCore, StoreReads } from '../read/read-table.js';
import { ScannerRegistry } from '../read/scanner-registry.js';
import { codecsOf, loadTables, type MemstoreSource } from '../recovery.js';
import type { FamilyMemory, FamilyStore } from '../region/region.js';
import { type StoreStats, storeStats } from '../stats.js';
import { type StoredNamespaces, StoredTables, type TableState } from '../table-state.js';
import { LogReplay, type WalRecord } from '../wal/index.js';
import { LogTail } from './log-tail.js';
import type { Answer, StorePosition } from './reader-protocol.js';
import { WriterConnection } from './writer-connection.js';

/** How often a refresh is tried again when the writer process replaced files during it. */
const MAX_TRIES = 40;
/** Milliseconds between two tries. */
const RETRY_DELAY = 25;
/** Milliseconds within which the writer process must answer. */
const ANSWER_TIMEOUT = 10_000;

/** The state of the store that a read-only store shows. */
export interface StoreMoment {
  /** When it was read: milliseconds since 1970, by the clock of this process. */
  readonly time: number;
  /** The sequence number of the last write that it shows. */
  readonly lastSeq: number;
  /** The id of the process that had the store open for writing; undefined when none had. */
  readonly opener: number | undefined;
}

class FollowedTables extends StoredTables {
  protected stored: StoredNamespaces = { namespaces: new Set(), namespaceProperties: new Map() };

  replace(tables: readonly TableState[], stored: StoredNamespaces): void {
    const before = [...this.byName.values()];
    this.byName.clear();
    for (const state of tables) this.byName.set(state.name, state);
    this.stored = stored;
    for (const state of before) for (const store of state.stores()) store.close();
  }

  close(): void {
    this.replace([], { namespaces: new Set(), namespaceProperties: new Map() });
  }
}

/** The state that the last refresh has read, from which the next one continues. */
interface Known {
  readonly state: VersionState;
  /** Equal for equal states, so that an unchanged store is not loaded again. */
  readonly fingerprint: string;
  readonly tail: LogTail;
}

/**
 * Reads a store while another process has it open for writing, or while none has (docs/storage.md, "A store that others write to").
 * The follower never writes to the folder.
 *
 * 1. Readers see one state of the store: files, memstores and read point are replaced together, in one turn of the event loop.
 * 2. While a writer process has the store open, the follower reads only what that process reports as valid: a length of the
 *    MANIFEST, a length of the log, and a read point. So a refresh shows every write that was acknowledged before it, and no other.
 * 3. Without a writer process the follower shows what the next opening would recover.
 * 4. The writer process keeps the files that the follower reads until the follower releases them or its connection ends.
 */
export class Follower implements ReadCore {
  readonly settings: StoreSettings;
  readonly catalog: FollowedTables;
  readonly reads: StoreReads;
  readonly commits = { readPoint: 0 };
  readonly scanners: ScannerRegistry;
  readonly lifecycle = new Lifecycle();
  private readonly refreshes = new SerialQueue();
  private readonly fileSystem: FileSystem;
  /** Whether a process that writes can be asked. If not, it may write beside this reader unnoticed. */
  private readonly canAsk: boolean;
  private readonly environment: StoreEnvironment;
  private readonly files: FileHandleCache;
  private readonly cache: BlockCache;
  private readonly ledger: FileLedger;
  private readonly pool: ChunkPool;
  private rowClock: RowClock;
  private writer: WriterConnection | undefined;
  private known: Known | undefined;
  private shown: StoreMoment = { time: 0, lastSeq: 0, opener: undefined };
  private released: number[] = [];
  private logBytes = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private threads: ReaderThreads | undefined;
  private waiting: Promise<StoreMoment> | undefined;

  private constructor(
    readonly directory: string,
    files: FileSystem,
    options: EmbeddedOptions,
    private readonly refreshEvery: number | undefined,
  ) {
    this.settings = storeSettings({ ...options, background: 'inline', automatic: false });
    this.canAsk = files.call !== undefined;
    this.fileSystem = withEncryption(files.hold?.(directory) ?? files, options.encryption);
    this.environment = new StoreEnvironment(directory, this.fileSystem, this.settings);
    // Every file stays open: the writer process may unlink it, and an open descriptor can still be read.
    this.files = new FileHandleCache(this.fileSystem, Number.MAX_SAFE_INTEGER);
    this.cache = new BlockCache(this.settings.blockCacheSize);
    this.ledger = new FileLedger(this.environment, this.files, this.cache, (file) =>
      this.released.push(file),
    );
    this.pool = new ChunkPool(this.settings.memstoreFlushSize);
    this.scanners = new ScannerRegistry(this.settings.scannerIdleTimeout);
    this.rowClock = new RowClock(this.settings.clock);
    this.catalog = new FollowedTables(this.lifecycle);
    this.reads = new StoreReads(this.environment, this.commits, this.scanners);
  }

  /**
   * `refreshEvery`: milliseconds between automatic refreshes; undefined for none.
   * @throws RowanError `ERR_NOT_A_STORE`, `ERR_FORMAT_VERSION`; `ERR_TIMEOUT` when the writer process does not answer, `ERR_BUSY`
   *   when it accepts no readers; CorruptionError naming file and offset.
   */
  static async open(
    directory: string,
    options: EmbeddedOptions = {},
    refreshEvery?: number,
  ): Promise<Follower> {
    const files = options.fileSystem ?? new NodeFileSystem();
    const path = files.absolute?.(directory) ?? directory;
    requireStore(files, path);
    const follower = new Follower(path, files, options, refreshEvery);
    try {
      await loadKeys(follower.fileSystem, path);
      await follower.refresh();
    } catch (error) {
      await follower.close();
      throw error;
    }
    follower.refreshLater();
    return follower;
  }

  /** Threads that read files, none of which is started yet; undefined where the store is not on the disk, or a bundle lacks their file. */
  get readerThreads(): ReaderThreads | undefined {
    const setup = workerSetup(this.fileSystem);
    const file = threadFile('rowan-worker');
    if (setup !== undefined && file !== undefined) this.threads ??= new ReaderThreads(file, setup);
    return this.threads;
  }

  get moment(): StoreMoment {
    return this.shown;
  }

  /** Shows the store as it is now, with every write acknowledged before the call. Calls that come while one waits share it. */
  refresh(): Promise<StoreMoment> {
    this.waiting ??= this.refreshes.run(() => {
      this.waiting = undefined;
      return this.lifecycle.track(this.refreshOnce());
    });
    return this.waiting;
  }

  now(): number {
    return this.environment.now();
  }

  /** The error for a write to this store. */
  refusal(what: string): RowanError {
    return this.lifecycle.closed ? closedStore() : readOnlyRefusal(what, this.directory);
  }

  stats(): StoreStats {
    this.lifecycle.checkOpen();
    return storeStats({
      tables: this.catalog.tables(),
      state: this.known!.state,
      openLogBytes: this.logBytes,
      cache: this.cache,
      lastSeq: this.commits.readPoint,
      rowClock: this.rowClock,
      openScanners: this.scanners.size,
    });
  }

  async close(): Promise<void> {
    if (this.lifecycle.closed) return;
    this.lifecycle.end();
    clearTimeout(this.timer);
    this.scanners.cutOffAll();
    this.writer?.close();
    await this.threads?.close();
    await this.lifecycle.ending();
    this.catalog.close();
    this.files.closeAll();
    this.cache.end();
    this.pool.end();
    this.fileSystem.letGo?.();
  }

  private refreshLater(): void {
    if (this.refreshEvery === undefined || this.lifecycle.closed) return;
    this.timer = setTimeout(() => {
      this.refresh()
        .catch((error: RowanError) => {
          if (!this.lifecycle.closed)
            this.environment.emit({ kind: 'backgroundError', work: 'refresh', error });
        })
        .finally(() => this.refreshLater());
    }, this.refreshEvery);
    this.timer.unref();
  }

  private async refreshOnce(): Promise<StoreMoment> {
    for (let left = MAX_TRIES; ; left--) {
      this.lifecycle.checkOpen();
      try {
        await this.refreshState();
        return this.shown;
      } catch (error) {
        // A half-read state is worthless: the next try reads everything from the first byte.
        this.known = undefined;
        // The writer process may have begun to use another key.
        if (left > 0 && isKeyMissing(error)) {
          await loadKeys(this.fileSystem, this.directory);
          continue;
        }
        if (left === 0 || !isTransient(error)) throw error;
        await new Promise((resolve) => setTimeout(resolve, RETRY_DELAY));
      }
    }
  }

  private async refreshState(): Promise<void> {
    if (this.writer?.ended) {
      this.writer = undefined;
      this.known = undefined;
    }
    if (this.writer === undefined) {
      this.writer = await WriterConnection.connect(this.fileSystem, this.directory, ANSWER_TIMEOUT);
      this.known = this.writer === undefined ? this.known : undefined;
    }
    const { writer } = this;
    const time = this.now();
    if (writer === undefined) {
      await this.readAlone(time);
      return;
    }
    const answer = await writer.position(this.releasedFiles());
    await this.readBesideWriter(answer, time);
    const releasedFiles = this.releasedFiles();
    if (releasedFiles.length > 0) writer.release(releasedFiles);
  }

  /** The files released since the last call; each is reported to the writer process once. */
  private releasedFiles(): number[] {
    const { released } = this;
    this.released = [];
    return released;
  }

  /** Reads the state that the writer process reports as valid. */
  private async readBesideWriter(answer: Answer, time: number): Promise<void> {
    const { manifest, log, readPoint, pid } = answer;
    const fingerprint = `${manifest.number} ${manifest.length}`;
    const { known, fileSystem, directory } = this;
    if (known?.fingerprint === fingerprint) {
      await this.applyLog(known.tail, known.state, [...this.catalog.tables()], log, true);
    } else {
      const state = readManifestTo(fileSystem, directory, manifest);
      const tables = await this.load(state, known === undefined);
      const tail = known?.tail ?? new LogTail(fileSystem, directory);
      await this.closingOnFailure(tables, () => this.applyLog(tail, state, tables, log, known !== undefined));
      this.catalog.replace(tables, state);
      this.known = { state, fingerprint, tail };
    }
    this.logBytes = log.length;
    this.show({ time, lastSeq: readPoint, opener: pid });
  }

  /** Reads the state that the next opening would recover. */
  private async readAlone(time: number): Promise<void> {
    const { fileSystem, directory } = this;
    const { manifest } = readCurrent(fileSystem, directory);
    const fingerprint = this.lengths(manifest, this.known?.state);
    // A writer that cannot be asked fills space that its log has in advance: lengths do not show it.
    if (this.canAsk && this.known?.fingerprint === fingerprint) {
      this.show({ ...this.shown, time });
      return;
    }
    const { state } = findStore(fileSystem, directory);
    const tables = await this.load(state, true);
    await this.closingOnFailure(tables, async () => {
      this.rowClock = new RowClock(this.settings.clock);
      this.rowClock.restore(state.clock);
      const replay = new Replay(directory, tables, this.rowClock, state.nextId, state.lastSeq);
      const segments = [...state.walSegments.values()];
      const log = new LogReplay(fileSystem, directory, segments, (record) => replay.apply(record));
      while (log.advance(this.turnBytes)) await this.othersTurn(replay);
      replay.finish();
      // A process that opens the store writes a new MANIFEST before its first change: then what was read here may be outdated.
      if (readCurrent(fileSystem, directory).manifest !== manifest) throw replaced(directory);
      this.logBytes = log.result.closed.at(-1)?.length ?? 0;
      this.catalog.replace(tables, state);
      this.known = {
        state,
        fingerprint: this.lengths(manifest, state),
        tail: new LogTail(fileSystem, directory),
      };
      this.show({ time, lastSeq: replay.lastSeq, opener: undefined });
    });
  }

  /** Lengths of MANIFEST and log segments: they change with everything that a writer process, or its death, leaves behind. */
  private lengths(manifest: number, state: VersionState | undefined): string {
    const names = [manifestFileName(manifest), ...[...(state?.walSegments.keys() ?? [])].map(walFileName)];
    const paths = names.map((name) => joinPath(this.directory, name));
    return paths
      .map((path) => `${path} ${this.fileSystem.exists(path) ? this.fileSystem.fileSize(path) : -1}`)
      .join();
  }

  /** The tables of a state. Unless `anew`, the memstores loaded so far are carried over. */
  private async load(state: VersionState, anew: boolean): Promise<TableState[]> {
    const kept = anew ? undefined : new ReusedMemstores(this.catalog.tables(), this.pool);
    const tables = loadTables(state, this.ledger, this.pool, this.settings.maxCellSize, kept);
    await this.closingOnFailure(tables, () => prepareCodecs(codecsOf(tables)));
    return tables;
  }

  /** Runs `work`, and closes tables that are not published yet when it fails. */
  private async closingOnFailure(tables: readonly TableState[], work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      for (const state of tables) for (const store of state.stores()) store.close();
      throw error;
    }
  }

  /** Applies new records of the log to the memstores. Readers do not see them before the read point is moved. */
  private async applyLog(
    tail: LogTail,
    state: VersionState,
    tables: readonly TableState[],
    end: StorePosition['log'],
    continues: boolean,
  ): Promise<void> {
    if (!continues) {
      this.rowClock = new RowClock(this.settings.clock);
      this.rowClock.restore(state.clock);
    }
    const replay = new Replay(this.directory, tables, this.rowClock, state.nextId, state.lastSeq, continues);
    const apply = (record: WalRecord): void => replay.apply(record);
    for (const _ of tail.read(state.walSegments.values(), end, this.turnBytes, apply))
      await this.othersTurn(replay);
    replay.finish();
  }

  private get turnBytes(): number {
    return bytesOfTurn(this.settings.memstoreLimit);
  }

  /** Lets other work of the process run between two pieces of the log. */
  private async othersTurn(replay: Replay): Promise<void> {
    replay.sortMany();
    await turn();
    this.lifecycle.checkOpen();
  }

  private show(moment: StoreMoment): void {
    this.commits.readPoint = moment.lastSeq;
    this.shown = moment;
  }
}

/** The error for a write to a store that was opened read-only. */
function readOnlyRefusal(what: string, directory: string): RowanError {
  return new RowanError(
    'ERR_READONLY',
    `${what} is a write, and the store in "${directory}" was opened with readOnly. Write in the process that has it open, or ` +
      'close it there and open it without readOnly.',
    { details: { file: directory } },
  );
}

/** Whether a retry may help. The writer process replaces files at any time; real damage shows again on every retry. */
function isTransient(error: unknown): boolean {
  if (!(error instanceof RowanError)) return false;
  return errnoOf(error) === 'ENOENT' || error instanceof CorruptionError || error.code === 'ERR_BUSY';
}

function replaced(directory: string): RowanError {
  return new RowanError(
    'ERR_BUSY',
    `The store in "${directory}" was opened by another process while it was being read. Try again.`,
    {
      retryable: true,
      details: { file: directory },
    },
  );
}

/**
 * Carries the memstores of a follower over to the tables of the next state, so that the log is not read again. A family whose
 * region is the same and was not flushed keeps its memstores as they are; else the cells of its rows that no file has are copied.
 */
class ReusedMemstores implements MemstoreSource {
  private readonly before: ReadonlyMap<number, TableState>;

  constructor(
    before: Iterable<TableState>,
    private readonly pool: ChunkPool,
  ) {
    this.before = new Map([...before].map((state) => [state.id, state]));
  }

  of(region: RegionEntry, family: number, flushedSeq: number): FamilyMemory | undefined {
    const stores = this.sourcesOf(region, family);
    const [only] = stores;
    if (only === undefined) return undefined;
    if (only.region === region.id && only.flushedSeq === flushedSeq) return only.version;
    const active = new Memstore(this.pool);
    for (const store of stores) copyCells(store, active, region, flushedSeq);
    return { active, frozen: [] };
  }

  /** The families of the previous state that may hold rows of the region: of the region itself, else of all regions of its table. */
  private sourcesOf(region: RegionEntry, family: number): FamilyStore[] {
    const regions = this.before.get(region.table)?.regions ?? [];
    const same = regions.filter(({ id }) => id === region.id);
    return (same.length > 0 ? same : regions)
      .flatMap(({ stores }) => stores)
      .filter((store) => store.familyNumber === family);
  }
}

function copyCells(store: FamilyStore, into: Memstore, region: RegionEntry, flushedSeq: number): void {
  const { active, frozen } = store.version;
  for (const memstore of [...frozen, active]) {
    if (memstore.maxSeq <= flushedSeq) continue;
    const cursor = memstore.cursor();
    for (let more = cursor.seekToFirst(); more; more = cursor.next()) {
      if (cursor.seq <= flushedSeq) continue;
      const { key, rowOffset, qualifierOffset, value, valueOffset } = cursor;
      const row = key.subarray(rowOffset, rowOffset + cursor.rowLength);
      if (compareBytes(row, region.startKey) < 0) continue;
      if (region.endKey.length > 0 && compareBytes(row, region.endKey) >= 0) break;
      const qualifier = key.subarray(qualifierOffset, qualifierOffset + cursor.qualifierLength);
      const bytes = value.subarray(valueOffset, valueOffset + cursor.valueLength);
      into.add(row, qualifier, cursor.timestamp, cursor.type, cursor.seq, cursor.ttl, bytes);
    }
  }
}
