/** The open scans and transactions: what flushes and compactions must keep for them, and which of them nobody uses any more. */

import type { Memstore } from '../memstore/memstore.js';

/** Why a reader is ended by the store. */
export type ReaderEnd = 'store closed' | 'expired';

/** The limits of what flushes and compactions may drop: versions by read point, expired cells by time. */
export interface Retention {
  /** Versions that were superseded by a write up to this read point may be dropped. */
  readonly smallestReadPoint: number;
  /** The time that decides which cells have expired. */
  readonly now: number;
}

export interface RegisteredReader {
  /** Set by the registry: the index among the open readers. */
  slot: number;
  /** The sequence number up to which it sees writes. */
  readonly readPoint: number;
  /** The time that decides which cells have expired for it. */
  readonly time: number;
  /** Whether it may read, in any table, what it does not retain. */
  readonly pinsAll: boolean;
  /** Whether it reads a memstore. */
  readsFrom(memstore: Memstore): boolean;
  cutOff(why: ReaderEnd): void;
}

/** A reader that ends with its owner, or when it is not used. */
export interface IdleReader extends RegisteredReader {
  /** Set by every call. */
  used: boolean;
  /** Sweeps since the last call. */
  idle: number;
  /** The object that the application holds; undefined once only a weak reference to it is kept. */
  owner: object | undefined;
}

/** The number of sweeps without use after which a reader is ended. */
const SWEEPS = 4;

/**
 * The open scans and transactions. A transaction pins its read point in all tables: flushes and compactions keep what it may still
 * read. A scan pins nothing there, because it retains the memstores and files that it reads until it ends; only memstores that
 * are still written must keep the versions that their scans can see.
 *
 * A scan is ended when its owner is garbage-collected, and when it was not used for `idleTimeout`.
 */
export class ScannerRegistry {
  /** The open readers; the index of each is its `slot`. */
  private readonly readers: RegisteredReader[] = [];
  private timer: ReturnType<typeof setInterval> | undefined;
  private readonly abandoned = new FinalizationRegistry<IdleReader>((reader) => reader.cutOff('expired'));

  /** @param idleTimeout milliseconds without use after which a scan is ended */
  constructor(private readonly idleTimeout: number) {}

  get size(): number {
    return this.readers.length;
  }

  opened(reader: RegisteredReader): void {
    reader.slot = this.readers.length;
    this.readers.push(reader);
    if (this.timer !== undefined) return;
    const every = Math.min(2 ** 31 - 1, Math.max(1, this.idleTimeout / SWEEPS));
    this.timer = setInterval(() => this.sweep(), every);
    this.timer.unref();
  }

  closed(reader: RegisteredReader): void {
    const last = this.readers.pop()!;
    if (last !== reader) {
      this.readers[reader.slot] = last;
      last.slot = reader.slot;
    }
    if (isIdleReader(reader) && reader.owner === undefined) this.abandoned.unregister(reader);
  }

  /** The limits that flushes and compactions keep for the open transactions, and for one that begins at `readPoint` and `now`. */
  retention(readPoint: number, now: number): Retention {
    let smallestReadPoint = readPoint;
    let oldest = now;
    for (const reader of this.readers) {
      if (!reader.pinsAll) continue;
      if (reader.readPoint < smallestReadPoint) smallestReadPoint = reader.readPoint;
      if (reader.time < oldest) oldest = reader.time;
    }
    return { smallestReadPoint, now: oldest };
  }

  /** The smallest read point among the readers of a memstore, and `readPoint`. */
  smallestIn(memstore: Memstore, readPoint: number): number {
    let smallest = readPoint;
    for (const reader of this.readers) {
      if (reader.readPoint < smallest && reader.readsFrom(memstore)) smallest = reader.readPoint;
    }
    return smallest;
  }

  /**
   * Ends scans that were not used for long. A scan that was not used since the last sweep is from then on referenced weakly, so that
   * it ends when its owner is garbage-collected.
   */
  sweep(): void {
    for (const reader of [...this.readers]) {
      if (!isIdleReader(reader)) continue;
      if (reader.used) {
        reader.used = false;
        reader.idle = 0;
      } else if (++reader.idle >= SWEEPS) {
        reader.cutOff('expired');
      } else if (reader.owner !== undefined) {
        this.abandoned.register(reader.owner, reader, reader);
        reader.owner = undefined;
      }
    }
    if (this.readers.length === 0) this.stop();
  }

  cutOffAll(): void {
    for (const reader of [...this.readers]) reader.cutOff('store closed');
    this.stop();
  }

  private stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }
}

function isIdleReader(reader: RegisteredReader): reader is IdleReader {
  return !reader.pinsAll;
}
