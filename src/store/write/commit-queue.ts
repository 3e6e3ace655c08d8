/**
 * When writes become visible and are acknowledged (HBase `MultiVersionConcurrencyControl`, R78, R87).
 *
 * Writes are numbered in the order in which they enter the log. Readers see the writes up to the read point, and:
 * 1. The read point never passes a write that is not yet as durable as it asked to be, so nobody reads what a crash
 *    could take back; a write with lower durability waits for the earlier ones.
 * 2. A write is acknowledged when the read point has reached it: who was told of a write sees it.
 * 3. A write that the log could not take is rejected, and its writer takes it back from the memstores. When the log
 *    cannot be synced, the store takes no more writes at all.
 */

import type { RowanError } from '../../errors.js';
import type { Durability } from '../../table/index.js';
import { readOnlyError } from '../ledger/journal.js';

/** The part of the write-ahead log that the queue needs. */
export interface CommitLog {
  /** Resolves when everything appended before the call is with the operating system. Callers of a turn share one write. */
  written(): Promise<void>;
  /** Resolves when everything appended before the call is on the disk. Callers share what they can. */
  sync(): Promise<void>;
  /** Why nothing can be written any more. */
  readonly poisoned: RowanError | undefined;
}

export type SettledDurability = Exclude<Durability, 'USE_DEFAULT'>;

export class CommitQueue {
  /** The number of the last write. */
  lastSeq: number;
  /** Readers see writes up to this number. */
  readPoint: number;
  /** The greatest number that waits for a sync. */
  private syncSeq = 0;

  constructor(
    private readonly log: CommitLog,
    lastSeq: number,
  ) {
    this.lastSeq = lastSeq;
    this.readPoint = lastSeq;
  }

  /** Everything up to `lastSeq` was found in the log. */
  recovered(lastSeq: number): void {
    this.lastSeq = lastSeq;
    this.readPoint = lastSeq;
  }

  /** Throws why the store takes no writes, if it does not. */
  checkWritable(): void {
    const cause = this.log.poisoned;
    if (!cause) return;
    throw readOnlyError(cause);
  }

  /** Numbers for `count` writes; the first of them. */
  allocate(count: number): number {
    const first = this.lastSeq + 1;
    this.lastSeq += count;
    return first;
  }

  /** Resolves when the write `seq`, already in the log and the memstores, is visible. */
  async commit(seq: number, durability: SettledDurability): Promise<void> {
    if (durability === 'SYNC_WAL' || durability === 'FSYNC_WAL') {
      this.syncSeq = seq;
      await this.log.sync();
    } else {
      if (durability === 'ASYNC_WAL') await this.log.written();
      // An earlier write still waits for the disk, and this one may not be seen before it.
      if (this.syncSeq > this.readPoint) await this.log.sync();
    }
    if (seq > this.readPoint) this.readPoint = seq;
  }

  /** Resolves when every write so far is durable and visible. */
  async settle(): Promise<void> {
    if (this.readPoint < this.lastSeq) await this.commit(this.lastSeq, 'FSYNC_WAL');
  }
}
