import { compareBytes, compareSlices, copyBytes, prefixEnd } from '../../bytes/index.js';
import { InvalidArgumentError } from '../../errors.js';
import type { FilterRange } from '../../table/index.js';
import type { CellCursor } from '../cursor.js';
import type { Comparison } from './compare.js';
import {
  FILTER_INCLUDE,
  FILTER_NEXT_ROW,
  FILTER_SEEK_HINT,
  FilterEvaluator,
  type FilterFamily,
  type FilterHint,
  type ReturnCode,
} from './filter-evaluator.js';

/** Filters that decide by the row alone. */

/** The common part of row filters: the decision of `filterRowKey` also applies to the cells. */
abstract class RowVerdict extends FilterEvaluator {
  protected dropped = false;

  override reset(): void {
    this.dropped = false;
  }

  override filterCell(_cell: CellCursor): ReturnCode {
    return this.dropped ? FILTER_NEXT_ROW : FILTER_INCLUDE;
  }

  override filterRow(): boolean {
    return this.dropped;
  }
}

/** `RowFilter`. */
export class RowEvaluator extends RowVerdict {
  constructor(private readonly comparison: Comparison) {
    super();
  }

  override filterRowKey(row: Uint8Array, offset: number, length: number): boolean {
    if (!this.comparison.holds(row, offset, length)) this.dropped = true;
    return this.dropped;
  }
}

/** `PrefixFilter`: seeks to the prefix, and ends the scan after it. */
export class PrefixEvaluator extends FilterEvaluator {
  private passed = false;
  private dropped = true;
  private before = false;

  constructor(
    private readonly prefix: Uint8Array,
    private readonly reversed: boolean,
  ) {
    super();
  }

  override reset(): void {
    this.dropped = true;
  }

  override get done(): boolean {
    return this.passed;
  }

  override filterRowKey(row: Uint8Array, offset: number, length: number): boolean {
    if (this.passed) return true;
    const { prefix } = this;
    const order = compareSlices(row, offset, Math.min(length, prefix.length), prefix, 0, prefix.length);
    this.passed = this.reversed ? order < 0 : order > 0;
    this.before = this.reversed ? order > 0 : order < 0;
    this.dropped = order !== 0;
    // A row before the prefix is not dropped by its key: its first cell returns the hint.
    return this.passed;
  }

  override filterCell(_cell: CellCursor): ReturnCode {
    if (this.before) return FILTER_SEEK_HINT;
    return this.dropped ? FILTER_NEXT_ROW : FILTER_INCLUDE;
  }

  override hint(_cell: CellCursor, _family: FilterFamily, hint: FilterHint): boolean {
    const row = this.reversed ? prefixEnd(this.prefix) : this.prefix;
    if (row === undefined) return false;
    hint.toRow(row);
    return true;
  }

  override filterRow(): boolean {
    return this.dropped;
  }
}

/** `InclusiveStopFilter`. */
export class InclusiveStopEvaluator extends FilterEvaluator {
  private passed = false;

  constructor(
    private readonly stopRow: Uint8Array,
    private readonly reversed: boolean,
  ) {
    super();
  }

  override get done(): boolean {
    return this.passed;
  }

  override filterRowKey(row: Uint8Array, offset: number, length: number): boolean {
    if (this.passed) return true;
    const order = compareSlices(row, offset, length, this.stopRow, 0, this.stopRow.length);
    this.passed = this.reversed ? order < 0 : order > 0;
    return this.passed;
  }

  override filterCell(_cell: CellCursor): ReturnCode {
    return this.passed ? FILTER_NEXT_ROW : FILTER_INCLUDE;
  }
}

/** `RandomRowFilter`. */
export class RandomEvaluator extends RowVerdict {
  constructor(
    private readonly chance: number,
    private readonly random: () => number,
  ) {
    super();
  }

  override get hasFilterRow(): boolean {
    return true;
  }

  override filterRowKey(): boolean {
    if (this.chance < 0) this.dropped = true;
    else if (this.chance > 1) this.dropped = false;
    else this.dropped = !(this.random() < this.chance);
    return this.dropped;
  }
}

/** `PageFilter`: ends the scan after so many rows that passed the other filters. */
export class PageEvaluator extends FilterEvaluator {
  private rows = 0;

  constructor(private readonly pageSize: number) {
    super();
  }

  override get done(): boolean {
    return this.rows >= this.pageSize;
  }

  override get hasFilterRow(): boolean {
    return true;
  }

  override filterRow(): boolean {
    this.rows++;
    return this.rows > this.pageSize;
  }
}

interface FuzzyPair {
  readonly row: Uint8Array;
  /** 0: the byte must be equal; 1: any byte. */
  readonly mask: Uint8Array;
}

/**
 * `FuzzyRowFilter`: rows whose bytes are equal where the mask is 0. A row shorter than the pair is compared up to its end; a longer one
 * passes whatever follows.
 */
export class FuzzyRowEvaluator extends FilterEvaluator {
  private dropped = false;
  private exhausted = false;

  constructor(
    private readonly pairs: readonly FuzzyPair[],
    private readonly reversed: boolean,
  ) {
    super();
  }

  override reset(): void {
    this.dropped = false;
  }

  override get done(): boolean {
    return this.exhausted;
  }

  override filterRow(): boolean {
    return this.dropped;
  }

  override filterCell(cell: CellCursor): ReturnCode {
    for (const pair of this.pairs) {
      if (firstMismatch(cell.key, cell.rowOffset, cell.rowLength, pair) < 0) return FILTER_INCLUDE;
    }
    this.dropped = true;
    return FILTER_SEEK_HINT;
  }

  override hint(cell: CellCursor, _family: FilterFamily, hint: FilterHint): boolean {
    const row = cell.key.subarray(cell.rowOffset, cell.rowOffset + cell.rowLength);
    let best: Uint8Array | undefined;
    for (const pair of this.pairs) {
      const candidate = this.reversed ? fuzzyRowBefore(row, pair) : fuzzyRowAfter(row, pair);
      if (!candidate) continue;
      if (!best || compareBytes(candidate, best) < 0 !== this.reversed) best = candidate;
    }
    if (!best) {
      this.exhausted = true;
      return false;
    }
    hint.toRow(best);
    return true;
  }
}

/** The index of the first byte of the row that does not match the pair, or -1. */
function firstMismatch(bytes: Uint8Array, offset: number, length: number, pair: FuzzyPair): number {
  const { row, mask } = pair;
  const end = Math.min(length, row.length);
  for (let i = 0; i < end; i++) if (mask[i] === 0 && bytes[offset + i] !== row[i]) return i;
  return -1;
}

/** The least possible row above `row` that matches the pair, or one below it. `row` does not match. */
function fuzzyRowAfter(row: Uint8Array, pair: FuzzyPair): Uint8Array | undefined {
  const at = firstMismatch(row, 0, row.length, pair);
  if (row[at]! < pair.row[at]!) return ending(row, at, pair.row[at]!);
  // The byte must become smaller, so one of the free bytes before it must become greater.
  for (let i = at - 1; i >= 0; i--) {
    if (pair.mask[i] === 1 && row[i]! < 0xff) return ending(row, i, row[i]! + 1);
  }
  return undefined;
}

/** The greatest possible row below `row` that matches the pair, or one above it. `row` does not match. */
function fuzzyRowBefore(row: Uint8Array, pair: FuzzyPair): Uint8Array | undefined {
  const at = firstMismatch(row, 0, row.length, pair);
  if (row[at]! > pair.row[at]!) return belowNext(ending(row, at, pair.row[at]!));
  // All rows in between differ from the pair where this one does, except those with a shorter common prefix.
  return at > 0 ? copyBytes(row, 0, at) : undefined;
}

/** The first `at` bytes of the row, followed by `byte`. */
function ending(row: Uint8Array, at: number, byte: number): Uint8Array {
  const out = copyBytes(row, 0, at + 1);
  out[at] = byte;
  return out;
}

/** A row above all rows that start with `prefix`: filled with FF up to more than the greatest length of a row. */
function belowNext(prefix: Uint8Array): Uint8Array {
  const out = new Uint8Array(MAX_HINT_LENGTH).fill(0xff);
  out.set(prefix);
  return out;
}

/** More than the greatest length of a row. */
const MAX_HINT_LENGTH = 32768;

/** `MultiRowRangeFilter`: rows in any of the ranges; seeks from range to range. */
export class MultiRowRangeEvaluator extends FilterEvaluator {
  /** In the direction of the scan, without overlaps. */
  private readonly ranges: readonly FilterRange[];
  private index = 0;
  private exhausted = false;
  private code: ReturnCode = FILTER_INCLUDE;

  constructor(
    ranges: readonly FilterRange[],
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

  /** An open end has no row to seek to, but no row is before it either. */
  private canSeek(range: FilterRange): boolean {
    return (this.reversed ? range.stopRow : range.startRow).length > 0;
  }
}

/** The position of a row relative to a range: below (-1), inside (0), above (1). */
function positionTo(range: FilterRange, row: Uint8Array, offset: number, length: number): number {
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

/** The ranges in ascending order; overlapping and adjacent ones are merged. */
function merged(ranges: readonly FilterRange[]): FilterRange[] {
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
  const out: FilterRange[] = [sorted[0]!];
  for (const range of sorted.slice(1)) {
    const last = out[out.length - 1]!;
    if (!isAdjacent(last, range)) out.push(range);
    else if (endsBefore(last, range)) {
      out[out.length - 1] = { ...last, stopRow: range.stopRow, stopInclusive: range.stopInclusive };
    }
  }
  return out;
}

/** Whether no row is between `range` and `next`, which does not start before it. */
function isAdjacent(range: FilterRange, next: FilterRange): boolean {
  if (range.stopRow.length === 0) return true;
  const order = compareBytes(range.stopRow, next.startRow);
  return order > 0 || (order === 0 && (range.stopInclusive || next.startInclusive));
}

function endsBefore(a: FilterRange, b: FilterRange): boolean {
  if (a.stopRow.length === 0) return false;
  if (b.stopRow.length === 0) return true;
  const order = compareBytes(a.stopRow, b.stopRow);
  return order < 0 || (order === 0 && b.stopInclusive && !a.stopInclusive);
}
