import { ioError } from '../../../src/errors.js';
import type { DirectoryLock, FileHandle, FileSystem } from '../../../src/store/fs/index.js';

export type FileCall =
  | 'open'
  | 'create'
  | 'read'
  | 'write'
  | 'sync'
  | 'truncate'
  | 'prepare'
  | 'mkdir'
  | 'readdir'
  | 'rename'
  | 'unlink'
  | 'stat'
  | 'link'
  | 'syncDirectory'
  | 'lock';

/** A failure to come. */
export interface Fault {
  /** The calls that count and fail; default every one. */
  readonly calls?: readonly FileCall[];
  /** Only files whose path this matches. */
  readonly path?: RegExp;
  /** How many matching calls succeed first; default 0. */
  readonly after?: number;
  /** How many fail then; default 1, `Infinity` for ever. */
  readonly times?: number;
  /** The system's code; default EIO. */
  readonly errno?: string;
  /** Of a failing write: how many of its bytes reach the file all the same. Default none. */
  readonly shortWrite?: (length: number) => number;
}

interface ArmedFault {
  readonly fault: Fault;
  seen: number;
}

/** Any file system, with failures on demand. */
export class FaultFileSystem implements FileSystem {
  private readonly inner: FileSystem;
  private armed: ArmedFault[] = [];
  private made = 0;
  private failed = 0;

  constructor(inner: FileSystem) {
    this.inner = inner;
  }

  /** How many calls were made so far, failed ones included. */
  get calls(): number {
    return this.made;
  }

  /** How many calls failed on demand. */
  get failures(): number {
    return this.failed;
  }

  inject(fault: Fault): void {
    this.armed.push({ fault, seen: 0 });
  }

  /** Everything works again. */
  clear(): void {
    this.armed = [];
  }

  openRead(path: string): FileHandle {
    this.enter('open', path);
    return new FaultFileHandle(this, this.inner.openRead(path));
  }

  openAppend(path: string): FileHandle {
    this.enter('open', path);
    return new FaultFileHandle(this, this.inner.openAppend(path));
  }

  create(path: string): FileHandle {
    this.enter('create', path);
    return new FaultFileHandle(this, this.inner.create(path));
  }

  mkdir(path: string): void {
    this.enter('mkdir', path);
    this.inner.mkdir(path);
  }

  readdir(path: string): string[] {
    this.enter('readdir', path);
    return this.inner.readdir(path);
  }

  rename(from: string, to: string): void {
    this.enter('rename', to);
    this.inner.rename(from, to);
  }

  unlink(path: string): void {
    this.enter('unlink', path);
    this.inner.unlink(path);
  }

  rmdir(path: string): void {
    this.enter('unlink', path);
    this.inner.rmdir(path);
  }

  exists(path: string): boolean {
    this.enter('stat', path);
    return this.inner.exists(path);
  }

  isDirectory(path: string): boolean {
    this.enter('stat', path);
    return this.inner.isDirectory(path);
  }

  fileSize(path: string): number {
    this.enter('stat', path);
    return this.inner.fileSize(path);
  }

  link(existing: string, path: string): boolean {
    this.enter('link', path);
    return this.inner.link(existing, path);
  }

  syncDirectory(path: string): void {
    this.enter('syncDirectory', path);
    this.inner.syncDirectory(path);
  }

  async syncDirectoryAsync(path: string): Promise<void> {
    this.enter('syncDirectory', path);
    return this.inner.syncDirectoryAsync(path);
  }

  async lock(directory: string): Promise<DirectoryLock> {
    this.enter('lock', directory);
    return this.inner.lock(directory);
  }

  /** Throws when the call is one that is to fail. */
  enter(call: FileCall, path: string): void {
    const fault = this.next(call, path);
    if (fault !== undefined) throw ioError(call, path, fault.errno ?? 'EIO');
  }

  /** The fault that strikes this call, if any. */
  next(call: FileCall, path: string): Fault | undefined {
    this.made++;
    for (const armed of this.armed) {
      const { calls, path: pattern, after = 0, times = 1 } = armed.fault;
      if (calls !== undefined && !calls.includes(call)) continue;
      if (pattern !== undefined && !pattern.test(path)) continue;
      const seen = armed.seen++;
      if (seen >= after && seen < after + times) {
        this.failed++;
        return armed.fault;
      }
    }
    return undefined;
  }
}

class FaultFileHandle implements FileHandle {
  private readonly files: FaultFileSystem;
  private readonly inner: FileHandle;

  constructor(files: FaultFileSystem, inner: FileHandle) {
    this.files = files;
    this.inner = inner;
  }

  get path(): string {
    return this.inner.path;
  }

  get size(): number {
    return this.inner.size;
  }

  get closed(): boolean {
    return this.inner.closed;
  }

  read(buffer: Uint8Array, offset: number, length: number, position: number): number {
    this.files.enter('read', this.path);
    return this.inner.read(buffer, offset, length, position);
  }

  write(buffer: Uint8Array, offset: number, length: number): void {
    const fault = this.files.next('write', this.path);
    if (fault === undefined) {
      this.inner.write(buffer, offset, length);
      return;
    }
    const kept = Math.min(length, fault.shortWrite?.(length) ?? 0);
    if (kept > 0) this.inner.write(buffer, offset, kept);
    throw ioError('write', this.path, fault.errno ?? 'EIO');
  }

  async prepare(length: number): Promise<void> {
    this.files.enter('prepare', this.path);
    return this.inner.prepare(length);
  }

  sync(): void {
    this.files.enter('sync', this.path);
    this.inner.sync();
  }

  async syncAsync(): Promise<void> {
    this.files.enter('sync', this.path);
    return this.inner.syncAsync();
  }

  truncate(length: number): void {
    this.files.enter('truncate', this.path);
    this.inner.truncate(length);
  }

  close(): void {
    this.inner.close();
  }
}

/** The ways in which a disk fails: injected after any number of calls, none of them may lose or invent data. */
export const DISK_FAILURES: readonly { readonly name: string; readonly fault: Fault }[] = [
  { name: 'one write fails (EIO)', fault: { calls: ['write'], errno: 'EIO', times: 1 } },
  {
    name: 'the disk is full from here on',
    fault: { calls: ['write', 'create'], errno: 'ENOSPC', times: Infinity },
  },
  { name: 'one sync fails', fault: { calls: ['sync'], errno: 'EIO', times: 1 } },
  { name: 'one folder cannot be synced', fault: { calls: ['syncDirectory'], errno: 'EIO', times: 1 } },
  { name: 'one rename fails', fault: { calls: ['rename'], errno: 'EIO', times: 1 } },
  {
    name: 'no more files can be opened',
    fault: { calls: ['open', 'create'], errno: 'EMFILE', times: Infinity },
  },
  { name: 'one read fails', fault: { calls: ['read'], errno: 'EIO', times: 1 } },
  { name: 'one removal fails', fault: { calls: ['unlink'], errno: 'EIO', times: 1 } },
  { name: 'everything fails from here on', fault: { errno: 'EIO', times: Infinity } },
];
