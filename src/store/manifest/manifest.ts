import { EMPTY_BYTES } from '../../bytes/index.js';
import { ClosedError, type RowanError } from '../../errors.js';
import { type FileSystem, joinPath, manifestFileName, SharedSync } from '../fs/index.js';
import { type ChunkWriter, createLog, discardLog, MANIFEST_KIND } from '../logfile/index.js';
import { prepareCurrent, switchCurrent } from './current.js';
import { makeDirectory, removeObsoleteFiles } from './directory.js';
import { type Edit, encodeEdits } from './edit.js';
import { type CleanStore, type FoundStore, findStore } from './read-manifest.js';
import { applyEdits, snapshotEdits, type VersionState } from './version-state.js';

interface ManifestOptions {
  /** Bytes above which the MANIFEST is replaced by a new one with only the present state; default 4 MiB. */
  readonly rollSize?: number;
}

const STAGING_SIZE = 65536;
const ROLL_SIZE = 4 * 1024 * 1024;

/**
 * The MANIFEST: the log of what a store consists of. It has one opener at a time, who holds the folder's lock.
 *
 * 1. A state is not visible before the edits that lead to it are on the disk. The edits of one call are recorded together or not
 *    at all.
 * 2. The folder is synced before an edit that adds a file, so a named file always exists: by `log`, and by the callers of
 *    `logAsync`.
 * 3. A call that fails with `ERR_IO` has changed nothing and may be repeated. After `ERR_READONLY` it is unknown what is on the
 *    disk: the MANIFEST accepts no more edits, and the next opener finds the state before or after the failed call.
 */
export class Manifest {
  private readonly files: FileSystem;
  private readonly directory: string;
  private readonly rollSize: number;
  private fileNumber: number;
  /** Undefined before the first edit of a MANIFEST that was {@link resume}d. */
  private writer: ChunkWriter | undefined;
  /** The state that is on the disk. */
  private durable: VersionState;
  /** The state after the edits that are written and not synced yet. */
  private pending: VersionState;
  private nextFile: number;
  private nextId = 0;
  private edits = 0;
  private durableEdits = 0;
  private readonly written = new SharedSync(() => this.writer!.syncAsync());
  private rollAt: number;
  /** The length that CURRENT records as synced. */
  private recordedLength: number;
  private closed = false;
  /** Why a change to a new file has failed half-way. */
  private failure: RowanError | undefined;

  private constructor(
    files: FileSystem,
    directory: string,
    state: VersionState,
    file: { readonly number: number; readonly length: number; readonly writer: ChunkWriter | undefined },
    nextFile: number,
    rollSize: number,
  ) {
    this.files = files;
    this.directory = directory;
    this.rollSize = rollSize;
    this.durable = state;
    this.pending = state;
    this.fileNumber = file.number;
    this.writer = file.writer;
    this.recordedLength = file.length;
    this.nextFile = nextFile;
    this.rollAt = Math.max(rollSize, 2 * this.recordedLength);
  }

  /**
   * Opens the store in `directory`, or creates one in a new or empty folder. Leftovers of a crash are removed, and the state is
   * written to a new MANIFEST.
   * @throws RowanError `ERR_NOT_A_STORE`, `ERR_FORMAT_VERSION`; CorruptionError for damage and for missing files.
   */
  static open(files: FileSystem, directory: string, options: ManifestOptions = {}): Manifest {
    return Manifest.begin(files, directory, findStore(files, directory), [], options);
  }

  /**
   * Continues from the state that was found, with `edits`, in a new MANIFEST. Nothing has changed until CURRENT names it; then
   * files that nothing names any more are removed where possible.
   */
  static begin(
    files: FileSystem,
    directory: string,
    found: FoundStore,
    edits: readonly Edit[],
    options: ManifestOptions = {},
  ): Manifest {
    const rollSize = options.rollSize ?? ROLL_SIZE;
    if (found.manifest === 0) {
      makeDirectory(files, directory);
      // Leftovers of an interrupted creation use the name of the first MANIFEST.
      removeObsoleteFiles(files, directory, found.state, 0);
    }
    const number = found.nextNumber;
    const state = applyEdits(found.state, [{ type: 'counters', nextFile: number + 1 }, ...edits]);
    const writer = writeSnapshot(files, directory, number, state);
    try {
      prepareCurrent(files, directory, { manifest: number, length: writer.writtenLength });
      switchCurrent(files, directory);
      removeObsoleteFiles(files, directory, state, number);
    } catch (error) {
      writer.file.close();
      throw error;
    }
    const length = writer.writtenLength;
    return new Manifest(files, directory, state, { number, length, writer }, state.nextFile, rollSize);
  }

  /**
   * Continues from the state of a store that was closed completely, with `counters`, and writes nothing: the first edit begins the
   * new MANIFEST, whose first state includes that edit.
   */
  static resume(files: FileSystem, directory: string, found: CleanStore, counters: Edit): Manifest {
    const { manifest: number, cleanLength: length, nextNumber } = found;
    const state = applyEdits(found.state, [counters]);
    return new Manifest(
      files,
      directory,
      state,
      { number, length, writer: undefined },
      nextNumber,
      ROLL_SIZE,
    );
  }

  /** The tables, regions and files of the store, as they are on the disk. */
  get state(): VersionState {
    return this.durable;
  }

  /** The number of the active MANIFEST file. */
  get number(): number {
    return this.fileNumber;
  }

  /** The length of that file that makes up {@link state}. */
  get durableLength(): number {
    return this.writer?.syncedOffset ?? this.recordedLength;
  }

  /** Returns a number for a new file; each is returned once. After a restart, numbers that no edit names may be returned again. */
  newFileNumber(): number {
    this.nextFile = Math.max(this.nextFile, this.pending.nextFile);
    return this.nextFile++;
  }

  /** Returns a number for a new table, family or region; as `newFileNumber`. */
  newId(): number {
    this.nextId = Math.max(this.nextId, this.pending.nextId);
    return this.nextId++;
  }

  /** Why no edit can be logged any more; undefined while the MANIFEST works. */
  get poisoned(): RowanError | undefined {
    return this.failure ?? this.writer?.poisoned;
  }

  /**
   * Applies all `edits` together and returns when they are on the disk.
   * @throws InvalidArgumentError when they do not fit the state; RowanError `ERR_IO`, `ERR_READONLY` (see above).
   */
  log(edits: readonly Edit[]): VersionState {
    const { writer } = this;
    if (writer === undefined) return this.beginWith(edits);
    this.checkOpen();
    // Log segments are created with their names synced.
    if (edits.some((edit) => edit.type === 'fileAdd')) this.files.syncDirectory(this.directory);
    const count = this.write(writer, edits);
    writer.sync();
    this.publish(this.pending, count);
    this.afterSync(writer);
    return this.durable;
  }

  /**
   * Like `log`, without blocking the thread. Edits take effect in the order of the calls; those of calls at one time are synced together. The
   * caller has synced the folder since the files that they add were created.
   */
  async logAsync(edits: readonly Edit[]): Promise<VersionState> {
    const { writer } = this;
    if (writer === undefined) return this.beginWith(edits);
    const count = this.write(writer, edits);
    const { pending } = this;
    try {
      await this.written.run();
    } catch (error) {
      // The file may have been replaced meanwhile, but the failure concerns the disk.
      throw this.writer!.fail(error);
    }
    this.publish(pending, count);
    if (writer === this.writer) this.afterSync(writer);
    return this.durable;
  }

  /** Writes the present state to a new, short file and continues there. */
  roll(): void {
    this.checkOpen();
    this.moveToNewFile(this.pending);
    this.publish(this.pending, this.edits);
  }

  /** The first edits after {@link resume}. They are on the disk with the new file. */
  private beginWith(edits: readonly Edit[]): VersionState {
    this.checkOpen();
    this.moveToNewFile(applyEdits(this.pending, edits));
    this.publish(this.pending, ++this.edits);
    return this.durable;
  }

  /** Writes `content` to a new file, lets CURRENT name it, and removes the file before it. */
  private moveToNewFile(content: VersionState): void {
    const number = this.newFileNumber();
    const state = applyEdits(content, [{ type: 'counters', nextFile: number + 1 }]);
    const next = writeSnapshot(this.files, this.directory, number, state);
    try {
      prepareCurrent(this.files, this.directory, { manifest: number, length: next.writtenLength });
    } catch (error) {
      discardLog(this.files, next.file);
      throw error;
    }
    try {
      switchCurrent(this.files, this.directory);
    } catch (error) {
      next.file.close();
      this.failure = (this.writer ?? next).fail(error);
      throw this.failure;
    }
    const { writer: old, fileNumber: oldNumber } = this;
    this.writer = next;
    this.fileNumber = number;
    this.recordedLength = next.writtenLength;
    this.rollAt = Math.max(this.rollSize, 2 * this.recordedLength);
    this.pending = state;
    old?.file.close();
    try {
      this.files.unlink(joinPath(this.directory, manifestFileName(oldNumber)));
    } catch {
      // It only occupies space; the next opener tries again.
    }
  }

  /** Records the length of the MANIFEST in CURRENT, so that a later loss of its end is detected, and closes it. */
  close(): void {
    if (this.closed) return;
    const { writer } = this;
    try {
      if (writer && this.poisoned === undefined && writer.writtenLength > this.recordedLength) {
        writer.sync();
        const length = writer.writtenLength;
        prepareCurrent(this.files, this.directory, { manifest: this.fileNumber, length });
        switchCurrent(this.files, this.directory);
      }
    } finally {
      this.abandon();
    }
  }

  /** Closes the file without writing. */
  abandon(): void {
    this.closed = true;
    this.writer?.file.close();
  }

  private checkOpen(): void {
    if (this.closed)
      throw new ClosedError('The MANIFEST is closed: the store was closed before or during this call.');
    if (this.poisoned !== undefined) throw this.poisoned;
  }

  /** Writes the edits to the operating system. Returns their position in the order of all edits. */
  private write(writer: ChunkWriter, edits: readonly Edit[]): number {
    this.checkOpen();
    const next = applyEdits(this.pending, edits);
    const record = encodeEdits(edits);
    writer.append(EMPTY_BYTES, record, 0, record.length);
    writer.flush();
    this.pending = next;
    return ++this.edits;
  }

  private publish(state: VersionState, count: number): void {
    if (count <= this.durableEdits) return;
    this.durable = state;
    this.durableEdits = count;
  }

  /** Writes a mark that proves the last edit synced, and replaces the file when it has grown long. Both are optional. */
  private afterSync(writer: ChunkWriter): void {
    if (this.closed || this.poisoned !== undefined) return;
    try {
      if (writer.recordsEnd <= writer.syncedOffset) {
        writer.appendMark();
        writer.flush();
      }
      if (writer.end > this.rollAt) this.roll();
    } catch {
      // The edit itself is on the disk. The next attempt comes when the file has grown further, not with every edit.
      this.rollAt = writer.end + this.rollSize;
    }
  }
}

function writeSnapshot(
  files: FileSystem,
  directory: string,
  number: number,
  state: VersionState,
): ChunkWriter {
  const path = joinPath(directory, manifestFileName(number));
  return createLog(files, path, MANIFEST_KIND, number, STAGING_SIZE, encodeEdits(snapshotEdits(state)));
}
