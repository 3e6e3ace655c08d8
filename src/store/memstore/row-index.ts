/**
 * Which rows a memstore has, by their hashes, beside the order of its cells: a point read learns in one step that there is
 * no such row, or where its first cell is. A row whose cells were all written in one go, and in their order, is a *run*:
 * they stand side by side in the arena, and a reader of the row needs nothing else. Of other rows only is known that they
 * are there, and their cells are found through the order.
 *
 * An entry has two numbers of 32 bits: the hash, and the place of a cell of the row, which is a multiple of 8, with two bits
 * below. Entries are in the order of their hashes, but for those that found their place taken and stand behind it, so that a
 * table which is enlarged is read and written from its beginning to its end, and no row is hashed or looked at again.
 *
 * Keys can be chosen so that their hashes meet, whatever the seed (Aumasson and Bernstein, "MurmurHash reloaded", 2012). A search
 * therefore ends after a bounded number of entries: such a row is left out, and the order of the cells finds it.
 */

import { CELL_HEADER_BYTES, type CellArena, type CellRef, chunkOf, offsetOf } from './arena.js';

/** No such row. */
export const NO_ROW = 0;
/** Set in every entry. */
const PRESENT = 1;
/** The row is no run. */
const SCATTERED = 2;
const PLACE = ~7;
/** The row may be there, and is not in the index: the order of the cells tells. */
const LEFT_OUT = PRESENT | SCATTERED;
/** Entries that a search looks at, of one hash and altogether: more than hashes that nobody chose ever have in a row. */
const MOST_EQUAL = 8;
const MOST_PROBES = 1024;

/** In place of an entry that `search` came to. */
const NOWHERE = -1;

const FIRST_BITS = 6;
/** Of four entries three are taken at most. */
const FULL = 3 / 4;

/** Grows only: rows whose cells are taken out again become scattered. */
export class RowIndex {
  private entries = new Int32Array(0);
  /** Hashes are shifted by so much to the right. */
  private shift = 32;
  private mask = 0;
  /** Rows that it still takes. */
  private left = 0;
  /** The entry that `search` came to: the row's, or where it would be. */
  private at = 0;
  /** Some rows were left out: a row that is not found may be there. */
  private lacks = false;

  constructor(private readonly arena: CellArena) {}

  /** Bytes of memory that it holds. */
  get bytes(): number {
    return this.entries.byteLength;
  }

  /** The entry of a row, for `isRun` and `placeOf`; {@link NO_ROW} when there is no such row. */
  find(hash: number, row: Uint8Array, offset: number, length: number): number {
    const entry = this.search(hash, row, offset, length);
    return entry === NO_ROW && this.lacks ? LEFT_OUT : entry;
  }

  /** As `find`, for who adds or scatters the row then: {@link NO_ROW} when it can be added. */
  search(hash: number, row: Uint8Array, offset: number, length: number): number {
    const { entries, mask } = this;
    if (mask === 0) return NO_ROW;
    let at = hash >>> this.shift;
    let equal = 0;
    for (let probes = 0; probes < MOST_PROBES; probes++) {
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
        if (++equal === MOST_EQUAL) break;
      }
      at = (at + 1) & mask;
    }
    this.at = NOWHERE;
    return LEFT_OUT;
  }

  /** Adds the row that was just searched, and can be added, as a run that begins at `ref`. False: it may have other cells. */
  add(hash: number, ref: CellRef): boolean {
    if (this.left === 0) this.grow(hash);
    this.left--;
    this.entries[2 * this.at] = hash;
    this.entries[2 * this.at + 1] = this.lacks ? ref | LEFT_OUT : ref | PRESENT;
    return !this.lacks;
  }

  /** The row that was just searched, and cannot be added, is no run any more, or is left out. */
  scatter(): void {
    if (this.at === NOWHERE) this.lacks = true;
    else this.entries[2 * this.at + 1]! |= SCATTERED;
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

  /** Doubles the table, and looks for the place of a new row of this hash. */
  private grow(hash: number): void {
    const { entries } = this;
    const capacity = entries.length === 0 ? 1 << FIRST_BITS : entries.length;
    const larger = new Int32Array(2 * capacity);
    this.entries = larger;
    this.mask = capacity - 1;
    this.shift = Math.clz32(capacity - 1);
    this.left = capacity * FULL - (entries.length / 2) * FULL;
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

/** Whether the row's cells stand side by side from its place on, and there are no others of it. */
export function isRun(entry: number): boolean {
  return (entry & SCATTERED) === 0;
}

/** Where a cell of the row stands, the first if it is a run. */
export function placeOf(entry: number): CellRef {
  return (entry & PLACE) >>> 0;
}
