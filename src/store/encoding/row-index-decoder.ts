/**
 * Blocks of the encoding ROW_INDEX_V1: the cells of NONE (plain-decoder.ts), of which only the first of a row has the row. A second table leads
 * to the rows, so a search finds the row, then the cell in it.
 */

import { compareSlices, EMPTY_BYTES, EMPTY_VIEW, readU64, sharedPrefix } from '../../bytes/index.js';
import { CellType } from '../../table/index.js';
import type { CellCursor, PutVisitor, SeekKey } from '../cursor.js';
import { ABSENT, BEHIND, BlockDecoder, badPayload, DataBlock, FOUND, type InRow } from './data-block.js';
import { CELL_HEADER_BYTES, FLAG_SAME_ROW, FLAG_TTL, TTL_BYTES } from './encoded-row.js';
import { isRowAt, PrefixIndex, RowHashIndex } from './row-lookup.js';

const TAIL_BYTES = 8;

/** Parses and verifies a payload of the encoding ROW_INDEX_V1; cursors need no further checks. */
export function parseRowIndex(bytes: Uint8Array, start: number, end: number): DataBlock {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const tail = end - start >= TAIL_BYTES;
  const count = tail ? view.getUint32(end - 4, true) : 0;
  const rows = tail ? view.getUint32(end - 8, true) : 0;
  const cellsEnd = end - TAIL_BYTES - 4 * (rows + count);
  if (count === 0 || rows === 0 || rows > count || cellsEnd < start)
    throw badPayload(`it has no room for ${count} cells in ${rows} rows`, end - start);
  return parseCells(bytes, view, { start, cellsEnd, count, rows });
}

/** The buffer size for a part of the encoding ROW_INDEX_V1: its cells, and the tables of their offsets and of rows. */
export function rowIndexPartMemory(length: number, cells: number): number {
  return length + 8 * cells;
}

/** Parses a part of a block at the start of `bytes`: verifies the cells, and writes the tables after them. */
export function parseRowIndexPart(bytes: Uint8Array, cellsEnd: number, count: number): DataBlock {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return parseCells(bytes, view, { start: 0, cellsEnd, count, rows: undefined });
}

interface CellsPlace {
  readonly start: number;
  /** Where the tables begin. */
  readonly cellsEnd: number;
  readonly count: number;
  /** Undefined: the tables are missing, and are written. */
  readonly rows: number | undefined;
}

/** Verifies cells and the tables after them. */
function parseCells(
  bytes: Uint8Array,
  view: DataView,
  { start, cellsEnd, count, rows }: CellsPlace,
): DataBlock {
  const rowTable = cellsEnd + 4 * count;
  const writeTables = rows === undefined;
  let at = start;
  let row = 0;
  let rowLength = 0;
  let lastRowAt = start;
  for (let i = 0; i < count; i++) {
    let next = at + CELL_HEADER_BYTES;
    if (next > cellsEnd) throw badPayload(`cell ${i} extends beyond the end`, at - start);
    if (writeTables) view.setUint32(cellsEnd + 4 * i, at - start, true);
    else if (view.getUint32(cellsEnd + 4 * i, true) !== at - start)
      throw badPayload(`cell ${i} is not at its offset in the table`, at - start);
    const word = view.getUint32(at + 24, true);
    const flags = word >>> 24;
    if (flags > (FLAG_SAME_ROW | FLAG_TTL)) throw badPayload(`cell ${i} has an invalid header`, at - start);
    if ((flags & FLAG_SAME_ROW) === 0) {
      if (writeTables) view.setUint32(rowTable + 4 * row, i, true);
      else if (row === rows || view.getUint32(rowTable + 4 * row, true) !== i)
        throw badPayload(`the row of cell ${i} is not in the table`, at - start);
      row++;
      rowLength = word & 0xffff;
      lastRowAt = at;
      next += rowLength;
    }
    if (rowLength === 0 || (word & 0xffff) !== rowLength)
      throw badPayload(`cell ${i} has an invalid row length`, at - start);
    at = next + view.getUint32(at + 16, true) + view.getUint32(at + 20, true);
    if ((flags & FLAG_TTL) !== 0) at += TTL_BYTES;
  }
  if (at !== cellsEnd || (!writeTables && row !== rows))
    throw badPayload('its cells do not end where the tables begin', at - start);
  const shared = sharedPrefix(
    bytes,
    start + CELL_HEADER_BYTES,
    view.getUint16(start + 24, true),
    bytes,
    lastRowAt + CELL_HEADER_BYTES,
    rowLength,
  );
  return new DataBlock(bytes, view, start, cellsEnd, count, row, shared, writeTables);
}

/** Reads blocks of the encoding ROW_INDEX_V1 in place: finds the row first, then the cell in it. */
export class RowIndexDecoder extends BlockDecoder {
  private block: DataBlock | null = null;
  private bytes = EMPTY_BYTES;
  private view: DataView = EMPTY_VIEW;
  private start = 0;
  private table = 0;
  private rowTable = 0;
  private count = 0;
  private rows = 0;
  private shared = 0;
  private index = 0;
  private after = 0;
  /** The offset of the present cell's row, and its number in the block. */
  private rowAt = 0;
  private row = 0;
  /** The index of the cell after the row that was visited. */
  private nextRow = 0;

  override open(cursor: CellCursor, block: DataBlock): void {
    if (this.block !== block) {
      this.block = block;
      this.bytes = block.bytes;
      this.view = block.view;
      this.start = block.start;
      this.table = block.cellsEnd;
      this.rowTable = block.cellsEnd + 4 * block.count;
      this.count = block.count;
      this.rows = block.groups;
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
    this.index = 0;
    this.row = -1;
    this.load(cursor, this.start);
  }

  override last(cursor: CellCursor): void {
    this.moveTo(cursor, this.rows - 1, this.count - 1);
  }

  override next(cursor: CellCursor): boolean {
    const index = this.index + 1;
    if (index >= this.count) return false;
    this.index = index;
    this.load(cursor, this.after);
    return true;
  }

  override visitRow(cursor: CellCursor, visitor: PutVisitor, seq: number): boolean {
    const { view, bytes, count } = this;
    const { readPoint } = visitor;
    let qualifierAt = cursor.qualifierOffset;
    let { index } = this;
    let at = this.place(index);
    let typeAndFlags = view.getUint16(at + 26, true) & ~(FLAG_SAME_ROW << 8);
    for (;;) {
      const valueLength = view.getUint32(at + 16, true);
      const qualifierLength = view.getUint32(at + 20, true);
      if (typeAndFlags !== CellType.Put) return false;
      if (
        (seq >= 0 ? seq : readU64(view, at + 8)) <= readPoint &&
        !visitor.visit(bytes, qualifierAt, qualifierLength, readU64(view, at), valueLength)
      )
        return false;
      at = qualifierAt + qualifierLength + valueLength;
      // The row may continue in the next block.
      if (++index === count) return false;
      typeAndFlags = view.getUint16(at + 26, true);
      if ((typeAndFlags & (FLAG_SAME_ROW << 8)) === 0) {
        this.nextRow = index;
        return true;
      }
      typeAndFlags -= FLAG_SAME_ROW << 8;
      qualifierAt = at + CELL_HEADER_BYTES;
    }
  }

  override leaveRow(cursor: CellCursor): void {
    this.index = this.nextRow;
    this.load(cursor, this.place(this.index));
  }

  override seek(cursor: CellCursor, target: SeekKey): boolean {
    return this.search(cursor, target, 0);
  }

  override seekInRow(cursor: CellCursor, target: SeekKey, hash: number): InRow {
    const block = this.block!;
    let slots = block.hashIndex;
    if (slots === null) {
      if (!RowHashIndex.fits(this.rows, this.rows) || !block.needsHashIndex())
        return super.seekInRow(cursor, target, hash);
      slots = this.buildHashIndex();
    }
    const { view, bytes } = this;
    let slot = slots.first(hash);
    while (slot >= 0) {
      const row = slots.entry(slot);
      const at = this.place(this.rowStart(row));
      if (isRowAt(bytes, at + CELL_HEADER_BYTES, view.getUint16(at + 24, true), target))
        return this.seekFrom(cursor, target, row);
      slot = slots.after(slot, hash);
    }
    return ABSENT;
  }

  private seekFrom(cursor: CellCursor, target: SeekKey, row: number): InRow {
    const end = this.rowEnd(row);
    const low = this.firstInRow(target, row);
    if (low < end) {
      this.moveTo(cursor, row, low);
      return FOUND;
    }
    return low === this.count ? BEHIND : ABSENT;
  }

  override forward(cursor: CellCursor, target: SeekKey): boolean {
    return this.search(cursor, target, this.row);
  }

  override isFirst(): boolean {
    return this.index === 0;
  }

  override lastBefore(cursor: CellCursor, row: Uint8Array): boolean {
    const found = this.searchRow(row, 0, row.length, 0);
    if (found === 0) return false;
    this.moveTo(cursor, found - 1, this.rowEnd(found - 1) - 1);
    return true;
  }

  private search(cursor: CellCursor, target: SeekKey, fromRow: number): boolean {
    const row = this.searchRow(target.row, target.rowOffset, target.rowLength, fromRow);
    if (row === this.rows) return false;
    let low = this.rowStart(row);
    const at = this.place(low);
    const rowLength = this.view.getUint16(at + 24, true);
    const sameRow =
      compareSlices(
        this.bytes,
        at + CELL_HEADER_BYTES,
        rowLength,
        target.row,
        target.rowOffset,
        target.rowLength,
      ) === 0;
    if (sameRow) low = this.firstInRow(target, row);
    if (low === this.count) return false;
    this.moveTo(cursor, low === this.rowEnd(row) ? row + 1 : row, low);
    return true;
  }

  /** The first cell of `row`, the target's row, at or after the target; the row's end when there is none. */
  private firstInRow(target: SeekKey, row: number): number {
    let low = this.rowStart(row);
    let high = this.rowEnd(row);
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.isBefore(this.place(middle), target)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The first row of the block, from `from`, that is not less than the given one. */
  private searchRow(row: Uint8Array, rowOffset: number, rowLength: number, from: number): number {
    const { bytes, shared, rows } = this;
    const block = this.block!;
    const table = block.prefixIndex ?? (block.needsPrefixIndex() ? this.buildPrefixIndex() : null);
    let low = from;
    let high = rows;
    let head = this.start;
    if (table !== null) {
      const code = table.codeOf(row, rowOffset, rowLength);
      low = table.lowerBound(code, from);
      high = table.has(low, code) ? table.upperBound(code, low) : low;
      // Every row of the block has the common prefix; this one is read next in any case.
      head = table.place(low < rows ? low : low - 1);
    }
    const same = shared < rowLength ? shared : rowLength;
    for (let i = 0; i < same; i++) {
      const difference = bytes[head + CELL_HEADER_BYTES + i]! - row[rowOffset + i]!;
      if (difference !== 0) return difference > 0 ? from : rows;
    }
    while (low < high) {
      const middle = (low + high) >>> 1;
      const at = table === null ? this.place(this.rowStart(middle)) : table.place(middle);
      const difference = compareSlices(
        bytes,
        at + CELL_HEADER_BYTES + same,
        this.view.getUint16(at + 24, true) - same,
        row,
        rowOffset + same,
        rowLength - same,
      );
      if (difference < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private buildPrefixIndex(): PrefixIndex {
    const { rows, view, bytes, shared } = this;
    const firstRow = this.start + CELL_HEADER_BYTES;
    const table = new PrefixIndex(rows, bytes.slice(firstRow, firstRow + shared), (i, row) => {
      const at = this.place(this.rowStart(i));
      row.bytes = bytes;
      row.offset = at + CELL_HEADER_BYTES;
      row.length = view.getUint16(at + 24, true);
      row.place = at;
    });
    this.block!.prefixIndex = table;
    return table;
  }

  private buildHashIndex(): RowHashIndex {
    const { rows, view, bytes } = this;
    const slots = new RowHashIndex(rows, (i, row) => {
      if (i === rows) return false;
      const at = this.place(this.rowStart(i));
      row.bytes = bytes;
      row.offset = at + CELL_HEADER_BYTES;
      row.length = view.getUint16(at + 24, true);
      row.place = i;
      return true;
    });
    this.block!.hashIndex = slots;
    return slots;
  }

  /** Whether a cell of the target's row sorts before the target. */
  private isBefore(at: number, target: SeekKey): boolean {
    const view = this.view;
    const word = view.getUint32(at + 24, true);
    const stored = ((word >>> 24) & FLAG_SAME_ROW) === 0 ? word & 0xffff : 0;
    const difference = compareSlices(
      this.bytes,
      at + CELL_HEADER_BYTES + stored,
      view.getUint32(at + 20, true),
      target.qualifier,
      target.qualifierOffset,
      target.qualifierLength,
    );
    if (difference !== 0) return difference < 0;
    const timestamp = readU64(view, at);
    if (timestamp !== target.timestamp) return timestamp > target.timestamp;
    return ((word >>> 16) & 0xff) > target.type;
  }

  private rowStart(row: number): number {
    return this.view.getUint32(this.rowTable + 4 * row, true);
  }

  private rowEnd(row: number): number {
    return row + 1 === this.rows ? this.count : this.rowStart(row + 1);
  }

  private place(index: number): number {
    return this.start + this.view.getUint32(this.table + 4 * index, true);
  }

  private moveTo(cursor: CellCursor, row: number, index: number): void {
    this.index = index;
    const first = this.rowStart(row);
    // `load` increments the row when it reads the row's first cell.
    this.row = index === first ? row - 1 : row;
    this.rowAt = this.place(first) + CELL_HEADER_BYTES;
    this.load(cursor, this.place(index));
  }

  private load(cursor: CellCursor, at: number): void {
    const view = this.view;
    const word = view.getUint32(at + 24, true);
    const flags = word >>> 24;
    const rowLength = word & 0xffff;
    const qualifierLength = view.getUint32(at + 20, true);
    const valueLength = view.getUint32(at + 16, true);
    let qualifierAt = at + CELL_HEADER_BYTES;
    if ((flags & FLAG_SAME_ROW) === 0) {
      this.rowAt = qualifierAt;
      this.row++;
      qualifierAt += rowLength;
    }
    const valueAt = qualifierAt + qualifierLength;
    const end = valueAt + valueLength;
    cursor.rowOffset = this.rowAt;
    cursor.rowLength = rowLength;
    cursor.qualifierOffset = qualifierAt;
    cursor.qualifierLength = qualifierLength;
    cursor.timestamp = readU64(view, at);
    cursor.type = (word >>> 16) & 0xff;
    cursor.seq = readU64(view, at + 8);
    cursor.valueOffset = valueAt;
    cursor.valueLength = valueLength;
    if ((flags & FLAG_TTL) === 0) {
      cursor.ttl = 0;
      this.after = end;
    } else {
      cursor.ttl = readU64(view, end);
      this.after = end + TTL_BYTES;
    }
  }
}
