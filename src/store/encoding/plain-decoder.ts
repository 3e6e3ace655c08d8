/** Blocks of the encoding NONE: each cell has its row, and one table leads to the cells. */

import { compareSlices, EMPTY_BYTES, EMPTY_VIEW, readU64, sharedPrefix } from '../../bytes/index.js';
import { CellType } from '../../table/index.js';
import type { CellCursor, PutVisitor, SeekKey } from '../cursor.js';
import { ABSENT, BEHIND, BlockDecoder, badPayload, DataBlock, FOUND, type InRow } from './data-block.js';
import { CELL_HEADER_BYTES, type EncodedRow, FLAG_TTL, isSameRow, TTL_BYTES } from './encoded-row.js';
import { isRowAt, PrefixIndex, RowHashIndex } from './row-lookup.js';

/** Parses and verifies a payload of the encoding NONE; cursors need no further checks. */
export function parsePlain(bytes: Uint8Array, start: number, end: number): DataBlock {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const count = end - start >= 4 ? view.getUint32(end - 4, true) : 0;
  const cellsEnd = end - 4 - 4 * count;
  if (count === 0 || cellsEnd < start) throw badPayload(`it has no room for ${count} cells`, end - start);
  checkCells(view, start, cellsEnd, count, false);
  return new DataBlock(
    bytes,
    view,
    start,
    cellsEnd,
    count,
    0,
    sharedRowOf(bytes, view, start, cellsEnd, count),
  );
}

/** The buffer size for a part of the encoding NONE: its cells, and the table of their offsets. */
export function plainPartMemory(length: number, cells: number): number {
  return length + 4 * cells;
}

/** Parses a part of a block at the start of `bytes`: verifies the cells, and writes the table of their offsets after them. */
export function parsePlainPart(bytes: Uint8Array, cellsEnd: number, count: number): DataBlock {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  checkCells(view, 0, cellsEnd, count, true);
  return new DataBlock(
    bytes,
    view,
    0,
    cellsEnd,
    count,
    0,
    sharedRowOf(bytes, view, 0, cellsEnd, count),
    true,
  );
}

/** Verifies cells and the table of their offsets after them; `writeTables`: the table is missing, and is written. */
function checkCells(
  view: DataView,
  start: number,
  cellsEnd: number,
  count: number,
  writeTables: boolean,
): void {
  let at = start;
  for (let i = 0; i < count; i++) {
    const next = at + CELL_HEADER_BYTES;
    if (next > cellsEnd) throw badPayload(`cell ${i} extends beyond the end`, at - start);
    if (writeTables) view.setUint32(cellsEnd + 4 * i, at - start, true);
    else if (view.getUint32(cellsEnd + 4 * i, true) !== at - start)
      throw badPayload(`cell ${i} is not at its offset in the table`, at - start);
    const word = view.getUint32(at + 24, true);
    if ((word & 0xffff) === 0 || word >>> 24 > FLAG_TTL)
      throw badPayload(`cell ${i} has an invalid header`, at - start);
    at = next + (word & 0xffff) + view.getUint32(at + 16, true) + view.getUint32(at + 20, true);
    if (word >>> 24 === FLAG_TTL) at += TTL_BYTES;
  }
  if (at !== cellsEnd) throw badPayload('its cells do not end where the table begins', at - start);
}

/** Finds a row among cells of the encoding NONE, and verifies the cells up to its end. */
export class PlainRowFinder {
  /** The row's first byte, its end so far, and its number of cells; 0 when it is not there. */
  start = 0;
  end = 0;
  cells = 0;

  /** Looks for the target's row in `bytes` from 0 to `end`. */
  find(bytes: Uint8Array, view: DataView, end: number, target: SeekKey): void {
    this.cells = 0;
    let at = 0;
    while (at < end) {
      const behind = verifiedEnd(view, at, end);
      if (isRowAt(bytes, at + CELL_HEADER_BYTES, view.getUint16(at + 24, true), target)) {
        this.start = at;
        this.end = behind;
        this.cells = 1;
        this.extend(bytes, view, end, target);
        return;
      }
      at = behind;
    }
  }

  /** Adds the row's cells from its end so far; there are bytes up to `end`. */
  extend(bytes: Uint8Array, view: DataView, end: number, target: SeekKey): void {
    while (this.end < end) {
      const at = this.end;
      const behind = verifiedEnd(view, at, end);
      if (!isRowAt(bytes, at + CELL_HEADER_BYTES, view.getUint16(at + 24, true), target)) return;
      this.end = behind;
      this.cells++;
    }
  }

  /** Writes the table of the offsets of the row's cells after them. */
  writeTable(view: DataView): void {
    let { start: at, end: entry } = this;
    for (let i = 0; i < this.cells; i++, entry += 4) {
      view.setUint32(entry, at - this.start, true);
      at = endOf(view, at);
    }
  }
}

/** The end of the cell at `at`, which is verified. */
function verifiedEnd(view: DataView, at: number, end: number): number {
  const word = at + CELL_HEADER_BYTES > end ? 0 : view.getUint32(at + 24, true);
  if ((word & 0xffff) === 0 || word >>> 24 > FLAG_TTL) throw badPayload('a cell has an invalid header', at);
  const behind = endOf(view, at);
  if (behind > end) throw badPayload('a cell extends beyond the end', at);
  return behind;
}

/** The end of the cell at `at`. */
function endOf(view: DataView, at: number): number {
  const word = view.getUint32(at + 24, true);
  const keyBytes = (word & 0xffff) + view.getUint32(at + 20, true);
  return (
    at + CELL_HEADER_BYTES + keyBytes + view.getUint32(at + 16, true) + (word >>> 24 === 0 ? 0 : TTL_BYTES)
  );
}

/** The length of the common prefix of all rows of a block. */
function sharedRowOf(
  bytes: Uint8Array,
  view: DataView,
  start: number,
  cellsEnd: number,
  count: number,
): number {
  const last = start + view.getUint32(cellsEnd + 4 * (count - 1), true);
  return sharedPrefix(
    bytes,
    start + CELL_HEADER_BYTES,
    view.getUint16(start + 24, true),
    bytes,
    last + CELL_HEADER_BYTES,
    view.getUint16(last + 24, true),
  );
}

/** The most cells of a row that are stepped over before a search. */
const MAX_STEPS = 16;

/** Reads blocks of the encoding NONE in place. */
export class PlainDecoder extends BlockDecoder {
  private block: DataBlock | null = null;
  private bytes = EMPTY_BYTES;
  private view: DataView = EMPTY_VIEW;
  private start = 0;
  /** The end of the cells, where the table of offsets begins. */
  private cellsEnd = 0;
  private count = 0;
  private shared = 0;
  /** The offset of the present cell. */
  private at = 0;
  /** The offset of the next cell. */
  private after = 0;
  /** The end of the row that was visited or read. */
  private rowEnd = 0;

  override open(cursor: CellCursor, block: DataBlock): void {
    if (this.block !== block || block.isRow) {
      this.block = block;
      this.bytes = block.bytes;
      this.view = block.view;
      this.start = block.start;
      this.cellsEnd = block.cellsEnd;
      this.count = block.count;
      this.shared = block.sharedRow;
    }
    cursor.key = block.bytes;
    cursor.value = block.bytes;
  }

  override close(): void {
    this.block = null;
    this.bytes = EMPTY_BYTES;
    this.view = EMPTY_VIEW;
  }

  override first(cursor: CellCursor): void {
    this.load(cursor, this.start);
  }

  override last(cursor: CellCursor): void {
    this.moveTo(cursor, this.count - 1);
  }

  override next(cursor: CellCursor): boolean {
    if (this.after === this.cellsEnd) return false;
    this.load(cursor, this.after);
    return true;
  }

  override visitRow(cursor: CellCursor, visitor: PutVisitor, seq: number): boolean {
    const { view, bytes, cellsEnd } = this;
    const { rowOffset, rowLength } = cursor;
    const { readPoint } = visitor;
    for (let { at } = this; ; ) {
      const valueLength = view.getUint32(at + 16, true);
      const qualifierLength = view.getUint32(at + 20, true);
      const qualifierAt = at + CELL_HEADER_BYTES + rowLength;
      // The type with flags: a put without flags.
      if (view.getUint16(at + 26, true) !== CellType.Put) return false;
      if (
        (seq >= 0 ? seq : readU64(view, at + 8)) <= readPoint &&
        !visitor.visit(bytes, qualifierAt, qualifierLength, readU64(view, at), valueLength)
      )
        return false;
      at = qualifierAt + qualifierLength + valueLength;
      // The row may continue in the next block.
      if (at === cellsEnd) return this.block!.isRow;
      const rowAt = at + CELL_HEADER_BYTES;
      if (!isSameRow(bytes, rowAt, view.getUint16(at + 24, true), rowOffset, rowLength)) {
        this.rowEnd = at;
        return true;
      }
    }
  }

  override encodedRow(row: EncodedRow, oldest: number): boolean {
    if (!row.read(this.bytes, this.view, this.at, this.cellsEnd, oldest)) return false;
    this.rowEnd = row.end;
    return true;
  }

  override leaveRow(cursor: CellCursor): void {
    this.load(cursor, this.rowEnd);
  }

  override seek(cursor: CellCursor, target: SeekKey): boolean {
    return this.search(cursor, target, 0);
  }

  override seekInRow(cursor: CellCursor, target: SeekKey, hash: number): InRow {
    const block = this.block!;
    let slots = block.hashIndex;
    if (slots === null) {
      if (!RowHashIndex.fits(this.count, this.cellsEnd) || !block.needsHashIndex())
        return super.seekInRow(cursor, target, hash);
      slots = this.buildHashIndex();
    }
    const { view, bytes } = this;
    let slot = slots.first(hash);
    while (slot >= 0) {
      const at = slots.entry(slot);
      if (isRowAt(bytes, at + CELL_HEADER_BYTES, view.getUint16(at + 24, true), target))
        return this.seekFrom(cursor, target, at, hash);
      slot = slots.after(slot, hash);
    }
    return ABSENT;
  }

  override seekInOnlyRow(cursor: CellCursor, target: SeekKey, hash: number): boolean {
    return this.seekFrom(cursor, target, this.start, hash) === FOUND;
  }

  /** `first`: the offset of the row's first cell in the block. */
  private seekFrom(cursor: CellCursor, target: SeekKey, first: number, hash: number): InRow {
    const { view, bytes, cellsEnd } = this;
    let at = first;
    for (let i = 0; i < MAX_STEPS; i++) {
      if (!this.isBeforeInRow(at, target)) {
        this.load(cursor, at);
        return FOUND;
      }
      at = this.behind(at);
      if (at === cellsEnd) return BEHIND;
      if (!isRowAt(bytes, at + CELL_HEADER_BYTES, view.getUint16(at + 24, true), target)) return ABSENT;
    }
    return super.seekInRow(cursor, target, hash);
  }

  override forward(cursor: CellCursor, target: SeekKey): boolean {
    return this.search(cursor, target, this.presentIndex());
  }

  override isFirst(): boolean {
    return this.at === this.start;
  }

  override lastBefore(cursor: CellCursor, row: Uint8Array): boolean {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const at = this.place(middle);
      const rowLength = this.view.getUint16(at + 24, true);
      if (compareSlices(this.bytes, at + CELL_HEADER_BYTES, rowLength, row, 0, row.length) < 0)
        low = middle + 1;
      else high = middle;
    }
    if (low === 0) return false;
    this.moveTo(cursor, low - 1);
    return true;
  }

  private search(cursor: CellCursor, target: SeekKey, from: number): boolean {
    const block = this.block!;
    const table = block.prefixIndex ?? (block.needsPrefixIndex() ? this.buildPrefixIndex() : null);
    let low = from;
    let high = this.count;
    let head = this.start;
    if (table !== null) {
      const code = table.codeOf(target.row, target.rowOffset, target.rowLength);
      low = table.lowerBound(code, from);
      high = table.has(low, code) ? table.upperBound(code, low) : low;
      // Every row of the block has the common prefix; this one is read next in any case.
      head = table.place(low < this.count ? low : low - 1);
    }
    const order = this.compareHead(head, target);
    if (order < 0) return false;
    if (order > 0) {
      this.moveTo(cursor, from);
      return true;
    }
    while (low < high) {
      const middle = (low + high) >>> 1;
      const at = table === null ? this.place(middle) : table.place(middle);
      if (this.isBefore(at, target)) low = middle + 1;
      else high = middle;
    }
    if (low === this.count) return false;
    this.moveTo(cursor, low);
    return true;
  }

  /** Compares the common prefix of all rows, read from the cell at `at`, with the beginning of the target. */
  private compareHead(at: number, target: SeekKey): number {
    const { shared, bytes } = this;
    const { row, rowOffset, rowLength } = target;
    const length = shared < rowLength ? shared : rowLength;
    const rowAt = at + CELL_HEADER_BYTES;
    for (let i = 0; i < length; i++) {
      const difference = bytes[rowAt + i]! - row[rowOffset + i]!;
      if (difference !== 0) return difference;
    }
    return 0;
  }

  private buildPrefixIndex(): PrefixIndex {
    const { count, view, bytes, shared } = this;
    const firstRow = this.start + CELL_HEADER_BYTES;
    const table = new PrefixIndex(count, bytes.slice(firstRow, firstRow + shared), (i, row) => {
      const at = this.place(i);
      row.bytes = bytes;
      row.offset = at + CELL_HEADER_BYTES;
      row.length = view.getUint16(at + 24, true);
      row.place = at;
    });
    this.block!.prefixIndex = table;
    return table;
  }

  private buildHashIndex(): RowHashIndex {
    const { count, cellsEnd, view, bytes } = this;
    let at = this.start;
    let before = -1;
    let beforeLength = 0;
    const slots = new RowHashIndex(count, (_, row) => {
      for (; at < cellsEnd; at = this.behind(at)) {
        const rowAt = at + CELL_HEADER_BYTES;
        const length = view.getUint16(at + 24, true);
        if (compareSlices(bytes, before, beforeLength, bytes, rowAt, length) !== 0) {
          before = rowAt;
          beforeLength = length;
          row.bytes = bytes;
          row.offset = rowAt;
          row.length = length;
          row.place = at;
          return true;
        }
      }
      return false;
    });
    this.block!.hashIndex = slots;
    return slots;
  }

  /** Whether the cell at `at` sorts before `target`, whose row begins with the common prefix, as far as it is long enough. */
  private isBefore(at: number, target: SeekKey): boolean {
    const { view, bytes } = this;
    const rowLength = view.getUint16(at + 24, true);
    const rowAt = at + CELL_HEADER_BYTES;
    const row = target.row;
    const rowOffset = target.rowOffset;
    const length = rowLength < target.rowLength ? rowLength : target.rowLength;
    for (let i = this.shared; i < length; i++) {
      const difference = bytes[rowAt + i]! - row[rowOffset + i]!;
      if (difference !== 0) return difference < 0;
    }
    if (rowLength !== target.rowLength) return rowLength < target.rowLength;
    return this.isBeforeInRow(at, target);
  }

  /** Whether the cell at `at`, of the target's row, sorts before the target. */
  private isBeforeInRow(at: number, target: SeekKey): boolean {
    const { view } = this;
    const qualifierLength = view.getUint32(at + 20, true);
    // The target is the start of a row.
    if (target.qualifierLength === 0 && qualifierLength > 0) return false;
    const difference = compareSlices(
      this.bytes,
      at + CELL_HEADER_BYTES + target.rowLength,
      qualifierLength,
      target.qualifier,
      target.qualifierOffset,
      target.qualifierLength,
    );
    if (difference !== 0) return difference < 0;
    const timestamp = readU64(view, at);
    if (timestamp !== target.timestamp) return timestamp > target.timestamp;
    return view.getUint8(at + 26) > target.type;
  }

  private place(index: number): number {
    return this.start + this.view.getUint32(this.cellsEnd + 4 * index, true);
  }

  private moveTo(cursor: CellCursor, index: number): void {
    const table = this.block!.prefixIndex;
    this.load(cursor, table === null ? this.place(index) : table.place(index));
  }

  /** The index of the present cell. */
  private presentIndex(): number {
    let low = 0;
    let high = this.count - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.place(middle) < this.at) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The end of the cell at `at`. */
  private behind(at: number): number {
    return endOf(this.view, at);
  }

  private load(cursor: CellCursor, at: number): void {
    const view = this.view;
    this.at = at;
    const word = view.getUint32(at + 24, true);
    const rowLength = word & 0xffff;
    const qualifierLength = view.getUint32(at + 20, true);
    const valueLength = view.getUint32(at + 16, true);
    const rowAt = at + CELL_HEADER_BYTES;
    const valueAt = rowAt + rowLength + qualifierLength;
    const end = valueAt + valueLength;
    cursor.rowOffset = rowAt;
    cursor.rowLength = rowLength;
    cursor.qualifierOffset = rowAt + rowLength;
    cursor.qualifierLength = qualifierLength;
    cursor.timestamp = readU64(view, at);
    cursor.type = (word >>> 16) & 0xff;
    cursor.seq = readU64(view, at + 8);
    cursor.valueOffset = valueAt;
    cursor.valueLength = valueLength;
    if (word >>> 24 === 0) {
      cursor.ttl = 0;
      this.after = end;
    } else {
      cursor.ttl = readU64(view, end);
      this.after = end + TTL_BYTES;
    }
  }
}
