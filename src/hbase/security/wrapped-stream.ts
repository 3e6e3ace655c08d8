import { ProtocolError } from '../rpc/errors.js';
import { FrameAssembler } from '../rpc/frame-assembler.js';
import type { SecurityLayer } from './authenticator.js';

/** Signs or seals single messages, in their order. */
export interface MessageLayer {
  wrap(message: Buffer): Buffer | Promise<Buffer>;
  /** @throws RowanError when the message was changed on the way. */
  unwrap(message: Buffer): Buffer | Promise<Buffer>;
}

/** The most that is wrapped at once: what Java's SASL takes, less what signing and sealing add. */
const LARGEST_PART = 60_000;
/** A server wraps an answer as a whole. */
const LARGEST_MESSAGE = 1 << 30;

/** A stream of wrapped messages as HBase sends it: `int32 length | wrapped`. */
export class WrappedStream implements SecurityLayer {
  private readonly arrived: Buffer[] = [];
  private readonly frames = new FrameAssembler(LARGEST_MESSAGE, {
    frame: (buffer, start, end) => this.arrived.push(buffer.subarray(start, end)),
    oversized: (_buffer, _start, _end, length) => {
      throw new ProtocolError(`The server announced a wrapped message of ${length} bytes.`);
    },
  });

  constructor(private readonly layer: MessageLayer) {}

  async wrap(data: Buffer): Promise<Buffer> {
    const parts: Buffer[] = [];
    for (let at = 0; at < data.length; at += LARGEST_PART) {
      const wrapped = await this.layer.wrap(data.subarray(at, at + LARGEST_PART));
      const length = Buffer.alloc(4);
      length.writeInt32BE(wrapped.length);
      parts.push(length, wrapped);
    }
    return Buffer.concat(parts);
  }

  async unwrap(data: Buffer): Promise<Buffer[]> {
    this.frames.push(data);
    const messages: Buffer[] = [];
    for (const message of this.arrived.splice(0)) messages.push(await this.layer.unwrap(message));
    return messages;
  }
}
