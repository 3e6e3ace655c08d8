/** Decides whether a folder holds a store, can hold a new one, or holds something else; and checks and removes its files. */

import { CorruptionError, RowanError } from '../../errors.js';
import { ON_DAMAGE } from '../encoding/data-block.js';
import { refuseSealed } from '../encryption/encrypted-file-system.js';
import { RECORD_OVERHEAD } from '../encryption/keys.js';
import {
  CURRENT_FILE,
  type FileSystem,
  joinPath,
  manifestFileName,
  parentPath,
  parseStoreFileName,
  sortedFileName,
  walFileName,
} from '../fs/index.js';
import { CHUNK_HEADER_SIZE, FILE_HEADER_END, headerEnd, SEALED_HEADER_END } from '../logfile/index.js';
import { encodeEdits } from './edit.js';
import { applyEdits, emptyState, liveFiles, snapshotEdits, type VersionState } from './version-state.js';

/** The length of the MANIFEST of a new store, without its header. */
const FRESH_LENGTH =
  CHUNK_HEADER_SIZE +
  encodeEdits(snapshotEdits(applyEdits(emptyState(), [{ type: 'counters', nextFile: 2 }]))).length;

/** Files that operating systems put into folders. */
const IGNORED = /^(\..*|lost\+found|Thumbs\.db|desktop\.ini)$/;

/**
 * "store" when the folder has one, "new" when one can be created: the folder is empty, does not exist, or the creation of a store
 * was interrupted in it. Changes nothing.
 * @throws RowanError `ERR_NOT_A_STORE` when it has other contents, or is a file; CorruptionError when it has the files of a store
 *   but no CURRENT.
 */
export function inspectDirectory(files: FileSystem, directory: string): 'store' | 'new' {
  if (!files.exists(directory)) return 'new';
  if (!files.isDirectory(directory)) {
    throw new RowanError(
      'ERR_NOT_A_STORE',
      `"${directory}" is a file. A store is a folder: give the path of a store, or of a folder that does not exist yet.`,
      { details: { file: directory } },
    );
  }
  if (files.exists(joinPath(directory, CURRENT_FILE))) return 'store';
  const names = files.readdir(directory).filter((name) => !IGNORED.test(name));
  const strangers = names.filter((name) => parseStoreFileName(name) === undefined);
  if (strangers.length > 0) {
    throw new RowanError(
      'ERR_NOT_A_STORE',
      `The folder "${directory}" is not a store of Rowan: it has no CURRENT, but ${strangers.length} other ` +
        `${strangers.length === 1 ? 'entry' : 'entries'} (${strangers.slice(0, 3).join(', ')}). ` +
        'Give the path of a store, or of an empty folder for a new one.',
      { details: { file: directory } },
    );
  }
  // The first MANIFEST is created before CURRENT, everything else after it.
  const first = manifestFileName(1);
  const beyond = names.filter(
    (name) => !['lock', 'temporary', 'checkpoint'].includes(parseStoreFileName(name)!.kind),
  );
  if (beyond.some((name) => name !== first || !isFresh(files, joinPath(directory, name)))) {
    const path = joinPath(directory, CURRENT_FILE);
    throw new CorruptionError(
      `The file "${path}" is missing from a folder with the files of a store. Put it back.${ON_DAMAGE}`,
      { details: { file: path, offset: 0 } },
    );
  }
  return 'new';
}

/** The error for a folder without a store, with what to do next. */
export function noStore(path: string, advice = 'Check the path: nothing was created there.'): RowanError {
  return new RowanError('ERR_NOT_A_STORE', `There is no store in "${path}". ${advice}`, {
    details: { file: path },
  });
}

/** @throws as `inspectDirectory`; RowanError `ERR_NOT_A_STORE` where a store could be created, with this advice. */
export function requireStore(files: FileSystem, directory: string, advice?: string): void {
  if (inspectDirectory(files, directory) === 'new') throw noStore(directory, advice);
}

/** Whether a MANIFEST is no longer than that of a new store. */
function isFresh(files: FileSystem, path: string): boolean {
  const overhead = headerEndOf(files, path) === SEALED_HEADER_END ? RECORD_OVERHEAD : 0;
  return files.fileSize(path) <= headerEndOf(files, path) + FRESH_LENGTH + overhead;
}

/** Where the header of a log ends. */
function headerEndOf(files: FileSystem, path: string): number {
  const file = files.openRead(path);
  try {
    const bytes = new Uint8Array(CHUNK_HEADER_SIZE);
    file.read(bytes, 0, bytes.length, 0);
    return headerEnd(bytes);
  } finally {
    file.close();
  }
}

/**
 * Checks that every file that the state names exists and has its recorded length. `names`: what is in the folder.
 * @throws CorruptionError naming the first that does not.
 */
export function checkNamedFiles(
  files: FileSystem,
  directory: string,
  state: VersionState,
  names: readonly string[],
): void {
  const present = new Set(names);
  const check = (name: string, size: number | undefined): void => {
    const path = joinPath(directory, name);
    if (!present.has(name)) {
      throw new CorruptionError(
        `The file "${path}" is missing, and the store needs it. Put it back.${ON_DAMAGE}`,
        { details: { file: path, offset: 0 } },
      );
    }
    if (size === undefined) return;
    const found = files.fileSize(path);
    if (found !== size) {
      refuseSealed(files, path);
      throw new CorruptionError(
        `The file "${path}" has ${found} bytes and was written with ${size}.${ON_DAMAGE}`,
        { details: { file: path, offset: Math.min(found, size) } },
      );
    }
  };
  for (const segment of state.walSegments.values())
    check(walFileName(segment.number), segment.closed?.length);
  for (const file of liveFiles(state).values()) check(sortedFileName(file.number), file.size);
}

/**
 * Checks that the MANIFEST names every log with writes. Nothing is written to a log before the edit that names it is on the
 * disk. So an unnamed log that has writes, and is newer than all named files, proves that edits were lost.
 * @throws CorruptionError naming the log.
 */
export function checkUnnamedLogs(
  files: FileSystem,
  directory: string,
  state: VersionState,
  names: readonly string[],
): void {
  for (const name of names) {
    const parsed = parseStoreFileName(name);
    if (parsed?.kind !== 'wal' || parsed.number < state.nextFile) continue;
    const path = joinPath(directory, name);
    if (!hasWrites(files, path)) continue;
    throw new CorruptionError(
      `The log "${path}" has writes, and the MANIFEST does not name it: the end of the MANIFEST is lost. Nothing was ` +
        'changed. Restore the store from a copy, or save what is sound with `rowan store repair`.',
      { details: { file: path, offset: FILE_HEADER_END } },
    );
  }
}

/** Whether there is anything but zeros after the header of a log. Zeros after a loss of power were never written. */
function hasWrites(files: FileSystem, path: string): boolean {
  const start = headerEndOf(files, path);
  const file = files.openRead(path);
  try {
    const bytes = new Uint8Array(65536);
    for (let at = start; at < file.size; at += bytes.length) {
      const count = file.read(bytes, 0, bytes.length, at);
      for (let i = 0; i < count; i++) if (bytes[i] !== 0) return true;
    }
    return false;
  } finally {
    file.close();
  }
}

/**
 * The store's files among `names` that neither the state nor CURRENT names: unfinished outputs of a crash, and files that the last
 * opener did not remove. `manifest`: the number of the MANIFEST that CURRENT names.
 */
export function obsoleteFiles(names: readonly string[], state: VersionState, manifest: number): string[] {
  const live = liveFiles(state);
  return names.filter((name) => {
    const parsed = parseStoreFileName(name);
    return (
      (parsed?.kind === 'wal' && !state.walSegments.has(parsed.number)) ||
      (parsed?.kind === 'sorted' && !live.has(parsed.number)) ||
      (parsed?.kind === 'manifest' && parsed.number !== manifest) ||
      parsed?.kind === 'temporary'
    );
  });
}

/**
 * Removes {@link obsoleteFiles}. Other files stay. A file that cannot be removed stays too; its number is not used again. Returns
 * the removed names.
 */
export function removeObsoleteFiles(
  files: FileSystem,
  directory: string,
  state: VersionState,
  manifest: number,
): string[] {
  return obsoleteFiles(files.readdir(directory), state, manifest).filter((name) => {
    try {
      files.unlink(joinPath(directory, name));
      return true;
    } catch {
      // It only occupies space; the next opener tries again.
      return false;
    }
  });
}

/** Creates the folder and its missing parents, and syncs their names. */
export function makeDirectory(files: FileSystem, directory: string): void {
  const made: string[] = [];
  for (let path = directory; !files.exists(path); path = parentPath(path)) made.push(parentPath(path));
  files.mkdir(directory);
  for (const parent of made) files.syncDirectory(parent);
}
