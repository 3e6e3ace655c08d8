import type { PartTransform } from '../elements.js';
import { BaseCodec, badBytes, badValue, type Framing, type KeyWriter, wrongLength } from './base.js';
import { date, MAX_DATE, timeOf } from './desc.js';
import { bigint, IntegerCodec, int53, readSafe, writeSafe } from './integers.js';
import { digitsOf, readDigits, writeDigits } from './numbers.js';
import { readUtf8, text, writeUtf8 } from './text.js';

/** A dictionary id: an integer whose order is unrelated to the value it stands for. */
class IdCodec extends IntegerCodec {
  override readonly ordered = false;
  override readonly hasRanges = false;

  constructor(dictionary: string, bytes: number) {
    super(`id${bytes}(${dictionary})`, bytes, 0, Math.min(256 ** bytes - 1, Number.MAX_SAFE_INTEGER));
  }

  override write(value: number, out: KeyWriter): void {
    if (typeof value === 'string') {
      throw badValue(
        this.name,
        value,
        "the dictionary's id of the text. To use texts, bind the layout to its dictionaries",
      );
    }
    super.write(value, out);
  }
}

/** Reverses the characters (code points). Applied twice it gives the text again. */
function reverseText(text: string): string {
  let out = '';
  for (const character of text) out = character + out;
  return out;
}

class ReverseDigitsCodec<T extends number | bigint | string> extends BaseCodec<T> {
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
        throw badValue(this.name, value, `a string of exactly ${width} digits`);
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
    if (!Number.isSafeInteger(value)) throw badBytes(this.name, bytes, start, end, 'it is above 2^53-1');
    return value as T;
  }

  override writeSuffix(value: unknown, out: KeyWriter): boolean | undefined {
    if (this.as !== 'string') return undefined;
    if (typeof value !== 'string' || value.length > this.fixedLength || /[^0-9]/.test(value)) {
      throw badValue(this.name, value, `a string of at most ${this.fixedLength} digits`);
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

abstract class ReversedTextCodec extends BaseCodec<string> {
  readonly fixedLength = undefined;
  override readonly framing: Framing = 'escaped';
  override readonly ordered = false;

  /** Transforms a text; it is its own inverse. */
  protected abstract turn(text: string): string;

  write(value: string, out: KeyWriter): void {
    if (typeof value !== 'string') throw badValue(this.name, value, 'a string');
    writeUtf8(this.turn(value), out, this.name);
  }

  read(bytes: Uint8Array, start: number, end: number): string {
    return this.turn(readUtf8(bytes, start, end, this.name));
  }

  override writePrefix(value: unknown): boolean {
    if (typeof value !== 'string') throw badValue(this.name, value, 'a string');
    return value === '';
  }

  override get order(): BaseCodec<string> {
    return text as BaseCodec<string>;
  }
}

class ReverseDomainCodec extends ReversedTextCodec {
  readonly name = 'reverseDomain(text)';

  protected turn(text: string): string {
    return text.split('.').reverse().join('.');
  }

  /**
   * For ".apache.org", writes the bytes of "org.apache.". The text before the first dot may be the end of a label, so
   * it is left out.
   */
  override writeSuffix(value: unknown, out: KeyWriter): boolean {
    if (typeof value !== 'string') throw badValue(this.name, value, 'a string');
    const labels = value.split('.');
    const partial = labels.shift()!;
    const known = labels.reverse().map((label) => `${label}.`);
    if (partial !== '' && known.length === 0) return false;
    writeUtf8(known.join(''), out, this.name);
    return partial === '';
  }
}

/** Long.MAX_VALUE - ms. In unsigned arithmetic this is also correct before 1970. */
class ReverseTimestampCodec<T extends Date | number> extends BaseCodec<T> {
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
          'a time not before 1970, since the digits of earlier ones sort wrongly as text',
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

class ReverseCodec extends ReversedTextCodec {
  readonly name = 'reverse(text)';

  protected turn(text: string): string {
    return reverseText(text);
  }

  override writeSuffix(value: unknown, out: KeyWriter): boolean {
    this.write(value as string, out);
    return true;
  }
}

/** The codec of a transformed part: reversed text, domains and digits, and reversed timestamps. */
export function transformCodec(transform: PartTransform): BaseCodec<unknown> {
  switch (transform.kind) {
    case 'reverse':
      return new ReverseCodec() as BaseCodec<unknown>;
    case 'reverseDomain':
      return new ReverseDomainCodec() as BaseCodec<unknown>;
    case 'reverseDigits':
      return new ReverseDigitsCodec(transform.width, transform.as) as BaseCodec<unknown>;
    case 'reverseTimestamp':
      return new ReverseTimestampCodec(transform.as, transform.text) as BaseCodec<unknown>;
    case 'substitute':
      return new IdCodec(transform.dictionary, transform.bytes) as BaseCodec<unknown>;
  }
}
