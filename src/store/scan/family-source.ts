/** Where a scanner takes the cells of one family from. */

import type { FamilyDescriptor } from '../../table/index.js';
import type { CellCursor } from '../cursor.js';
import type { KnownColumns } from './known-columns.js';

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

/** What a read is under, besides the query. */
export interface ScanContext {
  /** Cells of later writes are not seen. */
  readonly readPoint: number;
  /** The time by which cells have expired or not. */
  readonly now: number;
  /** 0 <= random() < 1, for the random filter. */
  readonly random: () => number;
}
