/**
 * The ledger of sorted files: every one of them from its first byte to its last.
 *
 * 1. A file begins as a draft. As long as no edit that names it was handed to the MANIFEST, whoever made it may discard it.
 * 2. From then on nobody but the ledger unlinks it, and only when a sound MANIFEST, as it is on the disk, does not name
 *    it and nobody holds it. What it cannot tell it leaves to the next opener.
 * 3. What is published is on the disk before readers see it, together with every write that came before.
 */

import type { FamilyDescriptor } from '../../table/index.js';
import type { BlockCache, FileHandleCache } from '../cache/index.js';
import type { StoreEnvironment } from '../environment.js';
import type { WrittenFile } from '../file/file-meta.js';
import { SortedFileReader } from '../file/sorted-file-reader.js';
import { joinPath, sortedFileName } from '../fs/index.js';
import { type Edit, namesFile } from '../manifest/index.js';
import { StoreFile } from '../region/store-file.js';
import type { Journal } from './journal.js';

/** A draft that is complete and synced. */
export interface CompleteFile {
  readonly written: WrittenFile;
  readonly family: FamilyDescriptor;
  /** The seq of every cell of a bulk-loaded file. */
  readonly seq?: number | undefined;
}

export interface Publication {
  /** The new files, none when files are only taken away. */
  readonly files: readonly CompleteFile[];
  /** One change of the store: all of them are recorded, or none. */
  readonly edits: readonly Edit[];
  /** Puts the files, in the order given, before readers. Called in the turn in which the edits are known to be safe. */
  readonly adopt: (files: readonly StoreFile[]) => void;
}

export class FileLedger {
  /** Numbers of files that no edit was ever handed over for. */
  private readonly drafts = new Set<number>();
  private readonly open = new Map<number, StoreFile>();
  private journal: Journal | undefined;

  constructor(
    private readonly environment: StoreEnvironment,
    private readonly handles: FileHandleCache,
    private readonly cache: BlockCache,
    /** Told of each file that nobody holds any more. */
    private readonly onUnused?: (fileNo: number) => void,
  ) {}

  /** From now on files may be made and taken away. */
  start(journal: Journal): void {
    this.journal = journal;
  }

  path(fileNo: number): string {
    return joinPath(this.environment.directory, sortedFileName(fileNo));
  }

  /**
   * The number of a file that is about to be written.
   * @throws RowanError `ERR_READONLY` when it could not be recorded.
   */
  draft(): number {
    this.started.checkWritable();
    const fileNo = this.started.manifest.newFileNumber();
    this.drafts.add(fileNo);
    return fileNo;
  }

  /** Takes a draft away, written or not, that is closed for writing. A file that may be recorded stays as it is. */
  discard(fileNo: number): void {
    if (this.drafts.delete(fileNo)) this.unlink(this.path(fileNo));
  }

  /** A sorted file that stores can hold; the same for all who ask while somebody holds it. */
  file(fileNo: number, size: number, seq: number | undefined, family: FamilyDescriptor): StoreFile {
    const known = this.open.get(fileNo);
    if (known) return known;
    const path = this.path(fileNo);
    const reader = SortedFileReader.open({ files: this.handles, cache: this.cache }, path, fileNo, {
      cacheBlocks: family.blockCache,
      inMemory: family.inMemory,
      ...(seq === undefined ? {} : { seq }),
    });
    const file = new StoreFile(fileNo, path, seq, reader, size, () => this.unused(file));
    this.open.set(fileNo, file);
    return file;
  }

  /**
   * Records new files and what they take the place of, and puts them before readers.
   * @throws RowanError when they could not be recorded: readers see what they saw, and what was written is removed,
   *   unless it is unknown whether the MANIFEST names it (`ERR_READONLY`).
   */
  async publishFiles({ files, edits, adopt }: Publication): Promise<void> {
    const opened: StoreFile[] = [];
    try {
      // Before they are recorded: a file that cannot be opened must not take the place of others.
      for (const { written, family, seq } of files) {
        const file = this.file(written.meta.fileNo, written.size, seq, family);
        file.retain();
        opened.push(file);
      }
      await this.record(opened, edits);
      adopt(opened);
    } finally {
      for (const file of opened) file.release();
      for (const { written } of files) this.discard(written.meta.fileNo);
    }
  }

  private async record(files: readonly StoreFile[], edits: readonly Edit[]): Promise<void> {
    const { manifest } = this.started;
    this.started.checkWritable();
    await this.started.sync();
    const sound = manifest.poisoned === undefined;
    for (const { fileNo } of files) this.drafts.delete(fileNo);
    try {
      await this.started.logAsync(edits);
    } catch (error) {
      // Before it failed for good, an edit that is refused has changed nothing; after, it was not even written.
      if (!sound || manifest.poisoned === undefined) for (const { fileNo } of files) this.drafts.add(fileNo);
      throw error;
    }
  }

  /** Nobody holds the file any more. */
  private unused(file: StoreFile): void {
    this.open.delete(file.fileNo);
    file.reader.close();
    this.onUnused?.(file.fileNo);
    const manifest = this.journal?.manifest;
    if (manifest === undefined || manifest.poisoned !== undefined || this.drafts.has(file.fileNo)) return;
    if (!namesFile(manifest.state, file.fileNo)) this.unlink(file.path);
  }

  private unlink(path: string): void {
    const { fileSystem } = this.environment;
    try {
      if (fileSystem.exists(path)) fileSystem.unlink(path);
    } catch {
      // A file that nothing names: the next opener removes it.
    }
  }

  private get started(): Journal {
    if (this.journal === undefined) throw new Error('The ledger of files is not started.');
    return this.journal;
  }
}
