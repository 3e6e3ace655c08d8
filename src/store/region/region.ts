/** A contiguous range of a table's rows (HBase `HRegion`): a {@link FamilyStore} for each family, and request counters. */

import { compareBytes } from '../../bytes/index.js';
import type { FamilyStore } from './family-store.js';

export class Region {
  readRequests = 0;
  writeRequests = 0;
  /** Resolves when the running split or merge has ended; automatic compactions do not begin meanwhile. */
  reshaping: Promise<void> | undefined;
  /** It was split or merged, or its table was dropped. */
  retired = false;

  constructor(
    readonly id: number,
    /** The number of its table. */
    readonly table: number,
    /** Inclusive; empty: from the first row. */
    readonly startKey: Uint8Array,
    /** Exclusive; empty: to the last row. */
    readonly endKey: Uint8Array,
    /** In the byte order of the family names. */
    public stores: readonly FamilyStore[],
  ) {
    this.byFamily = new Map(stores.map((store) => [store.descriptor.name, store]));
  }

  byFamily: ReadonlyMap<string, FamilyStore>;

  /** Replaces the families after the table was altered. */
  setStores(stores: readonly FamilyStore[]): void {
    this.stores = stores;
    this.byFamily = new Map(stores.map((store) => [store.descriptor.name, store]));
  }

  /** R85. */
  contains(row: Uint8Array): boolean {
    return (
      compareBytes(row, this.startKey) >= 0 &&
      (this.endKey.length === 0 || compareBytes(row, this.endKey) < 0)
    );
  }

  /** Whether some row is in the range of both. */
  overlaps({ startKey, endKey }: Region): boolean {
    return (
      (this.endKey.length === 0 || compareBytes(startKey, this.endKey) < 0) &&
      (endKey.length === 0 || compareBytes(this.startKey, endKey) < 0)
    );
  }

  get memstoreBytes(): number {
    let bytes = 0;
    for (const store of this.stores) bytes += store.memstoreBytes;
    return bytes;
  }

  get fileBytes(): number {
    let bytes = 0;
    for (const store of this.stores) bytes += store.fileBytes;
    return bytes;
  }
}

/** The region that contains `row`. `regions` are in key order and without gaps. */
export function regionOf(regions: readonly Region[], row: Uint8Array): Region {
  let low = 0;
  let high = regions.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if (compareBytes(regions[middle]!.startKey, row) <= 0) low = middle;
    else high = middle - 1;
  }
  return regions[low]!;
}
