/** Cursors over a memstore: of the thread that writes it, and of one that reads it frozen. */

import { CellCursor, compareToSeekKey, SeekKey } from '../cursor.js';
import { CELL_HEADER_BYTES, CellArena, type CellRef, Chunk, chunkOf, offsetOf, ttlAt } from './arena.js';
import type { CellList } from './cell-list.js';
import type { Leaf } from './leaf.js';

/** A frozen memstore as it is handed to a worker. */
export interface SharedMemstore {
  readonly buffers: readonly SharedArrayBuffer[];
  readonly refs: Uint32Array;
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
  protected chunk: Chunk = NO_CHUNK;
  private version = -1;

  constructor(
    protected readonly arena: CellArena,
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

  protected settle(leafNumber: number, index: number): boolean {
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

  protected load(ref: CellRef): void {
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
  cursor.ttl = ttlAt(chunk, offset);
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
