import type { FamilyDescriptor } from '../../table/index.js';
import type { CellCursor } from '../cursor.js';
import type { Memstore } from '../memstore/memstore.js';
import type { FamilySource, ReadHint } from '../scan/family-source.js';
import type { KnownColumns } from '../scan/known-columns.js';
import type { StoreFile } from './store-file.js';

/** Memstores and files of a family at one moment. Whoever keeps it over an `await` retains it and releases it. */
export class StoreVersion {
  private holders = 1;

  constructor(
    readonly active: Memstore,
    /** Newest first. */
    readonly frozen: readonly Memstore[],
    /** Oldest first, the order of compactions; ties of equal cells are won by the later (R8). */
    readonly files: readonly StoreFile[],
  ) {
    active.retain();
    for (const memstore of frozen) memstore.retain();
    for (const file of files) file.retain();
  }

  retain(): this {
    this.holders++;
    return this;
  }

  release(): void {
    if (--this.holders > 0) return;
    this.active.release();
    for (const memstore of this.frozen) memstore.release();
    for (const file of this.files) file.release();
  }

  /** Cursors over everything that may hold what is read. */
  openCursors(hint: ReadHint): CellCursor[] {
    const cursors: CellCursor[] = [];
    const files = this.files;
    for (let i = 0; i < files.length; i++) {
      const cursor = files[i]!.openCursor(hint);
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

/** A version held for a scan, as the source of its family. */
export class VersionSource implements FamilySource {
  constructor(
    readonly descriptor: FamilyDescriptor,
    readonly version: StoreVersion,
    readonly known: KnownColumns,
  ) {}

  openCursors(hint: ReadHint): CellCursor[] {
    return this.version.openCursors(hint);
  }
}
