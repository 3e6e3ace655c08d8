/** The tables that the MANIFEST names, with their files open for reading and nothing in memory yet. */

import type { FileLedger } from './ledger/file-ledger.js';
import type { RegionEntry, TableEntry, VersionState } from './manifest/index.js';
import type { ChunkPool } from './memstore/chunk.js';
import { FamilyStore } from './region/family-store.js';
import { Region } from './region/region.js';
import { TableState } from './table-state.js';

/** `maxCellSize`: bytes of the largest cell that they take. @throws CorruptionError when a file is not what was written. */
export function loadTables(
  state: VersionState,
  ledger: FileLedger,
  pool: ChunkPool,
  maxCellSize: number,
): TableState[] {
  const regionsOf = new Map<number, RegionEntry[]>();
  for (const region of state.regions.values()) {
    const known = regionsOf.get(region.table);
    if (known) known.push(region);
    else regionsOf.set(region.table, [region]);
  }
  return [...state.tables.values()].map((table) => {
    const regions = (regionsOf.get(table.id) ?? [])
      .sort((a, b) => Buffer.compare(a.startKey, b.startKey))
      .map((region) => loadRegion(table, region, ledger, pool));
    return new TableState(
      table.id,
      table.descriptor,
      table.familyNumbers,
      table.enabled,
      regions,
      maxCellSize,
    );
  });
}

function loadRegion(table: TableEntry, entry: RegionEntry, ledger: FileLedger, pool: ChunkPool): Region {
  const stores = table.descriptor.families.map((family) => {
    const number = table.familyNumbers.get(family.name)!;
    const store = entry.stores.get(number);
    const files = [...(store?.files.values() ?? [])]
      .sort((a, b) => (a.bulkSeq ?? a.maxSeq) - (b.bulkSeq ?? b.maxSeq) || a.number - b.number)
      .map((file) => ledger.file(file.number, file.size, file.bulkSeq, family));
    return new FamilyStore(entry.id, number, family, files, store?.flushedSeq ?? -1, pool);
  });
  return new Region(entry.id, table.id, entry.startKey, entry.endKey, stores);
}
