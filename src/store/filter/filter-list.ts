import type { Cell } from '../../table/index.js';
import type { CellCursor } from '../cursor.js';
import { ColumnBytes } from '../match/matcher.js';
import {
  compareHints,
  compareToHint,
  FILTER_INCLUDE,
  FILTER_NEXT_COLUMN,
  FILTER_NEXT_ROW,
  FILTER_SEEK_HINT,
  FILTER_SKIP,
  FilterEvaluator,
  type FilterFamily,
  FilterHint,
  isIncluded,
  mergeAnd,
  mergeOr,
  type ReturnCode,
} from './filter-evaluator.js';

/** Filters combined (HBase `FilterListWithAND`, `FilterListWithOR`). */

abstract class ListEvaluator extends FilterEvaluator {
  constructor(protected readonly filters: readonly FilterEvaluator[]) {
    super();
  }

  override reset(): void {
    for (const filter of this.filters) filter.reset();
  }

  override get transforms(): boolean {
    return this.filters.some((filter) => filter.transforms);
  }

  override get hasFilterRow(): boolean {
    return this.filters.some((filter) => filter.hasFilterRow);
  }

  override filterRowCells(cells: Cell[]): void {
    for (const filter of this.filters) filter.filterRowCells(cells);
  }
}

/** MUST_PASS_ALL. Filters after one that drops a cell do not see the cell (HBASE-20565). */
export class AllEvaluator extends ListEvaluator {
  private seeker: FilterEvaluator | undefined;

  override get done(): boolean {
    for (const filter of this.filters) if (filter.done) return true;
    return false;
  }

  override filterRowKey(row: Uint8Array, offset: number, length: number): boolean {
    let dropped = false;
    // All filters are called, because some count rows.
    for (const filter of this.filters) {
      if (filter.done || filter.filterRowKey(row, offset, length)) dropped = true;
    }
    return dropped;
  }

  override filterCell(cell: CellCursor, family: FilterFamily): ReturnCode {
    let code: ReturnCode = FILTER_INCLUDE;
    for (const filter of this.filters) {
      if (filter.done) return FILTER_NEXT_ROW;
      const own = filter.filterCell(cell, family);
      if (own === FILTER_SEEK_HINT) this.seeker = filter;
      code = mergeAnd(code, own);
      if (!isIncluded(code)) return code;
    }
    return code;
  }

  override hint(cell: CellCursor, family: FilterFamily, hint: FilterHint): boolean {
    return this.seeker?.hint(cell, family, hint) ?? false;
  }

  override transform(value: Uint8Array): Uint8Array {
    let out = value;
    for (const filter of this.filters) out = filter.transform(out);
    return out;
  }

  override filterRow(): boolean {
    for (const filter of this.filters) if (filter.filterRow()) return true;
    return false;
  }
}

/** The state of one filter of MUST_PASS_ONE: its last decision, and the cell that it was about. */
class Part {
  code: ReturnCode = FILTER_INCLUDE;
  included = false;
  family: FilterFamily | null = null;
  readonly column = new ColumnBytes();
  readonly hint = new FilterHint();
  hasHint = false;

  constructor(readonly filter: FilterEvaluator) {}
}

/**
 * MUST_PASS_ONE. The list takes the shortest step of its filters. A filter that asked for a longer step is not called for the cells in
 * between (HBASE-17678, HBASE-18368).
 */
export class AnyEvaluator extends ListEvaluator {
  private readonly parts: readonly Part[];

  constructor(
    filters: readonly FilterEvaluator[],
    private readonly reversed: boolean,
  ) {
    super(filters);
    this.parts = filters.map((filter) => new Part(filter));
  }

  override reset(): void {
    for (const part of this.parts) {
      part.filter.reset();
      part.code = FILTER_INCLUDE;
      part.included = false;
    }
  }

  override get done(): boolean {
    if (this.filters.length === 0) return false;
    for (const filter of this.filters) if (!filter.done) return false;
    return true;
  }

  override filterRowKey(row: Uint8Array, offset: number, length: number): boolean {
    if (this.filters.length === 0) return false;
    let dropped = true;
    for (const filter of this.filters) {
      if (!filter.done && !filter.filterRowKey(row, offset, length)) dropped = false;
    }
    return dropped;
  }

  override filterCell(cell: CellCursor, family: FilterFamily): ReturnCode {
    if (this.parts.length === 0) return FILTER_INCLUDE;
    let merged = -1;
    for (const part of this.parts) {
      part.included = false;
      if (part.filter.done) continue;
      const before = this.pending(part, cell, family);
      const code = before >= 0 ? (before as ReturnCode) : this.ask(part, cell, family);
      merged = merged < 0 ? code : mergeOr(merged as ReturnCode, code);
    }
    return merged < 0 ? FILTER_SKIP : (merged as ReturnCode);
  }

  override hint(cell: CellCursor, _family: FilterFamily, hint: FilterHint): boolean {
    let found = false;
    for (const part of this.parts) {
      if (part.filter.done) continue;
      if (!part.hasHint) return false;
      if (!found || compareHints(part.hint, hint, cell, this.reversed) < 0) hint.copyFrom(part.hint);
      found = true;
    }
    return found;
  }

  override transform(value: Uint8Array): Uint8Array {
    let out = value;
    for (const part of this.parts) if (part.included) out = part.filter.transform(out);
    return out;
  }

  override filterRow(): boolean {
    if (this.filters.length === 0) return false;
    for (const filter of this.filters) if (!filter.filterRow()) return false;
    return true;
  }

  /** The filter's last decision, if it covers this cell; -1 when it must be called. */
  private pending(part: Part, cell: CellCursor, family: FilterFamily): number {
    const { code } = part;
    if (code === FILTER_INCLUDE || code === FILTER_SKIP) return -1;
    if (code === FILTER_SEEK_HINT) {
      const before = part.hasHint && compareToHint(cell, family, part.hint, this.reversed) < 0;
      return before ? FILTER_SEEK_HINT : -1;
    }
    if (part.family !== family) return -1;
    if (code >> 1 === 2) return FILTER_NEXT_ROW;
    return part.column.isOf(cell) ? FILTER_NEXT_COLUMN : -1;
  }

  private ask(part: Part, cell: CellCursor, family: FilterFamily): ReturnCode {
    const code = part.filter.filterCell(cell, family);
    part.code = code;
    part.included = isIncluded(code);
    part.family = family;
    part.hasHint = false;
    if (code === FILTER_SEEK_HINT) part.hasHint = part.filter.hint(cell, family, part.hint);
    else if (code >> 1 === 1) part.column.copyFrom(cell);
    return code;
  }
}

/** A filter that wraps another: it gives the other's hints and transformed values. */
abstract class WrappingEvaluator extends FilterEvaluator {
  constructor(protected readonly filter: FilterEvaluator) {
    super();
  }

  override hint(cell: CellCursor, family: FilterFamily, hint: FilterHint): boolean {
    return this.filter.hint(cell, family, hint);
  }

  override get transforms(): boolean {
    return this.filter.transforms;
  }

  override transform(value: Uint8Array): Uint8Array {
    return this.filter.transform(value);
  }

  override get hasFilterRow(): boolean {
    return true;
  }
}

/** `WhileMatchFilter`: ends the scan at the first row or cell that does not pass. */
export class WhileEvaluator extends WrappingEvaluator {
  private failed = false;

  override reset(): void {
    this.filter.reset();
  }

  override get done(): boolean {
    return this.failed || this.filter.done;
  }

  override filterRowKey(row: Uint8Array, offset: number, length: number): boolean {
    if (this.done) return true;
    const dropped = this.filter.filterRowKey(row, offset, length);
    if (dropped) this.failed = true;
    return dropped;
  }

  override filterCell(cell: CellCursor, family: FilterFamily): ReturnCode {
    const code = this.filter.filterCell(cell, family);
    if (code !== FILTER_INCLUDE) this.failed = true;
    return code;
  }

  override filterRow(): boolean {
    const dropped = this.filter.filterRow();
    if (dropped) this.failed = true;
    return dropped;
  }
}

/** `SkipFilter`: drops the row when one of its cells does not pass. */
export class SkipEvaluator extends WrappingEvaluator {
  private dropped = false;

  override reset(): void {
    this.filter.reset();
    this.dropped = false;
  }

  override filterCell(cell: CellCursor, family: FilterFamily): ReturnCode {
    const code = this.filter.filterCell(cell, family);
    if (code !== FILTER_INCLUDE) this.dropped = true;
    return code;
  }

  override filterRow(): boolean {
    return this.dropped;
  }
}
