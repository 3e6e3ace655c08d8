import { compareBytes } from '../bytes/index.js';
import { CellCursor, compareToSeekKey, type SeekKey } from '../store/cursor.js';
import type { Cell } from '../table/checks.js';

/** Presents cells of one family to the read side of the embedded engine. */
export class ListCursor extends CellCursor {
  private at = 0;

  /** Cells of one family, in order. */
  constructor(private readonly cells: readonly Cell[]) {
    super();
  }

  seekToFirst(): boolean {
    return this.moveTo(0);
  }

  seek(target: SeekKey): boolean {
    return this.search(target, 0);
  }

  reseek(target: SeekKey): boolean {
    return this.search(target, this.at);
  }

  next(): boolean {
    return this.moveTo(this.at + 1);
  }

  seekToPreviousRow(row: Uint8Array | null): boolean {
    const { cells } = this;
    let last = cells.length - 1;
    if (row !== null) while (last >= 0 && compareBytes(cells[last]!.row, row) >= 0) last--;
    if (last < 0) return this.moveTo(cells.length);
    while (last > 0 && compareBytes(cells[last - 1]!.row, cells[last]!.row) === 0) last--;
    return this.moveTo(last);
  }

  close(): void {
    this.valid = false;
  }

  private search(target: SeekKey, from: number): boolean {
    let [low, high] = [from, this.cells.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      this.moveTo(middle);
      if (compareToSeekKey(this, target) < 0) low = middle + 1;
      else high = middle;
    }
    return this.moveTo(low);
  }

  private moveTo(at: number): boolean {
    this.at = at;
    const cell = this.cells[at];
    this.valid = cell !== undefined;
    if (cell === undefined) return false;
    const { row, qualifier, value } = cell;
    const key = new Uint8Array(row.length + qualifier.length);
    key.set(row);
    key.set(qualifier, row.length);
    this.key = key;
    this.rowLength = row.length;
    this.qualifierOffset = row.length;
    this.qualifierLength = qualifier.length;
    this.timestamp = cell.timestamp;
    this.type = cell.type;
    this.value = value;
    this.valueLength = value.length;
    return true;
  }
}
