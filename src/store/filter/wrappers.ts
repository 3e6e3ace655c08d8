/** Filters around one other filter. */

import type { CellCursor } from '../cursor.js';
import { FilterEvaluator } from './filter-evaluator.js';
import type { FilterFamily, FilterHint } from './filter-hint.js';
import { FILTER_INCLUDE, type ReturnCode } from './return-code.js';

/** `WhileMatchFilter`: ends the scan at the first row or cell that does not pass. */
export class WhileEvaluator extends FilterEvaluator {
  private failed = false;

  constructor(private readonly filter: FilterEvaluator) {
    super();
  }

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

  override filterRow(): boolean {
    const dropped = this.filter.filterRow();
    if (dropped) this.failed = true;
    return dropped;
  }
}

/** `SkipFilter`: drops the row when one of its cells does not pass. */
export class SkipEvaluator extends FilterEvaluator {
  private dropped = false;

  constructor(private readonly filter: FilterEvaluator) {
    super();
  }

  override reset(): void {
    this.filter.reset();
    this.dropped = false;
  }

  override filterCell(cell: CellCursor, family: FilterFamily): ReturnCode {
    const code = this.filter.filterCell(cell, family);
    if (code !== FILTER_INCLUDE) this.dropped = true;
    return code;
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

  override filterRow(): boolean {
    return this.dropped;
  }
}
