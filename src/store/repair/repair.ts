/**
 * Repairs a store that cannot be opened, by keeping everything that is intact. Nothing is destroyed: files that cannot be used are moved
 * to a folder inside the store's folder.
 */

import { compareBytes, toStringBinary } from '../../bytes/index.js';
import { prepareInstalledCodecs } from '../../compression/index.js';
import { CorruptionError, RowanError } from '../../errors.js';
import { BlockCache, FileHandleCache } from '../cache.js';
import { readWriteRecord } from '../commit/write-record.js';
import { ON_DAMAGE } from '../encoding/data-block.js';
import { loadKeys, refuseSealedFiles, withEncryption } from '../encryption/encrypted-file-system.js';
import type { EncryptionOptions } from '../encryption/keys.js';
import { SortedFileReader } from '../file/sorted-file-reader.js';
import { verifySortedFile } from '../file/verify-file.js';
import {
  ARCHIVE_FILE,
  type FileSystem,
  joinPath,
  NodeFileSystem,
  parseStoreFileName,
  sortedFileName,
  walFileName,
} from '../fs/index.js';
import { ChunkReader, judgeBreak, readLog, WAL_KIND } from '../logfile/index.js';
import {
  type Edit,
  type FileEntry,
  liveFiles,
  Manifest,
  NO_HISTORY,
  noStore,
  type RegionEntry,
  salvageManifest,
  type VersionState,
} from '../manifest/index.js';
import { replayWal, Wal, WalRecord, walRecordOf } from '../wal/index.js';
import { salvageSortedFile } from './salvage-file.js';

interface RepairReport {
  /** Files that were moved to {@link folder}, and why. */
  readonly setAside: readonly { readonly file: string; readonly reason: string }[];
  /** The losses, as sentences. */
  readonly lost: readonly string[];
  /** Log records that were copied to a new log. */
  readonly savedRecords: number;
  /** Cells of damaged sorted files that were copied to new files. */
  readonly savedCells: number;
  /** The folder for files set aside; undefined when there were none. */
  readonly folder: string | undefined;
}

/**
 * Makes the store in `directory` open again with everything in it that is intact. An intact store is not changed.
 * @throws RowanError `ERR_LOCKED`, `ERR_NOT_A_STORE`, `ERR_ENCRYPTION`; CorruptionError when no MANIFEST can be read: nothing was changed.
 */
export async function repairStore(
  directory: string,
  given: FileSystem = new NodeFileSystem(),
  encryption?: EncryptionOptions,
): Promise<RepairReport> {
  const fileSystem = withEncryption(given, encryption);
  const path = fileSystem.absolute?.(directory) ?? directory;
  const names = fileSystem.isDirectory(path) ? fileSystem.readdir(path) : [];
  if (!names.some((name) => parseStoreFileName(name)?.kind === 'manifest')) {
    throw noStore(path);
  }
  const lock = await fileSystem.lock(path);
  try {
    refuseSealedFiles(fileSystem, path);
    await loadKeys(fileSystem, path);
    await prepareInstalledCodecs();
    return new Repair(fileSystem, path).run();
  } finally {
    await lock.release();
  }
}

class Repair {
  private readonly setAside: { file: string; reason: string }[] = [];
  private readonly lost: string[] = [];
  private readonly edits: Edit[] = [];
  private folder: string | undefined;
  private nextNumber = 1;
  private log: Wal | undefined;
  private savedRecords = 0;
  private savedCells = 0;
  private readonly savedFiles = new Set<number>();

  constructor(
    private readonly files: FileSystem,
    private readonly directory: string,
  ) {}

  run(): RepairReport {
    const { files, directory } = this;
    const found = salvageManifest(files, directory);
    if (found.lost !== undefined) this.lost.push(found.lost);
    const { state } = found;
    this.nextNumber = Math.max(state.nextFile, found.number + 1);
    for (const name of files.readdir(directory))
      this.nextNumber = Math.max(this.nextNumber, (parseStoreFileName(name)?.number ?? 0) + 1);
    this.checkSortedFiles(state);
    this.checkLogs(state);
    this.checkUnnamed(state);
    this.closeLog();
    if (this.edits.length > 0 || this.setAside.length > 0 || found.lost !== undefined) {
      this.closeOpenLog(state);
      const nextNumber = this.nextNumber++;
      // A copy of before, with what is written from now on, is not what is left: incremental ones have each table in full.
      const history = { ...NO_HISTORY, lastLoss: `repair ${nextNumber}` };
      for (const id of state.tables.keys()) this.edits.push({ type: 'tableAlter', id, history });
      Manifest.begin(files, directory, { state, manifest: found.number, nextNumber }, this.edits).close();
      // What was lost is in the archive of the log: the store does not go on with that, but begins another.
      const archive = joinPath(directory, ARCHIVE_FILE);
      if (files.exists(archive)) files.unlink(archive);
    }
    const { setAside, lost, savedRecords, savedCells, folder } = this;
    return { setAside, lost, savedRecords, savedCells, folder };
  }

  private checkSortedFiles(state: VersionState): void {
    /** The replacement of each damaged file; undefined where there is none. */
    const damaged = new Map<number, FileEntry | undefined>();
    for (const entry of liveFiles(state).values()) {
      const problem = this.problemOf(entry);
      if (problem === undefined) continue;
      damaged.set(entry.number, this.saveFile(entry, ownersOf(state, entry.number)));
      this.moveAside(sortedFileName(entry.number), problem);
    }
    for (const region of state.regions.values()) {
      for (const [family, store] of region.stores) {
        for (const number of store.files.keys()) {
          if (!damaged.has(number)) continue;
          this.edits.push({ type: 'fileRemove', region: region.id, family, number });
          const file = damaged.get(number);
          if (file !== undefined && hasRowsOf(region, file))
            this.edits.push({ type: 'fileAdd', region: region.id, family, file });
        }
      }
    }
  }

  /** Copies the intact part of a damaged file of `owners` to a new one, and records the rest as lost. */
  private saveFile(entry: FileEntry, owners: string): FileEntry | undefined {
    const name = sortedFileName(entry.number);
    const present = this.files.exists(joinPath(this.directory, name));
    const saved = present
      ? salvageSortedFile(this.files, this.directory, entry, this.nextNumber++)
      : undefined;
    if (saved === undefined) {
      const rows = `${toStringBinary(entry.firstKey)} to ${toStringBinary(entry.lastKey)}`;
      this.lost.push(`${entry.cells} cells of rows ${rows} in ${name}, of ${owners}`);
      return undefined;
    }
    const { file, lost } = saved;
    this.savedCells += file.cells;
    this.savedFiles.add(file.number);
    for (const span of lost) this.lost.push(`of ${name}, of ${owners}, ${span}`);
    if (file.cells < entry.cells)
      this.lost.push(`${entry.cells - file.cells} of ${entry.cells} cells in ${name}, as listed above`);
    return file;
  }

  /** Why a file cannot be used; undefined when it is intact. */
  private problemOf({ number, size, bulkSeq }: FileEntry): string | undefined {
    const handles = new FileHandleCache(this.files, 1);
    const path = joinPath(this.directory, sortedFileName(number));
    try {
      if (!this.files.exists(path)) return 'it is missing';
      if (this.files.fileSize(path) !== size)
        return `it has ${this.files.fileSize(path)} bytes in place of ${size}`;
      const context = { files: handles, cache: new BlockCache(0) };
      const reader = SortedFileReader.open(
        context,
        path,
        number,
        bulkSeq === undefined ? {} : { seq: bulkSeq },
      );
      verifySortedFile(reader);
      reader.close();
      return undefined;
    } catch (error) {
      if (error instanceof RowanError && error.code !== 'ERR_IO' && error.code !== 'ERR_ENCRYPTION')
        return error.message.replace(ON_DAMAGE, '');
      throw error;
    } finally {
      handles.closeAll();
    }
  }

  private checkLogs(state: VersionState): void {
    for (const { number, closed } of state.walSegments.values()) {
      const name = walFileName(number);
      if (!this.files.exists(joinPath(this.directory, name))) {
        const which = closed ? `${closed.firstSeq} to ${closed.lastSeq}` : 'since the log before it';
        this.lost.push(`the writes ${which}: the log ${name} is missing`);
        this.edits.push({ type: 'walRemove', number });
      } else if (!this.isKnown(number, state) || !this.isWhole(number, closed)) {
        this.saveLog(number, state);
        this.edits.push({ type: 'walRemove', number });
      }
    }
  }

  private isWhole(number: number, closed: { readonly length: number } | undefined): boolean {
    return closed === undefined ? this.isTornAtMost(number) : this.isSound(number, closed.length);
  }

  /** Whether all records of a log are of known tables: lost edits may have created others. */
  private isKnown(number: number, state: VersionState): boolean {
    const path = joinPath(this.directory, walFileName(number));
    const record = new WalRecord();
    try {
      const reader = new ChunkReader(
        readLog(this.files, path),
        WAL_KIND,
        number,
        path,
        this.files.encryption,
      );
      while (reader.next()) {
        walRecordOf(reader, number, record);
        if (!hasKnownTables(record, state)) return false;
      }
      return true;
    } catch (error) {
      if (error instanceof CorruptionError) return false;
      throw error;
    }
  }

  /** Whether the active log is intact, except for a torn end as after a loss of power. */
  private isTornAtMost(number: number): boolean {
    try {
      replayWal(this.files, this.directory, [{ number }], () => {}, { repair: false });
      return true;
    } catch (error) {
      if (error instanceof CorruptionError) return false;
      throw error;
    }
  }

  /** Records the active log as closed, because another follows it now. */
  private closeOpenLog(state: VersionState): void {
    for (const { number, closed } of state.walSegments.values()) {
      if (closed || this.edits.some((edit) => edit.type === 'walRemove' && edit.number === number)) continue;
      const replayed = replayWal(this.files, this.directory, [{ number }], () => {});
      for (const segment of replayed.closed) this.edits.push({ type: 'walClosed', ...segment });
    }
  }

  private isSound(number: number, length: number): boolean {
    const path = joinPath(this.directory, walFileName(number));
    const bytes = readLog(this.files, path);
    if (bytes.length !== length) return false;
    try {
      const reader = new ChunkReader(bytes, WAL_KIND, number, path, this.files.encryption);
      while (reader.next());
      return reader.broken === undefined;
    } catch (error) {
      if (error instanceof CorruptionError) return false;
      throw error;
    }
  }

  /** Sets aside files with numbers beyond the MANIFEST's: the edits that named them are lost, though perhaps not their contents. */
  private checkUnnamed(state: VersionState): void {
    const live = liveFiles(state);
    for (const name of this.files.readdir(this.directory)) {
      const parsed = parseStoreFileName(name);
      if (parsed === undefined || parsed.number < state.nextFile) continue;
      if (
        parsed.kind === 'wal' &&
        parsed.number !== this.log?.number &&
        !state.walSegments.has(parsed.number)
      )
        this.saveLog(parsed.number, state);
      if (parsed.kind === 'sorted' && !live.has(parsed.number) && !this.savedFiles.has(parsed.number))
        this.moveAside(name, 'the MANIFEST does not name it');
    }
  }

  /** Copies the records of a log, up to where it is damaged, to a new one, and sets the log aside. */
  private saveLog(number: number, state: VersionState): void {
    const name = walFileName(number);
    const path = joinPath(this.directory, name);
    const bytes = readLog(this.files, path);
    let problem = 'the MANIFEST does not name it';
    if (state.walSegments.has(number))
      problem = 'it is damaged, or has writes of tables that are not known any more';
    const record = new WalRecord();
    try {
      const reader = new ChunkReader(bytes, WAL_KIND, number, path, this.files.encryption);
      while (reader.next()) {
        walRecordOf(reader, number, record);
        this.saveRecord(record, name, state);
      }
      const { broken } = reader;
      if (broken !== undefined && !judgeBreak(bytes, broken, WAL_KIND, number, 0).torn) {
        problem = `it is damaged at byte ${broken.offset} (${broken.reason})`;
        this.lost.push(`the writes of ${name} from byte ${broken.offset} of ${bytes.length} on`);
      }
    } catch (error) {
      if (!(error instanceof CorruptionError)) throw error;
      problem = error.message;
      this.lost.push(`the writes of ${name} from byte ${String(error.details['offset'] ?? 0)} on`);
    }
    this.moveAside(name, problem);
  }

  private saveRecord(record: WalRecord, name: string, state: VersionState): void {
    if (!hasKnownTables(record, state)) {
      this.lost.push(`the writes from ${record.firstSeq} on in ${name}: their table is not known any more`);
      return;
    }
    if (this.log?.full) this.closeLog();
    this.log ??= Wal.create(this.files, this.directory, this.nextNumber++);
    this.log.append(record.firstSeq, record.count, record.payload, record.offset, record.length);
    this.savedRecords++;
  }

  private closeLog(): void {
    if (this.log === undefined) return;
    for (const closed of this.log.close())
      this.edits.push({ type: 'walAdd', number: closed.number }, { type: 'walClosed', ...closed });
    this.log = undefined;
  }

  private moveAside(name: string, reason: string): void {
    this.setAside.push({ file: name, reason });
    const path = joinPath(this.directory, name);
    if (!this.files.exists(path)) return;
    if (this.folder === undefined) {
      let folder = joinPath(this.directory, 'set-aside');
      for (let n = 2; this.files.exists(folder); n++) folder = joinPath(this.directory, `set-aside-${n}`);
      this.files.mkdir(folder);
      this.folder = folder;
    }
    this.files.rename(path, joinPath(this.folder, name));
    this.files.syncDirectory(this.folder);
  }
}

/** Whether the rows of a file overlap a region. */
function hasRowsOf({ startKey, endKey }: RegionEntry, { firstKey, lastKey }: FileEntry): boolean {
  return compareBytes(lastKey, startKey) >= 0 && (endKey.length === 0 || compareBytes(firstKey, endKey) < 0);
}

/** Whether the tables and families of a record's cells exist or existed, by the MANIFEST. */
function hasKnownTables(record: WalRecord, state: VersionState): boolean {
  let known = true;
  const bytes = record.payload.subarray(record.offset, record.offset + record.length);
  readWriteRecord(bytes, {
    cell: ({ table, family }) => {
      known &&= table < state.nextId && family < state.nextId;
    },
  });
  return known;
}

/** The tables and families that a sorted file has cells of; several after splits and snapshots. */
function ownersOf(state: VersionState, file: number): string {
  const owners = new Set<string>();
  for (const region of state.regions.values()) {
    const table = state.tables.get(region.table);
    for (const [name, number] of table?.familyNumbers ?? []) {
      if (region.stores.get(number)?.files.has(file)) owners.add(`${table!.descriptor.name}, family ${name}`);
    }
  }
  return [...owners].join('; ');
}
