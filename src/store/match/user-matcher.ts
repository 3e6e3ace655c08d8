import { CellType, type TimeRange } from '../../table/index.js';
import type { CellCursor } from '../cursor.js';
import {
  compareToHint,
  FILTER_INCLUDE,
  FILTER_INCLUDE_NEXT_COLUMN,
  FILTER_NEXT_COLUMN,
  FILTER_NEXT_ROW,
  FILTER_SEEK_HINT,
  FILTER_SKIP,
  type FilterEvaluator,
  type FilterFamily,
  FilterHint,
} from '../filter/filter-evaluator.js';
import {
  ALIVE,
  COLUMN_DELETED,
  ColumnBytes,
  type ColumnTracker,
  DeleteTracker,
  DONE_SCAN,
  INCLUDE,
  INCLUDE_NEXT_COLUMN,
  INCLUDE_NEXT_ROW,
  type MatchCode,
  Matcher,
  NOT_DELETED,
  SEEK_HINT,
  SEEK_NEXT_COLUMN,
  SEEK_NEXT_ROW,
  SKIP,
  VersionHistory,
} from './matcher.js';

/** Decides which cells of one family a get or a scan sees (HBase `UserScanQueryMatcher` and subclasses). */

interface UserMatch {
  readonly family: FilterFamily;
  readonly columns: ColumnTracker;
  readonly timeRange: TimeRange;
  readonly now: number;
  readonly filter: FilterEvaluator | undefined;
  /** The number of versions wanted of the cells that pass the filter (R15). */
  readonly versionsAfterFilter: number;
}

/** The common part of all reads: time range, columns and versions, then the filter. */
abstract class UserMatcher extends Matcher {
  protected readonly columns: ColumnTracker;
  protected readonly filter: FilterEvaluator | undefined;
  protected readonly minTimestamp: number;
  /** Exclusive. */
  protected readonly maxTimestamp: number;
  protected readonly now: number;
  protected readonly family: FilterFamily;
  private readonly versionsAfterFilter: number;
  private readonly column = new ColumnBytes();
  private count = 0;

  constructor(match: UserMatch) {
    super();
    this.columns = match.columns;
    this.filter = match.filter;
    this.minTimestamp = match.timeRange.min;
    // An open range has no cell at its end: timestamps are below LATEST_TIMESTAMP.
    this.maxTimestamp = match.timeRange.max;
    this.now = match.now;
    this.family = match.family;
    this.versionsAfterFilter = match.versionsAfterFilter;
  }

  override startRow(): void {
    this.columns.startRow();
    if (this.filter !== undefined) this.column.clear();
  }

  override nextColumn(): Uint8Array | null {
    return this.columns.nextColumn();
  }

  /** Decides on a put, or in raw scans any cell, that no marker hides. */
  protected matchColumn(cell: CellCursor, isMarker: boolean): MatchCode {
    const { timestamp } = cell;
    if (timestamp >= this.maxTimestamp) return SKIP;
    if (timestamp < this.minTimestamp) return this.columns.finishColumn(cell);
    return this.matchInRange(cell, isMarker);
  }

  /** The same of a cell whose timestamp is not asked for, or within the range. */
  protected matchInRange(cell: CellCursor, isMarker: boolean): MatchCode {
    const wanted = this.columns.checkColumn(cell);
    if (wanted !== INCLUDE) return wanted;
    const code = this.columns.checkVersions(cell, isMarker);
    if (code === SKIP || code === SEEK_NEXT_COLUMN || this.filter === undefined) return code;
    return this.applyFilter(cell, code, this.filter);
  }

  /**
   * Applies the filter to a cell that may be included (`mergeFilterResponse`). Versions are counted again here, because the tracker
   * has let through as many as the family keeps (HBASE-17125).
   */
  private applyFilter(cell: CellCursor, code: MatchCode, filter: FilterEvaluator): MatchCode {
    let merged: MatchCode = code;
    switch (filter.filterCell(cell, this.family)) {
      case FILTER_SKIP:
        if (code === INCLUDE) return SKIP;
        return code === INCLUDE_NEXT_COLUMN ? SEEK_NEXT_COLUMN : SEEK_NEXT_ROW;
      case FILTER_NEXT_COLUMN:
        return code === INCLUDE_NEXT_ROW ? SEEK_NEXT_ROW : this.columns.finishColumn(cell);
      case FILTER_NEXT_ROW:
        return SEEK_NEXT_ROW;
      case FILTER_SEEK_HINT:
        return SEEK_HINT;
      case FILTER_INCLUDE:
        break;
      case FILTER_INCLUDE_NEXT_COLUMN:
        if (code === INCLUDE) merged = INCLUDE_NEXT_COLUMN;
        break;
      default:
        merged = INCLUDE_NEXT_ROW;
    }
    if (!this.column.isOf(cell)) {
      this.column.copyFrom(cell);
      this.count = 0;
    }
    if (++this.count > this.versionsAfterFilter) {
      merged = merged === INCLUDE_NEXT_ROW ? SEEK_NEXT_ROW : SEEK_NEXT_COLUMN;
    }
    if (merged === INCLUDE_NEXT_COLUMN || merged === SEEK_NEXT_COLUMN) this.columns.finishColumn(cell);
    return merged;
  }

  /** Whether a cell's own time to live has passed (R21). */
  protected hasExpired(cell: CellCursor): boolean {
    return cell.ttl !== 0 && cell.timestamp + cell.ttl < this.now;
  }
}

/** Reads in which markers hide puts (`NormalUserScanQueryMatcher`). */
export class NormalMatcher extends UserMatcher {
  private readonly deletes = new DeleteTracker();

  constructor(
    match: UserMatch,
    /** R40, R41: with KEEP_DELETED_CELLS, markers outside the time range hide nothing. */
    private readonly seePastMarkers: boolean,
  ) {
    super(match);
  }

  override startRow(): void {
    super.startRow();
    this.deletes.startRow();
  }

  override match(cell: CellCursor): MatchCode {
    const { columns, filter } = this;
    if (filter?.done) return DONE_SCAN;
    if (columns.done) return SEEK_NEXT_ROW;
    const { timestamp } = cell;
    if (columns.isExpiredForGood(timestamp)) return columns.finishColumn(cell);
    if (this.hasExpired(cell)) return SKIP;
    if (cell.type !== CellType.Put) {
      if (timestamp >= this.minTimestamp && !(this.seePastMarkers && timestamp >= this.maxTimestamp)) {
        this.deletes.add(cell);
      }
      return SKIP;
    }
    if (this.deletes.active) {
      const deleted = this.deletes.check(cell);
      if (deleted === COLUMN_DELETED) return columns.finishColumn(cell);
      if (deleted !== NOT_DELETED) return SKIP;
    }
    return this.matchColumn(cell, false);
  }
}

/** Reads of everything stored, including markers (`RawScanQueryMatcher`, R47). */
export class RawMatcher extends UserMatcher {
  constructor(
    match: UserMatch,
    /** Cells of later writes are read whatever their timestamps. */
    private readonly writtenAfter: number | undefined,
  ) {
    super(match);
  }

  override match(cell: CellCursor): MatchCode {
    const { columns, filter } = this;
    if (filter?.done) return DONE_SCAN;
    if (columns.isExpiredForGood(cell.timestamp)) return columns.finishColumn(cell);
    if (this.hasExpired(cell)) return SKIP;
    const isMarker = cell.type !== CellType.Put;
    if (this.writtenAfter === undefined) return this.matchColumn(cell, isMarker);
    if (cell.seq > this.writtenAfter) return this.matchInRange(cell, isMarker);
    // Older ones of the column may have been written later.
    return this.isInRange(cell) ? this.matchInRange(cell, isMarker) : SKIP;
  }

  private isInRange({ timestamp }: CellCursor): boolean {
    return timestamp >= this.minTimestamp && timestamp < this.maxTimestamp;
  }
}

/**
 * Reads of a family with NEW_VERSION_BEHAVIOR. Where a filter would seek within a row, the cells in between are still examined, but
 * not passed to the filter, because they decide what is alive.
 */
export class NewVersionMatcher extends UserMatcher {
  private readonly history: VersionHistory;
  private readonly hint = new FilterHint();
  private skipping = false;

  constructor(
    match: UserMatch,
    /** The number of versions that the family keeps: older ones are gone, whatever the read requests. */
    familyVersions: number,
    private readonly seePastMarkers: boolean,
    private readonly reversed: boolean,
  ) {
    super(match);
    this.history = new VersionHistory(familyVersions);
  }

  override startRow(): void {
    super.startRow();
    this.history.startRow();
    this.skipping = false;
  }

  override match(cell: CellCursor): MatchCode {
    if (this.filter?.done) return DONE_SCAN;
    if (this.columns.done) return SEEK_NEXT_ROW;
    if (this.hasExpired(cell)) return SKIP;
    const { timestamp } = cell;
    if (cell.type !== CellType.Put) {
      if (timestamp >= this.minTimestamp && !(this.seePastMarkers && timestamp >= this.maxTimestamp)) {
        this.history.addMarker(cell);
      }
      return SKIP;
    }
    if (this.history.addPut(cell) !== ALIVE) return SKIP;
    if (this.columns.isExpiredForGood(timestamp)) return this.columns.finishColumn(cell);
    if (this.skipping) {
      if (compareToHint(cell, this.family, this.hint, false) < 0) return SKIP;
      this.skipping = false;
    }
    const code = this.matchColumn(cell, false);
    return code === SEEK_HINT ? this.skipToHint(cell) : code;
  }

  /** Replaces a seek: hints to other rows are followed; within the row, cells are skipped up to the hint. */
  private skipToHint(cell: CellCursor): MatchCode {
    if (!this.filter!.hint(cell, this.family, this.hint)) return SKIP;
    if (this.hint.row !== null) return SEEK_HINT;
    this.skipping = !this.reversed;
    return SKIP;
  }
}
