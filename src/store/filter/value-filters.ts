/** Filters that decide by value or timestamp. */

import type { Cell } from '../../table/index.js';
import type { CellCursor } from '../cursor.js';
import type { Comparison, FilterColumn } from './compare.js';
import {
  FILTER_INCLUDE,
  FILTER_NEXT_COLUMN,
  FILTER_NEXT_ROW,
  FILTER_SEEK_HINT,
  FILTER_SKIP,
  FilterEvaluator,
  type FilterFamily,
  type FilterHint,
  type ReturnCode,
} from './filter-evaluator.js';

/** `ValueFilter`. */
export class ValueEvaluator extends FilterEvaluator {
  constructor(private readonly comparison: Comparison) {
    super();
  }

  override filterCell(cell: CellCursor): ReturnCode {
    const holds = this.comparison.holds(cell.value, cell.valueOffset, cell.valueLength);
    return holds ? FILTER_INCLUDE : FILTER_SKIP;
  }
}

/** `SingleColumnValueFilter`: decides on the whole row by the value of one column. */
export class SingleColumnValueEvaluator extends FilterEvaluator {
  private found = false;
  private matched = false;

  constructor(
    protected readonly column: FilterColumn,
    private readonly comparison: Comparison,
    private readonly filterIfMissing: boolean,
    private readonly latestVersionOnly: boolean,
  ) {
    super();
  }

  override reset(): void {
    this.found = false;
    this.matched = false;
  }

  override filterCell(cell: CellCursor, family: FilterFamily): ReturnCode {
    if (this.matched) return FILTER_INCLUDE;
    if (this.found && this.latestVersionOnly) return FILTER_NEXT_ROW;
    if (!this.column.matches(family.name, cell.key, cell.qualifierOffset, cell.qualifierLength)) {
      return FILTER_INCLUDE;
    }
    this.found = true;
    if (this.comparison.holds(cell.value, cell.valueOffset, cell.valueLength)) this.matched = true;
    else if (this.latestVersionOnly) return FILTER_NEXT_ROW;
    return FILTER_INCLUDE;
  }

  override get hasFilterRow(): boolean {
    return true;
  }

  override filterRow(): boolean {
    return this.found ? !this.matched : this.filterIfMissing;
  }
}

/** `SingleColumnValueExcludeFilter`: the same, and removes the column from the row. */
export class SingleColumnValueExcludeEvaluator extends SingleColumnValueEvaluator {
  override filterRowCells(cells: Cell[]): void {
    keepWhere(cells, (cell) => !this.column.matchesQualifier(cell.family, cell.qualifier));
  }
}

/** `ColumnValueFilter`: the cells of one column, by their value. */
export class ColumnValueEvaluator extends FilterEvaluator {
  private found = false;

  constructor(
    private readonly column: FilterColumn,
    private readonly comparison: Comparison,
  ) {
    super();
  }

  override reset(): void {
    this.found = false;
  }

  override filterCell(cell: CellCursor, family: FilterFamily): ReturnCode {
    if (!this.column.matches(family.name, cell.key, cell.qualifierOffset, cell.qualifierLength)) {
      return this.found ? FILTER_NEXT_ROW : FILTER_NEXT_COLUMN;
    }
    this.found = true;
    const holds = this.comparison.holds(cell.value, cell.valueOffset, cell.valueLength);
    return holds ? FILTER_INCLUDE : FILTER_SKIP;
  }
}

/** `DependentColumnFilter`: the cells that share a timestamp with a cell of the reference column. */
export class DependentColumnEvaluator extends FilterEvaluator {
  private readonly timestamps = new Set<number>();

  constructor(
    private readonly column: FilterColumn,
    private readonly dropDependentColumn: boolean,
    private readonly comparison: Comparison | null,
  ) {
    super();
  }

  override reset(): void {
    this.timestamps.clear();
  }

  override filterCell(cell: CellCursor, family: FilterFamily): ReturnCode {
    if (!this.column.matches(family.name, cell.key, cell.qualifierOffset, cell.qualifierLength)) {
      return FILTER_INCLUDE;
    }
    if (this.comparison && !this.comparison.holds(cell.value, cell.valueOffset, cell.valueLength)) {
      return FILTER_SKIP;
    }
    this.timestamps.add(cell.timestamp);
    return this.dropDependentColumn ? FILTER_SKIP : FILTER_INCLUDE;
  }

  override get hasFilterRow(): boolean {
    return true;
  }

  override filterRowCells(cells: Cell[]): void {
    keepWhere(cells, (cell) => this.timestamps.has(cell.timestamp));
  }
}

/** `TimestampsFilter`. With hints it may skip delete markers, as in HBase. */
export class TimestampsEvaluator extends FilterEvaluator {
  private readonly wanted: ReadonlySet<number>;
  private readonly least: number;

  /** `timestamps`: ascending. */
  constructor(
    private readonly timestamps: readonly number[],
    private readonly canHint: boolean,
  ) {
    super();
    this.wanted = new Set(timestamps);
    this.least = timestamps[0] ?? Number.POSITIVE_INFINITY;
  }

  override filterCell(cell: CellCursor): ReturnCode {
    if (this.wanted.has(cell.timestamp)) return FILTER_INCLUDE;
    if (cell.timestamp < this.least) return FILTER_NEXT_COLUMN;
    return this.canHint ? FILTER_SEEK_HINT : FILTER_SKIP;
  }

  override hint(cell: CellCursor, family: FilterFamily, hint: FilterHint): boolean {
    let next = -1;
    for (const timestamp of this.timestamps) if (timestamp < cell.timestamp) next = timestamp;
    const { key, qualifierOffset, qualifierLength } = cell;
    hint.toColumn(family, key.slice(qualifierOffset, qualifierOffset + qualifierLength), next);
    return true;
  }
}

/** `KeyOnlyFilter`: cells without their values, or with the length of the value as 4 bytes instead. */
export class KeyOnlyEvaluator extends FilterEvaluator {
  constructor(private readonly lengthAsValue: boolean) {
    super();
  }

  override get transforms(): boolean {
    return true;
  }

  override transform(value: Uint8Array): Uint8Array {
    if (!this.lengthAsValue) return new Uint8Array(0);
    const out = new Uint8Array(4);
    new DataView(out.buffer).setInt32(0, value.length);
    return out;
  }
}

function keepWhere(cells: Cell[], keep: (cell: Cell) => boolean): void {
  let kept = 0;
  for (const cell of cells) if (keep(cell)) cells[kept++] = cell;
  cells.length = kept;
}
