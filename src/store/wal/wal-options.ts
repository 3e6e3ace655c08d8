import { writeUint32, writeUint48 } from '../logfile/index.js';

const DEFAULT_STAGING_SIZE = 1024 * 1024;

export interface WalOptions {
  /** Bytes after which {@link Wal.full} asks for the next segment; default 64 MiB. */
  readonly segmentSize?: number;
  /** Bytes staged before they are written without being asked to; default 1 MiB. */
  readonly stagingSize?: number;
  /** Bytes written and not synced after which a sync begins unasked, so that none is ever long; default 8 MiB. */
  readonly bytesPerSync?: number;
  /** How much room a segment is to have prepared where small syncs follow one another; default 0, none ever. */
  readonly preparedSize?: number;
  /** Runs a task when the work at hand is done; default `setImmediate`. For the mark after the last sync. */
  readonly whenIdle?: (task: () => void) => void;
}

/** The options with every default filled in. */
export function walSettings(options: WalOptions): Required<WalOptions> {
  return {
    segmentSize: options.segmentSize ?? 64 * 1024 * 1024,
    stagingSize: options.stagingSize ?? DEFAULT_STAGING_SIZE,
    bytesPerSync: options.bytesPerSync ?? 8 * 1024 * 1024,
    preparedSize: options.preparedSize ?? 0,
    whenIdle: options.whenIdle ?? ((task) => void setImmediate(task)),
  };
}

/** The staging buffer of a segment: beyond `stagingSize` there must be room for the record that fills it up. */
export function stagingRoom(stagingSize = DEFAULT_STAGING_SIZE): number {
  return stagingSize + 65536;
}

/** Told of what becomes of records, by their last number, before those who wait for it by a promise. */
export interface LogObserver {
  /** Records up to `seq` are with the operating system. */
  recordsWritten(seq: number): void;
  /** A sync of what is written begins. */
  syncBegins(): void;
  /** It has ended; `everything`: what was written while it ran is on the disk, too. */
  syncEnded(everything: boolean): void;
  /** Staged records are lost. */
  onBatchFailed(error: unknown): void;
  /** Nothing more is written, and of what is not synced nobody knows. */
  onLogFailed(error: unknown): void;
}

/** Bytes that precede each record in the WAL: first sequence number u48, count u32. */
export const RECORD_HEADER_SIZE = 10;

/** Writes the record header; `firstSeq` is in 0..2^48-1, `count` in 1..2^32-1. */
export function writeRecordHeader(bytes: Uint8Array, firstSeq: number, count: number): void {
  writeUint48(bytes, 0, firstSeq);
  writeUint32(bytes, 6, count);
}

/** The MANIFEST's record of a segment that nothing more is written to. */
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
