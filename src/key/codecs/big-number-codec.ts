/**
 * Whole numbers of any size and decimals, ordered: a length byte (80 + n for n bytes of a positive number, 7F - n for
 * a negative one, 80 alone for zero), then the magnitude big-endian without leading zeros, inverted when negative.
 */

import { BaseCodec, badBytes, badValue, type Framing } from './base.js';
import type { KeyWriter } from './writer.js';

const MAX_BYTES = 127;

export function writeBig(value: bigint, out: KeyWriter, codec: string): void {
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

export function readBig(bytes: Uint8Array, start: number, end: number, codec: string): bigint {
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

export abstract class BigNumberCodec<T> extends BaseCodec<T> {
  readonly fixedLength = undefined;
  override readonly framing: Framing = 'self';

  override endOf(bytes: Uint8Array, start: number, mask: number): number {
    if (start >= bytes.length) return -1;
    const end = start + 1 + sizeOf(bytes[start]! ^ mask);
    return end <= bytes.length ? end : -1;
  }
}
