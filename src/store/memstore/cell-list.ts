/**
 * The order of a memstore's cells: leaves of up to 256 places under one flat directory. A place is found by a 48-bit
 * prefix of its row, taken behind the prefix that all rows share (keys like "user000123" would all look alike else),
 * and by comparing the cells only where prefixes are equal. A directory of some ten thousand leaves is cheaper to
 * shift at a split than a tree of nodes is to walk at every search.
 */

import { compareSlices } from '../../bytes/index.js';
import { type SeekKey, TYPE_MAXIMUM } from '../cursor.js';
import { CELL_HEADER_BYTES, type CellArena, type CellRef, chunkOf, offsetOf } from './arena.js';

const LEAF_CAPACITY = 256;
const PREFIX_BYTES = 6;

export class Leaf {
  count = 0;
  readonly prefixes = new Float64Array(LEAF_CAPACITY);
  readonly refs = new Uint32Array(LEAF_CAPACITY);
}

export class CellList {
  leaves: Leaf[] = [new Leaf()];
  /** The prefix of each leaf's first cell. */
  private firsts = new Float64Array(16);
  /** Bytes that every row begins with; -1 before the first cell. */
  private shared = -1;
  size = 0;
  /** Goes up with every change: cursors that stand in a changed list look for their cell anew. */
  version = 0;
  /** Where `locate` found its place. */
  foundLeaf = 0;
  foundIndex = 0;

  constructor(private readonly arena: CellArena) {}

  /** Puts a cell at its place; one equal in everything, seq included, is replaced. True when none was. */
  insert(ref: CellRef, row: Uint8Array): boolean {
    this.version++;
    this.fitSharedPrefix(row);
    const prefix = this.prefixOf(row, 0, row.length);
    this.locateRef(ref, prefix);
    let leafNumber = this.foundLeaf;
    let index = this.foundIndex;
    let leaf = this.leaves[leafNumber]!;
    if (index < leaf.count && this.compareRefs(leaf.refs[index]!, ref) === 0) {
      leaf.refs[index] = ref;
      return false;
    }
    if (leaf.count === LEAF_CAPACITY) {
      this.split(leafNumber, index);
      if (index > this.leaves[leafNumber]!.count) {
        index -= this.leaves[leafNumber]!.count;
        leafNumber++;
      }
      leaf = this.leaves[leafNumber]!;
    }
    if (index < leaf.count) {
      leaf.prefixes.copyWithin(index + 1, index, leaf.count);
      leaf.refs.copyWithin(index + 1, index, leaf.count);
    }
    leaf.prefixes[index] = prefix;
    leaf.refs[index] = ref;
    leaf.count++;
    if (index === 0) this.firsts[leafNumber] = prefix;
    this.size++;
    return true;
  }

  /** Takes out the cell at a place. */
  remove(leafNumber: number, index: number): void {
    this.version++;
    const leaf = this.leaves[leafNumber]!;
    leaf.prefixes.copyWithin(index, index + 1, leaf.count);
    leaf.refs.copyWithin(index, index + 1, leaf.count);
    leaf.count--;
    this.size--;
    if (leaf.count === 0 && this.leaves.length > 1) {
      this.leaves.splice(leafNumber, 1);
      this.firsts.copyWithin(leafNumber, leafNumber + 1, this.leaves.length + 1);
    } else if (index === 0) {
      this.firsts[leafNumber] = leaf.prefixes[0]!;
    }
  }

  /** Every place in order, for a thread that reads the frozen cells. */
  toRefs(): Uint32Array {
    const refs = new Uint32Array(new SharedArrayBuffer(this.size * 4));
    let at = 0;
    for (const leaf of this.leaves) {
      refs.set(leaf.refs.subarray(0, leaf.count), at);
      at += leaf.count;
    }
    return refs;
  }

  /** Sets `foundLeaf` and `foundIndex` to the first cell at or after `key`; past the last cell of a leaf at the end. */
  locate(key: SeekKey): void {
    const prefix = this.seekPrefix(key.row, key.rowOffset, key.rowLength);
    let low = 0;
    let high = this.leaves.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      const first = this.firsts[middle]!;
      if (first < prefix || (first === prefix && this.compareToKey(this.leaves[middle]!.refs[0]!, key) < 0))
        low = middle;
      else high = middle - 1;
    }
    const leaf = this.leaves[low]!;
    let from = 0;
    let to = leaf.count;
    while (from < to) {
      const middle = (from + to) >>> 1;
      const at = leaf.prefixes[middle]!;
      if (at < prefix || (at === prefix && this.compareToKey(leaf.refs[middle]!, key) < 0)) from = middle + 1;
      else to = middle;
    }
    this.foundLeaf = low;
    this.foundIndex = from;
  }

  /** As `locate`, for a cell of the list or one that is to be put into it. */
  locateRef(ref: CellRef, prefix: number): void {
    let low = 0;
    let high = this.leaves.length - 1;
    const last = this.foundLeaf;
    if (last <= high && this.isWithin(last, ref, prefix)) {
      low = last;
      high = last;
    }
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      const first = this.firsts[middle]!;
      if (first < prefix || (first === prefix && this.compareRefs(this.leaves[middle]!.refs[0]!, ref) <= 0))
        low = middle;
      else high = middle - 1;
    }
    const leaf = this.leaves[low]!;
    let from = 0;
    let to = leaf.count;
    while (from < to) {
      const middle = (from + to) >>> 1;
      const at = leaf.prefixes[middle]!;
      if (at < prefix || (at === prefix && this.compareRefs(leaf.refs[middle]!, ref) < 0)) from = middle + 1;
      else to = middle;
    }
    this.foundLeaf = low;
    this.foundIndex = from;
  }

  /** The prefix of the row of a cell of the list. */
  prefixOfRef(ref: CellRef): number {
    const chunk = this.arena.chunks[chunkOf(ref)]!;
    const offset = offsetOf(ref);
    return this.prefixOf(chunk.bytes, offset + CELL_HEADER_BYTES, chunk.ints[(offset >>> 2) + 6]! & 0xffff);
  }

  private isWithin(leafNumber: number, ref: CellRef, prefix: number): boolean {
    const leaf = this.leaves[leafNumber]!;
    if (leaf.count === 0) return this.leaves.length === 1;
    if (leafNumber > 0) {
      const first = leaf.prefixes[0]!;
      if (prefix < first || (prefix === first && this.compareRefs(leaf.refs[0]!, ref) > 0)) return false;
    }
    if (leafNumber === this.leaves.length - 1) return true;
    const next = this.firsts[leafNumber + 1]!;
    return (
      prefix < next || (prefix === next && this.compareRefs(this.leaves[leafNumber + 1]!.refs[0]!, ref) > 0)
    );
  }

  private split(leafNumber: number, index: number): void {
    const leaf = this.leaves[leafNumber]!;
    const right = new Leaf();
    // Appending in order keeps leaves full; elsewhere halves leave room on both sides.
    const at =
      index === LEAF_CAPACITY && leafNumber === this.leaves.length - 1
        ? LEAF_CAPACITY - 1
        : LEAF_CAPACITY / 2;
    right.prefixes.set(leaf.prefixes.subarray(at, LEAF_CAPACITY));
    right.refs.set(leaf.refs.subarray(at, LEAF_CAPACITY));
    right.count = LEAF_CAPACITY - at;
    leaf.count = at;
    this.leaves.splice(leafNumber + 1, 0, right);
    if (this.leaves.length > this.firsts.length) {
      const larger = new Float64Array(this.firsts.length * 2);
      larger.set(this.firsts);
      this.firsts = larger;
    }
    this.firsts.copyWithin(leafNumber + 2, leafNumber + 1, this.leaves.length - 1);
    this.firsts[leafNumber + 1] = right.prefixes[0]!;
  }

  /** Shortens the shared prefix to what the new row shares with the others, and takes all prefixes anew if it shrank. */
  private fitSharedPrefix(row: Uint8Array): void {
    if (this.size === 0) {
      this.shared = row.length;
      return;
    }
    const leaf = this.leaves[0]!;
    const other = leaf.refs[0]!;
    const chunk = this.arena.chunks[chunkOf(other)]!;
    const offset = offsetOf(other);
    const length = Math.min(this.shared, chunk.ints[(offset >>> 2) + 6]! & 0xffff, row.length);
    const bytes = chunk.bytes;
    let same = 0;
    while (same < length && bytes[offset + CELL_HEADER_BYTES + same] === row[same]) same++;
    if (same === this.shared) return;
    this.shared = same;
    for (let number = 0; number < this.leaves.length; number++) {
      const each = this.leaves[number]!;
      for (let i = 0; i < each.count; i++) each.prefixes[i] = this.prefixOfRef(each.refs[i]!);
      this.firsts[number] = each.count > 0 ? each.prefixes[0]! : 0;
    }
  }

  private prefixOf(row: Uint8Array, offset: number, length: number): number {
    const from = offset + this.shared;
    const end = offset + length;
    let high = 0;
    let low = 0;
    if (from + PREFIX_BYTES <= end) {
      high = (row[from]! << 16) | (row[from + 1]! << 8) | row[from + 2]!;
      low = (row[from + 3]! << 16) | (row[from + 4]! << 8) | row[from + 5]!;
    } else {
      for (let i = 0; i < 3; i++) high = (high << 8) | (from + i < end ? row[from + i]! : 0);
      for (let i = 3; i < PREFIX_BYTES; i++) low = (low << 8) | (from + i < end ? row[from + i]! : 0);
    }
    return high * 0x1000000 + low;
  }

  /** The prefix of a row that need not share the rows' prefix: -1 before all of them, Infinity behind. */
  private seekPrefix(row: Uint8Array, offset: number, length: number): number {
    if (this.size === 0) return 0;
    const other = this.leaves[0]!.refs[0]!;
    const chunk = this.arena.chunks[chunkOf(other)]!;
    const start = offsetOf(other) + CELL_HEADER_BYTES;
    const bytes = chunk.bytes;
    const shared = this.shared;
    for (let i = 0; i < shared; i++) {
      if (i >= length) return -1;
      const difference = row[offset + i]! - bytes[start + i]!;
      if (difference !== 0) return difference < 0 ? -1 : Number.POSITIVE_INFINITY;
    }
    return this.prefixOf(row, offset, length);
  }

  /** R2 for two cells of the arena. */
  compareRefs(a: CellRef, b: CellRef): number {
    if (a === b) return 0;
    const aChunk = this.arena.chunks[chunkOf(a)]!;
    const bChunk = this.arena.chunks[chunkOf(b)]!;
    const aOffset = offsetOf(a);
    const bOffset = offsetOf(b);
    const aWord = aChunk.ints[(aOffset >>> 2) + 6]!;
    const bWord = bChunk.ints[(bOffset >>> 2) + 6]!;
    const aRow = aWord & 0xffff;
    const bRow = bWord & 0xffff;
    const aStart = aOffset + CELL_HEADER_BYTES;
    const bStart = bOffset + CELL_HEADER_BYTES;
    let difference = compareSlices(aChunk.bytes, aStart, aRow, bChunk.bytes, bStart, bRow);
    if (difference !== 0) return difference;
    const aQualifier = aChunk.ints[(aOffset >>> 2) + 4]!;
    const bQualifier = bChunk.ints[(bOffset >>> 2) + 4]!;
    difference = compareSlices(
      aChunk.bytes,
      aStart + aRow,
      aQualifier,
      bChunk.bytes,
      bStart + bRow,
      bQualifier,
    );
    if (difference !== 0) return difference;
    difference = bChunk.doubles[bOffset >>> 3]! - aChunk.doubles[aOffset >>> 3]!;
    if (difference !== 0) return difference;
    difference = ((bWord >>> 16) & 0xff) - ((aWord >>> 16) & 0xff);
    if (difference !== 0) return difference;
    return bChunk.doubles[(bOffset >>> 3) + 1]! - aChunk.doubles[(aOffset >>> 3) + 1]!;
  }

  private compareToKey(ref: CellRef, key: SeekKey): number {
    const chunk = this.arena.chunks[chunkOf(ref)]!;
    const offset = offsetOf(ref);
    const word = chunk.ints[(offset >>> 2) + 6]!;
    const rowLength = word & 0xffff;
    const start = offset + CELL_HEADER_BYTES;
    let difference = compareSlices(chunk.bytes, start, rowLength, key.row, key.rowOffset, key.rowLength);
    if (difference !== 0) return difference;
    const qualifierLength = chunk.ints[(offset >>> 2) + 4]!;
    difference = compareSlices(
      chunk.bytes,
      start + rowLength,
      qualifierLength,
      key.qualifier,
      key.qualifierOffset,
      key.qualifierLength,
    );
    if (difference !== 0) return difference;
    const timestamp = chunk.doubles[offset >>> 3]!;
    if (timestamp !== key.timestamp) return timestamp > key.timestamp ? -1 : 1;
    return key.type === TYPE_MAXIMUM ? 1 : key.type - ((word >>> 16) & 0xff);
  }
}
