import { RowanError } from '../../errors.js';
import type { StoreEnvironment } from '../environment.js';
import { joinPath, walFileName } from '../fs/index.js';
import type { Edit, Manifest, WalSegmentEntry } from '../manifest/index.js';
import type { FamilyStore, Region } from '../region/region.js';
import type { TableState } from '../table-state.js';
import { type ClosedSegment, PreparedSegment, type Wal } from '../wal/index.js';

/** A copy of the log, from which a store is restored to any moment (`archive/archiver.ts`). */
export interface LogArchive {
  /** Bytes of the log that it does not have yet. */
  readonly behind: number;
  /** Whether it has all of a segment, so that the store may remove it. */
  has(segment: number): boolean;
  /** Called before edits are recorded in the MANIFEST; resolves when the archive has those that a restore needs. */
  before(edits: readonly Edit[]): Promise<void>;
  /** Edits that were passed to `before` could not be recorded. Resolves, also when the archive cannot be written. */
  failed(edits: readonly Edit[]): Promise<void>;
  /** Resolves when it has a sorted file that an edit will name. */
  keep(file: number): Promise<void>;
  /** Resolves when it has every write that is acknowledged. */
  archiveAll(): Promise<void>;
  /** Called when the log is closed. */
  close(): Promise<void>;
}

/** The WAL and the MANIFEST together: the order in which changes are recorded, and whether the store is writable. */
export class Journal {
  constructor(
    readonly wal: Wal,
    readonly manifest: Manifest,
    private readonly rowClock: { readonly highest: number },
    readonly archive: LogArchive | undefined,
  ) {}

  /**
   * Creates the first segment of the log, and records it in the MANIFEST, before the first record: a store that is only read is
   * not written to.
   * @throws RowanError `ERR_IO`: nothing has changed, and the next call tries again; `ERR_READONLY` when it is unknown what has.
   */
  begin(): void {
    const { wal, manifest } = this;
    if (wal.begun) return;
    this.checkWritable();
    const number = manifest.newFileNumber();
    wal.begin(number);
    try {
      this.log([{ type: 'walAdd', number }]);
    } catch (error) {
      // Kept if it is unknown whether the MANIFEST names it.
      if (manifest.poisoned !== undefined) throw readOnlyError(manifest.poisoned);
      wal.undoBegin();
      throw error;
    }
  }

  /**
   * Why the store accepts no more changes, whichever of the two failed; undefined while both work. A failure of one stops both: a
   * segment that cannot be recorded in the MANIFEST would be lost.
   */
  get poisoned(): RowanError | undefined {
    return this.wal.poisoned ?? this.manifest.poisoned;
  }

  /** @throws RowanError `ERR_READONLY` when the store accepts no more changes. */
  checkWritable(): void {
    const cause = this.poisoned;
    if (cause !== undefined) throw readOnlyError(cause);
  }

  /** Resolves when everything appended before the call is on the disk. */
  sync(): Promise<void> {
    return this.wal.sync();
  }

  /**
   * Records edits. When it resolves, the edits and every write before them are on the disk: a crash never loses an earlier
   * write and keeps a later edit.
   */
  async record(edits: readonly Edit[]): Promise<void> {
    this.checkWritable();
    await this.archive?.before(edits);
    try {
      await this.wal.sync();
      await this.logAsync(edits);
    } catch (error) {
      await this.archive?.failed(edits);
      throw error;
    }
  }

  /** Like `Manifest.logAsync`, for callers that have synced the writes before, and the names of new files. */
  async logAsync(edits: readonly Edit[]): Promise<void> {
    await this.manifest.logAsync([...edits, this.clockEdit()]);
  }

  /** Like `Manifest.log`. */
  log(edits: readonly Edit[]): void {
    this.manifest.log([...edits, this.clockEdit()]);
  }

  /** The clock that the log recorded must be kept when the log is removed. */
  private clockEdit(): Edit {
    return { type: 'counters', clock: this.rowClock.highest };
  }
}

/** The error for changes that begin after a disk failure which leaves it unknown what is on the disk. They are not made. */
export function readOnlyError(cause: RowanError): RowanError {
  return new RowanError(
    'ERR_READONLY',
    `The store accepts no more writes: ${cause.message} Acknowledged writes are safe.`,
    { cause, details: { file: cause.details['file'] } },
  );
}

/** A segment is read into one buffer: with the record that exceeds its size it must be shorter than 2^31 bytes. */
const MAX_SEGMENT_BYTES = 2 ** 31 - 2 ** 24;

/** A record in the first `length` bytes of a buffer. */
interface LogRecord {
  readonly buffer: Uint8Array;
  readonly length: number;
}

/** Edits to record when the log is closed, and the segments that are not needed then. */
interface LogEnd {
  readonly edits: readonly Edit[];
  readonly unneeded: readonly number[];
}

/**
 * Prepares the next segment of the log before it is needed, so that no writer waits for its creation.
 *
 * 1. A segment is created, synced, and named in the MANIFEST off the thread, while the previous one is written to. At most one is
 *    ready.
 * 2. The log moves to it in the turn in which a record is about to be appended. When all of the previous segment is on the disk,
 *    and not before, the MANIFEST records it as closed.
 * 3. If a segment cannot be created or recorded, the log stays in the present one, beyond its size, and the creation is retried.
 */
export class LogRoller {
  /** Ready, and named in the MANIFEST. */
  private next: PreparedSegment | undefined;
  private creating: Promise<void> | undefined;
  private switching: Promise<void> | undefined;
  /** Segments that are closed but not recorded as closed yet. */
  private unrecorded: ClosedSegment[] = [];
  private failure: unknown;
  /** No further attempt before the log has this length. */
  private retryAt = 0;
  private ended = false;

  constructor(
    private readonly environment: StoreEnvironment,
    private readonly journal: Journal,
    /** Called when a segment was closed: some segments may no longer be needed. */
    private readonly onClosed: () => void,
  ) {}

  /**
   * Stages a record with `count` writes from number `first`.
   * @throws RowanError when the log cannot accept it; see {@link makeRoom}.
   */
  append(first: number, count: number, { buffer, length }: LogRecord): void {
    this.makeRoom(length);
    this.journal.wal.append(first, count, buffer, 0, length);
  }

  /**
   * Called before a record of so many bytes is appended.
   * @throws RowanError `ERR_BUSY` when no segment can hold it, with the cause; `ERR_IO` when earlier records were lost, on which it
   *   may depend, or when the log could not be begun. Then the record is not in the log.
   */
  makeRoom(bytes: number): void {
    const { wal } = this.journal;
    if (!wal.begun) this.journal.begin();
    if (this.next !== undefined) {
      if (wal.full || (this.next.room > 0 && wal.wantsSwitch)) this.switchTo(this.next);
    } else if ((wal.filling || wal.wantsRoom) && this.mayCreate) {
      this.creating = this.create();
    }
    if (wal.size + bytes > MAX_SEGMENT_BYTES) throw this.tooLong();
  }

  private get mayCreate(): boolean {
    return this.creating === undefined && !this.ended && this.journal.wal.size >= this.retryAt;
  }

  /** Stops creating segments, and waits for what is in progress. */
  async end(): Promise<void> {
    this.ended = true;
    await this.creating;
    await this.switching;
  }

  finish(): LogEnd {
    const edits: Edit[] = this.unrecorded.map((segment) => ({ type: 'walClosed', ...segment }));
    const { next } = this;
    this.next = undefined;
    if (next === undefined) return { edits, unneeded: [] };
    next.close();
    return { edits: [...edits, { type: 'walRemove', number: next.number }], unneeded: [next.number] };
  }

  private async create(): Promise<void> {
    const { environment, journal } = this;
    const { fileSystem, directory, settings } = environment;
    let segment: PreparedSegment | undefined;
    try {
      const number = journal.manifest.newFileNumber();
      const room = journal.wal.wantsRoom ? settings.walPreparedSize : 0;
      segment = await PreparedSegment.create(fileSystem, directory, number, {
        room,
        shouldContinue: () => !this.ended,
      });
      await journal.logAsync([{ type: 'walAdd', number }]);
      this.next = segment;
      this.failure = undefined;
    } catch (error) {
      // Kept if it is unknown whether the MANIFEST names it.
      if (journal.manifest.poisoned === undefined) segment?.discard();
      else segment?.close();
      this.failure = error;
      this.retryAt = journal.wal.size + settings.walSegmentSize / 4;
    } finally {
      this.creating = undefined;
    }
  }

  private switchTo(next: PreparedSegment): void {
    const { wal } = this.journal;
    if (wal.switching) return;
    const left = wal.switchTo(next);
    if (left === undefined) return;
    this.next = undefined;
    this.retryAt = 0;
    this.switching = this.record(left);
  }

  private async record(left: Promise<ClosedSegment>): Promise<void> {
    try {
      this.unrecorded.push(await left);
      const closed = [...this.unrecorded];
      await this.journal.logAsync(closed.map((segment) => ({ type: 'walClosed', ...segment })));
      this.unrecorded = this.unrecorded.filter((segment) => !closed.includes(segment));
      this.onClosed();
    } catch {
      // The log or the MANIFEST has failed and reports it; or the disk is full, and the next segment is recorded with this one.
    }
  }

  private tooLong(): RowanError {
    return new RowanError(
      'ERR_BUSY',
      'The write-ahead log cannot create its next file, and the present one is full. Try again in a moment; if the error ' +
        'stays, look at its cause.',
      {
        cause: this.failure,
        retryable: true,
        details: { file: joinPath(this.environment.directory, walFileName(this.journal.wal.number)) },
      },
    );
  }
}

/** Removes log segments whose writes are all in files, and requests flushes of families whose writes keep old segments. */
export class LogCollector {
  private collecting: Promise<void> | undefined;
  private again = false;

  constructor(
    private readonly environment: StoreEnvironment,
    private readonly journal: Journal,
    private readonly catalog: { tables(): Iterable<TableState> },
    private readonly requestFlush: (state: TableState, region: Region, store: FamilyStore) => void,
  ) {}

  /** Resolves when every removable segment is removed. */
  collect(): Promise<void> {
    this.again = true;
    this.collecting ??= this.run().finally(() => (this.collecting = undefined));
    return this.collecting;
  }

  private async run(): Promise<void> {
    while (this.again) {
      this.again = false;
      await this.collectOnce();
    }
  }

  private async collectOnce(): Promise<void> {
    const { settings } = this.environment;
    const closed = [...this.journal.manifest.state.walSegments.values()].filter((segment) => segment.closed);
    if (closed.length === 0) return;
    const oldest = this.oldestUnflushedSeq(Math.min(...closed.map((segment) => segment.closed!.lastSeq)));
    const done = closed
      .filter(({ number, closed }) => closed!.lastSeq < oldest && this.isArchived(number))
      .map(({ number }) => number);
    if (done.length > 0) {
      await this.journal.record(done.map((number) => ({ type: 'walRemove', number })));
      this.unlink(done);
    }
    const kept = closed.filter((segment) => !done.includes(segment.number));
    if (settings.automatic && this.isOverLimit(kept)) this.flushHolders(kept[0]!.closed!.lastSeq);
  }

  /** A segment with preallocated space ends when that is used up, so it may be shorter than others. */
  private isOverLimit(kept: readonly WalSegmentEntry[]): boolean {
    const { maxWalSegments, walSegmentSize, walPreparedSize } = this.environment.settings;
    if (kept.length <= maxWalSegments) return false;
    const bytes = kept.reduce((sum, { closed }) => sum + closed!.length, 0);
    const most = maxWalSegments * (walSegmentSize / Math.max(1, walPreparedSize));
    return bytes > maxWalSegments * walSegmentSize || kept.length > most;
  }

  /** Closes the log, and removes segments that are unused or whose writes are all in files. */
  closeLog({ edits, unneeded }: LogEnd): void {
    const { wal, manifest } = this.journal;
    if (wal.poisoned) {
      wal.abandon();
      return;
    }
    const closed = wal.close();
    if (manifest.poisoned) return;
    const oldest = this.oldestUnflushedSeq();
    const done = closed
      .filter(({ number, lastSeq }) => lastSeq < oldest && this.isArchived(number))
      .map(({ number }) => number);
    if (edits.length + closed.length === 0) return;
    this.journal.log([
      ...edits,
      ...closed.map((segment) => ({ type: 'walClosed' as const, ...segment })),
      ...done.map((number) => ({ type: 'walRemove' as const, number })),
    ]);
    this.unlink([...done, ...unneeded]);
  }

  /** Whether a segment may go: the next opening removes those that are archived only when the log is closed. */
  private isArchived(number: number): boolean {
    return this.journal.archive?.has(number) ?? true;
  }

  private unlink(segments: readonly number[]): void {
    const { fileSystem, directory } = this.environment;
    for (const number of segments) {
      try {
        fileSystem.unlink(joinPath(directory, walFileName(number)));
      } catch {
        // The MANIFEST does not name the file: the next opener removes it.
      }
    }
  }

  /** The search ends at a write that is not after `enough`: no segment can be removed then. */
  private oldestUnflushedSeq(enough = -1): number {
    let oldest = Number.POSITIVE_INFINITY;
    for (const state of this.catalog.tables()) {
      for (const store of state.stores()) oldest = Math.min(oldest, store.oldestUnflushedSeq);
      if (oldest <= enough) break;
    }
    return oldest;
  }

  private flushHolders(seq: number): void {
    for (const state of this.catalog.tables()) {
      for (const region of state.regions) {
        for (const store of region.stores) {
          if (store.oldestUnflushedSeq <= seq) this.requestFlush(state, region, store);
        }
      }
    }
  }
}
