import { compareSlices } from '../../bytes/index.js';
import type { CellCursor } from '../cursor.js';
import {
  ColumnBytes,
  INCLUDE,
  INCLUDE_NEXT_COLUMN,
  INCLUDE_NEXT_ROW,
  type MatchCode,
  SEEK_NEXT_COLUMN,
  SEEK_NEXT_ROW,
  SKIP,
} from './matcher.js';

/** Decides which columns, and how many of their versions, are kept (HBase `ColumnTracker`). */

export abstract class ColumnTracker {
  constructor(
    /** Versions that are kept however old they are (R18). */
    protected readonly minVersions: number,
    protected readonly maxVersions: number,
    /** Cells with a lower timestamp have expired (R16). */
    protected readonly oldestUnexpired: number,
  ) {}

  abstract startRow(): void;
  /** Whether no further column of the row is requested. */
  abstract get done(): boolean;
  /** Whether the column of a put within the range is requested: INCLUDE, or where to continue. */
  abstract checkColumn(cell: CellCursor): MatchCode;
  /** Counts a cell of a requested column: one of the INCLUDE codes, SKIP for a duplicate, or SEEK_NEXT_COLUMN. */
  abstract checkVersions(cell: CellCursor, isMarker: boolean): MatchCode;
  /** Where to continue when the rest of the cell's column does not matter. */
  abstract finishColumn(cell: CellCursor): MatchCode;
  abstract nextColumn(): Uint8Array | null;

  /** R17: from here on the column has only expired cells, and none is kept. */
  isExpiredForGood(timestamp: number): boolean {
    return timestamp < this.oldestUnexpired && this.minVersions === 0;
  }
}

/** All columns (HBase `ScanWildcardColumnTracker`). */
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
    // A marker is not a version: it counts with the put before it (R14).
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

/** The columns that a query names, in byte order (HBase `ExplicitColumnTracker`). Used for puts only. */
export class ChosenColumns extends ColumnTracker {
  private index = 0;
  private count = 0;
  private lastTimestamp = -1;

  constructor(
    private readonly columns: readonly Uint8Array[],
    minVersions: number,
    maxVersions: number,
    oldestUnexpired: number,
  ) {
    super(minVersions, maxVersions, oldestUnexpired);
  }

  override startRow(): void {
    this.index = 0;
    this.count = 0;
    this.lastTimestamp = -1;
  }

  override get done(): boolean {
    return this.index >= this.columns.length;
  }

  override checkColumn(cell: CellCursor): MatchCode {
    while (this.index < this.columns.length) {
      const order = this.compareTo(cell);
      if (order === 0) return INCLUDE;
      if (order < 0) return SEEK_NEXT_COLUMN;
      this.advance();
    }
    return SEEK_NEXT_ROW;
  }

  override checkVersions(cell: CellCursor): MatchCode {
    const { timestamp } = cell;
    if (timestamp === this.lastTimestamp) return SKIP;
    this.count++;
    const expired = timestamp < this.oldestUnexpired;
    if (this.count >= this.maxVersions || (expired && this.count >= this.minVersions)) {
      this.advance();
      return this.done ? INCLUDE_NEXT_ROW : INCLUDE_NEXT_COLUMN;
    }
    this.lastTimestamp = timestamp;
    return INCLUDE;
  }

  override finishColumn(cell: CellCursor): MatchCode {
    while (this.index < this.columns.length) {
      const order = this.compareTo(cell);
      if (order >= 0) this.advance();
      if (order <= 0) break;
    }
    return this.done ? SEEK_NEXT_ROW : SEEK_NEXT_COLUMN;
  }

  override nextColumn(): Uint8Array | null {
    return this.columns[this.index] ?? null;
  }

  private advance(): void {
    this.index++;
    this.count = 0;
    this.lastTimestamp = -1;
  }

  /** Compares the cell's column to the requested one. */
  private compareTo(cell: CellCursor): number {
    const column = this.columns[this.index]!;
    return compareSlices(cell.key, cell.qualifierOffset, cell.qualifierLength, column, 0, column.length);
  }
}
