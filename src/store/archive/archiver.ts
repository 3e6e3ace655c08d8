import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { crc32 } from '../../bytes/index.js';
import {
  asRowanError,
  CorruptionError,
  fileError,
  InvalidArgumentError,
  RowanError,
  UnsupportedError,
} from '../../errors.js';
import { makeFolder } from '../../folders.js';
import { diskOf } from '../encryption/encrypted-file-system.js';
import { SerialQueue, type StoreEnvironment } from '../environment.js';
import { COPY_BYTES, copyFile, NEW_DISK, sizeOf, syncFolder, writeAll, writeWhole } from '../fs/copies.js';
import {
  ARCHIVE_FILE,
  type DirectoryLock,
  joinPath,
  NodeFileSystem,
  parseStoreFileName,
  sortedFileName,
  walFileName,
} from '../fs/index.js';
import type { LogArchive } from '../ledger/journal.js';
import type { Edit, VersionState, WalSegmentEntry } from '../manifest/index.js';
import type { StoreCore } from '../store-core.js';
import { ArchivedTables, archivedOf, isSame, presentTables } from './archived-tables.js';
import {
  type ArchivedEdits,
  type ArchiveIndex,
  beginning,
  encodeLine,
  IndexWriter,
  readIndex,
} from './log-archive.js';

/** Milliseconds between two copies of what the log has grown by. */
const EVERY = 1000;
/** How often, 10 ms apart, `archiveAll` looks whether the log has recorded the end of a segment. */
const ATTEMPTS = 500;

/** The file ARCHIVE in the folder of a store: where its log is archived. */
interface Pointer {
  readonly folder: string;
  readonly id: string;
}

/** The state of a store when its archive is opened. */
interface FoundLog {
  readonly state: VersionState;
  readonly lastSeq: number;
}

/**
 * The log archive of a store that is being opened: that of the option, or the one it has had; undefined when it has none.
 * @param given the option `logArchive`; null ends the archive.
 * @throws InvalidArgumentError when the folder has something else, or the archive of another store; RowanError `ERR_LOCKED`, `ERR_IO`.
 */
export async function openArchive(
  environment: StoreEnvironment,
  given: string | null | undefined,
  found: FoundLog,
): Promise<Archiver | undefined> {
  const disk = diskOf(environment.fileSystem);
  if (!(disk instanceof NodeFileSystem))
    throw new UnsupportedError('A store on a file system of its own (`fileSystem`) has no log archive.');
  const path = joinPath(environment.directory, ARCHIVE_FILE);
  const pointer = await readPointer(path);
  if (given === null) {
    await rm(path, { force: true });
    return undefined;
  }
  const folder = given === undefined ? pointer!.folder : resolve(given);
  if (given === undefined && (await sizeOf(folder)) === undefined) throw missing(folder, path);
  try {
    return await openFolder(environment, given, found, folder, pointer);
  } catch (error) {
    throw fileError(error, folder);
  }
}

async function openFolder(
  environment: StoreEnvironment,
  given: string | undefined,
  found: FoundLog,
  folder: string,
  pointer: Pointer | undefined,
): Promise<Archiver> {
  await makeDurableFolder(folder);
  const lock = await new NodeFileSystem().lock(folder);
  try {
    const index = await readIndex(folder);
    if (index !== undefined && index.begin.id === pointer?.id) {
      checkHistory(index, folder, found);
      const moved = pointer.folder === folder ? undefined : { folder, id: pointer.id };
      return new Archiver(environment, folder, lock, index, moved, found);
    }
    if (given === undefined) throw missing(folder, joinPath(environment.directory, ARCHIVE_FILE));
    if (index !== undefined && index.segments.length > 0) throw notItsOwn(folder);
    await checkEmpty(folder);
    const id = randomBytes(16).toString('hex');
    const begin = beginning(id, found.lastSeq);
    const line = encodeLine(begin);
    await rm(join(folder, 'INDEX'), { force: true });
    await new IndexWriter(folder, 0).append(begin);
    const fresh = { begin, segments: [], changes: [], length: line.length };
    return new Archiver(environment, folder, lock, fresh, { folder, id }, found);
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/** Makes a folder, and its parents, that survive a loss of power. */
async function makeDurableFolder(folder: string): Promise<void> {
  const first = makeFolder(folder);
  if (first === undefined) return;
  for (let made = resolve(folder); ; made = dirname(made)) {
    await syncFolder(dirname(made));
    if (made === first) return;
  }
}

async function readPointer(path: string): Promise<Pointer | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const { folder, id } = JSON.parse(text) as Pointer;
    if (typeof folder === 'string' && typeof id === 'string') return { folder, id };
  } catch {
    // Reported below.
  }
  throw new CorruptionError(
    `"${path}" does not say where the log of the store is archived. Open the store with logArchive: the folder, or null to end the archive.`,
    { details: { file: path, offset: 0 } },
  );
}

/** The archive must have the history of this store, and no later part of it. */
function checkHistory(index: ArchiveIndex, folder: string, { state, lastSeq }: FoundLog): void {
  for (const { number, length, crc, lastSeq: archived } of index.segments) {
    const closed = state.walSegments.get(number)?.closed;
    const isOther = closed !== undefined && (closed.length !== length || closed.crc !== crc);
    if (isOther || archived > lastSeq) throw notItsOwn(folder);
  }
}

async function checkEmpty(folder: string): Promise<void> {
  const stranger = (await readdir(folder)).find(
    (name) => !['INDEX', 'LOCK', 'LOCK.sock', NEW_DISK].includes(name),
  );
  if (stranger === undefined) return;
  throw new InvalidArgumentError(
    `logArchive "${folder}" holds no log archive, and is not empty ("${stranger}" in it). Give an empty or a new folder.`,
  );
}

function notItsOwn(folder: string): InvalidArgumentError {
  return new InvalidArgumentError(
    `The log archive "${folder}" is of another store, or of a later state of this one: a copied or restored store begins an archive of ` +
      'its own. Give logArchive a new folder, or null for none.',
    { details: { file: folder } },
  );
}

function missing(folder: string, pointer: string): InvalidArgumentError {
  return new InvalidArgumentError(
    `The log of this store is archived in "${folder}", which is not there (${pointer}). Mount it; or open the store with logArchive: ` +
      'a new folder to begin another archive, or null to end it.',
    { details: { file: folder } },
  );
}

/**
 * Copies the log of a store to its archive while the store is open.
 *
 * 1. The store removes no segment that is not archived completely, and only a copy with the checksum of the MANIFEST is complete.
 * 2. Segments are archived in their order. Of the open one the archive has a prefix: what was written up to the last copy.
 * 3. A change of tables, and files that do not pass through the log, are in the archive before the MANIFEST has them. If the change
 *    then fails, the next line corrects that: it lists all tables, and takes back the files. After a crash, and where a failure has left
 *    it unknown what the MANIFEST has, the next opening corrects it.
 */
export class Archiver implements LogArchive {
  private core: StoreCore | undefined;
  private readonly queue = new SerialQueue();
  private readonly tables = new ArchivedTables();
  private readonly complete = new Set<number>();
  private readonly index: IndexWriter;
  private readonly begin: number;
  private isSwept = false;
  /** Whether the archive may differ from the MANIFEST about tables. */
  private mayDiffer = true;
  private timer: NodeJS.Timeout | undefined;
  private takenBack: Edit[] = [];
  /** Sorted files that this process has copied. */
  private readonly kept = new Set<number>();
  /** Of the segment that is being copied. */
  private tail = { number: 0, length: 0, crc: 0 };
  /** Bytes of the log that are not archived yet, when it was last looked. */
  behind = 0;

  constructor(
    private readonly environment: StoreEnvironment,
    private readonly folder: string,
    private readonly lock: DirectoryLock,
    { begin, segments, changes, length }: ArchiveIndex,
    /** The pointer to this archive, if the folder of the store does not have it yet. */
    private readonly pointer: Pointer | undefined,
    { state: { lastLoad }, lastSeq }: FoundLog,
  ) {
    this.begin = begin.seq;
    this.index = new IndexWriter(folder, length);
    for (const { number } of segments) this.complete.add(number);
    for (const change of changes) {
      this.tables.apply(change);
      // Loads get their numbers in their order. Earlier versions did not record the last one; their writes have later numbers.
      const complete = lastLoad > 0 ? lastLoad : lastSeq;
      this.takeBack(
        change.edits.filter((edit) => edit.type === 'fileAdd' && (edit.file.bulkSeq ?? 0) > complete),
      );
    }
  }

  /** Begins to archive. The store has its MANIFEST. */
  async start(core: StoreCore): Promise<void> {
    this.core = core;
    const { pointer } = this;
    const { directory } = this.environment;
    try {
      if (pointer !== undefined)
        await writeWhole(joinPath(directory, ARCHIVE_FILE), `${JSON.stringify(pointer)}\n`);
    } catch (error) {
      throw fileError(error, directory);
    }
    await this.quietly(() => this.recordTables([]));
    this.timer = setInterval(() => void this.quietly(() => this.copyLog()), EVERY).unref();
  }

  /** Runs after what was begun before. @throws RowanError `ERR_IO`. */
  private work<T>(run: () => Promise<T>): Promise<T> {
    return this.queue.run(async () => {
      try {
        return await run();
      } catch (error) {
        throw fileError(error, this.folder);
      }
    });
  }

  /** Removes copies of segments that the store had lost in a power failure when it was opened: their records were not acknowledged. */
  private async removeLost(): Promise<void> {
    if (this.isSwept) return;
    const { walSegments } = this.started.journal.manifest.state;
    for (const name of await readdir(this.folder)) {
      const found = parseStoreFileName(name);
      if (found?.kind !== 'wal' || this.complete.has(found.number)) continue;
      if ((walSegments.get(found.number)?.closed?.lastSeq ?? -1) < 0) await rm(join(this.folder, name));
    }
    this.isSwept = true;
  }

  has(segment: number): boolean {
    return this.complete.has(segment) || this.precedes(segment);
  }

  /** Whether a segment has no write that belongs to the archive. */
  private precedes(number: number): boolean {
    const closed = this.core?.journal.manifest.state.walSegments.get(number)?.closed;
    return closed !== undefined && closed.lastSeq <= this.begin;
  }

  before(edits: readonly Edit[]): Promise<void> {
    const { state } = this.started.journal.manifest;
    const wanted = archivedOf(edits, state);
    if (wanted.length === 0) return Promise.resolve();
    return this.work(async () => {
      for (const edit of wanted) if (edit.type === 'fileAdd') await this.copySorted(edit.file.number);
      await this.recordTables(wanted);
    });
  }

  async failed(edits: readonly Edit[]): Promise<void> {
    this.mayDiffer = true;
    // What the MANIFEST has then is known by the next opening only.
    if (this.started.journal.poisoned !== undefined) return;
    this.takeBack(edits);
    await this.quietly(() => this.recordTables([]));
  }

  /** Has the next line remove files of bulk loads that failed. */
  private takeBack(edits: readonly Edit[]): void {
    for (const edit of edits) {
      if (edit.type !== 'fileAdd' || edit.file.bulkSeq === undefined) continue;
      const { region, family, file } = edit;
      this.takenBack.push({ type: 'fileRemove', region, family, number: file.number });
    }
  }

  keep(file: number): Promise<void> {
    return this.work(() => this.copySorted(file));
  }

  /**
   * Resolves when every write that was acknowledged before the call is in the archive.
   * @throws RowanError `ERR_IO` when the archive cannot be written, `ERR_BUSY` when the log cannot record the end of a segment.
   */
  async archiveAll(): Promise<void> {
    await this.started.journal.sync();
    for (let i = 0; i < ATTEMPTS; i++) {
      if (await this.work(() => this.copyLog())) return;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    throw new RowanError(
      'ERR_BUSY',
      'The log cannot record the end of a segment, so it is not archived whole.',
      {
        retryable: true,
      },
    );
  }

  /** Archives the segments of a log that is closed, and unlocks the archive. */
  async close(): Promise<void> {
    clearInterval(this.timer);
    await this.quietly(() => this.copyLog());
    await this.end();
  }

  /** Unlocks the archive. */
  async end(): Promise<void> {
    clearInterval(this.timer);
    await this.lock.release();
  }

  /** Runs what is tried again later if it fails. */
  private async quietly(run: () => Promise<unknown>): Promise<void> {
    try {
      await this.work(run);
    } catch (error) {
      this.environment.emit({ kind: 'backgroundError', work: 'archive', error: asRowanError(error) });
    }
  }

  private get started(): StoreCore {
    if (this.core === undefined) throw new Error('The archive is not started.');
    return this.core;
  }

  /** Appends a change of tables; all tables, if the archive differs from the MANIFEST. */
  private async recordTables(edits: readonly Edit[]): Promise<void> {
    await this.removeLost();
    const { journal, commits, rowClock } = this.started;
    const present = presentTables(journal.manifest.state);
    const whole = this.mayDiffer && !isSame(this.tables, present);
    // A change that is under way is not in the MANIFEST yet: it is looked at again.
    this.mayDiffer = whole;
    const { takenBack } = this;
    if (!whole && edits.length + takenBack.length === 0) return;
    // A load has the number that its files have. One that failed has one, too, up to which nobody asks for what follows it.
    const loads = edits.map((edit) => (edit.type === 'fileAdd' ? (edit.file.bulkSeq ?? 0) : 0));
    const line: ArchivedEdits = {
      type: 'edits',
      seq: Math.max(commits.readPoint, ...loads),
      time: rowClock.now(),
      whole,
      edits: [...takenBack, ...(whole ? present : []), ...edits],
    };
    try {
      await this.index.append(line);
    } catch (error) {
      this.mayDiffer = true;
      throw error;
    }
    this.takenBack = [];
    this.tables.apply(line);
    this.tables.files.length = 0;
  }

  /** Copies what the log has grown by. @returns whether the archive has the log up to its end then. */
  private async copyLog(): Promise<boolean> {
    const { journal, maintenance, lifecycle } = this.started;
    await this.index.check();
    await this.recordTables([]);
    let isWhole = true;
    let archived = 0;
    for (const segment of journal.manifest.state.walSegments.values()) {
      if (this.has(segment.number)) continue;
      if (segment.closed !== undefined) {
        await this.copyClosed(segment);
        archived++;
        continue;
      }
      // Only the last segment is open, unless the one before it is not recorded as closed yet.
      const { wal } = journal;
      isWhole = segment.number === wal.number;
      if (isWhole && wal.begun && !wal.empty) await this.copyTail(segment.number, wal.writtenLength);
      break;
    }
    this.behind = this.countBehind();
    if (archived > 0 && !lifecycle.closed) maintenance.requestLogCollection();
    return isWhole;
  }

  private countBehind(): number {
    const { wal, manifest } = this.started.journal;
    let bytes = 0;
    for (const { number, closed } of manifest.state.walSegments.values()) {
      if (this.has(number)) continue;
      const length = closed?.length ?? (number === wal.number ? wal.writtenLength : 0);
      bytes += length - (number === this.tail.number ? this.tail.length : 0);
    }
    return Math.max(0, bytes);
  }

  private async copyClosed({ number, closed }: WalSegmentEntry): Promise<void> {
    const { length, crc, lastSeq } = closed!;
    if (lastSeq >= 0) {
      if (this.tail.number !== number || this.tail.length > length) this.tail = { number, length: 0, crc: 0 };
      await this.copyTail(number, length, true);
      if (this.tail.crc !== crc) {
        // What was copied before differs: the segment was repaired after a crash. It is copied anew.
        this.tail = { number, length: 0, crc: 0 };
        await this.copyTail(number, length, true);
        if (this.tail.crc !== crc) throw this.unlike(number);
      }
      await syncFolder(this.folder);
      await this.index.append({ type: 'segment', number, ...closed! });
    }
    this.complete.add(number);
  }

  private unlike(number: number): CorruptionError {
    const file = joinPath(this.environment.directory, walFileName(number));
    return new CorruptionError(
      `The segment "${file}" of the log is not as it was closed, so it is not archived, and the store keeps it. Verify the store.`,
      { details: { file, offset: 0 } },
    );
  }

  /** Extends the copy of a segment up to `end`, and syncs it; with `isWhole` it ends there. */
  private async copyTail(number: number, end: number, isWhole = false): Promise<void> {
    if (this.tail.number !== number) this.tail = { number, length: 0, crc: 0 };
    if (this.tail.length >= end && !isWhole) return;
    const disk = diskOf(this.environment.fileSystem);
    const source = disk.openRead(joinPath(this.environment.directory, walFileName(number)));
    try {
      // What an earlier process has copied stays until the same bytes, or a repaired end, are written over it.
      const target = await open(join(this.folder, walFileName(number)), constants.O_RDWR | constants.O_CREAT);
      try {
        const { size } = await target.stat();
        // Another disk is mounted there than when the bytes before were copied.
        if (size < this.tail.length) this.tail = { number, length: 0, crc: 0 };
        const { tail } = this;
        const buffer = Buffer.allocUnsafe(Math.min(COPY_BYTES, end - tail.length));
        while (tail.length < end) {
          const count = source.read(buffer, 0, Math.min(buffer.length, end - tail.length), tail.length);
          if (count === 0) throw this.unlike(number);
          await writeAll(target, buffer, count, tail.length);
          tail.crc = crc32(buffer, 0, count, tail.crc);
          tail.length += count;
        }
        if (isWhole) await target.truncate(end);
        await target.sync();
        if (size === 0) await syncFolder(this.folder);
      } finally {
        await target.close();
      }
    } catch (error) {
      this.tail = { number: 0, length: 0, crc: 0 };
      throw error;
    } finally {
      source.close();
    }
  }

  /** Copies a sorted file that did not pass through the log. */
  private async copySorted(number: number): Promise<void> {
    const name = sortedFileName(number);
    const place = join(this.folder, name);
    if (this.kept.has(number)) return;
    await copyFile(join(this.environment.directory, name), `${place}.partial`, () => undefined);
    await rename(`${place}.partial`, place);
    await syncFolder(this.folder);
    this.kept.add(number);
  }
}
