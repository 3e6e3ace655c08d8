import { writeUint32, writeUint48 } from '../logfile/index.js';

const DEFAULT_STAGING_SIZE = 1024 * 1024;

export interface WalOptions {
  /** Bytes after which {@link Wal.full} requests the next segment; default 64 MiB. */
  readonly segmentSize?: number;
  /** Staged bytes after which they are written at once; default 1 MiB. */
  readonly stagingSize?: number;
  /** Written bytes after which a sync begins at once, so that no sync takes long; default 8 MiB. */
  readonly bytesPerSync?: number;
  /** Bytes to preallocate in a segment while small syncs follow one another; default 0 for none. */
  readonly preparedSize?: number;
  /** Runs a task when the present work is done; default `setImmediate`. Used for the mark after the last sync. */
  readonly whenIdle?: (task: () => void) => void;
}

/** The options with all defaults applied. */
export function walSettings(options: WalOptions): Required<WalOptions> {
  return {
    segmentSize: options.segmentSize ?? 64 * 1024 * 1024,
    stagingSize: options.stagingSize ?? DEFAULT_STAGING_SIZE,
    bytesPerSync: options.bytesPerSync ?? 8 * 1024 * 1024,
    preparedSize: options.preparedSize ?? 0,
    whenIdle: options.whenIdle ?? ((task) => void setImmediate(task)),
  };
}

/** The size of a segment's staging buffer: `stagingSize`, plus space for the record that exceeds it. */
export function stagingRoom(stagingSize = DEFAULT_STAGING_SIZE): number {
  return stagingSize + 65536;
}

/** Called with what happens to records, identified by their last sequence number, before promises of waiters are settled. */
export interface LogObserver {
  /** Records up to `seq` are with the operating system. */
  recordsWritten(seq: number): void;
  /** A sync of the written records begins. */
  syncBegins(): void;
  /** The sync has ended; `everything`: it also covers what was written while it ran. */
  syncEnded(everything: boolean): void;
  /** The staged records are lost. */
  onBatchFailed(error: unknown): void;
  /** Nothing more can be written, and it is unknown what of the unsynced records is on the disk. */
  onLogFailed(error: unknown): void;
}

/** Bytes that precede each record in the WAL: first sequence number u48, count u32. */
export const RECORD_HEADER_SIZE = 10;

/** Writes the record header; `firstSeq` is in 0..2^48-1, `count` in 1..2^32-1. */
export function writeRecordHeader(bytes: Uint8Array, firstSeq: number, count: number): void {
  writeUint48(bytes, 0, firstSeq);
  writeUint32(bytes, 6, count);
}

/** The MANIFEST's record of a segment that is no longer written to. */
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
