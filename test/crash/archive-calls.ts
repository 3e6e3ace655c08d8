import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { basename, dirname } from 'node:path';
import { errnoOf } from '../../src/errors.js';
import type { FileHandle } from '../../src/store/fs/index.js';
import type { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import type { FaultFileSystem, FileCall } from '../store/fs/fault-fs.js';

const CALLS = ['open', 'readdir', 'readFile', 'rename', 'rm', 'stat', 'truncate'] as const;

/**
 * Answers Node's calls on the folder of an archive from a disk in memory, so that it fails and loses power as the store's disk does. The
 * files that lock the folder stay on the real disk.
 */
export class ArchiveCalls {
  private readonly real = { ...promises };

  constructor(
    private readonly folder: string,
    public memory: MemoryFileSystem,
    public faults: FaultFileSystem,
  ) {
    for (const name of CALLS) {
      const real = promises[name] as (path: string, ...more: unknown[]) => Promise<unknown>;
      const own = this[name].bind(this) as (path: string, ...more: unknown[]) => unknown;
      Object.assign(promises, {
        [name]: async (path: string, ...more: unknown[]) => {
          if (!this.isOwn(path)) return real(path, ...more);
          try {
            return own(path, ...more);
          } catch (error) {
            throw systemError(error, name, path);
          }
        },
      });
    }
    syncBuiltinESMExports();
  }

  /** Node's calls are Node's again. */
  end(): void {
    Object.assign(promises, this.real);
    syncBuiltinESMExports();
  }

  private isOwn(path: unknown): boolean {
    if (typeof path !== 'string') return false;
    return path === this.folder || (dirname(path) === this.folder && !basename(path).startsWith('LOCK'));
  }

  private open(path: string, flags: string | number): OpenFile {
    const { memory, faults } = this;
    faults.enter('open', path);
    if (path === this.folder) return new OpenFile(this, path, undefined);
    if (!memory.exists(path) && flags !== 'r' && flags !== 'r+') memory.create(path).close();
    const handle = memory.openAppend(path);
    if (flags === 'w') handle.truncate(0);
    return new OpenFile(this, path, handle);
  }

  private readdir(path: string): string[] {
    return this.faults.readdir(path);
  }

  private readFile(path: string): Buffer {
    this.faults.enter('read', path);
    return Buffer.from(this.memory.contents(path));
  }

  private rename(from: string, to: string): void {
    this.faults.rename(from, to);
  }

  private rm(path: string, { force = false } = {}): void {
    if (force && !this.memory.exists(path)) return;
    this.faults.unlink(path);
  }

  private stat(path: string): { readonly size: number } {
    if (this.memory.isDirectory(path)) return { size: 0 };
    return { size: this.faults.fileSize(path) };
  }

  private truncate(path: string, length: number): void {
    this.faults.enter('truncate', path);
    const file = this.memory.openAppend(path);
    file.truncate(length);
    file.close();
  }
}

/** An error as Node throws it. */
function systemError(error: unknown, syscall: string, path: string): unknown {
  const code = errnoOf(error);
  return code === 'UNKNOWN'
    ? error
    : Object.assign(new Error(`${code}, ${syscall} '${path}'`), { code, syscall, path });
}

/** What `open` of `node:fs/promises` gives, as far as an archive uses it. */
class OpenFile {
  private position = 0;

  constructor(
    private readonly calls: ArchiveCalls,
    private readonly path: string,
    /** None of a folder. */
    private readonly handle: FileHandle | undefined,
  ) {}

  private try<T>(call: FileCall, run: () => T): T {
    try {
      this.calls.faults.enter(call, this.path);
      return run();
    } catch (error) {
      throw systemError(error, call, this.path);
    }
  }

  /** A full disk takes a part of the bytes, which is no error yet. */
  async write(
    bytes: Uint8Array,
    offset = 0,
    length = bytes.length - offset,
    position = this.position,
  ): Promise<{ readonly bytesWritten: number }> {
    const { memory, faults } = this.calls;
    const fault = faults.next('write', this.path);
    const count = fault === undefined ? length : Math.min(length, fault.shortWrite?.(length) ?? 0);
    if (count === 0 && length > 0) throw systemError(this.failure(fault?.errno), 'write', this.path);
    const { size } = this.handle!;
    // A gap before the position is zeros.
    if (position > size) memory.writeAt(this.path, new Uint8Array(position - size), size);
    memory.writeAt(this.path, bytes.subarray(offset, offset + count), position);
    this.position = position + count;
    return { bytesWritten: count };
  }

  private failure(code = 'EIO'): Error {
    return Object.assign(new Error(code), { code });
  }

  async writeFile(text: string): Promise<void> {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; ) at += (await this.write(bytes, at)).bytesWritten;
  }

  async truncate(length = 0): Promise<void> {
    this.try('truncate', () => {
      const { size } = this.handle!;
      if (length > size) this.calls.memory.writeAt(this.path, new Uint8Array(length - size), size);
      else this.handle!.truncate(length);
    });
  }

  async stat(): Promise<{ readonly size: number }> {
    return this.try('stat', () => ({ size: this.handle!.size }));
  }

  async sync(): Promise<void> {
    const { handle } = this;
    if (handle === undefined) this.try('syncDirectory', () => this.calls.memory.syncDirectory(this.path));
    else this.try('sync', () => handle.sync());
  }

  datasync(): Promise<void> {
    return this.sync();
  }

  async close(): Promise<void> {
    this.handle?.close();
  }
}
