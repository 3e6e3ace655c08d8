import { concatBytes } from '../../bytes/index.js';
import { Cell, type Filter, Result } from '../../table/index.js';
import { CellCursor } from '../cursor.js';
import { buildFilter, type FilterContext } from './build.js';
import { type FilterEvaluator, type FilterFamily, isIncluded } from './filter-evaluator.js';

const encoder = new TextEncoder();

/** A cursor at a single cell. */
class OneCell extends CellCursor {
  show({ row, qualifier, timestamp, type, value }: Cell): void {
    this.key = concatBytes(row, qualifier);
    this.rowLength = row.length;
    this.qualifierOffset = row.length;
    this.qualifierLength = qualifier.length;
    this.timestamp = timestamp;
    this.type = type;
    this.value = value;
    this.valueLength = value.length;
    this.valid = true;
  }

  override seekToFirst(): boolean {
    return true;
  }

  override seek(): boolean {
    return true;
  }

  override reseek(): boolean {
    return true;
  }

  override next(): boolean {
    return false;
  }

  override seekToPreviousRow(): boolean {
    return false;
  }

  override close(): void {}
}

const NEXT_ROW = 2;

/** Applies a filter to rows that are already in memory as results with their newest versions. */
export class RowsFilter {
  private readonly evaluator: FilterEvaluator;
  private readonly cursor = new OneCell();
  private readonly families = new Map<string, FilterFamily>();

  constructor(filter: Filter, context: FilterContext) {
    this.evaluator = buildFilter(filter, context);
  }

  /** Whether it drops all further rows. */
  get done(): boolean {
    return this.evaluator.done;
  }

  /** The cells of a row that pass; undefined when none do. */
  apply(row: Result): Result | undefined {
    const { evaluator } = this;
    try {
      if (evaluator.filterRowKey(row.row, 0, row.row.length)) return undefined;
      const cells = this.passing(row.cells);
      if (cells.length > 0 && evaluator.hasFilterRow) evaluator.filterRowCells(cells);
      if (cells.length === 0 || evaluator.filterRow()) return undefined;
      return new Result(row.row, cells);
    } finally {
      evaluator.reset();
    }
  }

  private passing(cells: readonly Cell[]): Cell[] {
    const { evaluator, cursor } = this;
    const passing: Cell[] = [];
    for (const cell of cells) {
      cursor.show(cell);
      const code = evaluator.filterCell(cursor, this.familyOf(cell.family));
      if (isIncluded(code)) {
        const value = evaluator.transforms ? evaluator.transform(cell.value) : cell.value;
        passing.push(new Cell(cell.row, cell.family, cell.qualifier, cell.timestamp, cell.type, value));
      }
      if (code >> 1 === NEXT_ROW) break;
    }
    return passing;
  }

  private familyOf(name: string): FilterFamily {
    let family = this.families.get(name);
    if (family === undefined) {
      family = { name, bytes: encoder.encode(name) };
      this.families.set(name, family);
    }
    return family;
  }
}
