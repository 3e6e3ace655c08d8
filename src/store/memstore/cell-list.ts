/**
 * The sorted order of a memstore's cells: leaves of up to 256 cell addresses under one flat directory. A leaf is found by 96 bits
 * of the row of its first cell, taken after the prefix that all rows share (otherwise keys like "user000123" would all look
 * alike); a position in a leaf as {@link Leaf} describes. Cells are compared only where these bits are equal. Shifting a
 * directory of ten thousand leaves at a split costs less than walking a tree at every search.
 */

import { compareSlices } from '../../bytes/index.js';
import type { SeekKey } from '../cursor.js';
import { CELL_HEADER_BYTES, type CellArena, type CellRef, chunkOf, offsetOf, rowLengthOf } from './arena.js';
import {
  compareRefs,
  compareToKey,
  PREFIX_BYTES,
  prefixOf,
  prefixOfRef,
  seekPrefix,
  sharedOfRefs,
  sharedWith,
} from './cell-order.js';
import { LEAF_CAPACITY, Leaf } from './leaf.js';

/** Cells per leaf after a bulk fill: leaves room for cells that come between. */
const FILLED = (LEAF_CAPACITY * 3) / 4;

export class CellList {
  readonly leaves: Leaf[];
  /** For each leaf's first cell, the 48 bits of its row after the shared prefix, and the 48 bits after those. */
  private firsts = new Float64Array(16);
  private seconds = new Float64Array(16);
  /** Length of the prefix that all rows share. */
  private shared = 0;
  size = 0;
  /** Incremented by every change: cursors in a changed list search for their cell again. */
  version = 0;
  /** The result of `locate`. */
  foundLeaf = 0;
  foundIndex = 0;
  /** The position of the cell inserted last. */
  private lastLeaf = 0;
  private lastIndex = 0;

  constructor(private readonly arena: CellArena) {
    this.leaves = [new Leaf(arena)];
  }

  /**
   * Inserts a cell; a cell equal in everything, seq included, is replaced. True unless one was replaced. `sameRow`: the cell inserted
   * last is of the same row.
   */
  insert(ref: CellRef, row: Uint8Array, sameRow: boolean): boolean {
    this.version++;
    if (!sameRow) this.fitShared(row);
    const last = this.lastLeaf;
    if (this.leaves[last]!.belongsAfter(this.lastIndex, ref, sameRow, last === this.leaves.length - 1)) {
      if (!sameRow) this.leaves[last]!.fit(row, this.shared);
      this.insertAt(last, this.lastIndex + 1, ref, row, sameRow);
      return true;
    }
    this.locateLeaf(ref, row, 0, row.length);
    const leafNumber = this.foundLeaf;
    const leaf = this.leaves[leafNumber]!;
    leaf.fit(row, this.shared);
    const index = leaf.locateRef(ref, row, 0, row.length);
    if (index < leaf.count && compareRefs(this.arena, leaf.refs[index]!, ref) === 0) {
      leaf.refs[index] = ref;
      this.lastLeaf = leafNumber;
      this.lastIndex = index;
      return false;
    }
    this.insertAt(leafNumber, index, ref, row, false);
    return true;
  }

  /** Inserts refs[0..count), cells of one row in order. The list has no others of it. */
  insertRow(refs: Uint32Array, count: number, row: Uint8Array): void {
    const last = this.leaves[this.lastLeaf]!;
    if (last.insertRow(this.lastIndex, refs, count, row, this.lastLeaf === this.leaves.length - 1)) {
      this.version++;
      this.lastIndex += count;
      this.size += count;
      return;
    }
    this.insert(refs[0]!, row, false);
    const leaf = this.leaves[this.lastLeaf]!;
    if (leaf.count + count - 1 > LEAF_CAPACITY) {
      for (let i = 1; i < count; i++) this.insertAt(this.lastLeaf, this.lastIndex + 1, refs[i]!, row, true);
      return;
    }
    leaf.insertFollowing(this.lastIndex + 1, refs, 1, count);
    this.lastIndex += count - 1;
    this.size += count - 1;
  }

  /** The leaf fits the row. `sameRow`: the cell before the position is of the same row. */
  private insertAt(at: number, place: number, ref: CellRef, row: Uint8Array, sameRow: boolean): void {
    let leafNumber = at;
    let index = place;
    let leaf = this.leaves[leafNumber]!;
    if (leaf.count === LEAF_CAPACITY) {
      this.split(leafNumber, index);
      if (index > leaf.count) {
        index -= leaf.count;
        leafNumber++;
        leaf = this.leaves[leafNumber]!;
      }
      leaf.fit(row, this.shared);
    }
    leaf.insert(index, ref, row, sameRow);
    this.lastLeaf = leafNumber;
    this.lastIndex = index;
    if (index === 0) this.setFirst(leafNumber);
    this.size++;
  }

  /** Whether it has one leaf. */
  get isSmall(): boolean {
    return this.leaves.length === 1;
  }

  /** Removes the cells of a small list. */
  reset(): void {
    this.leaves[0]!.count = 0;
    this.version++;
    this.size = 0;
    this.lastLeaf = 0;
    this.lastIndex = 0;
  }

  /** Fills an empty list with cells in order, each once. */
  fill(refs: Uint32Array): void {
    if (refs.length === 0) return;
    const { arena, leaves } = this;
    this.version++;
    this.size = refs.length;
    // In a sorted run, the prefix shared by the first and the last row is shared by all.
    this.shared = sharedOfRefs(arena, refs[0]!, refs[refs.length - 1]!);
    leaves.length = 0;
    for (let from = 0; from < refs.length; from += FILLED) {
      const leaf = new Leaf(arena);
      leaf.fill(refs.subarray(from, from + FILLED), this.shared);
      leaves.push(leaf);
    }
    while (this.firsts.length < leaves.length) {
      this.firsts = enlarged(this.firsts);
      this.seconds = enlarged(this.seconds);
    }
    for (let number = 0; number < leaves.length; number++) this.setFirst(number);
    this.lastLeaf = leaves.length - 1;
    this.lastIndex = leaves[this.lastLeaf]!.count - 1;
  }

  /** Inserts cells in order. None of them is in the list, which is not empty. */
  merge(refs: Uint32Array): void {
    const { arena, leaves } = this;
    this.version++;
    // In a sorted run, what the first and the last row share with another is shared by all.
    for (const ref of [refs[0]!, refs[refs.length - 1]!]) {
      const { bytes } = arena.chunks[chunkOf(ref)]!;
      this.fitShared(bytes, offsetOf(ref) + CELL_HEADER_BYTES, rowLengthOf(arena, ref));
    }
    let hint = 0;
    for (let from = 0; from < refs.length; ) {
      const ref = refs[from]!;
      const { bytes } = arena.chunks[chunkOf(ref)]!;
      this.lastLeaf = hint;
      this.locateLeaf(ref, bytes, offsetOf(ref) + CELL_HEADER_BYTES, rowLengthOf(arena, ref));
      const number = this.foundLeaf;
      const leaf = leaves[number]!;
      hint = number;
      if (leaf.count === LEAF_CAPACITY) {
        const isLast =
          number === leaves.length - 1 && compareRefs(arena, leaf.refs[LEAF_CAPACITY - 1]!, ref) < 0;
        this.split(number, isLast ? LEAF_CAPACITY : 0);
        continue;
      }
      const room = Math.min(refs.length, from + LEAF_CAPACITY - leaf.count);
      let to = from + 1;
      if (number === leaves.length - 1) to = room;
      else while (to < room && this.compareFirstToRef(number + 1, refs[to]!) > 0) to++;
      this.lastLeaf = number;
      this.lastIndex = leaf.insertAll(refs, from, to, this.shared);
      if (leaf.refs[0] === ref) this.setFirst(number);
      this.size += to - from;
      from = to;
      // The next cell mostly belongs into the next leaf.
      hint = Math.min(number + 1, leaves.length - 1);
    }
  }

  private compareFirstToRef(leafNumber: number, ref: CellRef): number {
    const { arena, shared } = this;
    const order = this.firsts[leafNumber]! - prefixOfRef(arena, ref, shared);
    if (order !== 0) return order;
    const second = this.seconds[leafNumber]! - prefixOfRef(arena, ref, shared + PREFIX_BYTES);
    return second !== 0 ? second : compareRefs(arena, this.leaves[leafNumber]!.refs[0]!, ref);
  }

  /** Removes the cell at a position. */
  remove(leafNumber: number, index: number): void {
    this.version++;
    const leaf = this.leaves[leafNumber]!;
    leaf.remove(index);
    this.size--;
    if (leaf.count === 0 && this.leaves.length > 1) {
      this.leaves.splice(leafNumber, 1);
      this.lastLeaf = 0;
      this.firsts.copyWithin(leafNumber, leafNumber + 1, this.leaves.length + 1);
      this.seconds.copyWithin(leafNumber, leafNumber + 1, this.leaves.length + 1);
    } else if (index === 0) {
      this.setFirst(leafNumber);
    }
  }

  /** All cell addresses in order, for a thread that reads the frozen cells. */
  toRefs(): Uint32Array {
    const refs = new Uint32Array(new SharedArrayBuffer(this.size * 4));
    let at = 0;
    for (const leaf of this.leaves) {
      refs.set(leaf.refs.subarray(0, leaf.count), at);
      at += leaf.count;
    }
    return refs;
  }

  /** Sets `foundLeaf` and `foundIndex` to the first cell at or after `key`; at the end, past the last cell of a leaf. */
  locate(key: SeekKey): void {
    let low = 0;
    let high = this.leaves.length - 1;
    if (high > 0) {
      const { arena, leaves, firsts, seconds, shared } = this;
      const { row, rowOffset, rowLength } = key;
      const any = leaves[0]!.refs[0]!;
      const { bytes } = arena.chunks[chunkOf(any)]!;
      const prefix = seekPrefix(bytes, offsetOf(any) + CELL_HEADER_BYTES, shared, row, rowOffset, rowLength);
      const second = prefixOf(row, rowOffset, rowLength, shared + PREFIX_BYTES);
      while (low < high) {
        const middle = (low + high + 1) >>> 1;
        let order = firsts[middle]! - prefix;
        if (order === 0) order = seconds[middle]! - second;
        if (order === 0) order = compareToKey(arena, leaves[middle]!.refs[0]!, key);
        if (order < 0) low = middle;
        else high = middle - 1;
      }
    }
    this.foundLeaf = low;
    this.foundIndex = this.leaves[low]!.locate(key);
  }

  /** Whether it has no cell from `first` to row `last`. */
  isFree(first: SeekKey, last: Uint8Array): boolean {
    if (this.size === 0) return true;
    this.locate(first);
    let leaf = this.leaves[this.foundLeaf]!;
    let index = this.foundIndex;
    if (index === leaf.count) {
      if (this.foundLeaf === this.leaves.length - 1) return true;
      leaf = this.leaves[this.foundLeaf + 1]!;
      index = 0;
    }
    const ref = leaf.refs[index]!;
    const { bytes } = this.arena.chunks[chunkOf(ref)]!;
    const row = offsetOf(ref) + CELL_HEADER_BYTES;
    return compareSlices(bytes, row, rowLengthOf(this.arena, ref), last, 0, last.length) > 0;
  }

  /** Like `locate`, for a cell of the list. */
  locateRef(ref: CellRef): void {
    const chunk = this.arena.chunks[chunkOf(ref)]!;
    const offset = offsetOf(ref);
    const start = offset + CELL_HEADER_BYTES;
    const length = chunk.ints[(offset >>> 2) + 6]! & 0xffff;
    this.locateLeaf(ref, chunk.bytes, start, length);
    this.foundIndex = this.leaves[this.foundLeaf]!.locateRef(ref, chunk.bytes, start, length);
  }

  /** Sets `foundLeaf` to the leaf that a cell is in, or belongs in. Its row has the shared prefix. */
  private locateLeaf(ref: CellRef, row: Uint8Array, offset: number, length: number): void {
    const { shared } = this;
    let low = 0;
    let high = this.leaves.length - 1;
    if (high === 0) {
      this.foundLeaf = 0;
      return;
    }
    const prefix = prefixOf(row, offset, length, shared);
    const second = prefixOf(row, offset, length, shared + PREFIX_BYTES);
    const last = this.lastLeaf;
    // Cells mostly belong near the cell inserted last.
    if (
      last <= high &&
      (last === 0 || this.compareFirst(last, prefix, second, ref) <= 0) &&
      (last === high || this.compareFirst(last + 1, prefix, second, ref) > 0)
    ) {
      this.foundLeaf = last;
      return;
    }
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.compareFirst(middle, prefix, second, ref) <= 0) low = middle;
      else high = middle - 1;
    }
    this.foundLeaf = low;
  }

  /** Compares the first cell of a leaf to a cell whose row has these prefixes. */
  private compareFirst(leafNumber: number, prefix: number, second: number, ref: CellRef): number {
    let order = this.firsts[leafNumber]! - prefix;
    if (order !== 0) return order;
    order = this.seconds[leafNumber]! - second;
    return order !== 0 ? order : compareRefs(this.arena, this.leaves[leafNumber]!.refs[0]!, ref);
  }

  private split(leafNumber: number, index: number): void {
    const { leaves } = this;
    // Appending in order keeps leaves full; elsewhere halves leave room on both sides.
    const appends = index === LEAF_CAPACITY && leafNumber === leaves.length - 1;
    const right = leaves[leafNumber]!.split(appends ? LEAF_CAPACITY - 1 : LEAF_CAPACITY / 2);
    leaves.splice(leafNumber + 1, 0, right);
    if (leaves.length > this.firsts.length) {
      this.firsts = enlarged(this.firsts);
      this.seconds = enlarged(this.seconds);
    }
    this.firsts.copyWithin(leafNumber + 2, leafNumber + 1, leaves.length - 1);
    this.seconds.copyWithin(leafNumber + 2, leafNumber + 1, leaves.length - 1);
    this.setFirst(leafNumber + 1);
  }

  private setFirst(leafNumber: number): void {
    const leaf = this.leaves[leafNumber]!;
    if (leaf.count === 0) return;
    const ref = leaf.refs[0]!;
    this.firsts[leafNumber] = prefixOfRef(this.arena, ref, this.shared);
    this.seconds[leafNumber] = prefixOfRef(this.arena, ref, this.shared + PREFIX_BYTES);
  }

  /** Shortens the shared prefix to what a new row has in common with it. */
  private fitShared(row: Uint8Array, offset = 0, length = row.length): void {
    if (this.size === 0) {
      this.shared = length;
      return;
    }
    const { shared } = this;
    const same = sharedWith(this.arena, this.leaves[0]!.refs[0]!, row, offset, Math.min(length, shared));
    if (same >= shared) return;
    this.shared = same;
    for (let number = 0; number < this.leaves.length; number++) this.setFirst(number);
  }
}

function enlarged(array: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(array.length * 2);
  larger.set(array);
  return larger;
}
