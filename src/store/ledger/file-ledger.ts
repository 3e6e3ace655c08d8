import type { FamilyDescriptor } from '../../table/index.js';
import type { BlockCache, FileHandleCache } from '../cache.js';
import type { StoreEnvironment } from '../environment.js';
import type { WrittenFile } from '../file/footer.js';
import { SortedFileReader } from '../file/sorted-file-reader.js';
import { StoreFile } from '../file/store-file.js';
import { joinPath, SharedSync, sortedFileName } from '../fs/index.js';
import { type Edit, liveFiles, namesFile } from '../manifest/index.js';
import type { Journal } from './journal.js';

/** A draft that is complete and synced. */
export interface CompleteFile {
  readonly written: WrittenFile;
  readonly family: FamilyDescriptor;
  /** The sequence number of all cells of a bulk-loaded file. */
  readonly seq?: number | undefined;
}

interface Publication {
  /** The new files; empty when files are only removed. */
  readonly files: readonly CompleteFile[];
  /** One change of the store: all edits are recorded, or none. */
  readonly edits: readonly Edit[];
  /** Makes the files, in the given order, visible to readers. Called in the turn in which the edits are known to be on the disk. */
  readonly adopt: (files: readonly StoreFile[]) => void;
}

/**
 * The ledger of sorted files: it owns each file from its creation to its removal.
 *
 * 1. A file begins as a draft. Whoever writes it may discard it until an edit that names it is passed to the MANIFEST.
 * 2. From then on only the ledger unlinks it, and only when no table retains it and an intact MANIFEST, as it is on the disk, does
 *    not name it. In doubt the file stays, and the next opener removes it.
 * 3. A published file, and every write before it, is on the disk before readers see it.
 */
export class FileLedger {
  /** Numbers of files that no edit named yet. */
  private readonly drafts = new Set<number>();
  private readonly open = new Map<number, StoreFile>();
  private journal: Journal | undefined;
  /** After {@link end}: what the MANIFEST names. */
  private named: ReadonlyMap<number, unknown> | undefined;
  /** The sync of the folder. */
  private readonly names = new SharedSync(() => {
    const { fileSystem, directory } = this.environment;
    return fileSystem.syncDirectoryAsync(directory);
  });

  constructor(
    private readonly environment: StoreEnvironment,
    private readonly handles: FileHandleCache,
    private readonly cache: BlockCache,
    /** Called with each file that is no longer retained. */
    private readonly onUnused?: (fileNo: number) => void,
  ) {}

  /** From now on files may be created and removed. */
  start(journal: Journal): void {
    this.journal = journal;
  }

  /** The MANIFEST has had its last edit. All files are released after it: so it is not searched for each of them. */
  end(): void {
    if (this.journal !== undefined) this.named = liveFiles(this.journal.manifest.state);
  }

  path(fileNo: number): string {
    return joinPath(this.environment.directory, sortedFileName(fileNo));
  }

  /**
   * Returns the number of a file that is about to be written.
   * @throws RowanError `ERR_READONLY` when the store could not record it.
   */
  draft(): number {
    this.started.checkWritable();
    const fileNo = this.started.manifest.newFileNumber();
    this.drafts.add(fileNo);
    return fileNo;
  }

  /** Removes a draft, written or not, whose handle is closed. A file that may be recorded stays. */
  discard(fileNo: number): void {
    if (this.drafts.delete(fileNo)) this.unlink(this.path(fileNo));
  }

  /** Opens a sorted file. All callers share one object while it is retained. */
  file(fileNo: number, size: number, seq: number | undefined, family: FamilyDescriptor): StoreFile {
    const known = this.open.get(fileNo);
    if (known) return known;
    const path = this.path(fileNo);
    const reader = SortedFileReader.open({ files: this.handles, cache: this.cache }, path, fileNo, {
      cacheBlocks: family.blockCache,
      inMemory: family.inMemory,
      ...(seq === undefined ? {} : { seq }),
    });
    const file = new StoreFile(fileNo, path, seq, reader, size, () => this.onReleased(file));
    this.open.set(fileNo, file);
    return file;
  }

  /**
   * Records new files and the removal of those they replace, and makes the change visible to readers.
   * @throws RowanError when the change could not be recorded: readers see the former files, and the new ones are removed, unless it
   *   is unknown whether the MANIFEST names them (`ERR_READONLY`).
   */
  async publishFiles({ files, edits, adopt }: Publication): Promise<void> {
    const opened: StoreFile[] = [];
    try {
      // Opened before they are recorded: a file that cannot be opened must not replace others.
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
    const { manifest, archive } = this.started;
    this.started.checkWritable();
    await archive?.before(edits);
    await Promise.all([this.started.sync(), files.length > 0 ? this.names.run() : undefined]);
    const sound = manifest.poisoned === undefined;
    for (const { fileNo } of files) this.drafts.delete(fileNo);
    try {
      await this.started.logAsync(edits);
    } catch (error) {
      // A refused edit of a working MANIFEST has changed nothing; a MANIFEST that had failed before did not even write it.
      if (!sound || manifest.poisoned === undefined) for (const { fileNo } of files) this.drafts.add(fileNo);
      await archive?.failed(edits);
      throw error;
    }
  }

  /** Called when the file is no longer retained. */
  private onReleased(file: StoreFile): void {
    this.open.delete(file.fileNo);
    file.reader.close();
    this.onUnused?.(file.fileNo);
    const manifest = this.journal?.manifest;
    if (manifest === undefined || manifest.poisoned !== undefined || this.drafts.has(file.fileNo)) return;
    const isNamed = this.named?.has(file.fileNo) ?? namesFile(manifest.state, file.fileNo);
    if (!isNamed) this.unlink(file.path);
  }

  private unlink(path: string): void {
    const { fileSystem } = this.environment;
    try {
      if (fileSystem.exists(path)) fileSystem.unlink(path);
    } catch {
      // No table names the file: the next opener removes it.
    }
  }

  private get started(): Journal {
    if (this.journal === undefined) throw new Error('The ledger of files is not started.');
    return this.journal;
  }
}
