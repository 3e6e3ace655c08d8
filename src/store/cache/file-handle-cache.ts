/**
 * Files open for reading, no more than a given number of them at once: the one that was not read for longest is closed,
 * and opened again when it is next read. Reads are synchronous, so no file is closed under a read.
 */

import { ClosedError } from '../../errors.js';
import { errnoOf, type FileHandle, type FileSystem } from '../fs/file-system.js';

/** A file that may or may not be open at the moment. */
export class CachedFile {
  /** The cache's own. */
  handle: FileHandle | undefined;
  readonly size: number;
  private closed = false;

  constructor(
    private readonly cache: FileHandleCache,
    readonly path: string,
  ) {
    this.size = cache.use(this).size;
  }

  /** As `FileHandle.read`. */
  read(buffer: Uint8Array, offset: number, length: number, position: number): number {
    if (this.closed) {
      throw new ClosedError(`"${this.path}" was closed; read it through a reader that is still open.`, {
        details: { file: this.path },
      });
    }
    return this.cache.use(this).read(buffer, offset, length, position);
  }

  /** Gives its descriptor back; it cannot be read any more. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.cache.forget(this);
  }
}

export class FileHandleCache {
  /** In the order of their last reads, the latest last. */
  private readonly open = new Set<CachedFile>();
  /** How often a file was opened. */
  opens = 0;
  private latest: CachedFile | undefined;

  constructor(
    readonly fileSystem: FileSystem,
    /** Files open at once, at least 1. */
    readonly budget: number,
  ) {}

  get openFiles(): number {
    return this.open.size;
  }

  /**
   * A file to read from.
   * @throws RowanError `ERR_IO` when it cannot be opened.
   */
  file(path: string): CachedFile {
    return new CachedFile(this, path);
  }

  /** The open handle of `file`. */
  use(file: CachedFile): FileHandle {
    if (file.handle !== undefined) {
      if (file !== this.latest) {
        this.open.delete(file);
        this.open.add(file);
        this.latest = file;
      }
      return file.handle;
    }
    while (this.open.size >= this.budget && this.open.size > 0) {
      const [oldest] = this.open;
      this.forget(oldest!);
    }
    file.handle = this.openRead(file.path);
    this.opens++;
    this.open.add(file);
    this.latest = file;
    return file.handle;
  }

  /** Opens a file; closes others for it when the process has no descriptor left, as others in it may need many. */
  private openRead(path: string): FileHandle {
    for (;;) {
      try {
        return this.fileSystem.openRead(path);
      } catch (error) {
        const errno = errnoOf(error);
        const [oldest] = this.open;
        if ((errno !== 'EMFILE' && errno !== 'ENFILE') || oldest === undefined) throw error;
        this.forget(oldest);
      }
    }
  }

  /** Closes the handle of `file`, if it is open. */
  forget(file: CachedFile): void {
    if (file === this.latest) this.latest = undefined;
    this.open.delete(file);
    file.handle?.close();
    file.handle = undefined;
  }

  /** Closes every handle; a file that is read later is opened again. */
  closeAll(): void {
    for (const file of [...this.open]) this.forget(file);
  }
}
