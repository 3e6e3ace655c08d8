/**
 * Keeps memory bounded: counts the bytes of memstores, asks for flushes when a family has enough, and lets writers
 * wait when flushes do not keep up (HBase's memstore limits and `RegionTooBusyException`, here a wait instead).
 */

import type { FamilyStore } from './region/family-store.js';
import type { Region } from './region/region.js';

export interface PressureActions {
  /** The bytes at which a family of the region is flushed. */
  flushSizeOf(region: Region): number;
  requestFlush(region: Region, store: FamilyStore): void;
  /** The bytes of all memstores, those being flushed included. */
  memstoreBytes(): number;
  /** The family whose memstore holds most, to be flushed when the limit is reached. */
  largest(): { readonly region: Region; readonly store: FamilyStore } | undefined;
  onStall(milliseconds: number, memstoreBytes: number): void;
  clock(): number;
}

/** Bytes written between two looks at the totals, so that a put costs one addition. */
const LOOK_EVERY_WRITES = 64;

export class Pressure {
  private writes = 0;
  private waiting: (() => void)[] = [];
  /** Writers must wait. */
  full = false;

  constructor(
    private readonly actions: PressureActions,
    private readonly limit: number,
    private readonly automatic: boolean,
  ) {}

  /** Called after every write to a region. */
  wrote(region: Region): void {
    if (!this.automatic || ++this.writes % LOOK_EVERY_WRITES !== 0) return;
    const flushSize = this.actions.flushSizeOf(region);
    for (const store of region.stores) {
      if (store.version.active.bytes >= flushSize) this.actions.requestFlush(region, store);
    }
    if (this.actions.memstoreBytes() >= this.limit) {
      this.full = true;
      const largest = this.actions.largest();
      if (largest) this.actions.requestFlush(largest.region, largest.store);
    }
  }

  /** Called after every flush. */
  flushed(): void {
    if (!this.full || this.actions.memstoreBytes() >= this.limit) return;
    this.full = false;
    this.release();
  }

  /** Lets every waiting writer go on: there is room, or the store closes and its writes fail. */
  release(): void {
    const waiting = this.waiting;
    this.waiting = [];
    for (const resolve of waiting) resolve();
  }

  /** Resolves when there is room again. */
  async admit(): Promise<void> {
    const start = this.actions.clock();
    while (this.full) await new Promise<void>((resolve) => this.waiting.push(resolve));
    this.actions.onStall(this.actions.clock() - start, this.actions.memstoreBytes());
  }
}
