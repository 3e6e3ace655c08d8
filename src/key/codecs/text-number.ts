import { SchemaError } from '../../errors.js';
import { BaseCodec, badBytes, type ScalarCodec } from './base.js';
import { digitsOf, readDigits, writeDigits } from './digits.js';
import type { KeyWriter } from './writer.js';

class TextNumberCodec<T extends number | bigint> extends BaseCodec<T> {
  readonly name: string;

  constructor(
    readonly fixedLength: number,
    private readonly as: 'number' | 'bigint',
  ) {
    super();
    this.name = `textNumber(${fixedLength}${as === 'number' ? '' : ',bigint'})`;
  }

  write(value: T, out: KeyWriter): void {
    writeDigits(digitsOf(value, this.as, this.fixedLength, this.name), this.fixedLength, out);
  }

  read(bytes: Uint8Array, start: number, end: number): T {
    const digits = readDigits(bytes, start, end, this);
    if (this.as === 'bigint') return BigInt(digits) as T;
    const value = Number(digits);
    if (!Number.isSafeInteger(value)) throw badBytes(this.name, bytes, start, end, 'it is beyond 2^53-1');
    return value as T;
  }
}

/** A whole number from 0 on as exactly `width` decimal digits: readable in the shell. */
export function textNumber(width: number, as?: 'number'): ScalarCodec<number>;

export function textNumber(width: number, as: 'bigint'): ScalarCodec<bigint>;

export function textNumber(
  width: number,
  as: 'number' | 'bigint' = 'number',
): ScalarCodec<number> | ScalarCodec<bigint> {
  if (!Number.isInteger(width) || width < 1 || width > 38) {
    throw new SchemaError(`textNumber(${width}): the width must be a whole number of digits from 1 to 38.`);
  }
  return as === 'number' ? new TextNumberCodec<number>(width, as) : new TextNumberCodec<bigint>(width, as);
}
