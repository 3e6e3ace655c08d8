import { RowanError, throwIfAborted } from '../errors.js';
import { readOnlyError } from './ledger/journal.js';
import type { FamilyStore, Region } from './region/region.js';

/** The functions of the store that the throttle calls. */
export interface WriteThrottleActions {
  /** The bytes at which a family of the region is flushed. */
  flushSizeOf(region: Region): number;
  requestFlush(region: Region, store: FamilyStore): void;
  /** The bytes of all memstores, those being flushed included, and the number of regions that have them. */
  memstores(): { readonly bytes: number; readonly regions: number };
  /** The family with the most bytes in memory, to be flushed when the limit is reached. */
  largest(): { readonly region: Region; readonly store: FamilyStore } | undefined;
  onStall(milliseconds: number, memstoreBytes: number): void;
  clock(): number;
}

/**
 * The totals are checked once in so many writes or bytes, so that a put costs two additions: in more writes where there are more
 * regions, whose memstores a check adds up.
 */
const CHECK_EVERY_WRITES = 64;
const CHECK_EVERY_BYTES = 1 << 20;

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: RowanError) => void;
}

/**
 * Makes writers wait before they begin.
 *
 * - For memory: it counts the bytes of memstores, requests flushes of families that have reached their flush size, and stops
 *   writers while flushes do not keep up. (HBase rejects such writes with `RegionTooBusyException`; here they wait.)
 * - For publication of files that must be one commit, as bulk loads are.
 */
export class WriteThrottle {
  private writes = 0;
  private bytes = 0;
  private checkEvery = CHECK_EVERY_WRITES;
  private waiting: Waiter[] = [];
  private closed = false;
  /** Memory is at its limit. */
  private crowded = false;
  /** How many callers of `holdingWrites` are running. */
  private holds = 0;
  /** Writers must wait, and check again in the turn in which they write. */
  full = false;

  constructor(
    private readonly actions: WriteThrottleActions,
    private readonly limit: number,
    private readonly automatic: boolean,
  ) {}

  /** Called after every write to a region, with its number of rows and the bytes of their values. */
  wrote(region: Region, rows: number, bytes: number): void {
    if (!this.automatic) return;
    this.bytes += bytes;
    this.writes += rows;
    if (this.writes < this.checkEvery && this.bytes < CHECK_EVERY_BYTES) return;
    this.writes = 0;
    this.bytes = 0;
    const flushSize = this.actions.flushSizeOf(region);
    for (const store of region.stores) {
      if (store.version.active.bytes >= flushSize) this.actions.requestFlush(region, store);
    }
    this.checkMemory();
  }

  /** Called with the regions of a store that was opened: their memstores have what was read from the log. */
  opened(regions: Iterable<Region>): void {
    if (!this.automatic) return;
    for (const region of regions) {
      const flushSize = this.actions.flushSizeOf(region);
      for (const store of region.stores) {
        if (store.memstoreBytes >= flushSize) this.actions.requestFlush(region, store);
      }
    }
    this.checkMemory();
  }

  /** Called when memory may have been freed: after flushes, splits, and drops of tables. */
  relieved(): void {
    if (this.full) this.checkMemory();
  }

  /** Called when a flush failed: rejects the writers that wait for it. The next writer requests another flush. */
  failed(cause: RowanError): void {
    if (!this.crowded) return;
    const waiting = this.waiting;
    this.waiting = [];
    for (const { reject } of waiting) {
      // Waiting longer would not help.
      if (cause.code === 'ERR_READONLY') {
        reject(readOnlyError(cause));
        continue;
      }
      reject(
        new RowanError(
          'ERR_BUSY',
          `The store's memory is full, and writing it to a file failed: ${cause.message} Fix that and write again.`,
          { cause, retryable: true, details: cause.details },
        ),
      );
    }
  }

  /** The store closes: writers stop waiting, and their writes fail. */
  close(): void {
    this.closed = true;
    this.crowded = false;
    this.full = false;
    this.release();
  }

  /** Runs `work` while no write begins. Writes that have begun are not waited for. */
  async holdingWrites<T>(work: () => Promise<T>): Promise<T> {
    this.holds++;
    this.full = true;
    try {
      return await work();
    } finally {
      this.holds--;
      this.checkMemory();
    }
  }

  /**
   * Waits while {@link full}. Resolves when it is worth asking again.
   * @throws RowanError `ERR_BUSY` when memory is full and a flush failed, `ERR_READONLY` when the store must be opened again
   *   first, `ERR_ABORTED`.
   */
  async admit(signal: AbortSignal | undefined): Promise<void> {
    const start = this.actions.clock();
    const forMemory = this.crowded;
    if (forMemory && this.waiting.length === 0) this.flushLargest();
    await this.wait(signal);
    throwIfAborted(signal);
    if (forMemory) this.actions.onStall(this.actions.clock() - start, this.actions.memstores().bytes);
  }

  private async wait(signal: AbortSignal | undefined): Promise<void> {
    let wake: (() => void) | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        this.waiting.push({ resolve, reject });
        wake = resolve;
        signal?.addEventListener('abort', resolve as () => void);
      });
    } finally {
      if (wake) signal?.removeEventListener('abort', wake);
    }
  }

  private checkMemory(): void {
    const { bytes, regions } = this.actions.memstores();
    this.checkEvery = Math.max(CHECK_EVERY_WRITES, regions);
    this.crowded = !this.closed && bytes > 0 && bytes >= this.limit;
    this.full = this.crowded || this.holds > 0;
    if (this.crowded) this.flushLargest();
    else if (!this.full) this.release();
  }

  private flushLargest(): void {
    const largest = this.actions.largest();
    if (largest) this.actions.requestFlush(largest.region, largest.store);
  }

  private release(): void {
    if (this.waiting.length === 0) return;
    const waiting = this.waiting;
    this.waiting = [];
    for (const { resolve } of waiting) resolve();
  }
}
