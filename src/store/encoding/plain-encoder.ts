import { copyWords, putU64 } from '../../bytes/index.js';
import type { CellCursor } from '../cursor.js';
import { BlockEncoder } from './data-block.js';
import {
  CELL_HEADER_BYTES,
  type EncodedRow,
  FLAG_SAME_ROW,
  FLAG_TTL,
  grown,
  TTL_BYTES,
} from './encoded-row.js';

/**
 * NONE: the cells, then the table of their offsets, u32 each, and the number of cells, u32.
 *
 * ROW_INDEX_V1: the bytes of a row are only in its first cell of the block. After the table of offsets comes the table of rows, u32
 * each: the number of each row's first cell; then the number of rows and the number of cells.
 */
export class PlainEncoder extends BlockEncoder {
  private offsets = new Uint32Array(256);
  private rowStarts = new Uint32Array(64);
  private rows = 0;

  constructor(private readonly rowIndex: boolean) {
    super();
  }

  override get takesEncodedRows(): boolean {
    return !this.rowIndex;
  }

  override get hasParts(): boolean {
    return true;
  }

  override canBeginPart(sameRow: boolean): boolean {
    return !this.rowIndex || !sameRow;
  }

  override append(cursor: CellCursor, _sharedRow: number, sameRow: boolean): void {
    const { rowLength, qualifierLength, valueLength, ttl } = cursor;
    this.reserve(CELL_HEADER_BYTES + rowLength + qualifierLength + valueLength + TTL_BYTES);
    const omitRow = this.rowIndex && sameRow && this.count > 0;
    this.note(omitRow);
    const at = this.length;
    const view = this.view;
    putU64(view, at, cursor.timestamp);
    putU64(view, at + 8, cursor.seq);
    view.setUint32(at + 16, valueLength, true);
    view.setUint32(at + 20, qualifierLength, true);
    const flags = (ttl === 0 ? 0 : FLAG_TTL) | (omitRow ? FLAG_SAME_ROW : 0);
    view.setUint32(at + 24, rowLength | (cursor.type << 16) | (flags << 24), true);
    let end = at + CELL_HEADER_BYTES;
    if (!omitRow) end = this.putBytes(end, cursor.key, cursor.rowOffset, rowLength);
    end = this.putBytes(end, cursor.key, cursor.qualifierOffset, qualifierLength);
    end = this.putBytes(end, cursor.value, cursor.valueOffset, valueLength);
    if (ttl !== 0) {
      putU64(view, end, ttl);
      end += TTL_BYTES;
    }
    this.length = end;
  }

  override appendCells(row: EncodedRow, first: number, end: number): void {
    const { starts } = row;
    const from = starts[first]!;
    const bytes = (end < row.cells ? starts[end]! : row.end) - from;
    this.reserve(bytes);
    const { count, length } = this;
    while (count + end - first > this.offsets.length) this.offsets = grown(this.offsets);
    const { offsets } = this;
    for (let i = first; i < end; i++) offsets[count + i - first] = length + starts[i]! - from;
    copyWords(row.view, from, bytes, this.view, length);
    this.count = count + end - first;
    this.length = length + bytes;
  }

  /** Adds the cell that begins at `length` to the tables. */
  private note(omitRow: boolean): void {
    if (this.count === this.offsets.length) this.offsets = grown(this.offsets);
    this.offsets[this.count] = this.length;
    if (this.rowIndex && !omitRow) {
      if (this.rows === this.rowStarts.length) this.rowStarts = grown(this.rowStarts);
      this.rowStarts[this.rows++] = this.count;
    }
    this.count++;
  }

  override finish(): void {
    this.reserve(4 * (this.count + this.rows + 2));
    for (let i = 0; i < this.count; i++) this.putU32(this.offsets[i]!);
    for (let i = 0; i < this.rows; i++) this.putU32(this.rowStarts[i]!);
    if (this.rowIndex) this.putU32(this.rows);
    this.putU32(this.count);
  }

  override reset(): void {
    super.reset();
    this.rows = 0;
  }

  private putU32(value: number): void {
    this.view.setUint32(this.length, value, true);
    this.length += 4;
  }
}
