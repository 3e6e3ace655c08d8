import { InvalidArgumentError, ioError, RowanError } from '../../errors.js';
import type { DirectoryLock, FileHandle, FileSystem } from '../../store/fs/index.js';
import { type CrashOptions, crashDirectory, MemoryDirectory, MemoryFile } from './memory-disk.js';

export type { CrashOptions } from './memory-disk.js';

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
    return this.file('read', path).content;
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

  link(existing: string, path: string): boolean {
    const file = this.file('link', existing);
    const { parent, name } = this.locate('link', path);
    if (parent.entries.has(name)) throw ioError('link', path, 'EEXIST');
    parent.entries.set(name, file);
    this.changed('link', path);
    return true;
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
    this.file.read(buffer, offset, count, position);
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
    this.file.extend(length);
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
