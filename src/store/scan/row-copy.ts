import { copySlice, EMPTY_BYTES } from '../../bytes/index.js';
import type { CellCursor } from '../cursor.js';

/** Bytes of a slab: large enough to be replaced rarely, small enough that one retained value does not retain much. */
const SLAB_BYTES = 64 * 1024;
/** Values longer than this are not copied ahead: they may not be needed. */
const MAX_AHEAD = 512;
/** Longer values get their own buffer. */
const LARGE_BYTES = 4096;

/**
 * Copies the bytes of cells, many into one buffer. What readers receive does not change with the block or memstore it came from,
 * and changes that they make do not reach the store.
 */
export class ByteSlab {
  private buffer: ArrayBufferLike = new ArrayBuffer(0);
  private bytes: Uint8Array = EMPTY_BYTES;
  private position = 0;
  /** The bytes that were copied ahead after `position`: their source, offset and length. */
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
   * Like `copy`, and also copies the bytes after it up to `end`: one longer copy costs less than two. The first `copyNext` uses them if
   * it comes before any other copy and before the source changes; otherwise they are discarded.
   */
  copyAhead(source: Uint8Array, offset: number, length: number, end: number): Uint8Array {
    const all = end - offset;
    if (length === 0 || all > MAX_AHEAD) return this.copy(source, offset, length);
    if (this.position + all > this.bytes.length) this.refill();
    const { bytes, position } = this;
    copySlice(source, offset, all, bytes, position);
    this.position = position + length;
    this.ahead = source;
    this.aheadFrom = offset + length;
    this.aheadLength = all - length;
    return new Uint8Array(this.buffer, position, length);
  }

  /** Like `copy`, for bytes that `copyAhead` may have copied already. The source must not have changed since. */
  copyNext(source: Uint8Array, offset: number, length: number): Uint8Array {
    const skipped = offset - this.aheadFrom;
    if (source !== this.ahead || skipped < 0 || skipped + length > this.aheadLength || length === 0)
      return this.copy(source, offset, length);
    const at = this.position + skipped;
    this.ahead = null;
    this.position = at + length;
    return new Uint8Array(this.buffer, at, length);
  }

  /** Undoes the last copy, which nobody has received. */
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

/** Shared by all readers, because reads are synchronous. */
export const slab: ByteSlab = new ByteSlab();

/** A copy of the row at a cursor. */
export function copyRow(cell: CellCursor): Uint8Array {
  return slab.copy(cell.key, cell.rowOffset, cell.rowLength);
}

/**
 * Like `copyRow`, for a row whose first cell is likely to be made next (with `fresh` in `CellMaker.make`): the value is copied with
 * the row, which it follows.
 */
export function copyRowAhead(cell: CellCursor): Uint8Array {
  const { key, rowOffset, rowLength } = cell;
  if (key !== cell.value) return slab.copy(key, rowOffset, rowLength);
  return slab.copyAhead(key, rowOffset, rowLength, cell.valueOffset + cell.valueLength);
}

/** Undoes the copy of the last row, which nobody has received. */
export function dropRow(row: Uint8Array): void {
  slab.undo(row);
}
