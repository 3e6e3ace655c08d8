import { copySlice, EMPTY_BYTES } from '../../bytes/index.js';
import type { CellCursor } from '../cursor.js';

/** Bytes of one slab: large enough that it is rarely replaced, small enough that one kept value does not hold much. */
const SLAB_BYTES = 64 * 1024;
/** Of more bytes none are copied ahead: they may not be asked for. */
const MOST_AHEAD = 512;
/** Longer values get memory of their own. */
const LARGE_BYTES = 4096;

/**
 * Copies of the bytes of cells, many in one piece of memory: what readers are given stays as it is, whatever becomes of
 * the block or memstore it came from, and nothing they do to it reaches the store.
 */
export class ByteSlab {
  private buffer: ArrayBufferLike = new ArrayBuffer(0);
  private bytes: Uint8Array = EMPTY_BYTES;
  private position = 0;
  /** The bytes that were copied ahead behind `position`: where they begin, and how many they are. */
  private ahead: Uint8Array | null = null;
  private aheadFrom = 0;
  private aheadLength = 0;

  copy(source: Uint8Array, offset: number, length: number): Uint8Array {
    this.ahead = null;
    if (length === 0) return EMPTY_BYTES;
    if (length > LARGE_BYTES) {
      const own = new Uint8Array(length);
      own.set(source.subarray(offset, offset + length));
      return own;
    }
    if (this.position + length > this.bytes.length) this.refill();
    const { bytes, position } = this;
    copySlice(source, offset, length, bytes, position);
    this.position = position + length;
    return new Uint8Array(this.buffer, position, length);
  }

  /**
   * As `copy`, and copies with it what stands behind it up to `end`: one copy of some more bytes costs less than two. It is
   * given to the first `copyNext`, if that comes before any other copy and before the source changes, and else forgotten.
   */
  copyAhead(source: Uint8Array, offset: number, length: number, end: number): Uint8Array {
    const all = end - offset;
    if (length === 0 || all > MOST_AHEAD) return this.copy(source, offset, length);
    if (this.position + all > this.bytes.length) this.refill();
    const { bytes, position } = this;
    copySlice(source, offset, all, bytes, position);
    this.position = position + length;
    this.ahead = source;
    this.aheadFrom = offset + length;
    this.aheadLength = all - length;
    return new Uint8Array(this.buffer, position, length);
  }

  /** As `copy`, of what `copyAhead` may have copied already. The source must be as it was then. */
  copyNext(source: Uint8Array, offset: number, length: number): Uint8Array {
    const skipped = offset - this.aheadFrom;
    if (source !== this.ahead || skipped < 0 || skipped + length > this.aheadLength || length === 0)
      return this.copy(source, offset, length);
    const at = this.position + skipped;
    this.ahead = null;
    this.position = at + length;
    return new Uint8Array(this.buffer, at, length);
  }

  /** Takes back the last copy, which nobody was given. */
  undo(copy: Uint8Array): void {
    this.ahead = null;
    if (copy.buffer === this.buffer && copy.byteOffset + copy.length === this.position) {
      this.position = copy.byteOffset;
    }
  }

  private refill(): void {
    const slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
    this.buffer = slab.buffer;
    this.bytes = new Uint8Array(slab.buffer, 0, SLAB_BYTES);
    this.position = 0;
  }
}

/** Bytes that readers are given are copied here. Scans are synchronous, so one slab serves them all. */
export const slab: ByteSlab = new ByteSlab();

/** A copy of the row that a cursor stands in. */
export function copyRow(cell: CellCursor): Uint8Array {
  return slab.copy(cell.key, cell.rowOffset, cell.rowLength);
}

/**
 * As `copyRow`, of a row whose first cell is likely to be made next, which is told so (`CellMaker.make`): its value is copied
 * with the row, behind which it stands.
 */
export function copyRowAhead(cell: CellCursor): Uint8Array {
  const { key, rowOffset, rowLength } = cell;
  if (key !== cell.value) return slab.copy(key, rowOffset, rowLength);
  return slab.copyAhead(key, rowOffset, rowLength, cell.valueOffset + cell.valueLength);
}

/** Gives back the last row copied, which was not given to anybody. */
export function dropRow(row: Uint8Array): void {
  slab.undo(row);
}
