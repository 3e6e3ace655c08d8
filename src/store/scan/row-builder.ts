import { copySlice, EMPTY_BYTES } from '../../bytes/index.js';
import { Cell, CellType, CellWithTtl, type RawRow, Result } from '../../table/index.js';
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
   * Makes the cell at the cursor, the `index`-th of its row. `fresh`: the row was copied by `copyRowAhead`, and the bytes of its cursor are
   * the same since.
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

/** Stands for a result that is in `StoredRowBuilder.raw`. */
const IN_RAW_ROW: Result = new Result(new Uint8Array(0), NO_CELLS);

/** Collects the cells of one row. */
export class StoredRowBuilder {
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
  /** The bytes that were copied ahead: their source, null for none, their offsets there, and where they are. */
  private ahead: Uint8Array | null = null;
  private aheadFrom = 0;
  private aheadEnd = 0;
  private aheadAt = 0;
  /** The bytes of values that `copyNext` was asked for since, and how far those reach that are at least half of what is before them. */
  private values = 0;
  private reach = 0;

  copy(source: Uint8Array, offset: number, length: number): Uint8Array {
    this.ahead = null;
    return this.append(source, offset, length);
  }

  private append(source: Uint8Array, offset: number, length: number): Uint8Array {
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
   * Like `copy`, and also copies the bytes after it up to `end`: one longer copy costs less than several. `copyNext` gives them, until
   * another copy is made by `copy`. The source must not change before the last `copyNext`.
   */
  copyAhead(source: Uint8Array, offset: number, length: number, end: number): Uint8Array {
    const all = end - offset;
    if (this.position + all > this.bytes.length) this.refill();
    const { bytes, position } = this;
    copySlice(source, offset, all, bytes, position);
    this.position = position + length;
    this.ahead = source;
    this.aheadFrom = offset;
    this.aheadEnd = end;
    this.aheadAt = position;
    this.values = 0;
    this.reach = 0;
    return new Uint8Array(this.buffer, position, length);
  }

  /** Like `copy`, for bytes that `copyAhead` may have copied already. */
  copyNext(source: Uint8Array, offset: number, length: number): Uint8Array {
    const { ahead, aheadFrom, aheadEnd } = this;
    if (ahead === null) return this.append(source, offset, length);
    const end = offset + length;
    if (source === ahead && offset >= aheadFrom) {
      this.values += length;
      if (end - aheadFrom <= 2 * this.values) this.reach = end - aheadFrom;
      if (end <= aheadEnd && length > 0) {
        const at = this.aheadAt + offset - aheadFrom;
        if (at + length > this.position) this.position = at + length;
        return new Uint8Array(this.buffer, at, length);
      }
    }
    // It comes after all that was copied ahead.
    const behind = this.aheadAt + aheadEnd - aheadFrom;
    if (behind > this.position) this.position = behind;
    return this.append(source, offset, length);
  }

  /**
   * Ends the use of what was copied ahead. Returns how many bytes it pays to copy ahead next time, if it was `length` bytes: as many as
   * were used, or somewhat fewer than `length`.
   */
  endAhead(length: number): number {
    this.ahead = null;
    const { reach } = this;
    if (reach > LARGE_BYTES) return LARGE_BYTES;
    return reach >= length ? reach : length - Math.ceil((length - reach) / 8);
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
    this.ahead = null;
  }
}

/** Shared by all readers, because reads are synchronous. */
const slab: ByteSlab = new ByteSlab();

/** Makes a put of a value in `bytes`; `fresh` as in `CellMaker.make`. */
export function putOf(
  row: Uint8Array,
  family: string,
  qualifier: Uint8Array,
  timestamp: number,
  bytes: Uint8Array,
  at: number,
  length: number,
  fresh: boolean,
): Cell {
  const value = fresh ? slab.copyNext(bytes, at, length) : slab.copy(bytes, at, length);
  return new Cell(row, family, qualifier, timestamp, CellType.Put, value);
}

/** A copy of the row at a cursor. */
export function copyRow(cell: CellCursor): Uint8Array {
  return slab.copy(cell.key, cell.rowOffset, cell.rowLength);
}

/**
 * Like `copyRow`, for a row whose cells are made next (with `fresh` in `CellMaker.make`): the first value is copied with the row, which it
 * follows.
 * @param all copy also the other values that the cursor is likely to have in the row, as the last rows tell; `endRow` ends it
 */
export function copyRowAhead(cell: CellCursor, all: boolean): Uint8Array {
  const { key, rowOffset, rowLength } = cell;
  if (key !== cell.value || rowLength === 0 || rowLength > MAX_AHEAD)
    return slab.copy(key, rowOffset, rowLength);
  const first = cell.valueOffset + cell.valueLength - rowOffset;
  const rest = all ? Math.min(cell.rowBytes, key.length - rowOffset) : 0;
  return slab.copyAhead(
    key,
    rowOffset,
    rowLength,
    rowOffset + Math.max(rowLength, rest, first > MAX_AHEAD ? 0 : first),
  );
}

/** Called when the cells of the row are made whose first one the cursor had in `copyRowAhead`. */
export function endRow(cell: CellCursor): void {
  cell.rowBytes = slab.endAhead(cell.rowBytes);
}

/** Undoes the copy of the last row, which nobody has received. */
export function dropRow(row: Uint8Array): void {
  slab.undo(row);
}
