import { EMPTY_BYTES } from '../../bytes/index.js';
import { InvalidArgumentError, ioError, RowanError } from '../../errors.js';
import type { DirectoryLock, FileHandle, FileSystem } from '../../store/fs/index.js';

/** The parts of the disk in memory, and what a loss of power leaves of it. */

/** The effect of a loss of power on data that was not synced. */
export interface CrashOptions {
  /** The probability, 0..1, that an unsynced block or name is on the disk. 1 is the kill of a process. */
  readonly keepUnsynced: number;
  /** Numbers in 0..1, seeded for a run that can be repeated. */
  readonly random: () => number;
  /** How many bytes are lost or kept together; default 4096. */
  readonly unit?: number;
}

/** Bytes that were written over, of the safe ones. */
interface Overwritten {
  readonly at: number;
  readonly bytes: Uint8Array;
}

/** A file: what programs read of it, and what is safe. */
class MemoryFile {
  /** With room to grow; the content is the first `length` bytes. */
  data: Uint8Array = EMPTY_BYTES;
  length = 0;
  /** The safe content is the first `syncedLength` bytes of `data`, or `syncedCopy` when a truncation cut into them. */
  private syncedLength = 0;
  private syncedCopy: Uint8Array | undefined;
  /** Synced bytes where `data` has newer ones, in the order in which they were written over. */
  private overwritten: Overwritten[] = [];

  append(bytes: Uint8Array, offset: number, length: number): void {
    this.write(bytes, offset, length, this.length);
  }

  /** Writes at `at`, which is no further than the end. */
  write(bytes: Uint8Array, offset: number, length: number, at: number): void {
    const end = at + length;
    if (at < this.syncedLength && this.syncedCopy === undefined)
      this.overwritten.push({ at, bytes: this.data.slice(at, Math.min(end, this.syncedLength)) });
    if (end > this.data.length) {
      const grown = new Uint8Array(Math.max(end, 2 * this.data.length, 256));
      grown.set(this.data.subarray(0, this.length));
      this.data = grown;
    }
    this.data.set(bytes.subarray(offset, offset + length), at);
    if (end > this.length) this.length = end;
  }

  truncate(length: number): void {
    if (length < this.syncedLength && this.syncedCopy === undefined) {
      this.syncedCopy = this.synced.slice();
      this.overwritten = [];
    }
    this.length = length;
  }

  /** The content that a sync which begins now makes safe. */
  get writes(): number {
    return this.overwritten.length;
  }

  /** Makes the first `length` bytes safe, with the first `writes` of the writes over safe bytes applied. */
  sync(length: number, writes = this.overwritten.length): void {
    this.overwritten.splice(0, writes);
    if (this.syncedCopy === undefined && length < this.syncedLength) return;
    this.syncedCopy = undefined;
    this.syncedLength = length;
  }

  get synced(): Uint8Array {
    if (this.syncedCopy !== undefined) return this.syncedCopy;
    const safe = this.data.subarray(0, this.syncedLength);
    if (this.overwritten.length === 0) return safe;
    const copy = safe.slice();
    for (let i = this.overwritten.length - 1; i >= 0; i--)
      copy.set(this.overwritten[i]!.bytes, this.overwritten[i]!.at);
    return copy;
  }
}

/** A folder: its names as programs see them, and the names that are safe. */
class MemoryDirectory {
  entries = new Map<string, MemoryFile | MemoryDirectory>();
  syncedEntries = new Map<string, MemoryFile | MemoryDirectory>();
  private begun = 0;
  private ended = 0;

  /**
   * Begins to make the present names safe, and returns a function that completes it. Syncs may complete in another
   * order.
   */
  beginSync(): () => void {
    const entries = new Map(this.entries);
    const number = ++this.begun;
    return () => {
      if (number < this.ended) return;
      this.ended = number;
      this.syncedEntries = entries;
    };
  }
}

/** Returns a copy of `directory` and its content as a loss of power leaves it. */
function crashDirectory(directory: MemoryDirectory, crash: CrashOptions): MemoryDirectory {
  // Two names of one file stay two names of one file.
  const copies = new Map<MemoryFile, MemoryFile>();
  return crashNames(directory, crash, copies);
}

function crashNames(
  directory: MemoryDirectory,
  crash: CrashOptions,
  copies: Map<MemoryFile, MemoryFile>,
): MemoryDirectory {
  const found = new MemoryDirectory();
  const names = new Set([...directory.syncedEntries.keys(), ...directory.entries.keys()]);
  for (const name of names) {
    const now = directory.entries.get(name);
    const safe = directory.syncedEntries.get(name);
    const node = now === safe || crash.random() < crash.keepUnsynced ? now : safe;
    if (node === undefined) continue;
    if (node instanceof MemoryDirectory) {
      found.entries.set(name, crashNames(node, crash, copies));
      continue;
    }
    let copy = copies.get(node);
    if (copy === undefined) {
      const bytes = crashBytes(node, crash);
      copy = new MemoryFile();
      copy.append(bytes, 0, bytes.length);
      copy.sync(bytes.length);
      copies.set(node, copy);
    }
    found.entries.set(name, copy);
  }
  found.syncedEntries = new Map(found.entries);
  return found;
}

/** The safe bytes, each unsynced block written over them or not. Holes are zeros, and the end may be cut anywhere. */
function crashBytes(file: MemoryFile, { keepUnsynced, random, unit = 4096 }: CrashOptions): Uint8Array {
  const now = file.data.subarray(0, file.length);
  const safe = file.synced;
  if (keepUnsynced >= 1) return now.slice();
  if (keepUnsynced <= 0) return safe.slice();
  const bytes = new Uint8Array(Math.max(now.length, safe.length));
  bytes.set(safe);
  let length = now.length < safe.length && random() < keepUnsynced ? now.length : safe.length;
  const firstUnsynced = Math.floor(commonLength(now, safe) / unit) * unit;
  for (let at = firstUnsynced; at < now.length; at += unit) {
    if (random() >= keepUnsynced) continue;
    const end = Math.min(at + unit, now.length);
    bytes.set(now.subarray(at, end), at);
    if (end > length) length = end;
  }
  if (length > safe.length && random() < 0.5) {
    length = safe.length + Math.floor(random() * (length - safe.length + 1));
  }
  return bytes.subarray(0, length);
}

function commonLength(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  let at = 0;
  while (at < length && a[at] === b[at]) at++;
  return at;
}

/** A call that changed what is on the simulated disk. */
export interface MemoryOperation {
  readonly call:
    | 'create'
    | 'write'
    | 'prepare'
    | 'sync'
    | 'truncate'
    | 'mkdir'
    | 'rename'
    | 'unlink'
    | 'link'
    | 'syncDirectory';
  readonly path: string;
}

export interface MemoryFileSystemOptions {
  /** Called after each change: the place to take a {@link MemoryFileSystem.crash}. */
  readonly onOperation?: (operation: MemoryOperation) => void;
  /** How long `syncAsync` takes; default one turn of the microtask queue. */
  readonly syncDelay?: () => Promise<void>;
}

/**
 * A disk in memory that can lose power. {@link crash} returns the disk after the loss: synced data is there, each
 * unsynced block and name with a given probability.
 */
export class MemoryFileSystem implements FileSystem {
  private readonly root: MemoryDirectory;
  private readonly options: MemoryFileSystemOptions;
  private readonly locked = new Set<string>();
  private open = 0;

  constructor(options: MemoryFileSystemOptions = {}, root = new MemoryDirectory()) {
    this.options = options;
    this.root = root;
  }

  /** How many handles are open: a test's way to see leaks. */
  get openHandles(): number {
    return this.open;
  }

  /** Returns the disk after a loss of power at this moment. This disk is unchanged. */
  crash(crash: CrashOptions, options: MemoryFileSystemOptions = {}): MemoryFileSystem {
    return new MemoryFileSystem(options, crashDirectory(this.root, crash));
  }

  /** The bytes of a file, not copied: a test may change them as a failing disk would. */
  contents(path: string): Uint8Array {
    const file = this.file('read', path);
    return file.data.subarray(0, file.length);
  }

  /** Puts a file there, synced, in place of any other. */
  place(path: string, bytes: Uint8Array): void {
    const { parent, name } = this.locate('create', path);
    const file = new MemoryFile();
    file.append(bytes, 0, bytes.length);
    file.sync(bytes.length);
    parent.entries.set(name, file);
    parent.syncedEntries.set(name, file);
  }

  openRead(path: string): FileHandle {
    return this.handle(path, this.file('open', path), false);
  }

  openAppend(path: string): FileHandle {
    return this.handle(path, this.file('open', path), true);
  }

  create(path: string): FileHandle {
    const { parent, name } = this.locate('create', path);
    if (parent.entries.has(name)) throw ioError('create', path, 'EEXIST');
    const file = new MemoryFile();
    parent.entries.set(name, file);
    this.changed('create', path);
    return this.handle(path, file, true);
  }

  mkdir(path: string): void {
    let directory = this.root;
    for (const name of partsOf(path)) {
      let next = directory.entries.get(name);
      if (next === undefined) {
        next = new MemoryDirectory();
        directory.entries.set(name, next);
        this.changed('mkdir', path);
      }
      if (next instanceof MemoryFile) throw ioError('make the folder', path, 'EEXIST');
      directory = next;
    }
  }

  readdir(path: string): string[] {
    return [...this.directory('list the folder', path).entries.keys()].sort();
  }

  rename(from: string, to: string): void {
    const source = this.locate('rename', from);
    const node = source.parent.entries.get(source.name);
    if (node === undefined) throw ioError('rename', from, 'ENOENT');
    const target = this.locate('rename', to);
    if (target.parent.entries.get(target.name) instanceof MemoryDirectory)
      throw ioError('rename', from, 'EISDIR');
    source.parent.entries.delete(source.name);
    target.parent.entries.set(target.name, node);
    this.changed('rename', to);
  }

  unlink(path: string): void {
    const { parent, name } = this.locate('remove', path);
    const node = parent.entries.get(name);
    if (!(node instanceof MemoryFile))
      throw ioError('remove', path, node === undefined ? 'ENOENT' : 'EISDIR');
    parent.entries.delete(name);
    this.changed('unlink', path);
  }

  rmdir(path: string): void {
    if (this.directory('remove the folder', path).entries.size > 0)
      throw ioError('remove the folder', path, 'ENOTEMPTY');
    const { parent, name } = this.locate('remove the folder', path);
    parent.entries.delete(name);
    this.changed('unlink', path);
  }

  exists(path: string): boolean {
    return this.find(path) !== undefined;
  }

  isDirectory(path: string): boolean {
    return this.find(path) instanceof MemoryDirectory;
  }

  fileSize(path: string): number {
    return this.file('look for', path).length;
  }

  link(existing: string, path: string): void {
    const file = this.file('link', existing);
    const { parent, name } = this.locate('link', path);
    if (parent.entries.has(name)) throw ioError('link', path, 'EEXIST');
    parent.entries.set(name, file);
    this.changed('link', path);
  }

  syncDirectory(path: string): void {
    const directory = this.directory('sync the folder', path);
    directory.beginSync()();
    this.changed('syncDirectory', path);
  }

  async syncDirectoryAsync(path: string): Promise<void> {
    const directory = this.directory('sync the folder', path);
    const end = directory.beginSync();
    await (this.options.syncDelay?.() ?? Promise.resolve());
    end();
    this.changed('syncDirectory', path);
  }

  /** Writes at `position` of a file, or after its end, as another program would. */
  writeAt(path: string, bytes: Uint8Array, position: number): void {
    this.file('write', path).write(bytes, 0, bytes.length, position);
    this.changed('write', path);
  }

  async lock(directory: string): Promise<DirectoryLock> {
    this.directory('lock the folder', directory);
    const key = partsOf(directory).join('/');
    if (this.locked.has(key)) {
      throw new RowanError(
        'ERR_LOCKED',
        `The store in "${directory}" is in use by this process (pid ${process.pid}) itself. Close it there first.`,
        { retryable: true, details: { file: directory, pid: process.pid } },
      );
    }
    this.locked.add(key);
    let held = true;
    return {
      release: async () => {
        if (held) this.locked.delete(key);
        held = false;
      },
    };
  }

  /** For the handles: a change by them. */
  changed(call: MemoryOperation['call'], path: string): void {
    this.options.onOperation?.({ call, path });
  }

  private handle(path: string, file: MemoryFile, writable: boolean): FileHandle {
    this.open++;
    const delay = this.options.syncDelay ?? (() => Promise.resolve());
    return new MemoryFileHandle(this, path, file, writable, delay, () => this.open--);
  }

  private find(path: string): MemoryDirectory | MemoryFile | undefined {
    let node: MemoryDirectory | MemoryFile = this.root;
    for (const name of partsOf(path)) {
      if (node instanceof MemoryFile) return undefined;
      const next = node.entries.get(name);
      if (next === undefined) return undefined;
      node = next;
    }
    return node;
  }

  private file(call: string, path: string): MemoryFile {
    const node = this.find(path);
    if (node instanceof MemoryFile) return node;
    throw ioError(call, path, node === undefined ? 'ENOENT' : 'EISDIR');
  }

  private directory(call: string, path: string): MemoryDirectory {
    const node = this.find(path);
    if (node instanceof MemoryDirectory) return node;
    throw ioError(call, path, node === undefined ? 'ENOENT' : 'ENOTDIR');
  }

  private locate(call: string, path: string): { parent: MemoryDirectory; name: string } {
    const parts = partsOf(path);
    const name = parts.pop();
    if (name === undefined) throw ioError(call, path, 'EINVAL');
    return { parent: this.directory(call, parts.join('/')), name };
  }
}

function partsOf(path: string): string[] {
  return path.split('/').filter((part) => part !== '' && part !== '.');
}

class MemoryFileHandle implements FileHandle {
  readonly path: string;
  private isClosed = false;
  /** The position of the next write. */
  private position: number;
  private readonly files: MemoryFileSystem;
  private readonly file: MemoryFile;
  private readonly writable: boolean;
  private readonly syncDelay: () => Promise<void>;
  private readonly onClose: () => void;

  constructor(
    files: MemoryFileSystem,
    path: string,
    file: MemoryFile,
    writable: boolean,
    syncDelay: () => Promise<void>,
    onClose: () => void,
  ) {
    this.files = files;
    this.path = path;
    this.file = file;
    this.position = file.length;
    this.writable = writable;
    this.syncDelay = syncDelay;
    this.onClose = onClose;
  }

  get size(): number {
    return this.file.length;
  }

  get closed(): boolean {
    return this.isClosed;
  }

  read(buffer: Uint8Array, offset: number, length: number, position: number): number {
    this.check('read', false);
    const count = Math.max(0, Math.min(length, this.file.length - position));
    buffer.set(this.file.data.subarray(position, position + count), offset);
    return count;
  }

  write(buffer: Uint8Array, offset: number, length: number): void {
    this.check('write', true);
    this.file.write(buffer, offset, length, this.position);
    this.position += length;
    this.files.changed('write', this.path);
  }

  async prepare(length: number): Promise<void> {
    this.check('prepare', true);
    await this.syncDelay();
    if (this.isClosed) return;
    this.file.append(new Uint8Array(length), 0, length);
    this.files.changed('prepare', this.path);
  }

  sync(): void {
    this.check('sync', false);
    this.file.sync(this.file.length);
    this.files.changed('sync', this.path);
  }

  async syncAsync(): Promise<void> {
    this.check('sync', false);
    const { length, writes } = this.file;
    await this.syncDelay();
    this.file.sync(Math.min(length, this.file.length), writes);
    this.files.changed('sync', this.path);
  }

  truncate(length: number): void {
    this.check('truncate', true);
    if (length < 0 || length > this.file.length) {
      throw new InvalidArgumentError(
        `Cannot truncate "${this.path}" of ${this.file.length} bytes to ${length}.`,
      );
    }
    this.file.truncate(length);
    this.position = Math.min(this.position, length);
    this.files.changed('truncate', this.path);
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.onClose();
  }

  private check(call: string, writes: boolean): void {
    if (this.isClosed || (writes && !this.writable)) throw ioError(call, this.path, 'EBADF');
  }
}
