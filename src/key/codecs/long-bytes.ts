/** 64-bit values, big-endian, as bigints and as safe integers. */

import type { KeyWriter } from './writer.js';

const scratch = new Uint8Array(8);
const scratchView = new DataView(scratch.buffer);

/** The sign bit of the first byte: flipped, negative numbers order before the others. */
export const SIGN = 0x80;

/** Appends the 8 bytes of `value` modulo 2^64, the first one XOR `flip`. */
export function writeBigInt(value: bigint, flip: number, out: KeyWriter): void {
  scratchView.setBigUint64(0, BigInt.asUintN(64, value));
  out.ensure(8);
  const { buffer, length } = out;
  buffer[length] = scratch[0]! ^ flip;
  for (let i = 1; i < 8; i++) buffer[length + i] = scratch[i]!;
  out.length = length + 8;
}

/** 8 bytes, the first one XOR `flip`, to be read at once: the view is used again. */
export function viewLong(bytes: Uint8Array, start: number, flip: number): DataView {
  for (let i = 0; i < 8; i++) scratch[i] = bytes[start + i]!;
  scratch[0] = scratch[0]! ^ flip;
  return scratchView;
}

/** Appends a safe integer as 8 bytes, two's complement, the first one XOR `flip`. */
export function writeSafe(value: number, flip: number, out: KeyWriter): void {
  out.ensure(8);
  const { buffer, length } = out;
  const high = Math.floor(value / 2 ** 32);
  const low = value - high * 2 ** 32;
  buffer[length] = ((high >> 24) & 0xff) ^ flip;
  buffer[length + 1] = high >> 16;
  buffer[length + 2] = high >> 8;
  buffer[length + 3] = high;
  buffer[length + 4] = low >>> 24;
  buffer[length + 5] = low >>> 16;
  buffer[length + 6] = low >>> 8;
  buffer[length + 7] = low;
  out.length = length + 8;
}

/** Reads 8 bytes of two's complement, the first one XOR `flip`; exact within safe integers. */
export function readSafe(bytes: Uint8Array, start: number, flip: number): number {
  const high =
    ((bytes[start]! ^ flip) << 24) | (bytes[start + 1]! << 16) | (bytes[start + 2]! << 8) | bytes[start + 3]!;
  const low =
    (bytes[start + 4]! << 24) | (bytes[start + 5]! << 16) | (bytes[start + 6]! << 8) | bytes[start + 7]!;
  return high * 2 ** 32 + (low >>> 0);
}
