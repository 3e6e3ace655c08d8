/**
 * Files open for reading, at most a given number at once. The least recently read file is closed, and opened again when it is next
 * read. Reads are synchronous, so no file is closed during a read.
 */

import { ClosedError } from '../../errors.js';
import { errnoOf, type FileHandle, type FileSystem } from '../fs/file-system.js';

/** A file that may or may not be open at the moment. */
export class CachedFile {
  /** Used by the cache. */
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

  /** Closes the file for good; further reads fail. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.cache.forget(this);
  }
}

export class FileHandleCache {
  /** In the order of their last reads, the latest last. */
  private readonly open = new Set<CachedFile>();
  /** How many times files were opened. */
  opens = 0;
  private latest: CachedFile | undefined;

  constructor(
    readonly fileSystem: FileSystem,
    /** The most files open at once, at least 1. */
    readonly budget: number,
  ) {}

  get openFiles(): number {
    return this.open.size;
  }

  /**
   * Opens a file for reading.
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

  /** Opens a file. When the process has no descriptors left, closes other files first: the rest of the program may need many. */
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

  /** Closes every handle. A file that is read later is opened again. */
  closeAll(): void {
    for (const file of [...this.open]) this.forget(file);
  }
}
