/** A plan that is ready to run: ranges, columns, the order of rows, and their entities. */

import { compareBytes } from '../bytes/index.js';
import type { KeyLayout, KeyLead, KeyPlan, KeyRange } from '../key/types.js';
import type { Filter, Query, Scan, TimeRange } from '../table/index.js';
import type { TableAccess } from './access.js';
import { applyReadSet, type ReadSet } from './projection.js';
import { compareMerged, type Position } from './ranges.js';
import type { Moments, ReadHints, ReadOptions, Row, RowCursor } from './row.js';

/** Ranges that are read in the same way. */
export interface PlanPart {
  readonly ranges: readonly KeyRange[];
  /** For a merge, the prefixes of the keys in each range. */
  readonly leads: readonly KeyLead[];
  /** Whether nothing derived follows the prefixes, so that a position is a byte string after them. */
  readonly isPlainBehind: boolean;
  /** Whether each range is one key. */
  readonly points: boolean;
  readonly read: ReadSet;
  /** The engine's filter. Undefined when there is none. */
  readonly filter: Filter | undefined;
  /** The entity of the rows, as an index into `layouts`. */
  readonly entity: number;
  /** All entities that rows may belong to. */
  readonly entities: readonly number[];
  /** The entity of each row, if it varies: an index into `layouts`, or -1 for rows that are skipped. */
  readonly classify: ((row: Row) => number) | undefined;
}

export interface ReadPlan {
  readonly parts: readonly PlanPart[];
  /** The key layout of each entity. */
  readonly layouts: readonly KeyLayout[];
  readonly order: KeyPlan['order'];
  readonly mergeOffset: number | undefined;
  readonly reversed: boolean;
  readonly timeRange: TimeRange | undefined;
  /** Set where the rows read are index entries: their table, and how rows are read by them. */
  readonly through?: {
    readonly entries: TableAccess;
    readonly follow: (
      entries: RowCursor,
      rows: TableAccess,
      options: ReadOptions,
      moments: Moments,
      position: Position | undefined,
    ) => RowCursor;
  };
}

/** Applies columns and options to a get or scan. */
export function prepareQuery(query: Query, part: PlanPart, plan: ReadPlan, hints: ReadHints): void {
  applyReadSet(query, part.read);
  if (part.filter !== undefined) query.setFilter(part.filter);
  if (plan.timeRange !== undefined) query.setTimeRange(plan.timeRange.min, plan.timeRange.max);
  applyHints(query, hints);
}

export function applyHints(query: Query, { consistency, cacheBlocks }: ReadHints): void {
  if (consistency !== undefined) query.setConsistency(consistency);
  if (cacheBlocks !== undefined) query.setCacheBlocks(cacheBlocks);
}

export function applyScanHints(scan: Scan, { caching }: ReadHints): void {
  if (caching !== undefined) scan.setCaching(caching);
}

/** A row in a merge. */
export interface PlacedRow {
  readonly key: Uint8Array;
  /** `KeyLayout.logicalBytes` of the key. */
  readonly logical: Uint8Array;
}

/** The order of a forward merge: logical key order, then bytes. */
export function comparePlaced(plan: ReadPlan, a: PlacedRow, b: PlacedRow): number {
  if (plan.mergeOffset !== undefined) return compareMerged(a.key, b.key, plan.mergeOffset);
  return compareBytes(a.logical, b.logical) || compareBytes(a.key, b.key);
}

/** The number of ranges. */
export function countRanges(plan: ReadPlan): number {
  return plan.parts.reduce((sum, part) => sum + part.ranges.length, 0);
}
