import { copySlice } from '../../bytes/index.js';
import type { CellCursor } from '../cursor.js';

/** Match codes: whether to return a cell, and where to continue (HBase `ScanQueryMatcher.MatchCode`). */

/** Return the cell, continue with the next. */
export const INCLUDE = 0;
/** Skip the cell, continue with the next. */
export const SKIP = 1;
/** Skip the cell and the rest of its column. */
export const SEEK_NEXT_COLUMN = 2;
/** Skip the cell and the rest of its row. */
export const SEEK_NEXT_ROW = 3;
/** Skip the cell, continue at the filter's hint. */
export const SEEK_HINT = 4;
/** Return the cell, skip the rest of its column. */
export const INCLUDE_NEXT_COLUMN = 5;
/** Return the cell, skip the rest of its row. */
export const INCLUDE_NEXT_ROW = 6;
/** Nothing more of this family, in any row: the filter has ended the scan. */
export const DONE_SCAN = 7;

export type MatchCode = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7;

/**
 * Decides cell by cell what a read or a compaction of one family keeps. Cells come in order (R2), each row from its start up to
 * where the scanner leaves it, with a `startRow` before each row.
 */
export abstract class Matcher {
  /** Resets the state of the previous row. */
  abstract startRow(): void;
  /** Decides on the cell at the cursor. */
  abstract match(cell: CellCursor): MatchCode;
  /** After SEEK_NEXT_COLUMN or INCLUDE_NEXT_COLUMN: the next requested column, or null for the next one that exists. */
  abstract nextColumn(): Uint8Array | null;
}

/** A copy of a qualifier, which stays valid when the cursor moves. */
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
