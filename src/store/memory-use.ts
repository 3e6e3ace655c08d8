import type { Maintenance } from './background/maintenance.js';
import type { Catalog } from './catalog.js';
import type { StoreEnvironment } from './environment.js';
import type { FamilyStore, Region } from './region/region.js';
import type { TableState } from './table-state.js';
import type { WriteThrottleActions } from './write-throttle.js';

/** A family of one region of a table. */
interface MemoryPlace {
  readonly state: TableState;
  readonly region: Region;
  readonly store: FamilyStore;
}

/** Counts the bytes of a store's memstores and requests flushes, for the write throttle. */
export class MemoryUse implements WriteThrottleActions {
  /** How often and how long writers have waited for memory. */
  readonly stalls = { count: 0, milliseconds: 0 };

  constructor(
    /** Its parts are read when needed: they are created after this object. */
    private readonly owner: {
      readonly environment: StoreEnvironment;
      readonly catalog: Catalog;
      readonly maintenance: Maintenance;
    },
  ) {}

  flushSizeOf(region: Region): number {
    const { catalog, environment } = this.owner;
    return catalog.tableOf(region)?.descriptor.memstoreFlushSize ?? environment.settings.memstoreFlushSize;
  }

  requestFlush(region: Region, store: FamilyStore): void {
    const { catalog, maintenance } = this.owner;
    const state = catalog.tableOf(region);
    if (state) maintenance.requestFlush(state, region, store);
  }

  memstoreBytes(): number {
    let bytes = 0;
    for (const state of this.owner.catalog.tables()) {
      for (const region of state.regions) bytes += region.memstoreBytes;
    }
    return bytes;
  }

  largest(): MemoryPlace | undefined {
    let found: MemoryPlace | undefined;
    for (const state of this.owner.catalog.tables()) {
      for (const region of state.regions) {
        for (const store of region.stores) {
          if (!found || store.memstoreBytes > found.store.memstoreBytes) found = { state, region, store };
        }
      }
    }
    return found;
  }

  /** The families that have cells in memory, the largest first. */
  bySize(): MemoryPlace[] {
    const places = [...this.owner.catalog.tables()].flatMap((state) =>
      state.regions.flatMap((region) => region.stores.map((store) => ({ state, region, store }))),
    );
    return places
      .filter(({ store }) => store.memstoreBytes > 0)
      .sort((a, b) => b.store.memstoreBytes - a.store.memstoreBytes);
  }

  onStall(milliseconds: number, memstoreBytes: number): void {
    this.stalls.count++;
    this.stalls.milliseconds += milliseconds;
    this.owner.environment.emit({ kind: 'stall', milliseconds, memstoreBytes });
  }

  clock(): number {
    return this.owner.environment.now();
  }
}
