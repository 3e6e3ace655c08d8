import { setImmediate as turn } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { prepareCodecs } from '../compression/index.js';
import { RowanError } from '../errors.js';
import type { Compression } from '../table/index.js';
import { threadFile } from '../threads.js';
import type { Archiver } from './archive/archiver.js';
import { InlineExecutor, WorkerExecutor } from './background/executors.js';
import type { JobExecutor } from './background/job.js';
import { BlockCache, FileHandleCache } from './cache.js';
import { RowClock } from './commit/row-clock.js';
import { hasCurrentKey, loadKeys, withEncryption } from './encryption/encrypted-file-system.js';
import { StoreEnvironment } from './environment.js';
import { byAge } from './file/store-file.js';
import { ARCHIVE_FILE, CHECKPOINT_FILE, type DirectoryLock, joinPath, NodeFileSystem } from './fs/index.js';
import { FileLedger } from './ledger/file-ledger.js';
import { Journal, type LogArchive } from './ledger/journal.js';
import { bytesOfTurn, Replay } from './log-replay.js';
import {
  type Edit,
  type FoundStore,
  findStore,
  inspectDirectory,
  isClean,
  Manifest,
  makeDirectory,
  type RegionEntry,
  requireStore,
  type TableEntry,
  type VersionState,
} from './manifest/index.js';
import { ChunkPool } from './memstore/arena.js';
import { type EmbeddedOptions, storeSettings } from './options.js';
import { ReaderThreads, workerSetup } from './parallel/reader-threads.js';
import { type FamilyMemory, FamilyStore, Region } from './region/region.js';
import { StoreCore } from './store-core.js';
import { TableState } from './table-state.js';
import { type LogPlace, LogReplay, type ReplayResult, repairSegment, Wal } from './wal/index.js';

/** Provides memstores for tables that are loaded: a follower carries its own over. */
export interface MemstoreSource {
  /** The memstores of a family of a region, with its writes after `flushedSeq`; undefined to start with an empty one. */
  of(region: RegionEntry, family: number, flushedSeq: number): FamilyMemory | undefined;
}

/**
 * Loads the tables that the MANIFEST names: opens their files for reading, with empty memstores, or those that `memory` provides.
 * `maxCellSize`: bytes of the largest cell that they accept.
 * @throws CorruptionError when a file differs from what was written.
 */
export function loadTables(
  state: VersionState,
  ledger: FileLedger,
  pool: ChunkPool,
  maxCellSize: number,
  memory?: MemstoreSource,
): TableState[] {
  const regionsOf = new Map<number, RegionEntry[]>();
  for (const region of state.regions.values()) {
    const known = regionsOf.get(region.table);
    if (known) known.push(region);
    else regionsOf.set(region.table, [region]);
  }
  return [...state.tables.values()].map((table) => {
    const regions = (regionsOf.get(table.id) ?? [])
      .sort((a, b) => Buffer.compare(a.startKey, b.startKey))
      .map((region) => loadRegion(table, region, ledger, pool, memory));
    return new TableState(
      table.id,
      table.descriptor,
      table.familyNumbers,
      table.enabled,
      regions,
      maxCellSize,
      table.history,
    );
  });
}

function loadRegion(
  table: TableEntry,
  entry: RegionEntry,
  ledger: FileLedger,
  pool: ChunkPool,
  memory: MemstoreSource | undefined,
): Region {
  const stores = table.descriptor.families.map((family) => {
    const number = table.familyNumbers.get(family.name)!;
    const store = entry.stores.get(number);
    const files = [...(store?.files.values() ?? [])]
      .sort(byAge)
      .map((file) => ledger.file(file.number, file.size, file.bulkSeq, family));
    const flushedSeq = store?.flushedSeq ?? -1;
    const kept = memory?.of(entry, number, flushedSeq);
    return new FamilyStore(entry.id, number, family, files, flushedSeq, pool, kept);
  });
  return new Region(entry.id, table.id, entry.startKey, entry.endKey, stores);
}

// — Opening a store: takes its lock, reads its MANIFEST and files, and replays the writes of the log that are in no file yet.

/**
 * Opens the store in `directory`, or creates one in a new or empty folder.
 * @throws RowanError `ERR_LOCKED` when another opener has it, `ERR_NOT_A_STORE`, `ERR_FORMAT_VERSION`, `ERR_UNSUPPORTED`
 * when a codec's package is missing, `ERR_ENCRYPTION` when a key is missing or wrong; CorruptionError naming file and offset. On an error the store is unchanged.
 */
export async function openStore(directory: string, options: EmbeddedOptions = {}): Promise<StoreCore> {
  const settings = storeSettings(options);
  const named = options.fileSystem ?? new NodeFileSystem();
  const path = named.absolute?.(directory) ?? directory;
  // Before the lock, which writes a file: a folder that is not a store is left as it is.
  if (settings.createIfMissing) inspectDirectory(named, path);
  else requireStore(named, path);
  makeDirectory(named, path);
  const fileSystem = withEncryption(named.hold?.(path) ?? named, options.encryption);
  const environment = new StoreEnvironment(path, fileSystem, settings);
  const files = new FileHandleCache(fileSystem, settings.maxOpenFiles);
  let lock: DirectoryLock | undefined;
  let archive: Archiver | undefined;
  let rest: LogPlace | undefined;
  let core: StoreCore;
  try {
    lock = await fileSystem.lock(path);
    await loadKeys(fileSystem, path);
    const read = await readStore(environment, files, settings.automatic ? settings.memstoreLimit : undefined);
    archive = await archiveOf(environment, options.logArchive, read);
    core = openForWriting(environment, lock, read, archive);
    // Nothing else of `read` is needed any longer, least of all the bytes of the log.
    rest = read.rest;
  } catch (error) {
    await archive?.end();
    files.closeAll();
    await lock?.release();
    fileSystem.letGo?.();
    throw error;
  }
  try {
    await archive?.start(core);
    if (rest !== undefined) await replayRest(core, rest);
    beginMaintenance(core);
    await core.readers.open();
    return core;
  } catch (error) {
    await core.close();
    throw error;
  }
}

/** The archive of the log. Its code is loaded only where there is one. */
async function archiveOf(
  environment: StoreEnvironment,
  given: string | null | undefined,
  { found: { state }, lastSeq }: ReadStore,
): Promise<Archiver | undefined> {
  const { fileSystem, directory } = environment;
  if (given === undefined && !fileSystem.exists(joinPath(directory, ARCHIVE_FILE))) return undefined;
  const { openArchive } = await import('./archive/archiver.js');
  return openArchive(environment, given, { state, lastSeq });
}

/** A store as it was found, read completely; nothing in its folder was changed. */
interface ReadStore {
  readonly found: FoundStore;
  readonly files: FileHandleCache;
  readonly cache: BlockCache;
  readonly ledger: FileLedger;
  readonly chunkPool: ChunkPool;
  /** Their memstores hold the writes of the log that are in no file, up to {@link rest}. */
  readonly tables: readonly TableState[];
  readonly rowClock: RowClock;
  /** Of all writes of the log. */
  readonly lastSeq: number;
  readonly log: ReplayResult;
  /** Where the writes of the log begin that are only checked: memory was at its limit there. Undefined when all are in memory. */
  readonly rest: LogPlace | undefined;
}

/**
 * Reads a store and changes nothing.
 * @param memoryLimit bytes of memstores after which writes of the log are only checked; default none
 * @throws RowanError as `openStore`.
 */
export async function readStore(
  environment: StoreEnvironment,
  files: FileHandleCache,
  memoryLimit = Number.POSITIVE_INFINITY,
): Promise<ReadStore> {
  const { fileSystem, directory, settings } = environment;
  const found = findStore(fileSystem, directory);
  const { state } = found;
  const cache = new BlockCache(settings.blockCacheSize);
  const ledger = new FileLedger(environment, files, cache);
  const chunkPool = new ChunkPool(settings.memstoreFlushSize);
  const tables = loadTables(state, ledger, chunkPool, settings.maxCellSize);
  await prepareCodecs(codecsOf(tables));
  const rowClock = new RowClock(settings.clock);
  rowClock.restore(state.clock);
  const replay = new Replay(directory, tables, rowClock, state.nextId, state.lastSeq);
  const segments = [...state.walSegments.values()];
  const log = new LogReplay(fileSystem, directory, segments, (record) => replay.apply(record));
  let rest: LogPlace | undefined;
  while (log.advance(bytesOfTurn(memoryLimit))) {
    if (rest === undefined && replay.bytes >= memoryLimit) {
      rest = log.place;
      replay.checksOnly = true;
    }
    replay.sortMany();
    await turn();
  }
  replay.finish();
  const { lastSeq } = replay;
  return { found, files, cache, ledger, chunkPool, tables, rowClock, lastSeq, log: log.result, rest };
}

/**
 * Replays the writes of the log that had no room in memory. From half of the limit on one memstore after the other is flushed, the largest first, while
 * the log is read on; at the limit the replay waits for that. All of the log was found intact before. If a flush fails, as on a full
 * disk, the remaining writes are kept in memory: they can be read at least.
 */
async function replayRest(core: StoreCore, { segment, records }: LogPlace): Promise<void> {
  const { fileSystem, directory, settings } = core.environment;
  const { walSegments, nextId, lastSeq } = core.journal.manifest.state;
  const replay = new Replay(directory, [...core.catalog.tables()], core.rowClock, nextId, lastSeq);
  // One that is open has later writes, or none yet.
  const segments = [...walSegments.values()].filter(({ closed }) => closed).slice(segment);
  let before = records;
  const log = new LogReplay(fileSystem, directory, segments, (record) => {
    if (--before < 0) replay.apply(record);
  });
  const { memory, maintenance } = core;
  maintenance.recovering = true;
  let limit = settings.memstoreLimit;
  let flushing: Promise<void> | undefined;
  const flushLargest = async (): Promise<void> => {
    const place = memory.bySize()[0]!;
    await maintenance.flushQuietly(place);
    if (place.store.version.frozen.length > 0) limit = Number.POSITIVE_INFINITY;
    flushing = undefined;
  };
  do {
    while (memory.memstores().bytes >= limit / 2) {
      if (flushing === undefined) {
        // It also lets go of memstores, which would stay in memory after their flush.
        replay.finish();
        flushing = flushLargest();
      }
      if (memory.memstores().bytes < limit) break;
      await flushing;
    }
    replay.sortMany();
    await turn();
  } while (log.advance(bytesOfTurn(settings.memstoreLimit)));
  await flushing;
  replay.finish();
  maintenance.recovering = false;
}

/** Requests the work that was left undone when the store was closed. */
function beginMaintenance({ maintenance, throttle, catalog }: StoreCore): void {
  // Otherwise a store that is opened often and written rarely would accumulate segments to replay.
  maintenance.requestLogCollection();
  throttle.opened([...catalog.tables()].flatMap(({ regions }) => regions));
  maintenance.allFilesChanged(catalog.tables());
}

/** The codecs that reading and writing need: files keep the codec they were written with when the family's codec changes. */
export function codecsOf(tables: readonly TableState[]): Set<Compression> {
  const names = new Set<Compression>();
  for (const table of tables) {
    for (const { descriptor, version } of table.stores()) {
      names.add(descriptor.compression);
      for (const { reader } of version.files) names.add(reader.meta.compression);
    }
  }
  return names;
}

/**
 * Opens for writing. Everything was read and is intact, so only the disk can fail from here on. A store that was closed completely is
 * not written to before its first change.
 */
function openForWriting(
  environment: StoreEnvironment,
  lock: DirectoryLock,
  read: ReadStore,
  archive: LogArchive | undefined,
): StoreCore {
  const { fileSystem, directory, settings } = environment;
  const { log, ...parts } = read;
  const { found, ledger, rowClock, lastSeq } = parts;
  const counters: Edit = { type: 'counters', lastSeq, clock: rowClock.highest };
  const clean = isClean(found) && hasCurrentKey(fileSystem, directory, found.manifest);
  const manifest = clean
    ? Manifest.resume(fileSystem, directory, found, counters)
    : beginManifest(environment, found, counters, log);
  const wal = Wal.withoutSegment(fileSystem, directory, found.nextNumber, {
    segmentSize: settings.walSegmentSize,
    preparedSize: settings.walPreparedSize,
  });
  try {
    const journal = new Journal(wal, manifest, rowClock, archive);
    if (!clean) {
      journal.begin();
      removeCheckpointMark(environment);
    }
    ledger.start(journal);
    const workers = workersOf(environment);
    const core = new StoreCore({ ...parts, environment, lock, journal, ...workers });
    const { highest } = rowClock;
    const milliseconds = highest - settings.clock();
    if (milliseconds > settings.maxClockSkew)
      environment.emit({ kind: 'clockAhead', clock: highest, milliseconds });
    return core;
  } catch (error) {
    wal.abandon();
    manifest.abandon();
    throw error;
  }
}

/** Repairs what a crash has left behind, and records the state in a new MANIFEST. */
function beginManifest(
  { fileSystem, directory }: StoreEnvironment,
  found: FoundStore,
  counters: Edit,
  { closed, repairs }: ReplayResult,
): Manifest {
  for (const each of repairs) repairSegment(fileSystem, directory, each);
  const edits = closed.map((segment): Edit => ({ type: 'walClosed', ...segment }));
  return Manifest.begin(fileSystem, directory, found, [counters, ...edits]);
}

/** Removes the mark of a checkpoint that was complete when it was interrupted. */
function removeCheckpointMark({ fileSystem, directory }: StoreEnvironment): void {
  const mark = joinPath(directory, CHECKPOINT_FILE);
  if (fileSystem.exists(mark)) fileSystem.unlink(mark);
}

/** The executors of a store's worker threads; none is started yet. Two of them, so that a long compaction never delays a flush, on which writers may wait. */
interface StoreWorkers {
  readonly flushExecutor: JobExecutor;
  readonly compactionExecutor: JobExecutor;
  readonly readerThreads: ReaderThreads | undefined;
}

function workersOf(environment: StoreEnvironment): StoreWorkers {
  const { fileSystem, settings } = environment;
  const inline = (): InlineExecutor => new InlineExecutor(fileSystem);
  const setup = workerSetup(fileSystem);
  const none = (): StoreWorkers => ({
    flushExecutor: inline(),
    compactionExecutor: inline(),
    readerThreads: undefined,
  });
  if (settings.background !== 'worker' || setup === undefined) return none();
  const reported = { already: false };
  const report = (error: RowanError): void => {
    if (!reported.already) environment.emit({ kind: 'inlineWork', error });
    reported.already = true;
  };
  const { workerPath } = settings;
  const file = workerPath === undefined ? threadFile('rowan-worker') : pathToFileURL(workerPath);
  if (file === undefined) {
    report(
      new RowanError(
        'ERR_IO',
        'The file of the worker was not found, so flushes and compactions run in the calling thread, in small steps. Bundle ' +
          'rowan-orm/worker as rowan-worker.js beside the program, give workerPath, or set background: "inline".',
      ),
    );
    return none();
  }
  const executor = (): WorkerExecutor => new WorkerExecutor(file, setup, inline(), report);
  return {
    flushExecutor: executor(),
    compactionExecutor: executor(),
    readerThreads: new ReaderThreads(file, setup),
  };
}
