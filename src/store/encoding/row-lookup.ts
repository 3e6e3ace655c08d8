import { hashRow, lane1 } from '../../bytes/bytes.js';
import type { SeekKey } from '../cursor.js';

/** The most positions of a row that a number covers. */
export const MAX_POSITIONS = 16;
/** Numbers are below this: small integers for V8. */
export const LIMIT = 2 ** 31;
/** Stands for the missing byte after a row's end; it sorts before every byte. */
export const ABSENT = -1;

/** Maps rows with a common prefix to numbers below {@link LIMIT}, in their order: a smaller number means a smaller row. */
export interface RowNumbers {
  of(bytes: Uint8Array, offset: number, length: number): number;
}

/** Creates a mapping that suits the rows it was shown. */
export interface RowNumbersMaker {
  add(bytes: Uint8Array, offset: number, length: number): void;
  make(): RowNumbers;
}

/**
 * Maps the rows of a sorted run to numbers, in their order, and distinguishes rows as far as possible. Each byte after the common
 * prefix is a digit with only as many values as lie between the least and the greatest byte there: nine decimal digits fit into
 * 31 bits, instead of four whole bytes, and rows that count up have numbers that do. So the position of a row among the others
 * can be interpolated well.
 */
class InterpolationKey implements RowNumbers {
  private positions = 0;
  /** For each position: the least byte, and the number of digits. */
  private readonly least = new Int16Array(MAX_POSITIONS);
  private readonly radix = new Int32Array(MAX_POSITIONS);
  /** The number of low bits of the last position that are left out. */
  private shift = 0;

  /** @param skip the length of the common prefix, which is not part of the number */
  constructor(
    private readonly skip: number,
    range: ByteRanges,
  ) {
    let product = 1;
    for (let i = 0; i < MAX_POSITIONS; i++) {
      const span = range.greatest[i]! - range.least[i]!;
      // After the last byte of the longest row there is nothing to distinguish.
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

/** Collects the range of bytes that the rows of a run have at each position after their common prefix. */
export class ByteRanges implements RowNumbersMaker {
  readonly least = new Int16Array(MAX_POSITIONS).fill(256);
  readonly greatest = new Int16Array(MAX_POSITIONS).fill(-2);

  constructor(private readonly skip: number) {}

  add(bytes: Uint8Array, offset: number, length: number): void {
    const { least, greatest, skip } = this;
    for (let i = 0; i < MAX_POSITIONS; i++) {
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

/** One row of a block, and the place by which the decoder finds its entry. */
export class RowPlace {
  bytes: Uint8Array = new Uint8Array(0);
  offset = 0;
  length = 0;
  place = 0;
}

/**
 * The rows of a block in a few cache lines: the number of each entry's row ({@link RowNumbers}), and its place. A binary search in the
 * cells themselves would wait for memory at every step. Built for blocks that are searched often; scans
 * never need it.
 */
export class PrefixIndex {
  private readonly code: RowNumbers;
  /** The least and the greatest number, copied here because the ends of the array are further away. */
  private readonly first: number;
  private readonly last: number;

  /**
   * @param head the common prefix of all rows
   * @param entry fills in the row of an entry; the rows are sorted
   * @param numbers creates the numbers of rows
   * @param records for each entry 2^`shift` numbers, of which the first two are filled in: the row's number, and the place by which the
   *   decoder finds it
   */
  constructor(
    private readonly count: number,
    readonly head: Uint8Array,
    entry: (i: number, into: RowPlace) => void,
    numbers: RowNumbersMaker = new ByteRanges(head.length),
    private readonly records: Int32Array = new Int32Array(2 * count),
    private readonly shift: number = 1,
  ) {
    const row = new RowPlace();
    for (let i = 0; i < count; i++) {
      entry(i, row);
      numbers.add(row.bytes, row.offset, row.length);
    }
    this.code = numbers.make();
    for (let i = 0; i < count; i++) {
      entry(i, row);
      records[i << shift] = this.code.of(row.bytes, row.offset, row.length);
      records[(i << shift) + 1] = row.place;
    }
    this.first = records[0]!;
    this.last = records[(count - 1) << shift]!;
  }

  static bytes(count: number): number {
    return 8 * count;
  }

  /** The number of a row that begins with the common prefix. */
  codeOf(row: Uint8Array, offset: number, length: number): number {
    return this.code.of(row, offset, length);
  }

  place(i: number): number {
    return this.records[(i << this.shift) + 1]!;
  }

  /** Compares the common prefix with a row; 0 when the row begins with it. */
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
   * The first entry at or after `from` whose number is not less than `code`. First tries the position that rows spread evenly would
   * have, which saves most of a binary search.
   */
  lowerBound(code: number, from: number): number {
    const { records, shift, count, last } = this;
    if (from >= count) return count;
    const first = from === 0 ? this.first : records[from << shift]!;
    if (code <= first) return from;
    if (code > last) return count;
    // first < code <= last, so the two differ and the answer is in (from, count).
    const guess = from + Math.floor(((code - first) / (last - first)) * (count - 1 - from));
    let low = from + 1;
    let high = count - 1;
    let step = 4;
    if (records[guess << shift]! < code) {
      low = guess + 1;
      while (low + step < high && records[(low + step) << shift]! < code) {
        low += step + 1;
        step *= 2;
      }
      if (low + step < high) high = low + step;
    } else {
      high = guess;
      while (high - step > low && records[(high - step) << shift]! >= code) {
        high -= step;
        step *= 2;
      }
      if (high - step > low) low = high - step;
    }
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (records[middle << shift]! < code) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The first entry after `from` with another number than `code`, which is that of `from`. */
  upperBound(code: number, from: number): number {
    const { records, shift, count } = this;
    let low = from + 1;
    // Most rows have a number of their own.
    if (low >= count || records[low << shift]! !== code) return low;
    let high = count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (records[middle << shift]! <= code) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Whether entry `i` has this number. */
  has(i: number, code: number): boolean {
    return i < this.count && this.records[i << this.shift] === code;
  }
}

/** Limits of the slots' bits: more rows, or greater places, do not fit. */
const MAX_ROWS = 40_000;
const MAX_PLACE = 2 ** 24 - 2;
/** Slots for each row. */
const SLOTS_PER_ROW = 1.4;
const TAG_BITS = 8;
const TAG = (1 << TAG_BITS) - 1;

/**
 * A hash table of a block's rows: finds the first cell of a row in one step, whatever the rows look like. Built for blocks with many
 * row look-ups. A look-up waits for memory twice, here and at the row, so slots are small: 24 bits with the row's place plus
 * one, over eight bits of its hash.
 */
export class RowHashIndex {
  private readonly slots: Int32Array;

  /**
   * @param rows the number of rows, or more
   * @param entry fills in row `i` of the block and its place; false after the last
   */
  constructor(rows: number, entry: (i: number, into: RowPlace) => boolean) {
    this.slots = new Int32Array(Math.ceil(rows * SLOTS_PER_ROW) + 1);
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
    return Math.ceil(4 * SLOTS_PER_ROW * rows);
  }

  static fits(rows: number, greatestEntry: number): boolean {
    return rows <= MAX_ROWS && greatestEntry <= MAX_PLACE;
  }

  /** The first slot in which a row of this hash may be; -1 when there is none. */
  first(hash: number): number {
    return this.from(this.home(hash), hash);
  }

  /** The next such slot after `slot`. */
  after(slot: number, hash: number): number {
    return this.from(this.behind(slot), hash);
  }

  /** The place by which the decoder finds the row. */
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

/** Whether a row of a block is that of the target. Compares from the end: rows of a block mostly differ in their last bytes. */
export function isRowAt(bytes: Uint8Array, offset: number, length: number, target: SeekKey): boolean {
  if (length !== target.rowLength) return false;
  const { row, rowOffset } = target;
  for (let i = length - 1; i >= 0; i--) if (bytes[offset + i] !== row[rowOffset + i]) return false;
  return true;
}
