/**
 * A store that is read beside the process that has it open, or without one (docs/storage.md, "A store that others write to").
 * Nothing of it is written.
 *
 * - What is seen is one moment of the store: files, memory and read point change in one turn of the event loop.
 * - Beside an opener it goes by what that vouches for: bytes of MANIFEST and log, and the read point. So it sees every write that
 *   was acknowledged before it looked, and no other.
 * - Without one it sees what the next opener would find.
 * - The opener keeps the files that it goes by, for as long as the connection lasts.
 */

import { prepareCodecs } from '../../compression/index.js';
import { CorruptionError, RowanError } from '../../errors.js';
import { BlockCache, FileHandleCache } from '../cache/index.js';
import { RowClock } from '../commit/row-clock.js';
import { StoreEnvironment } from '../environment.js';
import {
  errnoOf,
  type FileSystem,
  joinPath,
  manifestFileName,
  NodeFileSystem,
  walFileName,
} from '../fs/index.js';
import { FileLedger } from '../ledger/file-ledger.js';
import { closedStore, Lifecycle, SerialQueue } from '../lifecycle.js';
import { Replay } from '../log-replay.js';
import {
  findStore,
  inspectDirectory,
  readCurrent,
  readManifestTo,
  type VersionState,
} from '../manifest/index.js';
import { ChunkPool } from '../memstore/arena.js';
import { type EmbeddedOptions, type StoreSettings, storeSettings } from '../options.js';
import type { ReadCore } from '../read/read-table.js';
import { ScannerRegistry } from '../read/scanner-registry.js';
import { StoreReads } from '../read/store-reads.js';
import { codecsOf, loadTables, noStore } from '../recovery.js';
import { type StoreStats, storeStats } from '../stats.js';
import { type StoredNamespaces, StoredTables } from '../stored-tables.js';
import type { TableState } from '../table-state.js';
import { replayWal, type WalRecord } from '../wal/index.js';
import { KeptCells } from './kept-cells.js';
import type { Answer, Moment } from './lines.js';
import { LogTail } from './log-tail.js';
import { OpenerCall } from './opener-call.js';

/** How often a look is begun again when files were replaced under it. */
const TRIES = 40;
/** Milliseconds between two of them. */
const PAUSE = 25;
/** Milliseconds in which an opener answers. */
const PATIENCE = 10_000;

/** What a read-only store shows. */
export interface StoreMoment {
  /** When it was looked at: milliseconds since 1970, of this process. */
  readonly time: number;
  /** The number of the last write that it shows. */
  readonly lastSeq: number;
  /** The process that has the store open; undefined: none had. */
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

/** What was read of the store last, from which the next look goes on. */
interface Known {
  readonly state: VersionState;
  /** By which the same state is known again. */
  readonly mark: string;
  readonly tail: LogTail;
}

export class Follower implements ReadCore {
  readonly settings: StoreSettings;
  readonly catalog: FollowedTables;
  readonly reads: StoreReads;
  readonly commits = { readPoint: 0 };
  readonly scanners: ScannerRegistry;
  readonly lifecycle = new Lifecycle();
  private readonly looks = new SerialQueue();
  private readonly fileSystem: FileSystem;
  private readonly environment: StoreEnvironment;
  private readonly files: FileHandleCache;
  private readonly cache: BlockCache;
  private readonly ledger: FileLedger;
  private readonly pool: ChunkPool;
  private rowClock: RowClock;
  private opener: OpenerCall | undefined;
  private known: Known | undefined;
  private shown: StoreMoment = { time: 0, lastSeq: 0, opener: undefined };
  private unused: number[] = [];
  private logBytes = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private waiting: Promise<StoreMoment> | undefined;

  private constructor(
    readonly directory: string,
    files: FileSystem,
    options: EmbeddedOptions,
    private readonly refreshEvery: number | undefined,
  ) {
    this.settings = storeSettings({ ...options, background: 'inline', automatic: false });
    this.fileSystem = files.hold?.(directory) ?? files;
    this.environment = new StoreEnvironment(directory, this.fileSystem, this.settings);
    // Each file stays open: what others remove can be read on by who has it open.
    this.files = new FileHandleCache(this.fileSystem, Number.MAX_SAFE_INTEGER);
    this.cache = new BlockCache(this.settings.blockCacheSize);
    this.ledger = new FileLedger(this.environment, this.files, this.cache, (file) => this.unused.push(file));
    this.pool = new ChunkPool(this.settings.memstoreFlushSize);
    this.scanners = new ScannerRegistry(this.settings.scannerIdleTimeout);
    this.rowClock = new RowClock(this.settings.clock);
    this.catalog = new FollowedTables(this.lifecycle);
    this.reads = new StoreReads(this.environment, this.commits, this.scanners);
  }

  /**
   * `refreshEvery`: milliseconds after which it looks again by itself; undefined: only when asked.
   * @throws RowanError `ERR_NOT_A_STORE`, `ERR_FORMAT_VERSION`, `ERR_TIMEOUT` and `ERR_BUSY` when an opener does not answer, or receives
   *   no readers; CorruptionError naming
   *   file and offset.
   */
  static async open(
    directory: string,
    options: EmbeddedOptions = {},
    refreshEvery?: number,
  ): Promise<Follower> {
    const files = options.fileSystem ?? new NodeFileSystem();
    const path = files.absolute?.(directory) ?? directory;
    if (inspectDirectory(files, path) === 'new') throw noStore(path);
    const follower = new Follower(path, files, options, refreshEvery);
    try {
      await follower.refresh();
    } catch (error) {
      await follower.close();
      throw error;
    }
    follower.refreshLater();
    return follower;
  }

  get moment(): StoreMoment {
    return this.shown;
  }

  /** Shows the store as it is now, every write included that was acknowledged before the call. Calls of one moment share a look. */
  refresh(): Promise<StoreMoment> {
    this.waiting ??= this.looks.run(() => {
      this.waiting = undefined;
      return this.lifecycle.track(this.refreshOnce());
    });
    return this.waiting;
  }

  now(): number {
    return this.environment.now();
  }

  /** What is answered to whoever wants to write. */
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
    this.opener?.close();
    await this.lifecycle.ending();
    this.catalog.close();
    this.files.closeAll();
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
    for (let left = TRIES; ; left--) {
      this.lifecycle.checkOpen();
      try {
        await this.look();
        return this.shown;
      } catch (error) {
        // What was begun is begun anew, from the first byte on.
        this.known = undefined;
        if (left === 0 || !isPassing(error)) throw error;
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
      }
    }
  }

  private async look(): Promise<void> {
    if (this.opener?.ended) {
      this.opener = undefined;
      this.known = undefined;
    }
    if (this.opener === undefined) {
      this.opener = await OpenerCall.make(this.fileSystem, this.directory, PATIENCE);
      this.known = this.opener === undefined ? this.known : undefined;
    }
    const { opener } = this;
    const time = this.now();
    if (opener === undefined) {
      await this.lookAlone(time);
      return;
    }
    const answer = await opener.look(this.freed());
    await this.lookBeside(answer, time);
    const freed = this.freed();
    if (freed.length > 0) opener.free(freed);
  }

  /** Files that were let go of, each told once. */
  private freed(): number[] {
    const { unused } = this;
    this.unused = [];
    return unused;
  }

  /** As the opener vouches for it. */
  private async lookBeside(answer: Answer, time: number): Promise<void> {
    const { manifest, log, readPoint, pid } = answer;
    const mark = `${manifest.number} ${manifest.length}`;
    const { known, fileSystem, directory } = this;
    if (known?.mark === mark) {
      this.take(known.tail, known.state, [...this.catalog.tables()], log, true);
    } else {
      const state = readManifestTo(fileSystem, directory, manifest);
      const tables = await this.load(state, known === undefined);
      const tail = known?.tail ?? new LogTail(fileSystem, directory);
      await this.closedUnless(tables, async () => this.take(tail, state, tables, log, known !== undefined));
      this.catalog.replace(tables, state);
      this.known = { state, mark, tail };
    }
    this.logBytes = log.length;
    this.show({ time, lastSeq: readPoint, opener: pid });
  }

  /** As the next opener would find it. */
  private async lookAlone(time: number): Promise<void> {
    const { fileSystem, directory } = this;
    const { manifest } = readCurrent(fileSystem, directory);
    const mark = this.sizes(manifest, this.known?.state);
    if (this.known?.mark === mark) {
      this.show({ ...this.shown, time });
      return;
    }
    const { state } = findStore(fileSystem, directory);
    const tables = await this.load(state, true);
    await this.closedUnless(tables, async () => {
      this.rowClock = new RowClock(this.settings.clock);
      this.rowClock.restore(state.clock);
      const replay = new Replay(directory, tables, this.rowClock, state.nextId, state.lastSeq);
      const segments = [...state.walSegments.values()];
      const log = replayWal(fileSystem, directory, segments, (record) => replay.take(record), {
        repair: false,
      });
      replay.finish();
      // An opener begins with another MANIFEST, before it writes anything.
      if (readCurrent(fileSystem, directory).manifest !== manifest) throw replaced(directory);
      this.logBytes = log.closed.at(-1)?.length ?? 0;
      this.catalog.replace(tables, state);
      this.known = { state, mark: this.sizes(manifest, state), tail: new LogTail(fileSystem, directory) };
      this.show({ time, lastSeq: replay.lastSeq, opener: undefined });
    });
  }

  /** Changes with everything that an opener or its death leaves behind. */
  private sizes(manifest: number, state: VersionState | undefined): string {
    const names = [manifestFileName(manifest), ...[...(state?.walSegments.keys() ?? [])].map(walFileName)];
    const paths = names.map((name) => joinPath(this.directory, name));
    return paths
      .map((path) => `${path} ${this.fileSystem.exists(path) ? this.fileSystem.fileSize(path) : -1}`)
      .join();
  }

  /** The tables of a state, with what is in memory of them unless they are loaded anew. */
  private async load(state: VersionState, anew: boolean): Promise<TableState[]> {
    const kept = anew ? undefined : new KeptCells(this.catalog.tables(), this.pool);
    const tables = loadTables(state, this.ledger, this.pool, this.settings.maxCellSize, kept);
    await this.closedUnless(tables, () => prepareCodecs(codecsOf(tables)));
    return tables;
  }

  /** Lets go of tables that nobody has seen when `work` fails. */
  private async closedUnless(tables: readonly TableState[], work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      for (const state of tables) for (const store of state.stores()) store.close();
      throw error;
    }
  }

  /** Puts what is new in the log into the memory of tables. Nobody sees it before the read point reaches it. */
  private take(
    tail: LogTail,
    state: VersionState,
    tables: readonly TableState[],
    end: Moment['log'],
    goesOn: boolean,
  ): void {
    if (!goesOn) {
      this.rowClock = new RowClock(this.settings.clock);
      this.rowClock.restore(state.clock);
    }
    const replay = new Replay(this.directory, tables, this.rowClock, state.nextId, state.lastSeq, goesOn);
    tail.read(state.walSegments.values(), end, (record: WalRecord) => replay.take(record));
    replay.finish();
  }

  private show(moment: StoreMoment): void {
    this.commits.readPoint = moment.lastSeq;
    this.shown = moment;
  }
}

/** What is refused of a store that was opened to be read. */
function readOnlyRefusal(what: string, directory: string): RowanError {
  return new RowanError(
    'ERR_READONLY',
    `${what} is a write, and the store in "${directory}" was opened with readOnly. Write in the process that has it open, or ` +
      'close it there and open it without readOnly.',
    { details: { file: directory } },
  );
}

/** Whoever has the store open replaces its files at any time; what is wrong for good is so every time. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof RowanError)) return false;
  return errnoOf(error) === 'ENOENT' || error instanceof CorruptionError || error.code === 'ERR_BUSY';
}

function replaced(directory: string): RowanError {
  return new RowanError(
    'ERR_BUSY',
    `The store in "${directory}" was opened while it was looked at. Try again.`,
    {
      retryable: true,
      details: { file: directory },
    },
  );
}
