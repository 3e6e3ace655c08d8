/** Creates a copy of a store as of one moment that opens as a store, made of hard links while writes continue. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { toBytes } from '../bytes/index.js';
import { InvalidArgumentError } from '../errors.js';
import { diskOf } from './encryption/encrypted-file-system.js';
import {
  CHECKPOINT_FILE,
  type DirectoryLock,
  type FileHandle,
  type FileSystem,
  joinPath,
  LOCK_FILE,
  parentPath,
  parseStoreFileName,
  sortedFileName,
  walFileName,
} from './fs/index.js';
import { liveFiles, Manifest } from './manifest/index.js';
import type { StoreCore } from './store-core.js';

const COPY_BYTES = 1 << 20;
/** Holds a piece of a file during a call. */
const PIECE = new Uint8Array(COPY_BYTES);

/** The moment whose data a checkpoint has. */
export interface CheckpointMoment {
  /** No write in it has a greater sequence number. */
  readonly seq: number;
  /** The store's time, ms. */
  readonly time: number;
}

/**
 * Creates a store in `target`, a folder that must not exist. It holds every write acknowledged so far, except writes with
 * `SKIP_WAL` that are in no file; it may hold some writes that are not acknowledged yet. Sorted files and closed log segments are
 * linked, the open segment is copied. Where the target is on another file system, or has no links, all are copied, while reads and writes
 * go on. The copy is made in `target.partial`, which a file CHECKPOINT marks as incomplete, and is renamed when it is complete.
 * @throws InvalidArgumentError when `target` exists, or `target.partial` exists and is not from a checkpoint; RowanError
 *   `ERR_LOCKED` when another checkpoint is being made there, `ERR_IO`.
 */
export async function checkpoint(core: StoreCore, target: string): Promise<CheckpointMoment> {
  const { fileSystem } = core.environment;
  checkFree(fileSystem, target);
  await core.commits.awaitDecided();
  const partial = `${target}.partial`;
  checkLeftover(fileSystem, partial);
  fileSystem.mkdir(partial);
  const lock = await fileSystem.lock(partial);
  let moment: CheckpointMoment;
  const copies: FileCopy[] = [];
  try {
    // No await until each file that the state names is linked, or open to be copied: then the store may remove it.
    checkFree(fileSystem, target);
    makeLinks(core, partial, copies);
    moment = { seq: core.commits.lastSeq, time: core.rowClock.now() };
    for (const copy of copies) await copy.run();
    await fileSystem.syncDirectoryAsync(partial);
    checkFree(fileSystem, target);
    fileSystem.rename(partial, target);
  } catch (error) {
    for (const copy of copies) copy.close();
    removeFolder(fileSystem, partial);
    await lock.release();
    throw error;
  }
  try {
    fileSystem.syncDirectory(parentPath(target));
    fileSystem.unlink(joinPath(target, CHECKPOINT_FILE));
  } finally {
    await release(fileSystem, lock, target);
  }
  return moment;
}

function checkFree(files: FileSystem, target: string): void {
  if (!files.exists(target)) return;
  throw new InvalidArgumentError(
    `"${target}" exists already. Give the path of a folder that does not exist yet.`,
  );
}

/** Only what an interrupted checkpoint left behind may be removed. */
function checkLeftover(files: FileSystem, partial: string): void {
  if (!files.exists(partial)) return;
  const names = files.isDirectory(partial) ? files.readdir(partial) : [];
  const ours =
    files.isDirectory(partial) &&
    (names.includes(CHECKPOINT_FILE) || names.every((name) => parseStoreFileName(name)?.kind === 'lock'));
  const stranger = names.find((name) => parseStoreFileName(name) === undefined);
  if (ours && stranger === undefined) return;
  throw new InvalidArgumentError(
    `A checkpoint is made in "${partial}" and then renamed, but that name is in use by something else` +
      `${stranger === undefined ? '' : ` ("${stranger}" in it)`}. Move it away, or give another path.`,
    { details: { file: partial } },
  );
}

/** Links the files of a store; `copies` receives those that have no link in the copy. */
function makeLinks(core: StoreCore, partial: string, copies: FileCopy[]): void {
  const { fileSystem, directory } = core.environment;
  for (const name of fileSystem.readdir(partial)) {
    const kind = parseStoreFileName(name)?.kind;
    if (kind !== 'lock' && kind !== 'checkpoint') fileSystem.unlink(joinPath(partial, name));
  }
  mark(fileSystem, partial);
  const { wal } = core.journal;
  wal.flushToOs();
  // Encrypted files keep their bytes.
  const disk = diskOf(fileSystem);
  const linkOrCopy = (name: string): void => {
    const [from, to] = [joinPath(directory, name), joinPath(partial, name)];
    if (!disk.link(from, to)) copies.push(new FileCopy(disk, from, to));
  };
  const state = core.journal.manifest.state;
  for (const { number } of liveFiles(state).values()) linkOrCopy(sortedFileName(number));
  for (const { number, closed } of state.walSegments.values()) {
    const name = walFileName(number);
    if (closed) {
      linkOrCopy(name);
      continue;
    }
    // Zeros behind the last record are room for later ones.
    const length = number === wal.number ? wal.writtenLength : undefined;
    const copy = new FileCopy(fileSystem, joinPath(directory, name), joinPath(partial, name), length);
    copies.push(copy);
    // In this turn: later writes go into the same file.
    while (copy.step());
  }
  const number = state.nextFile;
  Manifest.begin(fileSystem, partial, { state, manifest: number, nextNumber: number }, []).abandon();
}

/** A file that is being copied. It is open from the beginning, so the copy is whole even if the file is removed meanwhile. */
class FileCopy {
  private readonly source: FileHandle;
  /** The bytes to copy: the open segment grows. */
  private readonly length: number;
  private copy: FileHandle | undefined;
  private at = 0;

  constructor(
    private readonly files: FileSystem,
    from: string,
    private readonly to: string,
    length?: number,
  ) {
    this.source = files.openRead(from);
    this.length = length ?? this.source.size;
  }

  /** Copies a piece. @returns whether there may be more. */
  step(): boolean {
    this.copy ??= this.files.create(this.to);
    const read = this.source.read(PIECE, 0, Math.min(COPY_BYTES, this.length - this.at), this.at);
    if (read > 0) this.copy.write(PIECE, 0, read);
    this.at += read;
    return read > 0 && this.at < this.length;
  }

  /** Copies what is left, a piece in each turn of the event loop, and syncs the copy. */
  async run(): Promise<void> {
    while (this.at < this.length && this.step()) {
      await nextTurn();
      await this.source.readAhead?.(this.at, COPY_BYTES);
    }
    this.copy ??= this.files.create(this.to);
    await this.copy.syncAsync();
    this.close();
  }

  close(): void {
    this.source.close();
    this.copy?.close();
  }
}

function mark(files: FileSystem, partial: string): void {
  const path = joinPath(partial, CHECKPOINT_FILE);
  if (files.exists(path)) return;
  const file = files.create(path);
  try {
    const text = toBytes('A checkpoint of a Rowan store is being made here. It is not complete.\n');
    file.write(text, 0, text.length);
    file.sync();
  } finally {
    file.close();
  }
  files.syncDirectory(partial);
}

/** Releases the lock and removes its file: no process has the store in `target` open yet. */
async function release(files: FileSystem, lock: DirectoryLock, target: string): Promise<void> {
  await lock.release();
  const file = joinPath(target, LOCK_FILE);
  if (files.exists(file)) files.unlink(file);
}

function removeFolder(files: FileSystem, folder: string): void {
  try {
    // The mark last: a folder without it is not recognized as an incomplete checkpoint.
    const names = files.readdir(folder).filter((name) => name !== CHECKPOINT_FILE);
    for (const name of [...names, CHECKPOINT_FILE]) files.unlink(joinPath(folder, name));
    files.rmdir(folder);
  } catch {
    // The first failure is the one to report; the next checkpoint removes the rest.
  }
}
