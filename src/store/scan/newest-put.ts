import { CellType, type FamilyDescriptor, FOREVER, type Query } from '../../table/index.js';
import type { CellCursor } from '../cursor.js';

/**
 * Decides which cells of a row are seen where a read asks for the newest version of each column, and for nothing else. Every fast
 * path of reads asks here and finds the cells in its own way: gets of a column and of a row, the first row of a prefix, scans, raw
 * rows. The matchers (`match/`) decide all other reads. `test/store/scan/newest-put.test.ts` holds this rule against them.
 *
 * Cells of one row and family come in their order (R2). Those of writes behind the read point are not there.
 *
 * 1. The first cell of a column decides the whole column: a put that is seen is its value, and older cells do not matter.
 * 2. A put is hidden by a marker of the family that is not older, and by its age. So are all older puts of its column.
 * 3. A marker of the column, as its first cell, hides the whole column.
 * 4. A marker of one version and a cell with a time to live of its own decide nothing here: the column takes a matcher. Where such
 *    a marker is of the family, every column does.
 */

/** Whether a query asks for nothing but cells as they are now, however many of each column. */
export function isPlainQuery(query: Query): boolean {
  return (
    query.filter === undefined &&
    query.timeRange.isAll &&
    query.familyTimeRanges.size === 0 &&
    query.maxResultsPerColumnFamily === undefined &&
    query.rowOffsetPerColumnFamily === 0
  );
}

/** Whether a plain query of so many versions sees the newest put of each column that no marker hides, and no other. */
export function isPlainFamily(family: FamilyDescriptor, maxVersions: number): boolean {
  return (
    (maxVersions === 1 || family.versions === 1) &&
    !family.newVersionBehavior &&
    (family.ttl === FOREVER || family.minVersions === 0)
  );
}

/** A put that is seen, if it is the first cell of its column. */
export const SHOWN = 0;
/** Neither the cell nor an older one of its column is seen, if it is the first cell of its column. */
export const HIDDEN = 1;
/** The column takes a matcher, if the cell is the first of it. */
export const COLUMN_UNDECIDED = 2;
/** A marker of the family that is taken into account from now on. */
export const FAMILY_MARKED = 3;
/** The row takes a matcher. */
export const ROW_UNDECIDED = 4;

export type Verdict = 0 | 1 | 2 | 3 | 4;

export class NewestPut {
  /** Cells of later writes are not seen. */
  readPoint = 0;
  /** The newest marker of the whole family in this row; -1: none. */
  familyTimestamp = -1;
  private oldestUnexpired = 0;

  /** Begins a row of a family, in which puts of times before `oldestUnexpired` have expired. */
  begin(oldestUnexpired: number): void {
    this.oldestUnexpired = oldestUnexpired;
    this.familyTimestamp = -1;
  }

  /** Whether the cell was written before the read point. */
  sees({ seq }: CellCursor): boolean {
    return seq <= this.readPoint;
  }

  /** Judges a cell that `sees` lets through. */
  judge(cell: CellCursor): Verdict {
    const { type } = cell;
    if (type === CellType.Put) {
      if (cell.ttl !== 0) return COLUMN_UNDECIDED;
      return this.showsPut(cell.timestamp) ? SHOWN : HIDDEN;
    }
    if (type === CellType.DeleteColumn) return cell.ttl !== 0 ? COLUMN_UNDECIDED : HIDDEN;
    if (type === CellType.Delete) return COLUMN_UNDECIDED;
    if (type !== CellType.DeleteFamily || cell.ttl !== 0) return ROW_UNDECIDED;
    if (cell.timestamp > this.familyTimestamp) this.familyTimestamp = cell.timestamp;
    return FAMILY_MARKED;
  }

  /** As `judge`, of a put without a time to live of its own. */
  showsPut(timestamp: number): boolean {
    return timestamp > this.familyTimestamp && timestamp >= this.oldestUnexpired;
  }
}
