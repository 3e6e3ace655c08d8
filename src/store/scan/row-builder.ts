import { type Cell, type RawRow, Result } from '../../table/index.js';

const NO_CELLS: readonly Cell[] = Object.freeze([]);

/** Stands for a result that is in `RowBuilder.raw`. */
const IN_RAW_ROW: Result = new Result(new Uint8Array(0), NO_CELLS);

/** Gathers the cells of one row. */
export class RowBuilder {
  cells: Cell[] = [];
  count = 0;
  /** When set, cells go there and not into objects of their own. */
  raw: RawRow | null = null;

  add(cell: Cell): void {
    this.cells[this.count++] = cell;
  }

  /** What has been gathered as a result; the builder is empty then. */
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

  /** The cells gathered, to be changed in place. */
  edit(change: (cells: Cell[]) => void): void {
    this.cells.length = this.count;
    change(this.cells);
    this.count = this.cells.length;
  }
}
