/**
 * A growing buffer into which keys and values are written. There is one for each layout or module, because writing is
 * never reentrant.
 */
export class KeyWriter {
  buffer: Uint8Array;
  /** Bytes written so far. */
  length = 0;

  constructor(capacity = 256) {
    this.buffer = new Uint8Array(capacity);
  }

  /** Makes room for `count` more bytes. */
  ensure(count: number): void {
    const needed = this.length + count;
    if (needed <= this.buffer.length) return;
    const grown = new Uint8Array(Math.max(needed, 2 * this.buffer.length));
    grown.set(this.buffer.subarray(0, this.length));
    this.buffer = grown;
  }

  push(byte: number): void {
    this.ensure(1);
    this.buffer[this.length++] = byte;
  }

  append(bytes: Uint8Array): void {
    const count = bytes.length;
    this.ensure(count);
    const { buffer, length } = this;
    if (count > 32) buffer.set(bytes, length);
    else for (let i = 0; i < count; i++) buffer[length + i] = bytes[i]!;
    this.length = length + count;
  }

  /** Replaces every 00 from `start` on by 00 FF. */
  escape(start: number): void {
    let zeros = 0;
    for (let i = start; i < this.length; i++) if (this.buffer[i] === 0) zeros++;
    if (zeros === 0) return;
    this.ensure(zeros);
    const { buffer } = this;
    let to = this.length + zeros;
    for (let from = this.length - 1; from >= start; from--) {
      const byte = buffer[from]!;
      if (byte === 0) buffer[--to] = 0xff;
      buffer[--to] = byte;
    }
    this.length += zeros;
  }

  /** Inverts every bit from `start` on: descending order. */
  invert(start: number): void {
    const { buffer, length } = this;
    for (let i = start; i < length; i++) buffer[i] = ~buffer[i]!;
  }

  /** A copy of the bytes from `start` on. */
  copy(start = 0): Uint8Array {
    const count = this.length - start;
    if (count > 64) return this.buffer.slice(start, this.length);
    const out = new Uint8Array(count);
    for (let i = 0; i < count; i++) out[i] = this.buffer[start + i]!;
    return out;
  }
}
