import { LATEST_TIMESTAMP } from '../../table/index.js';
import { type SeekKey, TYPE_MAXIMUM } from '../cursor.js';
import type { CellArena, CellRef } from './arena.js';
import { CELL_HEADER_BYTES, chunkOf, offsetOf } from './arena.js';
import {
  compareInRow,
  compareRefs,
  compareToKey,
  prefixOfRef,
  seekPrefix,
  sharedWith,
} from './cell-order.js';
import { PREFIX_BYTES, prefixOf } from './row-prefix.js';

export const LEAF_CAPACITY = 256;
/** A leaf with fewer different prefixes for each place than this takes them anew, behind what its rows share. */
const LEAST_DIFFERENT = 1 / 16;
/** The length of rows that are not all as long. */
const MIXED = -1;

/** A run of up to 256 cells in order. */
export class Leaf {
  count = 0;
  /** Bytes that its rows begin with; the prefixes are taken behind them. */
  private shared = 0;
  /** The length of its rows; -1 when they are not all as long. */
  private rowLength = MIXED;
  private readonly prefixes: Float64Array;
  readonly refs: Uint32Array;

  constructor(private readonly arena: CellArena) {
    // Side by side, since a search looks into both.
    const buffer = new ArrayBuffer(LEAF_CAPACITY * (8 + 4));
    this.prefixes = new Float64Array(buffer, 0, LEAF_CAPACITY);
    this.refs = new Uint32Array(buffer, LEAF_CAPACITY * 8, LEAF_CAPACITY);
  }

  /** The index of the first cell at or after `key`; `count` when there is none. */
  locate(key: SeekKey): number {
    const { arena, prefixes, refs, count } = this;
    if (count === 0) return 0;
    const prefix = seekPrefix(arena, refs[0]!, this.shared, key.row, key.rowOffset, key.rowLength);
    const atRow = this.isRowStart(key);
    let from = 0;
    let to = count;
    while (from < to) {
      const middle = (from + to) >>> 1;
      const at = prefixes[middle]!;
      if (at < prefix || (at === prefix && !atRow && compareToKey(arena, refs[middle]!, key) < 0))
        from = middle + 1;
      else to = middle;
    }
    return from;
  }

  /** Whether `key` stands before all cells of its row, and rows with equal prefixes are equal. */
  private isRowStart(key: SeekKey): boolean {
    return (
      key.rowLength === this.rowLength &&
      this.rowLength - this.shared <= PREFIX_BYTES &&
      key.qualifierLength === 0 &&
      key.timestamp >= LATEST_TIMESTAMP &&
      key.type === TYPE_MAXIMUM
    );
  }

  /** As `locate`, for a cell of the arena whose row begins as those of the leaf do. */
  locateRef(ref: CellRef, row: Uint8Array, offset: number, length: number): number {
    const { arena, prefixes, refs } = this;
    const prefix = prefixOf(row, offset, length, this.shared);
    let from = 0;
    let to = this.count;
    while (from < to) {
      const middle = (from + to) >>> 1;
      const at = prefixes[middle]!;
      if (at < prefix || (at === prefix && compareRefs(arena, refs[middle]!, ref) < 0)) from = middle + 1;
      else to = middle;
    }
    return from;
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
      this.shared = shared;
      this.rowLength = row.length;
      return;
    }
    if (row.length !== this.rowLength) this.rowLength = MIXED;
    if (this.shared <= shared) return;
    const same = sharedWith(this.arena, this.refs[0]!, row, 0, row.length);
    if (same < this.shared) this.retake(same);
  }

  /** Puts a cell in; there is room, and the leaf fits its row. */
  insert(index: number, ref: CellRef, row: Uint8Array): void {
    const { prefixes, refs, count } = this;
    if (index < count) {
      prefixes.copyWithin(index + 1, index, count);
      refs.copyWithin(index + 1, index, count);
    }
    prefixes[index] = prefixOf(row, 0, row.length, this.shared);
    refs[index] = ref;
    this.count++;
  }

  remove(index: number): void {
    this.prefixes.copyWithin(index, index + 1, this.count);
    this.refs.copyWithin(index, index + 1, this.count);
    this.count--;
  }

  /** Moves the cells from `at` on to a leaf of their own. */
  split(at: number): Leaf {
    const right = new Leaf(this.arena);
    right.prefixes.set(this.prefixes.subarray(at, this.count));
    right.refs.set(this.refs.subarray(at, this.count));
    right.count = this.count - at;
    right.shared = this.shared;
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
    if (different >= count * LEAST_DIFFERENT) return;
    // In a sorted run the first and the last share what all do.
    const last = refs[count - 1]!;
    const chunk = arena.chunks[chunkOf(last)]!;
    const offset = offsetOf(last);
    const length = chunk.ints[(offset >>> 2) + 6]! & 0xffff;
    const shared = sharedWith(arena, refs[0]!, chunk.bytes, offset + CELL_HEADER_BYTES, length);
    if (shared > this.shared) this.retake(shared);
  }

  private retake(shared: number): void {
    this.shared = shared;
    for (let i = 0; i < this.count; i++) this.prefixes[i] = prefixOfRef(this.arena, this.refs[i]!, shared);
  }
}
