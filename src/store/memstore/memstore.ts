/**
 * The cells of one family and region that are in no file yet (HBase `MemStore`). Written by one thread; once frozen it
 * changes no more, and may be read by a worker through `share`.
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
  /** The cell that was written last, and the first one of its row if that is a run so far. */
  private last: CellRef = NONE;
  private run: CellRef = NONE;
  minSeq = Number.POSITIVE_INFINITY;
  maxSeq = -1;
  minTimestamp = Number.POSITIVE_INFINITY;
  maxTimestamp = -1;
  /** Delete markers of the whole family, of any row (R4): point reads may pass over the top of a row without them. */
  familyMarkers = 0;
  /** Delete markers of any kind. */
  markers = 0;
  /** Any cell has a time to live of its own. */
  hasTtl = false;
  private reused: MemstoreRowCursor | undefined;
  private upsertCursor: MemstoreCursor | undefined;
  /** Cells that have no places yet. */
  private loaded: LoadedCells | undefined;
  private holders = 0;
  /** It takes no more writes. */
  frozen = false;
  /** Its memory was given back. */
  freed = false;

  /** `pool`: where its memory comes from, and goes when nobody holds it any more. */
  constructor(pool: ChunkPool) {
    this.arena = new CellArena(pool);
    this.list = new CellList(this.arena);
    this.rows = new RowIndex(this.arena);
  }

  /** Whoever reads it over an `await` holds it. */
  retain(): this {
    this.holders++;
    return this;
  }

  /** The last who lets go of it gives its memory back. */
  release(): void {
    if (--this.holders > 0) return;
    this.freed = true;
    this.arena.free();
  }

  /** Bytes of memory that it holds, those of cells that were dropped or replaced included. */
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

  /** Whether no cell is of a later write than `seq`; looks at each of them. */
  isWithin(seq: number): boolean {
    const cursor = this.cursor();
    for (let more = cursor.seekToFirst(); more; more = cursor.next()) if (cursor.seq > seq) return false;
    return true;
  }

  /**
   * Adds a cell; its place. `sameRow`: the cell added last is of this row, too, which saves looking for the place of
   * this one.
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
   * Adds a cell as `add` does, but puts it in its place only in `settle`: until then nothing may be read of this
   * memstore, nor added in another way. `sameRow`: the cell loaded last is of this row, too.
   * @returns true for the first.
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

  /** Brings the cells that were loaded into their order. It had none before them. */
  settle(): void {
    if (this.loaded === undefined) return;
    this.list.fill(this.loaded.sorted());
    this.loaded = undefined;
  }

  /** Keeps what is known of the row of a new cell. `sameRow`: it is that of the cell before. */
  private index(ref: CellRef, row: Uint8Array, offset: number, length: number, sameRow: boolean): void {
    const { rows, last } = this;
    this.last = ref;
    if (sameRow) {
      if (this.run !== NONE && !this.goesOn(last, ref)) this.scatter(row, offset, length);
      return;
    }
    hashRow(row, offset, length);
    const entry = rows.search(lane1, row, offset, length);
    if (entry === NO_ROW) {
      this.run = rows.add(lane1, ref) ? ref : NONE;
    } else if (!isRun(entry) || placeOf(entry) !== this.run || !this.goesOn(last, ref)) {
      rows.scatter();
      this.run = NONE;
    }
  }

  /** Makes a cell part of the run of the one before. */
  private goesOn(last: CellRef, ref: CellRef): boolean {
    return compareInRow(this.arena, last, ref) < 0 && this.arena.goOn(last, ref);
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
   * What an increment or append does once its cell at `ref` is visible, in a family of one version (R70,
   * `Segment.upsert`): of the puts behind it those that everybody can see are dropped, all but one.
   */
  dropOlderVersions(ref: CellRef, readPoint: number): void {
    if (!this.locate(ref)) return;
    this.upsertCursor ??= this.cursor();
    const cursor = this.upsertCursor;
    cursor.seekToFound();
    const { key, rowOffset, rowLength, qualifierLength } = cursor;
    const length = rowLength + qualifierLength;
    let seen = 0;
    let doomed: CellRef[] | undefined;
    while (cursor.next() && cursor.rowLength === rowLength && cursor.qualifierLength === qualifierLength) {
      // The qualifier stands directly behind the row.
      if (!sameBytes(cursor.key, cursor.rowOffset, key, rowOffset, length)) break;
      if (cursor.type !== CellType.Put || cursor.seq > readPoint || seen++ === 0) continue;
      doomed ??= [];
      doomed.push(cursor.ref);
    }
    if (doomed === undefined) return;
    for (const each of doomed) this.remove(each);
  }

  /** Takes back the cell at `ref` of a write that the log could not take. */
  rollback(ref: CellRef): void {
    this.remove(ref);
    if (this.list.size > 0) return;
    // Nothing of it is to be flushed, and nothing of the log to be kept for it.
    this.minSeq = Number.POSITIVE_INFINITY;
    this.maxSeq = -1;
  }

  /**
   * Writes behind `seq` were taken back, and their numbers will be given to others: a flush that passed for having them
   * would have those be left out when the log is read again.
   */
  endAt(seq: number): void {
    if (this.maxSeq > seq) this.maxSeq = seq;
  }

  /** Takes the cell out of the order, unless it is out already; its bytes stay, for a cursor may stand there. */
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

  /** A cursor for reads of one row, or others, that end before anybody else's begins and before anything is written. */
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
