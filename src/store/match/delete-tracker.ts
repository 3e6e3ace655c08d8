/** Which puts the delete markers of a row hide (HBase `ScanDeleteTracker`, R28-R37). */

import { CellType } from '../../table/index.js';
import type { CellCursor } from '../cursor.js';
import { ColumnBytes } from './column-bytes.js';

/** What hides a put, by what it means for the rest of the column. */
export const NOT_DELETED = 0;
/** This version only. */
export const VERSION_DELETED = 1;
/** This version and all older ones of the column. */
export const COLUMN_DELETED = 2;

export type DeleteResult = 0 | 1 | 2;

/**
 * Sees the markers and puts of a row in their order (R2): the family's markers first, those of a column before the puts
 * of their timestamp. Knows at most one marker of a column at a time, since a later one of the same column is older, or
 * less specific, or both (R35).
 */
export class DeleteTracker {
  /** The newest family marker's timestamp, -1 for none. */
  private familyTimestamp = -1;
  private readonly familyVersions: number[] = [];
  private markerType = 0;
  private markerTimestamp = 0;
  private readonly column = new ColumnBytes();
  /** False while nothing can be hidden. */
  active = false;

  startRow(): void {
    if (!this.active) return;
    this.active = false;
    this.familyTimestamp = -1;
    this.familyVersions.length = 0;
    this.column.clear();
  }

  add(marker: CellCursor): void {
    const { timestamp, type } = marker;
    if (timestamp <= this.familyTimestamp) return;
    this.active = true;
    if (type === CellType.DeleteFamily) {
      this.familyTimestamp = timestamp;
    } else if (type === CellType.DeleteFamilyVersion) {
      this.familyVersions.push(timestamp);
    } else {
      if (this.column.isSet && type < this.markerType && this.column.isOf(marker)) return;
      this.column.copyFrom(marker);
      this.markerType = type;
      this.markerTimestamp = timestamp;
    }
  }

  check(put: CellCursor): DeleteResult {
    const { timestamp } = put;
    if (timestamp <= this.familyTimestamp) return COLUMN_DELETED;
    const versions = this.familyVersions;
    for (let i = 0; i < versions.length; i++) if (versions[i] === timestamp) return VERSION_DELETED;
    if (this.column.isSet) {
      if (!this.column.isOf(put)) {
        this.column.clear();
      } else if (this.markerType === CellType.DeleteColumn) {
        return COLUMN_DELETED;
      } else if (timestamp === this.markerTimestamp) {
        return VERSION_DELETED;
      } else {
        this.column.clear();
      }
    }
    return NOT_DELETED;
  }
}
