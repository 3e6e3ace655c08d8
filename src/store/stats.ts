import type { BlockCache, BlockCacheStats } from './cache.js';
import type { RowClock } from './commit/row-clock.js';
import type { VersionState } from './manifest/index.js';
import type { Region } from './region/region.js';
import type { TableState } from './table-state.js';

interface FamilyStats {
  readonly family: string;
  readonly memstoreBytes: number;
  readonly memstoreCells: number;
  readonly files: number;
  /** Bytes on disk. */
  readonly fileBytes: number;
  /** Bytes of the cells in files before encoding and compression. */
  readonly rawBytes: number;
  readonly cells: number;
  readonly deletes: number;
  /** Bytes written since the store was opened. */
  readonly bytesFlushed: number;
  readonly bytesCompacted: number;
}

interface RegionStats {
  readonly region: number;
  readonly startKey: Uint8Array;
  readonly endKey: Uint8Array;
  readonly readRequests: number;
  readonly writeRequests: number;
  readonly families: readonly FamilyStats[];
}

interface TableStats {
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
  /** The store's clock: later writes get no lower timestamp. Milliseconds since 1970. */
  readonly clock: number;
  readonly openScanners: number;
}

/** The parts of a store that statistics are taken of. */
interface CountedStore {
  readonly tables: Iterable<TableState>;
  readonly state: VersionState;
  readonly openLogBytes: number;
  readonly cache: BlockCache;
  readonly lastSeq: number;
  readonly rowClock: RowClock;
  readonly openScanners: number;
}

/** Statistics of a store by table, region and family. */
export function storeStats(store: CountedStore): StoreStats {
  const { state, cache, openLogBytes, lastSeq, rowClock, openScanners } = store;
  const segments = [...state.walSegments.values()];
  const tables = [...store.tables]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((table) => [tableStats(table), table.regions] as const);
  return {
    tables: tables.map(([stats]) => stats),
    memstoreBytes: tables.reduce((sum, [, regions]) => sum + memstoreBytes(regions), 0),
    blockCache: cache.stats(),
    walSegments: segments.length,
    walBytes: segments.reduce((sum, segment) => sum + (segment.closed?.length ?? openLogBytes), 0),
    lastSeq,
    clock: rowClock.highest,
    openScanners,
  };
}

function memstoreBytes(regions: readonly Region[]): number {
  return regions.reduce((sum, region) => sum + region.memstoreBytes, 0);
}

function tableStats(state: TableState): TableStats {
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
  return { table: state.name, enabled: state.enabled, regions };
}
