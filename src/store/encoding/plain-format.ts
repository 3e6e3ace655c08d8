/**
 * The cell of the encodings NONE and ROW_INDEX_V1. FROZEN, see docs/formats.md:
 *
 *     0   timestamp         u64
 *     8   seq               u64
 *     16  value length      u32
 *     20  qualifier length  u32
 *     24  row length        u16
 *     26  type              u8
 *     27  flags             u8   1: a time to live follows the value   2: the row is that of the cell before
 *     28  row (unless flag 2), qualifier, value, time to live u64 (with flag 1)
 */

export const CELL_HEADER_BYTES = 28;
export const FLAG_TTL = 1;
export const FLAG_SAME_ROW = 2;
export const TTL_BYTES = 8;

/** What a cell takes in the encoding NONE: the measure of block sizes. */
export function plainCellBytes(
  rowLength: number,
  qualifierLength: number,
  valueLength: number,
  ttl: number,
): number {
  return CELL_HEADER_BYTES + rowLength + qualifierLength + valueLength + (ttl === 0 ? 0 : TTL_BYTES);
}
