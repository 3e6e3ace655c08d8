import { copyBytes, EMPTY_BYTES } from '../../bytes/index.js';
import { LATEST_TIMESTAMP } from '../../table/index.js';
import { type SeekKey, TYPE_MAXIMUM } from '../cursor.js';
import { CELL_HEADER_BYTES, type CellArena, type CellRef, chunkOf, offsetOf } from './arena.js';
import {
  byteAt,
  byteOfRef,
  compareInRow,
  compareRefs,
  compareToKey,
  differenceFrom,
  PREFIX_BYTES,
  prefixOf,
  prefixOfRef,
  rowLengthOf,
  seekPrefix,
  sharedOfRefs,
} from './cell-order.js';

export const LEAF_CAPACITY = 256;
/** A leaf with fewer different prefixes for each place than this takes them anew, behind what its rows share. */
const LEAST_DIFFERENT = 1 / 16;
/** The length of rows that are not all as long. */
const MIXED = -1;

/**
 * A run of up to 256 cells in order. A place is found by a number of each row that stands in the leaf, 48 bits behind
 * what all its rows share; where different rows have the same (the rows of one customer, the pages of one domain), by a
 * second, 48 bits behind what those share whose first numbers are equal. Cells, which are somewhere else in memory, are
 * compared only where both are equal.
 */
export class Leaf {
  count = 0;
  /** Bytes that its rows begin with: there are `shared`, behind which the first prefixes are taken. */
  private head: Uint8Array = EMPTY_BYTES;
  private shared = 0;
  /** Where the second prefixes are taken: rows whose first ones are equal are the same up to there, zeros at their ends. */
  private deep = PREFIX_BYTES;
  /** The length of its rows; -1 when they are not all as long. */
  private rowLength = MIXED;
  private readonly prefixes: Float64Array;
  /** None while cells of equal prefixes are of one row. */
  private seconds: Float64Array | undefined;
  readonly refs: Uint32Array;

  constructor(private readonly arena: CellArena) {
    // Side by side, since a search looks into all.
    const buffer = new ArrayBuffer(LEAF_CAPACITY * (8 + 4));
    this.prefixes = new Float64Array(buffer, 0, LEAF_CAPACITY);
    this.refs = new Uint32Array(buffer, LEAF_CAPACITY * 8, LEAF_CAPACITY);
  }

  /** The index of the first cell at or after `key`; `count` when there is none. */
  locate(key: SeekKey): number {
    const { row, rowOffset, rowLength } = key;
    if (this.findAlike(row, rowOffset, rowLength)) return this.from;
    const { arena, seconds, refs } = this;
    const atRow = this.isRowStart(key);
    let { from, to } = this;
    if (seconds === undefined) {
      if (atRow) return from;
      while (from < to) {
        const middle = (from + to) >>> 1;
        if (compareToKey(arena, refs[middle]!, key) < 0) from = middle + 1;
        else to = middle;
      }
      return from;
    }
    const second = prefixOf(row, rowOffset, rowLength, this.deep);
    const same = this.deep + PREFIX_BYTES;
    while (from < to) {
      const middle = (from + to) >>> 1;
      const at = seconds[middle]!;
      if (at < second || (at === second && !atRow && compareToKey(arena, refs[middle]!, key, same) < 0))
        from = middle + 1;
      else to = middle;
    }
    return from;
  }

  /** Whether `key` stands before all cells of its row, and rows with equal prefixes are equal. */
  private isRowStart(key: SeekKey): boolean {
    return (
      key.rowLength === this.rowLength &&
      this.rowLength <= (this.seconds === undefined ? this.shared : this.deep) + PREFIX_BYTES &&
      key.qualifierLength === 0 &&
      key.timestamp >= LATEST_TIMESTAMP &&
      key.type === TYPE_MAXIMUM
    );
  }

  /** As `locate`, for a cell of the arena. */
  locateRef(ref: CellRef, row: Uint8Array, offset: number, length: number): number {
    if (this.findAlike(row, offset, length)) return this.from;
    const { arena, seconds, refs } = this;
    let { from, to } = this;
    if (seconds === undefined) {
      while (from < to) {
        const middle = (from + to) >>> 1;
        if (compareRefs(arena, refs[middle]!, ref) < 0) from = middle + 1;
        else to = middle;
      }
      return from;
    }
    const second = prefixOf(row, offset, length, this.deep);
    const same = this.deep + PREFIX_BYTES;
    while (from < to) {
      const middle = (from + to) >>> 1;
      const at = seconds[middle]!;
      if (at < second || (at === second && compareRefs(arena, refs[middle]!, ref, same) < 0))
        from = middle + 1;
      else to = middle;
    }
    return from;
  }

  /** Where `findAlike` found its rows. */
  private from = 0;
  private to = 0;

  /**
   * Sets `from` and `to` around the cells whose rows are as this one is up to `deep`. True when there are none: `from`
   * is where such a row belongs.
   */
  private findAlike(row: Uint8Array, offset: number, length: number): boolean {
    const { prefixes, count, shared } = this;
    const prefix = seekPrefix(this.head, 0, shared, row, offset, length);
    let from = 0;
    let to = count;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (prefixes[middle]! < prefix) from = middle + 1;
      else to = middle;
    }
    this.from = from;
    if (from === count || prefixes[from] !== prefix) return true;
    let low = from + 1;
    // Most rows have one cell, and numbers of their own.
    to = low < count && prefixes[low] === prefix ? count : low;
    while (low < to) {
      const middle = (low + to) >>> 1;
      if (prefixes[middle] === prefix) low = middle + 1;
      else to = middle;
    }
    this.to = to;
    if (this.seconds === undefined) return false;
    const between = this.compareBetween(this.refs[from]!, row, offset, length);
    if (between > 0) this.from = to;
    return between !== 0;
  }

  /** Compares a row to a cell's, of the same first prefix, by what stands between the prefixes. */
  private compareBetween(ref: CellRef, row: Uint8Array, offset: number, length: number): number {
    const start = this.shared + PREFIX_BYTES;
    const { deep } = this;
    if (start >= deep) return 0;
    const at = differenceFrom(this.arena, ref, row, offset, length, start);
    return at >= deep ? 0 : byteAt(row, offset, length, at) - byteOfRef(this.arena, ref, at);
  }

  /**
   * Whether a cell's place is directly behind the one at `index`; the last one of the leaf has no such place but in the
   * `last` leaf. `sameRow`: both are of one row.
   */
  isBehind(index: number, ref: CellRef, sameRow: boolean, last: boolean): boolean {
    const { arena, prefixes, refs } = this;
    if (index >= this.count) return false;
    const before = refs[index]!;
    if ((sameRow ? compareInRow(arena, before, ref) : compareRefs(arena, before, ref)) >= 0) return false;
    const next = index + 1;
    if (next === this.count) return last;
    if (sameRow && prefixes[next] !== prefixes[index]) return true;
    return compareRefs(arena, ref, refs[next]!) < 0;
  }

  /** Makes it ready for a cell of this row. `shared`: bytes that all rows of the memstore, this one too, begin with. */
  fit(row: Uint8Array, shared: number): void {
    if (this.count === 0) {
      this.head = copyBytes(row, 0, shared);
      this.shared = shared;
      this.seconds = undefined;
      this.rowLength = row.length;
      return;
    }
    if (row.length !== this.rowLength) this.rowLength = MIXED;
    if (this.shared <= shared) return;
    const { head } = this;
    let same = 0;
    while (same < this.shared && same < row.length && head[same] === row[same]) same++;
    if (same < this.shared) this.retake(same);
  }

  /** Takes cells in their order; it had none. `shared`: bytes that all rows of the memstore begin with. */
  fill(refs: Uint32Array, shared: number): void {
    this.refs.set(refs);
    this.count = refs.length;
    this.rowLength = rowLengthOf(this.arena, refs[0]!);
    for (let i = 1; i < refs.length; i++)
      if (rowLengthOf(this.arena, refs[i]!) !== this.rowLength) this.rowLength = MIXED;
    this.retake(shared);
    this.sharpen();
  }

  /** Puts a cell in; there is room, and the leaf fits its row. `sameRow`: it is of the row of the one before its place. */
  insert(index: number, ref: CellRef, row: Uint8Array, sameRow: boolean): void {
    const { prefixes, seconds, refs, count } = this;
    if (index < count) {
      prefixes.copyWithin(index + 1, index, count);
      if (seconds !== undefined) seconds.copyWithin(index + 1, index, count);
      refs.copyWithin(index + 1, index, count);
    }
    refs[index] = ref;
    this.count++;
    if (sameRow) {
      prefixes[index] = prefixes[index - 1]!;
      if (seconds !== undefined) seconds[index] = seconds[index - 1]!;
      return;
    }
    const prefix = prefixOf(row, 0, row.length, this.shared);
    prefixes[index] = prefix;
    if (seconds !== undefined) seconds[index] = prefixOf(row, 0, row.length, this.deep);
    const alike =
      index > 0 && prefixes[index - 1] === prefix
        ? index - 1
        : index < count && prefixes[index + 1] === prefix
          ? index + 1
          : -1;
    if (alike >= 0) this.keepAlike(refs[alike]!, row);
  }

  /** Gives the rows second prefixes, or takes them less deep, where a new row is not as a cell's of its first prefix. */
  private keepAlike(ref: CellRef, row: Uint8Array): void {
    const { arena, seconds, deep } = this;
    const start = this.shared + PREFIX_BYTES;
    if (seconds !== undefined && deep === start) return;
    const same = differenceFrom(arena, ref, row, 0, row.length, start);
    if (seconds === undefined) {
      if (same < row.length || rowLengthOf(arena, ref) !== row.length) this.retakeSeconds(same);
    } else if (same < deep) {
      this.retakeSeconds(same);
    }
  }

  remove(index: number): void {
    this.prefixes.copyWithin(index, index + 1, this.count);
    this.seconds?.copyWithin(index, index + 1, this.count);
    this.refs.copyWithin(index, index + 1, this.count);
    this.count--;
  }

  /** Moves the cells from `at` on to a leaf of their own. */
  split(at: number): Leaf {
    const right = new Leaf(this.arena);
    right.prefixes.set(this.prefixes.subarray(at, this.count));
    if (this.seconds !== undefined) {
      right.seconds = new Float64Array(LEAF_CAPACITY);
      right.seconds.set(this.seconds.subarray(at, this.count));
    }
    right.refs.set(this.refs.subarray(at, this.count));
    right.count = this.count - at;
    right.head = this.head;
    right.shared = this.shared;
    right.deep = this.deep;
    right.rowLength = this.rowLength;
    this.count = at;
    this.sharpen();
    right.sharpen();
    return right;
  }

  /** Takes the prefixes anew, behind all that the rows share, when too many of them are equal. */
  private sharpen(): void {
    const { arena, prefixes, refs, count } = this;
    let different = 1;
    for (let i = 1; i < count; i++) if (prefixes[i] !== prefixes[i - 1]) different++;
    if (different === count) {
      this.seconds = undefined;
      return;
    }
    if (different < count * LEAST_DIFFERENT) {
      // In a sorted run the first and the last share what all do.
      const shared = sharedOfRefs(arena, refs[0]!, refs[count - 1]!);
      if (shared > this.shared) {
        this.retake(shared);
        return;
      }
    }
    this.takeSeconds();
  }

  private retake(shared: number): void {
    const { arena, prefixes, refs } = this;
    const chunk = arena.chunks[chunkOf(refs[0]!)]!;
    const start = offsetOf(refs[0]!) + CELL_HEADER_BYTES;
    this.head = copyBytes(chunk.bytes, start, start + shared);
    this.shared = shared;
    for (let i = 0; i < this.count; i++) prefixes[i] = prefixOfRef(arena, refs[i]!, shared);
    this.seconds = undefined;
    this.takeSeconds();
  }

  /** Takes the second prefixes as deep as they can be, where there is a use for them. */
  private takeSeconds(): void {
    const deep = this.deepest();
    if (deep === Number.POSITIVE_INFINITY) this.seconds = undefined;
    else if (this.seconds === undefined || deep > this.deep) this.retakeSeconds(deep);
  }

  private retakeSeconds(deep: number): void {
    const { arena, refs, count } = this;
    this.seconds ??= new Float64Array(LEAF_CAPACITY);
    this.deep = deep;
    for (let i = 0; i < count; i++) this.seconds[i] = prefixOfRef(arena, refs[i]!, deep);
  }

  /**
   * Up to where different rows of equal first prefixes are the same, Infinity when there are none: in a sorted run the
   * first and the last of them tell.
   */
  private deepest(): number {
    const { arena, prefixes, refs, count } = this;
    const start = this.shared + PREFIX_BYTES;
    let deep = Number.POSITIVE_INFINITY;
    for (let from = 0; from < count; ) {
      let to = from;
      while (to + 1 < count && prefixes[to + 1] === prefixes[from]) to++;
      if (to > from) {
        const { bytes } = arena.chunks[chunkOf(refs[to]!)]!;
        const first = offsetOf(refs[to]!) + CELL_HEADER_BYTES;
        const length = rowLengthOf(arena, refs[to]!);
        const same = differenceFrom(arena, refs[from]!, bytes, first, length, start);
        if (same < length || rowLengthOf(arena, refs[from]!) !== length) deep = Math.min(deep, same);
      }
      from = to + 1;
    }
    return deep;
  }
}
