/**
 * A block's rows in a few cache lines: 31 bits of each entry's row, behind what all rows of the block begin with, and
 * where the entry is. A search in the cells themselves waits for memory at every step. Made when a block is searched
 * for the second time; scans never need it.
 */
export class RowTable {
  /** Two numbers an entry: prefix, and whatever the decoder finds the entry by. */
  private readonly pairs: Int32Array;
  /** The least and the greatest prefix: kept here, nearer than the ends of the array. */
  private first = 0;
  private last = 0;

  /** `head`: what all rows begin with; the prefixes are taken behind it. */
  constructor(
    private readonly count: number,
    readonly head: Uint8Array,
  ) {
    this.pairs = new Int32Array(2 * count);
  }

  static bytes(count: number): number {
    return 8 * count;
  }

  set(i: number, prefix: number, place: number): void {
    if (i === 0) this.first = prefix;
    if (i === this.count - 1) this.last = prefix;
    this.pairs[2 * i] = prefix;
    this.pairs[2 * i + 1] = place;
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
   * The first entry whose prefix is not less than `prefix`, at or after `from`. Looks first where it would be if rows
   * were spread evenly, which spares most of a binary search.
   */
  lowerBound(prefix: number, from: number): number {
    const { pairs, count, last } = this;
    if (from >= count) return count;
    const first = from === 0 ? this.first : pairs[2 * from]!;
    if (prefix <= first) return from;
    if (prefix > last) return count;
    // first < prefix <= last, so the two differ and the answer is in (from, count).
    const guess = from + Math.floor(((prefix - first) / (last - first)) * (count - 1 - from));
    let low = from + 1;
    let high = count - 1;
    let step = 4;
    if (pairs[2 * guess]! < prefix) {
      low = guess + 1;
      while (low + step < high && pairs[2 * (low + step)]! < prefix) {
        low += step + 1;
        step *= 2;
      }
      if (low + step < high) high = low + step;
    } else {
      high = guess;
      while (high - step > low && pairs[2 * (high - step)]! >= prefix) {
        high -= step;
        step *= 2;
      }
      if (high - step > low) low = high - step;
    }
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (pairs[2 * middle]! < prefix) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The first entry after `from`, whose prefix this is, that has another prefix. */
  upperBound(prefix: number, from: number): number {
    const { pairs, count } = this;
    let low = from + 1;
    // Most rows are alone with their prefix.
    if (low >= count || pairs[2 * low]! !== prefix) return low;
    let high = count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (pairs[2 * middle]! <= prefix) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Whether entry `i` has this prefix. */
  has(i: number, prefix: number): boolean {
    return i < this.count && this.pairs[2 * i] === prefix;
  }
}

/**
 * 31 bits of a row from byte `skip` on, as a number that compares as they do; zeros stand for what is not there. No more
 * bits, so that the number is a small integer to V8.
 */
export function rowPrefix(bytes: Uint8Array, offset: number, length: number, skip: number): number {
  const at = offset + skip;
  if (length - skip >= 4)
    return ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 1;
  let prefix = 0;
  for (let i = skip; i < skip + 4; i++) prefix = (prefix << 8) | (i < length ? bytes[offset + i]! : 0);
  return prefix >>> 1;
}
