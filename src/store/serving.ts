/** The store's tables region by region, as a server shows them to clients that ask each region by itself. */

import type { NamespaceProperties, Scan } from '../table/index.js';
import { coreOf, type EmbeddedEngine } from './engine.js';
import { TableScanner } from './read/table-scanner.js';
import type { Region } from './region/region.js';
import { middleRow } from './region/reshape.js';
import type { StoreCore } from './store-core.js';
import type { TableState } from './table-state.js';

export type { TableScanner } from './read/table-scanner.js';
export type { Region } from './region/region.js';
export type { TableState } from './table-state.js';

export class ServedStore {
  private readonly core: StoreCore;

  constructor(engine: EmbeddedEngine) {
    this.core = coreOf(engine);
  }

  /** In their order. */
  tableNames(): string[] {
    this.core.lifecycle.checkOpen();
    return this.core.catalog.tableNames();
  }

  /** The table of this canonical name as it is now; its `regions` are another list when one of them is split or merged. */
  table(name: string): TableState | undefined {
    return this.core.catalog.find(name);
  }

  /** Namespaces with their properties. */
  namespaces(): { readonly name: string; readonly properties: NamespaceProperties }[] {
    const { catalog } = this.core;
    return catalog.namespaces().map((name) => ({ name, properties: catalog.namespaceProperties(name) }));
  }

  /** Scans one region of a table as it is now: what else is asked for is not looked at. */
  scanRegion(state: TableState, region: Region, scan: Scan): TableScanner {
    this.core.lifecycle.checkOpen();
    return new TableScanner(this.core.reads, state, scan, undefined, region);
  }

  /** Splits a region at a key, or at its middle; false when it has none. @throws InvalidArgumentError for a key outside of it. */
  split(state: TableState, region: Region, splitKey: Uint8Array | undefined): Promise<boolean> {
    return this.core.lifecycle.track(this.core.maintenance.split(state, region, splitKey));
  }

  /** Makes one region of neighbors. @throws InvalidArgumentError when they are none, or one of them is gone. */
  async mergeRegions(state: TableState, regions: readonly Region[]): Promise<void> {
    await this.core.lifecycle.track(this.core.maintenance.mergeRegions(state, regions));
  }

  /** Where a region would be split; undefined: it has nothing in files, or one row. */
  middleOf(region: Region): Uint8Array | undefined {
    return middleRow(region);
  }

  /** Writes what a region has in memory to files, of one family or of all. */
  async flush(state: TableState, region: Region, family: string | undefined): Promise<void> {
    for (const store of region.stores) {
      if (family !== undefined && store.descriptor.name !== family) continue;
      await this.core.lifecycle.track(this.core.maintenance.flush({ state, region, store }));
    }
  }

  /** Merges files of a region, some as the policy finds or all, of one family or of all. */
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

  /** A number that no later write has: what is read now is of the writes up to it. */
  get readPoint(): number {
    return this.core.commits.readPoint;
  }

  /** Milliseconds, by the store's clock. */
  now(): number {
    return this.core.environment.now();
  }

  /** Bytes in memory that are in no file yet. */
  memstoreBytes(): number {
    return this.core.memory.memstoreBytes();
  }
}
