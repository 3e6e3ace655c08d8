/** Decides which cells flushes and compactions keep (HBase `CompactionScanQueryMatcher` and subclasses, R13, R42-R46, R59-R63). */

import { CellType, type KeepDeletedCells } from '../../table/index.js';
import type { CellCursor } from '../cursor.js';
import {
  ALIVE,
  AllColumns,
  COLUMN_DELETED,
  DELETED,
  DeleteTracker,
  INCLUDE,
  type MatchCode,
  Matcher,
  NOT_DELETED,
  SEEK_NEXT_COLUMN,
  SKIP,
  VersionHistory,
} from './matcher.js';

/** `flush`: a memstore; `minor`: some files of a store; `major`: all its files, so that delete markers may be dropped. */
export type CompactionKind = 'flush' | 'minor' | 'major';

interface CompactionMatch {
  readonly kind: CompactionKind;
  readonly minVersions: number;
  readonly maxVersions: number;
  readonly keepDeletedCells: KeepDeletedCells;
  /** Cells with a lower timestamp have expired. */
  readonly oldestUnexpired: number;
  readonly now: number;
  /** Newer cells are kept, and neither hide nor count: some open read may not see them (R60). */
  readonly smallestReadPoint: number;
  /** The oldest put of all input files, by their metadata (R44). */
  readonly earliestPutTimestamp: number;
  /** Milliseconds after its timestamp for which a major compaction keeps a delete marker; 0: it is dropped at once (R61). */
  readonly timeToPurgeDeletes: number;
}

abstract class CompactionMatcher extends Matcher {
  protected readonly columns: AllColumns;

  constructor(protected readonly rules: CompactionMatch) {
    super();
    this.columns = new AllColumns(rules.minVersions, rules.maxVersions, rules.oldestUnexpired);
  }

  override startRow(): void {
    this.columns.startRow();
  }

  override nextColumn(): null {
    return null;
  }

  protected hasExpired(cell: CellCursor): boolean {
    return cell.ttl !== 0 && cell.timestamp + cell.ttl < this.rules.now;
  }

  /** R42, R43: with KEEP_DELETED_CELLS puts are dropped by versions and age only, except by markers that have expired. */
  protected hides(marker: CellCursor): boolean {
    const { keepDeletedCells, oldestUnexpired } = this.rules;
    if (keepDeletedCells === 'FALSE') return true;
    return keepDeletedCells === 'TTL' && marker.timestamp < oldestUnexpired;
  }

  /** Decides on a delete marker that all readers see. */
  protected matchMarker(marker: CellCursor): MatchCode {
    const { kind, timeToPurgeDeletes, now, keepDeletedCells, oldestUnexpired } = this.rules;
    if (kind !== 'major') return INCLUDE;
    const { timestamp } = marker;
    if (timeToPurgeDeletes > 0 && now - timestamp <= timeToPurgeDeletes) return INCLUDE;
    const kept = keepDeletedCells === 'TRUE' || (keepDeletedCells === 'TTL' && timestamp >= oldestUnexpired);
    if (!kept) return SKIP;
    if (timestamp < this.rules.earliestPutTimestamp) return SEEK_NEXT_COLUMN;
    return this.columns.checkVersions(marker, true);
  }
}

/** The rules for families that count versions when they are read. */
export class ClassicCompactionMatcher extends CompactionMatcher {
  private readonly deletes = new DeleteTracker();

  override startRow(): void {
    super.startRow();
    this.deletes.startRow();
  }

  override match(cell: CellCursor): MatchCode {
    const { columns } = this;
    if (columns.isExpiredForGood(cell.timestamp)) return SEEK_NEXT_COLUMN;
    if (this.hasExpired(cell)) return SKIP;
    const unseen = cell.seq > this.rules.smallestReadPoint;
    if (cell.type !== CellType.Put) {
      if (unseen) return INCLUDE;
      if (this.hides(cell)) this.deletes.add(cell);
      return this.matchMarker(cell);
    }
    if (this.deletes.active) {
      const deleted = this.deletes.check(cell);
      if (deleted === COLUMN_DELETED) return SEEK_NEXT_COLUMN;
      if (deleted !== NOT_DELETED) return SKIP;
    }
    return unseen ? INCLUDE : columns.checkVersions(cell, false);
  }
}

/**
 * The rules for families with NEW_VERSION_BEHAVIOR. While delete markers are kept, the puts that they hide are kept too: those
 * may be what prevents older versions, perhaps in other files, from reappearing (R80).
 */
export class NewVersionCompactionMatcher extends CompactionMatcher {
  private readonly history: VersionHistory;

  constructor(rules: CompactionMatch) {
    super(rules);
    this.history = new VersionHistory(rules.maxVersions);
  }

  override startRow(): void {
    super.startRow();
    this.history.startRow();
  }

  override match(cell: CellCursor): MatchCode {
    if (this.hasExpired(cell)) return SKIP;
    const expired = this.columns.isExpiredForGood(cell.timestamp);
    if (cell.seq > this.rules.smallestReadPoint) return expired ? SKIP : INCLUDE;
    if (cell.type !== CellType.Put) {
      if (this.hides(cell)) this.history.addMarker(cell);
      return expired ? SKIP : this.matchMarker(cell);
    }
    const fate = this.history.addPut(cell);
    if (expired) return SEEK_NEXT_COLUMN;
    if (fate === ALIVE) return this.columns.checkVersions(cell, false);
    if (this.rules.kind === 'major') return SKIP;
    return fate === DELETED || this.history.hasMarkers ? INCLUDE : SKIP;
  }
}
