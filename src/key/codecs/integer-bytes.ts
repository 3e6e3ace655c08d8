/** Whole numbers of 1 to 8 bytes, big-endian. */

import { type BaseCodec, badBytes } from './base.js';

/** Writes `value`, 0..2^53-1, as `size` bytes, at most 8. */
export function putInteger(target: Uint8Array, offset: number, size: number, value: number): void {
  let rest = value;
  if (size > 4) {
    const high = Math.floor(value / 2 ** 32);
    for (let i = size - 5, h = high; i >= 0; i--, h >>>= 8) target[offset + i] = h;
    rest = value - high * 2 ** 32;
  }
  let low = rest >>> 0;
  for (let i = size - 1; i >= 0 && i >= size - 4; i--, low >>>= 8) target[offset + i] = low;
}

/** Reads what `putInteger` wrote. */
export function getInteger(bytes: Uint8Array, start: number, size: number): number {
  let value = 0;
  for (let i = 0; i < size; i++) value = value * 256 + bytes[start + i]!;
  return value;
}

/** The error of a value that is not as long as it must be. */
export function wrongLength(codec: BaseCodec<unknown>, bytes: Uint8Array, start: number, end: number): Error {
  return badBytes(codec.name, bytes, start, end, `it has ${codec.fixedLength} bytes, not ${end - start}`);
}
