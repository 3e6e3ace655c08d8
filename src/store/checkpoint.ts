/** Creates a copy of a store as of one moment that opens as a store, made of hard links while writes continue. */

import { toBytes } from '../bytes/index.js';
import { InvalidArgumentError } from '../errors.js';
import {
  CHECKPOINT_FILE,
  type DirectoryLock,
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
 * linked (copied where the file system has no links), the open segment is copied. The copy is made in `target.partial`, which a
 * file CHECKPOINT marks as incomplete, and is renamed when it is complete.
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
  try {
    // No await until the copy is made: the files that the state names are not removed before it is done.
    checkFree(fileSystem, target);
    makeCopy(core, partial);
    moment = { seq: core.commits.lastSeq, time: core.rowClock.now() };
    fileSystem.rename(partial, target);
  } catch (error) {
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

function makeCopy(core: StoreCore, partial: string): void {
  const { fileSystem, directory } = core.environment;
  for (const name of fileSystem.readdir(partial)) {
    const kind = parseStoreFileName(name)?.kind;
    if (kind !== 'lock' && kind !== 'checkpoint') fileSystem.unlink(joinPath(partial, name));
  }
  mark(fileSystem, partial);
  core.journal.wal.flushToOs();
  const state = core.journal.manifest.state;
  for (const { number } of liveFiles(state).values()) {
    const name = sortedFileName(number);
    fileSystem.link(joinPath(directory, name), joinPath(partial, name));
  }
  for (const { number, closed } of state.walSegments.values()) {
    const name = walFileName(number);
    if (closed) fileSystem.link(joinPath(directory, name), joinPath(partial, name));
    else copyFile(fileSystem, joinPath(directory, name), joinPath(partial, name));
  }
  const number = state.nextFile;
  Manifest.begin(fileSystem, partial, { state, manifest: number, nextNumber: number }, []).abandon();
  fileSystem.syncDirectory(partial);
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

function copyFile(fileSystem: FileSystem, from: string, to: string): void {
  const source = fileSystem.openRead(from);
  try {
    const copy = fileSystem.create(to);
    try {
      const buffer = new Uint8Array(COPY_BYTES);
      for (let at = 0; at < source.size; ) {
        const read = source.read(buffer, 0, COPY_BYTES, at);
        if (read === 0) break;
        copy.write(buffer, 0, read);
        at += read;
      }
      copy.sync();
    } finally {
      copy.close();
    }
  } finally {
    source.close();
  }
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
