/** Which columns and how many of their versions are kept (HBase `ColumnTracker`). */

import type { CellCursor } from '../cursor.js';
import { ColumnBytes } from './column-bytes.js';
import { INCLUDE, type MatchCode, SEEK_NEXT_COLUMN, SKIP } from './match-code.js';

export abstract class ColumnTracker {
  constructor(
    /** Versions kept however old they are (R18). */
    protected readonly minVersions: number,
    protected readonly maxVersions: number,
    /** Cells with a lower timestamp have expired (R16). */
    protected readonly oldestUnexpired: number,
  ) {}

  abstract startRow(): void;
  /** Whether the row has no more columns of interest. */
  abstract get done(): boolean;
  /** Whether the column of a put that is in range is wanted: INCLUDE, or where to go on. */
  abstract checkColumn(cell: CellCursor): MatchCode;
  /** Counts a cell of a wanted column: one of the INCLUDE codes, SKIP for a duplicate, or SEEK_NEXT_COLUMN. */
  abstract checkVersions(cell: CellCursor, isMarker: boolean): MatchCode;
  /** Where to go on when the rest of the cell's column does not matter. */
  abstract finishColumn(cell: CellCursor): MatchCode;
  abstract nextColumn(): Uint8Array | null;

  /** R17: from here on the column has only expired cells, of which none is kept. */
  isExpiredForGood(timestamp: number): boolean {
    return timestamp < this.oldestUnexpired && this.minVersions === 0;
  }
}

/** Every column (HBase `ScanWildcardColumnTracker`). */
export class AllColumns extends ColumnTracker {
  private readonly column = new ColumnBytes();
  private count = 0;
  private lastTimestamp = -1;
  private lastType = 0;

  override startRow(): void {
    this.column.clear();
    this.lastTimestamp = -1;
  }

  override get done(): boolean {
    return false;
  }

  override checkColumn(): MatchCode {
    return INCLUDE;
  }

  override checkVersions(cell: CellCursor, isMarker: boolean): MatchCode {
    const { timestamp, type } = cell;
    if (!this.column.isOf(cell)) {
      this.column.copyFrom(cell);
      this.count = 0;
      this.lastTimestamp = -1;
    } else if (timestamp === this.lastTimestamp && type === this.lastType) {
      return SKIP;
    }
    // A marker is no version: it stands with the put before it (R14).
    if (!isMarker) this.count++;
    if (this.count > this.maxVersions) return SEEK_NEXT_COLUMN;
    if (this.count > this.minVersions && timestamp < this.oldestUnexpired) return SEEK_NEXT_COLUMN;
    this.lastTimestamp = timestamp;
    this.lastType = type;
    return INCLUDE;
  }

  override finishColumn(): MatchCode {
    return SEEK_NEXT_COLUMN;
  }

  override nextColumn(): null {
    return null;
  }
}
