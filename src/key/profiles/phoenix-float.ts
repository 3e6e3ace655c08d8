import { copyBytes } from '../../bytes/index.js';
import { BaseCodec, type ScalarCodec } from '../codecs/base.js';
import { wrongLength } from '../codecs/integer-bytes.js';
import type { KeyWriter } from '../codecs/writer.js';

/** FLOAT and DOUBLE: Rowan's bytes plus one, which leaves 00.. for null. */
export class PhoenixFloatCodec extends BaseCodec<number> {
  readonly fixedLength: number;
  private readonly inner: BaseCodec<number>;

  constructor(
    readonly name: string,
    inner: ScalarCodec<number>,
  ) {
    super();
    this.inner = inner as BaseCodec<number>;
    this.fixedLength = this.inner.fixedLength!;
  }

  write(value: number, out: KeyWriter): void {
    this.inner.write(value, out);
    addOne(out.buffer, out.length - this.fixedLength, out.length, 1);
  }

  read(bytes: Uint8Array, start: number, end: number): number {
    if (end - start !== this.fixedLength) throw wrongLength(this, bytes, start, end);
    const own = copyBytes(bytes, start, end);
    addOne(own, 0, own.length, -1);
    return this.inner.read(own, 0, own.length);
  }
}

/** Adds 1 or -1 to a big-endian number in place. */
function addOne(bytes: Uint8Array, start: number, end: number, delta: 1 | -1): void {
  const carry = delta === 1 ? 0 : 0xff;
  for (let i = end - 1; i >= start; i--) {
    bytes[i] = bytes[i]! + delta;
    if (bytes[i] !== carry) return;
  }
}
