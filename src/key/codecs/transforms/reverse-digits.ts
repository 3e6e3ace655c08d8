import { BaseCodec, badBytes, badValue } from '../base.js';
import { bigint } from '../bigint.js';
import { digitsOf, readDigits, writeDigits } from '../digits.js';
import { int53 } from '../int53.js';
import { text } from '../text.js';
import type { KeyWriter } from '../writer.js';
import { reverseText } from './reverse-text.js';

export class ReverseDigitsCodec<T extends number | bigint | string> extends BaseCodec<T> {
  readonly name: string;
  override readonly uniform = 'digits';
  override readonly ordered = false;

  constructor(
    readonly fixedLength: number,
    private readonly as: 'number' | 'bigint' | 'string',
  ) {
    super();
    this.name = `reverseDigits(${fixedLength}${as === 'number' ? '' : `,${as}`})`;
  }

  write(value: T, out: KeyWriter): void {
    const width = this.fixedLength;
    const start = out.length;
    if (this.as === 'string') {
      if (typeof value !== 'string' || value.length !== width || /[^0-9]/.test(value)) {
        throw badValue(this.name, value, `a text of exactly ${width} digits`);
      }
      writeDigits(value, width, out);
    } else {
      writeDigits(digitsOf(value, this.as, width, this.name), width, out);
    }
    out.buffer.subarray(start, out.length).reverse();
  }

  read(bytes: Uint8Array, start: number, end: number): T {
    const digits = reverseText(readDigits(bytes, start, end, this));
    if (this.as === 'string') return digits as T;
    if (this.as === 'bigint') return BigInt(digits) as T;
    const value = Number(digits);
    if (!Number.isSafeInteger(value)) throw badBytes(this.name, bytes, start, end, 'it is beyond 2^53-1');
    return value as T;
  }

  override writeSuffix(value: unknown, out: KeyWriter): boolean | undefined {
    if (this.as !== 'string') return undefined;
    if (typeof value !== 'string' || value.length > this.fixedLength || /[^0-9]/.test(value)) {
      throw badValue(this.name, value, `a text of at most ${this.fixedLength} digits`);
    }
    writeDigits(reverseText(value), value.length, out);
    return true;
  }

  override writePrefix(value: unknown): boolean | undefined {
    return this.as === 'string' ? value === '' : undefined;
  }

  override get order(): BaseCodec<T> {
    const order: unknown = this.as === 'number' ? int53 : this.as === 'bigint' ? bigint : text;
    return order as BaseCodec<T>;
  }
}
