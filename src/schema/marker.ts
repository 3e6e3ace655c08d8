/**
 * The values of marker cells: one byte, the version that the row was written as, and of an entity that ends 8 bytes more,
 * big-endian, the time of its end in ms.
 */

import { MARKER_VALUE } from './types.js';

export const LAST_VERSION = 255;

const VALUES = new Map<number, Uint8Array>([[1, MARKER_VALUE]]);

/** The marker of a version, the same object at each call. */
export function markerValue(version: number): Uint8Array {
  let value = VALUES.get(version);
  if (value === undefined) {
    value = Uint8Array.of(version);
    VALUES.set(version, value);
  }
  return value;
}

/** The marker of a version and of a row that ends then (ms); undefined: it does not end. */
export function markerUntil(version: number, end: number | undefined): Uint8Array {
  if (end === undefined) return markerValue(version);
  const value = Buffer.alloc(9);
  value[0] = version;
  value.writeBigUInt64BE(BigInt(end), 1);
  return new Uint8Array(value);
}

/** The end that a marker tells (ms); of one written before ends were kept, that of its own cell. */
export function endOf(
  marker: Uint8Array,
  timestamp: number,
  fallback: number | undefined,
): number | undefined {
  if (marker.length === 9) return Number(Buffer.from(marker).readBigUInt64BE(1));
  if (marker.length !== 1 || fallback === undefined) return undefined;
  return timestamp + fallback;
}

/** The version that a marker tells; undefined when it is none that Rowan wrote, or was read without its value. */
export function versionOf(marker: Uint8Array): number | undefined {
  return marker.length === 1 || marker.length === 9 ? marker[0] : undefined;
}
