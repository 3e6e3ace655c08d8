/** Cells, as HBase has them (`KeyValue`, research rules R1-R8). */

/**
 * What a cell is. The codes are HBase's and stand in files and on the wire: FROZEN.
 * Order of two cells of the same row, column and timestamp: the higher code first.
 */
export const CellType = {
  /** A value. */
  Put: 4,
  /** Hides the put of exactly this timestamp in this column. */
  Delete: 8,
  /** Hides the puts of exactly this timestamp in every column of the family. */
  DeleteFamilyVersion: 10,
  /** Hides the puts of this column up to this timestamp. */
  DeleteColumn: 12,
  /** Hides the puts of every column of the family up to this timestamp. */
  DeleteFamily: 14,
} as const;
export type CellType = (typeof CellType)[keyof typeof CellType];

/**
 * "The time at which the server applies it", HBase's `LATEST_TIMESTAMP` (there `Long.MAX_VALUE`, here 2^53-1).
 * Timestamps are integer milliseconds 0..2^53-2.
 */
export const LATEST_TIMESTAMP: number = Number.MAX_SAFE_INTEGER;

/** The longest row, in bytes (`HConstants.MAX_ROW_LENGTH`). */
export const MAX_ROW_LENGTH = 32767;

/** The longest family name, in bytes: its length stands in one signed byte of HBase's `KeyValue`. */
export const MAX_FAMILY_LENGTH = 127;

/**
 * One cell. A plain record: engines fill it, nobody changes it. Its byte strings may be views of a larger buffer; copy
 * what is kept for long ({@link import('../bytes/bytes.js').copyBytes}).
 */
export class Cell {
  constructor(
    readonly row: Uint8Array,
    readonly family: string,
    readonly qualifier: Uint8Array,
    /** Milliseconds, 0..2^53-2. */
    readonly timestamp: number,
    readonly type: CellType,
    readonly value: Uint8Array,
  ) {}
}

/** A cell with a time to live of its own, as raw scans of the embedded engine give it; HBase keeps it to itself. */
export class EndingCell extends Cell {
  constructor(
    row: Uint8Array,
    family: string,
    qualifier: Uint8Array,
    timestamp: number,
    type: CellType,
    value: Uint8Array,
    /** Milliseconds from its timestamp on. */
    readonly ttl: number,
  ) {
    super(row, family, qualifier, timestamp, type, value);
  }
}
