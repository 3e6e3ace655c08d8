import type { CellCursor } from '../cursor.js';

const FIRST_CAPACITY = 1 << 12;
const TWO_32 = 0x100000000;

/** Builds the payload of one data block after another. */
export abstract class BlockEncoder {
  /** The payload so far; its first `length` bytes count. */
  bytes: Uint8Array = new Uint8Array(FIRST_CAPACITY);
  view: DataView = new DataView(this.bytes.buffer);
  length = 0;
  /** Cells in the block. */
  count = 0;

  /**
   * Adds the cell at which `cursor` stands, which comes after the last one.
   * @param sharedRow how many bytes its row begins with in common with the row of the cell before, also across blocks
   * @param sameRow whether the rows are equal
   * @param sharedQualifier the same for the qualifiers
   */
  abstract append(cursor: CellCursor, sharedRow: number, sameRow: boolean, sharedQualifier: number): void;

  /** Adds the tables that end the block. The payload is then `bytes` up to `length`, until `reset`. */
  abstract finish(): void;

  /** Begins a new block. */
  reset(): void {
    this.length = 0;
    this.count = 0;
  }

  /** Makes room for `more` bytes behind `length`. */
  protected reserve(more: number): void {
    const needed = this.length + more;
    if (needed <= this.bytes.length) return;
    const larger = new Uint8Array(Math.max(needed, this.bytes.length * 2));
    larger.set(this.bytes.subarray(0, this.length));
    this.bytes = larger;
    this.view = new DataView(larger.buffer);
  }

  /** Writes an integer of 0..2^53-1 in eight bytes, at a place that is reserved. */
  protected putU64(at: number, value: number): void {
    this.view.setUint32(at, value % TWO_32, true);
    this.view.setUint32(at + 4, value / TWO_32, true);
  }

  /** Appends bytes at `at`, which are reserved; returns the place after them. */
  protected putBytes(at: number, source: Uint8Array, offset: number, length: number): number {
    const bytes = this.bytes;
    if (length < 24) for (let i = 0; i < length; i++) bytes[at + i] = source[offset + i]!;
    else bytes.set(source.subarray(offset, offset + length), at);
    return at + length;
  }
}
