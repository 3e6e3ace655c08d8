import { compareBytes } from '../../bytes/index.js';
import type { RegionEntry } from '../manifest/index.js';
import type { ChunkPool } from '../memstore/arena.js';
import { Memstore } from '../memstore/memstore.js';
import type { MemstoreSource } from '../recovery.js';
import type { FamilyMemory, FamilyStore } from '../region/family-store.js';
import type { TableState } from '../table-state.js';

/**
 * Carries the memstores of a follower over to the tables of the next state, so that the log is not read again. A family whose
 * region is the same and was not flushed keeps its memstores as they are; else the cells of its rows that no file has are copied.
 */
export class ReusedMemstores implements MemstoreSource {
  private readonly before: ReadonlyMap<number, TableState>;

  constructor(
    before: Iterable<TableState>,
    private readonly pool: ChunkPool,
  ) {
    this.before = new Map([...before].map((state) => [state.id, state]));
  }

  of(region: RegionEntry, family: number, flushedSeq: number): FamilyMemory | undefined {
    const stores = this.sourcesOf(region, family);
    const [only] = stores;
    if (only === undefined) return undefined;
    if (only.region === region.id && only.flushedSeq === flushedSeq) return only.version;
    const active = new Memstore(this.pool);
    for (const store of stores) copyCells(store, active, region, flushedSeq);
    return { active, frozen: [] };
  }

  /** The families of the previous state that may hold rows of the region: of the region itself, else of all regions of its table. */
  private sourcesOf(region: RegionEntry, family: number): FamilyStore[] {
    const regions = this.before.get(region.table)?.regions ?? [];
    const same = regions.filter(({ id }) => id === region.id);
    return (same.length > 0 ? same : regions)
      .flatMap(({ stores }) => stores)
      .filter((store) => store.familyNumber === family);
  }
}

function copyCells(store: FamilyStore, into: Memstore, region: RegionEntry, flushedSeq: number): void {
  const { active, frozen } = store.version;
  for (const memstore of [...frozen, active]) {
    if (memstore.maxSeq <= flushedSeq) continue;
    const cursor = memstore.cursor();
    for (let more = cursor.seekToFirst(); more; more = cursor.next()) {
      if (cursor.seq <= flushedSeq) continue;
      const { key, rowOffset, qualifierOffset, value, valueOffset } = cursor;
      const row = key.subarray(rowOffset, rowOffset + cursor.rowLength);
      if (compareBytes(row, region.startKey) < 0) continue;
      if (region.endKey.length > 0 && compareBytes(row, region.endKey) >= 0) break;
      const qualifier = key.subarray(qualifierOffset, qualifierOffset + cursor.qualifierLength);
      const bytes = value.subarray(valueOffset, valueOffset + cursor.valueLength);
      into.add(row, qualifier, cursor.timestamp, cursor.type, cursor.seq, cursor.ttl, bytes);
    }
  }
}
