/**
 * A hash table of a memstore's rows, beside the order of its cells. A point read learns in one step that a row does not exist, or
 * where its first cell is. If the cells of a row were written together and in order they form a *run*: they are adjacent in the
 * arena, and a reader of the row needs nothing else. Other rows are *scattered*: the table only knows that they exist, and
 * their cells are found through the order. Of scattered rows that are read it has a list of their newest cells (`NewestCells`).
 *
 * An entry has two 32-bit numbers: the hash, and the address of a cell of the row, which is a multiple of 8, with flags in its low
 * bits. Entries are ordered by hash, except those that collided and follow. So a growing table is copied in one pass, and no
 * row is hashed or read again.
 *
 * Keys can be chosen so that their hashes collide, whatever the seed (Aumasson and Bernstein, "MurmurHash reloaded", 2012).
 * Therefore a search ends after a bounded number of entries; such rows are left out of the table and found by the order.
 */

import { CELL_HEADER_BYTES, type CellArena, type CellRef, chunkOf, offsetOf } from './arena.js';

/** The row does not exist. */
export const NO_ROW = 0;
/** Set in every entry. */
const PRESENT = 1;
/** The row's cells do not form a run. */
const SCATTERED = 2;
/** The address is that of the list of the row's newest cells, which begins like a cell; the row is scattered. */
const LISTED = 4;
const ADDRESS = ~7;
/** The row may exist and is not in the table: search the order of the cells. */
const LEFT_OUT = PRESENT | SCATTERED;
/** The most entries that a search examines, of equal hash and in total: more than rows that nobody chose ever need. */
const MAX_EQUAL = 8;
const MAX_PROBES = 1024;

/** Replaces the index of the entry in `at`. */
const NOT_FOUND = -1;

const FIRST_BITS = 6;
/** The table grows when three of four entries are used. */
const LOAD_FACTOR = 3 / 4;

/** Only grows: rows whose cells are removed become scattered. */
export class RowIndex {
  private entries = new Int32Array(0);
  /** The index of an entry is its hash shifted right by so many bits. */
  private shift = 32;
  private mask = 0;
  /** Rows that it accepts before it grows. */
  private left = 0;
  /** The entry that `search` found: the row's, or the free one where it belongs. */
  private at = 0;
  /** Some rows were left out, so a row that is not found may exist. */
  private incomplete = false;

  constructor(private readonly arena: CellArena) {}

  /** Bytes of memory in use. */
  get bytes(): number {
    return this.entries.byteLength;
  }

  /** Removes the rows. */
  reset(): void {
    const { entries } = this;
    entries.fill(0);
    this.left = (entries.length / 2) * LOAD_FACTOR;
    this.incomplete = false;
  }

  /** The entry of a row, for `isRun` and `placeOf`; {@link NO_ROW} when there is no such row. */
  find(hash: number, row: Uint8Array, offset: number, length: number): number {
    const entry = this.search(hash, row, offset, length);
    return entry === NO_ROW && this.incomplete ? LEFT_OUT : entry;
  }

  /** Like `find`, before the row is added or scattered. {@link NO_ROW}: the row can be added. */
  search(hash: number, row: Uint8Array, offset: number, length: number): number {
    const { entries, mask } = this;
    if (mask === 0) return NO_ROW;
    let at = hash >>> this.shift;
    let equal = 0;
    for (let probes = 0; probes < MAX_PROBES; probes++) {
      const entry = entries[2 * at + 1]!;
      if (entry === NO_ROW) {
        this.at = at;
        return entry;
      }
      if (entries[2 * at] === hash) {
        if (this.isOf(entry, row, offset, length)) {
          this.at = at;
          return entry;
        }
        if (++equal === MAX_EQUAL) break;
      }
      at = (at + 1) & mask;
    }
    this.at = NOT_FOUND;
    return LEFT_OUT;
  }

  /** Whether every row that is not found is new. */
  get isComplete(): boolean {
    return !this.incomplete;
  }

  /** Adds the row that was just searched as a run that begins at `ref`. False: the row may have other cells, so it is scattered. */
  add(hash: number, ref: CellRef): boolean {
    if (this.left === 0) this.grow(hash);
    this.left--;
    this.entries[2 * this.at] = hash;
    this.entries[2 * this.at + 1] = this.incomplete ? ref | LEFT_OUT : ref | PRESENT;
    return !this.incomplete;
  }

  /** Marks the row that was just searched as scattered, or as left out. */
  scatter(): void {
    if (this.at === NOT_FOUND) this.incomplete = true;
    else this.entries[2 * this.at + 1]! |= SCATTERED;
  }

  /** Whether the row that was just searched is in the table. */
  get isFound(): boolean {
    return this.at !== NOT_FOUND;
  }

  /** Sets the list of the newest cells of the row that was just searched and is scattered. */
  setList(list: CellRef): void {
    this.entries[2 * this.at + 1] = list | LISTED | SCATTERED | PRESENT;
  }

  private isOf(entry: number, row: Uint8Array, offset: number, length: number): boolean {
    const ref = placeOf(entry);
    const chunk = this.arena.chunks[chunkOf(ref)]!;
    const start = offsetOf(ref);
    if ((chunk.ints[(start >>> 2) + 6]! & 0xffff) !== length) return false;
    const { bytes } = chunk;
    const own = start + CELL_HEADER_BYTES;
    for (let i = length - 1; i >= 0; i--) if (bytes[own + i] !== row[offset + i]) return false;
    return true;
  }

  /** Doubles the table, and finds the entry for a new row of this hash. */
  private grow(hash: number): void {
    const { entries } = this;
    const capacity = entries.length === 0 ? 1 << FIRST_BITS : entries.length;
    const larger = new Int32Array(2 * capacity);
    this.entries = larger;
    this.mask = capacity - 1;
    this.shift = Math.clz32(capacity - 1);
    this.left = capacity * LOAD_FACTOR - (entries.length / 2) * LOAD_FACTOR;
    for (let i = 0; i < entries.length; i += 2) {
      if (entries[i + 1] === NO_ROW) continue;
      const at = this.freeFor(entries[i]!);
      larger[2 * at] = entries[i]!;
      larger[2 * at + 1] = entries[i + 1]!;
    }
    this.at = this.freeFor(hash);
  }

  private freeFor(hash: number): number {
    const { entries, mask } = this;
    let at = hash >>> this.shift;
    while (entries[2 * at + 1] !== NO_ROW) at = (at + 1) & mask;
    return at;
  }
}

/** Whether the row's cells are adjacent from its address on, and it has no others. */
export function isRun(entry: number): boolean {
  return (entry & SCATTERED) === 0;
}

/** Whether the row has a list of its newest cells. */
export function isListed(entry: number): boolean {
  return (entry & LISTED) !== 0;
}

/** The address of a cell of the row, the first one if it is a run; of its list if it is listed. */
export function placeOf(entry: number): CellRef {
  return (entry & ADDRESS) >>> 0;
}
