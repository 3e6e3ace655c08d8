import { copyBytes, copySlice, EMPTY_BYTES } from '../../bytes/index.js';
import {
  Cell,
  CellType,
  CellWithTtl,
  PackedResult,
  RawRow,
  Result,
  type RowShape,
} from '../../table/index.js';
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

  /** Lets raw rows share qualifiers with others that have had them. */
  share(qualifiers: readonly Uint8Array[]): void {
    for (let i = 0; i < qualifiers.length && i < REMEMBERED_COLUMNS; i++) this.qualifiers[i] = qualifiers[i]!;
  }

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

/** Stands for a result whose cells are in a raw row. */
export const IN_RAW_ROW: Result = new Result(new Uint8Array(0), NO_CELLS);

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
  /** The buffer that `allocate` has given a part of. */
  allocated: Uint8Array = EMPTY_BYTES;
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

  /** Memory for `length` bytes, which the caller writes: in `allocated`, from the returned offset on. */
  allocate(length: number): number {
    this.ahead = null;
    if (length > LARGE_BYTES) {
      this.allocated = new Uint8Array(length);
      return 0;
    }
    if (this.position + length > this.bytes.length) this.refill();
    const { position } = this;
    this.allocated = this.bytes;
    this.position = position + length;
    return position;
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

/** A longer buffer, or list of columns, is not kept for later rows. */
const MAX_KEPT_BYTES = 1 << 20;
const MAX_KEPT_CELLS = 4096;
/** The most bytes between the values of a row that are copied with them, to make one copy of all, for each byte of values. */
const MAX_BETWEEN = 2;

const NO_SHAPE: RowShape = { families: [], qualifiers: [] };

/** Where the values of a row are, after the start of the first one. */
interface RowLayout {
  readonly starts: readonly number[];
  readonly ends: readonly number[];
}

const NO_LAYOUT: RowLayout = { starts: [], ends: [] };
/** Stands for the row's own bytes, which are replaced when they grow. */
const OWN_BYTES = new Uint8Array(0);

/**
 * The row of a read that returns a result. Values that are still in the source's bytes are copied when the result is taken, with one
 * copy if they are close to each other. Rows of a table mostly have the columns and lengths of the row before, and then share them.
 */
export class ResultRow extends RawRow {
  /** The bytes that `starts` and `ends` refer to, if it is the same for all cells. */
  private source: Uint8Array = OWN_BYTES;
  /** It is not; then `sources` has that of each cell. */
  private mixed = false;
  private readonly sources: Uint8Array[] = [];
  /** The end of the values in `bytes`. */
  private used = 0;
  /** The values that are too large to be copied twice: they have buffers of their own, and no bytes in the row. */
  private readonly large = new Map<number, Uint8Array>();
  /** The columns of the row before, and where its values were after the first one. */
  private shape = NO_SHAPE;
  private copiedLayout = NO_LAYOUT;
  private sourceLayout = NO_LAYOUT;
  /** `row` is a copy for the result, which nobody has received. */
  private copied = false;

  override clear(): void {
    super.clear();
    this.used = 0;
    this.source = OWN_BYTES;
    if (this.mixed) {
      this.mixed = false;
      this.sources.length = 0;
    }
    if (this.large.size > 0) this.large.clear();
  }

  override begin(row: Uint8Array): void {
    super.begin(row);
    this.clear();
    this.copied = false;
  }

  override setRow(source: Uint8Array, offset: number, length: number): Uint8Array {
    if (this.copied) slab.undo(this.row);
    this.row = slab.copy(source, offset, length);
    this.copied = true;
    return this.row;
  }

  override add(
    family: string,
    qualifier: Uint8Array,
    timestamp: number,
    source: Uint8Array,
    offset: number,
    length: number,
  ): void {
    if (length > LARGE_BYTES) {
      this.large.set(this.count, copyBytes(source, offset, offset + length));
      this.note(family, qualifier, timestamp, OWN_BYTES, this.used, 0);
      return;
    }
    const start = this.used;
    this.used = start + length;
    if (this.used > this.bytes.length) this.grow(this.used);
    copySlice(source, offset, length, this.bytes, start);
    this.note(family, qualifier, timestamp, OWN_BYTES, start, length);
  }

  override note(
    family: string,
    qualifier: Uint8Array,
    timestamp: number,
    source: Uint8Array,
    offset: number,
    length: number,
  ): void {
    const index = this.count++;
    if (source !== this.source || this.mixed) this.noteSource(source, index);
    if (this.families[index] !== family) this.families[index] = family;
    if (this.qualifiers[index] !== qualifier) this.qualifiers[index] = qualifier;
    this.timestamps[index] = timestamp;
    this.starts[index] = offset;
    this.ends[index] = offset + length;
  }

  private noteSource(source: Uint8Array, index: number): void {
    if (index === 0) {
      this.source = source;
      // Cells before it were discarded.
      this.mixed = false;
      this.sources.length = 0;
      return;
    }
    if (!this.mixed) {
      this.mixed = true;
      for (let i = 0; i < index; i++) this.sources.push(this.source);
    }
    this.sources[index] = source;
  }

  /** The row as a result that can be kept, before any cursor is moved. It has at least one cell. Clears the row. */
  take(): Result {
    const row = this.copied ? this.row : slab.copy(this.row, 0, this.row.length);
    this.copied = false;
    const result = this.mixed || this.large.size > 0 ? this.takeMixed(row) : this.takeSingle(row);
    this.clear();
    this.release();
    return result;
  }

  /** The result of values from one source. */
  private takeSingle(row: Uint8Array): Result {
    const { count, starts, ends, families, qualifiers, timestamps, shape } = this;
    const isCopied = this.source === OWN_BYTES;
    const layout = isCopied ? this.copiedLayout : this.sourceLayout;
    const first = starts[0]!;
    let from = first;
    let to = ends[0]!;
    let values = 0;
    let sameShape = shape.qualifiers.length === count;
    let sameLayout = layout.starts.length === count;
    let sameTime = true;
    for (let i = 0; i < count; i++) {
      const start = starts[i]!;
      const end = ends[i]!;
      if (start < from) from = start;
      if (end > to) to = end;
      values += end - start;
      if (sameShape && (shape.qualifiers[i] !== qualifiers[i] || shape.families[i] !== families[i]))
        sameShape = false;
      if (sameLayout && (layout.starts[i] !== start - first || layout.ends[i] !== end - first))
        sameLayout = false;
      if (timestamps[i] !== timestamps[0]) sameTime = false;
    }
    const length = to - from;
    if (length > SLAB_BYTES || length > (1 + MAX_BETWEEN) * values) return this.takeMixed(row);
    const at = slab.allocate(length);
    copySlice(this.bytesOf(this.source), from, length, slab.allocated, at);
    if (!sameShape) this.takeShape();
    const own = sameLayout ? layout : this.layoutFrom(first);
    if (isCopied) this.copiedLayout = own;
    else this.sourceLayout = own;
    return new PackedResult(
      row,
      this.shape,
      sameTime ? timestamps[0]! : timestamps.slice(0, count),
      slab.allocated,
      at + first - from,
      own.starts,
      own.ends,
    );
  }

  private layoutFrom(first: number): RowLayout {
    const starts: number[] = [];
    const ends: number[] = [];
    for (let i = 0; i < this.count; i++) {
      starts.push(this.starts[i]! - first);
      ends.push(this.ends[i]! - first);
    }
    return { starts, ends };
  }

  /** The result of values that are far apart, large, or from several sources. */
  private takeMixed(row: Uint8Array): Result {
    const { count, starts, ends, timestamps } = this;
    const main = this.mainSource();
    let from = Number.MAX_SAFE_INTEGER;
    let to = 0;
    let values = 0;
    let others = 0;
    for (let i = 0; i < count; i++) {
      const start = starts[i]!;
      const end = ends[i]!;
      if (this.sourceOf(i) === main) {
        if (start < from) from = start;
        if (end > to) to = end;
        values += end - start;
      } else {
        others += end - start;
      }
    }
    const together = to - from <= (1 + MAX_BETWEEN) * values;
    const length = (together ? to - from : values) + others;
    if (this.large.size > 0 || length > SLAB_BYTES) return new Result(row, this.wholeCells(row));
    this.takeShape();
    const at = slab.allocate(length);
    const { allocated } = slab;
    let next = at;
    if (together) {
      copySlice(this.bytesOf(main), from, to - from, allocated, at);
      next += to - from;
    }
    const newStarts: number[] = [];
    const newEnds: number[] = [];
    for (let i = 0; i < count; i++) {
      const start = starts[i]!;
      const size = ends[i]! - start;
      const source = this.sourceOf(i);
      const isCopied = together && source === main;
      const place = isCopied ? at + start - from : next;
      if (!isCopied) {
        copySlice(this.bytesOf(source), start, size, allocated, next);
        next += size;
      }
      newStarts.push(place);
      newEnds.push(place + size);
    }
    return new PackedResult(row, this.shape, timestamps.slice(0, count), allocated, 0, newStarts, newEnds);
  }

  /** The source of most values. */
  private mainSource(): Uint8Array {
    if (!this.mixed) return this.source;
    const { count, sources } = this;
    let main = sources[0]!;
    let votes = 0;
    for (let i = 0; i < count; i++) {
      if (sources[i] === main) votes++;
      else if (votes > 0) votes--;
      else main = sources[i]!;
    }
    return main;
  }

  /** The cells of a row whose values would keep each other in memory. */
  private wholeCells(row: Uint8Array): Cell[] {
    const { count, families, qualifiers, timestamps, starts, ends } = this;
    const cells: Cell[] = [];
    for (let i = 0; i < count; i++) {
      const start = starts[i]!;
      const value = this.large.get(i) ?? slab.copy(this.bytesOf(this.sourceOf(i)), start, ends[i]! - start);
      const qualifier = copyBytes(qualifiers[i]!);
      cells.push(new Cell(row, families[i]!, qualifier, timestamps[i]!, CellType.Put, value));
    }
    return cells;
  }

  private bytesOf(source: Uint8Array): Uint8Array {
    return source === OWN_BYTES ? this.bytes : source;
  }

  private sourceOf(index: number): Uint8Array {
    return this.mixed ? this.sources[index]! : this.source;
  }

  private takeShape(): void {
    const { count, families, qualifiers, shape } = this;
    let same = shape.qualifiers.length === count;
    for (let i = 0; same && i < count; i++)
      same = shape.qualifiers[i] === qualifiers[i] && shape.families[i] === families[i];
    if (!same) this.shape = { families: families.slice(0, count), qualifiers: qualifiers.slice(0, count) };
  }

  /** Gives up the memory of a large row. */
  private release(): void {
    if (this.bytes.length > MAX_KEPT_BYTES) this.bytes = new Uint8Array(LARGE_BYTES);
    if (this.qualifiers.length <= MAX_KEPT_CELLS) return;
    const { families, qualifiers, timestamps, starts, ends } = this;
    for (const list of [families, qualifiers, timestamps, starts, ends]) list.length = 0;
    this.shape = NO_SHAPE;
    this.copiedLayout = NO_LAYOUT;
    this.sourceLayout = NO_LAYOUT;
  }
}

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
