/** Verifies some blocks of a file in a thread. */

import { fromWire, type RowanError } from '../../errors.js';
import type { FileMeta } from '../file/footer.js';
import type { StoreFile } from '../file/store-file.js';
import type { BlockRange } from '../file/verify-file.js';
import type { ScanReply } from './protocol.js';
import type { ReaderThread, ReaderThreads, ThreadedWork } from './reader-threads.js';

class BlocksWork implements ThreadedWork {
  private readonly number: number;
  private reply: ScanReply | undefined;
  private error: RowanError | undefined;
  private wake: (() => void) | undefined;

  constructor(
    private readonly pool: ReaderThreads,
    private readonly thread: ReaderThread,
    { path, fileNo, seq, size }: StoreFile,
    blocks: BlockRange,
  ) {
    this.number = pool.nextNumber();
    thread.scans.set(this.number, this);
    thread.send({ scan: this.number, verify: { path, fileNo, seq, size }, blocks });
  }

  /** Resolves with the next message. @throws RowanError `ERR_IO` when the thread has ended, `ERR_CLOSED`. */
  async next(): Promise<ScanReply> {
    this.thread.ref();
    try {
      while (this.reply === undefined && this.error === undefined)
        await new Promise<void>((resolve) => (this.wake = resolve));
    } finally {
      this.thread.unref();
    }
    if (this.error !== undefined) throw this.error;
    return this.reply!;
  }

  /** Lets the thread go on. */
  more(): void {
    this.reply = undefined;
    this.thread.send({ scan: this.number, more: 0 });
  }

  close(): void {
    this.thread.send({ scan: this.number, close: true });
  }

  receive(_thread: ReaderThread, reply: ScanReply): void {
    if ('closed' in reply) this.detach();
    else this.reply = reply;
    this.wake?.();
  }

  lost(_thread: ReaderThread, error: RowanError): void {
    this.error = error;
    this.detach();
    this.wake?.();
  }

  private detach(): void {
    this.thread.scans.delete(this.number);
    this.pool.detached();
  }
}

/**
 * As `verifyRange`, in the thread of the pool that has least to do; steps are larger. The caller retains the file.
 * @throws as `verifyRange`; RowanError `ERR_IO` when the thread has ended or cannot open the file, `ERR_CLOSED`.
 */
export async function* verifyInThread(
  pool: ReaderThreads,
  threads: number,
  file: StoreFile,
  blocks: BlockRange,
): AsyncGenerator<number, FileMeta | undefined> {
  const work = new BlocksWork(pool, pool.take(threads)[0]!, file, blocks);
  try {
    for (;;) {
      const reply = await work.next();
      if ('failed' in reply) throw fromWire(reply.failed);
      if ('found' in reply) return reply.found;
      if ('stepped' in reply) yield reply.stepped;
      work.more();
    }
  } finally {
    work.close();
  }
}
