/**
 * Cells that come in any order, many at once, as from a log: kept as they come, and sorted when all are there. Rows are
 * sorted by four bytes at a time, from what rows of equal bytes before share on: that costs a look at each row for four
 * to eight of its bytes, where a search for the place of each costs one for every second cell that it is compared with.
 */

import type { CellArena, CellBytes, CellRef } from './arena.js';
import { compareInRow, compareRefs, sharedOfRefs, wordOfRef } from './cell-order.js';

/** Cells that are sorted by comparing them. */
const FEW = 12;
/** Times that rows are told apart by their next four bytes; only rows that were made for it need more. */
const MOST_DEPTH = 100;
const FIRST_ROOM = 1 << 10;
/** Memory that nobody writes to is none yet. */
const GROWTH = 4;
/** Bytes that rows begin with, kept side by side: the cells are scattered over more memory than any cache has. */
const HEAD = 48;
/** Cells whose rows' heads are kept: so many take 48 MiB. */
const MOST_HEADS = 1 << 20;

/** Which half of a 64-bit number is the lower one here. */
const LOW = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1 ? 0 : 1;
const HIGH = 1 - LOW;

/** Made for one filling of a memstore. */
export class LoadedCells {
  private refs = new Uint32Array(FIRST_ROOM);
  private lengths = new Uint16Array(FIRST_ROOM);
  private heads = new Uint8Array(FIRST_ROOM * HEAD);
  private headsView = new DataView(this.heads.buffer);
  private count = 0;
  private lastSeq = -1;
  /** Two cells may be equal in everything. */
  private repeats = false;
  /** For each cell of a run four bytes of its row over its number: sorted as one. */
  private keys = new BigUint64Array(0);
  private halves = new Uint32Array(0);

  /** `mostHeads`: for how many cells the heads of rows are kept. */
  constructor(
    private readonly arena: CellArena,
    private readonly mostHeads = MOST_HEADS,
  ) {}

  /** `ref` is where `cell` stands in the arena. `seq`: only cells of one row have the same. */
  add(ref: CellRef, cell: CellBytes, seq: number): void {
    const at = this.count;
    if (seq === this.lastSeq && compareInRow(this.arena, this.refs[at - 1]!, ref) >= 0) this.repeats = true;
    this.lastSeq = seq;
    if (at === this.refs.length) this.grow();
    this.refs[at] = ref;
    this.lengths[at] = cell.rowLength;
    if (at < this.mostHeads) this.keepHead(at * HEAD, cell);
    this.count++;
  }

  /** All cells in their order; of those equal in everything, seq included, the last that came. */
  sorted(): Uint32Array {
    const { count, refs } = this;
    const sorted = refs.slice(0, count);
    if (!this.isSorted(sorted)) {
      const order = new Uint32Array(count);
      for (let i = 0; i < count; i++) order[i] = i;
      this.keys = new BigUint64Array(count);
      this.halves = new Uint32Array(this.keys.buffer);
      this.sort(order, 0, 0);
      for (let i = 0; i < count; i++) sorted[i] = refs[order[i]!]!;
    }
    return this.repeats ? this.lastOfEqual(sorted) : sorted;
  }

  private grow(): void {
    const { refs, lengths, heads } = this;
    const room = GROWTH * refs.length;
    this.refs = new Uint32Array(room);
    this.refs.set(refs);
    this.lengths = new Uint16Array(room);
    this.lengths.set(lengths);
    if (refs.length >= this.mostHeads) return;
    this.heads = new Uint8Array(Math.min(room, MOST_HEADS) * HEAD);
    this.heads.set(heads);
    this.headsView = new DataView(this.heads.buffer);
  }

  private keepHead(to: number, { view, rowOffset, rowLength }: CellBytes): void {
    const { headsView } = this;
    const length = rowLength < HEAD ? rowLength : HEAD;
    let i = 0;
    for (; i + 4 <= length; i += 4) headsView.setInt32(to + i, view.getInt32(rowOffset + i));
    for (; i < length; i++) headsView.setUint8(to + i, view.getUint8(rowOffset + i));
  }

  private isSorted(refs: Uint32Array): boolean {
    for (let i = 1; i < refs.length; i++)
      if (compareRefs(this.arena, refs[i - 1]!, refs[i]!) > 0) return false;
    return true;
  }

  /** Sorts a run of cells by number, which is in the order in which they came, and whose rows share `same` bytes. */
  private sort(order: Uint32Array, same: number, depth: number): void {
    if (order.length <= FEW) {
      this.insertInOrder(order, same);
      return;
    }
    const shared = this.sharedOf(order, same);
    if (shared < 0 || depth === MOST_DEPTH) {
      order.sort((a, b) => this.compare(a, b, same) || a - b);
      return;
    }
    const { keys, halves } = this;
    const count = order.length;
    for (let i = 0; i < count; i++) {
      const at = order[i]!;
      halves[2 * i + LOW] = at;
      halves[2 * i + HIGH] = this.wordOf(at, shared);
    }
    keys.subarray(0, count).sort();
    const runs: number[] = [];
    let from = 0;
    for (let i = 0; i < count; i++) {
      order[i] = halves[2 * i + LOW]!;
      if (i + 1 < count && halves[2 * i + HIGH] === halves[2 * i + 2 + HIGH]) continue;
      if (i > from) runs.push(from, i + 1);
      from = i + 1;
    }
    for (let i = 0; i < runs.length; i += 2)
      this.sort(order.subarray(runs[i], runs[i + 1]), shared + 4, depth + 1);
  }

  /** Bytes that all rows begin with, `same` of them at least; -1 when more would not tell all of them apart. */
  private sharedOf(order: Uint32Array, same: number): number {
    const { lengths } = this;
    const first = order[0]!;
    let shared = lengths[first]!;
    let longest = shared;
    for (let i = 0; i < order.length; i++) {
      const at = order[i]!;
      const length = lengths[at]!;
      // It ended before, and only zeros may have followed where others went on.
      if (length < same) return -1;
      if (length > longest) longest = length;
      shared = this.sharedOfTwo(first, at, same, length < shared ? length : shared);
    }
    return longest === shared ? -1 : shared;
  }

  /** Bytes that two rows have in common; they have `same`, and are looked at up to `end`. */
  private sharedOfTwo(a: number, b: number, same: number, end: number): number {
    const { heads, mostHeads } = this;
    let at = same;
    if (a < mostHeads && b < mostHeads) {
      const headEnd = end < HEAD ? end : HEAD;
      const toB = (b - a) * HEAD;
      for (let i = a * HEAD + at; at < headEnd && heads[i] === heads[i + toB]; i++) at++;
      if (at < headEnd || at === end) return at;
    }
    return sharedOfRefs(this.arena, this.refs[a]!, this.refs[b]!, at, end);
  }

  /** Four bytes of a row from `from` on. */
  private wordOf(at: number, from: number): number {
    // Zeros are behind the end of a row in its head, too.
    return at < this.mostHeads && from + 4 <= HEAD
      ? this.headsView.getUint32(at * HEAD + from)
      : wordOfRef(this.arena, this.refs[at]!, from);
  }

  /** R2; rows share `same` bytes, or end before. */
  private compare(a: number, b: number, same: number): number {
    const { arena, lengths, heads, mostHeads } = this;
    const aRef = this.refs[a]!;
    const bRef = this.refs[b]!;
    const end = Math.min(lengths[a]!, lengths[b]!);
    if (a >= mostHeads || b >= mostHeads || end < same) return compareRefs(arena, aRef, bRef);
    const shared = this.sharedOfTwo(a, b, same, end);
    if (shared === end) return lengths[a]! - lengths[b]! || compareInRow(arena, aRef, bRef);
    if (shared < HEAD) return heads[a * HEAD + shared]! - heads[b * HEAD + shared]!;
    return compareRefs(arena, aRef, bRef, shared);
  }

  /** By insertion: the cells of one row are mostly in order. */
  private insertInOrder(order: Uint32Array, same: number): void {
    for (let i = 1; i < order.length; i++) {
      const each = order[i]!;
      let at = i;
      while (at > 0 && this.compare(order[at - 1]!, each, same) > 0) {
        order[at] = order[at - 1]!;
        at--;
      }
      order[at] = each;
    }
  }

  private lastOfEqual(refs: Uint32Array): Uint32Array {
    let count = 0;
    for (let i = 0; i < refs.length; i++) {
      const last = i + 1 === refs.length;
      if (last || compareRefs(this.arena, refs[i]!, refs[i + 1]!) !== 0) refs[count++] = refs[i]!;
    }
    return refs.subarray(0, count);
  }
}
