import { compareBytes, compareSlices } from '../../bytes/index.js';
import { InvalidArgumentError } from '../../errors.js';
import type { RowRange } from '../../table/index.js';
import type { CellCursor } from '../cursor.js';
import { FilterEvaluator } from './filter-evaluator.js';
import type { FilterFamily, FilterHint } from './filter-hint.js';
import { FILTER_INCLUDE, FILTER_NEXT_ROW, FILTER_SEEK_HINT, type ReturnCode } from './return-code.js';

/** `MultiRowRangeFilter`: rows in any of the ranges; seeks from range to range. */
export class MultiRowRangeEvaluator extends FilterEvaluator {
  /** In the direction of the scan, none overlapping. */
  private readonly ranges: readonly RowRange[];
  private index = 0;
  private exhausted = false;
  private code: ReturnCode = FILTER_INCLUDE;

  constructor(
    ranges: readonly RowRange[],
    private readonly reversed: boolean,
  ) {
    super();
    this.ranges = merged(ranges);
    if (reversed) this.ranges = [...this.ranges].reverse();
  }

  override get done(): boolean {
    return this.exhausted;
  }

  override filterRowKey(row: Uint8Array, offset: number, length: number): boolean {
    if (this.exhausted) return true;
    this.index = this.firstNotPassed(row, offset, length);
    const range = this.ranges[this.index];
    if (range === undefined) {
      this.exhausted = true;
      this.code = FILTER_NEXT_ROW;
    } else if (positionTo(range, row, offset, length) === 0) {
      this.code = FILTER_INCLUDE;
    } else {
      this.code = this.canSeek(range) ? FILTER_SEEK_HINT : FILTER_NEXT_ROW;
    }
    return false;
  }

  override filterCell(_cell: CellCursor): ReturnCode {
    return this.code;
  }

  override hint(_cell: CellCursor, _family: FilterFamily, hint: FilterHint): boolean {
    const range = this.ranges[this.index]!;
    hint.toRow(this.reversed ? range.stopRow : range.startRow);
    return true;
  }

  /** The first range that does not end before the row, in the direction of the scan. */
  private firstNotPassed(row: Uint8Array, offset: number, length: number): number {
    let low = 0;
    let high = this.ranges.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const position = positionTo(this.ranges[middle]!, row, offset, length);
      if (this.reversed ? position < 0 : position > 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** An open end has no row to seek to; a scan that meets it from outside does not exist. */
  private canSeek(range: RowRange): boolean {
    return (this.reversed ? range.stopRow : range.startRow).length > 0;
  }
}

/** Where a row stands to a range: below (-1), in it (0), above (1). */
function positionTo(range: RowRange, row: Uint8Array, offset: number, length: number): number {
  const { startRow, stopRow } = range;
  if (startRow.length > 0) {
    const order = compareSlices(row, offset, length, startRow, 0, startRow.length);
    if (order < 0 || (order === 0 && !range.startInclusive)) return -1;
  }
  if (stopRow.length > 0) {
    const order = compareSlices(row, offset, length, stopRow, 0, stopRow.length);
    if (order > 0 || (order === 0 && !range.stopInclusive)) return 1;
  }
  return 0;
}

/** The ranges in ascending order, overlapping and touching ones as one. */
function merged(ranges: readonly RowRange[]): RowRange[] {
  if (ranges.length === 0) throw new InvalidArgumentError('A multiRowRange filter needs at least one range.');
  for (const { startRow, stopRow, startInclusive, stopInclusive } of ranges) {
    const order = stopRow.length === 0 ? -1 : compareBytes(startRow, stopRow);
    if (order > 0 || (order === 0 && !(startInclusive && stopInclusive))) {
      throw new InvalidArgumentError('A range of a multiRowRange filter ends before it starts, or is empty.');
    }
  }
  const sorted = [...ranges].sort(
    (a, b) => compareBytes(a.startRow, b.startRow) || Number(b.startInclusive) - Number(a.startInclusive),
  );
  const out: RowRange[] = [sorted[0]!];
  for (const range of sorted.slice(1)) {
    const last = out[out.length - 1]!;
    if (!meets(last, range)) out.push(range);
    else if (endsBefore(last, range)) {
      out[out.length - 1] = { ...last, stopRow: range.stopRow, stopInclusive: range.stopInclusive };
    }
  }
  return out;
}

/** Whether `next`, which does not start before `range`, leaves no row between them. */
function meets(range: RowRange, next: RowRange): boolean {
  if (range.stopRow.length === 0) return true;
  const order = compareBytes(range.stopRow, next.startRow);
  return order > 0 || (order === 0 && (range.stopInclusive || next.startInclusive));
}

function endsBefore(a: RowRange, b: RowRange): boolean {
  if (a.stopRow.length === 0) return false;
  if (b.stopRow.length === 0) return true;
  const order = compareBytes(a.stopRow, b.stopRow);
  return order < 0 || (order === 0 && b.stopInclusive && !a.stopInclusive);
}
