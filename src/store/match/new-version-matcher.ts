import { CellType } from '../../table/index.js';
import type { CellCursor } from '../cursor.js';
import { compareToHint, FilterHint } from '../filter/filter-hint.js';
import { DONE_SCAN, type MatchCode, SEEK_HINT, SEEK_NEXT_ROW, SKIP } from './match-code.js';
import { type UserMatch, UserMatcher } from './user-matcher.js';
import { ALIVE, VersionHistory } from './version-history.js';

/**
 * Reads of a family with NEW_VERSION_BEHAVIOR. Where a filter would seek within a row, the cells between are looked at all
 * the same, without showing them to the filter: they decide what is alive.
 */
export class NewVersionMatcher extends UserMatcher {
  private readonly history: VersionHistory;
  private readonly hint = new FilterHint();
  private waiting = false;

  constructor(
    match: UserMatch,
    /** What the family keeps: what is older is gone whatever the read asks for. */
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
    this.waiting = false;
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
    if (this.waiting) {
      if (compareToHint(cell, this.family, this.hint, false) < 0) return SKIP;
      this.waiting = false;
    }
    const code = this.matchColumn(cell, false);
    return code === SEEK_HINT ? this.wait(cell) : code;
  }

  /** Instead of a seek: rows are left as usual, places in the row are waited for. */
  private wait(cell: CellCursor): MatchCode {
    if (!this.filter!.hint(cell, this.family, this.hint)) return SKIP;
    if (this.hint.row !== null) return SEEK_HINT;
    this.waiting = !this.reversed;
    return SKIP;
  }
}
