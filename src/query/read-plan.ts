/** A reading made ready to run: what is read of which ranges, in which order their rows come, whose rows they are. */

import { compareBytes } from '../bytes/index.js';
import type { KeyLayout, KeyLead, KeyPlan, KeyRange } from '../key/types.js';
import type { Filter, Query, Scan, TimeRange } from '../table/index.js';
import type { TableAccess } from './access.js';
import { applyReadSet, type ReadSet } from './projection.js';
import { compareMerged, type Position } from './ranges.js';
import type { Moments, ReadHints, ReadOptions, Row, RowCursor } from './row.js';

/** Ranges that are read alike. */
export interface PlanPart {
  readonly ranges: readonly KeyRange[];
  /** With `merge`, what the keys of each range begin with. */
  readonly leads: readonly KeyLead[];
  /** Whether nothing derived stands behind the leads: a position is then a byte string behind them. */
  readonly isPlainBehind: boolean;
  /** Whether each range is one key. */
  readonly points: boolean;
  readonly read: ReadSet;
  /** For the engine; undefined when there is none. */
  readonly filter: Filter | undefined;
  /** The entity whose rows these are, by its place in `layouts`. */
  readonly entity: number;
  /** All whose rows these may be. */
  readonly entities: readonly number[];
  /** Where that is not said for each row: the entity whose row it is and that wants it, or -1. */
  readonly classify: ((row: Row) => number) | undefined;
}

export interface ReadPlan {
  readonly parts: readonly PlanPart[];
  /** Of each entity. */
  readonly layouts: readonly KeyLayout[];
  readonly order: KeyPlan['order'];
  readonly mergeOffset: number | undefined;
  readonly reversed: boolean;
  readonly timeRange: TimeRange | undefined;
  /** Where the rows that are read are the entries of an index: its table, and what makes rows of them. */
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

/** Tells a get or scan what to read, and how. */
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

/** A row in the order of a merge. */
export interface PlacedRow {
  readonly key: Uint8Array;
  /** `KeyLayout.logicalBytes` of the key. */
  readonly logical: Uint8Array;
}

/** The order of a merge, forward: logical key order, then bytes. */
export function comparePlaced(plan: ReadPlan, a: PlacedRow, b: PlacedRow): number {
  if (plan.mergeOffset !== undefined) return compareMerged(a.key, b.key, plan.mergeOffset);
  return compareBytes(a.logical, b.logical) || compareBytes(a.key, b.key);
}

/** How many ranges there are. */
export function countRanges(plan: ReadPlan): number {
  return plan.parts.reduce((sum, part) => sum + part.ranges.length, 0);
}
