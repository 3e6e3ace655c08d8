import { ByteRanges, type RowNumbers, type RowNumbersMaker } from './row-code.js';

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
export class RowTable {
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
