/**
 * Whole numbers of any size and decimals, ordered: a length byte (80 + n for n bytes of a positive number, 7F - n for
 * a negative one, 80 alone for zero), then the magnitude big-endian without leading zeros, inverted when negative.
 */

import { SchemaError } from '../../errors.js';
import { describe } from '../../table/checks.js';
import { BaseCodec, badBytes, badValue, type Framing, type ScalarCodec } from './base.js';
import type { KeyWriter } from './writer.js';

const MAX_BYTES = 127;

function writeBig(value: bigint, out: KeyWriter, codec: string): void {
  if (value === 0n) {
    out.push(0x80);
    return;
  }
  const negative = value < 0n;
  let hex = (negative ? -value : value).toString(16);
  if (hex.length % 2 === 1) hex = `0${hex}`;
  const count = hex.length / 2;
  if (count > MAX_BYTES) throw badValue(codec, value, `a number of at most ${MAX_BYTES} bytes`);
  out.push(negative ? 0x7f - count : 0x80 + count);
  const start = out.length;
  for (let i = 0; i < count; i++) out.push(Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16));
  if (negative) out.invert(start);
}

/** Bytes of the number whose length byte is `head`. */
function sizeOf(head: number): number {
  return head >= 0x80 ? head - 0x80 : 0x7f - head;
}

function readBig(bytes: Uint8Array, start: number, end: number, codec: string): bigint {
  const head = bytes[start];
  if (head === undefined || end - start !== 1 + sizeOf(head) || head === 0x7f) {
    throw badBytes(codec, bytes, start, end, 'the length byte does not fit');
  }
  const flip = head < 0x80 ? 0xff : 0;
  let hex = '';
  for (let i = start + 1; i < end; i++) hex += (bytes[i]! ^ flip).toString(16).padStart(2, '0');
  if (hex.startsWith('00')) throw badBytes(codec, bytes, start, end, 'it has leading zeros');
  const magnitude = hex === '' ? 0n : BigInt(`0x${hex}`);
  return flip === 0 ? magnitude : -magnitude;
}

abstract class BigNumberCodec<T> extends BaseCodec<T> {
  readonly fixedLength = undefined;
  override readonly framing: Framing = 'self';

  override endOf(bytes: Uint8Array, start: number, mask: number): number {
    if (start >= bytes.length) return -1;
    const end = start + 1 + sizeOf(bytes[start]! ^ mask);
    return end <= bytes.length ? end : -1;
  }
}

class BigIntCodec extends BigNumberCodec<bigint> {
  readonly name = 'bigint';

  write(value: bigint, out: KeyWriter): void {
    if (typeof value !== 'bigint') throw badValue(this.name, value, 'a bigint');
    writeBig(value, out, this.name);
  }

  read(bytes: Uint8Array, start: number, end: number): bigint {
    return readBig(bytes, start, end, this.name);
  }
}

/** A whole number of up to 127 bytes (1016 bits). */
export const bigint: ScalarCodec<bigint> = new BigIntCodec();

class DecimalCodec extends BigNumberCodec<string> {
  readonly name: string;

  constructor(private readonly scale: number) {
    super();
    this.name = `decimal(${scale})`;
  }

  write(value: string, out: KeyWriter): void {
    writeBig(this.unscaled(value), out, this.name);
  }

  private unscaled(value: string): bigint {
    const match = typeof value === 'string' ? /^(-?)([0-9]+)(?:\.([0-9]+))?$/.exec(value) : null;
    const fraction = match?.[3] ?? '';
    if (match === null || fraction.length > this.scale) {
      throw badValue(
        this.name,
        value,
        `a text of digits with at most ${this.scale} behind the point, like "-12.5" (nothing is rounded)`,
      );
    }
    const magnitude = BigInt(match[2]! + fraction.padEnd(this.scale, '0'));
    return match[1] === '-' ? -magnitude : magnitude;
  }

  read(bytes: Uint8Array, start: number, end: number): string {
    const value = readBig(bytes, start, end, this.name);
    const digits = (value < 0n ? -value : value).toString().padStart(this.scale + 1, '0');
    const sign = value < 0n ? '-' : '';
    if (this.scale === 0) return sign + digits;
    const point = digits.length - this.scale;
    return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
  }
}

/**
 * An exact decimal number as text, with `scale` (0..100) digits behind the point. It is given back with exactly that
 * many digits: "12.5" with `decimal(2)` becomes "12.50". More digits than that are an error, never rounded.
 */
export function decimal(scale: number): ScalarCodec<string> {
  if (!Number.isInteger(scale) || scale < 0 || scale > 100) {
    throw new SchemaError(
      `decimal(): the scale must be a whole number of digits from 0 to 100, not ${describe(scale)}.`,
    );
  }
  return new DecimalCodec(scale);
}
