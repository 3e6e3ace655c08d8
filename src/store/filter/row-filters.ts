/** Filters that decide by the row alone. */

import { compareSlices, prefixEnd } from '../../bytes/index.js';
import type { CellCursor } from '../cursor.js';
import type { Comparison } from './compare.js';
import { FilterEvaluator } from './filter-evaluator.js';
import type { FilterFamily, FilterHint } from './filter-hint.js';
import { FILTER_INCLUDE, FILTER_NEXT_ROW, FILTER_SEEK_HINT, type ReturnCode } from './return-code.js';

/** What the filters of rows share: the verdict of `filterRowKey` holds for the cells too. */
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

/** `PrefixFilter`: seeks to the prefix, and ends the scan behind it. */
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
    // A row before the prefix is not dropped by its key: its first cell brings out the hint.
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

/** `PageFilter`: ends the scan after so many rows that other filters left. */
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
