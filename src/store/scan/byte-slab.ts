import { copySlice, EMPTY_BYTES } from '../../bytes/index.js';

/** Bytes of one slab: large enough that it is rarely replaced, small enough that one kept value does not hold much. */
const SLAB_BYTES = 64 * 1024;
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

  copy(source: Uint8Array, offset: number, length: number): Uint8Array {
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

  /** Takes back the last copy, which nobody was given. */
  undo(copy: Uint8Array): void {
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
