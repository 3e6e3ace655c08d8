/**
 * The scans and transactions that are open. A transaction pins its read point in all tables: flushes and compactions keep what
 * it may still look at. A scan pins nothing of that kind, for it holds what it reads, memstores and files, until it ends; only
 * a memstore that is still written to must keep what the scans that hold it can see.
 *
 * Scans are ended when nobody can read them on: when their owner is collected, and when nobody has called for `idleTimeout`.
 */

import type { Memstore } from '../memstore/memstore.js';

/** Why a reader is ended from outside. */
export type ReaderEnd = 'store closed' | 'expired';

/** The one rule of what may be dropped: versions by read point, expired cells by time. */
export interface Retention {
  /** Of the versions that writes up to it have replaced, only the last counts. */
  readonly smallestReadPoint: number;
  /** The time by which cells have expired. */
  readonly now: number;
}

export interface RegisteredReader {
  /** The registry's own: where it is among the open ones. */
  slot: number;
  /** It sees the writes up to this number. */
  readonly readPoint: number;
  /** The time by which cells have expired for it. */
  readonly time: number;
  /** Whether it may read, in any table, what is not held for it. */
  readonly pinsAll: boolean;
  /** Whether it reads a memstore. */
  looksAt(memstore: Memstore): boolean;
  cutOff(why: ReaderEnd): void;
}

/** A reader that ends with its owner, or when it is not used. */
export interface IdleReader extends RegisteredReader {
  /** Set with every call. */
  used: boolean;
  /** Sweeps since the last call. */
  idle: number;
  /** The reader; undefined while nothing but the reader itself refers to it. */
  owner: object | undefined;
}

/** Sweeps in the time after which a reader that nobody uses is ended. */
const SWEEPS = 4;

export class ScannerRegistry {
  /** The open readers, each at its slot. */
  private readonly readers: RegisteredReader[] = [];
  private timer: ReturnType<typeof setInterval> | undefined;
  private readonly abandoned = new FinalizationRegistry<IdleReader>((reader) => reader.cutOff('expired'));

  /** @param idleTimeout milliseconds without a call after which a scan is ended */
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

  /** What flushes and compactions keep: what the open transactions may look at, and who begins one at `readPoint` and `now`. */
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

  /** The oldest read point of those that read a memstore, and of who begins at `readPoint`. */
  smallestIn(memstore: Memstore, readPoint: number): number {
    let smallest = readPoint;
    for (const reader of this.readers) {
      if (reader.readPoint < smallest && reader.looksAt(memstore)) smallest = reader.readPoint;
    }
    return smallest;
  }

  /**
   * Ends the scans that were not used for long. One that was not used since the sweep before is known only through its owner
   * from then on, so that it ends when that is collected.
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
