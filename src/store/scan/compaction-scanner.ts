/** Selects the cells that flushes and compactions keep of a family, and passes them to a sink (HBase `StoreScanner` as `Compactor` and `StoreFlusher` use it). */

import { EMPTY_BYTES } from '../../bytes/index.js';
import type { FamilyDescriptor } from '../../table/index.js';
import type { CellCursor } from '../cursor.js';
import {
  ClassicCompactionMatcher,
  type CompactionKind,
  NewVersionCompactionMatcher,
} from '../match/compaction-matcher.js';
import { ColumnBytes, INCLUDE, type Matcher, SEEK_NEXT_COLUMN } from '../match/matcher.js';
import { CellMerge } from './cell-merge.js';
import { oldestUnexpired } from './store-read.js';

/** Receives the kept cells, in order. */
export interface CellSink {
  append(cell: CellCursor): void;
}

export interface CompactionOptions {
  readonly kind: CompactionKind;
  readonly family: FamilyDescriptor;
  /** The smallest read point of any open read: newer cells are kept even if they are hidden (R60). */
  readonly smallestReadPoint: number;
  readonly now: number;
  /** The oldest put of all inputs, by their metadata (R44). */
  readonly earliestPutTimestamp: number;
  /** Milliseconds after its timestamp for which a delete marker is kept; 0: none (R61). */
  readonly timeToPurgeDeletes: number;
}

export class CompactionScanner {
  private readonly merge: CellMerge;
  private readonly matcher: Matcher;
  private row: Uint8Array = EMPTY_BYTES;
  private rowLength = -1;
  /** The column of which no further cell is kept. */
  private readonly passed = new ColumnBytes();

  /** `cursors` are at the first cells to be merged; the caller closes them. */
  constructor(
    cursors: readonly CellCursor[],
    private readonly sink: CellSink,
    options: CompactionOptions,
  ) {
    const { family } = options;
    const rules = {
      kind: options.kind,
      minVersions: family.minVersions,
      maxVersions: family.versions,
      keepDeletedCells: family.keepDeletedCells,
      oldestUnexpired: oldestUnexpired(family, options.now),
      now: options.now,
      smallestReadPoint: options.smallestReadPoint,
      earliestPutTimestamp: options.earliestPutTimestamp,
      timeToPurgeDeletes: options.timeToPurgeDeletes,
    };
    this.matcher = family.newVersionBehavior
      ? new NewVersionCompactionMatcher(rules)
      : new ClassicCompactionMatcher(rules);
    this.merge = new CellMerge(cursors, Number.POSITIVE_INFINITY);
    this.merge.begin();
  }

  /** Examines up to `maxCells` cells; false when there are no more. */
  step(maxCells: number): boolean {
    const { merge, matcher, sink, passed } = this;
    for (let i = 0; i < maxCells; i++) {
      const cell = merge.top;
      if (cell === null) return false;
      if (!this.isInRow(cell)) this.startRow(cell);
      if (!passed.isSet || !passed.isOf(cell)) {
        const code = matcher.match(cell);
        if (code === INCLUDE) sink.append(cell);
        // Skipping saves no reads here. In the column of the empty qualifier each cell is examined, because markers of the whole
        // family may follow.
        else if (code === SEEK_NEXT_COLUMN && cell.qualifierLength > 0) passed.copyFrom(cell);
      }
      merge.next();
    }
    return merge.top !== null;
  }

  private startRow(cell: CellCursor): void {
    const { rowLength, rowOffset, key } = cell;
    if (rowLength > this.row.length) this.row = new Uint8Array(rowLength * 2);
    for (let i = 0; i < rowLength; i++) this.row[i] = key[rowOffset + i]!;
    this.rowLength = rowLength;
    this.passed.clear();
    this.matcher.startRow();
  }

  private isInRow(cell: CellCursor): boolean {
    const length = this.rowLength;
    if (cell.rowLength !== length) return false;
    const { key, rowOffset } = cell;
    const { row } = this;
    for (let i = length - 1; i >= 0; i--) if (key[rowOffset + i] !== row[i]) return false;
    return true;
  }
}
