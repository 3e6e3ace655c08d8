import { BaseCodec, badValue, type ValueRange } from './base.js';
import { getInteger, putInteger, wrongLength } from './integer-bytes.js';
import { signedPieces } from './signed-pieces.js';
import type { KeyWriter } from './writer.js';

/** Two's complement as HBase's `Bytes.toBytes(short/int)`: negative numbers sort behind the others. */
export class RawIntegerCodec extends BaseCodec<number> {
  override readonly ordered = false;
  private readonly limit: number;

  constructor(
    readonly name: string,
    readonly fixedLength: number,
    private readonly ascending: BaseCodec<number>,
  ) {
    super();
    this.limit = 2 ** (8 * fixedLength - 1);
  }

  write(value: number, out: KeyWriter): void {
    if (!Number.isInteger(value) || value < -this.limit || value >= this.limit) {
      throw badValue(this.name, value, `a whole number from ${-this.limit} to ${this.limit - 1}`);
    }
    const size = this.fixedLength;
    out.ensure(size);
    putInteger(out.buffer, out.length, size, value < 0 ? value + 2 * this.limit : value);
    out.length += size;
  }

  read(bytes: Uint8Array, start: number, end: number): number {
    if (end - start !== this.fixedLength) throw wrongLength(this, bytes, start, end);
    const value = getInteger(bytes, start, this.fixedLength);
    return value < this.limit ? value : value - 2 * this.limit;
  }

  override get order(): BaseCodec<number> {
    return this.ascending;
  }

  override pieces(range: ValueRange): readonly ValueRange[] {
    return signedPieces(range, -this.limit, 0, -1, this.limit - 1);
  }
}
