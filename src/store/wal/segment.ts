import { writeUint32, writeUint48 } from '../chunk/index.js';

/** What the WAL puts before the bytes of a record: first sequence number u48, count u32. */
export const RECORD_HEADER_SIZE = 10;

/** Writes the record header; `firstSeq` is in 0..2^48-1, `count` in 1..2^32-1. */
export function writeRecordHeader(bytes: Uint8Array, firstSeq: number, count: number): void {
  writeUint48(bytes, 0, firstSeq);
  writeUint32(bytes, 6, count);
}

/** What is recorded of a segment that nothing more is written to. */
export interface ClosedSegment {
  readonly number: number;
  /** Bytes. */
  readonly length: number;
  /** The crc-32 of the whole file. */
  readonly crc: number;
  /** The lowest and highest sequence number in it; 0 and -1 when it has no record. */
  readonly firstSeq: number;
  readonly lastSeq: number;
}
