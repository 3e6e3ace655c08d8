import { ClosedError, InvalidArgumentError, type RowanError } from '../../errors.js';
import { type ChunkWriter, createLog, discardLog, WAL_KIND } from '../chunk/index.js';
import { type FileSystem, joinPath, walFileName } from '../fs/index.js';
import { type ClosedSegment, RECORD_HEADER_SIZE, writeRecordHeader } from './segment.js';
import { SyncWaiters } from './sync-waiters.js';

export interface WalOptions {
  /** Bytes after which {@link Wal.full} asks for the next segment; default 64 MiB. */
  readonly segmentSize?: number;
  /** Bytes staged before they are written without being asked to; default 1 MiB. */
  readonly stagingSize?: number;
  /** Bytes written and not synced after which a sync begins unasked, so that none is ever long; default 8 MiB. */
  readonly bytesPerSync?: number;
  /** Runs a task when the work at hand is done; default `setImmediate`. For the mark after the last sync. */
  readonly whenIdle?: (task: () => void) => void;
}

/** Told of what becomes of records, by their last number, before those who wait for it by a promise. */
export interface LogObserver {
  /** Records up to `seq` are with the operating system. */
  recordsWritten(seq: number): void;
  /** A sync of what is written begins. */
  syncBegins(): void;
  /** It has ended; `everything`: what was written while it ran is on the disk, too. */
  syncEnded(everything: boolean): void;
  /** What was staged is gone. */
  stagedLost(error: unknown): void;
  /** Nothing more is written, and of what is not synced nobody knows. */
  logEnded(error: unknown): void;
}

/**
 * The write-ahead log: records in the order they were appended, in numbered segments, of which the last is written to.
 *
 * What it guarantees:
 * 1. `sync` resolves when everything appended before the call is on the disk. One fdatasync is under way at a time;
 *    records appended meanwhile wait for the next, which takes them all (group commit).
 * 2. Recovery finds a prefix of the records: at least those synced, and of each record all or nothing.
 * 3. A write that fails (a full disk) takes back what it wrote and rejects those who wait for it with `ERR_IO`; the log
 *    goes on, with a hole in nobody's data: the records after it were staged with it and are gone with it.
 * 4. A sync that fails, and a write that cannot be taken back, make every later call fail with `ERR_READONLY`.
 *
 * All of it runs on one thread; `append` and `flushToOs` never wait.
 */
export class Wal {
  private readonly files: FileSystem;
  private readonly directory: string;
  private readonly segmentSize: number;
  private readonly stagingSize: number;
  private readonly bytesPerSync: number;
  private readonly whenIdle: (task: () => void) => void;
  private readonly recordHeader = new Uint8Array(RECORD_HEADER_SIZE);
  private readonly waiters = new SyncWaiters();
  observer: LogObserver | undefined;

  private segment: number;
  private writer: ChunkWriter;
  private firstSeq = 0;
  private lastSeq = -1;
  /** The last number of the record that was appended last. */
  private appendedSeq = -1;
  /** Somebody who does not wait for a promise wants a sync that has not begun. */
  private syncRequested = false;
  private syncing = false;
  private startQueued = false;
  private writeQueued = false;
  private markQueued = false;
  private markedOffset = 0;
  private closed = false;

  private constructor(
    files: FileSystem,
    directory: string,
    number: number,
    writer: ChunkWriter,
    options: WalOptions,
  ) {
    this.files = files;
    this.directory = directory;
    this.segment = number;
    this.writer = writer;
    this.segmentSize = options.segmentSize ?? 64 * 1024 * 1024;
    this.stagingSize = options.stagingSize ?? 1024 * 1024;
    this.bytesPerSync = options.bytesPerSync ?? 8 * 1024 * 1024;
    this.whenIdle = options.whenIdle ?? ((task) => void setImmediate(task));
  }

  /**
   * Makes segment `number`, empty and on the disk, and opens the log at it. Record the segment in the MANIFEST before
   * the first `append`: a segment that is not recorded there is removed by the next opener.
   */
  static create(files: FileSystem, directory: string, number: number, options: WalOptions = {}): Wal {
    const writer = createSegment(files, directory, number, options.stagingSize ?? 1024 * 1024);
    return new Wal(files, directory, number, writer, options);
  }

  /** The number of the segment that is written to. */
  get number(): number {
    return this.segment;
  }

  /** Bytes of the present segment, staged ones included. */
  get size(): number {
    return this.writer.end;
  }

  /** Whether the present segment is long enough for {@link rotate}. */
  get full(): boolean {
    return this.writer.end >= this.segmentSize;
  }

  /** Why nothing can be written any more; undefined while all is well. */
  get poisoned(): RowanError | undefined {
    return this.writer.poisoned;
  }

  /**
   * Stages one record: `length` bytes of `payload` from `offset`, which are copied. The record holds the writes numbered
   * `firstSeq` to `firstSeq + count - 1`. It reaches the file with the next `flushToOs` or `sync`, or before.
   */
  append(firstSeq: number, count: number, payload: Uint8Array, offset: number, length: number): void {
    this.checkOpen();
    if (!(firstSeq >= 0 && firstSeq < 2 ** 48 && count > 0)) {
      throw new InvalidArgumentError(`A WAL record cannot be numbered ${firstSeq} with ${count} writes.`);
    }
    writeRecordHeader(this.recordHeader, firstSeq, count);
    this.writer.append(this.recordHeader, payload, offset, length);
    const last = firstSeq + count - 1;
    if (this.lastSeq < 0 || firstSeq < this.firstSeq) this.firstSeq = firstSeq;
    if (last > this.lastSeq) this.lastSeq = last;
    this.appendedSeq = last;
    if (this.writer.staged >= this.stagingSize) this.flushToOs();
  }

  /**
   * Hands what is staged to the operating system: it survives the death of this process, not that of the machine.
   * @throws RowanError `ERR_IO` when it cannot be written; then it is taken back, and those who wait for it are told.
   */
  flushToOs(): void {
    this.checkOpen();
    this.flush();
    if (!this.syncing && this.writer.recordsEnd - this.writer.syncedOffset >= this.bytesPerSync) {
      this.startSync();
    }
  }

  /**
   * Resolves when everything appended before this call is with the operating system. All callers of a turn share one
   * write; unlike after `append` and `flushToOs`, each of them is told when it fails, whoever made it.
   */
  written(): Promise<void> {
    if (this.closed) return Promise.reject(closedError());
    if (this.writer.poisoned !== undefined) return Promise.reject(this.writer.poisoned);
    if (this.writer.staged === 0) return Promise.resolve();
    const promise = this.waiters.addForWrite();
    this.requestWrite();
    return promise;
  }

  /** As `written`, for the observer. */
  requestWrite(): void {
    if (this.writeQueued) return;
    this.writeQueued = true;
    queueMicrotask(() => {
      this.writeQueued = false;
      this.writeStaged();
    });
  }

  /** Resolves when everything appended before this call is on the disk. */
  sync(): Promise<void> {
    if (this.closed) return Promise.reject(closedError());
    if (this.writer.poisoned !== undefined) return Promise.reject(this.writer.poisoned);
    if (this.writer.staged === 0 && this.writer.recordsEnd <= this.writer.syncedOffset)
      return Promise.resolve();
    const promise = this.waiters.add(this.writer.staged > 0);
    this.queueStart();
    return promise;
  }

  /** As `sync`, for the observer. */
  requestSync(): void {
    this.syncRequested = true;
    this.queueStart();
  }

  private queueStart(): void {
    if (this.syncing || this.startQueued) return;
    this.startQueued = true;
    // One turn of the microtask queue lets every put of this turn into the group.
    queueMicrotask(() => {
      this.startQueued = false;
      if (!this.syncing) this.startSync();
    });
  }

  /**
   * Goes on in segment `number`. `journal` records in one MANIFEST edit that the old segment is closed and the new one
   * there; it runs when the old one is wholly on the disk and before anything is written to the new one. When it
   * throws `ERR_READONLY`, it is unknown which of the two the MANIFEST names, and the log is poisoned; after any
   * other error the old segment is used on.
   */
  rotate(number: number, journal: (closed: ClosedSegment, opened: number) => void): ClosedSegment {
    this.flushToOs();
    this.syncWriter();
    const next = createSegment(this.files, this.directory, number, this.stagingSize);
    const closed = this.summary();
    try {
      journal(closed, number);
    } catch (error) {
      if ((error as RowanError).code === 'ERR_READONLY') {
        next.file.close();
        this.poison(error);
      } else {
        discardLog(this.files, next.file);
      }
      throw error;
    }
    this.writer.file.close();
    this.writer = next;
    this.segment = number;
    this.firstSeq = 0;
    this.lastSeq = -1;
    this.markedOffset = 0;
    return closed;
  }

  /**
   * Syncs and closes the segment, and returns what the MANIFEST is to record of it. The log is closed, also when this
   * throws; then recovery will find what was synced.
   */
  close(): ClosedSegment {
    this.checkOpen();
    try {
      this.flushToOs();
      this.syncWriter();
      return this.summary();
    } finally {
      this.abandon();
    }
  }

  /** Closes the file as it is, without writing or syncing anything, and rejects all who wait. */
  abandon(): void {
    if (this.closed) return;
    this.closed = true;
    this.end(this.writer.poisoned ?? closedError());
    this.writer.file.close();
  }

  private checkOpen(): void {
    if (this.closed) throw closedError();
  }

  private summary(): ClosedSegment {
    const { writtenLength: length, crc } = this.writer;
    return { number: this.segment, length, crc, firstSeq: this.firstSeq, lastSeq: this.lastSeq };
  }

  /** Writes what is staged and tells those who wait for it; throws what they are told. */
  private flush(): void {
    try {
      this.writer.flush();
    } catch (error) {
      this.waiters.rejectStaged(error);
      if (this.writer.poisoned !== undefined) this.end(this.writer.poisoned);
      else this.observer?.stagedLost(error);
      throw error;
    }
    this.waiters.stagedIsWritten();
    this.observer?.recordsWritten(this.appendedSeq);
  }

  private writeStaged(): void {
    if (this.closed) return;
    try {
      this.flushToOs();
    } catch {
      // Those who wait have been told.
    }
  }

  private syncWriter(): void {
    try {
      this.writer.sync();
    } catch (error) {
      this.end(error);
      throw error;
    }
    this.allSynced();
  }

  private allSynced(): void {
    this.waiters.resolveWritten();
    this.observer?.syncEnded(true);
  }

  private poison(cause: unknown): void {
    this.end(this.writer.fail(cause));
  }

  private end(error: unknown): void {
    this.waiters.rejectAll(error);
    this.observer?.logEnded(error);
  }

  /** Writes what is staged and syncs it for all who wait. Never throws: they get the error. */
  private startSync(): void {
    if (this.closed || this.writer.poisoned !== undefined) return;
    try {
      this.flush();
    } catch {
      if (this.writer.poisoned !== undefined) return;
    }
    this.syncRequested = false;
    if (this.writer.recordsEnd <= this.writer.syncedOffset) {
      this.allSynced();
      return;
    }
    this.syncing = true;
    this.waiters.syncBegins();
    this.observer?.syncBegins();
    this.writer.syncAsync().then(
      () => {
        this.syncing = false;
        this.waiters.syncEnded();
        this.observer?.syncEnded(false);
        if (this.syncRequested || this.waiters.waiting) this.startSync();
        else this.queueMark();
      },
      (error: unknown) => {
        this.syncing = false;
        // The segment may have been rotated away meanwhile; the failure is the disk's all the same.
        this.poison(error);
      },
    );
  }

  /**
   * A sync has ended and nobody waits for another: soon nothing may vouch for the last group but itself, so a mark
   * brings the synced offset to disk, unless a record does before.
   */
  private queueMark(): void {
    if (this.markQueued) return;
    this.markQueued = true;
    this.whenIdle(() => {
      this.markQueued = false;
      this.writeMark();
    });
  }

  private writeMark(): void {
    const { writer } = this;
    if (this.closed || writer.poisoned !== undefined || this.syncing || writer.staged > 0) return;
    if (writer.recordsEnd > writer.syncedOffset || this.markedOffset >= writer.recordsEnd) return;
    this.markedOffset = writer.recordsEnd;
    try {
      writer.appendMark();
      writer.flush();
    } catch {
      // A mark is a help, no duty: the full disk shows itself to the next who writes a record. A mark that could not
      // be taken back has poisoned the writer, and the next record says so.
    }
  }
}

function createSegment(
  files: FileSystem,
  directory: string,
  number: number,
  stagingSize: number,
): ChunkWriter {
  // Beyond `stagingSize` there must be room for the record that fills it up.
  return createLog(files, joinPath(directory, walFileName(number)), WAL_KIND, number, stagingSize + 65536);
}

function closedError(): ClosedError {
  return new ClosedError('The write-ahead log is closed: the store was closed before or during this call.');
}
