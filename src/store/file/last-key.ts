import type { CellCursor } from '../cursor.js';

/** The key of the cell written last. The next cell is compared with it once, for all uses of the result. */
export class LastKey {
  /** Row, then qualifier. */
  private bytes = new Uint8Array(256);
  private rowLength = 0;
  private qualifierLength = 0;
  private timestamp = 0;
  private type = 0;
  private seq = 0;
  private empty = true;
  /** The result of the comparison: the lengths of the common prefixes, and whether row and column are equal. */
  sharedRow = 0;
  sameRow = false;
  sharedQualifier = 0;
  sameColumn = false;

  /** Replaces the last cell by the one at `cursor`. False, and no change, when that sorts before it or has an empty row. */
  advance(cursor: CellCursor): boolean {
    const { rowLength, qualifierLength } = cursor;
    if (rowLength === 0 || !this.compare(cursor)) return false;
    if (rowLength + qualifierLength > this.bytes.length)
      this.bytes = grown(this.bytes, rowLength + qualifierLength);
    const bytes = this.bytes;
    const { key, rowOffset, qualifierOffset } = cursor;
    if (!this.sameRow) {
      for (let i = this.sharedRow; i < rowLength; i++) bytes[i] = key[rowOffset + i]!;
      this.rowLength = rowLength;
    }
    if (!this.sameRow || !this.sameColumn) {
      for (let i = 0; i < qualifierLength; i++) bytes[rowLength + i] = key[qualifierOffset + i]!;
      this.qualifierLength = qualifierLength;
    }
    this.timestamp = cursor.timestamp;
    this.type = cursor.type;
    this.seq = cursor.seq;
    this.empty = false;
    return true;
  }

  /** The row of the last cell. */
  row(): Uint8Array {
    return this.bytes.slice(0, this.rowLength);
  }

  /** Sets the result of the comparison; false when the cell sorts before the last one. */
  private compare(cursor: CellCursor): boolean {
    const { bytes, rowLength, qualifierLength } = this;
    const { key, rowOffset, qualifierOffset } = cursor;
    let length = rowLength < cursor.rowLength ? rowLength : cursor.rowLength;
    let shared = 0;
    while (shared < length && bytes[shared] === key[rowOffset + shared]) shared++;
    this.sharedRow = shared;
    this.sameRow = shared === rowLength && shared === cursor.rowLength;
    const rowInOrder =
      shared < length ? bytes[shared]! < key[rowOffset + shared]! : rowLength <= cursor.rowLength;
    length = qualifierLength < cursor.qualifierLength ? qualifierLength : cursor.qualifierLength;
    let sharedQualifier = 0;
    while (
      sharedQualifier < length &&
      bytes[rowLength + sharedQualifier] === key[qualifierOffset + sharedQualifier]
    )
      sharedQualifier++;
    this.sharedQualifier = sharedQualifier;
    const sameQualifier = sharedQualifier === qualifierLength && sharedQualifier === cursor.qualifierLength;
    this.sameColumn = this.sameRow && sameQualifier && !this.empty;
    if (this.empty || !this.sameRow) return rowInOrder;
    if (!sameQualifier) {
      return sharedQualifier < length
        ? bytes[rowLength + sharedQualifier]! < key[qualifierOffset + sharedQualifier]!
        : qualifierLength < cursor.qualifierLength;
    }
    if (this.timestamp !== cursor.timestamp) return this.timestamp > cursor.timestamp;
    if (this.type !== cursor.type) return this.type > cursor.type;
    return this.seq >= cursor.seq;
  }
}

function grown(bytes: Uint8Array, needed: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(needed * 2);
  larger.set(bytes);
  return larger;
}
