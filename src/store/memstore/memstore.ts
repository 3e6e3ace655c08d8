/**
 * The cells of one family and region that are in no file yet (HBase `MemStore`). One thread writes it. Once frozen it never
 * changes, and a worker may read it through `share`.
 */

import { CellType } from '../../table/index.js';
import { hashRow, lane1 } from '../encoding/row-hash.js';
import {
  CELL_HEADER_BYTES,
  CellArena,
  type CellBytes,
  type CellRef,
  type ChunkPool,
  chunkOf,
  offsetOf,
} from './arena.js';
import { CellList } from './cell-list.js';
import { compareInRow, rowLengthOf } from './cell-order.js';
import { LoadedCells } from './loaded-cells.js';
import { MemstoreCursor, MemstoreRowCursor, type SharedMemstore } from './memstore-cursor.js';
import { isRun, NO_ROW, placeOf, RowIndex } from './row-index.js';

const NONE = -1;

export class Memstore {
  private readonly arena: CellArena;
  private readonly list: CellList;
  private readonly rows: RowIndex;
  /** The cell written last, and the first cell of its row if the row's cells form a run so far. */
  private last: CellRef = NONE;
  private run: CellRef = NONE;
  minSeq = Number.POSITIVE_INFINITY;
  maxSeq = -1;
  minTimestamp = Number.POSITIVE_INFINITY;
  maxTimestamp = -1;
  /** The number of family delete markers, in any row (R4): without them, point reads may skip the start of a row. */
  familyMarkers = 0;
  /** The number of delete markers of any kind. */
  markers = 0;
  /** Whether any cell has a time to live of its own. */
  hasTtl = false;
  private reused: MemstoreRowCursor | undefined;
  private upsertCursor: MemstoreCursor | undefined;
  /** Loaded cells that are not sorted yet. */
  private loaded: LoadedCells | undefined;
  private references = 0;
  /** It accepts no more writes. */
  frozen = false;
  /** Its memory was returned to the pool. */
  freed = false;

  /** `pool`: where its memory comes from, and returns to when it is released. */
  constructor(pool: ChunkPool) {
    this.arena = new CellArena(pool);
    this.list = new CellList(this.arena);
    this.rows = new RowIndex(this.arena);
  }

  /** Keeps it readable over an `await`, until `release`. */
  retain(): this {
    this.references++;
    return this;
  }

  /** The last release returns its memory to the pool. */
  release(): void {
    if (--this.references > 0) return;
    this.freed = true;
    this.arena.free();
  }

  /** Bytes of memory in use, those of dropped and replaced cells included. */
  get bytes(): number {
    return this.arena.bytes + this.rows.bytes;
  }

  /** It should be frozen before the next write. */
  get crowded(): boolean {
    return this.arena.crowded;
  }

  get size(): number {
    return this.list.size;
  }

  /** Whether no cell is of a write after `seq`; reads every cell. */
  isWithin(seq: number): boolean {
    const cursor = this.cursor();
    for (let more = cursor.seekToFirst(); more; more = cursor.next()) if (cursor.seq > seq) return false;
    return true;
  }

  /**
   * Adds a cell and returns its address. `sameRow`: the cell added last is of the same row, which saves the search for the
   * position.
   */
  add(
    row: Uint8Array,
    qualifier: Uint8Array,
    timestamp: number,
    type: number,
    seq: number,
    ttl: number,
    value: Uint8Array,
    sameRow = false,
  ): CellRef {
    const ref = this.arena.write(row, qualifier, timestamp, type, seq, ttl, value, sameRow);
    this.list.insert(ref, row, sameRow);
    this.index(ref, row, 0, row.length, sameRow);
    this.note(type, timestamp, seq, ttl);
    return ref;
  }

  /**
   * Adds a cell like `add`, but sorts it in only with `sortLoaded`. Until then the memstore must not be read, nor be added to in
   * another way. `sameRow`: the cell loaded last is of the same row.
   * @returns true for the first cell.
   */
  load(cell: CellBytes, seq: number, sameRow: boolean): boolean {
    const { bytes, rowOffset, rowLength, type, timestamp, ttl } = cell;
    const first = this.loaded === undefined;
    this.loaded ??= new LoadedCells(this.arena);
    const ref = this.arena.copy(cell, seq, sameRow);
    this.loaded.add(ref, cell, seq);
    this.index(ref, bytes, rowOffset, rowLength, sameRow);
    this.note(type, timestamp, seq, ttl);
    return first;
  }

  /** Sorts the loaded cells. The memstore had no others before. */
  sortLoaded(): void {
    if (this.loaded === undefined) return;
    this.list.fill(this.loaded.sorted());
    this.loaded = undefined;
  }

  /** Updates the row index for a new cell. `sameRow`: its row is that of the previous cell. */
  private index(ref: CellRef, row: Uint8Array, offset: number, length: number, sameRow: boolean): void {
    const { rows, last } = this;
    this.last = ref;
    if (sameRow) {
      if (this.run !== NONE && !this.extendRun(last, ref)) this.scatter(row, offset, length);
      return;
    }
    hashRow(row, offset, length);
    const entry = rows.search(lane1, row, offset, length);
    if (entry === NO_ROW) {
      this.run = rows.add(lane1, ref) ? ref : NONE;
    } else if (!isRun(entry) || placeOf(entry) !== this.run || !this.extendRun(last, ref)) {
      rows.scatter();
      this.run = NONE;
    }
  }

  /** Adds a cell to the run of the previous one, if it belongs there. */
  private extendRun(last: CellRef, ref: CellRef): boolean {
    return compareInRow(this.arena, last, ref) < 0 && this.arena.markFollowed(last, ref);
  }

  private scatter(row: Uint8Array, offset: number, length: number): void {
    hashRow(row, offset, length);
    if (this.rows.search(lane1, row, offset, length) !== NO_ROW) this.rows.scatter();
    this.run = NONE;
  }

  private note(type: number, timestamp: number, seq: number, ttl: number): void {
    if (seq < this.minSeq) this.minSeq = seq;
    if (seq > this.maxSeq) this.maxSeq = seq;
    if (timestamp < this.minTimestamp) this.minTimestamp = timestamp;
    if (timestamp > this.maxTimestamp) this.maxTimestamp = timestamp;
    if (type !== CellType.Put) {
      this.markers++;
      if (type === CellType.DeleteFamily || type === CellType.DeleteFamilyVersion) this.familyMarkers++;
      // A column or family marker hides everything below its timestamp (R56).
      if (type === CellType.DeleteColumn || type === CellType.DeleteFamily) this.minTimestamp = 0;
    }
    if (ttl !== 0) this.hasTtl = true;
  }

  /**
   * Called when the cell of an increment or append at `ref` is visible, in a family of one version (R70, `Segment.upsert`): drops
   * the older puts of its column that every reader can see, all but one.
   */
  dropOlderVersions(ref: CellRef, readPoint: number): void {
    if (!this.locate(ref)) return;
    this.upsertCursor ??= this.cursor();
    const cursor = this.upsertCursor;
    cursor.seekToFound();
    const { key, rowOffset, rowLength, qualifierLength } = cursor;
    const length = rowLength + qualifierLength;
    let seen = 0;
    let superseded: CellRef[] | undefined;
    while (cursor.next() && cursor.rowLength === rowLength && cursor.qualifierLength === qualifierLength) {
      // The qualifier directly follows the row.
      if (!sameBytes(cursor.key, cursor.rowOffset, key, rowOffset, length)) break;
      if (cursor.type !== CellType.Put || cursor.seq > readPoint || seen++ === 0) continue;
      superseded ??= [];
      superseded.push(cursor.ref);
    }
    if (superseded === undefined) return;
    for (const each of superseded) this.remove(each);
  }

  /** Removes the cell at `ref` of a write that is rolled back. */
  rollback(ref: CellRef): void {
    this.remove(ref);
    if (this.list.size > 0) return;
    // An empty memstore needs no flush and keeps no log segments.
    this.minSeq = Number.POSITIVE_INFINITY;
    this.maxSeq = -1;
  }

  /**
   * Writes after `seq` were rolled back, and their numbers will be assigned again. If a flush counted them as flushed, recovery would
   * skip the new writes with these numbers.
   */
  endAt(seq: number): void {
    if (this.maxSeq > seq) this.maxSeq = seq;
  }

  /** Removes the cell from the order, if it is still there. Its bytes stay, because a cursor may stand on it. */
  private remove(ref: CellRef): void {
    if (!this.locate(ref)) return;
    this.list.remove(this.list.foundLeaf, this.list.foundIndex);
    const { bytes } = this.arena.chunks[chunkOf(ref)]!;
    this.scatter(bytes, offsetOf(ref) + CELL_HEADER_BYTES, rowLengthOf(this.arena, ref));
  }

  private locate(ref: CellRef): boolean {
    this.list.locateRef(ref);
    const leaf = this.list.leaves[this.list.foundLeaf]!;
    return this.list.foundIndex < leaf.count && leaf.refs[this.list.foundIndex] === ref;
  }

  /** A shared cursor for reads that end before the next read begins and before anything is written. */
  get pointCursor(): MemstoreRowCursor {
    this.reused ??= new MemstoreRowCursor(this.arena, this.list, this.rows);
    return this.reused;
  }

  cursor(): MemstoreCursor {
    return new MemstoreCursor(this.arena, this.list);
  }

  share(): SharedMemstore {
    return { buffers: this.arena.chunks.map((chunk) => chunk.buffer), refs: this.list.toRefs() };
  }
}

function sameBytes(a: Uint8Array, aOffset: number, b: Uint8Array, bOffset: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (a[aOffset + i] !== b[bOffset + i]) return false;
  return true;
}
