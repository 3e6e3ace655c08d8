import { copySlice } from '../../bytes/index.js';
import type { CellCursor } from '../cursor.js';

/** Codes by which a matcher tells a scanner whether to give a cell, and where to go on (HBase `ScanQueryMatcher.MatchCode`). */

/** Give the cell, go on with the next. */
export const INCLUDE = 0;
/** Leave the cell out, go on with the next. */
export const SKIP = 1;
/** Leave the cell and the rest of its column out. */
export const SEEK_NEXT_COLUMN = 2;
/** Leave the cell and the rest of its row out. */
export const SEEK_NEXT_ROW = 3;
/** Leave the cell out, go on where the filter says. */
export const SEEK_HINT = 4;
/** Give the cell, leave the rest of its column out. */
export const INCLUDE_NEXT_COLUMN = 5;
/** Give the cell, leave the rest of its row out. */
export const INCLUDE_NEXT_ROW = 6;
/** Nothing more of this family, in any row: the filter has ended the scan. */
export const DONE_SCAN = 7;

export type MatchCode = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7;

/**
 * Decides cell by cell what a read or a compaction of one family keeps. Cells come in order (R2), each row whole or
 * from its start to where the scanner leaves it; `startRow` stands between rows.
 */
export abstract class Matcher {
  /** Forgets what it knew of the last row. */
  abstract startRow(): void;
  /** Decides on the cell under the cursor. */
  abstract match(cell: CellCursor): MatchCode;
  /** After SEEK_NEXT_COLUMN or INCLUDE_NEXT_COLUMN: the only column still wanted next, or null for the next there is. */
  abstract nextColumn(): Uint8Array | null;
}

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
