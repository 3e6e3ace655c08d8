import { compareSlices } from '../../bytes/index.js';
import type { CellCursor } from '../cursor.js';
import { ColumnTracker } from './column-tracker.js';
import {
  INCLUDE,
  INCLUDE_NEXT_COLUMN,
  INCLUDE_NEXT_ROW,
  type MatchCode,
  SEEK_NEXT_COLUMN,
  SEEK_NEXT_ROW,
  SKIP,
} from './match-code.js';

/** The columns that a query names, in byte order (HBase `ExplicitColumnTracker`). Sees puts only. */
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

  /** Where the cell's column stands to the wanted one. */
  private compareTo(cell: CellCursor): number {
    const column = this.columns[this.index]!;
    return compareSlices(cell.key, cell.qualifierOffset, cell.qualifierLength, column, 0, column.length);
  }
}
