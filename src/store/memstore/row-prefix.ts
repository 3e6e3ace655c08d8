/** Rows as numbers: comparing these needs no look at the cells, which are somewhere else in memory. */

/** Bytes of a row that one number holds. */
export const PREFIX_BYTES = 6;

/**
 * The 48 bits of a row behind its first `skipped` bytes, zeros where it is at its end. Rows that share what is skipped
 * are in the order of these numbers, as far as they differ.
 */
export function prefixOf(row: Uint8Array, offset: number, length: number, skipped: number): number {
  const from = offset + skipped;
  const end = offset + length;
  if (from >= end) return 0;
  let high = 0;
  let low = 0;
  if (from + PREFIX_BYTES <= end) {
    high = (row[from]! << 16) | (row[from + 1]! << 8) | row[from + 2]!;
    low = (row[from + 3]! << 16) | (row[from + 4]! << 8) | row[from + 5]!;
  } else {
    for (let i = 0; i < 3; i++) high = (high << 8) | (from + i < end ? row[from + i]! : 0);
    for (let i = 3; i < PREFIX_BYTES; i++) low = (low << 8) | (from + i < end ? row[from + i]! : 0);
  }
  return high * 0x1000000 + low;
}
