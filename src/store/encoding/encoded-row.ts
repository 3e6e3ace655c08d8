import { compareSlices, copyWords, EMPTY_VIEW, putU64, readU64, sharedPrefix } from '../../bytes/index.js';
import { CellType } from '../../table/index.js';

/**
 * A cell of the encodings NONE and ROW_INDEX_V1. FROZEN, see docs/formats-sorted-files.md:
 *
 *     0   timestamp         u64
 *     8   seq               u64
 *     16  value length      u32
 *     20  qualifier length  u32
 *     24  row length        u16
 *     26  type              u8
 *     27  flags             u8   1: a time to live follows the value   2: the row is that of the previous cell
 *     28  row (unless flag 2), qualifier, value, time to live u64 (with flag 1)
 */

export const CELL_HEADER_BYTES = 28;
export const FLAG_TTL = 1;
export const FLAG_SAME_ROW = 2;
export const TTL_BYTES = 8;

/** Bytes of a cell in the encoding NONE, by which the size of blocks is measured. */
export function plainCellBytes(
  rowLength: number,
  qualifierLength: number,
  valueLength: number,
  ttl: number,
): number {
  return CELL_HEADER_BYTES + rowLength + qualifierLength + valueLength + (ttl === 0 ? 0 : TTL_BYTES);
}

/** The cells of most rows fit. */
const INITIAL_CELLS = 64;
const INITIAL_BYTES = 1024;
/** The most bytes of a row that is copied: what a copy saves of larger ones is not worth its memory. */
const MAX_COPIED_BYTES = 1 << 16;
/** The type and the flags of a put without a time to live, as in the header of a cell. */
const PLAIN_PUT: number = CellType.Put;

/**
 * All cells that a memstore or a file has of a row, in the encoding NONE. They are puts of different columns without a time to live of
 * their own. Where no other file has cells of the row, a flush or a compaction copies it whole. One object serves all rows.
 *
 * The fields of a cell have the names of `CellCursor`, and are those of the first cell until `moveTo`.
 */
export class EncodedRow {
  /** The cells are the bytes from `start` to `end` of these. */
  key: Uint8Array = new Uint8Array(0);
  view: DataView = EMPTY_VIEW;
  start = 0;
  end = 0;
  /** Number of cells. */
  cells = 0;
  /** Where each begins. */
  starts = new Uint32Array(INITIAL_CELLS);
  rowOffset = 0;
  rowLength = 0;
  qualifierOffset = 0;
  qualifierLength = 0;
  timestamp = 0;
  type: number = CellType.Put;
  seq = 0;
  minTimestamp = 0;
  maxTimestamp = 0;
  minSeq = 0;
  maxSeq = 0;
  /** Holds rows that are not in the encoding NONE where they come from. */
  private own = new Uint8Array(INITIAL_BYTES);
  private ownView = new DataView(this.own.buffer);

  /**
   * Reads the row whose first cell is at `start` in a block whose cells end at `cellsEnd`. False: it may go on in the next block, or
   * has other cells, or a timestamp below `oldest`.
   */
  read(bytes: Uint8Array, view: DataView, start: number, cellsEnd: number, oldest: number): boolean {
    this.key = bytes;
    this.view = view;
    this.begin(start, view.getUint16(start + 24, true));
    const { rowLength } = this;
    const rowAt = start + CELL_HEADER_BYTES;
    let at = start;
    do {
      if (view.getUint16(at + 26, true) !== PLAIN_PUT) return false;
      const qualifierLength = view.getUint32(at + 20, true);
      if (!this.add(at, qualifierLength, readU64(view, at), readU64(view, at + 8), oldest)) return false;
      at += CELL_HEADER_BYTES + rowLength + qualifierLength + view.getUint32(at + 16, true);
      if (at >= cellsEnd) return false;
    } while (isSameRow(bytes, at + CELL_HEADER_BYTES, view.getUint16(at + 24, true), rowAt, rowLength));
    this.end = at;
    return true;
  }

  /** Begins a row whose cells are copied from elsewhere. */
  beginCopy(rowLength: number): void {
    this.key = this.own;
    this.view = this.ownView;
    this.begin(0, rowLength);
    this.end = 0;
  }

  /**
   * Adds a copy of a put, whose row, qualifier and value follow one another from `from`. False: it is not of another column than the put
   * before, its timestamp is below `oldest`, or the row is too large.
   */
  copy(
    source: DataView,
    from: number,
    qualifierLength: number,
    valueLength: number,
    timestamp: number,
    seq: number,
    oldest: number,
  ): boolean {
    const at = this.end;
    const length = this.rowLength + qualifierLength + valueLength;
    const end = at + CELL_HEADER_BYTES + length;
    if (end > MAX_COPIED_BYTES) return false;
    if (end > this.own.length) this.grow(end);
    const { view } = this;
    if (this.cells > 0 && timestamp === this.timestamp && seq === this.seq) {
      // That of the first cell, at 0.
      for (let i = 0; i < 16; i += 4) view.setInt32(at + i, view.getInt32(i, true), true);
    } else {
      putU64(view, at, timestamp);
      putU64(view, at + 8, seq);
    }
    view.setUint32(at + 16, valueLength, true);
    view.setUint32(at + 20, qualifierLength, true);
    view.setUint32(at + 24, this.rowLength | (PLAIN_PUT << 16), true);
    copyWords(source, from, length, view, at + CELL_HEADER_BYTES);
    this.end = end;
    return this.add(at, qualifierLength, timestamp, seq, oldest);
  }

  /**
   * Moves the fields of a cell to cell `index`, which is not the first.
   * @returns the length of the common prefix of its qualifier and that of the cell before
   */
  moveTo(index: number): number {
    const { view, key, rowLength, starts } = this;
    const before = starts[index - 1]!;
    const at = starts[index]!;
    this.qualifierOffset = at + CELL_HEADER_BYTES + rowLength;
    this.qualifierLength = view.getUint32(at + 20, true);
    this.timestamp = readU64(view, at);
    this.seq = readU64(view, at + 8);
    return sharedPrefix(
      key,
      before + CELL_HEADER_BYTES + rowLength,
      view.getUint32(before + 20, true),
      key,
      this.qualifierOffset,
      this.qualifierLength,
    );
  }

  private begin(start: number, rowLength: number): void {
    this.start = start;
    this.rowOffset = start + CELL_HEADER_BYTES;
    this.rowLength = rowLength;
    this.cells = 0;
  }

  /** Adds the cell at `at` to the row; false as said of `copy`. */
  private add(at: number, qualifierLength: number, timestamp: number, seq: number, oldest: number): boolean {
    if (timestamp < oldest) return false;
    const { cells } = this;
    if (cells === 0) {
      this.qualifierOffset = at + CELL_HEADER_BYTES + this.rowLength;
      this.qualifierLength = qualifierLength;
      this.timestamp = timestamp;
      this.seq = seq;
      this.minTimestamp = timestamp;
      this.maxTimestamp = timestamp;
      this.minSeq = seq;
      this.maxSeq = seq;
    } else {
      if (!this.isAfterLast(at, qualifierLength)) return false;
      if (timestamp < this.minTimestamp) this.minTimestamp = timestamp;
      else if (timestamp > this.maxTimestamp) this.maxTimestamp = timestamp;
      if (seq < this.minSeq) this.minSeq = seq;
      else if (seq > this.maxSeq) this.maxSeq = seq;
      if (cells === this.starts.length) this.starts = grown(this.starts);
    }
    this.starts[cells] = at;
    this.cells = cells + 1;
    return true;
  }

  /** Whether the qualifier of the cell at `at` sorts after that of the cell added last. */
  private isAfterLast(at: number, qualifierLength: number): boolean {
    const { key, rowLength } = this;
    const last = this.starts[this.cells - 1]!;
    const lastLength = this.view.getUint32(last + 20, true);
    const skip = CELL_HEADER_BYTES + rowLength;
    return compareSlices(key, last + skip, lastLength, key, at + skip, qualifierLength) < 0;
  }

  private grow(needed: number): void {
    const larger = new Uint8Array(2 * needed);
    larger.set(this.own);
    this.own = larger;
    this.ownView = new DataView(larger.buffer);
    this.key = larger;
    this.view = this.ownView;
  }
}

/** Whether two rows of a block are equal. Compares from the end: adjacent rows mostly differ in their last bytes. */
export function isSameRow(
  bytes: Uint8Array,
  a: number,
  aLength: number,
  b: number,
  bLength: number,
): boolean {
  if (aLength !== bLength) return false;
  for (let i = aLength - 1; i >= 0; i--) if (bytes[a + i] !== bytes[b + i]) return false;
  return true;
}

/** A copy with room for twice as many. */
export function grown(array: Uint32Array): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(array.length * 2);
  larger.set(array);
  return larger;
}
