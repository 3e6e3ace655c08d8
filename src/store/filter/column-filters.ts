/** Filters that decide by family and qualifier. */

import { compareBytes, compareSlices, startsWithBytes } from '../../bytes/index.js';
import type { CellCursor } from '../cursor.js';
import type { Comparison } from './compare.js';
import {
  FILTER_INCLUDE,
  FILTER_INCLUDE_NEXT_COLUMN,
  FILTER_NEXT_COLUMN,
  FILTER_NEXT_ROW,
  FILTER_SEEK_HINT,
  FILTER_SKIP,
  FilterEvaluator,
  type FilterFamily,
  type FilterHint,
  type ReturnCode,
} from './filter-evaluator.js';

/** `FamilyFilter`. */
export class FamilyEvaluator extends FilterEvaluator {
  constructor(private readonly comparison: Comparison) {
    super();
  }

  override filterCell(_cell: CellCursor, family: FilterFamily): ReturnCode {
    const { bytes } = family;
    return this.comparison.holds(bytes, 0, bytes.length) ? FILTER_INCLUDE : FILTER_NEXT_ROW;
  }
}

/** `QualifierFilter`. */
export class QualifierEvaluator extends FilterEvaluator {
  constructor(private readonly comparison: Comparison) {
    super();
  }

  override filterCell(cell: CellCursor): ReturnCode {
    const holds = this.comparison.holds(cell.key, cell.qualifierOffset, cell.qualifierLength);
    return holds ? FILTER_INCLUDE : FILTER_SKIP;
  }
}

/** `ColumnPrefixFilter`. */
export class ColumnPrefixEvaluator extends FilterEvaluator {
  constructor(private readonly prefix: Uint8Array) {
    super();
  }

  override filterCell(cell: CellCursor): ReturnCode {
    const { prefix } = this;
    const length = Math.min(cell.qualifierLength, prefix.length);
    const order = compareSlices(cell.key, cell.qualifierOffset, length, prefix, 0, prefix.length);
    if (order === 0) return FILTER_INCLUDE;
    return order < 0 ? FILTER_SEEK_HINT : FILTER_NEXT_ROW;
  }

  override hint(_cell: CellCursor, family: FilterFamily, hint: FilterHint): boolean {
    hint.toColumn(family, this.prefix);
    return true;
  }
}

/**
 * `MultipleColumnPrefixFilter`. As in HBase only the last prefix that is not above the qualifier is compared: with "a" and
 * "ab" the qualifier "ac" does not pass.
 */
export class MultipleColumnPrefixEvaluator extends FilterEvaluator {
  private wanted: Uint8Array | undefined;

  /** `prefixes`: in byte order. */
  constructor(private readonly prefixes: readonly Uint8Array[]) {
    super();
  }

  override filterCell(cell: CellCursor): ReturnCode {
    const { prefixes } = this;
    if (prefixes.length === 0) return FILTER_INCLUDE;
    const qualifier = cell.key.subarray(cell.qualifierOffset, cell.qualifierOffset + cell.qualifierLength);
    let above = 0;
    while (above < prefixes.length && compareBytes(prefixes[above]!, qualifier) <= 0) above++;
    if (above > 0) {
      if (startsWithBytes(qualifier, prefixes[above - 1]!)) return FILTER_INCLUDE;
      if (above === prefixes.length) return FILTER_NEXT_ROW;
    }
    this.wanted = prefixes[above];
    return FILTER_SEEK_HINT;
  }

  override hint(_cell: CellCursor, family: FilterFamily, hint: FilterHint): boolean {
    hint.toColumn(family, this.wanted!);
    return true;
  }
}

/** `ColumnRangeFilter`. */
export class ColumnRangeEvaluator extends FilterEvaluator {
  constructor(
    private readonly minColumn: Uint8Array | null,
    private readonly minInclusive: boolean,
    private readonly maxColumn: Uint8Array | null,
    private readonly maxInclusive: boolean,
  ) {
    super();
  }

  override filterCell(cell: CellCursor): ReturnCode {
    const { minColumn, maxColumn } = this;
    if (minColumn !== null) {
      const order = compareQualifier(cell, minColumn);
      if (order < 0) return FILTER_SEEK_HINT;
      if (order === 0 && !this.minInclusive) return FILTER_NEXT_COLUMN;
    }
    if (maxColumn === null) return FILTER_INCLUDE;
    const order = compareQualifier(cell, maxColumn);
    return order < 0 || (order === 0 && this.maxInclusive) ? FILTER_INCLUDE : FILTER_NEXT_ROW;
  }

  override hint(_cell: CellCursor, family: FilterFamily, hint: FilterHint): boolean {
    hint.toColumn(family, this.minColumn!);
    return true;
  }
}

/** `ColumnPaginationFilter`. */
export class ColumnPaginationEvaluator extends FilterEvaluator {
  private count = 0;

  constructor(
    private readonly limit: number,
    private readonly offset: number,
    private readonly columnOffset: Uint8Array | null,
  ) {
    super();
  }

  override reset(): void {
    this.count = 0;
  }

  override filterCell(cell: CellCursor): ReturnCode {
    const { columnOffset } = this;
    if (columnOffset !== null) {
      if (this.count >= this.limit) return FILTER_NEXT_ROW;
      if (this.count === 0 && compareQualifier(cell, columnOffset) < 0) return FILTER_SEEK_HINT;
      this.count++;
      return FILTER_INCLUDE_NEXT_COLUMN;
    }
    if (this.count >= this.offset + this.limit) return FILTER_NEXT_ROW;
    this.count++;
    return this.count <= this.offset ? FILTER_NEXT_COLUMN : FILTER_INCLUDE_NEXT_COLUMN;
  }

  override hint(_cell: CellCursor, family: FilterFamily, hint: FilterHint): boolean {
    hint.toColumn(family, this.columnOffset!);
    return true;
  }
}

/** `ColumnCountGetFilter`. */
export class ColumnCountEvaluator extends FilterEvaluator {
  private count = 0;

  constructor(private readonly limit: number) {
    super();
  }

  override reset(): void {
    this.count = 0;
  }

  override get done(): boolean {
    return this.count > this.limit;
  }

  override filterCell(_cell: CellCursor): ReturnCode {
    this.count++;
    return this.count > this.limit ? FILTER_NEXT_COLUMN : FILTER_INCLUDE_NEXT_COLUMN;
  }
}

/** `FirstKeyOnlyFilter`: the first cell of each row. */
export class FirstKeyOnlyEvaluator extends FilterEvaluator {
  private found = false;

  override reset(): void {
    this.found = false;
  }

  override filterCell(_cell: CellCursor): ReturnCode {
    if (this.found) return FILTER_NEXT_ROW;
    this.found = true;
    return FILTER_INCLUDE;
  }
}

function compareQualifier(cell: CellCursor, column: Uint8Array): number {
  return compareSlices(cell.key, cell.qualifierOffset, cell.qualifierLength, column, 0, column.length);
}
