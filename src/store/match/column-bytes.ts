import { copySlice } from '../../bytes/index.js';
import type { CellCursor } from '../cursor.js';

/** A qualifier kept across moves of the cursor it was seen at. */
export class ColumnBytes {
  private bytes: Uint8Array = new Uint8Array(32);
  /** -1: none. */
  private length = -1;

  get isSet(): boolean {
    return this.length >= 0;
  }

  clear(): void {
    this.length = -1;
  }

  copyFrom(cell: CellCursor): void {
    const length = cell.qualifierLength;
    if (length > this.bytes.length) this.bytes = new Uint8Array(length * 2);
    copySlice(cell.key, cell.qualifierOffset, length, this.bytes, 0);
    this.length = length;
  }

  /** Whether the cell is of this column. */
  isOf(cell: CellCursor): boolean {
    const length = this.length;
    if (cell.qualifierLength !== length) return false;
    const { key, qualifierOffset } = cell;
    const bytes = this.bytes;
    for (let i = length - 1; i >= 0; i--) if (bytes[i] !== key[qualifierOffset + i]) return false;
    return true;
  }
}
