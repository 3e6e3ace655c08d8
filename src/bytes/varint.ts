/**
 * Unsigned variable-length integers, 0..2^53-1: seven bits a byte, lowest first, the top bit says that more follow
 * (LEB128). One to eight bytes; the shortest form is the only valid one.
 */

import { CorruptionError } from '../errors.js';

/** The most bytes that a varint takes. */
export const MAX_VARINT_LENGTH = 8;

/** How many bytes `value` takes. */
export function varintLength(value: number): number {
  let length = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) length++;
  return length;
}

/** Writes `value`, an integer in 0..2^53-1, at `offset` and returns the offset after it. */
export function writeVarint(target: Uint8Array, offset: number, value: number): number {
  let at = offset;
  let rest = value;
  if (rest >= 0x80000000) {
    // Times are all as large as this. The lower 28 bits and those above are handled as integers of 32 bits.
    const high = Math.floor(rest / 0x10000000);
    const low = rest - high * 0x10000000;
    target[at++] = (low & 0x7f) | 0x80;
    target[at++] = ((low >>> 7) & 0x7f) | 0x80;
    target[at++] = ((low >>> 14) & 0x7f) | 0x80;
    target[at++] = (low >>> 21) | 0x80;
    rest = high;
  }
  while (rest >= 0x80) {
    target[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  target[at++] = rest;
  return at;
}

/**
 * Reads varints one after another, never past `limit`. Reused: `reset` it to the next bytes.
 * @throws CorruptionError from `read` when the bytes end inside a number or are no varint.
 */
export class VarintReader {
  bytes: Uint8Array = new Uint8Array(0);
  /** The offset of the next byte. */
  position = 0;
  /** The offset after the last byte. */
  limit = 0;

  reset(bytes: Uint8Array, position: number, limit: number): void {
    this.bytes = bytes;
    this.position = position;
    this.limit = limit;
  }

  read(): number {
    const { bytes, limit } = this;
    let at = this.position;
    if (at < limit) {
      const first = bytes[at]!;
      if (first < 0x80) {
        this.position = at + 1;
        return first;
      }
    }
    let value = 0;
    let scale = 1;
    const end = Math.min(limit, at + MAX_VARINT_LENGTH);
    while (at < end) {
      const byte = bytes[at++]!;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        if ((byte === 0 && scale > 1) || value > Number.MAX_SAFE_INTEGER) break;
        this.position = at;
        return value;
      }
      scale *= 0x80;
    }
    throw new CorruptionError(`There is no valid number at byte ${this.position} of ${limit}.`, {
      details: { offset: this.position },
    });
  }
}
