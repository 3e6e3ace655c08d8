import {
  type BytesLike,
  compareBytes,
  copyBytes,
  copySlice,
  EMPTY_BYTES,
  equalBytes,
  toBytes,
} from '../bytes/index.js';
import { Cell, CellType } from './checks.js';

const NO_CELLS: readonly Cell[] = Object.freeze([]);

/** Receives a value, which is `bytes` from `start` to `end`, and its column. None of the bytes may be changed. */
export type ValueVisitor = (
  bytes: Uint8Array,
  start: number,
  end: number,
  family: string,
  qualifier: Uint8Array,
) => void;

/**
 * The result of a get, a scan step, an increment or an append: cells of one row, in HBase's order (families in byte order, qualifiers in
 * byte order, newest version first).
 *
 * Its bytes may be views of a block or response of 64 KiB and more, and keeping one of them keeps that in memory. Copy what is kept for
 * long, `Uint8Array.from(result.row)`. Entities and their keys have their own copies.
 *
 * Most results make the objects of `cells` when they are first asked for. On the embedded engine `getValue` and `forEachValue` need none.
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

  /**
   * Calls `visit` with the value of every cell, in order, and where it is. The quickest way to read all of a row: on the embedded
   * engine no object is made for a value.
   */
  forEachValue(visit: ValueVisitor): void {
    for (const { value, family, qualifier } of this.cells) visit(value, 0, value.length, family, qualifier);
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

/** The methods of `Result` without its fields, which would shadow getters. */
interface CellReads {
  getLatest(family: string, qualifier: BytesLike): Cell | undefined;
  getValue(family: string, qualifier: BytesLike): Uint8Array | undefined;
  forEachValue(visit: ValueVisitor): void;
  getColumnCells(family: string, qualifier: BytesLike): Cell[];
}
const ResultMethods = class {} as unknown as new () => CellReads;
Object.setPrototypeOf(ResultMethods.prototype, Result.prototype);

/** A whole row whose cells are made on first access. It has at least one. */
export abstract class LazyResult extends ResultMethods implements Result {
  abstract readonly row: Uint8Array;
  abstract readonly cells: readonly Cell[];

  get partial(): boolean {
    return false;
  }

  get isEmpty(): boolean {
    return false;
  }

  get isStale(): boolean {
    return false;
  }

  /** Serializes as a `Result` does. */
  toJSON(): object {
    const { row, cells, partial } = this;
    return { row, cells, partial };
  }

  /** For `console.log`. */
  [Symbol.for('nodejs.util.inspect.custom')](): Result {
    const { row, cells } = this;
    return this.isStale ? new StaleResult(row, cells) : new Result(row, cells);
  }
}

/** The columns of a row, one element for each cell. Rows share them, and callers never receive the qualifiers themselves. */
export interface RowShape {
  readonly families: readonly string[];
  readonly qualifiers: readonly Uint8Array[];
}

/** Qualifiers that callers have received; the cells of successive rows share equal ones. */
const received: Uint8Array[] = [];
/** The number of columns of a row whose qualifiers are shared. */
const SHARED_COLUMNS = 64;

/** A qualifier for the caller, who may change it: of no other object than the cells of other results. */
function receivedQualifier(own: Uint8Array, index: number): Uint8Array {
  if (own.length === 0) return EMPTY_BYTES;
  const slot = index < SHARED_COLUMNS ? index : SHARED_COLUMNS - 1;
  const last = received[slot];
  if (last !== undefined && equalBytes(last, own)) return last;
  const copy = copyBytes(own);
  // Slots are filled in order, so that the array has no holes.
  if (slot <= received.length) received[slot] = copy;
  return copy;
}

/** The newest puts of a row as bytes, at most one of each column. A cell becomes an object when somebody looks at `cells`. */
export class PackedResult extends LazyResult {
  private made: readonly Cell[] | undefined;
  /** The cell at which the next search begins: columns are mostly asked for in their order. */
  private next = 0;

  constructor(
    readonly row: Uint8Array,
    private readonly shape: RowShape,
    /** One for each cell, or the one of all cells. */
    private readonly timestamps: readonly number[] | number,
    /** The i-th value is from `base + starts[i]` to `base + ends[i]` of `bytes`, which nothing changes. */
    private readonly bytes: Uint8Array,
    private readonly base: number,
    private readonly starts: readonly number[],
    private readonly ends: readonly number[],
  ) {
    super();
  }

  override get cells(): readonly Cell[] {
    this.made ??= this.makeCells();
    return this.made;
  }

  override getValue(family: string, qualifier: BytesLike): Uint8Array | undefined {
    if (this.made !== undefined) return super.getValue(family, qualifier);
    const at = this.find(family, toBytes(qualifier));
    return at < 0 ? undefined : this.valueAt(at);
  }

  override forEachValue(visit: ValueVisitor): void {
    const { bytes, base, starts, ends } = this;
    const { families, qualifiers } = this.shape;
    for (let i = 0; i < starts.length; i++)
      visit(bytes, base + starts[i]!, base + ends[i]!, families[i]!, receivedQualifier(qualifiers[i]!, i));
  }

  private makeCells(): Cell[] {
    const { row, timestamps, starts, ends } = this;
    const { families, qualifiers } = this.shape;
    const { buffer } = this.bytes;
    const at = this.bytes.byteOffset + this.base;
    const cells: Cell[] = [];
    for (let i = 0; i < starts.length; i++) {
      const start = starts[i]!;
      const length = ends[i]! - start;
      const value = length === 0 ? EMPTY_BYTES : new Uint8Array(buffer, at + start, length);
      const qualifier = receivedQualifier(qualifiers[i]!, i);
      const timestamp = typeof timestamps === 'number' ? timestamps : timestamps[i]!;
      cells.push(new Cell(row, families[i]!, qualifier, timestamp, CellType.Put, value));
    }
    return cells;
  }

  private find(family: string, qualifier: Uint8Array): number {
    const { families, qualifiers } = this.shape;
    const size = this.starts.length;
    let at = this.next;
    for (let i = 0; i < size; i++, at++) {
      if (at >= size) at = 0;
      if (families[at] !== family || !equalBytes(qualifiers[at]!, qualifier)) continue;
      this.next = at + 1;
      return at;
    }
    return -1;
  }

  private valueAt(index: number): Uint8Array {
    const { bytes, base, starts, ends } = this;
    const start = starts[index]!;
    const length = ends[index]! - start;
    if (length === 0) return EMPTY_BYTES;
    return new Uint8Array(bytes.buffer, bytes.byteOffset + base + start, length);
  }
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

  /** Like `add`; the value may be copied later, as long as `source` does not change. */
  note(
    family: string,
    qualifier: Uint8Array,
    timestamp: number,
    source: Uint8Array,
    offset: number,
    length: number,
  ): void {
    this.add(family, qualifier, timestamp, source, offset, length);
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

  /** Makes room for `needed` bytes. */
  protected grow(needed: number): void {
    const larger = new Uint8Array(Math.max(needed, this.bytes.length * 2));
    larger.set(this.bytes);
    this.bytes = larger;
  }
}
