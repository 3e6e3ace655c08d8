import { copySlice } from '../bytes/index.js';
import type { SeekKey } from './cursor.js';

/** Of a row: its hash u32, its file u32, the length of its cells u32, their number u32; then the cells and a table of their offsets, u32 each. */
const HEADER_BYTES = 16;
/** Rows begin at multiples of this. */
const UNIT = 8;
/** Rows larger than this are not kept. */
const MAX_ROW_BYTES = 8192;
/** The buffer has room for at least this many of the largest rows. */
const LEAST_ROWS = 16;
/** Slots of the hash table in which a row may be: a line of the CPU's cache has eight. */
const WAYS = 4;
/** Bytes of the buffer for each slot of the table. */
const BYTES_PER_SLOT = 96;
const TAG_VALUES = 256;
/** The first bytes of a cell of the encoding NONE: the length of its row, and where the row begins. */
const ROW_LENGTH_AT = 24;
const ROW_AT = 28;

/**
 * Rows of sorted files in memory, for reads of single rows where the files are larger than the block cache: a row that is read often
 * keeps its own bytes in memory, and not those of its neighbors. Files do not change, so neither do their rows; those of a removed
 * file are overwritten in time.
 *
 * The rows lie in one buffer, written in turn like a log: a new row overwrites the oldest ones. A row that is found in the oldest
 * quarter is written again. So it keeps rows about as long as a list in the order of use would, without objects. A hash table has the
 * places of rows; each place is that in an endless log, so one that was overwritten is known by its number.
 *
 * A row is kept when it is read for the second time within some time: rows that are read once do not replace others.
 */
export class RowCache {
  /** Bytes of memory that it takes, used or not. */
  readonly bytes: number;
  private readonly size: number;
  private readonly buffer: Uint8Array;
  private readonly view: DataView;
  /** The place in the endless log divided by UNIT, times TAG_VALUES, plus some bits of the hash; 0: none. */
  private readonly slots: Float64Array;
  /** Bits of the hash of the row that was last read and not kept, for each slot. */
  private readonly seen: Uint8Array;
  private readonly shift: number;
  /** Where the next row is written, in the endless log; it begins at `size`, so that 0 is overwritten. */
  private head: number;

  /** @param limit the most bytes of memory. */
  constructor(limit: number) {
    const slots = 2 ** Math.max(4, Math.floor(Math.log2(limit / BYTES_PER_SLOT)));
    this.size = Math.max(0, Math.floor((limit - slots * 9) / UNIT) * UNIT);
    this.bytes = this.size + slots * 9;
    this.buffer = new Uint8Array(this.size);
    this.view = new DataView(this.buffer.buffer);
    this.slots = new Float64Array(slots);
    this.seen = new Uint8Array(slots);
    this.shift = 32 - Math.log2(slots);
    this.head = this.size;
  }

  /** Whether so little memory has room for rows. */
  static fits(limit: number): boolean {
    return limit >= LEAST_ROWS * MAX_ROW_BYTES;
  }

  /**
   * Copies the row of `target` in file `file` to the beginning of `into`, cells and table.
   * @returns whether the row is there; then `cellsLength` and `cells` say how long it is
   */
  find(file: number, hash: number, target: SeekKey, into: RowBuffer): boolean {
    const { slots, view, head, size } = this;
    const mixed = mix(file, hash);
    const home = this.home(mixed);
    const tag = mixed & (TAG_VALUES - 1);
    for (let slot = home; slot < home + WAYS; slot++) {
      const content = slots[slot]!;
      const unit = Math.floor(content / TAG_VALUES);
      if (content - unit * TAG_VALUES !== tag) continue;
      const place = unit * UNIT;
      if (place + size < head) continue;
      const at = place % size;
      if (view.getInt32(at, true) !== mixed || view.getUint32(at + 4, true) !== file) continue;
      if (!this.isRow(at + HEADER_BYTES, target)) continue;
      const cellsLength = view.getUint32(at + 8, true);
      const cells = view.getUint32(at + 12, true);
      const length = cellsLength + 4 * cells;
      into.reserve(length);
      copySlice(this.buffer, at + HEADER_BYTES, length, into.bytes, 0);
      into.cellsLength = cellsLength;
      into.cells = cells;
      if (place + size - head < size / 4) {
        slots[slot] = 0;
        this.write(file, mixed, into.bytes, 0, cellsLength, cells);
      }
      return true;
    }
    return false;
  }

  /** Keeps a row of the file, if it was read before: its cells in `bytes` from `from`, with the table of their offsets after them. */
  offer(
    file: number,
    hash: number,
    bytes: Uint8Array,
    from: number,
    cellsLength: number,
    cells: number,
  ): void {
    if (cellsLength + 4 * cells > MAX_ROW_BYTES) return;
    const mixed = mix(file, hash);
    const { seen } = this;
    const place = mixed >>> this.shift;
    const mark = mixed & (TAG_VALUES - 1) || 1;
    // While there is free room every row is kept.
    if (seen[place] !== mark && this.head >= 2 * this.size) {
      seen[place] = mark;
      return;
    }
    this.write(file, mixed, bytes, from, cellsLength, cells);
  }

  private write(
    file: number,
    mixed: number,
    bytes: Uint8Array,
    from: number,
    cellsLength: number,
    cells: number,
  ): void {
    const { size, view, slots } = this;
    const length = cellsLength + 4 * cells;
    const needed = Math.ceil((HEADER_BYTES + length) / UNIT) * UNIT;
    let at = this.head % size;
    // No row extends beyond the end of the buffer.
    if (at + needed > size) {
      this.head += size - at;
      at = 0;
    }
    const place = this.head;
    this.head += needed;
    view.setInt32(at, mixed, true);
    view.setUint32(at + 4, file, true);
    view.setUint32(at + 8, cellsLength, true);
    view.setUint32(at + 12, cells, true);
    copySlice(bytes, from, length, this.buffer, at + HEADER_BYTES);
    const home = this.home(mixed);
    let oldest = home;
    for (let slot = home + 1; slot < home + WAYS; slot++) if (slots[slot]! < slots[oldest]!) oldest = slot;
    slots[oldest] = (place / UNIT) * TAG_VALUES + (mixed & (TAG_VALUES - 1));
  }

  private home(mixed: number): number {
    return (mixed >>> this.shift) & -WAYS;
  }

  /** Whether the row of the cell at `at` is that of the target. */
  private isRow(at: number, { row, rowOffset, rowLength }: SeekKey): boolean {
    const { buffer, view } = this;
    if (view.getUint16(at + ROW_LENGTH_AT, true) !== rowLength) return false;
    const rowAt = at + ROW_AT;
    for (let i = rowLength - 1; i >= 0; i--) if (buffer[rowAt + i] !== row[rowOffset + i]) return false;
    return true;
  }
}

/** Rows of several files have one hash. */
function mix(file: number, hash: number): number {
  const mixed = Math.imul(hash ^ Math.imul(file, 0x9e3779b1), 0x85ebca6b);
  return mixed ^ (mixed >>> 15);
}

/** A buffer for cells of a row, which grows. */
export class RowBuffer {
  bytes: Uint8Array = new Uint8Array(4096);
  view: DataView = new DataView(this.bytes.buffer);
  /** Of the row that was copied to its beginning: the length and the number of its cells. */
  cellsLength = 0;
  cells = 0;

  /** Makes room for `length` bytes; keeps the first `kept`. */
  reserve(length: number, kept = 0): void {
    if (length <= this.bytes.length) return;
    const larger = new Uint8Array(Math.max(length, 2 * this.bytes.length));
    larger.set(this.bytes.subarray(0, kept));
    this.bytes = larger;
    this.view = new DataView(larger.buffer);
  }
}
