import { compareSlices, copySlice, EMPTY_BYTES } from '../../bytes/index.js';
import { CellType, type FamilyDescriptor, FOREVER, type Query, type RawRow } from '../../table/index.js';
import { type CellCursor, compareInRow, isInColumn, isInRow, SeekKey, TYPE_MINIMUM } from '../cursor.js';
import { type CellMaker, endRow, type StoredRowBuilder } from './row-builder.js';

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

type Verdict = 0 | 1 | 2 | 3 | 4;

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

// — The reader of one row of a family from cursors, for gets, scans and raw rows. `RowRun` (row-run.ts) reads most rows faster.

/** The most older versions that are stepped over where none can be skipped; with more a scanner is faster. */
export const MAX_OLDER = 32;
/** The most older versions of a column that are stepped over before the cursor seeks past all of them. */
const MAX_OLDER_STEPS = 8;
/** The most cells of other columns that are stepped over; with more a scanner is faster. */
export const MAX_OTHER_COLUMNS = 64;

/** Reads the cells of one family of a row at a time. */
export class PlainRow {
  /** The target: `raw`, or `out` when `raw` is null. */
  raw: RawRow | null = null;
  out: StoredRowBuilder | null = null;
  /** Every cell is added to `out` as it is stored, delete markers included: for raw scans of all versions (R47). */
  stored = false;
  /** Decides which cells are visible. Its read point is set before rows are read. */
  readonly rule = new NewestPut();
  /** The first `count` elements are the cursors in the row. Others are cleared, since cursors retain blocks. */
  readonly cursors: (CellCursor | undefined)[] = [];
  count = 0;
  private maker: CellMaker | undefined;
  private row: Uint8Array | undefined;
  /** No further cell of this column is visible; for stored rows: the column of the last cell. */
  private done: Uint8Array | undefined;
  /** The last cell of a stored row. */
  private lastTimestamp = -1;
  private lastType = -1;
  private made = 0;
  private older = 0;
  /** The requested columns, in order, null for all; and how many of them are before the present cell. */
  private columns: readonly Uint8Array[] | null = null;
  private before = 0;
  private passed = 0;
  /** The bytes that were copied ahead; null when they are not, or may have changed since. */
  private ahead: Uint8Array | null = null;
  /** Whether the rest of the present cell's column is invisible. */
  private skips = false;
  /** The end of that column. */
  private readonly behind = new SeekKey();

  /** Clears the added cursors. */
  begin(): void {
    const { cursors } = this;
    for (let i = 0; i < cursors.length; i++) cursors[i] = undefined;
    this.count = 0;
  }

  /** Adds a cursor that is in the row. */
  add(cursor: CellCursor): void {
    this.cursors[this.count++] = cursor;
  }

  /** Sorts the cursors by their cells. */
  private sort(): void {
    const { cursors, count } = this;
    for (let i = 1; i < count; i++) {
      const cursor = cursors[i]!;
      let at = i;
      for (; at > 0 && compareInRow(cursor, cursors[at - 1]!) < 0; at--) cursors[at] = cursors[at - 1];
      cursors[at] = cursor;
    }
  }

  /**
   * Reads the row from the added cursors, and moves them past it. False when the row has a marker of one version, a cell with its own
   * time to live, many versions or many other columns: it needs a matcher. Then what was read must be discarded, and the cursors
   * are anywhere in the row.
   * @param columns the requested qualifiers, in order; null: all
   * @param head the cursor from which `row` was just copied by `copyRowAhead`; null: it was copied otherwise
   */
  read(
    maker: CellMaker,
    row: Uint8Array,
    columns: readonly Uint8Array[] | null,
    oldestUnexpired: number,
    head: CellCursor | null,
  ): boolean {
    this.maker = maker;
    this.row = row;
    this.rule.begin(oldestUnexpired);
    this.done = undefined;
    this.made = 0;
    this.older = 0;
    this.columns = columns;
    this.before = 0;
    this.passed = 0;
    this.ahead = head === null ? null : head.value;
    this.skips = false;
    const read = this.count === 1 ? this.readAlone(row) : this.merge(row);
    this.ahead = null;
    if (head !== null) endRow(head);
    return read;
  }

  /** Reads a row that a single cursor has. */
  private readAlone(row: Uint8Array): boolean {
    const cursor = this.cursors[0]!;
    this.begin();
    do {
      if (this.rule.sees(cursor) && !this.addCell(cursor)) return false;
    } while (this.advance(cursor, row));
    return true;
  }

  private merge(row: Uint8Array): boolean {
    this.sort();
    const { cursors } = this;
    let { count } = this;
    this.count = 0;
    while (count > 0) {
      const top = cursors[0]!;
      if (this.rule.sees(top) && !this.addCell(top)) {
        this.begin();
        return false;
      }
      if (!this.advance(top, row)) {
        count--;
        for (let i = 0; i < count; i++) cursors[i] = cursors[i + 1];
        cursors[count] = undefined;
      } else if (count > 1 && compareInRow(top, cursors[1]!) > 0) {
        let at = 1;
        cursors[0] = cursors[1];
        while (at + 1 < count && compareInRow(top, cursors[at + 1]!) > 0) {
          cursors[at] = cursors[at + 1];
          at++;
        }
        cursors[at] = top;
      }
    }
    return true;
  }

  /** Moves to the next cell of the row that may be visible; false when there is none. */
  private advance(cursor: CellCursor, row: Uint8Array): boolean {
    const { value } = cursor;
    const found = this.skips ? this.skipColumn(cursor, row) : cursor.nextInRow(row);
    // The block is released: its memory may be that of another block when the cursor moves again.
    if (value === this.ahead && cursor.value !== value) this.ahead = null;
    return found;
  }

  /** Moves past the present column. */
  private skipColumn(cursor: CellCursor, row: Uint8Array): boolean {
    this.skips = false;
    this.older = 0;
    const { behind } = this;
    const { key, qualifierOffset, qualifierLength } = cursor;
    behind.setRow(row);
    // The cursor's own bytes may change while it moves.
    if (behind.qualifier.length < qualifierLength) behind.qualifier = new Uint8Array(2 * qualifierLength);
    copySlice(key, qualifierOffset, qualifierLength, behind.qualifier, 0);
    behind.qualifierLength = qualifierLength;
    behind.timestamp = -1;
    behind.type = TYPE_MINIMUM;
    const found = cursor.reseek(behind) && isInRow(cursor, row);
    behind.row = EMPTY_BYTES;
    return found;
  }

  /** Adds a cell if it is visible. False when the row needs a matcher. */
  private addCell(cell: CellCursor): boolean {
    if (this.stored) return this.addStored(cell);
    const verdict = this.rule.judge(cell);
    if (verdict === FAMILY_MARKED) return true;
    if (verdict === ROW_UNDECIDED) return false;
    if (this.columns !== null && !this.isWanted(cell, this.columns))
      return ++this.passed <= MAX_OTHER_COLUMNS;
    const { done } = this;
    if (done !== undefined && isInColumn(cell, done)) return this.stepOverOlder(cell);
    const maker = this.maker!;
    if (verdict === SHOWN) {
      this.older = 0;
      if (this.raw !== null) {
        this.done = maker.makeRaw(cell, this.raw, this.made++);
      } else {
        const made = maker.make(cell, this.row!, this.made++, this.ahead !== null);
        this.done = made.qualifier;
        this.out!.add(made);
      }
      return true;
    }
    if (verdict === COLUMN_UNDECIDED) return false;
    // Older puts are judged one by one, which costs less than storing the column of a put that is not returned.
    if (cell.type === CellType.Put) return this.stepOverOlder(cell);
    this.done = maker.qualifierOf(cell, this.made);
    return true;
  }

  /** Adds a stored cell. Of cells that differ only in seq the newest counts. */
  private addStored(cell: CellCursor): boolean {
    const { type, timestamp } = cell;
    if (cell.ttl !== 0) return false;
    const { done } = this;
    if (
      done !== undefined &&
      timestamp === this.lastTimestamp &&
      type === this.lastType &&
      isInColumn(cell, done)
    )
      return true;
    this.lastTimestamp = timestamp;
    this.lastType = type;
    const made = this.maker!.make(cell, this.row!, this.made++, this.ahead !== null);
    this.done = made.qualifier;
    this.out!.add(made);
    return true;
  }

  /** Steps over a cell after which no cell of its column is visible. */
  private stepOverOlder({ qualifierLength }: CellCursor): boolean {
    if (++this.older <= MAX_OLDER_STEPS) return true;
    // The family's markers are among the cells of the empty qualifier.
    if (qualifierLength === 0) return this.older <= MAX_OLDER;
    this.skips = true;
    return true;
  }

  /** Whether the cell, which is not before the last one, is of a requested column. */
  private isWanted(
    { key, qualifierOffset, qualifierLength }: CellCursor,
    columns: readonly Uint8Array[],
  ): boolean {
    for (; this.before < columns.length; this.before++) {
      const column = columns[this.before]!;
      const order = compareSlices(key, qualifierOffset, qualifierLength, column, 0, column.length);
      if (order <= 0) return order === 0;
    }
    return false;
  }
}
