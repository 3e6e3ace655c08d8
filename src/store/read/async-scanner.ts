import { throwIfAborted } from '../../errors.js';
import type { Result, ResultScanner, SyncResultScanner } from '../../table/index.js';

/** Results given between two turns of the event loop, so that a long scan leaves room for others. */
const RESULTS_PER_TURN = 4096;

/** A synchronous scanner as every engine gives it. */
export class AsyncScanner implements ResultScanner {
  private given = 0;
  private closed = false;

  constructor(
    private readonly scanner: SyncResultScanner,
    private readonly signal: AbortSignal | undefined,
  ) {}

  async next(): Promise<Result | undefined> {
    await this.pause(1);
    return this.scanner.next();
  }

  async nextBatch(count: number): Promise<Result[]> {
    await this.pause(count);
    return this.scanner.nextBatch(count);
  }

  async close(): Promise<void> {
    this.closed = true;
    this.scanner.close();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Result> {
    try {
      for (;;) {
        const batch = await this.nextBatch(256);
        yield* batch;
        if (batch.length < 256) return;
      }
    } finally {
      await this.close();
    }
  }

  private async pause(count: number): Promise<void> {
    if (this.signal?.aborted) {
      this.scanner.close();
      throwIfAborted(this.signal);
    }
    this.given += count;
    if (this.given < RESULTS_PER_TURN || this.closed) return;
    this.given = 0;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
