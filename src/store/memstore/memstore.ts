import { hashRow, lane1 } from '../../bytes/bytes.js';
import { CellType } from '../../table/index.js';
import type { SeekKey } from '../cursor.js';
import type { EmptyRanges } from '../read/empty-ranges.js';
import {
  CELL_HEADER_BYTES,
  CellArena,
  type CellBytes,
  type CellRef,
  type ChunkPool,
  chunkOf,
  offsetOf,
  type RowCells,
  rowLengthOf,
} from './arena.js';
import { CellList } from './cell-list.js';
import { compareInRow } from './cell-order.js';
import { LoadedCells } from './loaded-cells.js';
import { MemstoreCursor, MemstoreRowCursor, type SharedMemstore } from './memstore-cursor.js';
import { NewestCells } from './newest-cells.js';
import { isListed, isRun, NO_ROW, placeOf, RowIndex } from './row-index.js';

const NONE = -1;
/**
 * So many unsorted cells are sorted before another is added. The more they are, the more of them share a leaf of the list; the next
 * reader waits some milliseconds for them.
 */
const MAX_UNSORTED = 1 << 14;

/**
 * The cells of one family and region that are in no file yet (HBase `MemStore`). One thread writes it. Once frozen it never
 * changes, and a worker may read it through `share`.
 */
export class Memstore {
  private readonly arena: CellArena;
  private readonly list: CellList;
  private readonly rows: RowIndex;
  private readonly newest: NewestCells;
  /** The cell written last, and the first cell of its row if the row's cells form a run so far. */
  private last: CellRef = NONE;
  private run: CellRef = NONE;
  /** How many lists of newest cells there were when the row of that cell had none; NONE if it has one. */
  private listsBefore = 0;
  minSeq = Number.POSITIVE_INFINITY;
  maxSeq = -1;
  minTimestamp = Number.POSITIVE_INFINITY;
  maxTimestamp = -1;
  /** Whether no cell has an earlier timestamp than one that was added before it. */
  inTimeOrder = true;
  /** The timestamp of the oldest put. */
  earliestPut = Number.POSITIVE_INFINITY;
  /** The number of family delete markers, in any row (R4): without them, point reads may skip the start of a row. */
  familyMarkers = 0;
  /** The number of delete markers of any kind. */
  markers = 0;
  private reused: MemstoreRowCursor | undefined;
  private upsertCursor: MemstoreCursor | undefined;
  /** Cells that are not in the list yet. */
  private unsorted: LoadedCells | undefined;
  private references = 0;
  /** It accepts no more writes. */
  frozen = false;
  /** Its memory was returned to the pool. */
  freed = false;
  /** Ends at each put. */
  emptyRanges: EmptyRanges | undefined;

  /** `pool`: where its memory comes from, and returns to when it is released. */
  constructor(pool: ChunkPool) {
    this.arena = new CellArena(pool);
    this.list = new CellList(this.arena);
    this.rows = new RowIndex(this.arena);
    this.newest = new NewestCells(this.arena, this.rows, new MemstoreCursor(this.arena, this.list));
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

  /**
   * Empties a small memstore that nobody reads or has shared, so that it takes cells anew in the memory that it has. False, and nothing is
   * done: it has grown, or has cells that are not sorted yet.
   */
  reset(): boolean {
    if (this.unsorted !== undefined || !this.list.isSmall || !this.arena.isSmall) return false;
    this.arena.reset();
    this.list.reset();
    this.rows.reset();
    this.last = NONE;
    this.run = NONE;
    this.minSeq = Number.POSITIVE_INFINITY;
    this.maxSeq = -1;
    this.minTimestamp = Number.POSITIVE_INFINITY;
    this.maxTimestamp = -1;
    this.inTimeOrder = true;
    this.earliestPut = Number.POSITIVE_INFINITY;
    this.familyMarkers = 0;
    this.markers = 0;
    return true;
  }

  /** Bytes of memory in use, those of dropped and replaced cells included. */
  get bytes(): number {
    return this.arena.bytes + this.rows.bytes;
  }

  /** It should be frozen before the next write. */
  get isFull(): boolean {
    return this.arena.isFull;
  }

  get size(): number {
    return this.list.size + (this.unsorted?.count ?? 0);
  }

  /** Whether no cell is of a write after `seq`; reads every cell. */
  isWithin(seq: number): boolean {
    const cursor = this.cursor();
    for (let more = cursor.seekToFirst(); more; more = cursor.next()) if (cursor.seq > seq) return false;
    return true;
  }

  /**
   * Adds a cell and returns its address. `sameRow`: the cell added last is of the same row, which saves the search for the
   * position. `valueOffset`, `valueLength`: the value's part of `value`; default: all of it.
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
    valueOffset = 0,
    valueLength = value.length,
  ): CellRef {
    const ref = this.arena.write(
      row,
      qualifier,
      timestamp,
      type,
      seq,
      ttl,
      value,
      sameRow,
      valueOffset,
      valueLength,
    );
    this.list.insert(ref, row, sameRow);
    this.index(ref, row, 0, row.length, sameRow);
    this.note(type, timestamp, seq);
    if (type === CellType.Put) this.emptyRanges?.cut(row);
    return ref;
  }

  /**
   * Adds the cells of a row like `add`, and stores their addresses. `sameRow`: the cell added last is of the same row. A row that the
   * memstore does not have yet takes one search for its place.
   */
  addRow(cells: RowCells, sameRow: boolean): void {
    const { row, first, end, timestamp, seq } = cells;
    if (!sameRow && this.addNewRow(cells)) return;
    const { qualifiers, columns, valueEnds, bytes } = cells;
    cells.reserve();
    let { from } = cells;
    for (let i = first; i < end; i++) {
      const length = valueEnds[i]! - from;
      const follows = sameRow || i > first;
      const qualifier = qualifiers[columns[i]!]!;
      const ref = this.add(row, qualifier, timestamp, CellType.Put, seq, 0, bytes, follows, from, length);
      cells.refs[i - first] = ref;
      from += length;
    }
  }

  /** False, and nothing is added: the memstore may have the row, or its cells do not fit into one chunk. */
  private addNewRow(cells: RowCells): boolean {
    const { rows } = this;
    const { row, count } = cells;
    if (!rows.isComplete) return false;
    hashRow(row, 0, row.length);
    if (rows.search(lane1, row, 0, row.length) !== NO_ROW || !this.arena.writeRow(cells)) return false;
    const { refs } = cells;
    rows.add(lane1, refs[0]!);
    this.run = refs[0]!;
    this.last = refs[count - 1]!;
    this.list.insertRow(refs, count, row);
    this.note(CellType.Put, cells.timestamp, cells.seq);
    this.emptyRanges?.cut(row);
    return true;
  }

  /**
   * Adds a cell like `add`, but sorts it in only with `sortLoaded`. Until then the memstore must not be read, nor be added to in
   * another way. `sameRow`: the cell loaded last is of the same row.
   * @returns true for the first cell.
   */
  load(cell: CellBytes, seq: number, sameRow: boolean): boolean {
    const before = this.unsorted?.count ?? 0;
    this.append(cell, seq, sameRow);
    return before === 0;
  }

  /**
   * Adds a cell like `add`, but sorts it in, with others, when its place among the cells is asked for: a leaf of the list is then
   * changed once for all its cells. No cell equals it in everything, seq included.
   */
  addUnsorted(cell: CellBytes, seq: number): CellRef {
    this.sortMany();
    return this.append(cell, seq, false);
  }

  private append(cell: CellBytes, seq: number, sameRow: boolean): CellRef {
    const { bytes, rowOffset, rowLength, type, timestamp } = cell;
    this.unsorted ??= new LoadedCells(this.arena);
    const ref = this.arena.copy(cell, seq, sameRow);
    this.unsorted.add(ref, cell, seq);
    this.index(ref, bytes, rowOffset, rowLength, sameRow);
    this.note(type, timestamp, seq);
    if (type === CellType.Put) this.emptyRanges?.cut(bytes, rowOffset, rowLength);
    return ref;
  }

  /** As {@link sortLoaded}, if they are many. */
  sortMany(): void {
    if (this.unsorted !== undefined && this.unsorted.count >= MAX_UNSORTED) this.sortLoaded();
  }

  /** Sorts the cells that are not in the list yet into it. */
  sortLoaded(): void {
    const { unsorted } = this;
    if (unsorted === undefined || unsorted.count === 0) return;
    const refs = unsorted.sorted();
    // Its memory serves the next cells, unless it is large.
    if (this.frozen || refs.length > MAX_UNSORTED) this.unsorted = undefined;
    else unsorted.clear();
    if (this.list.size === 0) this.list.fill(refs);
    else this.list.merge(refs);
  }

  /** Whether it may have a cell of the row with this hash. False is certain. */
  mayHaveRow(hash: number, row: Uint8Array): boolean {
    return this.rows.find(hash, row, 0, row.length) !== NO_ROW;
  }

  /** Whether it has no cell from `first`, the start of a row, to row `last`. False also while cells wait to be sorted. */
  isFree(first: SeekKey, last: Uint8Array): boolean {
    return (this.unsorted === undefined || this.unsorted.count === 0) && this.list.isFree(first, last);
  }

  /** Updates the row index for a new cell. `sameRow`: its row is that of the previous cell. */
  private index(ref: CellRef, row: Uint8Array, offset: number, length: number, sameRow: boolean): void {
    const { rows, last } = this;
    this.last = ref;
    if (sameRow) {
      if (this.run !== NONE) {
        if (!this.extendRun(last, ref)) this.scatter(row, offset, length);
        return;
      }
      if (this.listsBefore === this.newest.made) return;
    }
    hashRow(row, offset, length);
    const entry = rows.search(lane1, row, offset, length);
    this.listsBefore = this.newest.made;
    if (entry === NO_ROW) {
      this.run = rows.add(lane1, ref) ? ref : NONE;
    } else if (isListed(entry)) {
      this.run = NONE;
      this.listsBefore = NONE;
      this.newest.add(placeOf(entry), ref);
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
    this.listsBefore = this.newest.made;
  }

  private note(type: number, timestamp: number, seq: number): void {
    if (seq < this.minSeq) this.minSeq = seq;
    if (seq > this.maxSeq) this.maxSeq = seq;
    if (timestamp < this.minTimestamp) this.minTimestamp = timestamp;
    if (timestamp >= this.maxTimestamp) this.maxTimestamp = timestamp;
    else this.inTimeOrder = false;
    if (type !== CellType.Put) {
      this.markers++;
      if (type === CellType.DeleteFamily || type === CellType.DeleteFamilyVersion) this.familyMarkers++;
      // A column or family marker hides everything below its timestamp (R56).
      if (type === CellType.DeleteColumn || type === CellType.DeleteFamily) this.minTimestamp = 0;
    } else if (timestamp < this.earliestPut) {
      this.earliestPut = timestamp;
    }
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
    if (this.size > 0) return;
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
    const row = offsetOf(ref) + CELL_HEADER_BYTES;
    const length = rowLengthOf(this.arena, ref);
    this.scatter(bytes, row, length);
    const entry = this.rows.search(lane1, bytes, row, length);
    if (isListed(entry)) this.newest.remove(placeOf(entry), ref);
  }

  private locate(ref: CellRef): boolean {
    this.sortLoaded();
    this.list.locateRef(ref);
    const leaf = this.list.leaves[this.list.foundLeaf]!;
    return this.list.foundIndex < leaf.count && leaf.refs[this.list.foundIndex] === ref;
  }

  /** A shared cursor for reads that end before the next read begins and before anything is written. */
  get pointCursor(): MemstoreRowCursor {
    this.sortLoaded();
    this.reused ??= new MemstoreRowCursor(this.arena, this.list, this.rows, this.newest);
    this.reused.makesLists = !this.frozen && !this.arena.isFull;
    return this.reused;
  }

  cursor(): MemstoreCursor {
    this.sortLoaded();
    return new MemstoreCursor(this.arena, this.list);
  }

  share(): SharedMemstore {
    this.sortLoaded();
    return { buffers: this.arena.chunks.map((chunk) => chunk.buffer), refs: this.list.toRefs() };
  }
}

function sameBytes(a: Uint8Array, aOffset: number, b: Uint8Array, bOffset: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (a[aOffset + i] !== b[bOffset + i]) return false;
  return true;
}
