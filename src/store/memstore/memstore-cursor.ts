import { CellCursor, compareToSeekKey, type PutVisitor, SeekKey } from '../cursor.js';
import type { EncodedRow } from '../encoding/encoded-row.js';
import { isRowAt } from '../encoding/row-lookup.js';
import {
  CELL_HEADER_BYTES,
  CellArena,
  type CellRef,
  Chunk,
  chunkOf,
  FLAG_FOLLOWED,
  isFollowed,
  offsetBehind,
  offsetOf,
  ttlAt,
} from './arena.js';
import type { CellList } from './cell-list.js';
import { compareToKeyInRow } from './cell-order.js';
import type { Leaf } from './leaf.js';
import { addressesOf, isPut, type NewestCells, NO_LIST } from './newest-cells.js';
import { isRun, NO_ROW, placeOf, type RowIndex } from './row-index.js';

/** Reused: searches are synchronous. */
const rowKey = new SeekKey();
/** The chunk of a cursor without a position. */
const NO_CHUNK = new Chunk(new SharedArrayBuffer(0));

/** A position in a memstore. The memstore may be changed at any time: the cursor then finds its cell again before it moves. */
export class MemstoreCursor extends CellCursor {
  ref: CellRef = 0;
  private leafNumber = 0;
  private index = 0;
  private leaf: Leaf;
  /** The chunk of the cell. */
  protected chunk: Chunk = NO_CHUNK;
  private version = -1;
  /** The position after the row that was visited. */
  private nextLeaf = 0;
  private nextIndex = 0;

  constructor(
    protected readonly arena: CellArena,
    private readonly list: CellList,
  ) {
    super();
    this.leaf = list.leaves[0]!;
  }

  override seekToFirst(): boolean {
    return this.moveTo(0, 0);
  }

  override seek(target: SeekKey): boolean {
    this.list.locate(target);
    return this.moveTo(this.list.foundLeaf, this.list.foundIndex);
  }

  /** Moves to the cell that the list has just located. */
  seekToFound(): boolean {
    return this.moveTo(this.list.foundLeaf, this.list.foundIndex);
  }

  override reseek(target: SeekKey): boolean {
    return this.seek(target);
  }

  override next(): boolean {
    if (this.version !== this.list.version) {
      this.list.locateRef(this.ref);
      // The cell itself may have been removed (an upsert): then its successor has its position.
      const leaf = this.list.leaves[this.list.foundLeaf]!;
      const there = leaf.refs[this.list.foundIndex] === this.ref && this.list.foundIndex < leaf.count;
      return this.moveTo(this.list.foundLeaf, this.list.foundIndex + (there ? 1 : 0));
    }
    const index = this.index + 1;
    if (index < this.leaf.count) {
      this.index = index;
      this.load(this.leaf.refs[index]!);
      return true;
    }
    return this.moveTo(this.leafNumber + 1, 0);
  }

  override nextInRow(): boolean {
    const { chunk, rowOffset, rowLength } = this;
    if (!this.next() || this.rowLength !== rowLength) return false;
    return isSameRow(chunk, rowOffset, this.chunk, this.rowOffset, rowLength);
  }

  override visitRow(visitor: PutVisitor): boolean {
    const { list, arena, rowOffset, rowLength } = this;
    // After a write the position must be found again.
    if (this.version !== list.version) return false;
    const first = this.chunk;
    const { leaves } = list;
    const { readPoint } = visitor;
    let { leaf, leafNumber, index, chunk, ref } = this;
    let { bytes, ints, doubles } = chunk;
    // Like `visitCell` and `offsetBehind`, but reads each field once for both.
    for (;;) {
      const offset = offsetOf(ref);
      const cell = offset >>> 2;
      const word = ints[cell + 6]!;
      const qualifierAt = offset + CELL_HEADER_BYTES + rowLength;
      const qualifierLength = ints[cell + 4]!;
      const valueLength = ints[cell + 5]!;
      if (doubles[(offset >>> 3) + 1]! <= readPoint) {
        if (!isPut(word)) return false;
        if (!visitor.visit(bytes, qualifierAt, qualifierLength, doubles[offset >>> 3]!, valueLength))
          return false;
      }
      // Cells written together are adjacent, and flagged so.
      const behind =
        word >>> 24 === FLAG_FOLLOWED ? (qualifierAt + qualifierLength + valueLength + 7) & ~7 : -1;
      index++;
      while (index >= leaf.count) {
        leafNumber++;
        index = 0;
        if (leafNumber === leaves.length) return this.visited(leafNumber, index);
        leaf = leaves[leafNumber]!;
      }
      const next = leaf.refs[index]!;
      const at = offsetOf(next);
      const adjacent = at === behind && chunkOf(next) === chunkOf(ref);
      ref = next;
      if (adjacent) continue;
      chunk = arena.chunks[chunkOf(ref)]!;
      ({ bytes, ints, doubles } = chunk);
      if (
        (ints[(at >>> 2) + 6]! & 0xffff) !== rowLength ||
        !isSameRow(first, rowOffset, chunk, at + CELL_HEADER_BYTES, rowLength)
      )
        return this.visited(leafNumber, index);
    }
  }

  private visited(leafNumber: number, index: number): true {
    this.nextLeaf = leafNumber;
    this.nextIndex = index;
    return true;
  }

  override leaveRow(): void {
    this.moveTo(this.nextLeaf, this.nextIndex);
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
    return this.moveTo(this.list.foundLeaf, this.list.foundIndex);
  }

  override close(): void {
    this.valid = false;
  }

  protected moveTo(leafNumber: number, index: number): boolean {
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

/** Passes a visible cell to `visitor`. False: the cell is not a put without a time to live, or the visitor refused it. */
function visitCell(chunk: Chunk, offset: number, rowLength: number, visitor: PutVisitor): boolean {
  const { ints, doubles } = chunk;
  if (doubles[(offset >>> 3) + 1]! > visitor.readPoint) return true;
  const at = offset >>> 2;
  if (!isPut(ints[at + 6]!)) return false;
  const qualifierAt = offset + CELL_HEADER_BYTES + rowLength;
  return visitor.visit(chunk.bytes, qualifierAt, ints[at + 4]!, doubles[offset >>> 3]!, ints[at + 5]!);
}

/** Whether two cells with rows of equal length are of one row. Rows begin at multiples of 4, and mostly differ at their ends. */
function isSameRow(a: Chunk, aOffset: number, b: Chunk, bOffset: number, length: number): boolean {
  const words = length >>> 2;
  for (let i = words << 2; i < length; i++) if (a.bytes[aOffset + i] !== b.bytes[bOffset + i]) return false;
  const aInts = a.ints;
  const bInts = b.ints;
  const from = aOffset >>> 2;
  const at = bOffset >>> 2;
  for (let i = words - 1; i >= 0; i--) if (aInts[from + i] !== bInts[at + i]) return false;
  return true;
}

/** Points a cursor to the cell at `offset` of a chunk. */
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

/** The most cells of a run that are stepped over before a search. */
const MAX_STEPS = 16;

/** Cache lines of a cell that are read ahead: those of a value of 100 bytes. */
const TOUCHED_LINES = 3;
/** How a {@link MemstoreRowCursor} moves: in the order of all cells, in a run of the arena, or in a list of newest cells. */
const IN_ORDER = 0;
const IN_RUN = 1;
const IN_LIST = 2;

/**
 * A cursor for reads of one row that end before the next write. In a row whose cells form a run of the arena it steps from cell to
 * cell there, in a row that was written several times through the list of its newest cells. Then it does not know the following rows.
 */
export class MemstoreRowCursor extends MemstoreCursor {
  private way = IN_ORDER;
  /** In a list: the integers of its chunk, the index of the present address, and that after the last. */
  private addresses: Int32Array = NO_CHUNK.ints;
  private at = 0;
  private end = 0;
  /** What `touchCells` has read, kept so that it is read. */
  protected touched = 0;
  /** Whether it may make lists. */
  makesLists = false;

  constructor(
    arena: CellArena,
    list: CellList,
    private readonly rows: RowIndex,
    private readonly newest: NewestCells,
  ) {
    super(arena, list);
  }

  /**
   * Moves to the first cell of the target's row, whose hash is `hash`, at or after the target; false when there is none. Cells that are
   * older than a put of their column which readers at `readPoint` see may be left out.
   */
  seekInRow(target: SeekKey, hash: number, readPoint: number): boolean {
    const entry = this.rows.find(hash, target.row, target.rowOffset, target.rowLength);
    this.valid = false;
    if (entry === NO_ROW) return false;
    if (isRun(entry)) return this.seekInRun(target, placeOf(entry));
    const list = this.newest.listOf(entry, target, readPoint, this.makesLists);
    if (list === NO_LIST) return this.seek(target) && this.isIn(target);
    const chunk = this.arena.chunks[chunkOf(list)]!;
    this.way = IN_LIST;
    this.addresses = chunk.ints;
    this.at = addressesOf(chunk, offsetOf(list)) - 1;
    this.end = this.at + 1 + this.newest.countOf(list);
    this.touchCells();
    return this.next() && this.reseekInList(target);
  }

  /**
   * Reads a number of each cache line of the list's cells. They lie anywhere in memory: the CPU waits for all of them at once here,
   * and for one after the other where they are read.
   */
  private touchCells(): void {
    const { addresses, end } = this;
    const { chunks } = this.arena;
    let touched = 0;
    for (let at = this.at + 1; at < end; at++) {
      const ref = addresses[at]! >>> 0;
      const { ints } = chunks[chunkOf(ref)]!;
      const from = offsetOf(ref) >>> 2;
      const last = ints.length - 1;
      for (let line = 0; line < TOUCHED_LINES; line++) touched ^= ints[Math.min(from + 16 * line, last)]!;
    }
    this.touched = touched;
  }

  private reseekInList(target: SeekKey): boolean {
    while (this.valid && compareToKeyInRow(this.chunk, offsetOf(this.ref), target) < 0) this.next();
    return this.valid;
  }

  override reseek(target: SeekKey): boolean {
    if (!this.valid || this.way === IN_ORDER) return super.reseek(target);
    return this.way === IN_RUN ? this.seekInRun(target, this.ref) : this.reseekInList(target);
  }

  override next(): boolean {
    if (this.way === IN_ORDER) return super.next();
    if (this.way === IN_LIST) {
      this.valid = ++this.at < this.end;
      if (this.valid) this.load(this.addresses[this.at]! >>> 0);
      return this.valid;
    }
    const { chunk, ref } = this;
    const offset = offsetOf(ref);
    this.valid = isFollowed(chunk, offset);
    if (this.valid) this.load(ref - offset + offsetBehind(chunk, offset));
    return this.valid;
  }

  override nextInRow(): boolean {
    return this.way === IN_ORDER ? super.nextInRow() : this.next();
  }

  override visitRow(visitor: PutVisitor): boolean {
    if (this.way === IN_ORDER) return super.visitRow(visitor);
    const { chunk, rowLength } = this;
    if (this.way === IN_LIST) {
      const { addresses, end, arena } = this;
      for (let at = this.at; at < end; at++) {
        const ref = addresses[at]! >>> 0;
        if (!visitCell(arena.chunks[chunkOf(ref)]!, offsetOf(ref), rowLength, visitor)) return false;
      }
      return true;
    }
    for (let offset = offsetOf(this.ref); ; offset = offsetBehind(chunk, offset)) {
      if (!visitCell(chunk, offset, rowLength, visitor)) return false;
      if (!isFollowed(chunk, offset)) return true;
    }
  }

  override leaveRow(): void {
    if (this.way === IN_ORDER) super.leaveRow();
    else this.valid = false;
  }

  protected override moveTo(leafNumber: number, index: number): boolean {
    this.way = IN_ORDER;
    return super.moveTo(leafNumber, index);
  }

  /** Moves to the first cell of a run at or after the target, searching from the cell at `from`. */
  private seekInRun(target: SeekKey, from: CellRef): boolean {
    const chunk = this.arena.chunks[chunkOf(from)]!;
    const first = offsetOf(from);
    let offset = first;
    for (let i = 0; i < MAX_STEPS; i++) {
      if (compareToKeyInRow(chunk, offset, target) >= 0) {
        this.way = IN_RUN;
        this.valid = true;
        this.load(from - first + offset);
        return true;
      }
      if (!isFollowed(chunk, offset)) {
        this.valid = false;
        return false;
      }
      offset = offsetBehind(chunk, offset);
    }
    return this.seek(target) && this.isIn(target);
  }

  private isIn(target: SeekKey): boolean {
    this.valid = isRowAt(this.key, this.rowOffset, this.rowLength, target);
    return this.valid;
  }
}

/** A frozen memstore in the form that is sent to a worker. */
export interface SharedMemstore {
  readonly buffers: readonly SharedArrayBuffer[];
  readonly refs: Uint32Array;
}

/** Reads a frozen memstore from the first cell to the last, for flushes in a worker. */
export class SharedMemstoreCursor extends CellCursor {
  private readonly arena: CellArena;
  private readonly refs: Uint32Array;
  private index = 0;
  /** The index after the row that was read. */
  private rowEnd = 0;

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

  override encodedRow(row: EncodedRow, oldest: number): boolean {
    const { refs } = this;
    const { chunks } = this.arena;
    let index = this.index;
    let ref = refs[index]!;
    let chunk = chunks[chunkOf(ref)]!;
    const first = chunk;
    const { rowOffset, rowLength } = this;
    row.beginCopy(rowLength);
    for (;;) {
      const offset = offsetOf(ref);
      const { ints, doubles } = chunk;
      const cell = offset >>> 2;
      if (!isPut(ints[cell + 6]!)) return false;
      const qualifierLength = ints[cell + 4]!;
      const valueLength = ints[cell + 5]!;
      const timestamp = doubles[offset >>> 3]!;
      const seq = doubles[(offset >>> 3) + 1]!;
      const from = offset + CELL_HEADER_BYTES;
      if (!row.copy(chunk.view, from, qualifierLength, valueLength, timestamp, seq, oldest)) return false;
      if (++index === refs.length) break;
      ref = refs[index]!;
      chunk = chunks[chunkOf(ref)]!;
      const at = offsetOf(ref);
      if (
        (chunk.ints[(at >>> 2) + 6]! & 0xffff) !== rowLength ||
        !isSameRow(first, rowOffset, chunk, at + CELL_HEADER_BYTES, rowLength)
      )
        break;
    }
    this.rowEnd = index;
    return true;
  }

  override leaveRow(): void {
    this.index = this.rowEnd - 1;
    this.next();
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
