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
import { AllColumns, ChosenColumns, type ColumnTracker } from '../match/column-tracker.js';
import type { Matcher } from '../match/matcher.js';
import { NewVersionMatcher, NormalMatcher, RawMatcher } from '../match/user-matcher.js';
import type { KnownColumns } from './plain-row.js';

/** Where a scanner takes the cells of one family from. */

/**
 * What a read may touch. Sources leave out memstores and files that hold nothing of it (R56-R58); a source that ignores
 * the hint gives the same answers, only later.
 */
export interface ReadHint {
  /** The only row that is read, or null when rows are scanned. */
  readonly row: Uint8Array | null;
  /** The least row of a scan, or null from the first. Rows at the bounds count as inside. */
  readonly startRow: Uint8Array | null;
  /** The greatest row of a scan, or null to the last. */
  readonly stopRow: Uint8Array | null;
  /** The only qualifiers that are read, in byte order, or null for all. Family markers are read besides (R57). */
  readonly columns: readonly Uint8Array[] | null;
  /** No cell with a timestamp below matters: the time range and the time to live of the family. */
  readonly minTimestamp: number;
  /** No cell with a timestamp at or above matters, but for markers that reach down (R56); LATEST_TIMESTAMP: open. */
  readonly maxTimestamp: number;
  readonly cacheBlocks: boolean;
  readonly reversed: boolean;
}

/** One family of a region, at one moment. */
export interface FamilySource {
  readonly descriptor: FamilyDescriptor;
  readonly known: KnownColumns;
  /**
   * Cursors over everything that may hold what is read, none positioned yet; each `order` tells which of two equal
   * cells of equal seq is newer. The caller closes them.
   */
  openCursors(hint: ReadHint): CellCursor[];
}

/** The conditions of a read beside its query. */
export interface ScanContext {
  /** Cells of later writes are not seen. */
  readonly readPoint: number;
  /** The time by which cells have expired or not. */
  readonly now: number;
  /** 0 <= random() < 1, for the random filter. */
  readonly random: () => number;
}

/** From a query and a family to what reads it: which cursors to open, and which matcher decides. */

/** A query's demands on one family. */
export interface FamilyQuery {
  readonly descriptor: FamilyDescriptor;
  readonly family: FilterFamily;
  /** In byte order; null: all. */
  readonly columns: readonly Uint8Array[] | null;
  readonly timeRange: TimeRange;
  readonly oldestUnexpired: number;
  readonly maxVersions: number;
  readonly raw: boolean;
  readonly now: number;
  readonly filter: FilterEvaluator | undefined;
  readonly reversed: boolean;
}

/** Cells with a lower timestamp have outlived the family's time to live (R16). */
export function oldestUnexpired(descriptor: FamilyDescriptor, now: number): number {
  return descriptor.ttl === FOREVER ? 0 : now - descriptor.ttl * 1000;
}

export function familyQuery(
  descriptor: FamilyDescriptor,
  family: FilterFamily,
  query: Query,
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
    // Raw scans see what has expired too, unless it had a time to live of its own (R25).
    oldestUnexpired: raw ? 0 : oldestUnexpired(descriptor, now),
    maxVersions: query.maxVersions,
    raw,
    now,
    filter,
    reversed,
  };
}

/** The columns in byte order; null stands for all. */
export function inOrder(columns: readonly Uint8Array[] | null): readonly Uint8Array[] | null {
  return columns === null || columns.length < 2 ? columns : [...columns].sort(compareBytes);
}

/** The rows and times that matter, for sources to leave out what holds none of them. */
export function readHint(
  query: FamilyQuery,
  rows: Pick<ReadHint, 'row' | 'startRow' | 'stopRow' | 'cacheBlocks' | 'reversed'>,
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
    cacheBlocks: rows.cacheBlocks,
    reversed: rows.reversed,
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
  if (raw) return new RawMatcher(match);
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
