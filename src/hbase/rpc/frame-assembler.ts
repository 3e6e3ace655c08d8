import { ProtocolError } from './errors.js';

/** Takes one whole frame, `buffer[start, end)`, without its length. */
export type FrameHandler = (buffer: Buffer, start: number, end: number) => void;

const NO_CHUNKS: Buffer[] = [];

/**
 * Cuts a stream into frames: `int32 length | bytes`. Frames that lie in one chunk are handed on in place; others are
 * put together once. A length is believed only up to `maxFrameSize`, and memory grows with the bytes that have come,
 * never with the length that was announced.
 */
export class FrameAssembler {
  private chunks: Buffer[] = NO_CHUNKS;
  private buffered = 0;
  /** Length of the frame that is being collected, its own four bytes included; 0: not known yet. */
  private needed = 0;

  constructor(
    private readonly maxFrameSize: number,
    private readonly handler: FrameHandler,
  ) {}

  /** @throws ProtocolError on an impossible length, and what the handler throws. */
  push(chunk: Buffer): void {
    if (this.buffered === 0) {
      this.cut(chunk);
      return;
    }
    this.chunks.push(chunk);
    this.buffered += chunk.length;
    if (this.needed === 0) {
      if (this.buffered < 4) return;
      const joined = this.join();
      this.cut(joined);
      return;
    }
    if (this.buffered >= this.needed) this.cut(this.join());
  }

  /** Forgets what has been collected. */
  clear(): void {
    this.chunks = NO_CHUNKS;
    this.buffered = 0;
    this.needed = 0;
  }

  private join(): Buffer {
    const joined = this.chunks.length === 1 ? this.chunks[0]! : Buffer.concat(this.chunks, this.buffered);
    this.clear();
    return joined;
  }

  private cut(data: Buffer): void {
    let at = 0;
    while (data.length - at >= 4) {
      const length = data.readInt32BE(at);
      if (length < 1 || length > this.maxFrameSize) {
        throw new ProtocolError(
          `The server announced an answer of ${length} bytes; the limit is ${this.maxFrameSize}.`,
        );
      }
      if (data.length - at - 4 < length) {
        this.keep(data, at, length + 4);
        return;
      }
      this.handler(data, at + 4, at + 4 + length);
      at += 4 + length;
    }
    if (at < data.length) this.keep(data, at, 0);
  }

  private keep(data: Buffer, from: number, needed: number): void {
    this.chunks = [from === 0 ? data : data.subarray(from)];
    this.buffered = data.length - from;
    this.needed = needed;
  }
}
