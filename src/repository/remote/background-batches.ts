import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Runs background work in batches. A batch starts when none runs and its pause is over; items that are added meanwhile form the next
 * batch, so that under load many rows share requests.
 */
export class BackgroundBatches<T> {
  private waiting: T[] = [];
  /** The batch of the waiting items. */
  private next: Promise<void> | undefined;
  private running: Promise<void> | undefined;
  /** Ends the pause of the next batch. */
  private hurry = new AbortController();

  /**
   * `work` processes the items of one batch. Its error rejects {@link add} for all of them.
   * @param pause milliseconds for which a batch waits for further items.
   */
  constructor(
    private readonly work: (items: readonly T[]) => Promise<void>,
    private readonly pause = 0,
  ) {}

  /** The items that no batch has begun to process. */
  get size(): number {
    return this.waiting.length;
  }

  /** Resolves when the items have been processed. @throws the error of `work`. */
  add(items: readonly T[]): Promise<void> {
    if (items.length === 0) return Promise.resolve();
    this.waiting.push(...items);
    this.next ??= this.start(this.running);
    return this.next;
  }

  private async start(before: Promise<void> | undefined): Promise<void> {
    if (this.pause > 0) {
      this.hurry = new AbortController();
      await sleep(this.pause, undefined, { signal: this.hurry.signal }).catch(() => undefined);
    }
    // An error of the previous batch is its own callers' concern.
    await before?.catch(() => undefined);
    const items = this.waiting;
    this.waiting = [];
    this.running = this.next;
    this.next = undefined;
    await this.work(items);
  }

  /** Resolves when all items added before the call have been processed, whether or not that failed. Ends the pause. */
  async rest(): Promise<void> {
    this.hurry.abort();
    await Promise.allSettled([this.running, this.next]);
  }
}
