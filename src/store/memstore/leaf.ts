import { copyBytes, EMPTY_BYTES } from '../../bytes/index.js';
import { LATEST_TIMESTAMP } from '../../table/index.js';
import { type SeekKey, TYPE_MAXIMUM } from '../cursor.js';
import { CELL_HEADER_BYTES, type CellArena, type CellRef, chunkOf, offsetOf, rowLengthOf } from './arena.js';
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
  seekPrefix,
  sharedIfAfter,
  sharedOfRefs,
} from './cell-order.js';

export const LEAF_CAPACITY = 256;
/** If fewer of a leaf's cells than this share have different prefixes, the prefixes are taken again, further into the rows. */
const MIN_DIFFERENT = 1 / 16;
/** So many cells before the first of a new leaf are looked at for another row. */
const MOST_LOOKED_AT = 16;
/** Stands for rows of different lengths. */
const MIXED = -1;
/** The positions of the cells that `insertAll` inserts. Reused. */
const places = new Uint16Array(LEAF_CAPACITY);

/**
 * Up to 256 cells in order. A position is found by a number for each cell: 48 bits of its row after the prefix that all rows of
 * the leaf share. Where different rows have the same number (the rows of one customer, the pages of one domain), by a
 * second number: 48 bits after the prefix that the rows with equal first numbers share. The cells, which are elsewhere in
 * memory, are compared only where both numbers are equal.
 */
export class Leaf {
  count = 0;
  /** The prefix that its rows share, `shared` bytes long; the first numbers are taken after it. */
  private head: Uint8Array = EMPTY_BYTES;
  private shared = 0;
  /** Where the second numbers are taken: rows with equal first numbers are equal up to here, padded with zeros. */
  private deep = PREFIX_BYTES;
  /** The length of its rows; -1 when they differ. */
  private rowLength = MIXED;
  private readonly prefixes: Float64Array;
  /** Undefined while cells with equal first numbers are of one row. */
  private seconds: Float64Array | undefined;
  readonly refs: Uint32Array;

  constructor(private readonly arena: CellArena) {
    // Adjacent in memory, since a search reads both.
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

  /** Whether `key` is the start of its row, and rows with equal numbers are equal. */
  private isRowStart(key: SeekKey): boolean {
    return (
      key.rowLength === this.rowLength &&
      this.rowLength <= (this.seconds === undefined ? this.shared : this.deep) + PREFIX_BYTES &&
      key.qualifierLength === 0 &&
      key.timestamp >= LATEST_TIMESTAMP &&
      key.type === TYPE_MAXIMUM
    );
  }

  /** Like `locate`, for a cell of the arena. */
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

  /** The range that `findAlike` found. */
  private from = 0;
  private to = 0;

  /**
   * Sets `from` and `to` to the range of cells whose rows equal this one up to `deep`. True when the range is empty: `from` is where
   * such a row belongs.
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
    // Most rows have one cell, and a number of their own.
    to = low < count && prefixes[low] === prefix ? count : low;
    while (low < to) {
      const middle = (low + to) >>> 1;
      if (prefixes[middle] === prefix) low = middle + 1;
      else to = middle;
    }
    this.to = to;
    if (this.seconds === undefined) return false;
    const between = this.compareMiddle(this.refs[from]!, row, offset, length);
    if (between > 0) this.from = to;
    return between !== 0;
  }

  /** Compares a row to the row of a cell with the same first number, by the bytes between the two numbers. */
  private compareMiddle(ref: CellRef, row: Uint8Array, offset: number, length: number): number {
    const start = this.shared + PREFIX_BYTES;
    const { deep } = this;
    if (start >= deep) return 0;
    const at = differenceFrom(this.arena, ref, row, offset, length, start);
    return at >= deep ? 0 : byteAt(row, offset, length, at) - byteOfRef(this.arena, ref, at);
  }

  /**
   * Whether a cell belongs directly after the one at `index`. After the last cell of a leaf nothing belongs, unless the leaf is the
   * `last`. `sameRow`: both are of one row.
   */
  belongsAfter(index: number, ref: CellRef, sameRow: boolean, last: boolean): boolean {
    const { arena, prefixes, refs } = this;
    if (index >= this.count) return false;
    const before = refs[index]!;
    if ((sameRow ? compareInRow(arena, before, ref) : compareRefs(arena, before, ref)) >= 0) return false;
    const next = index + 1;
    if (next === this.count) return last;
    if (sameRow && prefixes[next] !== prefixes[index]) return true;
    return compareRefs(arena, ref, refs[next]!) < 0;
  }

  /**
   * Inserts refs[0..count), cells of one row in order, directly after the cell at `index`. `last`: as in `belongsAfter`. One comparison with
   * the row of that cell tells all that `insert` finds out by several. False, and nothing is done: they do not belong there, there is no
   * room, or numbers have to be taken again.
   */
  insertRow(index: number, refs: Uint32Array, count: number, row: Uint8Array, last: boolean): boolean {
    const place = index + 1;
    if (index >= this.count || this.count + count > LEAF_CAPACITY || (place === this.count && !last))
      return false;
    const { arena, prefixes, seconds, shared, deep } = this;
    const same = sharedIfAfter(arena, this.refs[index]!, row);
    if (same < shared) return false;
    const prefix = prefixOf(row, 0, row.length, shared);
    if (prefix === prefixes[index] && (seconds === undefined || same < deep)) return false;
    // The next row shares the prefix, too, so that it is the greater one if its number is.
    if (place < this.count && prefix >= prefixes[place]!) return false;
    if (row.length !== this.rowLength) this.rowLength = MIXED;
    this.makeRoom(place, count);
    const second = seconds === undefined ? 0 : prefixOf(row, 0, row.length, deep);
    for (let i = 0; i < count; i++) {
      this.refs[place + i] = refs[i]!;
      prefixes[place + i] = prefix;
      if (seconds !== undefined) seconds[place + i] = second;
    }
    this.count += count;
    return true;
  }

  /** Moves the cells from `index` on by `added` places. */
  private makeRoom(index: number, added: number): void {
    const { prefixes, seconds, refs, count } = this;
    if (index === count) return;
    prefixes.copyWithin(index + added, index, count);
    if (seconds !== undefined) seconds.copyWithin(index + added, index, count);
    refs.copyWithin(index + added, index, count);
  }

  /** Prepares the leaf for a cell of this row. `shared`: length of the prefix that all rows of the memstore, this one too, share. */
  fit(row: Uint8Array, shared: number, offset = 0, length = row.length): void {
    if (this.count === 0) {
      this.head = copyBytes(row, offset, offset + shared);
      this.shared = shared;
      this.seconds = undefined;
      this.rowLength = length;
      return;
    }
    if (length !== this.rowLength) this.rowLength = MIXED;
    if (this.shared <= shared) return;
    const { head } = this;
    let same = 0;
    while (same < this.shared && same < length && head[same] === row[offset + same]) same++;
    if (same < this.shared) this.setPrefixes(same);
  }

  /** Fills an empty leaf with cells in order. `shared`: length of the prefix that all rows of the memstore share. */
  fill(refs: Uint32Array, shared: number): void {
    this.refs.set(refs);
    this.count = refs.length;
    this.rowLength = rowLengthOf(this.arena, refs[0]!);
    for (let i = 1; i < refs.length; i++)
      if (rowLengthOf(this.arena, refs[i]!) !== this.rowLength) this.rowLength = MIXED;
    this.setPrefixes(shared);
    this.refinePrefixes();
  }

  /** Inserts a cell. There is room, and the leaf fits its row. `sameRow`: the cell before the position is of the same row. */
  insert(index: number, ref: CellRef, row: Uint8Array, sameRow: boolean): void {
    const { prefixes, seconds, refs, count } = this;
    this.makeRoom(index, 1);
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
    if (alike >= 0) this.distinguish(refs[alike]!, row, 0, row.length);
  }

  /** Inserts refs[from..to), cells in order, for which there is room, after the first cell of their row. The leaf has no others of it. */
  insertFollowing(index: number, refs: Uint32Array, from: number, to: number): void {
    const { prefixes, seconds, refs: own, count } = this;
    const added = to - from;
    this.makeRoom(index, added);
    for (let i = 0; i < added; i++) {
      own[index + i] = refs[from + i]!;
      prefixes[index + i] = prefixes[index - 1]!;
      if (seconds !== undefined) seconds[index + i] = seconds[index - 1]!;
    }
    this.count = count + added;
  }

  /**
   * Inserts refs[from..to), cells in order, for which there is room; the leaf is not empty. `shared` as for `fit`.
   * @returns the index of the last of them.
   */
  insertAll(refs: Uint32Array, from: number, to: number, shared: number): number {
    const { arena, count, prefixes } = this;
    const own = this.refs;
    for (let i = from; i < to; i++) {
      const { bytes } = arena.chunks[chunkOf(refs[i]!)]!;
      const start = offsetOf(refs[i]!) + CELL_HEADER_BYTES;
      this.fit(bytes, shared, start, rowLengthOf(arena, refs[i]!));
    }
    const { seconds, deep } = this;
    let read = count - 1;
    let write = count + to - from - 1;
    for (let i = to - 1; i >= from; i--, write--) {
      const ref = refs[i]!;
      const prefix = prefixOfRef(arena, ref, this.shared);
      // From the end, one after the other: that is how memory is read fastest.
      for (let place = -1; read >= 0; read--, write--) {
        const other = prefixes[read]!;
        if (other < prefix || read < place) break;
        if (other === prefix && place < 0) {
          place = this.placeBelow(read + 1, ref);
          if (read < place) break;
        }
        own[write] = own[read]!;
        prefixes[write] = other;
        if (seconds !== undefined) seconds[write] = seconds[read]!;
      }
      own[write] = ref;
      prefixes[write] = prefix;
      if (seconds !== undefined) seconds[write] = prefixOfRef(arena, ref, deep);
      places[i - from] = write;
    }
    this.count = count + to - from;
    for (let i = from; i < to; i++) this.distinguishAt(places[i - from]!);
    return places[to - 1 - from]!;
  }

  /** The index of a cell among the first `count` cells. */
  private placeBelow(count: number, ref: CellRef): number {
    const { bytes } = this.arena.chunks[chunkOf(ref)]!;
    this.count = count;
    return this.locateRef(ref, bytes, offsetOf(ref) + CELL_HEADER_BYTES, rowLengthOf(this.arena, ref));
  }

  /** Like `distinguish`, for the cell at an index and both cells beside it. */
  private distinguishAt(index: number): void {
    const { arena, prefixes, refs } = this;
    for (let beside = index - 1; beside <= index + 1; beside += 2) {
      if (beside < 0 || beside >= this.count || prefixes[beside] !== prefixes[index]) continue;
      const ref = refs[index]!;
      const { bytes } = arena.chunks[chunkOf(ref)]!;
      this.distinguish(refs[beside]!, bytes, offsetOf(ref) + CELL_HEADER_BYTES, rowLengthOf(arena, ref));
    }
  }

  /** Adds second numbers, or takes them less deep, when a new row differs from a row with the same first number. */
  private distinguish(ref: CellRef, row: Uint8Array, offset: number, length: number): void {
    if (this.areRows) return;
    const { arena, seconds, deep } = this;
    const start = this.shared + PREFIX_BYTES;
    if (seconds !== undefined && deep === start) return;
    const same = differenceFrom(arena, ref, row, offset, length, start);
    if (seconds === undefined) {
      if (same < length || rowLengthOf(arena, ref) !== length) this.setSeconds(same);
    } else if (same < deep) {
      this.setSeconds(same);
    }
  }

  remove(index: number): void {
    this.prefixes.copyWithin(index, index + 1, this.count);
    this.seconds?.copyWithin(index, index + 1, this.count);
    this.refs.copyWithin(index, index + 1, this.count);
    this.count--;
  }

  /** Moves the cells from index `at` to a new leaf. */
  split(at: number): Leaf {
    const right = new Leaf(this.arena);
    right.prefixes.set(this.prefixes.subarray(at, this.count));
    // One cell needs none.
    if (this.seconds !== undefined && at < this.count - 1) {
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
    this.refinePrefixes();
    right.refinePrefixes();
    if (right.count === 1) right.beginAfter(this);
    return right;
  }

  /**
   * Its one cell is the last of cells in order. Mostly the next row differs from it about where the row before does, so the first
   * numbers are taken from there: some bytes before it may count up, too.
   */
  private beginAfter({ refs, count }: Leaf): void {
    const { arena } = this;
    const own = this.refs[0]!;
    this.rowLength = rowLengthOf(arena, own);
    for (let i = count - 1; i >= Math.max(0, count - MOST_LOOKED_AT); i--) {
      const same = sharedOfRefs(arena, refs[i]!, own);
      if (same === this.rowLength) continue;
      const shared = Math.min(same - PREFIX_BYTES / 2, this.rowLength - PREFIX_BYTES);
      if (shared > this.shared) this.setPrefixes(shared);
      return;
    }
  }

  /** Whether cells with equal first numbers are of one row. */
  private get areRows(): boolean {
    return this.rowLength !== MIXED && this.rowLength <= this.shared + PREFIX_BYTES;
  }

  /** Takes the first numbers again, after the prefix that the rows share now, when too many are equal. */
  private refinePrefixes(): void {
    const { arena, prefixes, refs, count } = this;
    if (this.areRows) {
      this.seconds = undefined;
      return;
    }
    let different = 1;
    for (let i = 1; i < count; i++) if (prefixes[i] !== prefixes[i - 1]) different++;
    if (different === count) {
      this.seconds = undefined;
      return;
    }
    if (different < count * MIN_DIFFERENT) {
      // In a sorted run, the prefix shared by the first and the last row is shared by all.
      const shared = sharedOfRefs(arena, refs[0]!, refs[count - 1]!);
      if (shared > this.shared) {
        this.setPrefixes(shared);
        return;
      }
    }
    this.deepenSeconds();
  }

  private setPrefixes(shared: number): void {
    const { arena, prefixes, refs } = this;
    const chunk = arena.chunks[chunkOf(refs[0]!)]!;
    const start = offsetOf(refs[0]!) + CELL_HEADER_BYTES;
    this.head = copyBytes(chunk.bytes, start, start + shared);
    this.shared = shared;
    for (let i = 0; i < this.count; i++) prefixes[i] = prefixOfRef(arena, refs[i]!, shared);
    this.seconds = undefined;
    this.deepenSeconds();
  }

  /** Takes the second numbers as deep as possible, or drops them when they are not needed. */
  private deepenSeconds(): void {
    const deep = this.areRows ? Number.POSITIVE_INFINITY : this.deepest();
    if (deep === Number.POSITIVE_INFINITY) this.seconds = undefined;
    else if (this.seconds === undefined || deep > this.deep) this.setSeconds(deep);
  }

  private setSeconds(deep: number): void {
    const { arena, refs, count } = this;
    this.seconds ??= new Float64Array(LEAF_CAPACITY);
    this.deep = deep;
    for (let i = 0; i < count; i++) this.seconds[i] = prefixOfRef(arena, refs[i]!, deep);
  }

  /**
   * The length of the prefix that different rows with equal first numbers share; Infinity when there are no such rows. In a sorted
   * run the first and the last of them decide.
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
