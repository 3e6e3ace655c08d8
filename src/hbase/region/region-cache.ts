import { compareBytes, equalBytes } from '../../bytes/index.js';
import type { Region } from './region.js';

/** The regions of one table that are known, in key order; none overlaps another. */
class TableRegions {
  readonly regions: Region[] = [];

  /** The number of regions that begin at or before `row`. */
  upperBound(row: Uint8Array): number {
    const regions = this.regions;
    let low = 0;
    let high = regions.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareBytes(regions[middle]!.startKey, row) <= 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Where `region` stands, or the region that it is a replica of; -1 when something else is known in its place. */
  indexOf(region: Region): number {
    const at = this.upperBound(region.startKey) - 1;
    const known = this.regions[at];
    return known !== undefined && (known === region || known.replicas.includes(region)) ? at : -1;
  }
}

/**
 * Where regions are, as far as is known (HBase `AsyncNonMetaRegionLocator`). What is found here may be out of date: the
 * server says so, and {@link remove} or {@link replace} mend it.
 */
export class RegionCache {
  private readonly tables = new Map<string, TableRegions>();

  /** How much is known. */
  sizes(): { readonly tables: number; readonly regions: number } {
    let regions = 0;
    for (const table of this.tables.values()) regions += table.regions.length;
    return { tables: this.tables.size, regions };
  }

  /** The region that holds `row`. */
  find(table: string, row: Uint8Array): Region | undefined {
    const known = this.tables.get(table);
    if (known === undefined) return undefined;
    const region = known.regions[known.upperBound(row) - 1];
    return region !== undefined && holds(region, row) ? region : undefined;
  }

  /** The region that holds the greatest rows below `row`; for an empty row the last region. */
  findBefore(table: string, row: Uint8Array): Region | undefined {
    const known = this.tables.get(table);
    if (known === undefined) return undefined;
    if (row.length === 0) {
      const last = known.regions.at(-1);
      return last !== undefined && last.endKey.length === 0 ? last : undefined;
    }
    let at = known.upperBound(row) - 1;
    if (at >= 0 && compareBytes(known.regions[at]!.startKey, row) === 0) at--;
    const region = known.regions[at];
    if (region === undefined) return undefined;
    return region.endKey.length === 0 || compareBytes(row, region.endKey) <= 0 ? region : undefined;
  }

  /** Whether any region of the table is known. */
  knows(table: string): boolean {
    return (this.tables.get(table)?.regions.length ?? 0) > 0;
  }

  /**
   * Takes in what was looked up, and answers it, or the same region as it was known before. What is older than something
   * known that overlaps it is not taken in.
   */
  insert(region: Region): Region {
    let known = this.tables.get(region.table);
    if (known === undefined) {
      known = new TableRegions();
      this.tables.set(region.table, known);
    }
    const regions = known.regions;
    let from = known.upperBound(region.startKey);
    if (from > 0 && reaches(regions[from - 1]!, region.startKey)) from--;
    let to = from;
    while (to < regions.length && reaches(region, regions[to]!.startKey)) {
      const known = regions[to]!;
      if (isSame(known, region)) return known;
      if (isNewer(known, region)) return region;
      to++;
    }
    regions.splice(from, to - from, region);
    return region;
  }

  /** Forgets `region`, if it is still what is known; a newer finding stays. */
  remove(region: Region): void {
    const known = this.tables.get(region.table);
    const at = known?.indexOf(region) ?? -1;
    if (at >= 0) known!.regions.splice(at, 1);
  }

  /** Puts a region's new place where its old one was, if that is still what is known. */
  replace(old: Region, moved: Region): void {
    const known = this.tables.get(old.table);
    const at = known?.indexOf(old) ?? -1;
    if (at < 0) return;
    const replicas = [...old.replicas];
    replicas[0] = moved;
    moved.replicas = replicas;
    known!.regions[at] = moved;
  }

  /** Forgets every region that was on a server. */
  removeServer(server: string): void {
    for (const known of this.tables.values()) {
      let kept = 0;
      for (const region of known.regions) if (region.server !== server) known.regions[kept++] = region;
      known.regions.length = kept;
    }
  }

  removeTable(table: string): void {
    this.tables.delete(table);
  }
}

/** Whether `row` is in the region, given that the region begins at or before it. */
function holds(region: Region, row: Uint8Array): boolean {
  return region.endKey.length === 0 || compareBytes(row, region.endKey) < 0;
}

/** Whether `region`, which begins at or before `row`, ends behind it. */
function reaches(region: Region, row: Uint8Array): boolean {
  return holds(region, row);
}

/** Whether both say the same of the same region, replicas included. */
function isSame(known: Region, found: Region): boolean {
  return (
    known.regionId === found.regionId &&
    known.server === found.server &&
    known.startCode === found.startCode &&
    known.seqNum === found.seqNum &&
    equalBytes(known.name, found.name) &&
    known.replicas.length === found.replicas.length &&
    known.replicas.every((replica, id) => replica?.server === found.replicas[id]?.server)
  );
}

function isNewer(known: Region, found: Region): boolean {
  if (known.regionId !== found.regionId) return known.regionId > found.regionId;
  return known.seqNum > found.seqNum;
}
