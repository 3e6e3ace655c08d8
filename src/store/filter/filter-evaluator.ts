import type { Cell } from '../../table/index.js';
import type { CellCursor } from '../cursor.js';
import type { FilterFamily, FilterHint } from './filter-hint.js';
import { FILTER_INCLUDE, type ReturnCode } from './return-code.js';

/**
 * One filter at work in one scan (HBase `FilterBase`). For each row a scanner calls `filterRowKey`, then `filterCell`
 * for each cell, `filterRowCells` and `filterRow` when all cells are gathered, and `reset` before the next row. What is
 * not overridden lets everything pass.
 */
export abstract class FilterEvaluator {
  /** Forgets the row. */
  reset(): void {}

  /** Whether the scan is over (HBase `filterAllRemaining`). */
  get done(): boolean {
    return false;
  }

  /** Whether to drop the row unseen. */
  filterRowKey(_row: Uint8Array, _offset: number, _length: number): boolean {
    return false;
  }

  filterCell(_cell: CellCursor, _family: FilterFamily): ReturnCode {
    return FILTER_INCLUDE;
  }

  /** After FILTER_SEEK_HINT for this cell: fills `hint`, or says false when there is nothing more to seek. */
  hint(_cell: CellCursor, _family: FilterFamily, _hint: FilterHint): boolean {
    return false;
  }

  /** Whether `transform` changes values. */
  get transforms(): boolean {
    return false;
  }

  /** The value to give in place of that of the cell that `filterCell` has just let pass. */
  transform(value: Uint8Array): Uint8Array {
    return value;
  }

  /** Whether `filterRowCells` or `filterRow` matter: rows must then be gathered whole. */
  get hasFilterRow(): boolean {
    return false;
  }

  /** Drops cells of the gathered row. */
  filterRowCells(_cells: Cell[]): void {}

  /** Whether to drop the gathered row. */
  filterRow(): boolean {
    return false;
  }
}
