import {
  type BytesLike,
  compareBytes,
  copyBytes,
  copySlice,
  EMPTY_BYTES,
  toBytes,
  toLatin1,
} from '../bytes/index.js';
import { Cell, CellType } from './checks.js';

const NO_CELLS: readonly Cell[] = Object.freeze([]);

/** The column as the key of a Map or Set. Its qualifier may hold any bytes. */
export function columnName(family: string, qualifier: Uint8Array): string {
  return `${family}:${toLatin1(qualifier)}`;
}

/**
 * The result of a get, a scan step, an increment or an append: cells of one row, in HBase's order (families in byte order, qualifiers in
 * byte order, newest version first).
 *
 * Its bytes may be views of a block or response of 64 KiB and more, and keeping one of them keeps that in memory. Copy what is kept for
 * long, `Uint8Array.from(result.row)`. Entities and their keys have their own copies.
 */
export class Result {
  /** The empty result: no row, no cells. */
  static readonly EMPTY: Result = new Result(EMPTY_BYTES, NO_CELLS);

  constructor(
    /** The row; empty when the result is. */
    readonly row: Uint8Array,
    readonly cells: readonly Cell[],
    /** True when the next result of the scan continues the same row (only with `Scan.setBatch`). */
    readonly partial: boolean = false,
  ) {}

  get isEmpty(): boolean {
    return this.cells.length === 0;
  }

  /**
   * Whether a replica of the region answered, which may lag behind the primary (`consistency: 'TIMELINE'`): rows may be missing, and values
   * old. HBase's `Result.isStale`; always false on the embedded engine.
   */
  get isStale(): boolean {
    return false;
  }

  /** The newest cell of a column, or undefined. */
  getLatest(family: string, qualifier: BytesLike): Cell | undefined {
    const wanted = toBytes(qualifier);
    for (const cell of this.cells) {
      if (cell.family === family && compareBytes(cell.qualifier, wanted) === 0) return cell;
    }
    return undefined;
  }

  /** The newest value of a column, or undefined when the result has none. */
  getValue(family: string, qualifier: BytesLike): Uint8Array | undefined {
    return this.getLatest(family, qualifier)?.value;
  }

  /** Every returned version of a column, newest first. */
  getColumnCells(family: string, qualifier: BytesLike): Cell[] {
    const wanted = toBytes(qualifier);
    return this.cells.filter((cell) => cell.family === family && compareBytes(cell.qualifier, wanted) === 0);
  }
}

/** The result of a replica. A subclass, so that other results need no field for it. */
export class StaleResult extends Result {
  override get isStale(): boolean {
    return true;
  }
}

/** Bytes of a cell beside its row, family, qualifier and value, as HBase sends it. */
const CELL_OVERHEAD = 24;

/** About the bytes of cells. */
export function bytesOf(cells: readonly Cell[]): number {
  let bytes = 0;
  for (let i = 0; i < cells.length; i++) {
    const { row, family, qualifier, value } = cells[i]!;
    bytes += row.length + family.length + qualifier.length + value.length + CELL_OVERHEAD;
  }
  return bytes;
}

const FIRST_CAPACITY = 4096;

/**
 * One row without an object for each cell, for reads of many rows of which none is kept. The newest cells of one row,
 * in the order of a {@link Result}. It is refilled for every row, so whatever is kept must be copied. The i-th cell is
 * `families[i]`, `qualifiers[i]`, `timestamps[i]`, and `bytes` from `starts[i]` to `ends[i]`.
 */
export class RawRow {
  row: Uint8Array = EMPTY_BYTES;
  count = 0;
  /** The bytes of all values. */
  bytes: Uint8Array = new Uint8Array(FIRST_CAPACITY);
  readonly families: string[] = [];
  /** Rows of a table may share these objects: they must not be changed. */
  readonly qualifiers: Uint8Array[] = [];
  readonly timestamps: number[] = [];
  readonly starts: number[] = [];
  readonly ends: number[] = [];
  /** Whether `row` belongs to this object and may be overwritten. */
  private ownsRow = false;

  clear(): void {
    this.count = 0;
  }

  /** Begins a row; `row` must not change while this object is used. */
  begin(row: Uint8Array): void {
    this.count = 0;
    this.row = row;
    this.ownsRow = false;
  }

  /** Begins a row with a copy of its key; reuses the last key's buffer if it has the same length. */
  setRow(source: Uint8Array, offset: number, length: number): Uint8Array {
    if (this.row.length !== length || !this.ownsRow) this.row = new Uint8Array(length);
    this.ownsRow = true;
    copySlice(source, offset, length, this.row, 0);
    return this.row;
  }

  /** Adds a cell; its value is copied. */
  add(
    family: string,
    qualifier: Uint8Array,
    timestamp: number,
    source: Uint8Array,
    offset: number,
    length: number,
  ): void {
    const index = this.count++;
    const start = index === 0 ? 0 : this.ends[index - 1]!;
    const end = start + length;
    if (end > this.bytes.length) this.grow(end);
    copySlice(source, offset, length, this.bytes, start);
    // Mostly the previous row had the same column here, and comparing costs less than writing.
    if (this.families[index] !== family) this.families[index] = family;
    if (this.qualifiers[index] !== qualifier) this.qualifiers[index] = qualifier;
    this.timestamps[index] = timestamp;
    this.starts[index] = start;
    this.ends[index] = end;
  }

  /** Copies a result. */
  fill(result: Result): void {
    this.begin(result.row);
    for (const { family, qualifier, timestamp, value } of result.cells) {
      this.add(family, qualifier, timestamp, value, 0, value.length);
    }
  }

  /** A copy of one value. */
  valueAt(index: number): Uint8Array {
    return this.bytes.slice(this.starts[index]!, this.ends[index]!);
  }

  /** Copies the row to a result that can be kept. */
  toResult(): Result {
    const row = copyBytes(this.row);
    const cells: Cell[] = [];
    for (let i = 0; i < this.count; i++) {
      cells.push(
        new Cell(
          row,
          this.families[i]!,
          this.qualifiers[i]!,
          this.timestamps[i]!,
          CellType.Put,
          this.valueAt(i),
        ),
      );
    }
    return cells.length === 0 ? Result.EMPTY : new Result(row, cells);
  }

  private grow(needed: number): void {
    const larger = new Uint8Array(Math.max(needed, this.bytes.length * 2));
    larger.set(this.bytes);
    this.bytes = larger;
  }
}
