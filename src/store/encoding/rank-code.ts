/**
 * Numbers for rows that are few and far from each other, as those of an index are: unlike in {@link RowCode} a byte counts
 * as many values as there are different ones at its place, not as many as there are between the least and the greatest. Of
 * addresses of pages, whose domains are of `com`, `de` and `org`, four letters are thirty values and not a million, and what
 * tells the rows apart has a place in the number.
 */

import { ABSENT, LIMIT, MOST_POSITIONS, type RowNumbers, type RowNumbersMaker } from './row-code.js';

/** Values of a position: that there is no byte, and every byte. */
const VALUES = 257;

/** Which bytes the rows of a run have at each position behind their common beginning. */
export class ByteSets implements RowNumbersMaker {
  private readonly present = new Uint8Array(MOST_POSITIONS * VALUES);

  constructor(private readonly skip: number) {}

  add(bytes: Uint8Array, offset: number, length: number): void {
    const { present, skip } = this;
    for (let i = 0; i < MOST_POSITIONS; i++) {
      const at = skip + i;
      present[i * VALUES + (at < length ? bytes[offset + at]! : ABSENT) - ABSENT] = 1;
    }
  }

  make(): RankCode {
    return new RankCode(this.skip, this.present);
  }
}

export class RankCode implements RowNumbers {
  private positions = 0;
  /** Of each position and value: how many values that rows have there are less, twice, and one more if rows have it. */
  private readonly ranks: Uint16Array;
  /** Of each position: how many digits there are. */
  private readonly radix = new Int32Array(MOST_POSITIONS);
  /** Bits that are left out of the last position. */
  private shift = 0;

  /**
   * @param skip bytes that all rows begin with; nothing of them is in the code
   * @param present of each position and value whether a row has it
   */
  constructor(
    private readonly skip: number,
    present: Uint8Array,
  ) {
    const ranks = new Uint16Array(MOST_POSITIONS * VALUES);
    let product = 1;
    while (this.positions < MOST_POSITIONS && this.shift === 0) {
      const start = this.positions * VALUES;
      let count = 0;
      for (let value = 0; value < VALUES; value++) {
        const has = present[start + value]!;
        ranks[start + value] = (count << 1) | has;
        count += has;
      }
      // Behind the last byte of the longest row nothing is to be told.
      if (count === 1 && present[start] === 1) break;
      let shift = 0;
      while (product * (((count - 1) >> shift) + 1) > LIMIT) shift++;
      const digits = ((count - 1) >> shift) + 1;
      if (shift > 0 && digits === 1) break;
      this.shift = shift;
      this.radix[this.positions++] = digits;
      product *= digits;
    }
    this.ranks = ranks.slice(0, this.positions * VALUES);
  }

  of(bytes: Uint8Array, offset: number, length: number): number {
    const { ranks, radix, skip, positions, shift } = this;
    const last = positions - 1;
    let code = 0;
    for (let i = 0; i < positions; i++) {
      const at = skip + i;
      const rank = ranks[i * VALUES + (at < length ? bytes[offset + at]! : ABSENT) - ABSENT]!;
      const digits = radix[i]!;
      const digit = i === last ? rank >> (1 + shift) : rank >> 1;
      if (digit >= digits) return this.fill(code, i, 1);
      code = code * digits + digit;
      // Between two values that rows have: before all rows that have the greater.
      if ((rank & 1) === 0) return this.fill(code, i + 1, 0);
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
