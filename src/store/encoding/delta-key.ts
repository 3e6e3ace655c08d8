import { EMPTY_BYTES } from '../../bytes/index.js';

const FIRST_ROW_CAPACITY = 128;
const FIRST_CAPACITY = 512;

/** The key of the present cell, put together from what it shares with the key before and the rest. */
export class DeltaKey {
  /** The row from 0 on, the qualifier from `qualifierAt` on. */
  bytes: Uint8Array = EMPTY_BYTES;
  rowLength = 0;
  qualifierAt = 0;
  qualifierLength = 0;
  /** How many bytes the row shares with the row before. */
  private shared = 0;
  /** How many bytes the last row that was compared shares with the row that it was compared with. */
  private matched = 0;

  /** Back to an empty key. */
  clear(): void {
    this.rowLength = 0;
    this.qualifierLength = 0;
    this.shared = 0;
  }

  /** The row stays as it is. */
  keepRow(): void {
    this.shared = this.rowLength;
  }

  /** False when the row before has not so much to share, or the rest runs over `limit`. */
  setRow(shared: number, source: Uint8Array, from: number, rest: number, limit: number): boolean {
    if (shared > this.rowLength || from + rest > limit) return false;
    const length = shared + rest;
    if (length > this.qualifierAt) this.grow(length, this.qualifierLength);
    const { bytes } = this;
    if (rest < 24) for (let i = 0; i < rest; i++) bytes[shared + i] = source[from + i]!;
    else bytes.set(source.subarray(from, from + rest), shared);
    this.rowLength = length;
    this.shared = shared;
    return true;
  }

  /** As `setRow`. */
  setQualifier(shared: number, source: Uint8Array, from: number, rest: number, limit: number): boolean {
    if (shared > this.qualifierLength || from + rest > limit) return false;
    const length = shared + rest;
    if (this.qualifierAt + length > this.bytes.length) this.grow(this.rowLength, length);
    const { bytes } = this;
    const at = this.qualifierAt + shared;
    if (rest < 24) for (let i = 0; i < rest; i++) bytes[at + i] = source[from + i]!;
    else bytes.set(source.subarray(from, from + rest), at);
    this.qualifierLength = length;
    return true;
  }

  /** The row, copied. */
  row(): Uint8Array {
    return this.bytes.slice(0, this.rowLength);
  }

  compareRow(row: Uint8Array, offset: number, length: number): number {
    const { bytes, rowLength } = this;
    const shorter = rowLength < length ? rowLength : length;
    let i = 0;
    while (i < shorter && bytes[i] === row[offset + i]) i++;
    this.matched = i;
    return i < shorter ? bytes[i]! - row[offset + i]! : rowLength - length;
  }

  /**
   * After `compareRow` found the row before less than another: whether that shows already that this row is less too,
   * since it shares the byte that made the difference.
   */
  isStillLess(): boolean {
    return this.shared > this.matched;
  }

  private grow(rowLength: number, qualifierLength: number): void {
    const rowCapacity = Math.max(
      FIRST_ROW_CAPACITY,
      this.qualifierAt,
      rowLength > this.qualifierAt ? 2 * rowLength : 0,
    );
    const larger = new Uint8Array(Math.max(FIRST_CAPACITY, rowCapacity + 2 * qualifierLength));
    larger.set(this.bytes.subarray(0, this.rowLength));
    larger.set(this.bytes.subarray(this.qualifierAt, this.qualifierAt + this.qualifierLength), rowCapacity);
    this.bytes = larger;
    this.qualifierAt = rowCapacity;
  }
}
