/** Opening a store: its lock, its manifest, its files, and the writes of the log that are in no file yet. */

import { CorruptionError } from '../errors.js';
import { InlineExecutor, WorkerExecutor, workerFile } from './background/executors.js';
import type { JobExecutor } from './background/job.js';
import { BlockCache, FileHandleCache } from './cache/index.js';
import { prepareCodecs, prepareInstalledCodecs } from './codec/index.js';
import { type DirectoryLock, type FileSystem, NodeFileSystem } from './fs/index.js';
import { inspectDirectory, Manifest, makeDirectory } from './manifest/index.js';
import { type EmbeddedOptions, type StoreSettings, storeSettings } from './options.js';
import { CLOCK_TABLE, readWriteRecord, type WriteRecordSink } from './record/write-record.js';
import { regionOf } from './region/region.js';
import { StoreCore } from './store-core.js';
import type { TableState } from './table-state.js';
import { replayWal, Wal, type WalRecord } from './wal/index.js';

/**
 * Opens the store in `directory`, or makes one in a new or empty folder.
 * @throws RowanError `ERR_LOCKED` when another opener has it, `ERR_NOT_A_STORE`, `ERR_FORMAT_VERSION`, `ERR_UNSUPPORTED`
 * when a codec's package is missing; CorruptionError naming file and offset. The store is as it was then.
 */
export async function openStore(directory: string, options: EmbeddedOptions = {}): Promise<StoreCore> {
  const settings = storeSettings(options);
  const fileSystem = options.fileSystem ?? new NodeFileSystem();
  // Before the lock, which writes a file: a folder that is no store is left as it is.
  inspectDirectory(fileSystem, directory);
  makeDirectory(fileSystem, directory);
  const lock = await fileSystem.lock(directory);
  try {
    return await open(directory, fileSystem, settings, lock);
  } catch (error) {
    await lock.release();
    throw error;
  }
}

async function open(
  directory: string,
  fileSystem: FileSystem,
  settings: StoreSettings,
  lock: DirectoryLock,
): Promise<StoreCore> {
  const manifest = Manifest.open(fileSystem, directory);
  let wal: Wal | undefined;
  const files = new FileHandleCache(fileSystem, settings.maxOpenFiles);
  try {
    const { state } = manifest;
    const tables = [...state.tables.values()];
    await prepareCodecs(
      tables.flatMap(({ descriptor }) => descriptor.families.map((family) => family.compression)),
    );
    const number = state.nextFile;
    wal = Wal.create(fileSystem, directory, number, { segmentSize: settings.walSegmentSize });
    const [flushExecutor, compactionExecutor] = executors(fileSystem, settings);
    const core = new StoreCore({
      directory,
      fileSystem,
      settings,
      lock,
      manifest,
      wal,
      lastSeq: state.lastSeq,
      files,
      cache: new BlockCache(settings.blockCacheSize),
      flushExecutor,
      compactionExecutor,
    });
    await prepareInstalledCodecs();
    for (const table of tables) {
      core.catalog.load(
        table,
        [...state.regions.values()].filter((region) => region.table === table.id),
      );
    }
    const segments = [...state.walSegments.values()];
    const replay = new Replay(core, state.lastSeq);
    const { closed } = replayWal(fileSystem, directory, segments, (record) => replay.take(record));
    manifest.log([
      ...(closed ? [{ type: 'walClosed' as const, ...closed }] : []),
      { type: 'walAdd', number },
      { type: 'counters', lastSeq: replay.lastSeq, clock: core.rowClock.highest },
    ]);
    core.commits.recovered(replay.lastSeq);
    // Else a store that is opened often and written to little would replay ever more segments.
    core.maintenance.requestLogCollection();
    return core;
  } catch (error) {
    files.closeAll();
    wal?.abandon();
    manifest.abandon();
    throw error;
  }
}

/** Two, so that a long compaction never keeps a flush, and with it writers, waiting. */
function executors(fileSystem: FileSystem, settings: StoreSettings): [JobExecutor, JobExecutor] {
  const worker =
    settings.background === 'worker' && fileSystem instanceof NodeFileSystem ? workerFile() : undefined;
  if (worker) return [new WorkerExecutor(worker), new WorkerExecutor(worker)];
  return [new InlineExecutor(fileSystem), new InlineExecutor(fileSystem)];
}

/** Puts the writes of the log into the memstores of the tables they belong to. */
class Replay implements WriteRecordSink {
  private firstSeq = 0;
  private table: TableState | undefined;
  private readonly families = new Map<number, Map<number, string>>();

  constructor(
    private readonly core: StoreCore,
    /** The greatest number seen. */
    public lastSeq: number,
  ) {}

  take(record: WalRecord): void {
    this.firstSeq = record.firstSeq;
    let mutations: number;
    try {
      mutations = readWriteRecord(
        record.payload.subarray(record.offset, record.offset + record.length),
        this,
      );
    } catch (cause) {
      throw new CorruptionError(
        `The record at ${record.fileOffset} of log segment ${record.segment} has a right checksum but wrong content. ` +
          'Restore the store from a copy, and report this.',
        { cause, details: { offset: record.fileOffset, segment: record.segment } },
      );
    }
    this.lastSeq = Math.max(this.lastSeq, record.firstSeq + mutations - 1);
  }

  cell(
    mutation: number,
    tableId: number,
    row: Uint8Array,
    familyNumber: number,
    qualifier: Uint8Array,
    timestamp: number,
    type: number,
    ttl: number,
    value: Uint8Array,
  ): void {
    if (tableId === CLOCK_TABLE) {
      this.core.rowClock.restore(timestamp);
      return;
    }
    if (this.table?.id !== tableId) this.table = this.core.catalog.byNumber(tableId);
    // A table or family that was deleted after the write.
    const family = this.table && this.familyName(this.table, familyNumber);
    if (!this.table || family === undefined) return;
    const store = regionOf(this.table.regions, row).byFamily.get(family)!;
    const seq = this.firstSeq + mutation;
    if (seq > store.flushedSeq) store.version.active.add(row, qualifier, timestamp, type, seq, ttl, value);
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
