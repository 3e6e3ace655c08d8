import { RowanError } from '../../errors.js';
import type { Catalog } from '../catalog.js';
import type { StoreEnvironment } from '../environment.js';
import { joinPath, walFileName } from '../fs/index.js';
import type { Edit, WalSegmentEntry } from '../manifest/index.js';
import type { FamilyStore } from '../region/family-store.js';
import type { Region } from '../region/region.js';
import type { TableState } from '../table-state.js';
import { type ClosedSegment, PreparedSegment } from '../wal/index.js';
import type { Journal } from './journal.js';

/**
 * Has the next segment of the log ready before it is needed, so that no writer ever waits for one to be made.
 *
 * 1. A segment is made, synced, and named in the MANIFEST off the thread, while the one before is written to. At most
 *    one stands ready.
 * 2. The log goes on in it in the turn in which a record is to be appended, and is off the segment before when all of that
 *    is on the disk; then, and not before, the MANIFEST records it as closed.
 * 3. Where a segment cannot be made or recorded, the log goes on in the one it has, beyond its size, and it is tried again.
 */

/** A segment is read as a whole: with the record that fills it up it must be shorter than 2^31 bytes. */
const LONGEST = 2 ** 31 - 2 ** 24;

/** A record in the first `length` bytes of a buffer. */
export interface LogRecord {
  readonly buffer: Uint8Array;
  readonly length: number;
}

export class LogRoller {
  /** Ready, and named in the MANIFEST. */
  private next: PreparedSegment | undefined;
  private making: Promise<void> | undefined;
  private leaving: Promise<void> | undefined;
  /** Closed, and not recorded so yet. */
  private unrecorded: ClosedSegment[] = [];
  private failure: unknown;
  /** No new attempt before the log has this length. */
  private retryAt = 0;
  private ended = false;

  constructor(
    private readonly environment: StoreEnvironment,
    private readonly journal: Journal,
    /** A segment was closed: some may not be needed any more. */
    private readonly onClosed: () => void,
  ) {}

  /**
   * Stages a record with `count` writes from number `first`.
   * @throws RowanError when the log cannot take it; see {@link makeRoom}.
   */
  append(first: number, count: number, { buffer, length }: LogRecord): void {
    this.makeRoom(length);
    this.journal.wal.append(first, count, buffer, 0, length);
  }

  /**
   * Called before a record of so many bytes is appended.
   * @throws RowanError `ERR_BUSY` when no segment can take it, with the cause; `ERR_IO` when records before it are lost, on
   *   which it may rest. The record is not in the log then.
   */
  makeRoom(bytes: number): void {
    const { wal } = this.journal;
    if (this.next !== undefined) {
      if (wal.full || (this.next.room > 0 && wal.wantsSwitch)) this.goOn(this.next);
    } else if ((wal.filling || wal.wantsRoom) && this.mayMake) {
      this.making = this.make();
    }
    if (wal.size + bytes > LONGEST) throw this.tooLong();
  }

  private get mayMake(): boolean {
    return this.making === undefined && !this.ended && this.journal.wal.size >= this.retryAt;
  }

  /** Ends what is under way. */
  async end(): Promise<void> {
    this.ended = true;
    await this.making;
    await this.leaving;
  }

  /** Edits for the MANIFEST when the log is closed, and the segments that are not needed then. */
  finish(): { readonly edits: readonly Edit[]; readonly unneeded: readonly number[] } {
    const edits: Edit[] = this.unrecorded.map((segment) => ({ type: 'walClosed', ...segment }));
    const { next } = this;
    this.next = undefined;
    if (next === undefined) return { edits, unneeded: [] };
    next.close();
    return { edits: [...edits, { type: 'walRemove', number: next.number }], unneeded: [next.number] };
  }

  private async make(): Promise<void> {
    const { environment, journal } = this;
    const { fileSystem, directory, settings } = environment;
    let segment: PreparedSegment | undefined;
    try {
      const number = journal.manifest.newFileNumber();
      const room = journal.wal.wantsRoom ? settings.walPreparedSize : 0;
      segment = await PreparedSegment.make(fileSystem, directory, number, { room, goOn: () => !this.ended });
      await journal.logAsync([{ type: 'walAdd', number }]);
      this.next = segment;
      this.failure = undefined;
    } catch (error) {
      // Unless it is unknown whether the MANIFEST names it.
      if (journal.manifest.poisoned === undefined) segment?.discard();
      else segment?.close();
      this.failure = error;
      this.retryAt = journal.wal.size + settings.walSegmentSize / 4;
    } finally {
      this.making = undefined;
    }
  }

  private goOn(next: PreparedSegment): void {
    const { wal } = this.journal;
    if (wal.switching) return;
    const left = wal.switchTo(next);
    if (left === undefined) return;
    this.next = undefined;
    this.retryAt = 0;
    this.leaving = this.record(left);
  }

  private async record(left: Promise<ClosedSegment>): Promise<void> {
    try {
      this.unrecorded.push(await left);
      const closed = [...this.unrecorded];
      await this.journal.logAsync(closed.map((segment) => ({ type: 'walClosed', ...segment })));
      this.unrecorded = this.unrecorded.filter((segment) => !closed.includes(segment));
      this.onClosed();
    } catch {
      // The log or the MANIFEST has failed, and says so; or the disk is full, and the next segment's record takes this along.
    }
  }

  private tooLong(): RowanError {
    return new RowanError(
      'ERR_BUSY',
      'The write-ahead log cannot go on in a new file, and the present one is full. Try again in a moment; if it stays ' +
        'so, look at the cause.',
      {
        cause: this.failure,
        retryable: true,
        details: { file: joinPath(this.environment.directory, walFileName(this.journal.wal.number)) },
      },
    );
  }
}

/** Removes segments of the log whose every write is in files, and has those flushed who hold on to old ones. */

/** Further edits to record when the log is closed, and the segments that this leaves unneeded. */
export interface LogEnd {
  readonly edits: readonly Edit[];
  readonly unneeded: readonly number[];
}

export class LogCollector {
  private collecting: Promise<void> | undefined;
  private again = false;

  constructor(
    private readonly environment: StoreEnvironment,
    private readonly journal: Journal,
    private readonly catalog: Catalog,
    private readonly requestFlush: (state: TableState, region: Region, store: FamilyStore) => void,
  ) {}

  /** Resolves when no segment that can be removed is there. */
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
    const oldest = this.oldestUnflushedSeq();
    const closed = [...this.journal.manifest.state.walSegments.values()].filter((segment) => segment.closed);
    const done = closed.filter((segment) => segment.closed!.lastSeq < oldest).map(({ number }) => number);
    if (done.length > 0) {
      await this.journal.record(done.map((number) => ({ type: 'walRemove', number })));
      this.unlink(done);
    }
    const kept = closed.filter((segment) => !done.includes(segment.number));
    if (settings.automatic && this.isTooMuch(kept)) this.flushHolders(kept[0]!.closed!.lastSeq);
  }

  /** A segment with prepared room ends when that is used up, and may be shorter than others. */
  private isTooMuch(kept: readonly WalSegmentEntry[]): boolean {
    const { maxWalSegments, walSegmentSize, walPreparedSize } = this.environment.settings;
    if (kept.length <= maxWalSegments) return false;
    const bytes = kept.reduce((sum, { closed }) => sum + closed!.length, 0);
    const most = maxWalSegments * (walSegmentSize / Math.max(1, walPreparedSize));
    return bytes > maxWalSegments * walSegmentSize || kept.length > most;
  }

  /** Closes the log for good; segments whose every write is in files go with it, and those that nobody came to write to. */
  closeLog({ edits, unneeded }: LogEnd): void {
    const { wal, manifest } = this.journal;
    if (wal.poisoned) {
      wal.abandon();
      return;
    }
    const closed = wal.close();
    if (manifest.poisoned) return;
    const oldest = this.oldestUnflushedSeq();
    const done = closed.filter((segment) => segment.lastSeq < oldest).map(({ number }) => number);
    this.journal.log([
      ...edits,
      ...closed.map((segment) => ({ type: 'walClosed' as const, ...segment })),
      ...done.map((number) => ({ type: 'walRemove' as const, number })),
    ]);
    this.unlink([...done, ...unneeded]);
  }

  private unlink(segments: readonly number[]): void {
    const { fileSystem, directory } = this.environment;
    for (const number of segments) {
      try {
        fileSystem.unlink(joinPath(directory, walFileName(number)));
      } catch {
        // A file that nothing names: the next opener removes it.
      }
    }
  }

  private oldestUnflushedSeq(): number {
    let oldest = Number.POSITIVE_INFINITY;
    for (const state of this.catalog.tables()) {
      for (const store of state.stores()) oldest = Math.min(oldest, store.oldestUnflushedSeq);
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
