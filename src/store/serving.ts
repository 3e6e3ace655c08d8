import type { NamespaceProperties, Scan, SyncTable } from '../table/index.js';
import { coreOf, type EmbeddedEngine } from './engine.js';
import { TableScanner } from './read/table-scanner.js';
import type { Region } from './region/region.js';
import { middleRow } from './region/reshape.js';
import type { StoreCore } from './store-core.js';
import type { TableState } from './table-state.js';
import { TrackedScanner } from './transaction/transaction-table.js';

export type { TableScanner } from './read/table-scanner.js';
export type { Region } from './region/region.js';
export type { TableState } from './table-state.js';

/** Scans a table of a transaction, so that the caller can pause it (`maxSkipped`) and serve others. */
export function scanInTransaction(table: SyncTable, scan: Scan): TrackedScanner {
  const scanner = table.scanSync(scan);
  if (scanner instanceof TrackedScanner) return scanner;
  throw new TypeError('Only a table of a transaction is scanned so.');
}

/** Access to a store's tables by region, for the server: HBase clients address each region by itself. */
export class ServedStore {
  private readonly core: StoreCore;

  constructor(engine: EmbeddedEngine) {
    this.core = coreOf(engine);
  }

  /** Lets connections write the store. @returns a function that ends it. */
  share(): () => void {
    const { servers } = this.core;
    servers.writable++;
    return () => {
      servers.writable--;
    };
  }

  /** In sorted order. */
  tableNames(): string[] {
    this.core.lifecycle.checkOpen();
    return this.core.catalog.tableNames();
  }

  /** The table of this canonical name. A split or merge replaces its `regions` by another list. */
  table(name: string): TableState | undefined {
    return this.core.catalog.find(name);
  }

  /** The namespaces with their properties. */
  namespaces(): { readonly name: string; readonly properties: NamespaceProperties }[] {
    const { catalog } = this.core;
    return catalog.namespaces().map((name) => ({ name, properties: catalog.namespaceProperties(name) }));
  }

  /** Scans one region of a table as it is now; the scan's range is limited to the region. */
  scanRegion(state: TableState, region: Region, scan: Scan): TableScanner {
    this.core.lifecycle.checkOpen();
    return new TableScanner(this.core.reads, state, scan, undefined, region);
  }

  /** Splits a region at a key, or at its middle; false when it has no middle. @throws InvalidArgumentError for a key outside of it. */
  split(state: TableState, region: Region, splitKey: Uint8Array | undefined): Promise<boolean> {
    return this.core.lifecycle.track(this.core.maintenance.split(state, region, splitKey));
  }

  /** Merges adjacent regions. @throws InvalidArgumentError when they are not adjacent, or one no longer exists. */
  async mergeRegions(state: TableState, regions: readonly Region[]): Promise<void> {
    await this.core.lifecycle.track(this.core.maintenance.mergeRegions(state, regions));
  }

  /** The row at which the region would be split; undefined if its files hold fewer than two rows. */
  middleOf(region: Region): Uint8Array | undefined {
    return middleRow(region);
  }

  /** Flushes one family of a region, or all. */
  async flush(state: TableState, region: Region, family: string | undefined): Promise<void> {
    for (const store of region.stores) {
      if (family !== undefined && store.descriptor.name !== family) continue;
      await this.core.lifecycle.track(this.core.maintenance.flush({ state, region, store }));
    }
  }

  /** Compacts one family of a region, or all: the files that the policy selects, or all files (major). */
  async compact(
    state: TableState,
    region: Region,
    { family, isMajor }: { readonly family: string | undefined; readonly isMajor: boolean },
  ): Promise<void> {
    const { maintenance } = this.core;
    for (const store of region.stores) {
      if (family !== undefined && store.descriptor.name !== family) continue;
      const place = { state, region, store };
      await this.core.lifecycle.track<unknown>(
        isMajor ? maintenance.majorCompact(place) : maintenance.compact(place),
      );
    }
  }

  /** The sequence number up to which reads that begin now see writes. */
  get readPoint(): number {
    return this.core.commits.readPoint;
  }

  /** Milliseconds, by the store's clock. */
  now(): number {
    return this.core.environment.now();
  }

  /** Bytes in memstores. */
  memstoreBytes(): number {
    return this.core.memory.memstores().bytes;
  }
}
