import { ClosedError, InvalidArgumentError, type RowanError } from '../../errors.js';
import { type FileSystem, joinPath, walFileName } from '../fs/index.js';
import { type ChunkWriter, createLog, WAL_KIND } from '../logfile/index.js';
import { PreallocationPolicy, type PreparedSegment } from './preallocation.js';
import { MicrotaskBudget, SyncWaiters } from './sync-waiters.js';
import {
  type ClosedSegment,
  type LogObserver,
  RECORD_HEADER_SIZE,
  stagingRoom,
  type WalOptions,
  walSettings,
  writeRecordHeader,
} from './wal-options.js';

/** The segment that the log comes from: it waits for the disk. */
interface Leaving {
  readonly writer: ChunkWriter;
  readonly closed: ClosedSegment;
  resolve(closed: ClosedSegment): void;
  reject(error: unknown): void;
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
 * 4. Nothing is written to a segment before all of the one before it is on the disk, its END included: whatever stands in
 *    a segment proves that the ones before are whole.
 * 5. A sync that fails, and a write that cannot be taken back, make every later call fail with `ERR_READONLY`.
 *
 * All of it runs on one thread; `append` and `flushToOs` never wait.
 */
export class Wal {
  private readonly settings: Required<WalOptions>;
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
  private readonly turns = new MicrotaskBudget();
  private writeQueued = false;
  private markQueued = false;
  private markedOffset = 0;
  private closed = false;
  private before: Leaving | undefined;
  private readonly demand: PreallocationPolicy;

  private constructor(number: number, writer: ChunkWriter, settings: Required<WalOptions>) {
    this.segment = number;
    this.writer = writer;
    this.settings = settings;
    this.demand = new PreallocationPolicy(settings.preparedSize);
  }

  /**
   * Makes segment `number`, empty and on the disk, and opens the log at it. Record the segment in the MANIFEST before
   * the first `append`: a segment that is not recorded there is removed by the next opener.
   */
  static create(files: FileSystem, directory: string, number: number, options: WalOptions = {}): Wal {
    const settings = walSettings(options);
    const path = joinPath(directory, walFileName(number));
    const writer = createLog(files, path, WAL_KIND, number, stagingRoom(settings.stagingSize));
    return new Wal(number, writer, settings);
  }

  /** The number of the segment that is written to. */
  get number(): number {
    return this.segment;
  }

  /** Bytes of the present segment, staged ones included. */
  get size(): number {
    return this.writer.end;
  }

  /** Bytes of the present segment that are with the operating system: whole records, which others may read. */
  get writtenLength(): number {
    return this.writer.writtenLength;
  }

  /** Whether the present segment is long enough for {@link switchTo} another. */
  get full(): boolean {
    return this.writer.end >= this.settings.segmentSize;
  }

  /** Whether the next segment will soon be needed. */
  get filling(): boolean {
    return this.writer.end >= this.settings.segmentSize / 2;
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
    if (this.writer.staged >= this.settings.stagingSize) this.flushToOs();
  }

  /**
   * Hands what is staged to the operating system: it survives the death of this process, not that of the machine.
   * @throws RowanError `ERR_IO` when it cannot be written; then it is taken back, and those who wait for it are told.
   */
  flushToOs(): void {
    this.checkOpen();
    this.flush();
    if (!this.syncing && this.unsynced >= this.settings.bytesPerSync) {
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
    this.turns.soon(() => {
      this.writeQueued = false;
      this.writeStaged();
    });
  }

  /** Resolves when everything appended before this call is on the disk. */
  sync(): Promise<void> {
    if (this.closed) return Promise.reject(closedError());
    if (this.writer.poisoned !== undefined) return Promise.reject(this.writer.poisoned);
    if (this.writer.staged === 0 && this.unsynced <= 0 && this.before === undefined) return Promise.resolve();
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

  /** Whether the present segment is not on the disk yet as a whole, though the log has gone on in the next. */
  get switching(): boolean {
    return this.before !== undefined;
  }

  /** Whether the next segment is to have room prepared, and soon. */
  get wantsRoom(): boolean {
    return this.demand.isSoon(this.writer.prepared);
  }

  /** Whether a segment with room is worth a {@link switchTo} it though the present one is not full. */
  get wantsSwitch(): boolean {
    return this.demand.isNow(this.writer.prepared);
  }

  /**
   * Goes on in `next`, which the MANIFEST names. What is staged is written to the present segment before, and then an
   * END; nothing is written to the next one before the present one is wholly on the disk, which begins now. The promise
   * resolves with what the MANIFEST is to record of it then, and rejects when the log has ended. Undefined when the present
   * segment cannot be ended: the log goes on in it.
   * @throws RowanError `ERR_IO` when what is staged cannot be written: it is lost, as by `flushToOs`.
   */
  switchTo(next: PreparedSegment): Promise<ClosedSegment> | undefined {
    if (this.before !== undefined) throw new Error('The log has not come out of the segment before yet.');
    this.flushToOs();
    const { writer } = this;
    try {
      writer.trim();
      writer.appendEnd();
      this.flush();
    } catch {
      // No record is lost. A writer that could not take the END back says so to the next record.
      return undefined;
    }
    const closed = this.summary();
    const left = new Promise<ClosedSegment>((resolve, reject) => {
      this.before = { writer, closed, resolve, reject };
    });
    this.writer = next.writer;
    this.segment = next.number;
    this.firstSeq = 0;
    this.lastSeq = -1;
    this.markedOffset = 0;
    if (!this.syncing) this.startSync();
    return left;
  }

  /**
   * Syncs and closes the log, and returns what the MANIFEST is to record of the segments that were open, the last one
   * last. The log is closed, also when this throws; then recovery will find what was synced.
   */
  close(): ClosedSegment[] {
    this.checkOpen();
    const closed: ClosedSegment[] = [];
    try {
      if (this.before !== undefined) {
        const { before } = this;
        this.syncNow(before.writer);
        closed.push(before.closed);
        this.cameOut(before);
      }
      this.flushToOs();
      this.writer.trim();
      this.syncNow(this.writer);
      closed.push(this.summary());
      return closed;
    } finally {
      this.abandon();
    }
  }

  /** Closes the file as it is, without writing or syncing anything, and rejects all who wait. */
  abandon(): void {
    if (this.closed) return;
    this.closed = true;
    this.end(this.writer.poisoned ?? closedError());
    this.before?.writer.file.close();
    this.writer.file.close();
  }

  /** Bytes with the operating system that are not known to be on the disk. */
  private get unsynced(): number {
    return this.before === undefined ? this.writer.recordsEnd - this.writer.syncedOffset : 0;
  }

  private checkOpen(): void {
    if (this.closed) throw closedError();
  }

  private summary(): ClosedSegment {
    const { writtenLength: length, crc } = this.writer;
    return { number: this.segment, length, crc, firstSeq: this.firstSeq, lastSeq: this.lastSeq };
  }

  /** Writes what is staged, where it may be, and tells those who wait for it; throws what they are told. */
  private flush(): void {
    if (this.before !== undefined) return;
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
      // Those who wait have been told.
    }
  }

  private syncNow(writer: ChunkWriter): void {
    try {
      writer.sync();
    } catch (error) {
      this.poison(error);
      throw this.writer.poisoned ?? error;
    }
    this.allSynced();
  }

  /** The segment before is wholly on the disk: what was staged meanwhile may be written. */
  private cameOut(before: Leaving): void {
    this.before = undefined;
    before.writer.file.close();
    before.resolve(before.closed);
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
    this.before?.reject(error);
    this.observer?.onLogFailed(error);
  }

  /** Writes what is staged and syncs it for all who wait. Never throws: they get the error. */
  private startSync(): void {
    if (this.closed || this.writer.poisoned !== undefined) return;
    const { before } = this;
    try {
      this.flush();
    } catch {
      if (this.writer.poisoned !== undefined) return;
    }
    const writer = before?.writer ?? this.writer;
    if (before === undefined) this.syncRequested = false;
    if (writer.recordsEnd <= writer.syncedOffset) {
      this.allSynced();
      return;
    }
    this.demand.note(writer.recordsEnd - writer.syncedOffset);
    this.syncing = true;
    this.waiters.syncBegins();
    this.observer?.syncBegins();
    writer.syncAsync().then(
      () => {
        this.syncing = false;
        this.waiters.syncEnded();
        this.observer?.syncEnded(false);
        // `close` may have been faster.
        if (before !== undefined && before === this.before) this.cameOut(before);
        if (this.before !== undefined || this.syncRequested || this.waiters.waiting) this.startSync();
        else if (this.writer.staged > 0) this.writeStaged();
        else this.queueMark();
      },
      (error: unknown) => {
        this.syncing = false;
        // The segment may have been left meanwhile; the failure is the disk's all the same.
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
    this.settings.whenIdle(() => {
      this.markQueued = false;
      this.writeMark();
    });
  }

  private writeMark(): void {
    const { writer } = this;
    if (this.closed || writer.poisoned !== undefined || this.syncing || writer.staged > 0 || this.before)
      return;
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

function closedError(): ClosedError {
  return new ClosedError('The write-ahead log is closed: the store was closed before or during this call.');
}
