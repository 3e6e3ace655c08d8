/**
 * Runs background work in batches. A batch starts at once when none runs; items that are added meanwhile form the next batch, so that
 * under load many rows share requests.
 */
export class BackgroundBatches<T> {
  private waiting: T[] = [];
  /** The batch of the waiting items. */
  private next: Promise<void> | undefined;
  private running: Promise<void> | undefined;

  /** `work` processes the items of one batch. Its error rejects {@link add} for all of them. */
  constructor(private readonly work: (items: readonly T[]) => Promise<void>) {}

  /** Resolves when the items have been processed. @throws the error of `work`. */
  add(items: readonly T[]): Promise<void> {
    if (items.length === 0) return Promise.resolve();
    this.waiting.push(...items);
    this.next ??= this.start(this.running);
    return this.next;
  }

  private async start(before: Promise<void> | undefined): Promise<void> {
    // An error of the previous batch is its own callers' concern.
    await before?.catch(() => undefined);
    const items = this.waiting;
    this.waiting = [];
    this.running = this.next;
    this.next = undefined;
    await this.work(items);
  }

  /** Resolves when all items added before the call have been processed, whether or not that failed. */
  async rest(): Promise<void> {
    await Promise.allSettled([this.running, this.next]);
  }
}
