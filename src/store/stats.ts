/** What a store knows of itself, for people and monitors. */

import type { BlockCacheStats } from './cache/index.js';
import type { StoreCore } from './store-core.js';

export interface FamilyStats {
  readonly family: string;
  readonly memstoreBytes: number;
  readonly memstoreCells: number;
  readonly files: number;
  /** Bytes on the disk. */
  readonly fileBytes: number;
  /** Bytes of the cells in files before encoding and compression. */
  readonly rawBytes: number;
  readonly cells: number;
  readonly deletes: number;
  /** Bytes written since the store was opened. */
  readonly bytesFlushed: number;
  readonly bytesCompacted: number;
}

export interface RegionStats {
  readonly region: number;
  readonly startKey: Uint8Array;
  readonly endKey: Uint8Array;
  readonly readRequests: number;
  readonly writeRequests: number;
  readonly families: readonly FamilyStats[];
}

export interface TableStats {
  readonly table: string;
  readonly enabled: boolean;
  readonly regions: readonly RegionStats[];
}

export interface StoreStats {
  readonly tables: readonly TableStats[];
  readonly memstoreBytes: number;
  readonly blockCache: BlockCacheStats;
  readonly walSegments: number;
  readonly walBytes: number;
  readonly lastSeq: number;
  readonly openScanners: number;
}

export function storeStats(core: StoreCore): StoreStats {
  const segments = [...core.manifest.state.walSegments.values()];
  return {
    tables: core.catalog.tableNames().map((name) => tableStats(core, name)),
    memstoreBytes: core.memstoreBytes(),
    blockCache: core.cache.stats(),
    walSegments: segments.length,
    walBytes: segments.reduce((sum, segment) => sum + (segment.closed?.length ?? core.wal.size), 0),
    lastSeq: core.commits.lastSeq,
    openScanners: core.scanners.size,
  };
}

function tableStats(core: StoreCore, name: string): TableStats {
  const state = core.catalog.get(name);
  const regions = state.regions.map((region): RegionStats => {
    const { id, startKey, endKey, readRequests, writeRequests } = region;
    const families = region.stores.map((store): FamilyStats => {
      const { active, frozen, files } = store.version;
      const sum = (of: (file: (typeof files)[number]) => number): number =>
        files.reduce((total, file) => total + of(file), 0);
      return {
        family: store.descriptor.name,
        memstoreBytes: store.memstoreBytes,
        memstoreCells: frozen.reduce((total, memstore) => total + memstore.size, active.size),
        files: files.length,
        fileBytes: store.fileBytes,
        rawBytes: sum((file) => file.meta.rawBytes),
        cells: sum((file) => file.meta.cells),
        deletes: sum((file) => file.meta.deletes),
        bytesFlushed: store.bytesFlushed,
        bytesCompacted: store.bytesCompacted,
      };
    });
    return { region: id, startKey, endKey, readRequests, writeRequests, families };
  });
  return { table: name, enabled: state.enabled, regions };
}
