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
export class RowCode implements RowNumbers {
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

  make(): RowCode {
    return new RowCode(this.skip, this);
  }
}
