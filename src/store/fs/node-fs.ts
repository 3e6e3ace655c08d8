import * as fs from 'node:fs';
import { resolve } from 'node:path';
import type { Duplex } from 'node:stream';
import { errnoOf, InvalidArgumentError, ioError, RowanError } from '../../errors.js';
import { makeFolder } from '../../folders.js';
import { lockDirectory } from './directory-lock.js';
import type { DirectoryLock, FileHandle, FileSystem } from './file-system.js';
import { connectToWriter, listenForReaders } from './reader-socket.js';

/** Errors of hard links on file systems where a copy succeeds. */
const LINK_REFUSED = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EXDEV', 'EMLINK']);

/** Errors of a folder's fsync on systems without such a call. */
const DIRECTORY_SYNC_REFUSED = new Set(['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'EPERM', 'EISDIR', 'EBADF']);

/** A pinned folder: its name when it was opened, and its descriptor. */
export interface HeldFolder {
  readonly directory: string;
  /** Where the system has paths that begin at a descriptor, all files of the folder are reached through it. */
  readonly descriptor: number;
  readonly byDescriptor: boolean;
}

/**
 * The real disk. Its only state is its open files and the pinned folder, so each thread creates its own.
 *
 * `sync` is fdatasync, which libuv maps to F_FULLFSYNC on macOS. Windows cannot sync a folder: there, names depend on the file
 * system's own journal.
 */
export class NodeFileSystem implements FileSystem {
  constructor(readonly held?: HeldFolder) {}

  absolute(path: string): string {
    return resolve(path);
  }

  hold(directory: string): NodeFileSystem {
    // Windows has no descriptors of folders, and does not rename folders with open files.
    if (process.platform === 'win32') return this;
    const descriptor = attempt('open the folder', directory, () =>
      fs.openSync(directory, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY),
    );
    return new NodeFileSystem({ directory, descriptor, byDescriptor: hasDescriptorPaths(descriptor) });
  }

  letGo(): void {
    if (this.held) fs.closeSync(this.held.descriptor);
  }

  openRead(path: string): FileHandle {
    return open(path, this.at(path), fs.constants.O_RDONLY, 'open');
  }

  create(path: string): FileHandle {
    const { O_RDWR, O_CREAT, O_EXCL } = fs.constants;
    return open(path, this.at(path), O_RDWR | O_CREAT | O_EXCL, 'create');
  }

  openAppend(path: string): FileHandle {
    return open(path, this.at(path), fs.constants.O_RDWR, 'open');
  }

  mkdir(path: string): void {
    makeFolder(path);
  }

  readdir(path: string): string[] {
    return attempt('list the folder', path, () => fs.readdirSync(this.at(path))).sort();
  }

  rename(from: string, to: string): void {
    attempt('rename', from, () => fs.renameSync(this.at(from), this.at(to)));
  }

  /** The name is gone when it returns. The space of a large file is freed off the thread: that takes 0.1 s and more. */
  unlink(path: string): void {
    const at = this.at(path);
    const held = descriptorOf(at);
    try {
      attempt('remove', path, () => fs.unlinkSync(at));
    } finally {
      if (held !== undefined) fs.close(held, ignored);
    }
  }

  rmdir(path: string): void {
    attempt('remove the folder', path, () => fs.rmdirSync(path));
  }

  exists(path: string): boolean {
    const stat = attempt('look for', path, () => fs.statSync(this.at(path), { throwIfNoEntry: false }));
    return stat !== undefined;
  }

  isDirectory(path: string): boolean {
    const stat = attempt('look for', path, () => fs.statSync(this.at(path), { throwIfNoEntry: false }));
    return stat?.isDirectory() ?? false;
  }

  fileSize(path: string): number {
    return attempt('look for', path, () => fs.statSync(this.at(path))).size;
  }

  link(existing: string, path: string): boolean {
    try {
      fs.linkSync(this.at(existing), this.at(path));
      return true;
    } catch (error) {
      const errno = errnoOf(error);
      if (LINK_REFUSED.has(errno)) return false;
      throw ioError('link', errno === 'ENOENT' ? existing : path, errno, error);
    }
  }

  syncDirectory(path: string): void {
    if (process.platform === 'win32') return;
    const fd = attempt('open the folder', path, () => fs.openSync(this.at(path), fs.constants.O_RDONLY));
    try {
      fs.fsyncSync(fd);
    } catch (error) {
      const errno = errnoOf(error);
      if (!DIRECTORY_SYNC_REFUSED.has(errno)) throw ioError('sync the folder', path, errno, error);
    } finally {
      fs.closeSync(fd);
    }
  }

  async syncDirectoryAsync(path: string): Promise<void> {
    if (process.platform === 'win32') return;
    const fd = attempt('open the folder', path, () => fs.openSync(this.at(path), fs.constants.O_RDONLY));
    try {
      await toPromise('sync the folder', path, (then) => fs.fsync(fd, then));
    } catch (error) {
      if (!DIRECTORY_SYNC_REFUSED.has(String((error as RowanError).details['errno']))) throw error;
    } finally {
      fs.closeSync(fd);
    }
  }

  lock(directory: string): Promise<DirectoryLock> {
    return lockDirectory(directory, this.at(directory));
  }

  receive(directory: string, onReader: (reader: Duplex) => void): Promise<DirectoryLock | undefined> {
    return listenForReaders(directory, this.at(directory), onReader);
  }

  call(directory: string): Promise<Duplex | 'nobody' | 'unreachable'> {
    return connectToWriter(directory, this.at(directory));
  }

  /** The path by which the system finds `path`: through the descriptor of the pinned folder, whatever its name is by now. */
  private at(path: string): string {
    const { held } = this;
    if (held === undefined || !path.startsWith(held.directory)) return path;
    const rest = path.slice(held.directory.length);
    if (rest !== '' && !rest.startsWith('/') && !held.directory.endsWith('/')) return path;
    if (held.byDescriptor)
      return `/proc/self/fd/${held.descriptor}${rest.startsWith('/') ? rest : `/${rest}`}`;
    if (!isUnmoved(held)) throw ioError('find', held.directory, 'ESTALE');
    return path;
  }
}

/** Whether the system has paths that begin at a descriptor. */
function hasDescriptorPaths(descriptor: number): boolean {
  if (process.platform !== 'linux' && process.platform !== 'android') return false;
  try {
    const [own, byPath] = [fs.fstatSync(descriptor), fs.statSync(`/proc/self/fd/${descriptor}/`)];
    return own.ino === byPath.ino && own.dev === byPath.dev;
  } catch {
    return false;
  }
}

/** Whether the name still belongs to the pinned folder. */
function isUnmoved({ directory, descriptor }: HeldFolder): boolean {
  const own = fs.fstatSync(descriptor, { bigint: true });
  const named = fs.statSync(directory, { bigint: true, throwIfNoEntry: false });
  return named?.ino === own.ino && named.dev === own.dev;
}

/** A descriptor of the file, or of nothing: then to remove its name also frees its space. */
function descriptorOf(at: string): number | undefined {
  try {
    return fs.openSync(at, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
}

function ignored(): void {}

function attempt<T>(call: string, path: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw error instanceof RowanError ? error : ioError(call, path, errnoOf(error), error);
  }
}

/** Opens the file at `place`; errors call it `path`. */
function open(path: string, place: string, flags: number, call: string): NodeFileHandle {
  const fd = attempt(call, path, () => fs.openSync(place, flags, 0o666));
  const stat = attempt(call, path, () => fs.fstatSync(fd));
  if (stat.isDirectory()) {
    fs.closeSync(fd);
    throw ioError(call, path, 'EISDIR');
  }
  return new NodeFileHandle(path, fd, stat.size);
}

type Then<T> = (error: NodeJS.ErrnoException | null, value?: T) => void;

/** Turns a call with a callback into a promise. */
function toPromise<T>(call: string, path: string, start: (then: Then<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    start((error, value) => {
      if (error === null) resolve(value as T);
      else reject(ioError(call, path, errnoOf(error), error));
    });
  });
}

/** Zeros that `prepare` writes, in pieces of this length. */
const ZEROS = Buffer.alloc(1 << 18);

/** Receives bytes that are read only to bring them into the system's cache. Several threads write into it at once; nobody reads it. */
const DISCARDED = Buffer.allocUnsafeSlow(1 << 16);

class NodeFileHandle implements FileHandle {
  readonly path: string;
  private readonly fd: number;
  private length: number;
  /** Where the next write goes; from there up to `length` there are zeros. */
  private position: number;
  private isClosed = false;
  /** Calls off the thread that still use the descriptor. Closing it now would let them touch another file with its number. */
  private busy = 0;

  constructor(path: string, fd: number, size: number) {
    this.path = path;
    this.fd = fd;
    this.length = size;
    this.position = size;
  }

  get size(): number {
    return this.length;
  }

  get closed(): boolean {
    return this.isClosed;
  }

  read(buffer: Uint8Array, offset: number, length: number, position: number): number {
    if (this.isClosed) throw ioError('read', this.path, 'EBADF');
    let done = 0;
    try {
      while (done < length) {
        const count = fs.readSync(this.fd, buffer, offset + done, length - done, position + done);
        if (count === 0) break;
        done += count;
      }
    } catch (error) {
      throw ioError('read', this.path, errnoOf(error), error);
    }
    return done;
  }

  async readAhead(position: number, length: number): Promise<void> {
    if (this.isClosed) throw ioError('read', this.path, 'EBADF');
    const count = Math.min(length, DISCARDED.length);
    await this.offThread<number>('read', (then) => fs.read(this.fd, DISCARDED, 0, count, position, then));
  }

  write(buffer: Uint8Array, offset: number, length: number): void {
    if (this.isClosed) throw ioError('write', this.path, 'EBADF');
    let done = 0;
    try {
      while (done < length) {
        const count = fs.writeSync(this.fd, buffer, offset + done, length - done, this.position);
        done += count;
        this.position += count;
        if (this.position > this.length) this.length = this.position;
      }
    } catch (error) {
      throw ioError('write', this.path, errnoOf(error), error);
    }
  }

  async prepare(length: number): Promise<void> {
    if (this.isClosed) throw ioError('prepare', this.path, 'EBADF');
    for (let left = length; left > 0 && !this.isClosed; ) {
      const part = Math.min(left, ZEROS.length);
      const count = await this.offThread<number>('prepare', (then) =>
        fs.write(this.fd, ZEROS, 0, part, this.length, then),
      );
      this.length += count;
      left -= count;
    }
  }

  sync(): void {
    if (this.isClosed) throw ioError('sync', this.path, 'EBADF');
    attempt('sync', this.path, () => fs.fdatasyncSync(this.fd));
  }

  syncAsync(): Promise<void> {
    if (this.isClosed) return Promise.reject(ioError('sync', this.path, 'EBADF'));
    return this.offThread('sync', (then) => fs.fdatasync(this.fd, then));
  }

  /** Runs a call off the thread that uses the descriptor. */
  private async offThread<T>(call: string, start: (then: Then<T>) => void): Promise<T> {
    this.busy++;
    try {
      return await toPromise(call, this.path, start);
    } finally {
      this.busy--;
      if (this.isClosed && this.busy === 0) fs.closeSync(this.fd);
    }
  }

  truncate(length: number): void {
    if (this.isClosed) throw ioError('truncate', this.path, 'EBADF');
    if (length < 0 || length > this.length) {
      throw new InvalidArgumentError(`Cannot truncate "${this.path}" of ${this.length} bytes to ${length}.`);
    }
    attempt('truncate', this.path, () => fs.ftruncateSync(this.fd, length));
    this.length = length;
    this.position = Math.min(this.position, length);
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    if (this.busy === 0) attempt('close', this.path, () => fs.closeSync(this.fd));
  }
}
