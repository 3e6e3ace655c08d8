/** Byte strings: unsigned lexicographic order, a shorter prefix first (HBase `Bytes.compareTo`). */

/** A byte string, or text that stands for its UTF-8 bytes. */
export type BytesLike = Uint8Array | string;

/** The empty byte string, shared. */
export const EMPTY_BYTES: Uint8Array = new Uint8Array(0);

const encoder = new TextEncoder();

/** The bytes of `value`; text becomes UTF-8 (lone surrogates become U+FFFD). A byte string is returned as it is. */
export function toBytes(value: BytesLike): Uint8Array {
  return typeof value === 'string' ? encoder.encode(value) : value;
}

/** Unsigned lexicographic order: negative, zero or positive. A byte loop beats `Buffer.compare` on short keys. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const aLength = a.length;
  const bLength = b.length;
  const length = aLength < bLength ? aLength : bLength;
  for (let i = 0; i < length; i++) {
    const difference = a[i]! - b[i]!;
    if (difference !== 0) return difference;
  }
  return aLength - bLength;
}

/** Unsigned lexicographic order of two slices, each given by buffer, offset and length. */
export function compareSlices(
  a: Uint8Array,
  aOffset: number,
  aLength: number,
  b: Uint8Array,
  bOffset: number,
  bLength: number,
): number {
  const length = aLength < bLength ? aLength : bLength;
  for (let i = 0; i < length; i++) {
    const difference = a[aOffset + i]! - b[bOffset + i]!;
    if (difference !== 0) return difference;
  }
  return aLength - bLength;
}

export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  const length = a.length;
  if (length !== b.length) return false;
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return false;
  return true;
}

export function startsWithBytes(value: Uint8Array, prefix: Uint8Array): boolean {
  const length = prefix.length;
  if (value.length < length) return false;
  for (let i = 0; i < length; i++) if (value[i] !== prefix[i]) return false;
  return true;
}

export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const out = new Uint8Array(length);
  let offset = 0;
  for (const part of parts) {
    out.set(part, offset);
    offset += part.length;
  }
  return out;
}

/** Up to this length a loop is faster than a bulk copy with the view it needs. */
const SHORT_BYTES = 24;

/** Copies a slice of `source` to `at` of `target`. */
export function copySlice(
  source: Uint8Array,
  offset: number,
  length: number,
  target: Uint8Array,
  at: number,
): void {
  if (length <= SHORT_BYTES) for (let i = 0; i < length; i++) target[at + i] = source[offset + i]!;
  else target.set(source.subarray(offset, offset + length), at);
}

/** The smallest byte string greater than `key`: `key` followed by 00. */
export function keyAfter(key: Uint8Array): Uint8Array {
  const out = new Uint8Array(key.length + 1);
  out.set(key);
  return out;
}

/**
 * The smallest byte string greater than every string that starts with `prefix`, the exclusive end of a prefix scan.
 * Undefined when there is none: the prefix is empty or all FF, and the scan runs to the end of the table.
 */
export function prefixEnd(prefix: Uint8Array): Uint8Array | undefined {
  let last = prefix.length - 1;
  while (last >= 0 && prefix[last] === 0xff) last--;
  if (last < 0) return undefined;
  const out = copyBytes(prefix, 0, last + 1);
  out[last] = out[last]! + 1;
  return out;
}

/** A copy of `bytes[start..end)` that shares no memory with it. (`slice` of a Buffer gives a view.) */
export function copyBytes(bytes: Uint8Array, start = 0, end: number = bytes.length): Uint8Array {
  const out = new Uint8Array(end - start);
  out.set(start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end));
  return out;
}
