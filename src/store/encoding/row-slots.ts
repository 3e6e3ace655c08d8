import type { SeekKey } from '../cursor.js';
import { hashRow, lane1 } from './row-hash.js';
import { RowPlace } from './row-table.js';

/** Entries with larger numbers do not fit beside their tags. */
const MOST_ENTRIES = 0xffff;
/** Slots for each row, at least. */
const LEAST_ROOM = 1.25;
const TAG = 0xffff0000 | 0;

/**
 * A block's rows by their hashes: where the first cell of a row is, in one step, whatever the rows look like. Made when
 * a block is looked into for the second time.
 */
export class RowSlots {
  /** Two numbers a slot: upper bits of the hash above the entry's number plus one, and the entry's place. */
  private readonly slots: Int32Array;
  private readonly mask: number;

  /** @param entry gives an entry; false: it begins no row. */
  constructor(count: number, rows: number, entry: (i: number, into: RowPlace) => boolean) {
    let size = 4;
    while (size < rows * LEAST_ROOM) size *= 2;
    this.mask = size - 1;
    this.slots = new Int32Array(2 * size);
    const row = new RowPlace();
    for (let i = 0; i < count; i++) {
      if (!entry(i, row)) continue;
      hashRow(row.bytes, row.offset, row.length);
      let slot = lane1 & this.mask;
      while (this.slots[2 * slot] !== 0) slot = (slot + 1) & this.mask;
      this.slots[2 * slot] = (lane1 & TAG) | (i + 1);
      this.slots[2 * slot + 1] = row.place;
    }
  }

  /** Bytes for as many rows, at most. */
  static bytes(rows: number): number {
    return 8 * 2 * LEAST_ROOM * rows;
  }

  static fits(entries: number): boolean {
    return entries < MOST_ENTRIES;
  }

  /** The first slot that a row of this hash may be in; -1 when none is. */
  first(hash: number): number {
    return this.from(hash & this.mask, hash);
  }

  /** The next one after `slot`. */
  after(slot: number, hash: number): number {
    return this.from((slot + 1) & this.mask, hash);
  }

  entry(slot: number): number {
    return (this.slots[2 * slot]! & ~TAG) - 1;
  }

  place(slot: number): number {
    return this.slots[2 * slot + 1]!;
  }

  private from(start: number, hash: number): number {
    const { slots, mask } = this;
    const tag = hash & TAG;
    for (let slot = start; ; slot = (slot + 1) & mask) {
      const at = slots[2 * slot]!;
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
