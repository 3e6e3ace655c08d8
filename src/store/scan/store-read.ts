import { compareBytes } from '../../bytes/index.js';
import {
  type FamilyDescriptor,
  FOREVER,
  LATEST_TIMESTAMP,
  type Query,
  type TimeRange,
} from '../../table/index.js';
import type { CellCursor } from '../cursor.js';
import type { FilterEvaluator, FilterFamily } from '../filter/filter-evaluator.js';
import { AllColumns, ChosenColumns, type ColumnTracker, type Matcher } from '../match/matcher.js';
import { NewVersionMatcher, NormalMatcher, RawMatcher } from '../match/user-matcher.js';
import type { PendingPuts } from './cell-merge.js';
import type { KnownColumns } from './row-run.js';

// — What a scanner reads of one family.

/**
 * Limits of a read. Sources skip memstores and files that hold nothing within them (R56-R58). A source that ignores the hint returns
 * the same results, only more slowly.
 */
export interface ReadHint {
  /** The only row that is read; null for scans. */
  readonly row: Uint8Array | null;
  /** The first row of a scan, or null for no bound. Both bounds are inclusive. */
  readonly startRow: Uint8Array | null;
  /** The last row of a scan, or null for no bound. */
  readonly stopRow: Uint8Array | null;
  /** The qualifiers that are read, in byte order, or null for all. Family markers are read in any case (R57). */
  readonly columns: readonly Uint8Array[] | null;
  /** Cells with lower timestamps do not matter, by the time range and the family's time to live. */
  readonly minTimestamp: number;
  /** Cells with this or a higher timestamp do not matter, except markers that reach below it (R56); LATEST_TIMESTAMP: no bound. */
  readonly maxTimestamp: number;
  /** Cells with a higher sequence number matter whatever their timestamps; undefined: those of no write. */
  readonly writtenAfter?: number | undefined;
  readonly cacheBlocks: boolean;
  readonly reversed: boolean;
  /** The scan ends after so many rows; undefined: nobody knows. */
  readonly rows?: number | undefined;
}

/** One family of a region, at one moment. */
export interface FamilySource {
  readonly descriptor: FamilyDescriptor;
  readonly known: KnownColumns;
  /**
   * Opens cursors, without a position yet, over everything that may match the hint. Their `order` tells which of two equal cells with equal seq
   * is newer. The caller closes them.
   */
  openCursors(hint: ReadHint): CellCursor[];
}

/** The conditions of a read that are not in its query. */
export interface ScanContext {
  /** Cells with a higher sequence number are not visible. */
  readonly readPoint: number;
  /** The time that decides which cells have expired. */
  readonly now: number;
  /** 0 <= random() < 1, for the random filter. */
  readonly random: () => number;
  /** Whether cells carry their own time to live, as those of raw scans do. Default: false. */
  readonly withTtl?: boolean;
  /** Is told of the puts beyond the read point that a scan skips. */
  readonly pendingPuts?: PendingPuts;
}

// — Compiles a query for one family: which cursors to open, and which matcher decides.

/** The part of a query that concerns one family. */
interface FamilyQuery {
  readonly descriptor: FamilyDescriptor;
  readonly family: FilterFamily;
  /** In byte order; null: all. */
  readonly columns: readonly Uint8Array[] | null;
  readonly timeRange: TimeRange;
  readonly oldestUnexpired: number;
  readonly maxVersions: number;
  readonly raw: boolean;
  readonly writtenAfter: number | undefined;
  readonly now: number;
  readonly filter: FilterEvaluator | undefined;
  readonly reversed: boolean;
}

/** Cells with a lower timestamp have exceeded the family's time to live (R16). */
export function oldestUnexpired(descriptor: FamilyDescriptor, now: number): number {
  return descriptor.ttl === FOREVER ? 0 : now - descriptor.ttl * 1000;
}

export function familyQuery(
  descriptor: FamilyDescriptor,
  family: FilterFamily,
  query: Query & { readonly writtenAfter?: number | undefined },
  raw: boolean,
  now: number,
  filter: FilterEvaluator | undefined,
  reversed: boolean,
): FamilyQuery {
  const columns = query.families.get(descriptor.name) ?? null;
  return {
    descriptor,
    family,
    columns: inOrder(columns),
    timeRange: query.familyTimeRanges.get(descriptor.name) ?? query.timeRange,
    // Raw scans also see expired cells, unless they had their own time to live (R25).
    oldestUnexpired: raw ? 0 : oldestUnexpired(descriptor, now),
    maxVersions: query.maxVersions,
    raw,
    writtenAfter: query.writtenAfter,
    now,
    filter,
    reversed,
  };
}

/** The columns in byte order; null stands for all. */
export function inOrder(columns: readonly Uint8Array[] | null): readonly Uint8Array[] | null {
  return columns === null || columns.length < 2 ? columns : [...columns].sort(compareBytes);
}

/** The hint for sources: rows and times that matter. */
export function readHint(
  query: FamilyQuery,
  rows: Pick<ReadHint, 'row' | 'startRow' | 'stopRow' | 'cacheBlocks' | 'reversed' | 'rows'>,
): ReadHint {
  const { descriptor, timeRange } = query;
  // With NEW_VERSION_BEHAVIOR versions outside the range count too.
  const everyTime = descriptor.newVersionBehavior && !query.raw;
  const unexpired = descriptor.minVersions > 0 ? 0 : query.oldestUnexpired;
  return {
    row: rows.row,
    startRow: rows.startRow,
    stopRow: rows.stopRow,
    columns: query.columns,
    minTimestamp: everyTime ? 0 : Math.max(timeRange.min, unexpired),
    maxTimestamp: everyTime ? LATEST_TIMESTAMP : timeRange.max,
    writtenAfter: query.writtenAfter,
    cacheBlocks: rows.cacheBlocks,
    reversed: rows.reversed,
    rows: rows.rows,
  };
}

export function readMatcher(query: FamilyQuery): Matcher {
  const { descriptor, family, timeRange, now, filter, raw } = query;
  const wanted = raw ? query.maxVersions : Math.min(query.maxVersions, descriptor.versions);
  const match = {
    family,
    columns: columnTracker(query, filter ? descriptor.versions : wanted),
    timeRange,
    now,
    filter,
    versionsAfterFilter: wanted,
  };
  if (raw) return new RawMatcher(match, query.writtenAfter);
  const seePastMarkers = descriptor.keepDeletedCells !== 'FALSE';
  if (descriptor.newVersionBehavior) {
    return new NewVersionMatcher(match, descriptor.versions, seePastMarkers, query.reversed);
  }
  return new NormalMatcher(match, seePastMarkers);
}

function columnTracker(query: FamilyQuery, maxVersions: number): ColumnTracker {
  const { minVersions } = query.descriptor;
  return query.columns === null
    ? new AllColumns(minVersions, maxVersions, query.oldestUnexpired)
    : new ChosenColumns(query.columns, minVersions, maxVersions, query.oldestUnexpired);
}
