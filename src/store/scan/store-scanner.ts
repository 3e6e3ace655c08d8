import { copySlice, EMPTY_BYTES, keyAfter } from '../../bytes/index.js';
import { type CellCursor, isInRow, SeekKey, TYPE_MINIMUM } from '../cursor.js';
import {
  compareToHint,
  type FilterEvaluator,
  type FilterFamily,
  FilterHint,
} from '../filter/filter-evaluator.js';
import {
  DONE_SCAN,
  INCLUDE,
  INCLUDE_NEXT_COLUMN,
  INCLUDE_NEXT_ROW,
  type Matcher,
  SEEK_HINT,
  SEEK_NEXT_COLUMN,
  SEEK_NEXT_ROW,
} from '../match/matcher.js';
import { CellMerge, type PendingPuts, ReverseMerge } from './cell-merge.js';
import { CellMaker, type StoredRowBuilder } from './row-builder.js';

/** The most cells that are stepped over before a seek. */
const MAX_STEPS = 3;

/** Reused: reads are synchronous. */
const seekKey = new SeekKey();
const hint = new FilterHint();

interface StoreRead {
  readonly family: FilterFamily;
  readonly readPoint: number;
  readonly pendingPuts?: PendingPuts | undefined;
  readonly reversed: boolean;
  readonly withTtl: boolean;
  readonly filter: FilterEvaluator | undefined;
  /** How many cells of each row to skip, and to return at most (R55). */
  readonly rowOffset: number;
  readonly rowLimit: number;
}

/** Reads one family of a region, row by row (HBase `StoreScanner`). */
export class StoreScanner {
  private readonly merge: CellMerge;
  private readonly reverse: ReverseMerge | null;
  private readonly family: FilterFamily;
  private readonly filter: FilterEvaluator | undefined;
  private readonly maker: CellMaker;
  private readonly rowOffset: number;
  /** The offset plus the limit. */
  private readonly rowEnd: number;
  private seen = 0;
  private finished = false;
  /** The row is done, though the merge may still be in it. */
  private leaving = false;
  private absent = false;
  /** In a reversed scan: where a filter wants to continue, if beyond the previous row. */
  private bound: Uint8Array | null = null;
  private nextRowKey: Uint8Array = EMPTY_BYTES;

  constructor(
    cursors: readonly CellCursor[],
    private readonly matcher: Matcher,
    read: StoreRead,
  ) {
    this.reverse = read.reversed ? new ReverseMerge(cursors, read.readPoint, read.pendingPuts) : null;
    this.merge = this.reverse ?? new CellMerge(cursors, read.readPoint, read.pendingPuts);
    this.family = read.family;
    this.filter = read.filter;
    const transformer = read.filter?.transforms ? read.filter : undefined;
    this.maker = new CellMaker(read.family.name, transformer, read.withTtl && transformer === undefined);
    this.rowOffset = read.rowOffset;
    this.rowEnd = read.rowOffset + read.rowLimit;
  }

  /** Moves to the first row at or after `row`, to its first cell at or after `column`. */
  seek(row: Uint8Array, column: Uint8Array = EMPTY_BYTES): void {
    this.merge.seek(seekKey.setColumn(row, column));
  }

  /** In a reversed scan: moves to the last row below `bound`, or the last of all. */
  seekBefore(bound: Uint8Array | null): void {
    this.reverse!.previousRow(bound);
  }

  /** The cursor with the next row; null at the end. */
  get head(): CellCursor | null {
    if (this.finished) return null;
    return this.reverse === null ? this.merge.top : this.reverse.head;
  }

  /** Begins the row of `head`. */
  startRow(): void {
    this.seen = 0;
    this.leaving = false;
    this.absent = false;
    this.bound = null;
    this.matcher.startRow();
    if (this.reverse !== null) this.reverse.enterRow();
  }

  /** Skips the next row over all families, of which this family has no cells. */
  skipRow(): void {
    this.leaving = true;
    this.absent = true;
  }

  /** Adds the row's cells. False: `limit` is reached; the row may have more. */
  readRow(row: Uint8Array, out: StoredRowBuilder, limit: number): boolean {
    if (this.absent) return true;
    if (!this.leaving && !this.matchRow(row, out, limit)) return false;
    // HBase examines the first cell of the next row before it detects the end of the row, and asks the filter first. So a filter
    // that is only done with the row (`ColumnCountGetFilter`) ends the family for the whole scan.
    if (this.filter?.done && this.seen < this.rowEnd) this.finished = true;
    return true;
  }

  private matchRow(row: Uint8Array, out: StoredRowBuilder, limit: number): boolean {
    const { merge, matcher } = this;
    let top = merge.top;
    while (top !== null && isInRow(top, row)) {
      const code = matcher.match(top);
      if (code === INCLUDE || code === INCLUDE_NEXT_COLUMN || code === INCLUDE_NEXT_ROW) {
        const index = this.seen++;
        if (index >= this.rowOffset) {
          if (out.raw === null) out.add(this.maker.make(top, row, index));
          else {
            this.maker.makeRaw(top, out.raw, index);
            out.count++;
          }
        }
        // The last requested cell of the row ends it: the filter does not see the cells after it.
        if (this.seen >= this.rowEnd) this.leaving = true;
        else if (code === INCLUDE) merge.next();
        else if (code === INCLUDE_NEXT_COLUMN) this.seekNextColumn(top, row);
        else this.leaving = true;
        if (out.count >= limit) return false;
        if (this.leaving) return true;
      } else if (code === SEEK_NEXT_COLUMN) {
        this.seekNextColumn(top, row);
      } else if (code === SEEK_NEXT_ROW) {
        this.leaving = true;
        return true;
      } else if (code === SEEK_HINT) {
        this.seekHint(top, row);
        if (this.leaving) return true;
      } else if (code === DONE_SCAN) {
        this.finished = true;
        this.leaving = true;
        return true;
      } else {
        merge.next();
      }
      top = merge.top;
    }
    return true;
  }

  /** Moves to the next row after `row`. */
  leaveRow(row: Uint8Array): void {
    if (this.finished || this.absent) return;
    if (this.reverse !== null) {
      this.reverse.previousRow(this.bound ?? row);
      return;
    }
    const { merge } = this;
    for (let i = 0; i < MAX_STEPS; i++) {
      if (merge.top === null || !isInRow(merge.top, row)) return;
      merge.next();
    }
    if (merge.top === null || !isInRow(merge.top, row)) return;
    seekKey.setRow(this.rowAfter(row));
    merge.reseek(seekKey);
  }

  close(): void {
    this.finished = true;
    this.merge.close();
  }

  private seekNextColumn(cell: CellCursor, row: Uint8Array): void {
    const { merge } = this;
    // Markers of the whole family may be anywhere in the column of the empty qualifier.
    if (cell.qualifierLength === 0) {
      merge.next();
      return;
    }
    const wanted = this.matcher.nextColumn();
    if (wanted !== null) seekKey.setColumn(row, wanted);
    else seekKey.setColumn(row, copyQualifier(cell), -1, TYPE_MINIMUM);
    for (let i = 0; i < MAX_STEPS; i++) {
      merge.next();
      if (merge.top === null || !isBeforeColumnKey(merge.top, row)) return;
    }
    merge.reseek(seekKey);
  }

  /** Seeks to the filter's hint: forward, or in a reversed scan, as in HBase, only to an earlier row. */
  private seekHint(cell: CellCursor, row: Uint8Array): void {
    const { merge, family } = this;
    const reversed = this.reverse !== null;
    if (!this.filter!.hint(cell, family, hint) || compareToHint(cell, family, hint, reversed) >= 0) {
      merge.next();
      return;
    }
    const inRow = hint.row === null || isInRow(cell, hint.row);
    if (reversed) {
      if (inRow) merge.next();
      else {
        this.bound = keyAfter(hint.row!);
        this.leaving = true;
      }
      return;
    }
    // A hint in a later family skips the rest of this one.
    if (!inRow) seekKey.setColumn(hint.row!, hint.qualifier, hint.timestamp);
    else if (hint.family === family) seekKey.setColumn(row, hint.qualifier, hint.timestamp);
    else seekKey.setRow(this.rowAfter(row));
    merge.reseek(seekKey);
  }

  /** The least row above `row`, valid until the next call. */
  private rowAfter(row: Uint8Array): Uint8Array {
    const length = row.length + 1;
    if (this.nextRowKey.length !== length) this.nextRowKey = new Uint8Array(length);
    this.nextRowKey.set(row);
    return this.nextRowKey;
  }
}

let qualifierBytes = new Uint8Array(64);

/** A copy of a cell's qualifier for the seek key. */
function copyQualifier(cell: CellCursor): Uint8Array {
  const { key, qualifierOffset, qualifierLength } = cell;
  if (qualifierBytes.length !== qualifierLength) qualifierBytes = new Uint8Array(qualifierLength);
  copySlice(key, qualifierOffset, qualifierLength, qualifierBytes, 0);
  return qualifierBytes;
}

/** Whether a cell is before the column (or the end of the column) of the seek key. */
function isBeforeColumnKey(cell: CellCursor, row: Uint8Array): boolean {
  if (!isInRow(cell, row)) return false;
  const { key, qualifierOffset, qualifierLength } = cell;
  const { qualifier } = seekKey;
  const length = Math.min(qualifierLength, qualifier.length);
  for (let i = 0; i < length; i++) {
    const difference = key[qualifierOffset + i]! - qualifier[i]!;
    if (difference !== 0) return difference < 0;
  }
  if (qualifierLength !== qualifier.length) return qualifierLength < qualifier.length;
  return seekKey.timestamp < 0;
}
