/** Filters that decide by the row alone. */

import { compareSlices } from '../../bytes/index.js';
import type { CellCursor } from '../cursor.js';
import type { Comparison } from './compare.js';
import { FilterEvaluator } from './filter-evaluator.js';
import { FILTER_INCLUDE, FILTER_NEXT_ROW, type ReturnCode } from './return-code.js';

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

/** `PrefixFilter`: ends the scan behind the prefix. */
export class PrefixEvaluator extends RowVerdict {
  private passed = false;
  protected override dropped = true;

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
    if (this.reversed ? order < 0 : order > 0) this.passed = true;
    this.dropped = order !== 0;
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
