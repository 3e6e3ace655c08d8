import { setTimeout as sleep } from 'node:timers/promises';

/** Given to `abort`, which otherwise makes an error with a stack trace each time. */
const NO_REASON = null;

/** When a batch waits for further items, and how long. */
export interface Gathering<T> {
  /** Milliseconds without a further item after which a batch starts. */
  readonly pause: number;
  /** Milliseconds after the first item at which it starts in any case. Default: `pause`. */
  readonly longest?: number;
  /** The size of all items at which it starts in any case. Default: without limit. */
  readonly most?: number;
  /** The size of an item. Default: 1. */
  readonly sizeOf?: (item: T) => number;
}

/**
 * When work after the calls of writers begins: when no row was written for 50 ms, a second after the first write, or with 4,096 rows. So
 * a burst of writes has the server to itself, and rows of a group or table that were written in that time share their requests.
 */
export const GATHERED = { pause: 50, longest: 1000, most: 4096 } as const;

/**
 * Runs background work in batches. A batch starts when none runs and its pause is over; items that are added meanwhile form the next
 * batch, so that under load many rows share requests.
 */
export class BackgroundBatches<T> {
  private waiting: T[] = [];
  /** The size of the waiting items. */
  size = 0;
  /** When the last item was added. */
  private added = 0;
  /** The batch of the waiting items. */
  private next: Promise<void> | undefined;
  private running: Promise<void> | undefined;
  /** Ends the pause of the next batch. */
  private hurry = new AbortController();

  /** `work` processes the items of one batch. Its error rejects {@link add} for all of them. */
  constructor(
    private readonly work: (items: readonly T[]) => Promise<void>,
    private readonly gathering: Gathering<T> = { pause: 0 },
  ) {}

  /** Resolves when the items have been processed. @throws the error of `work`. */
  add(items: readonly T[]): Promise<void> {
    if (items.length === 0) return Promise.resolve();
    const { sizeOf, most = Number.POSITIVE_INFINITY } = this.gathering;
    for (const item of items) {
      this.waiting.push(item);
      this.size += sizeOf === undefined ? 1 : sizeOf(item);
    }
    this.added = performance.now();
    this.next ??= this.start(this.running);
    if (this.size >= most) this.hurry.abort(NO_REASON);
    return this.next;
  }

  private async start(before: Promise<void> | undefined): Promise<void> {
    if (this.gathering.pause > 0) await this.gather();
    // An error of the previous batch is its own callers' concern.
    await before?.catch(() => undefined);
    const items = this.waiting;
    this.waiting = [];
    this.size = 0;
    this.running = this.next;
    this.next = undefined;
    await this.work(items);
  }

  /** Waits for further items. */
  private async gather(): Promise<void> {
    const { pause, longest = pause } = this.gathering;
    const began = performance.now();
    this.hurry = new AbortController();
    const { signal } = this.hurry;
    for (let now = began; ; now = performance.now()) {
      const left = Math.min(this.added + pause, began + longest) - now;
      if (left <= 0 || signal.aborted) return;
      await sleep(left, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Resolves when all items added before the call have been processed, whether or not that failed. Ends the pause. */
  async rest(): Promise<void> {
    this.hurry.abort(NO_REASON);
    await Promise.allSettled([this.running, this.next]);
  }
}
