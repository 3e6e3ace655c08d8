import { pathToFileURL } from 'node:url';
import { prepareCodecs } from '../compression/index.js';
import { CorruptionError, RowanError } from '../errors.js';
import type { Compression } from '../table/index.js';
import { threadFile } from '../threads.js';
import { InlineExecutor, WorkerExecutor } from './background/executors.js';
import type { JobExecutor } from './background/job.js';
import { BlockCache, FileHandleCache } from './cache/index.js';
import { RowClock } from './commit/row-clock.js';
import {
  CLOCK_TABLE,
  type RecordedCell,
  WriteRecordReader,
  type WriteRecordSink,
} from './commit/write-record.js';
import { StoreEnvironment } from './environment.js';
import { CHECKPOINT_FILE, type DirectoryLock, joinPath, NodeFileSystem, walFileName } from './fs/index.js';
import { FileLedger } from './ledger/file-ledger.js';
import { Journal } from './ledger/journal.js';
import {
  type Edit,
  type FoundStore,
  findStore,
  inspectDirectory,
  Manifest,
  makeDirectory,
  type RegionEntry,
  type TableEntry,
  type VersionState,
} from './manifest/index.js';
import { ChunkPool } from './memstore/arena.js';
import type { Memstore } from './memstore/memstore.js';
import { type EmbeddedOptions, storeSettings } from './options.js';
import { FamilyStore } from './region/family-store.js';
import { Region, regionOf } from './region/region.js';
import { StoreCore } from './store-core.js';
import { TableState } from './table-state.js';
import { type ReplayResult, repairSegment, replayWal, Wal, type WalRecord } from './wal/index.js';

/** The tables that the MANIFEST names, with their files open for reading and nothing in memory yet. */

/** `maxCellSize`: bytes of the largest cell that they take. @throws CorruptionError when a file is not what was written. */
export function loadTables(
  state: VersionState,
  ledger: FileLedger,
  pool: ChunkPool,
  maxCellSize: number,
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
      .map((region) => loadRegion(table, region, ledger, pool));
    return new TableState(
      table.id,
      table.descriptor,
      table.familyNumbers,
      table.enabled,
      regions,
      maxCellSize,
    );
  });
}

function loadRegion(table: TableEntry, entry: RegionEntry, ledger: FileLedger, pool: ChunkPool): Region {
  const stores = table.descriptor.families.map((family) => {
    const number = table.familyNumbers.get(family.name)!;
    const store = entry.stores.get(number);
    const files = [...(store?.files.values() ?? [])]
      .sort((a, b) => (a.bulkSeq ?? a.maxSeq) - (b.bulkSeq ?? b.maxSeq) || a.number - b.number)
      .map((file) => ledger.file(file.number, file.size, file.bulkSeq, family));
    return new FamilyStore(entry.id, number, family, files, store?.flushedSeq ?? -1, pool);
  });
  return new Region(entry.id, table.id, entry.startKey, entry.endKey, stores);
}

/** Opening a store: its lock, its manifest, its files, and the writes of the log that are in no file yet. */

/**
 * Opens the store in `directory`, or makes one in a new or empty folder.
 * @throws RowanError `ERR_LOCKED` when another opener has it, `ERR_NOT_A_STORE`, `ERR_FORMAT_VERSION`, `ERR_UNSUPPORTED`
 * when a codec's package is missing; CorruptionError naming file and offset. The store is as it was then.
 */
export async function openStore(directory: string, options: EmbeddedOptions = {}): Promise<StoreCore> {
  const settings = storeSettings(options);
  const named = options.fileSystem ?? new NodeFileSystem();
  const path = named.absolute?.(directory) ?? directory;
  // Before the lock, which writes a file: a folder that is no store is left as it is.
  if (inspectDirectory(named, path) === 'new' && !settings.createIfMissing) throw noStore(path);
  makeDirectory(named, path);
  const fileSystem = named.hold?.(path) ?? named;
  const environment = new StoreEnvironment(path, fileSystem, settings);
  const files = new FileHandleCache(fileSystem, settings.maxOpenFiles);
  let lock: DirectoryLock | undefined;
  try {
    lock = await fileSystem.lock(path);
    return begin(environment, lock, await readStore(environment, files));
  } catch (error) {
    files.closeAll();
    await lock?.release();
    fileSystem.letGo?.();
    throw error;
  }
}

/** The refusal to look into a folder that has no store. */
export function noStore(path: string): RowanError {
  return new RowanError(
    'ERR_NOT_A_STORE',
    `There is no store in "${path}". Look at the path: nothing was made there.`,
    { details: { file: path } },
  );
}

/** A store as it was found: read whole, and nothing in its folder changed. */
export interface ReadStore {
  readonly found: FoundStore;
  readonly files: FileHandleCache;
  readonly cache: BlockCache;
  readonly ledger: FileLedger;
  readonly chunkPool: ChunkPool;
  /** With the writes of the log that are in no file in their memstores. */
  readonly tables: readonly TableState[];
  readonly rowClock: RowClock;
  readonly lastSeq: number;
  readonly log: ReplayResult;
}

/**
 * Reads a store and changes nothing.
 * @throws RowanError as `openStore`.
 */
export async function readStore(environment: StoreEnvironment, files: FileHandleCache): Promise<ReadStore> {
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
  const log = replayWal(fileSystem, directory, segments, (record) => replay.take(record), { repair: false });
  replay.finish();
  return { found, files, cache, ledger, chunkPool, tables, rowClock, lastSeq: replay.lastSeq, log };
}

/** Those that writing and reading take: files keep the codec they were written with after their family was given another. */
function codecsOf(tables: readonly TableState[]): Set<Compression> {
  const names = new Set<Compression>();
  for (const table of tables) {
    for (const { descriptor, version } of table.stores()) {
      names.add(descriptor.compression);
      for (const { reader } of version.files) names.add(reader.meta.compression);
    }
  }
  return names;
}

/** Goes on where the store was left. Everything was read and found sound: what fails from here on is the disk. */
function begin(environment: StoreEnvironment, lock: DirectoryLock, read: ReadStore): StoreCore {
  const { fileSystem, directory, settings } = environment;
  // The log was read whole: nobody is to hold it from here on.
  const { log, ...parts } = read;
  const { found, ledger, rowClock, lastSeq } = parts;
  const { closed, repairs } = log;
  for (const each of repairs) repairSegment(fileSystem, directory, each);
  const edits: Edit[] = [{ type: 'counters', lastSeq, clock: rowClock.highest }];
  for (const segment of closed) edits.push({ type: 'walClosed', ...segment });
  const manifest = Manifest.begin(fileSystem, directory, found, edits);
  let wal: Wal | undefined;
  try {
    const number = manifest.newFileNumber();
    wal = Wal.create(fileSystem, directory, number, {
      segmentSize: settings.walSegmentSize,
      preparedSize: settings.walPreparedSize,
    });
    manifest.log([{ type: 'walAdd', number }]);
    removeMark(environment);
    const journal = new Journal(wal, manifest, rowClock);
    ledger.start(journal);
    const [flushExecutor, compactionExecutor] = executors(environment);
    const core = new StoreCore({ ...parts, environment, lock, journal, flushExecutor, compactionExecutor });
    // Else a store that is opened often and written to little would replay ever more segments.
    core.maintenance.requestLogCollection();
    core.maintenance.allFilesChanged(core.catalog.tables());
    const { highest } = rowClock;
    const milliseconds = highest - settings.clock();
    if (milliseconds > settings.maxClockSkew)
      environment.emit({ kind: 'clockAhead', clock: highest, milliseconds });
    return core;
  } catch (error) {
    wal?.abandon();
    manifest.abandon();
    throw error;
  }
}

/** A checkpoint that was cut short when it was whole still has it. */
function removeMark({ fileSystem, directory }: StoreEnvironment): void {
  const mark = joinPath(directory, CHECKPOINT_FILE);
  if (fileSystem.exists(mark)) fileSystem.unlink(mark);
}

/** Two, so that a long compaction never keeps a flush, and with it writers, waiting. */
function executors(environment: StoreEnvironment): [JobExecutor, JobExecutor] {
  const { fileSystem, settings } = environment;
  const inline = (): InlineExecutor => new InlineExecutor(fileSystem);
  if (settings.background !== 'worker' || !(fileSystem instanceof NodeFileSystem))
    return [inline(), inline()];
  const told = { already: false };
  const tell = (error: RowanError): void => {
    if (!told.already) environment.emit({ kind: 'inlineWork', error });
    told.already = true;
  };
  const { workerPath } = settings;
  const file = workerPath === undefined ? threadFile('rowan-worker') : pathToFileURL(workerPath);
  if (file === undefined) {
    tell(
      new RowanError(
        'ERR_IO',
        'The file of the worker was not found, so flushes and compactions run in the calling thread, in small steps. Bundle ' +
          'rowan-orm/worker as rowan-worker.js beside the program, give workerPath, or set background: "inline".',
      ),
    );
    return [inline(), inline()];
  }
  const executor = (): WorkerExecutor => new WorkerExecutor(file, fileSystem.held, inline(), tell);
  return [executor(), executor()];
}

/** Puts the writes of the log into the memstores of the tables they belong to. */
class Replay implements WriteRecordSink {
  private firstSeq = 0;
  private table: TableState | undefined;
  private readonly families = new Map<number, Map<number, string>>();

  private readonly tables: ReadonlyMap<number, TableState>;
  private unknown = false;
  private readonly reader = new WriteRecordReader();
  /** Of the last cell. */
  private tableId = 0;
  private family = 0;
  private store: FamilyStore | undefined;
  /** It takes every row of its table. */
  private alone = false;
  private readonly filled = new Set<Memstore>();

  constructor(
    private readonly directory: string,
    tables: readonly TableState[],
    private readonly rowClock: RowClock,
    /** The first number that no table or family has been given yet. */
    private readonly nextId: number,
    /** The greatest number seen. */
    public lastSeq: number,
  ) {
    this.tables = new Map(tables.map((table) => [table.id, table]));
  }

  /** @throws CorruptionError when the record is of another making, or of a table that was never made. */
  take(record: WalRecord): void {
    this.firstSeq = record.firstSeq;
    let mutations: number;
    try {
      const { payload, offset, length } = record;
      mutations = this.reader.read(payload, this, offset, offset + length);
    } catch (cause) {
      throw this.corruption(
        record,
        'has a right checksum but wrong content. Nothing was changed. Restore the store from a copy, and report this.',
        cause,
      );
    }
    if (this.unknown) {
      throw this.corruption(
        record,
        'is of a table or family that the MANIFEST never named: the MANIFEST has lost its end. Nothing was changed. ' +
          'Restore the store from a copy, or save what is sound with `rowan store repair`.',
      );
    }
    this.lastSeq = Math.max(this.lastSeq, record.firstSeq + mutations - 1);
  }

  /** All records were taken. */
  finish(): void {
    for (const memstore of this.filled) memstore.settle();
  }

  private corruption(record: WalRecord, what: string, cause?: unknown): CorruptionError {
    const file = joinPath(this.directory, walFileName(record.segment));
    return new CorruptionError(`The record at byte ${record.fileOffset} of the log "${file}" ${what}`, {
      cause,
      details: { file, offset: record.fileOffset },
    });
  }

  cell(cell: RecordedCell): void {
    const { table, family } = cell;
    if (table === CLOCK_TABLE) {
      this.rowClock.restore(cell.timestamp);
      return;
    }
    // The cells of a row come one after the other, and mostly all of one family.
    const sameStore = family === this.family && table === this.tableId;
    const sameRow = sameStore && cell.sameRow;
    if (!sameRow && !(sameStore && this.alone)) {
      this.tableId = table;
      this.family = family;
      this.store = this.storeOf(table, cell);
    }
    const { store } = this;
    const seq = this.firstSeq + cell.mutation;
    if (store === undefined || seq <= store.flushedSeq) return;
    const { active } = store.version;
    if (active.load(cell, seq, sameRow)) this.filled.add(active);
  }

  /** Where a cell goes; undefined for a table or family that was deleted after the write. */
  private storeOf(tableId: number, cell: RecordedCell): FamilyStore | undefined {
    this.alone = false;
    if (this.table?.id !== tableId) this.table = this.tables.get(tableId);
    this.unknown ||= tableId >= this.nextId || cell.family >= this.nextId;
    const family = this.table && this.familyName(this.table, cell.family);
    if (!this.table || family === undefined) return undefined;
    const { regions } = this.table;
    this.alone = regions.length === 1;
    return regionOf(regions, cell.row).byFamily.get(family);
  }

  private familyName(table: TableState, number: number): string | undefined {
    let names = this.families.get(table.id);
    if (!names) {
      names = new Map([...table.familyNumbers].map(([name, id]) => [id, name]));
      this.families.set(table.id, names);
    }
    return names.get(number);
  }
}
