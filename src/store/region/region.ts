/** A contiguous range of a table's rows (HBase `HRegion`): a {@link FamilyStore} for each family, and request counters. */

import { compareBytes } from '../../bytes/index.js';
import type { FamilyDescriptor } from '../../table/index.js';
import type { CellCursor } from '../cursor.js';
import type { StoreFile } from '../file/store-file.js';
import type { ChunkPool } from '../memstore/arena.js';
import { Memstore } from '../memstore/memstore.js';
import { EmptyRanges } from '../read/empty-ranges.js';
import { KnownColumns } from '../scan/row-run.js';
import type { FamilySource, ReadHint } from '../scan/store-read.js';

export class Region {
  readRequests = 0;
  writeRequests = 0;
  /** Resolves when the running split or merge has ended; automatic compactions do not begin meanwhile. */
  reshaping: Promise<void> | undefined;
  /** It was split or merged, or its table was dropped. */
  retired = false;

  constructor(
    readonly id: number,
    /** The number of its table. */
    readonly table: number,
    /** Inclusive; empty: from the first row. */
    readonly startKey: Uint8Array,
    /** Exclusive; empty: to the last row. */
    readonly endKey: Uint8Array,
    /** In the byte order of the family names. */
    public stores: readonly FamilyStore[],
  ) {
    this.byFamily = new Map(stores.map((store) => [store.descriptor.name, store]));
  }

  byFamily: ReadonlyMap<string, FamilyStore>;

  /** Replaces the families after the table was altered. */
  setStores(stores: readonly FamilyStore[]): void {
    this.stores = stores;
    this.byFamily = new Map(stores.map((store) => [store.descriptor.name, store]));
  }

  /** R85. */
  contains(row: Uint8Array): boolean {
    return (
      compareBytes(row, this.startKey) >= 0 &&
      (this.endKey.length === 0 || compareBytes(row, this.endKey) < 0)
    );
  }

  /** Whether some row is in the range of both. */
  overlaps({ startKey, endKey }: Region): boolean {
    return (
      (this.endKey.length === 0 || compareBytes(startKey, this.endKey) < 0) &&
      (endKey.length === 0 || compareBytes(this.startKey, endKey) < 0)
    );
  }

  get memstoreBytes(): number {
    let bytes = 0;
    for (const store of this.stores) bytes += store.memstoreBytes;
    return bytes;
  }

  get fileBytes(): number {
    let bytes = 0;
    for (const store of this.stores) bytes += store.fileBytes;
    return bytes;
  }
}

/** The region that contains `row`. `regions` are in key order and without gaps. */
export function regionOf(regions: readonly Region[], row: Uint8Array): Region {
  let low = 0;
  let high = regions.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if (compareBytes(regions[middle]!.startKey, row) <= 0) low = middle;
    else high = middle - 1;
  }
  return regions[low]!;
}

/** The memstores and files of a family at one moment. Whoever keeps it over an `await` retains it, and releases it later. */
export class StoreVersion {
  private references = 1;
  readonly emptyRanges = new EmptyRanges();

  constructor(
    readonly active: Memstore,
    /** Newest first. */
    readonly frozen: readonly Memstore[],
    /** Oldest first, the order of compactions; of equal cells the one in the later file wins (R8). */
    readonly files: readonly StoreFile[],
  ) {
    active.retain();
    active.emptyRanges = this.emptyRanges;
    for (const memstore of frozen) memstore.retain();
    for (const file of files) file.retain();
  }

  retain(): this {
    this.references++;
    return this;
  }

  release(): void {
    if (--this.references > 0) return;
    this.active.release();
    for (const memstore of this.frozen) memstore.release();
    for (const file of this.files) file.release();
  }

  /** Opens cursors over everything that may match the hint. */
  openCursors(hint: ReadHint): CellCursor[] {
    const cursors: CellCursor[] = [];
    const files = this.files;
    let rows = 0;
    for (let i = 0; i < files.length; i++) rows += files[i]!.meta.rows;
    for (let i = 0; i < files.length; i++) {
      const cursor = files[i]!.openCursor(hint, files[i]!.meta.rows / rows);
      if (cursor) {
        cursor.order = i;
        cursors.push(cursor);
      }
    }
    for (let i = this.frozen.length - 1; i >= 0; i--) this.addMemstore(cursors, this.frozen[i]!);
    this.addMemstore(cursors, this.active);
    return cursors;
  }

  private addMemstore(cursors: CellCursor[], memstore: Memstore): void {
    if (memstore.size === 0) return;
    const cursor = memstore.cursor();
    cursor.order = this.files.length + cursors.length;
    cursors.push(cursor);
  }
}

/** The memstores that a family starts with: those of a previous family object. */
export type FamilyMemory = Pick<StoreVersion, 'active' | 'frozen'>;

/** A retained version, as the source of its family for a scan. */
export class VersionSource implements FamilySource {
  constructor(
    readonly descriptor: FamilyDescriptor,
    readonly version: StoreVersion,
    readonly known: KnownColumns,
  ) {}

  openCursors(hint: ReadHint): CellCursor[] {
    return this.version.openCursors(hint);
  }

  /** Undefined if it has more cells than the version. */
  get emptyRanges(): EmptyRanges | undefined {
    return this.version.emptyRanges;
  }
}

/**
 * One family of one region: the active memstore, the frozen memstores that are being flushed, and the files (HBase `HStore`).
 * Readers see one immutable {@link StoreVersion}, which is replaced as a whole.
 */
export class FamilyStore implements FamilySource {
  version: StoreVersion;
  readonly known = new KnownColumns();
  /** Its region was split or merged, or its table or family dropped. It must not be changed any more. */
  closed = false;
  /** Bytes written by flushes and compactions since the store was opened. */
  bytesFlushed = 0;
  bytesCompacted = 0;

  constructor(
    readonly region: number,
    readonly familyNumber: number,
    private options: FamilyDescriptor,
    files: readonly StoreFile[],
    /** Every write up to this sequence number is in the files. */
    public flushedSeq: number,
    private readonly pool: ChunkPool,
    memory?: FamilyMemory,
  ) {
    this.version = new StoreVersion(memory?.active ?? new Memstore(pool), memory?.frozen ?? [], files);
  }

  get descriptor(): FamilyDescriptor {
    return this.options;
  }

  /** Gives it other options, which may show other cells. */
  alter(descriptor: FamilyDescriptor): void {
    const { active, frozen, files } = this.version;
    this.options = descriptor;
    this.replace(new StoreVersion(active, frozen, files));
  }

  openCursors(hint: ReadHint): CellCursor[] {
    return this.version.openCursors(hint);
  }

  get memstoreBytes(): number {
    let bytes = this.version.active.bytes;
    for (const memstore of this.version.frozen) bytes += memstore.bytes;
    return bytes;
  }

  get fileBytes(): number {
    let bytes = 0;
    for (const file of this.version.files) bytes += file.size;
    return bytes;
  }

  /** The sequence number of the oldest write that is in no file; Infinity when there is none. */
  get oldestUnflushedSeq(): number {
    let seq = this.version.active.minSeq;
    for (const memstore of this.version.frozen) seq = Math.min(seq, memstore.minSeq);
    return seq;
  }

  /** Whether all writes in memory are newer than all writes in files; false while a bulk-loaded file is newer than some in memory. */
  get filesAreOldest(): boolean {
    let newest = -1;
    for (const { seq, meta } of this.version.files) newest = Math.max(newest, seq ?? meta.maxSeq);
    return this.oldestUnflushedSeq > newest;
  }

  /** Freezes the active memstore for a flush; false when it is empty. */
  freeze(): boolean {
    const { active, frozen, files } = this.version;
    if (active.size === 0) {
      // All its writes were rolled back: nothing to flush, but memory to free.
      if (active.bytes > 0) this.replace(new StoreVersion(new Memstore(this.pool), frozen, files));
      return false;
    }
    active.frozen = true;
    this.replace(new StoreVersion(new Memstore(this.pool), [active, ...frozen], files));
    return true;
  }

  /** Replaces a flushed memstore by its file; undefined when there was nothing to write. */
  flushed(memstore: Memstore, file: StoreFile | undefined): void {
    const { active, frozen, files } = this.version;
    this.flushedSeq = Math.max(this.flushedSeq, memstore.maxSeq);
    const remaining = frozen.filter((each) => each !== memstore);
    this.replace(new StoreVersion(active, remaining, file ? [...files, file] : files));
  }

  /** Replaces the adjacent files `removed` by `added`; appends `added` when nothing is removed. */
  replaceFiles(removed: readonly StoreFile[], added: readonly StoreFile[]): void {
    const { active, frozen, files } = this.version;
    const at = removed.length > 0 ? files.indexOf(removed[0]!) : files.length;
    const kept = files.filter((file) => !removed.includes(file));
    kept.splice(at, 0, ...added);
    this.replace(new StoreVersion(active, frozen, kept));
  }

  /** Releases its memstores and files. The files stay on the disk unless they were dropped. */
  close(): void {
    this.closed = true;
    this.version.release();
  }

  private replace(version: StoreVersion): void {
    const before = this.version;
    this.version = version;
    before.release();
  }
}
