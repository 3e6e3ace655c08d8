import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, truncate } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { crc32 } from '../../bytes/index.js';
import {
  asRowanError,
  CorruptionError,
  InvalidArgumentError,
  RowanError,
  UnsupportedError,
} from '../../errors.js';
import { diskOf } from '../encryption/sealed-files.js';
import { SerialQueue, type StoreEnvironment } from '../environment.js';
import { COPY_BYTES, copyFile, fileError, sizeOf, syncFolder, writeWhole } from '../fs/copies.js';
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
import {
  type Edit,
  namesFile,
  snapshotEdits,
  type VersionState,
  type WalSegmentEntry,
} from '../manifest/index.js';
import type { StoreCore } from '../store-core.js';
import { isUserTable } from '../table-state.js';
import {
  type ArchivedEdits,
  ArchivedTables,
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

/** What is known of a store when its archive is opened. */
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
  await mkdir(folder, { recursive: true });
  const lock = await new NodeFileSystem().lock(folder);
  try {
    const index = await readIndex(folder);
    if (index !== undefined && index.begin.id === pointer?.id) {
      checkHistory(index, folder, found);
      const moved = pointer.folder === folder ? undefined : { folder, id: pointer.id };
      return new Archiver(environment, folder, lock, index, moved, found.lastSeq);
    }
    if (given === undefined) throw missing(folder, path);
    if (index !== undefined && index.segments.length > 0) throw notItsOwn(folder);
    await checkEmpty(folder);
    const id = randomBytes(16).toString('hex');
    const begin = beginning(id, found.lastSeq);
    const line = encodeLine(begin);
    await rm(join(folder, 'INDEX'), { force: true });
    await new IndexWriter(folder, 0).append(begin);
    const fresh = { begin, segments: [], changes: [], length: line.length };
    return new Archiver(environment, folder, lock, fresh, { folder, id }, found.lastSeq);
  } catch (error) {
    await lock.release();
    throw error;
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
  const stranger = (await readdir(folder)).find((name) => !['INDEX', 'LOCK', 'LOCK.sock'].includes(name));
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
 * 3. A change of tables, and files that come past the log, are in the archive before the MANIFEST has them. A change that failed
 *    after that is put right by the next line, which lists all tables.
 */
export class Archiver implements LogArchive {
  private core: StoreCore | undefined;
  private readonly queue = new SerialQueue();
  private readonly tables = new ArchivedTables();
  private readonly complete = new Set<number>();
  private readonly index: IndexWriter;
  private readonly begin: number;
  /** The archive may say something of tables that is not so. */
  private unsure = true;
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
    /** What the store's folder does not say yet. */
    private readonly pointer: Pointer | undefined,
    /** Of the store. */
    lastSeq: number,
  ) {
    this.begin = begin.seq;
    this.index = new IndexWriter(folder, length);
    for (const { number } of segments) this.complete.add(number);
    for (const change of changes) {
      this.tables.apply(change);
      // No write is numbered while a load is: it had not come to the store when that was killed.
      this.takeBack(
        change.edits.filter((edit) => edit.type === 'fileAdd' && (edit.file.bulkSeq ?? 0) > lastSeq),
      );
    }
  }

  /** Begins to archive. The store has its MANIFEST. */
  async start(core: StoreCore): Promise<void> {
    this.core = core;
    const { pointer } = this;
    if (pointer !== undefined)
      await writeWhole(joinPath(this.environment.directory, ARCHIVE_FILE), `${JSON.stringify(pointer)}\n`);
    await this.work(async () => {
      await this.removeLost();
      await this.putRight([]);
    });
    this.timer = setInterval(() => void this.archiveQuietly(), EVERY).unref();
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

  /** Removes the copy of a segment whose records a loss of power has left to nobody but the archive: they were not acknowledged. */
  private async removeLost(): Promise<void> {
    const { walSegments } = this.started.journal.manifest.state;
    for (const name of await readdir(this.folder)) {
      const found = parseStoreFileName(name);
      if (found?.kind !== 'wal' || this.complete.has(found.number)) continue;
      if ((walSegments.get(found.number)?.closed?.lastSeq ?? -1) < 0) await rm(join(this.folder, name));
    }
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
      await this.putRight(wanted);
    });
  }

  failed(edits: readonly Edit[]): void {
    this.unsure = true;
    this.takeBack(edits);
  }

  /** Lets the next line say that files of loads did not come to the store. */
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
    await this.archiveQuietly();
    await this.end();
  }

  /** Unlocks the archive. */
  async end(): Promise<void> {
    clearInterval(this.timer);
    await this.lock.release();
  }

  private async archiveQuietly(): Promise<void> {
    try {
      await this.work(() => this.copyLog());
    } catch (error) {
      this.environment.emit({ kind: 'backgroundError', work: 'archive', error: asRowanError(error) });
    }
  }

  private get started(): StoreCore {
    if (this.core === undefined) throw new Error('The archive is not started.');
    return this.core;
  }

  /** Appends a change of tables; all tables, where the archive does not say what the MANIFEST does. */
  private async putRight(edits: readonly Edit[]): Promise<void> {
    const { journal, commits, rowClock } = this.started;
    const present = presentTables(journal.manifest.state);
    const whole = this.unsure && !isSame(this.tables, present);
    this.unsure = false;
    const { takenBack } = this;
    if (!whole && edits.length + takenBack.length === 0) return;
    const line: ArchivedEdits = {
      type: 'edits',
      seq: commits.lastSeq,
      time: rowClock.now(),
      whole,
      edits: [...takenBack, ...(whole ? present : []), ...edits],
    };
    try {
      await this.index.append(line);
    } catch (error) {
      this.unsure = true;
      throw error;
    }
    this.takenBack = [];
    this.tables.apply(line);
    this.tables.files.length = 0;
  }

  /** Copies what the log has grown by. @returns whether the archive has the log up to its end then. */
  private async copyLog(): Promise<boolean> {
    const { journal, maintenance, lifecycle } = this.started;
    await this.putRight([]);
    let isWhole = true;
    let archived = 0;
    for (const segment of journal.manifest.state.walSegments.values()) {
      if (this.has(segment.number)) continue;
      if (segment.closed !== undefined) {
        await this.copyClosed(segment);
        archived++;
        continue;
      }
      // The one before it is not recorded as closed yet.
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
      await this.copyTail(number, length);
      if (this.tail.crc !== crc) {
        // What was copied before differs: the segment was repaired after a crash. It is copied anew.
        this.tail = { number, length: 0, crc: 0 };
        await this.copyTail(number, length);
        if (this.tail.crc !== crc) throw this.unlike(number);
      }
      await truncate(join(this.folder, walFileName(number)), length);
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

  /** Extends the copy of a segment up to `end`, and syncs it. */
  private async copyTail(number: number, end: number): Promise<void> {
    if (this.tail.number !== number) this.tail = { number, length: 0, crc: 0 };
    const { tail } = this;
    if (tail.length >= end) return;
    const disk = diskOf(this.environment.fileSystem);
    const source = disk.openRead(joinPath(this.environment.directory, walFileName(number)));
    try {
      // What an earlier process has copied stays until the same bytes, or a repaired end, are written over it.
      const target = await open(join(this.folder, walFileName(number)), constants.O_RDWR | constants.O_CREAT);
      try {
        const buffer = Buffer.allocUnsafe(Math.min(COPY_BYTES, end - tail.length));
        while (tail.length < end) {
          const count = source.read(buffer, 0, Math.min(buffer.length, end - tail.length), tail.length);
          if (count === 0) throw this.unlike(number);
          for (let at = 0; at < count; )
            at += (await target.write(buffer, at, count - at, tail.length + at)).bytesWritten;
          tail.crc = crc32(buffer, 0, count, tail.crc);
          tail.length += count;
        }
        await target.datasync();
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

  /** Copies a sorted file that came past the log. */
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

/** What an archive needs of edits: changes of tables, and files that came past the log, with their regions. */
function archivedOf(edits: readonly Edit[], state: VersionState): Edit[] {
  const hidden = new Set<number>();
  const regions = new Set<number>();
  const wanted: Edit[] = [];
  for (const edit of edits) {
    switch (edit.type) {
      case 'namespaceAdd':
      case 'namespaceRemove':
      case 'namespaceAlter':
        wanted.push(edit);
        break;
      case 'tableAdd':
        if (isUserTable(edit.descriptor.name)) wanted.push(edit);
        else hidden.add(edit.id);
        break;
      case 'tableAlter': {
        const known = state.tables.get(edit.id);
        if (known === undefined || !isUserTable(known.descriptor.name)) break;
        const { id, descriptor, familyNumbers, enabled } = edit;
        wanted.push({
          type: 'tableAdd',
          id,
          descriptor: descriptor ?? known.descriptor,
          familyNumbers: familyNumbers ?? known.familyNumbers,
          enabled: enabled ?? known.enabled,
        });
        break;
      }
      case 'tableDrop':
        wanted.push(edit);
        break;
      case 'regionAdd':
        if (
          hidden.has(edit.table) ||
          !wanted.some((other) => other.type === 'tableAdd' && other.id === edit.table)
        )
          break;
        wanted.push(edit);
        regions.add(edit.id);
        break;
      case 'fileAdd':
        if (regions.has(edit.region)) wanted.push(edit);
        else if (edit.file.bulkSeq !== undefined && !namesFile(state, edit.file.number)) {
          const region = state.regions.get(edit.region);
          if (region === undefined) break;
          const { id, table, startKey, endKey } = region;
          wanted.push({ type: 'regionAdd', id, table, startKey, endKey }, edit);
        }
        break;
    }
  }
  return wanted;
}

/** The edits that make the tables and namespaces of a state, without files. */
function presentTables(state: VersionState): Edit[] {
  const hidden = new Set(
    [...state.tables.values()].flatMap(({ id, descriptor }) => (isUserTable(descriptor.name) ? [] : [id])),
  );
  return snapshotEdits(state).filter((edit) => {
    if (edit.type === 'tableAdd') return !hidden.has(edit.id);
    if (edit.type === 'regionAdd') return !hidden.has(edit.table);
    return edit.type === 'namespaceAdd' || edit.type === 'namespaceAlter';
  });
}

/** Whether the archive says of tables and namespaces what `edits` do. */
function isSame(archived: ArchivedTables, edits: readonly Edit[]): boolean {
  const present = new ArchivedTables();
  present.apply({ whole: true, edits });
  return textOf(archived) === textOf(present);
}

function textOf({ tables, namespaces, properties }: ArchivedTables): string {
  const sorted = [...tables.values()].sort((a, b) => a.id - b.id);
  return JSON.stringify([
    sorted.map(({ familyNumbers, ...table }) => ({ ...table, familyNumbers: [...familyNumbers].sort() })),
    [...namespaces].sort(),
    [...properties].sort(([a], [b]) => (a < b ? -1 : 1)),
  ]);
}
