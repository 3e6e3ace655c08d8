import { BaseCodec, badBytes, badValue, type ScalarCodec } from './base.js';
import { wrongLength } from './integer-bytes.js';
import type { KeyWriter } from './writer.js';

/** One byte: `no` or `yes`. */
export class BooleanCodec extends BaseCodec<boolean> {
  readonly fixedLength = 1;

  constructor(
    readonly name: string,
    private readonly yes: number,
  ) {
    super();
  }

  write(value: boolean, out: KeyWriter): void {
    if (typeof value !== 'boolean') throw badValue(this.name, value, 'true or false');
    out.push(value ? this.yes : 0);
  }

  read(bytes: Uint8Array, start: number, end: number): boolean {
    if (end - start !== 1) throw wrongLength(this, bytes, start, end);
    const byte = bytes[start]!;
    if (byte !== 0 && byte !== this.yes)
      throw badBytes(this.name, bytes, start, end, `it is neither 0 nor ${this.yes}`);
    return byte !== 0;
  }
}

/** 00 or 01: false before true. */
export const boolean: ScalarCodec<boolean> = new BooleanCodec('boolean', 1);
