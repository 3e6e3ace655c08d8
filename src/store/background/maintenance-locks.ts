import type { FamilyStore } from '../region/region.js';

/** Locks of families: at most one flush and one compaction of a family at a time, and none while its region is being changed. */
export class MaintenanceLocks {
  private readonly flushes = new Map<FamilyStore, Promise<void>>();
  private readonly compactions = new Map<FamilyStore, Promise<unknown>>();
  private readonly blockedFlushes = new Map<FamilyStore, Promise<void>>();
  private readonly blockedCompactions = new Map<FamilyStore, Promise<void>>();

  /** Starts a flush; or waits for the running one, or until flushes of the family are allowed again. */
  async flushOrWait(store: FamilyStore, flush: () => Promise<void>): Promise<void> {
    const waiting = this.blockedFlushes.get(store) ?? this.flushes.get(store);
    if (waiting) return waiting;
    const running = flush().finally(() => this.flushes.delete(store));
    this.flushes.set(store, running);
    return running;
  }

  /** Runs a compaction when no other compaction of the family runs. */
  async compact<T>(store: FamilyStore, compaction: () => Promise<T>): Promise<T> {
    for (;;) {
      const waiting = this.blockedCompactions.get(store) ?? this.compactions.get(store);
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
   * Runs `change` while no flush or compaction of `stores` runs or begins, so that it may change their files and regions. One such
   * change of a family at a time.
   */
  async runExclusive<T>(stores: readonly FamilyStore[], change: () => Promise<T>): Promise<T> {
    let release!: () => void;
    const blocked = new Promise<void>((resolve) => (release = resolve));
    try {
      // Compactions first, because they may take long: flushes go on meanwhile.
      for (const store of stores) this.blockedCompactions.set(store, blocked);
      for (const store of stores) await this.compacted(store);
      for (const store of stores) this.blockedFlushes.set(store, blocked);
      for (const store of stores) await this.flushed(store);
      return await change();
    } finally {
      for (const store of stores) {
        this.blockedCompactions.delete(store);
        this.blockedFlushes.delete(store);
      }
      release();
    }
  }

  /** Runs `change` while no compaction of `stores` runs or begins; flushes go on. */
  async withoutCompactions<T>(stores: readonly FamilyStore[], change: () => Promise<T>): Promise<T> {
    let release!: () => void;
    const blocked = new Promise<void>((resolve) => (release = resolve));
    try {
      for (const store of stores) this.blockedCompactions.set(store, blocked);
      for (const store of stores) await this.compacted(store);
      return await change();
    } finally {
      for (const store of stores) this.blockedCompactions.delete(store);
      release();
    }
  }

  private async flushed(store: FamilyStore): Promise<void> {
    // A failure is reported to the caller of the flush.
    while (this.flushes.has(store)) await Promise.allSettled([this.flushes.get(store)]);
  }
}
