import { BaseCodec, badBytes, badValue } from '../base.js';
import { date, MAX_DATE, timeOf } from '../date.js';
import { readDigits, writeDigits } from '../digits.js';
import { int53 } from '../int53.js';
import { wrongLength } from '../integer-bytes.js';
import { readSafe, writeSafe } from '../long-bytes.js';
import type { KeyWriter } from '../writer.js';

/** Long.MAX_VALUE - ms: in unsigned arithmetic right before 1970 as well. */
export class ReverseTimestampCodec<T extends Date | number> extends BaseCodec<T> {
  readonly name: string;
  readonly fixedLength: number;
  override readonly descending = true;

  constructor(
    private readonly as: 'date' | 'number',
    private readonly text: boolean,
  ) {
    super();
    const options = [...(as === 'number' ? ['number'] : []), ...(text ? ['text'] : [])];
    this.name = `reverseTimestamp${options.length > 0 ? `(${options.join(',')})` : ''}`;
    this.fixedLength = text ? TEXT_WIDTH : 8;
  }

  write(value: T, out: KeyWriter): void {
    const ms = this.as === 'date' ? timeOf(value, this.name) : (value as number);
    if (this.as === 'number' && !(Number.isSafeInteger(ms) && typeof value === 'number')) {
      throw badValue(this.name, value, 'a whole number of milliseconds');
    }
    if (this.text) {
      if (ms < 0)
        throw badValue(
          this.name,
          value,
          'a time from 1970 on: as text the digits of earlier ones sort wrongly',
        );
      writeDigits((LONG_MAX - BigInt(ms)).toString(), TEXT_WIDTH, out);
    } else {
      // MAX - ms is ~ms with the sign bit flipped.
      writeSafe(-1 - ms, SIGN, out);
    }
  }

  read(bytes: Uint8Array, start: number, end: number): T {
    if (end - start !== this.fixedLength) throw wrongLength(this, bytes, start, end);
    const ms = this.text
      ? Number(LONG_MAX - BigInt(readDigits(bytes, start, end, this)))
      : -1 - readSafe(bytes, start, SIGN);
    const limit = this.as === 'date' ? MAX_DATE : Number.MAX_SAFE_INTEGER;
    if (Math.abs(ms) > limit) throw badBytes(this.name, bytes, start, end, 'the time is out of range');
    return (this.as === 'date' ? new Date(ms) : ms) as T;
  }

  override get order(): BaseCodec<T> {
    return (this.as === 'date' ? date : int53) as unknown as BaseCodec<T>;
  }
}

const LONG_MAX = 2n ** 63n - 1n;

const TEXT_WIDTH = 19;

const SIGN = 0x80;
