import type { Duplex } from 'node:stream';
import type { StoreKeys } from '../encryption/keys.js';

/** An open file. Writes always append, first into the space that `prepare` has allocated, if any. */
export interface FileHandle {
  readonly path: string;
  /** The length in bytes. It includes this handle's appends, those of a `write` that failed half-way, and prepared space. */
  readonly size: number;
  /** Whether `close` was called. */
  readonly closed: boolean;
  /**
   * Reads up to `length` bytes from `position` of the file into `buffer` at `offset`, and returns the number of bytes read:
   * fewer than `length` only at the end of the file.
   */
  read(buffer: Uint8Array, offset: number, length: number, position: number): number;
  /**
   * Reads bytes off the thread that a later `read` will need, so that it does not wait for the disk: of the range the first 64 KiB at
   * most. Omitted where reads do not wait.
   */
  readAhead?(position: number, length: number): Promise<void>;
  /**
   * Appends `length` bytes of `buffer` from `offset`, all of them: short writes are continued. When it throws, any number of the
   * bytes may have been appended; `size` says how many, and `truncate` removes them.
   */
  write(buffer: Uint8Array, offset: number, length: number): void;
  /**
   * Extends the file by `length` zeros off the thread, which later writes overwrite; a sync of those writes then has no change of
   * the file's length to record. Nothing may be written until it has ended. When it rejects, any number of the zeros may be
   * there. They are not synced.
   */
  prepare(length: number): Promise<void>;
  /** Says that nothing more is written, before the last `sync`. Omitted where that makes no difference. */
  complete?(): void;
  /** Returns when all bytes written so far are on the disk (fdatasync). */
  sync(): void;
  /** As `sync`, off the thread; it covers at least the bytes written before the call. */
  syncAsync(): Promise<void>;
  /** Cuts the file, prepared space included, to `length` bytes, which is at most `size`; later writes append there. */
  truncate(length: number): void;
  /** Closes the descriptor. A second call does nothing. */
  close(): void;
}

/** Held while a store is open. */
export interface DirectoryLock {
  /** Releases the lock. A second call does nothing. */
  release(): Promise<void>;
}

/**
 * The interface to files. All code of the store that touches a disk uses a {@link FileSystem}, so that the same code runs on the
 * real disk, in memory with simulated power loss, and under injected errors.
 *
 * All calls but `readAhead`, `prepare`, `syncAsync`, `syncDirectoryAsync`, `lock`, `receive` and `call` are synchronous. Paths are strings with
 * `/` between their parts. A failed call throws a `RowanError` with code `ERR_IO` whose details name the file, the call and the
 * system's error code.
 *
 * What survives a loss of power, on every implementation:
 * 1. Bytes of a file survive once a `sync` or `syncAsync` that was called after they were written has returned.
 * 2. A file's name (created, renamed, linked, unlinked) survives once a `syncDirectory` of its folder that was called after it has
 *    returned. An unsynced rename leaves the old or the new file under the name, never a mixture.
 * 3. After a failed `sync`, nothing may be assumed of the bytes written since the last good one. A later `sync` that succeeds
 *    proves nothing about them (kernels drop the dirty pages). Callers stop writing instead of retrying.
 */
export interface FileSystem {
  /** The keys of the logs of an encrypted store. Omitted where nothing is encrypted. */
  readonly encryption?: StoreKeys;
  /** Opens a file for reading only. Fails when there is no such file. */
  openRead(path: string): FileHandle;
  /** Creates an empty file for writing and reading. Fails when the name exists: no file is ever overwritten. */
  create(path: string): FileHandle;
  /** Opens an existing file for appending and reading. Fails when there is no such file. */
  openAppend(path: string): FileHandle;
  /** Creates a folder and its missing parents; an existing folder is left as it is. */
  mkdir(path: string): void;
  /** The sorted names of the files and folders in a folder. Fails when there is no such folder. */
  readdir(path: string): string[];
  /** Renames a file or folder, replacing any file of the new name. */
  rename(from: string, to: string): void;
  /** Removes a file. Fails when there is none. */
  unlink(path: string): void;
  /** Removes an empty folder. */
  rmdir(path: string): void;
  /** Whether a file or folder exists. */
  exists(path: string): boolean;
  /** Whether the path is a folder. */
  isDirectory(path: string): boolean;
  /** The length of a file in bytes. */
  fileSize(path: string): number;
  /**
   * A second name for the same file (hard link). Fails when the name exists. @returns false, and makes none, where the file system has no
   * links, or the two names are on different ones.
   */
  link(existing: string, path: string): boolean;
  /** Makes the names in a folder survive a loss of power. Does nothing on systems that cannot. */
  syncDirectory(path: string): void;
  /** As `syncDirectory`, off the thread. */
  syncDirectoryAsync(path: string): Promise<void>;
  /**
   * Locks a folder for this process. The lock ends with `release` or with the process, however it ends.
   * @throws RowanError `ERR_LOCKED`, naming the holder, when another opener, in any process, has it.
   */
  lock(directory: string): Promise<DirectoryLock>;
  /**
   * Accepts readers of a store that this process has locked, until `release`; undefined where they cannot connect. Omitted where
   * no other process sees the files.
   */
  receive?(directory: string, onReader: (reader: Duplex) => void): Promise<DirectoryLock | undefined>;
  /** Connects to the process that has the store in a folder open. `nobody`: none has; `unreachable`: one has, and accepts no readers. */
  call?(directory: string): Promise<Duplex | 'nobody' | 'unreachable'>;
  /** The absolute path, which stays right when the working directory changes. Omitted where paths are absolute already. */
  absolute?(path: string): string;
  /**
   * The same files, with `directory` pinned until `letGo`: all calls for it go to the folder that has this name now, even after
   * it is renamed, and never to another folder of that name. Omitted where folders are never renamed.
   */
  hold?(directory: string): FileSystem;
  letGo?(): void;
}

/** `name` inside `directory`. */
export function joinPath(directory: string, name: string): string {
  return directory.endsWith('/') ? directory + name : `${directory}/${name}`;
}

/** The folder that `path` is in. */
export function parentPath(path: string): string {
  const slash = path.lastIndexOf('/');
  if (slash < 0) return '.';
  return slash === 0 ? '/' : path.slice(0, slash);
}

// — The names of a store's files. One counter gives the numbers of all kinds of files, so that no number is used twice.

export const CURRENT_FILE = 'CURRENT';
export const CURRENT_TEMPORARY_FILE = 'CURRENT.tmp';
/** Says where the log of the store is archived. Neither a checkpoint nor a backup has it. */
export const ARCHIVE_FILE = 'ARCHIVE';
/** In the folder of a checkpoint until the checkpoint is complete. */
export const CHECKPOINT_FILE = 'CHECKPOINT';

export type StoreFileKind =
  | 'wal'
  | 'sorted'
  | 'manifest'
  | 'current'
  | 'lock'
  /** A file that is being written, and is renamed when it is complete. */
  | 'temporary'
  | 'checkpoint';

interface StoreFileName {
  readonly kind: StoreFileKind;
  /** 0 for files without a number. */
  readonly number: number;
}

/** `000007.wal` */
export function walFileName(number: number): string {
  return `${sixDigits(number)}.wal`;
}

/** `000007.sst` */
export function sortedFileName(number: number): string {
  return `${sixDigits(number)}.sst`;
}

/** `MANIFEST-000007` */
export function manifestFileName(number: number): string {
  return `MANIFEST-${sixDigits(number)}`;
}

/** `000007.wal.tmp`: the valid prefix of a damaged log, which replaces the log once it is synced. */
export function walTemporaryName(number: number): string {
  return `${walFileName(number)}.tmp`;
}

/** The kind and number of a file by its name; undefined for names that no store uses. */
export function parseStoreFileName(name: string): StoreFileName | undefined {
  if (name === CURRENT_FILE) return { kind: 'current', number: 0 };
  if (name === CURRENT_TEMPORARY_FILE) return { kind: 'temporary', number: 0 };
  if (name === CHECKPOINT_FILE) return { kind: 'checkpoint', number: 0 };
  if (name === 'LOCK' || name === 'LOCK.sock' || name === 'READERS.sock') return { kind: 'lock', number: 0 };
  if (name.endsWith('.wal.tmp')) {
    const log = parseStoreFileName(name.slice(0, -4));
    return log && { kind: 'temporary', number: log.number };
  }
  const match = /^(?:MANIFEST-(\d{6,16})|(\d{6,16})\.(wal|sst))$/.exec(name);
  if (match === null) return undefined;
  const number = Number(match[1] ?? match[2]);
  const kind = match[1] !== undefined ? 'manifest' : match[3] === 'wal' ? 'wal' : 'sorted';
  const written =
    kind === 'manifest'
      ? manifestFileName(number)
      : kind === 'wal'
        ? walFileName(number)
        : sortedFileName(number);
  return written === name ? { kind, number } : undefined;
}

function sixDigits(number: number): string {
  return String(number).padStart(6, '0');
}
