import { copyBytes, EMPTY_BYTES } from '../bytes/index.js';
import { checkRow } from './checks.js';
import type { PackedPutBytes } from './derived-puts.js';
import { type Durability, Put } from './mutation.js';

const NO_NUMBERS = new Uint32Array(0);

function enlarged(numbers: Uint32Array, length: number): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(Math.max(length, 2 * numbers.length));
  larger.set(numbers);
  return larger;
}

/** A column of packed puts. */
interface PackedColumn {
  readonly family: string;
  readonly qualifier: Uint8Array;
}

/**
 * Puts of many rows as numbers and one buffer: no object and no array for each cell. All cells get the time of the write as their
 * timestamp, and have no time to live.
 */
export class PackedPuts {
  readonly rows: Uint8Array[] = [];
  /** For each row: the number of cells of this row and those before it. */
  readonly rowEnds: number[] = [];
  /** For each of `cellCount` cells: the position of its column in `columns`. */
  cells = NO_NUMBERS;
  /** For each of `cellCount` cells: where its value ends in `bytes`. It begins where that of the cell before ends. */
  valueEnds = NO_NUMBERS;
  cellCount = 0;
  /** The values of all cells, one after the other. Bytes after the last have no meaning. */
  bytes: Uint8Array = EMPTY_BYTES;

  constructor(
    readonly columns: readonly PackedColumn[],
    readonly durability: Durability,
    /** Where the value of the first cell begins in `bytes`. */
    readonly start = 0,
  ) {}

  /** Takes the memory for cells of puts that are not used any more. */
  reuse({ cells, valueEnds }: PackedPuts): void {
    this.cells = cells;
    this.valueEnds = valueEnds;
  }

  /** Makes room for `count` more cells. */
  reserve(count: number): void {
    const needed = this.cellCount + count;
    if (needed <= this.cells.length) return;
    this.cells = enlarged(this.cells, needed);
    this.valueEnds = enlarged(this.valueEnds, needed);
  }

  /** The puts of the rows from `from` up to `to`. They share `bytes`. */
  slice(from: number, to: number): PackedPuts {
    const { rows, rowEnds, cells, valueEnds } = this;
    if (from === 0 && to >= rows.length) return this;
    const first = from === 0 ? 0 : rowEnds[from - 1]!;
    const own = rowEnds.slice(from, to);
    const last = own.at(-1) ?? first;
    const part = new PackedPuts(
      this.columns,
      this.durability,
      first === 0 ? this.start : valueEnds[first - 1]!,
    );
    for (let i = 0; i < own.length; i++) {
      part.rows.push(rows[from + i]!);
      part.rowEnds.push(own[i]! - first);
    }
    part.cells = cells.subarray(first, last);
    part.valueEnds = valueEnds.subarray(first, last);
    part.cellCount = last - first;
    part.bytes = this.bytes;
    return part;
  }

  /** Ends a row whose cells were added. @throws InvalidArgumentError when the row is empty or too long. */
  endRow(row: Uint8Array): void {
    this.rows.push(checkRow(row));
    this.rowEnds.push(this.cellCount);
  }

  /** The same puts, one object each. Their values are views of a copy of `bytes`, so that they may be kept when its memory is used again. */
  toPuts(): Put[] {
    const { columns, start, cells, cellCount } = this;
    const end = cellCount === 0 ? start : this.valueEnds[cellCount - 1]!;
    const bytes = copyBytes(this.bytes, start, end);
    let cell = 0;
    let from = 0;
    return this.rows.map((row, i) => {
      const put = new Put(row).setDurability(this.durability);
      for (; cell < this.rowEnds[i]!; cell++) {
        const { family, qualifier } = columns[cells[cell]!]!;
        const to = this.valueEnds[cell]! - start;
        put.addColumn(family, qualifier, bytes.subarray(from, to));
        from = to;
      }
      return put;
    });
  }
}

/** Puts of many rows to one column, in one buffer: no object for each. Their cells get the time of the write as their timestamp. */
export class ColumnPuts {
  /** For each put: where its row ends in `bytes`, and where its value does, which follows. A row begins where the value before ends. */
  readonly rowEnds: number[] = [];
  readonly valueEnds: number[] = [];
  /** The puts that may only create rows. */
  readonly ofNewRows: number[] = [];
  /** The qualifier, then row and value of each put. Bytes after the last have no meaning. */
  bytes: Uint8Array = EMPTY_BYTES;

  constructor(
    readonly table: string,
    readonly family: string,
    readonly qualifier: Uint8Array,
    readonly durability: Durability,
  ) {}

  /** Puts whose bytes and ends are known, none of which may only create a row. */
  static of(
    table: string,
    family: string,
    qualifier: Uint8Array,
    durability: Durability,
    { rowEnds, valueEnds, bytes }: PackedPutBytes,
  ): ColumnPuts {
    const puts = new ColumnPuts(table, family, qualifier, durability);
    for (let i = 0; i < rowEnds.length; i++) {
      puts.rowEnds.push(rowEnds[i]!);
      puts.valueEnds.push(valueEnds[i]!);
    }
    puts.bytes = bytes;
    return puts;
  }

  get count(): number {
    return this.rowEnds.length;
  }

  /** Where the row of a put begins. */
  startOf(put: number): number {
    return put === 0 ? this.qualifier.length : this.valueEnds[put - 1]!;
  }

  /** The row of a put, a view of `bytes`. */
  rowAt(put: number): Uint8Array {
    return this.bytes.subarray(this.startOf(put), this.rowEnds[put]);
  }
}
