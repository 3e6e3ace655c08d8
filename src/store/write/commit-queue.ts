/**
 * When writes become visible and are acknowledged (HBase `MultiVersionConcurrencyControl`, R78, R87).
 *
 * Writes are numbered in the order in which they enter the log. Readers see the writes up to the read point, and:
 * 1. The read point never passes a write that is not yet as durable as it asked to be, so nobody reads what a crash
 *    could take back; a write with lower durability waits for the earlier ones.
 * 2. A write is acknowledged when the read point has reached it: who was told of a write sees it.
 * 3. When the log cannot be written, the writes that are not durable are taken back from the memstores (`onRollback`)
 *    before any of their callers is told; when it cannot be synced, the store takes no more writes at all.
 */

import { RowanError } from '../../errors.js';
import type { Durability } from '../../table/index.js';

/** The part of the write-ahead log that the queue needs. */
export interface CommitLog {
  /** Hands everything appended to the operating system. */
  flushToOs(): void;
  /** Resolves when everything appended before the call is on the disk. Callers share what they can. */
  sync(): Promise<void>;
}

export type SettledDurability = Exclude<Durability, 'USE_DEFAULT'>;

export class CommitQueue {
  /** The number of the last write. */
  lastSeq: number;
  /** Readers see writes up to this number. */
  readPoint: number;
  /** Why the store takes no more writes, once it does not. */
  failure: RowanError | undefined;
  /** The sync that all writes so far wait for, while there is one. */
  private syncing: Promise<void> | undefined;
  /** The greatest number that waits for a sync. */
  private syncSeq = 0;
  private handOver: Promise<void> | undefined;

  constructor(
    private readonly log: CommitLog,
    lastSeq: number,
    private readonly onRollback: (fromSeq: number) => void,
  ) {
    this.lastSeq = lastSeq;
    this.readPoint = lastSeq;
  }

  /** Throws why the store takes no writes, if it does not. */
  checkWritable(): void {
    if (this.failure) throw this.failure;
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
      await this.sync();
    } else {
      if (durability === 'ASYNC_WAL') await this.flush();
      if (this.syncSeq > this.readPoint && this.syncing) await this.syncing;
    }
    if (this.failure && seq > this.readPoint) throw this.failure;
    if (seq > this.readPoint) this.readPoint = seq;
  }

  /** Resolves when every write so far is durable and visible. */
  async settle(): Promise<void> {
    if (this.readPoint < this.lastSeq) await this.commit(this.lastSeq, 'FSYNC_WAL');
  }

  private sync(): Promise<void> {
    const promise = this.log.sync();
    if (promise === this.syncing) return promise;
    const guarded = promise.catch((error: unknown) => this.fail(error));
    this.syncing = guarded;
    return guarded;
  }

  /** One hand-over for all writes of a turn. */
  private flush(): Promise<void> {
    this.handOver ??= Promise.resolve().then(() => {
      this.handOver = undefined;
      try {
        this.log.flushToOs();
      } catch (error) {
        this.fail(error);
      }
    });
    return this.handOver;
  }

  private fail(cause: unknown): never {
    const error =
      cause instanceof RowanError
        ? cause
        : new RowanError('ERR_IO', 'The write-ahead log could not be written.', { cause });
    if (!this.failure) {
      this.failure = new RowanError(
        'ERR_READONLY',
        `The store takes no more writes: its write-ahead log failed (${error.message}). ` +
          'Reads go on. Mend the disk, then close and open the store again; acknowledged writes are safe.',
        { cause: error },
      );
      this.onRollback(this.readPoint + 1);
    }
    throw error;
  }
}
