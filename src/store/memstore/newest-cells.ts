/**
 * The newest cell of each column, for rows that are read although they were written several times. A hot row has many superseded
 * versions, which stay until the flush; a read that follows the order of the cells has to search or step past them.
 *
 * A list is made when such a row is read, and each later cell of the row is added to it. It lies in the arena, laid out like a cell of
 * its row without qualifier, so that the index of rows finds the row there:
 *
 *     0   number of cells   float64   {@link STALE}, {@link UNUSABLE}
 *     8   seq               float64   the greatest of its cells
 *     16  padding length    int32
 *     20  length of the addresses  int32
 *     24  row length        uint16
 *     28  row, padding to a multiple of 4, addresses in the order of the cells, int32
 *
 * Only puts to named columns without a time to live of their own are listed. A row with another cell that would be the newest of
 * its column is read by the order.
 */

import { CellType } from '../../table/index.js';
import { type CellCursor, SeekKey, TYPE_MINIMUM } from '../cursor.js';
import { isRowAt } from '../encoding/row-lookup.js';
import {
  CELL_HEADER_BYTES,
  type CellArena,
  type CellRef,
  type Chunk,
  chunkOf,
  FLAG_TTL,
  offsetOf,
} from './arena.js';
import { compareInRow, sameColumn } from './cell-order.js';
import { isListed, placeOf, type RowIndex } from './row-index.js';

/** No list can be used. */
export const NO_LIST = -1;
/** Instead of a number of cells: the newest cell of a column was removed, so the cells are collected again. */
const STALE = 0;
/** Instead of a number of cells: the row is read by the order. */
const UNUSABLE = -1;
/** Rows with more columns are not listed. */
const MAX_COLUMNS = 64;
/** The most older versions of a column that are stepped over before its end is searched. */
const MAX_STEPS = 8;
/** Masks of the word with row length, type and flags of a cell. */
const TYPE_AND_TTL = (FLAG_TTL << 24) | 0xff0000;
const PUT_WITHOUT_TTL = CellType.Put << 16;

/** Whether the word is that of a put without its own time to live. */
export function isPut(word: number): boolean {
  return (word & TYPE_AND_TTL) === PUT_WITHOUT_TTL;
}

/** The index of a list's first address among the integers of its chunk. */
export function addressesOf({ ints }: Chunk, offset: number): number {
  const at = offset >>> 2;
  return (offset + CELL_HEADER_BYTES + (ints[at + 6]! & 0xffff) + ints[at + 4]!) >>> 2;
}

export class NewestCells {
  /** How many lists were made. */
  made = 0;
  private readonly key = new SeekKey();
  /** The cells that are collected. */
  private readonly refs = new Uint32Array(MAX_COLUMNS);

  constructor(
    private readonly arena: CellArena,
    private readonly rows: RowIndex,
    /** Moves through all cells in order. */
    private readonly cells: CellCursor & { readonly ref: CellRef },
  ) {}

  /**
   * The list of a row, for readers that see writes up to `readPoint`; {@link NO_LIST} when one of its cells is newer, or the row must be
   * read by the order. `entry`: what the index of rows has just found for the row; `make`: make a list where there is none.
   */
  listOf(entry: number, target: SeekKey, readPoint: number, make: boolean): CellRef {
    let list = isListed(entry) ? placeOf(entry) : NO_LIST;
    if (list === NO_LIST || this.countOf(list) === STALE) {
      if (!make || !this.rows.isFound) return NO_LIST;
      list = this.make(target);
      if (list === NO_LIST) return NO_LIST;
    }
    const { doubles } = this.arena.chunks[chunkOf(list)]!;
    const at = offsetOf(list) >>> 3;
    return doubles[at]! > 0 && doubles[at + 1]! <= readPoint ? list : NO_LIST;
  }

  /** The number of cells in a list, or what stands for it. */
  countOf(list: CellRef): number {
    return this.arena.chunks[chunkOf(list)]!.doubles[offsetOf(list) >>> 3]!;
  }

  /** Adds a new cell to the list of its row, if it is the newest of its column. The row was just searched in the index of rows. */
  add(list: CellRef, ref: CellRef): void {
    const { arena } = this;
    const chunk = arena.chunks[chunkOf(list)]!;
    const { ints, doubles } = chunk;
    const offset = offsetOf(list);
    const count = doubles[offset >>> 3]!;
    if (count <= 0) return;
    if (!this.isListable(ref)) {
      doubles[offset >>> 3] = UNUSABLE;
      return;
    }
    const first = addressesOf(chunk, offset);
    let low = 0;
    let high = count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareInRow(arena, ints[first + middle]! >>> 0, ref) < 0) low = middle + 1;
      else high = middle;
    }
    if (low > 0 && sameColumn(arena, ints[first + low - 1]! >>> 0, ref)) return;
    const { doubles: own } = arena.chunks[chunkOf(ref)]!;
    doubles[(offset >>> 3) + 1] = Math.max(doubles[(offset >>> 3) + 1]!, own[(offsetOf(ref) >>> 3) + 1]!);
    if (low < count && sameColumn(arena, ints[first + low]! >>> 0, ref)) {
      ints[first + low] = ref;
    } else if (4 * count < ints[(offset >>> 2) + 5]!) {
      ints.copyWithin(first + low + 1, first + low, first + count);
      ints[first + low] = ref;
      doubles[offset >>> 3] = count + 1;
    } else {
      // It has no room: the next reader makes a longer one.
      doubles[offset >>> 3] = STALE;
    }
  }

  /** Called when a cell of the list's row was removed from the order. */
  remove(list: CellRef, ref: CellRef): void {
    const chunk = this.arena.chunks[chunkOf(list)]!;
    const first = addressesOf(chunk, offsetOf(list));
    const count = this.countOf(list);
    for (let i = 0; i < count; i++)
      if (chunk.ints[first + i]! >>> 0 === ref) chunk.doubles[offsetOf(list) >>> 3] = STALE;
  }

  /** Makes the list of the target's row, which was just searched in the index of rows. {@link NO_LIST} when no cell of it is left. */
  private make(target: SeekKey): CellRef {
    const { arena, rows, refs } = this;
    const count = this.collect(target);
    if (count === 0) return NO_LIST;
    const list = arena.writeList(refs[0]!, count === UNUSABLE ? 0 : count + (count >> 1) + 1);
    const chunk = arena.chunks[chunkOf(list)]!;
    const offset = offsetOf(list);
    chunk.doubles[offset >>> 3] = count;
    const first = addressesOf(chunk, offset);
    for (let i = 0; i < count; i++) {
      const ref = refs[i]!;
      chunk.ints[first + i] = ref;
      const seq = arena.chunks[chunkOf(ref)]!.doubles[(offsetOf(ref) >>> 3) + 1]!;
      if (seq > chunk.doubles[(offset >>> 3) + 1]!) chunk.doubles[(offset >>> 3) + 1] = seq;
    }
    rows.setList(list);
    this.made++;
    return list;
  }

  /** Collects the newest cell of each column of the target's row into `refs`; returns their number, or {@link UNUSABLE}. */
  private collect({ row, rowOffset, rowLength }: SeekKey): number {
    const { arena, cells, refs, key } = this;
    key.setRow(row, rowOffset, rowLength);
    let count = 0;
    let steps = 0;
    let more = cells.seek(key) && this.isInRow(key);
    while (more) {
      if (count === 0 || !sameColumn(arena, refs[count - 1]!, cells.ref)) {
        if (count === MAX_COLUMNS || !this.isListable(cells.ref)) {
          refs[0] = cells.ref;
          return UNUSABLE;
        }
        refs[count++] = cells.ref;
        steps = 0;
      }
      if (++steps <= MAX_STEPS) {
        more = cells.next() && this.isInRow(key);
        continue;
      }
      key.qualifier = cells.key;
      key.qualifierOffset = cells.qualifierOffset;
      key.qualifierLength = cells.qualifierLength;
      key.timestamp = -1;
      key.type = TYPE_MINIMUM;
      more = cells.seek(key) && this.isInRow(key);
    }
    return count;
  }

  private isInRow(target: SeekKey): boolean {
    const { key, rowOffset, rowLength } = this.cells;
    return isRowAt(key, rowOffset, rowLength, target);
  }

  private isListable(ref: CellRef): boolean {
    const { ints } = this.arena.chunks[chunkOf(ref)]!;
    const at = offsetOf(ref) >>> 2;
    return isPut(ints[at + 6]!) && ints[at + 4]! > 0;
  }
}
