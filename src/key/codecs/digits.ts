/** Numbers written in decimal digits. */

import { type BaseCodec, badBytes, badValue } from './base.js';
import { wrongLength } from './integer-bytes.js';
import type { KeyWriter } from './writer.js';

/** Appends `digits`, padded with zeros on the left to `width`. */
export function writeDigits(digits: string, width: number, out: KeyWriter): void {
  out.ensure(width);
  const { buffer, length } = out;
  const zeros = width - digits.length;
  for (let i = 0; i < zeros; i++) buffer[length + i] = 0x30;
  for (let i = 0; i < digits.length; i++) buffer[length + zeros + i] = digits.charCodeAt(i);
  out.length = length + width;
}

/** The digits of `bytes[start..end)`. @throws RowanError `ERR_CODEC` when a byte is no digit. */
export function readDigits(bytes: Uint8Array, start: number, end: number, codec: BaseCodec<unknown>): string {
  if (end - start !== codec.fixedLength) throw wrongLength(codec, bytes, start, end);
  let text = '';
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!;
    if (byte < 0x30 || byte > 0x39)
      throw badBytes(codec.name, bytes, start, end, 'it has other bytes than digits');
    text += String.fromCharCode(byte);
  }
  return text;
}

/** The digits of a whole number that is not negative and has no more than `width` of them. */
export function digitsOf(value: unknown, as: 'number' | 'bigint', width: number, codec: string): string {
  const right =
    as === 'number'
      ? Number.isSafeInteger(value) && (value as number) >= 0
      : typeof value === 'bigint' && value >= 0n;
  const digits = right ? String(value) : '';
  if (!right || digits.length > width) {
    const type = as === 'number' ? 'whole number' : 'bigint';
    throw badValue(codec, value, `a ${type} from 0 on with at most ${width} digits`);
  }
  return digits;
}
