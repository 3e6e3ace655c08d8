/**
 * The cells of one family and region that are in no file yet (HBase `MemStore`). Written by one thread; once frozen it
 * changes no more, and may be read by a worker through `share`.
 */

import { CellType } from '../../table/index.js';
import { CellCursor, compareToSeekKey, SeekKey } from '../cursor.js';
import { hashRow, lane1, lane2 } from '../encoding/row-hash.js';
import {
  CELL_HEADER_BYTES,
  CellArena,
  type CellRef,
  Chunk,
  type ChunkPool,
  chunkOf,
  offsetOf,
  ttlAt,
} from './arena.js';
import { CellList } from './cell-list.js';
import type { Leaf } from './leaf.js';
import { RowFilter } from './row-filter.js';

/** A frozen memstore as it is handed to a worker. */
export interface SharedMemstore {
  readonly buffers: readonly SharedArrayBuffer[];
  readonly refs: Uint32Array;
}

export class Memstore {
  private readonly arena: CellArena;
  private readonly list: CellList;
  private readonly rows = new RowFilter();
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
  private reused: MemstoreCursor | undefined;
  private upsertCursor: MemstoreCursor | undefined;
  private holders = 0;
  /** It takes no more writes. */
  frozen = false;
  /** Its memory was given back. */
  freed = false;

  /** `pool`: where its memory comes from, and goes when nobody holds it any more. */
  constructor(pool: ChunkPool) {
    this.arena = new CellArena(pool);
    this.list = new CellList(this.arena);
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
    return this.arena.bytes;
  }

  /** It should be frozen before the next write. */
  get crowded(): boolean {
    return this.arena.crowded;
  }

  get size(): number {
    return this.list.size;
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
    if (!sameRow) {
      hashRow(row, 0, row.length);
      this.rows.add(lane1, lane2);
    }
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
    return ref;
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
  takeBack(ref: CellRef): void {
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
    if (this.locate(ref)) this.list.remove(this.list.foundLeaf, this.list.foundIndex);
  }

  private locate(ref: CellRef): boolean {
    this.list.locateRef(ref);
    const leaf = this.list.leaves[this.list.foundLeaf]!;
    return this.list.foundIndex < leaf.count && leaf.refs[this.list.foundIndex] === ref;
  }

  /** False: it surely has no cell of the row of this hash. */
  mayContain(hash1: number, hash2: number): boolean {
    return this.rows.mayContain(hash1, hash2);
  }

  /** A cursor for reads that end before anybody else's begins. */
  get pointCursor(): MemstoreCursor {
    this.reused ??= this.cursor();
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

/** Searches are synchronous: one key serves them all. */
const rowKey = new SeekKey();
/** Of a cursor that has not been anywhere yet. */
const NO_CHUNK = new Chunk(new SharedArrayBuffer(0));

/** A position in a memstore that may be written to meanwhile: it then finds its cell again before it moves. */
export class MemstoreCursor extends CellCursor {
  ref: CellRef = 0;
  private leafNumber = 0;
  private index = 0;
  private leaf: Leaf;
  /** Holds the cell. */
  private chunk: Chunk = NO_CHUNK;
  private version = -1;

  constructor(
    private readonly arena: CellArena,
    private readonly list: CellList,
  ) {
    super();
    this.leaf = list.leaves[0]!;
  }

  override seekToFirst(): boolean {
    return this.settle(0, 0);
  }

  override seek(target: SeekKey): boolean {
    this.list.locate(target);
    return this.settle(this.list.foundLeaf, this.list.foundIndex);
  }

  /** To where the list has just located a cell. */
  seekToFound(): boolean {
    return this.settle(this.list.foundLeaf, this.list.foundIndex);
  }

  override reseek(target: SeekKey): boolean {
    return this.seek(target);
  }

  override next(): boolean {
    if (this.version !== this.list.version) {
      this.list.locateRef(this.ref);
      // The cell itself may be gone (an upsert): then its successor stands where it stood.
      const leaf = this.list.leaves[this.list.foundLeaf]!;
      const there = leaf.refs[this.list.foundIndex] === this.ref && this.list.foundIndex < leaf.count;
      return this.settle(this.list.foundLeaf, this.list.foundIndex + (there ? 1 : 0));
    }
    const index = this.index + 1;
    if (index < this.leaf.count) {
      this.index = index;
      this.load(this.leaf.refs[index]!);
      return true;
    }
    return this.settle(this.leafNumber + 1, 0);
  }

  /** Rows begin at multiples of 4 in their chunks: they are compared by four bytes. */
  override nextInRow(): boolean {
    const { chunk, rowOffset, rowLength } = this;
    if (!this.next() || this.rowLength !== rowLength) return false;
    const before = chunk.ints;
    const { ints } = this.chunk;
    const from = rowOffset >>> 2;
    const at = this.rowOffset >>> 2;
    const words = rowLength >>> 2;
    for (let i = words << 2; i < rowLength; i++) {
      if (this.key[this.rowOffset + i] !== chunk.bytes[rowOffset + i]) return false;
    }
    for (let i = words - 1; i >= 0; i--) if (ints[at + i] !== before[from + i]) return false;
    return true;
  }

  override seekToPreviousRow(row: Uint8Array | null): boolean {
    if (row === null) {
      this.list.foundLeaf = this.list.leaves.length - 1;
      this.list.foundIndex = this.list.leaves[this.list.foundLeaf]!.count;
    } else {
      this.list.locate(rowKey.setRow(row));
    }
    let leafNumber = this.list.foundLeaf;
    let index = this.list.foundIndex - 1;
    while (index < 0) {
      if (--leafNumber < 0) {
        this.valid = false;
        return false;
      }
      index = this.list.leaves[leafNumber]!.count - 1;
    }
    this.load(this.list.leaves[leafNumber]!.refs[index]!);
    this.list.locate(rowKey.setRow(this.key, this.rowOffset, this.rowLength));
    return this.settle(this.list.foundLeaf, this.list.foundIndex);
  }

  override close(): void {
    this.valid = false;
  }

  private settle(leafNumber: number, index: number): boolean {
    const leaves = this.list.leaves;
    let number = leafNumber;
    let at = index;
    while (number < leaves.length && at >= leaves[number]!.count) {
      number++;
      at = 0;
    }
    this.version = this.list.version;
    if (number >= leaves.length) {
      this.valid = false;
      return false;
    }
    this.leafNumber = number;
    this.index = at;
    this.leaf = leaves[number]!;
    this.load(this.leaf.refs[at]!);
    this.valid = true;
    return true;
  }

  private load(ref: CellRef): void {
    this.ref = ref;
    this.chunk = this.arena.chunks[chunkOf(ref)]!;
    loadCell(this, this.chunk, offsetOf(ref));
  }
}

/** Points a cursor at the cell at `offset` of a chunk. */
function loadCell(cursor: CellCursor, chunk: Chunk, offset: number): void {
  const ints = chunk.ints;
  const word = ints[(offset >>> 2) + 6]!;
  const rowLength = word & 0xffff;
  const qualifierLength = ints[(offset >>> 2) + 4]!;
  cursor.key = chunk.bytes;
  cursor.rowOffset = offset + CELL_HEADER_BYTES;
  cursor.rowLength = rowLength;
  cursor.qualifierOffset = offset + CELL_HEADER_BYTES + rowLength;
  cursor.qualifierLength = qualifierLength;
  cursor.timestamp = chunk.doubles[offset >>> 3]!;
  cursor.seq = chunk.doubles[(offset >>> 3) + 1]!;
  cursor.type = (word >>> 16) & 0xff;
  cursor.value = chunk.bytes;
  cursor.valueOffset = offset + CELL_HEADER_BYTES + rowLength + qualifierLength;
  cursor.valueLength = ints[(offset >>> 2) + 5]!;
  cursor.ttl = word >>> 24 === 0 ? 0 : ttlAt(chunk, offset);
}

/** Reads a frozen memstore from first to last; the only way in which a worker needs it. */
export class SharedMemstoreCursor extends CellCursor {
  private readonly arena: CellArena;
  private readonly refs: Uint32Array;
  private index = 0;

  constructor(shared: SharedMemstore) {
    super();
    this.arena = CellArena.of(shared.buffers);
    this.refs = shared.refs;
  }

  override seekToFirst(): boolean {
    this.index = -1;
    return this.next();
  }

  override next(): boolean {
    this.index++;
    this.valid = this.index < this.refs.length;
    if (this.valid) {
      const ref = this.refs[this.index]!;
      loadCell(this, this.arena.chunks[chunkOf(ref)]!, offsetOf(ref));
    }
    return this.valid;
  }

  override seek(target: SeekKey): boolean {
    if (!this.valid) this.seekToFirst();
    return this.reseek(target);
  }

  override reseek(target: SeekKey): boolean {
    while (this.valid && compareToSeekKey(this, target) < 0) this.next();
    return this.valid;
  }

  override seekToPreviousRow(): boolean {
    this.valid = false;
    return false;
  }

  override close(): void {
    this.valid = false;
  }
}
