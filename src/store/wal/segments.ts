/** Segments of the WAL: their options, the header of their records, and the preallocation of their space. */

import { type FileSystem, joinPath, walFileName } from '../fs/index.js';
import {
  type ChunkWriter,
  createLogAsync,
  discardLog,
  failureOf,
  WAL_KIND,
  writeUint32,
  writeUint48,
} from '../logfile/index.js';

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
  /** Runs a task later, and returns a function that cancels it; default after 20 ms. Used for the mark after the last sync. */
  readonly whenIdle?: (task: () => void) => () => void;
}

/** The options with all defaults applied. */
export function walSettings(options: WalOptions): Required<WalOptions> {
  return {
    segmentSize: options.segmentSize ?? 64 * 1024 * 1024,
    stagingSize: options.stagingSize ?? DEFAULT_STAGING_SIZE,
    bytesPerSync: options.bytesPerSync ?? 8 * 1024 * 1024,
    preparedSize: options.preparedSize ?? 0,
    whenIdle: options.whenIdle ?? afterPause,
  };
}

/** Milliseconds: a client that awaits one synced write after the other must not cause a mark for each. */
const MARK_PAUSE = 20;

function afterPause(task: () => void): () => void {
  const timer = setTimeout(task, MARK_PAUSE);
  return () => clearTimeout(timer);
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
  /** Called after a failed sync: nothing more can be written, and it is unknown which unsynced records are on the disk. */
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

/** Bytes that are preallocated and synced at a time: a long sync would delay the syncs of writers. */
const PIECE = 1 << 20;

/**
 * A segment that is ready for writing: empty, with its file, preallocated space and name on the disk. It must be recorded in the
 * MANIFEST before the log continues in it.
 */
export class PreparedSegment {
  private constructor(
    private readonly files: FileSystem,
    readonly number: number,
    readonly writer: ChunkWriter,
  ) {}

  /**
   * Creates segment `number` off the thread.
   * @param room bytes of zeros to preallocate, so that syncs of the records written over them are short; 0 for none
   * @param shouldContinue called between pieces; false ends the preallocation early, with what there is
   * @throws RowanError `ERR_IO`: then there is no such file, or a leftover that the next opener removes.
   */
  static async create(
    files: FileSystem,
    directory: string,
    number: number,
    options: { readonly room: number; readonly shouldContinue: () => boolean },
  ): Promise<PreparedSegment> {
    const path = joinPath(directory, walFileName(number));
    const writer = await createLogAsync(files, path, WAL_KIND, number, stagingRoom());
    try {
      for (let left = options.room; left > 0 && options.shouldContinue(); left -= PIECE) {
        await writer.prepare(Math.min(left, PIECE));
        await writer.syncAsync();
      }
    } catch (error) {
      discardLog(files, writer.file);
      throw failureOf(error);
    }
    return new PreparedSegment(files, number, writer);
  }

  /** Preallocated bytes. */
  get room(): number {
    return this.writer.prepared;
  }

  /** Removes the file of a segment that the MANIFEST does not name. */
  discard(): void {
    discardLog(this.files, this.writer.file);
  }

  /** Closes the file and leaves it in the folder. */
  close(): void {
    this.writer.file.close();
  }
}

/** A sync of more bytes takes long in any case: preallocation would only add to it. */
const SMALL_SYNC = 64 * 1024;
/** Preallocation starts after one small sync for each so many bytes of it. */
const BYTES_PER_SYNC = 512 * 1024;

/** Decides from the sizes of recent syncs whether preallocating space for the log pays. */
export class PreallocationPolicy {
  /** Small syncs in a row. */
  private smallSyncs = 0;

  /** `size`: bytes to preallocate in a segment; 0 for never. */
  constructor(readonly size: number) {}

  /** A sync of so many bytes begins. */
  note(bytes: number): void {
    this.smallSyncs = bytes <= SMALL_SYNC ? this.smallSyncs + 1 : 0;
  }

  /** Whether the next segment should be preallocated, when `left` bytes of the present one's space are left. */
  isSoon(left: number): boolean {
    return this.pays && left < this.size / 4;
  }

  /** Whether the log should change to a preallocated segment now: `left` bytes are as good as none. */
  isNow(left: number): boolean {
    return this.pays && left < Math.min(SMALL_SYNC, this.size / 8);
  }

  private get pays(): boolean {
    return this.size > 0 && this.smallSyncs >= this.size / BYTES_PER_SYNC;
  }
}
