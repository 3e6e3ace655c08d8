import type { SeekKey } from '../cursor.js';
import { hashRow, lane1 } from './row-hash.js';
import { RowPlace } from './row-table.js';

/** More rows do not fit, nor entries that are greater. */
const MOST_ROWS = 40_000;
const MOST_ENTRY = 2 ** 24 - 2;
/** Slots for each row. */
const ROOM = 1.4;
const TAG_BITS = 8;
const TAG = (1 << TAG_BITS) - 1;

/**
 * A block's rows by their hashes: where the first cell of a row is, in one step, whatever the rows look like. Made when
 * a block is looked into often. A search waits for memory twice, here and where the row is, so slots are
 * small: 24 bits by which the decoder finds the row, plus one, over eight bits of the hash.
 */
export class RowSlots {
  private readonly slots: Int32Array;

  /**
   * @param rows how many there are, or more
   * @param entry gives row `i` of the block, its place by which the decoder finds it; false behind the last
   */
  constructor(rows: number, entry: (i: number, into: RowPlace) => boolean) {
    this.slots = new Int32Array(Math.ceil(rows * ROOM) + 1);
    const { slots } = this;
    const row = new RowPlace();
    for (let i = 0; entry(i, row); i++) {
      hashRow(row.bytes, row.offset, row.length);
      let slot = this.home(lane1);
      while (slots[slot] !== 0) slot = this.behind(slot);
      slots[slot] = ((row.place + 1) << TAG_BITS) | (lane1 & TAG);
    }
  }

  /** Bytes for so many rows. */
  static bytes(rows: number): number {
    return Math.ceil(4 * ROOM * rows);
  }

  static fits(rows: number, greatestEntry: number): boolean {
    return rows <= MOST_ROWS && greatestEntry <= MOST_ENTRY;
  }

  /** The first slot that a row of this hash may be in; -1 when none is. */
  first(hash: number): number {
    return this.from(this.home(hash), hash);
  }

  /** The next one after `slot`. */
  after(slot: number, hash: number): number {
    return this.from(this.behind(slot), hash);
  }

  /** What the decoder finds the row by. */
  entry(slot: number): number {
    return (this.slots[slot]! >>> TAG_BITS) - 1;
  }

  private home(hash: number): number {
    return ((hash >>> 16) * this.slots.length) >>> 16;
  }

  private behind(slot: number): number {
    return slot + 1 === this.slots.length ? 0 : slot + 1;
  }

  private from(start: number, hash: number): number {
    const { slots } = this;
    const tag = hash & TAG;
    for (let slot = start; ; slot = this.behind(slot)) {
      const at = slots[slot]!;
      if (at === 0) return -1;
      if ((at & TAG) === tag) return slot;
    }
  }
}

/** Whether the row at a place is that of the target. Rows of a block differ mostly at their ends. */
export function isRowAt(bytes: Uint8Array, offset: number, length: number, target: SeekKey): boolean {
  if (length !== target.rowLength) return false;
  const { row, rowOffset } = target;
  for (let i = length - 1; i >= 0; i--) if (bytes[offset + i] !== row[rowOffset + i]) return false;
  return true;
}
