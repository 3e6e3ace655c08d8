import { copySlice, EMPTY_BYTES } from '../../bytes/index.js';
import { Cell, type CellType, CellWithTtl, type RawRow, Result } from '../../table/index.js';
import { type CellCursor, isInColumn } from '../cursor.js';
import type { FilterEvaluator } from '../filter/filter-evaluator.js';

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

/** Bytes of a slab: large enough to be replaced rarely, small enough that one retained value does not retain much. */
const SLAB_BYTES = 64 * 1024;
/** Values longer than this are not copied ahead: they may not be needed. */
const MAX_AHEAD = 512;
/** Longer values get their own buffer. */
const LARGE_BYTES = 4096;

/**
 * Copies the bytes of cells, many into one buffer. What readers receive does not change with the block or memstore it came from,
 * and changes that they make do not reach the store.
 */
export class ByteSlab {
  private buffer: ArrayBufferLike = new ArrayBuffer(0);
  private bytes: Uint8Array = EMPTY_BYTES;
  private position = 0;
  /** The bytes that were copied ahead after `position`: their source, offset and length. */
  private ahead: Uint8Array | null = null;
  private aheadFrom = 0;
  private aheadLength = 0;

  copy(source: Uint8Array, offset: number, length: number): Uint8Array {
    this.ahead = null;
    if (length === 0) return EMPTY_BYTES;
    if (length > LARGE_BYTES) {
      const own = new Uint8Array(length);
      own.set(source.subarray(offset, offset + length));
      return own;
    }
    if (this.position + length > this.bytes.length) this.refill();
    const { bytes, position } = this;
    copySlice(source, offset, length, bytes, position);
    this.position = position + length;
    return new Uint8Array(this.buffer, position, length);
  }

  /**
   * Like `copy`, and also copies the bytes after it up to `end`: one longer copy costs less than two. The first `copyNext` uses them if
   * it comes before any other copy and before the source changes; otherwise they are discarded.
   */
  copyAhead(source: Uint8Array, offset: number, length: number, end: number): Uint8Array {
    const all = end - offset;
    if (length === 0 || all > MAX_AHEAD) return this.copy(source, offset, length);
    if (this.position + all > this.bytes.length) this.refill();
    const { bytes, position } = this;
    copySlice(source, offset, all, bytes, position);
    this.position = position + length;
    this.ahead = source;
    this.aheadFrom = offset + length;
    this.aheadLength = all - length;
    return new Uint8Array(this.buffer, position, length);
  }

  /** Like `copy`, for bytes that `copyAhead` may have copied already. The source must not have changed since. */
  copyNext(source: Uint8Array, offset: number, length: number): Uint8Array {
    const skipped = offset - this.aheadFrom;
    if (source !== this.ahead || skipped < 0 || skipped + length > this.aheadLength || length === 0)
      return this.copy(source, offset, length);
    const at = this.position + skipped;
    this.ahead = null;
    this.position = at + length;
    return new Uint8Array(this.buffer, at, length);
  }

  /** Undoes the last copy, which nobody has received. */
  undo(copy: Uint8Array): void {
    this.ahead = null;
    if (copy.buffer === this.buffer && copy.byteOffset + copy.length === this.position) {
      this.position = copy.byteOffset;
    }
  }

  private refill(): void {
    const slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
    this.buffer = slab.buffer;
    this.bytes = new Uint8Array(slab.buffer, 0, SLAB_BYTES);
    this.position = 0;
  }
}

/** Shared by all readers, because reads are synchronous. */
const slab: ByteSlab = new ByteSlab();

/** A copy of the row at a cursor. */
export function copyRow(cell: CellCursor): Uint8Array {
  return slab.copy(cell.key, cell.rowOffset, cell.rowLength);
}

/**
 * Like `copyRow`, for a row whose first cell is likely to be made next (with `fresh` in `CellMaker.make`): the value is copied with
 * the row, which it follows.
 */
export function copyRowAhead(cell: CellCursor): Uint8Array {
  const { key, rowOffset, rowLength } = cell;
  if (key !== cell.value) return slab.copy(key, rowOffset, rowLength);
  return slab.copyAhead(key, rowOffset, rowLength, cell.valueOffset + cell.valueLength);
}

/** Undoes the copy of the last row, which nobody has received. */
export function dropRow(row: Uint8Array): void {
  slab.undo(row);
}
