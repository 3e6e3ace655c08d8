import { BaseCodec, badValue } from '../codecs/base.js';
import { float32, float64 } from '../codecs/floats.js';
import { wrongLength } from '../codecs/integer-bytes.js';
import type { KeyWriter } from '../codecs/writer.js';

const view = new DataView(new ArrayBuffer(8));

/** `Bytes.toBytes(float/double)`: every number, NaN and -0 included. Negative numbers sort behind, in reverse. */
export class RawFloatCodec extends BaseCodec<number> {
  override readonly ordered = false;

  constructor(
    readonly name: string,
    readonly fixedLength: 4 | 8,
  ) {
    super();
  }

  write(value: number, out: KeyWriter): void {
    if (typeof value !== 'number') throw badValue(this.name, value, 'a number');
    const size = this.fixedLength;
    if (size === 8) view.setFloat64(0, value);
    else {
      if (!Object.is(Math.fround(value), value)) {
        throw badValue(this.name, value, 'a number that 32 bits hold exactly (Math.fround)');
      }
      view.setFloat32(0, value);
    }
    for (let i = 0; i < size; i++) out.push(view.getUint8(i));
  }

  read(bytes: Uint8Array, start: number, end: number): number {
    const size = this.fixedLength;
    if (end - start !== size) throw wrongLength(this, bytes, start, end);
    for (let i = 0; i < size; i++) view.setUint8(i, bytes[start + i]!);
    return size === 8 ? view.getFloat64(0) : view.getFloat32(0);
  }

  override get order(): BaseCodec<number> {
    return (this.fixedLength === 8 ? float64 : float32) as BaseCodec<number>;
  }
}
