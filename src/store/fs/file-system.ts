import type { Duplex } from 'node:stream';
import { RowanError } from '../../errors.js';

/**
 * The one way to files: everything in the storage core that touches a disk goes through a {@link FileSystem}, so that
 * the same code runs on the real disk, in memory with simulated power loss, and under injected errors.
 *
 * All calls but `prepare`, `syncAsync`, `syncDirectoryAsync` and `lock` are synchronous. Paths are plain strings with `/` between their parts. A failed
 * call throws a `RowanError` with code `ERR_IO` whose details name the file, the call and the system's error code.
 *
 * What survives a loss of power, on every implementation:
 * 1. Bytes of a file are safe once `sync` or `syncAsync`, called after they were written, has returned.
 * 2. A file's name (created, renamed, linked, unlinked) is safe once `syncDirectory` of its folder, called after, has
 *    returned. An unsynced rename leaves the old or the new file under the name, never a mixture.
 * 3. When a `sync` has failed, nothing may be assumed of the bytes written since the last good one; a later `sync` that
 *    succeeds proves nothing about them (kernels drop the dirty pages). Callers stop writing instead of retrying.
 */

/** An open file. Writes always append, into the room that `prepare` has made where there is some. */
export interface FileHandle {
  readonly path: string;
  /** The length in bytes, our own appends included, also those of a `write` that failed half-way, and prepared room. */
  readonly size: number;
  /** Whether `close` was called. */
  readonly closed: boolean;
  /**
   * Reads up to `length` bytes from `position` of the file into `buffer` at `offset`. Returns how many: fewer than
   * `length` only at the end of the file.
   */
  read(buffer: Uint8Array, offset: number, length: number, position: number): number;
  /**
   * Appends `length` bytes of `buffer` from `offset`, all of them: short writes are continued. When it throws, any
   * number of the bytes may have been appended; `size` says how many, and `truncate` takes them back.
   */
  write(buffer: Uint8Array, offset: number, length: number): void;
  /**
   * Makes the file `length` bytes longer by zeros, off the thread, which later writes go over: a sync of these has then
   * nothing to tell the disk but the bytes themselves. Nothing may be written until it has ended. When it rejects, any
   * number of the zeros may be there. They are not synced.
   */
  prepare(length: number): Promise<void>;
  /** Returns when all bytes written so far are on the disk (fdatasync). */
  sync(): void;
  /** As `sync`, off the thread; it covers at least the bytes written before the call. */
  syncAsync(): Promise<void>;
  /** Cuts the file, prepared room included, to `length` bytes, which is at most `size`; later writes append there. */
  truncate(length: number): void;
  /** Gives the descriptor back. A second call does nothing. */
  close(): void;
}

/** Held while a store is open. */
export interface DirectoryLock {
  /** Lets the next opener in. A second call does nothing. */
  release(): Promise<void>;
}

export interface FileSystem {
  /** For reading only. Fails when there is no such file. */
  openRead(path: string): FileHandle;
  /** A new, empty file for writing and reading. Fails when the name is taken: nothing is ever overwritten. */
  create(path: string): FileHandle;
  /** An existing file for appending and reading. Fails when there is no such file. */
  openAppend(path: string): FileHandle;
  /** Makes a folder and those above it; one that exists is left as it is. */
  mkdir(path: string): void;
  /** The names in a folder, files and folders, sorted. Fails when there is no such folder. */
  readdir(path: string): string[];
  /** Gives a file or folder another name, in place of any file of that name. */
  rename(from: string, to: string): void;
  /** Removes a file. Fails when there is none. */
  unlink(path: string): void;
  /** Removes an empty folder. */
  rmdir(path: string): void;
  /** Whether a file or folder of that name is there. */
  exists(path: string): boolean;
  /** Whether the path is a folder. */
  isDirectory(path: string): boolean;
  /** The length of a file in bytes. */
  fileSize(path: string): number;
  /** A second name for the same file (hard link); where the disk has none, a copy. Fails when the name is taken. */
  link(existing: string, path: string): void;
  /** Makes the names in a folder safe. Does nothing on systems that cannot. */
  syncDirectory(path: string): void;
  /** As `syncDirectory`, off the thread. */
  syncDirectoryAsync(path: string): Promise<void>;
  /**
   * Claims a folder for this process. The claim ends with `release` or with the process, however it ends.
   * @throws RowanError `ERR_LOCKED`, naming the holder, when another opener (of any process, or this one) has it.
   */
  lock(directory: string): Promise<DirectoryLock>;
  /**
   * Meets the readers of a store that this process has locked, until `release`; undefined where they cannot come. Left out
   * where nobody else sees the files.
   */
  receive?(directory: string, greet: (reader: Duplex) => void): Promise<DirectoryLock | undefined>;
  /** Calls the process that has the store in a folder open: nobody has it, or it receives nobody. */
  call?(directory: string): Promise<Duplex | 'nobody' | 'unreachable'>;
  /** The path from the root, whatever the working directory becomes. Left out where paths are such already. */
  absolute?(path: string): string;
  /**
   * The same files, with `directory` held until `letGo`: what is done in it is done in the folder that has this name
   * now, though it be renamed, and never in another that takes the name. Left out where folders keep their names.
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

/** Conditions that pass when something is freed: the same call may succeed later. */
const PASSING = new Set(['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE', 'EAGAIN', 'EINTR', 'ENOMEM']);

const MENDS: Readonly<Record<string, string>> = {
  ENOSPC: 'The disk is full: free some space and try again.',
  EDQUOT: 'The disk quota is used up: free some space or raise the quota, and try again.',
  EMFILE: 'The process has too many open files: raise its limit (ulimit -n), and try again.',
  ENFILE: 'The system has too many open files: raise its limit, and try again.',
  EACCES: 'Check who owns the folder and its files, and what its user may do.',
  EPERM: 'Check who owns the folder and its files, and what its user may do.',
  EROFS: 'The disk is mounted read-only: mount it for writing, or move the store.',
  ENOENT: 'There is no such file or folder: check the path.',
  EEXIST: 'The name is taken: remove what is there, if it is not needed.',
  ESTALE:
    'The folder was renamed or replaced while the store was open: close the store, and open it where it is now.',
  EIO: 'The disk reported an error: look at the system log, and restore from a copy if the disk fails.',
};

/** An `ERR_IO` that says which call failed on which file and why; `details.call`, `details.errno` for programs. */
export function ioError(call: string, path: string, errno: string, cause?: unknown): RowanError {
  const mend = MENDS[errno] ?? 'The operating system refused the call: see the cause.';
  return new RowanError('ERR_IO', `Could not ${call} "${path}" (${errno}). ${mend}`, {
    cause,
    retryable: PASSING.has(errno),
    details: { file: path, call, errno },
  });
}

/** The system's code of an error that Node threw, or of an `ERR_IO`; "UNKNOWN" when it has none. */
export function errnoOf(error: unknown): string {
  if (error instanceof RowanError) return String(error.details['errno'] ?? 'UNKNOWN');
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : 'UNKNOWN';
}
