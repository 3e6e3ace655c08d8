/**
 * Has the next segment of the log ready before it is needed, so that no writer ever waits for one to be made.
 *
 * 1. A segment is made, synced, and named in the MANIFEST off the thread, while the one before is written to. At most
 *    one stands ready.
 * 2. The log goes on in it in the turn in which a record is to be appended, and is off the segment before when all of that
 *    is on the disk; then, and not before, the MANIFEST records it as closed.
 * 3. Where a segment cannot be made or recorded, the log goes on in the one it has, beyond its size, and it is tried again.
 */

import { RowanError } from '../../errors.js';
import type { StoreEnvironment } from '../environment.js';
import { joinPath, walFileName } from '../fs/index.js';
import type { Edit } from '../manifest/index.js';
import { type ClosedSegment, PreparedSegment } from '../wal/index.js';
import type { Journal } from './journal.js';

/** A segment is read as a whole: with the record that fills it up it must be shorter than 2^31 bytes. */
const LONGEST = 2 ** 31 - 2 ** 24;

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

  /** What the MANIFEST is to record when the log is closed, and the segments that are not needed then. */
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
