import { CellType, type FamilyDescriptor, FOREVER, type Query } from '../../table/index.js';
import type { CellCursor } from '../cursor.js';

/**
 * Decides which cells of a row are visible to reads of the newest version of each column. All fast read paths use it and only
 * differ in how they find cells: gets of a column and of a row, the first row of a prefix, scans, raw rows. The matchers
 * (`match/`) decide all other reads. `test/store/scan/newest-put.test.ts` compares this rule with them.
 *
 * The cells of one row and family are judged in order (R2); cells beyond the read point are skipped.
 *
 * 1. The first cell of a column decides the whole column: a visible put is its value, and older cells do not matter.
 * 2. A put is hidden by a family marker with its timestamp or a later one, and when it has expired. Then all older puts of its
 *    column are hidden too.
 * 3. A column marker as the first cell hides the whole column.
 * 4. Markers of one version and cells with their own time to live are not decided here: the column needs a matcher. If such a
 *    marker is of the family, the row needs one.
 */

/** Whether a query reads present cells without filters, time ranges or limits per family. */
export function isPlainQuery(query: Query): boolean {
  return (
    query.filter === undefined &&
    query.timeRange.isAll &&
    query.familyTimeRanges.size === 0 &&
    query.maxResultsPerColumnFamily === undefined &&
    query.rowOffsetPerColumnFamily === 0
  );
}

/** Whether a plain query of so many versions sees only the newest put of each column, unless a marker hides it. */
export function isPlainFamily(family: FamilyDescriptor, maxVersions: number): boolean {
  return (
    (maxVersions === 1 || family.versions === 1) &&
    !family.newVersionBehavior &&
    (family.ttl === FOREVER || family.minVersions === 0)
  );
}

/** A visible put, if the cell is the first of its column. */
export const SHOWN = 0;
/** Neither the cell nor an older one of its column is visible, if the cell is the first of its column. */
export const HIDDEN = 1;
/** The column needs a matcher, if the cell is the first of it. */
export const COLUMN_UNDECIDED = 2;
/** A family marker, which is applied to the cells after it. */
export const FAMILY_MARKED = 3;
/** The row needs a matcher. */
export const ROW_UNDECIDED = 4;

export type Verdict = 0 | 1 | 2 | 3 | 4;

export class NewestPut {
  /** Cells with a higher sequence number are not visible. */
  readPoint = 0;
  /** The newest family marker in this row; -1 for none. */
  familyTimestamp = -1;
  private oldestUnexpired = 0;

  /** Begins a row of a family, in which puts before `oldestUnexpired` have expired. */
  begin(oldestUnexpired: number): void {
    this.oldestUnexpired = oldestUnexpired;
    this.familyTimestamp = -1;
  }

  /** Whether the cell was written before the read point. */
  sees({ seq }: CellCursor): boolean {
    return seq <= this.readPoint;
  }

  /** Judges a cell for which `sees` is true. */
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

  /** Like `judge`, for a put without its own time to live. */
  showsPut(timestamp: number): boolean {
    return timestamp > this.familyTimestamp && timestamp >= this.oldestUnexpired;
  }
}
