import { ClosedError, InvalidArgumentError, type RowanError } from '../../errors.js';
import { type FileSystem, joinPath, walFileName } from '../fs/index.js';
import { type ChunkWriter, createLog, discardLog, WAL_KIND } from '../logfile/index.js';
import {
  type ClosedSegment,
  type LogObserver,
  PreallocationPolicy,
  type PreparedSegment,
  RECORD_HEADER_SIZE,
  stagingRoom,
  type WalOptions,
  walSettings,
  writeRecordHeader,
} from './segments.js';
import { MicrotaskBudget, SyncWaiters } from './sync-waiters.js';

/** The previous segment, which is not completely on the disk yet. */
interface PreviousSegment {
  readonly writer: ChunkWriter;
  readonly closed: ClosedSegment;
  resolve(closed: ClosedSegment): void;
  reject(error: unknown): void;
}

/**
 * The write-ahead log: records in the order in which they were appended, in numbered segments, of which the last is active.
 *
 * Guarantees:
 * 1. `sync` resolves when everything appended before the call is on the disk. One fdatasync runs at a time; records appended
 *    meanwhile wait for the next, which covers all of them (group commit).
 * 2. Recovery finds a prefix of the records: at least those synced, and each record whole.
 * 3. A write that fails (a full disk) is cut off the file again, and its waiters are rejected with `ERR_IO`. The log continues
 *    without a gap: all records staged with it, and so all after it, are lost with it.
 * 4. Nothing is written to a segment before all of the previous one, its END included, is on the disk. So any record in a segment
 *    proves that the segments before it are complete.
 * 5. After a failed sync, or a failed write that cannot be cut off, every call fails with `ERR_READONLY`.
 * 6. It has no file before {@link Wal.begin}.
 *
 * It runs on one thread. `append` and `flushToOs` never wait.
 */
export class Wal {
  private readonly settings: Required<WalOptions>;
  private readonly recordHeader = new Uint8Array(RECORD_HEADER_SIZE);
  private readonly waiters = new SyncWaiters();
  observer: LogObserver | undefined;

  private segment: number;
  /** Undefined before {@link begin}. */
  private active: ChunkWriter | undefined;
  private firstSeq = 0;
  private lastSeq = -1;
  /** The last sequence number of the record appended last. */
  private appendedSeq = -1;
  /** The observer requested a sync that has not begun. */
  private syncRequested = false;
  private syncing = false;
  private startQueued = false;
  private readonly microtasks = new MicrotaskBudget();
  private writeQueued = false;
  private markQueued = false;
  /** Cancels the mark that was queued last. */
  private cancelMark: (() => void) | undefined;
  private markedOffset = 0;
  private closed = false;
  private previous: PreviousSegment | undefined;
  private readonly preallocation: PreallocationPolicy;

  private constructor(
    private readonly files: FileSystem,
    private readonly directory: string,
    number: number,
    options: WalOptions,
  ) {
    this.segment = number;
    this.settings = walSettings(options);
    this.preallocation = new PreallocationPolicy(this.settings.preparedSize);
  }

  /** A log without a segment. {@link begin} it before the first `append`. `number`: above that of every segment there is. */
  static withoutSegment(files: FileSystem, directory: string, number: number, options: WalOptions = {}): Wal {
    return new Wal(files, directory, number, options);
  }

  /** As {@link withoutSegment} and {@link begin}. */
  static create(files: FileSystem, directory: string, number: number, options: WalOptions = {}): Wal {
    const wal = new Wal(files, directory, number, options);
    wal.begin(number);
    return wal;
  }

  get begun(): boolean {
    return this.active !== undefined;
  }

  /**
   * Creates the first segment, empty and on the disk. Record it in the MANIFEST before the first `append`: the next opener removes
   * segments that are not recorded there.
   * @throws RowanError `ERR_IO`: then there is no such file, or a leftover, and `begin` may be called again with another number.
   */
  begin(number: number): void {
    this.checkOpen();
    const path = joinPath(this.directory, walFileName(number));
    this.active = createLog(this.files, path, WAL_KIND, number, stagingRoom(this.settings.stagingSize));
    this.segment = number;
  }

  /** Removes the segment that {@link begin} has created: the MANIFEST could not record it. */
  undoBegin(): void {
    discardLog(this.files, this.writer.file);
    this.active = undefined;
  }

  private get writer(): ChunkWriter {
    if (this.active === undefined) throw new Error('The log has no segment yet.');
    return this.active;
  }

  /** The number of the active segment; before {@link begin} one above that of every segment. */
  get number(): number {
    return this.segment;
  }

  /** Bytes of the active segment, staged ones included. */
  get size(): number {
    return this.active?.end ?? 0;
  }

  /** Whether the active segment has no record. */
  get empty(): boolean {
    return this.lastSeq < 0;
  }

  /** Bytes of the active segment that are with the operating system: whole records, which other processes may read. */
  get writtenLength(): number {
    return this.active?.writtenLength ?? 0;
  }

  /** Whether the active segment has reached its size, so that the log should {@link switchTo} the next. */
  get full(): boolean {
    return this.writer.end >= this.settings.segmentSize;
  }

  /** Whether the next segment will soon be needed. */
  get filling(): boolean {
    return this.writer.end >= this.settings.segmentSize / 2;
  }

  /** Why nothing can be written any more; undefined while the log works. */
  get poisoned(): RowanError | undefined {
    return this.active?.poisoned;
  }

  /**
   * Stages one record: a copy of `length` bytes of `payload` from `offset`. The record holds the writes numbered `firstSeq` to
   * `firstSeq + count - 1`. It reaches the file with the next `flushToOs` or `sync`, or earlier.
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
    if (this.writer.staged >= this.settings.stagingSize) this.flushToOs();
  }

  /**
   * Writes what is staged: it survives the death of this process, but not of the machine.
   * @throws RowanError `ERR_IO` when it cannot be written; then the staged records are lost, and their waiters are rejected.
   */
  flushToOs(): void {
    this.checkOpen();
    if (!this.begun) return;
    this.flush();
    if (!this.syncing && this.unsynced >= this.settings.bytesPerSync) {
      this.startSync();
    }
  }

  /**
   * Writes the staged records to the operating system at the end of this turn; all calls of a turn share one write. The observer
   * receives the result.
   */
  requestWrite(): void {
    if (this.writeQueued) return;
    this.writeQueued = true;
    this.microtasks.soon(() => {
      this.writeQueued = false;
      this.writeStaged();
    });
  }

  /** Resolves when everything appended before this call is on the disk. */
  sync(): Promise<void> {
    if (this.closed) return Promise.reject(closedError());
    if (this.poisoned !== undefined) return Promise.reject(this.poisoned);
    if (!this.begun || (this.writer.staged === 0 && this.unsynced <= 0 && this.previous === undefined))
      return Promise.resolve();
    const promise = this.waiters.add(this.writer.staged > 0);
    this.queueStart();
    return promise;
  }

  /** Like `sync`, with the result reported to the observer. */
  requestSync(): void {
    this.syncRequested = true;
    this.queueStart();
  }

  /**
   * Writes what is staged in this turn, and begins its sync, unless a sync is running. The result is reported to the observer. Never
   * throws.
   */
  beginSync(): void {
    if (!this.syncing) this.startSync();
  }

  /** Ends the log for good, as a failed sync does. */
  fail(cause: unknown): void {
    this.end(this.writer.fail(cause));
  }

  private queueStart(): void {
    if (this.syncing || this.startQueued) return;
    this.startQueued = true;
    // A microtask, so that every put of this turn joins the group.
    queueMicrotask(() => {
      this.startQueued = false;
      if (!this.syncing) this.startSync();
    });
  }

  /** Whether the log has moved to the active segment while the previous one is not completely on the disk. */
  get switching(): boolean {
    return this.previous !== undefined;
  }

  /** Whether the next segment should be preallocated, and soon. */
  get wantsRoom(): boolean {
    return this.preallocation.isSoon(this.writer.prepared);
  }

  /** Whether changing to a preallocated segment pays although the active one is not full. */
  get wantsSwitch(): boolean {
    return this.preallocation.isNow(this.writer.prepared);
  }

  /**
   * Continues the log in `next`, which the MANIFEST names. First what is staged and an END are written to the active segment.
   * Nothing is written to `next` before the previous segment is completely on the disk; its sync begins now. The promise resolves
   * with what the MANIFEST is to record of the previous segment then, and rejects when the log has failed. Undefined when the
   * segment cannot be ended: the log continues in it.
   * @throws RowanError `ERR_IO` when what is staged cannot be written: it is lost, as with `flushToOs`.
   */
  switchTo(next: PreparedSegment): Promise<ClosedSegment> | undefined {
    if (this.previous !== undefined) throw new Error('The previous segment is still being synced.');
    this.flushToOs();
    const { writer } = this;
    try {
      writer.trim();
      writer.appendEnd();
      this.flush();
    } catch {
      // No record is lost. If the END could not be cut off again, the next append reports it.
      return undefined;
    }
    const closed = this.summary();
    const left = new Promise<ClosedSegment>((resolve, reject) => {
      this.previous = { writer, closed, resolve, reject };
    });
    this.active = next.writer;
    this.segment = next.number;
    this.firstSeq = 0;
    this.lastSeq = -1;
    this.markedOffset = 0;
    if (!this.syncing) this.startSync();
    return left;
  }

  /**
   * Syncs and closes the log, and returns what the MANIFEST is to record of the open segments, in order. The log is closed
   * even when this throws; then recovery finds what was synced.
   */
  close(): ClosedSegment[] {
    this.checkOpen();
    const closed: ClosedSegment[] = [];
    if (!this.begun) {
      this.abandon();
      return closed;
    }
    try {
      if (this.previous !== undefined) {
        const { previous: before } = this;
        this.syncNow(before.writer);
        closed.push(before.closed);
        this.previousSynced(before);
      }
      try {
        this.flushToOs();
        this.writer.trim();
      } catch (error) {
        // The next opening finds what is written, so its writers may not hear that nothing was: ERR_CLOSED says that.
        if (this.poisoned === undefined) this.syncNow(this.writer);
        throw error;
      }
      this.syncNow(this.writer);
      closed.push(this.summary());
      return closed;
    } finally {
      this.abandon();
    }
  }

  /** Closes the file without writing or syncing, and rejects all waiters. */
  abandon(): void {
    if (this.closed) return;
    this.closed = true;
    this.cancelMark?.();
    this.end(this.poisoned ?? closedError());
    this.previous?.writer.file.close();
    this.active?.file.close();
  }

  /** Bytes with the operating system that are not known to be on the disk. */
  private get unsynced(): number {
    return this.previous === undefined ? this.writer.recordsEnd - this.writer.syncedOffset : 0;
  }

  private checkOpen(): void {
    if (this.closed) throw closedError();
  }

  private summary(): ClosedSegment {
    const { writtenLength: length, crc } = this.writer;
    return { number: this.segment, length, crc, firstSeq: this.firstSeq, lastSeq: this.lastSeq };
  }

  /** Writes what is staged, unless the previous segment is still being synced, and notifies its waiters. Throws their error. */
  private flush(): void {
    if (this.previous !== undefined) return;
    try {
      this.writer.flush();
    } catch (error) {
      this.waiters.rejectStaged(error);
      if (this.writer.poisoned !== undefined) this.end(this.writer.poisoned);
      else this.observer?.onBatchFailed(error);
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
      // The waiters were rejected.
    }
  }

  private syncNow(writer: ChunkWriter): void {
    try {
      writer.sync();
    } catch (error) {
      this.fail(error);
      throw this.writer.poisoned ?? error;
    }
    this.allSynced();
  }

  /** The previous segment is completely on the disk: staged records may be written to the active one. */
  private previousSynced(before: PreviousSegment): void {
    this.previous = undefined;
    before.writer.file.close();
    before.resolve(before.closed);
  }

  private allSynced(): void {
    this.waiters.resolveWritten();
    this.observer?.syncEnded(true);
  }

  private end(error: unknown): void {
    this.waiters.rejectAll(error);
    this.previous?.reject(error);
    this.observer?.onLogFailed(error);
  }

  /** Writes and syncs what is staged. Never throws: the waiters get the error. */
  private startSync(): void {
    if (this.closed || this.poisoned !== undefined) return;
    if (!this.begun) {
      this.syncRequested = false;
      this.allSynced();
      return;
    }
    const { previous: before } = this;
    try {
      this.flush();
    } catch {
      if (this.poisoned !== undefined) return;
    }
    const writer = before?.writer ?? this.writer;
    if (before === undefined) this.syncRequested = false;
    if (writer.recordsEnd <= writer.syncedOffset) {
      this.allSynced();
      return;
    }
    this.preallocation.note(writer.recordsEnd - writer.syncedOffset);
    this.syncing = true;
    this.waiters.syncBegins();
    this.observer?.syncBegins();
    writer.syncAsync().then(
      () => {
        this.syncing = false;
        this.waiters.syncEnded();
        this.observer?.syncEnded(false);
        // `close` may have done it already.
        if (before !== undefined && before === this.previous) this.previousSynced(before);
        if (this.previous !== undefined || this.syncRequested || this.waiters.waiting) this.startSync();
        else if (this.writer.staged > 0) this.writeStaged();
        else this.queueMark();
      },
      (error: unknown) => {
        this.syncing = false;
        // The segment may have been left meanwhile, but the failure concerns the disk.
        this.fail(error);
      },
    );
  }

  /**
   * Called when a sync has ended and no other is needed. Until something else is written, only the last group itself would prove
   * that it was synced. So a mark brings the synced offset to the disk, unless a record does so first.
   */
  private queueMark(): void {
    if (this.markQueued) return;
    this.markQueued = true;
    this.cancelMark = this.settings.whenIdle(() => {
      this.markQueued = false;
      this.writeMark();
    });
  }

  private writeMark(): void {
    const { writer } = this;
    if (this.closed || writer.poisoned !== undefined || this.syncing || writer.staged > 0 || this.previous)
      return;
    if (writer.recordsEnd > writer.syncedOffset || this.markedOffset >= writer.recordsEnd) return;
    this.markedOffset = writer.recordsEnd;
    try {
      writer.appendMark();
      writer.flush();
    } catch {
      // The mark is optional: a full disk shows itself to the next writer of a record. A mark that could not be cut off again
      // has poisoned the writer, and the next append reports that.
    }
  }
}

function closedError(): ClosedError {
  return new ClosedError('The write-ahead log is closed: the store was closed before or during this call.');
}
