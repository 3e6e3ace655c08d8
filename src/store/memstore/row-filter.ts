/**
 * Which rows a memstore may have: bits by the hashes of rows, in layers, each four times as large as the one before, so
 * that nothing is hashed again while it grows. A row that is not there costs a look at a bit or two of each layer
 * instead of a search.
 */

/** Rows of the first layer. */
const FIRST_ROWS = 1 << 10;
const GROWTH = 4;
const BITS_PER_ROW = 8;

export class RowFilter {
  private readonly layers: Int32Array[] = [];
  /** Rows that the last layer still takes. */
  private left = 0;

  /** `hash1`, `hash2`: the lanes of the row's hash. */
  add(hash1: number, hash2: number): void {
    if (this.left === 0) this.grow();
    this.left--;
    const bits = this.layers[this.layers.length - 1]!;
    const mask = bits.length * 32 - 1;
    const first = hash1 & mask;
    const second = hash2 & mask;
    bits[first >>> 5]! |= 1 << (first & 31);
    bits[second >>> 5]! |= 1 << (second & 31);
  }

  /** False: the row was never added. */
  mayContain(hash1: number, hash2: number): boolean {
    const { layers } = this;
    // Most rows are in the last.
    for (let i = layers.length - 1; i >= 0; i--) {
      const bits = layers[i]!;
      const mask = bits.length * 32 - 1;
      const first = hash1 & mask;
      if ((bits[first >>> 5]! & (1 << (first & 31))) === 0) continue;
      const second = hash2 & mask;
      if ((bits[second >>> 5]! & (1 << (second & 31))) !== 0) return true;
    }
    return false;
  }

  private grow(): void {
    const rows = FIRST_ROWS * GROWTH ** this.layers.length;
    this.layers.push(new Int32Array((rows * BITS_PER_ROW) / 32));
    this.left = rows;
  }
}
