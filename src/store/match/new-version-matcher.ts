import { CellType } from '../../table/index.js';
import type { CellCursor } from '../cursor.js';
import { DONE_SCAN, type MatchCode, SEEK_HINT, SEEK_NEXT_ROW, SKIP } from './match-code.js';
import { type UserMatch, UserMatcher } from './user-matcher.js';
import { ALIVE, VersionHistory } from './version-history.js';

/** Reads of a family with NEW_VERSION_BEHAVIOR. */
export class NewVersionMatcher extends UserMatcher {
  private readonly history: VersionHistory;

  constructor(
    match: UserMatch,
    /** What the family keeps: what is older is gone whatever the read asks for. */
    familyVersions: number,
    private readonly seePastMarkers: boolean,
  ) {
    super(match);
    this.history = new VersionHistory(familyVersions);
  }

  override startRow(): void {
    super.startRow();
    this.history.startRow();
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
    const code = this.matchColumn(cell, false);
    // A seek would pass over markers and versions that decide what is alive.
    return code === SEEK_HINT ? SKIP : code;
  }
}
