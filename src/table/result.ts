import { type BytesLike, compareBytes, copyBytes, copySlice, EMPTY_BYTES, toBytes } from '../bytes/index.js';
import { Cell, CellType } from './checks.js';

const NO_CELLS: readonly Cell[] = Object.freeze([]);

/**
 * What a get, a scan step, an increment or an append answers: cells of one row, in HBase's order (families in byte
 * order, qualifiers in byte order, newest version first).
 *
 * Its bytes may be parts of a whole block or answer of 64 KiB and more. Who keeps one of them keeps the block in memory: copy
 * what is kept for long, `Uint8Array.from(result.row)`. Entities and their keys own what they hold.
 */
export class Result {
  /** The answer "nothing": no row, no cells. */
  static readonly EMPTY: Result = new Result(EMPTY_BYTES, NO_CELLS);

  constructor(
    /** The row; empty when the result is. */
    readonly row: Uint8Array,
    readonly cells: readonly Cell[],
    /** True when the next result of the scan goes on with the same row (only with `Scan.setBatch`). */
    readonly partial: boolean = false,
  ) {}

  get isEmpty(): boolean {
    return this.cells.length === 0;
  }

  /**
   * Whether a replica of the region answered, which may lag behind the primary (`consistency: 'TIMELINE'`): rows may be
   * missing, and values old. HBase's `Result.isStale`; false on the embedded engine.
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

/** What a replica answered. A class of its own, so that other results have no field for it. */
export class StaleResult extends Result {
  override get isStale(): boolean {
    return true;
  }
}

/** One row without an object for each of its cells: what reads many rows and keeps none of them is given. */

const FIRST_CAPACITY = 4096;

/**
 * The newest cells of one row, in the order of a {@link Result}. It is filled again for every row: what is kept must be
 * copied. The i-th cell is `families[i]`, `qualifiers[i]`, `timestamps[i]`, and `bytes` from `starts[i]` to `ends[i]`.
 */
export class RawRow {
  row: Uint8Array = EMPTY_BYTES;
  count = 0;
  /** Holds all values. */
  bytes: Uint8Array = new Uint8Array(FIRST_CAPACITY);
  readonly families: string[] = [];
  /** Rows of a table may share these objects: they are to be looked at only. */
  readonly qualifiers: Uint8Array[] = [];
  readonly timestamps: number[] = [];
  readonly starts: number[] = [];
  readonly ends: number[] = [];
  /** Whether `row` is this object's own, and may be written over. */
  private ownsRow = false;

  clear(): void {
    this.count = 0;
  }

  /** Begins a row whose key stays as it is while this object is looked at. */
  begin(row: Uint8Array): void {
    this.count = 0;
    this.row = row;
    this.ownsRow = false;
  }

  /** Copies the row's key; over the last one if that is as long. */
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
    // Mostly the row before has had the same column here: to look costs less than to write.
    if (this.families[index] !== family) this.families[index] = family;
    if (this.qualifiers[index] !== qualifier) this.qualifiers[index] = qualifier;
    this.timestamps[index] = timestamp;
    this.starts[index] = start;
    this.ends[index] = end;
  }

  /** Takes over a result. */
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

  /** The same as a result of its own, to be kept. */
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
