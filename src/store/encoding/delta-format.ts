/**
 * The encodings PREFIX, DIFF and FAST_DIFF: each cell by how it differs from the one before. FROZEN, see
 * docs/formats.md. A payload is the cells, then the table of restarts (u32 each: the places of cells 0, 16, 32, …),
 * then the number of cells, u32. The first cell behind a restart differs from a cell of which everything is empty or 0.
 *
 * Numbers are varints. [x] stands only where the flags do not say that it is as before.
 *
 *     PREFIX     shared row, rest of row, shared qualifier, rest of qualifier, value length, type u8,
 *                timestamp, seq, ttl; row bytes, qualifier bytes, value
 *     DIFF       flags u8, [shared row, rest of row], [shared qualifier, rest of qualifier], [value length],
 *                [type u8], distance of timestamp, distance of seq, ttl if there is one; row bytes, qualifier bytes, value
 *     FAST_DIFF  as DIFF, but instead of the distances: u8 with the numbers of low bytes in which the timestamp (low
 *                half) and the seq (high half) differ, then these bytes; no value bytes if it is as before
 */

/** Cells from one restart to the next. */
export const RESTART_INTERVAL = 16;
/** The number of cells, at the end of the payload. */
export const TAIL_BYTES = 4;

export const DeltaFlag = {
  SameRow: 1,
  SameQualifier: 2,
  SameValueLength: 4,
  SameType: 8,
  Ttl: 16,
  /** DIFF: the timestamp is less than the one before. */
  EarlierTimestamp: 32,
  /** DIFF: the seq is less than the one before. */
  LowerSeq: 64,
  /** FAST_DIFF: the value is the one before. */
  SameValue: 128,
} as const;
