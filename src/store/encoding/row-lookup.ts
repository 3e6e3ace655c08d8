import type { SeekKey } from '../cursor.js';
import { hashRow, lane1 } from './row-hash.js';

/** Positions that a code takes in at most. */
export const MOST_POSITIONS = 16;
/** Codes are below it: small integers to V8. */
export const LIMIT = 2 ** 31;
/** Stands for the byte behind a row's end; it sorts before every byte. */
export const ABSENT = -1;

/** Gives rows numbers below {@link LIMIT}: of a row that begins as all do one that is less than another's only if the row is. */
export interface RowNumbers {
  of(bytes: Uint8Array, offset: number, length: number): number;
}

/** Makes numbers that suit the rows it has been shown. */
export interface RowNumbersMaker {
  add(bytes: Uint8Array, offset: number, length: number): void;
  make(): RowNumbers;
}

/**
 * Numbers for the rows of a sorted run, in their order as far as they tell rows apart. Each byte behind what all rows
 * begin with is a digit, and counts only as many values as the rows have there: nine decimal digits fit into 31 bits,
 * where bytes as such would be four, and rows that count up have numbers that do. So where a row stands among the others
 * can be guessed well.
 */
export class InterpolationKey implements RowNumbers {
  private positions = 0;
  /** Of each position: the least byte, and how many digits there are. */
  private readonly least = new Int16Array(MOST_POSITIONS);
  private readonly radix = new Int32Array(MOST_POSITIONS);
  /** Bits that are left out of the last position. */
  private shift = 0;

  /** @param skip bytes that all rows begin with; nothing of them is in the code */
  constructor(
    private readonly skip: number,
    range: ByteRanges,
  ) {
    let product = 1;
    for (let i = 0; i < MOST_POSITIONS; i++) {
      const span = range.greatest[i]! - range.least[i]!;
      // Behind the last byte of the longest row nothing is to be told.
      if (span < 0 || range.greatest[i] === ABSENT) break;
      while (product * ((span >> this.shift) + 1) > LIMIT) this.shift++;
      if (this.shift > 0 && span >> this.shift === 0) {
        this.shift = 0;
        break;
      }
      this.least[i] = range.least[i]!;
      this.radix[i] = (span >> this.shift) + 1;
      product *= this.radix[i]!;
      this.positions++;
      if (this.shift > 0) break;
    }
  }

  of(bytes: Uint8Array, offset: number, length: number): number {
    const { least, radix, skip, positions, shift } = this;
    const last = positions - 1;
    let code = 0;
    for (let i = 0; i < positions; i++) {
      const at = skip + i;
      let digit = (at < length ? bytes[offset + at]! : ABSENT) - least[i]!;
      if (i === last) digit >>= shift;
      const digits = radix[i]!;
      if (digit < 0) return this.fill(code, i, 0);
      if (digit >= digits) return this.fill(code, i, 1);
      code = code * digits + digit;
    }
    return code;
  }

  /** The least (0) or greatest (1) number whose first `count` digits are those of `code`. */
  private fill(code: number, count: number, greatest: 0 | 1): number {
    let filled = code;
    for (let i = count; i < this.positions; i++) {
      const digits = this.radix[i]!;
      filled = filled * digits + greatest * (digits - 1);
    }
    return filled;
  }
}

/** Which bytes the rows of a run have at each position behind their common beginning. */
export class ByteRanges implements RowNumbersMaker {
  readonly least = new Int16Array(MOST_POSITIONS).fill(256);
  readonly greatest = new Int16Array(MOST_POSITIONS).fill(-2);

  constructor(private readonly skip: number) {}

  add(bytes: Uint8Array, offset: number, length: number): void {
    const { least, greatest, skip } = this;
    for (let i = 0; i < MOST_POSITIONS; i++) {
      const at = skip + i;
      const byte = at < length ? bytes[offset + at]! : ABSENT;
      if (byte < least[i]!) least[i] = byte;
      if (byte > greatest[i]!) greatest[i] = byte;
    }
  }

  make(): InterpolationKey {
    return new InterpolationKey(this.skip, this);
  }
}

/** One row of a block, and whatever the decoder finds its entry by. */
export class RowPlace {
  bytes: Uint8Array = new Uint8Array(0);
  offset = 0;
  length = 0;
  place = 0;
}

/**
 * A block's rows in a few cache lines: the number of each entry's row ({@link RowNumbers}), and where the entry is. A
 * search in the cells themselves waits for memory at every step. Made for a block that is searched often;
 * scans never need it.
 */
export class PrefixIndex {
  /** Two numbers an entry: code, and whatever the decoder finds the entry by. */
  private readonly pairs: Int32Array;
  private readonly code: RowNumbers;
  /** The least and the greatest code: kept here, nearer than the ends of the array. */
  private readonly first: number;
  private readonly last: number;

  /**
   * @param head what all rows begin with
   * @param entry gives the row of an entry; the rows are in order
   * @param numbers makes the numbers of rows
   */
  constructor(
    private readonly count: number,
    readonly head: Uint8Array,
    entry: (i: number, into: RowPlace) => void,
    numbers: RowNumbersMaker = new ByteRanges(head.length),
  ) {
    const row = new RowPlace();
    for (let i = 0; i < count; i++) {
      entry(i, row);
      numbers.add(row.bytes, row.offset, row.length);
    }
    this.code = numbers.make();
    this.pairs = new Int32Array(2 * count);
    for (let i = 0; i < count; i++) {
      entry(i, row);
      this.pairs[2 * i] = this.code.of(row.bytes, row.offset, row.length);
      this.pairs[2 * i + 1] = row.place;
    }
    this.first = this.pairs[0]!;
    this.last = this.pairs[2 * count - 2]!;
  }

  static bytes(count: number): number {
    return 8 * count;
  }

  /** The code of a row that begins with the head. */
  codeOf(row: Uint8Array, offset: number, length: number): number {
    return this.code.of(row, offset, length);
  }

  place(i: number): number {
    return this.pairs[2 * i + 1]!;
  }

  /** Where all rows stand in relation to a row that does not begin as they do; 0 when it does. */
  compareHead(row: Uint8Array, offset: number, length: number): number {
    const { head } = this;
    for (let i = 0; i < head.length; i++) {
      if (i >= length) return 1;
      const difference = head[i]! - row[offset + i]!;
      if (difference !== 0) return difference;
    }
    return 0;
  }

  /**
   * The first entry whose code is not less than `code`, at or after `from`. Looks first where it would be if rows
   * were spread evenly, which spares most of a binary search.
   */
  lowerBound(code: number, from: number): number {
    const { pairs, count, last } = this;
    if (from >= count) return count;
    const first = from === 0 ? this.first : pairs[2 * from]!;
    if (code <= first) return from;
    if (code > last) return count;
    // first < code <= last, so the two differ and the answer is in (from, count).
    const guess = from + Math.floor(((code - first) / (last - first)) * (count - 1 - from));
    let low = from + 1;
    let high = count - 1;
    let step = 4;
    if (pairs[2 * guess]! < code) {
      low = guess + 1;
      while (low + step < high && pairs[2 * (low + step)]! < code) {
        low += step + 1;
        step *= 2;
      }
      if (low + step < high) high = low + step;
    } else {
      high = guess;
      while (high - step > low && pairs[2 * (high - step)]! >= code) {
        high -= step;
        step *= 2;
      }
      if (high - step > low) low = high - step;
    }
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (pairs[2 * middle]! < code) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The first entry after `from`, whose code this is, that has another code. */
  upperBound(code: number, from: number): number {
    const { pairs, count } = this;
    let low = from + 1;
    // Most rows are alone with their code.
    if (low >= count || pairs[2 * low]! !== code) return low;
    let high = count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (pairs[2 * middle]! <= code) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Whether entry `i` has this code. */
  has(i: number, code: number): boolean {
    return i < this.count && this.pairs[2 * i] === code;
  }
}

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
export class RowHashIndex {
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
