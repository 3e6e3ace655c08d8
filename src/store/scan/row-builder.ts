import { Cell, type CellType, CellWithTtl, type RawRow, Result } from '../../table/index.js';
import { type CellCursor, isInColumn } from '../cursor.js';
import type { FilterEvaluator } from '../filter/filter-evaluator.js';
import { slab } from './row-copy.js';

/** The number of columns of a row whose qualifiers are reused for the next row. */
const REMEMBERED_COLUMNS = 64;

/** Makes the cells of one family. Cells of successive rows share equal qualifiers. */
export class CellMaker {
  private readonly qualifiers: Uint8Array[] = [];

  constructor(
    private readonly family: string,
    /** Transforms values; undefined: values are unchanged. */
    private readonly transformer: FilterEvaluator | undefined,
    /** Whether cells carry their time to live. */
    private readonly withTtl = false,
  ) {}

  /**
   * Makes the cell at the cursor, the `index`-th of its row. `fresh`: no cursor was moved since the row was copied by
   * `copyRowAhead`.
   */
  make(cell: CellCursor, row: Uint8Array, index: number, fresh = false): Cell {
    if (this.withTtl && cell.ttl !== 0) {
      const { timestamp, type } = cell;
      const value = slab.copy(cell.value, cell.valueOffset, cell.valueLength);
      const qualifier = this.qualifierOf(cell, index);
      return new CellWithTtl(row, this.family, qualifier, timestamp, type as CellType, value, cell.ttl);
    }
    return new Cell(
      row,
      this.family,
      this.qualifierOf(cell, index),
      cell.timestamp,
      cell.type as CellType,
      this.transformer !== undefined
        ? this.transformed(cell, this.transformer)
        : fresh
          ? slab.copyNext(cell.value, cell.valueOffset, cell.valueLength)
          : slab.copy(cell.value, cell.valueOffset, cell.valueLength),
    );
  }

  /** Like `make`, into a raw row; returns the qualifier. */
  makeRaw(cell: CellCursor, raw: RawRow, index: number): Uint8Array {
    const qualifier = this.qualifierOf(cell, index);
    if (this.transformer === undefined) {
      raw.add(this.family, qualifier, cell.timestamp, cell.value, cell.valueOffset, cell.valueLength);
    } else {
      const value = this.transformed(cell, this.transformer);
      raw.add(this.family, qualifier, cell.timestamp, value, 0, value.length);
    }
    return qualifier;
  }

  /** A copy of the cell's qualifier, shared with the `index`-th cell of the previous row if they are equal. */
  qualifierOf(cell: CellCursor, index: number): Uint8Array {
    const { key, qualifierOffset, qualifierLength } = cell;
    const slot = index < REMEMBERED_COLUMNS ? index : REMEMBERED_COLUMNS - 1;
    const last = this.qualifiers[slot];
    if (last !== undefined && isInColumn(cell, last)) return last;
    const copy = slab.copy(key, qualifierOffset, qualifierLength);
    // Slots are filled in order, so that the array has no holes.
    if (slot <= this.qualifiers.length) this.qualifiers[slot] = copy;
    return copy;
  }

  private transformed(cell: CellCursor, transformer: FilterEvaluator): Uint8Array {
    const value = cell.value.subarray(cell.valueOffset, cell.valueOffset + cell.valueLength);
    const changed = transformer.transform(value);
    return changed === value ? slab.copy(cell.value, cell.valueOffset, cell.valueLength) : changed;
  }
}

const NO_CELLS: readonly Cell[] = Object.freeze([]);

/** Stands for a result that is in `RowBuilder.raw`. */
const IN_RAW_ROW: Result = new Result(new Uint8Array(0), NO_CELLS);

/** Collects the cells of one row. */
export class RowBuilder {
  cells: Cell[] = [];
  count = 0;
  /** When set, cells are added to it instead of becoming objects. */
  raw: RawRow | null = null;

  add(cell: Cell): void {
    this.cells[this.count++] = cell;
  }

  /** Returns the collected cells as a result, and empties the builder. */
  take(row: Uint8Array, partial: boolean): Result {
    const { cells, count, raw } = this;
    this.count = 0;
    if (raw !== null) return IN_RAW_ROW;
    if (count === 1) {
      const only = cells[0]!;
      return new Result(row, [only], partial);
    }
    return new Result(row, count === 0 ? NO_CELLS : cells.slice(0, count), partial);
  }

  /** Lets `change` change the collected cells in place. */
  edit(change: (cells: Cell[]) => void): void {
    this.cells.length = this.count;
    change(this.cells);
    this.count = this.cells.length;
  }
}
