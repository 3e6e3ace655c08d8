/** Locks of families: one flush and one compaction at a time, and none while the region is being changed. */

import type { FamilyStore } from '../region/family-store.js';

export class MaintenanceLocks {
  private readonly flushes = new Map<FamilyStore, Promise<void>>();
  private readonly compactions = new Map<FamilyStore, Promise<unknown>>();
  private readonly heldFlushes = new Map<FamilyStore, Promise<void>>();
  private readonly heldCompactions = new Map<FamilyStore, Promise<void>>();

  /** Starts a flush; or waits for the one that runs, or until flushes of the family are allowed again. */
  async flushOrWait(store: FamilyStore, flush: () => Promise<void>): Promise<void> {
    const waiting = this.heldFlushes.get(store) ?? this.flushes.get(store);
    if (waiting) return waiting;
    const running = flush().finally(() => this.flushes.delete(store));
    this.flushes.set(store, running);
    return running;
  }

  /** Runs a compaction when no other of the family runs. */
  async compact<T>(store: FamilyStore, compaction: () => Promise<T>): Promise<T> {
    for (;;) {
      const waiting = this.heldCompactions.get(store) ?? this.compactions.get(store);
      if (!waiting) break;
      await waiting;
    }
    const running = compaction().finally(() => this.compactions.delete(store));
    this.compactions.set(
      store,
      running.catch(() => {}),
    );
    return running;
  }

  /** Resolves when no compaction of the family runs. */
  async compacted(store: FamilyStore): Promise<void> {
    while (this.compactions.has(store)) await this.compactions.get(store);
  }

  /**
   * Runs `change` while no flush or compaction of `stores` runs or begins: their files, and the regions that have them,
   * are its own. One change of a family at a time.
   */
  async exclude<T>(stores: readonly FamilyStore[], change: () => Promise<T>): Promise<T> {
    let release!: () => void;
    const held = new Promise<void>((resolve) => (release = resolve));
    try {
      // Compactions first, which may take long: memory is still written to files meanwhile.
      for (const store of stores) this.heldCompactions.set(store, held);
      for (const store of stores) await this.compacted(store);
      for (const store of stores) this.heldFlushes.set(store, held);
      for (const store of stores) await this.flushed(store);
      return await change();
    } finally {
      for (const store of stores) {
        this.heldCompactions.delete(store);
        this.heldFlushes.delete(store);
      }
      release();
    }
  }

  /** Runs `change` while no compaction of `stores` runs or begins; memory is written to files meanwhile. */
  async withoutCompactions<T>(stores: readonly FamilyStore[], change: () => Promise<T>): Promise<T> {
    let release!: () => void;
    const held = new Promise<void>((resolve) => (release = resolve));
    try {
      for (const store of stores) this.heldCompactions.set(store, held);
      for (const store of stores) await this.compacted(store);
      return await change();
    } finally {
      for (const store of stores) this.heldCompactions.delete(store);
      release();
    }
  }

  private async flushed(store: FamilyStore): Promise<void> {
    // Who asked for it hears of its failure.
    while (this.flushes.has(store)) await Promise.allSettled([this.flushes.get(store)]);
  }
}
