import type { CellArena, CellBytes, CellRef } from './arena.js';
import { compareInRow, compareRefs, sharedOfRefs, wordOfRef } from './cell-order.js';

/** Runs of up to this many cells are sorted by comparing them. */
const SMALL_RUN = 12;
/** The most rounds of sorting by four bytes; only rows constructed for it need more. */
const MAX_DEPTH = 100;
const INITIAL_CAPACITY = 1 << 10;
/** Growth factor: the system allocates no memory for pages that are never written. */
const GROWTH = 4;
/** Leading bytes of rows that are copied side by side: the cells themselves are scattered over more memory than any cache has. */
const HEAD_BYTES = 48;
/** Cells whose rows' heads are copied; they take 48 MiB. */
const MAX_HEADS = 1 << 20;

/** The index of the low half of a 64-bit number on this machine. */
const LOW = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1 ? 0 : 1;
const HIGH = 1 - LOW;

/**
 * Collects and sorts the cells of one fill of a memstore: many cells in any order, as from a log, collected as they
 * come and sorted at the end. Rows are sorted by four bytes at a time, starting after the prefix that they share. That
 * touches each row once for four to eight of its bytes, whereas inserting cells one by one touches a row at every
 * second comparison.
 */
export class LoadedCells {
  private refs = new Uint32Array(INITIAL_CAPACITY);
  private lengths = new Uint16Array(INITIAL_CAPACITY);
  private heads = new Uint8Array(INITIAL_CAPACITY * HEAD_BYTES);
  private headsView = new DataView(this.heads.buffer);
  count = 0;
  private lastSeq = -1;
  /** Two cells may be equal in everything, seq included. */
  private repeats = false;
  /** For each cell of a run, four bytes of its row in the high half, and its index in the low half: sorted together. */
  private keys = new BigUint64Array(0);
  private halves = new Uint32Array(0);

  /** `mostHeads`: the number of cells whose rows' heads are copied. */
  constructor(
    private readonly arena: CellArena,
    private readonly mostHeads = MAX_HEADS,
  ) {}

  /** `ref` is the address of `cell` in the arena. Only cells of one row have the same `seq`. */
  add(ref: CellRef, cell: CellBytes, seq: number): void {
    const at = this.count;
    if (seq === this.lastSeq && compareInRow(this.arena, this.refs[at - 1]!, ref) >= 0) this.repeats = true;
    this.lastSeq = seq;
    if (at === this.refs.length) this.grow();
    this.refs[at] = ref;
    this.lengths[at] = cell.rowLength;
    if (at < this.mostHeads) this.copyHead(at * HEAD_BYTES, cell);
    this.count++;
  }

  /** Forgets all cells. */
  clear(): void {
    // Heads of shorter rows are padded with zeros.
    this.heads.fill(0, 0, Math.min(this.count, this.mostHeads) * HEAD_BYTES);
    this.count = 0;
    this.lastSeq = -1;
    this.repeats = false;
  }

  /** All cells in order; of cells that are equal in everything, seq included, the last one. */
  sorted(): Uint32Array {
    const { count, refs } = this;
    const sorted = refs.slice(0, count);
    if (!this.isSorted(sorted)) {
      const order = new Uint32Array(count);
      for (let i = 0; i < count; i++) order[i] = i;
      if (this.keys.length < count) {
        this.keys = new BigUint64Array(count);
        this.halves = new Uint32Array(this.keys.buffer);
      }
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
    this.heads = new Uint8Array(Math.min(room, MAX_HEADS) * HEAD_BYTES);
    this.heads.set(heads);
    this.headsView = new DataView(this.heads.buffer);
  }

  private copyHead(to: number, { view, rowOffset, rowLength }: CellBytes): void {
    const { headsView } = this;
    const length = rowLength < HEAD_BYTES ? rowLength : HEAD_BYTES;
    let i = 0;
    for (; i + 4 <= length; i += 4) headsView.setInt32(to + i, view.getInt32(rowOffset + i));
    for (; i < length; i++) headsView.setUint8(to + i, view.getUint8(rowOffset + i));
  }

  private isSorted(refs: Uint32Array): boolean {
    for (let i = 1; i < refs.length; i++)
      if (compareRefs(this.arena, refs[i - 1]!, refs[i]!) > 0) return false;
    return true;
  }

  /** Sorts a run of cell indexes, which come in the order of arrival, and whose rows share `same` bytes. */
  private sort(order: Uint32Array, same: number, depth: number): void {
    if (order.length <= SMALL_RUN) {
      this.insertInOrder(order, same);
      return;
    }
    const shared = this.sharedOf(order, same);
    if (shared < 0 || depth === MAX_DEPTH) {
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

  /** The length of the prefix that all rows share, at least `same`; -1 when further bytes cannot tell all of them apart. */
  private sharedOf(order: Uint32Array, same: number): number {
    const { lengths } = this;
    const first = order[0]!;
    let shared = lengths[first]!;
    let longest = shared;
    for (let i = 0; i < order.length; i++) {
      const at = order[i]!;
      const length = lengths[at]!;
      // It ended earlier, and only zeros may have followed where other rows continue.
      if (length < same) return -1;
      if (length > longest) longest = length;
      shared = this.sharedOfTwo(first, at, same, length < shared ? length : shared);
    }
    return longest === shared ? -1 : shared;
  }

  /** The length of the common prefix of two rows, which is at least `same` and is examined up to `end`. */
  private sharedOfTwo(a: number, b: number, same: number, end: number): number {
    const { heads, mostHeads } = this;
    let at = same;
    if (a < mostHeads && b < mostHeads) {
      const headEnd = end < HEAD_BYTES ? end : HEAD_BYTES;
      const toB = (b - a) * HEAD_BYTES;
      for (let i = a * HEAD_BYTES + at; at < headEnd && heads[i] === heads[i + toB]; i++) at++;
      if (at < headEnd || at === end) return at;
    }
    return sharedOfRefs(this.arena, this.refs[a]!, this.refs[b]!, at, end);
  }

  /** Four bytes of a row from `from`. */
  private wordOf(at: number, from: number): number {
    // Heads are padded with zeros after the end of a row, too.
    return at < this.mostHeads && from + 4 <= HEAD_BYTES
      ? this.headsView.getUint32(at * HEAD_BYTES + from)
      : wordOfRef(this.arena, this.refs[at]!, from);
  }

  /** R2 for two cells whose rows share `same` bytes, or are shorter. */
  private compare(a: number, b: number, same: number): number {
    const { arena, lengths, heads, mostHeads } = this;
    const aRef = this.refs[a]!;
    const bRef = this.refs[b]!;
    const end = Math.min(lengths[a]!, lengths[b]!);
    if (a >= mostHeads || b >= mostHeads || end < same) return compareRefs(arena, aRef, bRef);
    const shared = this.sharedOfTwo(a, b, same, end);
    if (shared === end) return lengths[a]! - lengths[b]! || compareInRow(arena, aRef, bRef);
    if (shared < HEAD_BYTES) return heads[a * HEAD_BYTES + shared]! - heads[b * HEAD_BYTES + shared]!;
    return compareRefs(arena, aRef, bRef, shared);
  }

  /** Insertion sort: the cells of one row are mostly in order. */
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
