import { compareSlices, copySlice } from '../../bytes/index.js';
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
