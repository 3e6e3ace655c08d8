/** Reading one row: by a short way where there is one, else through a scanner of the region. */

import { type Get, type RawRow, Result } from '../../table/index.js';
import { type Region, regionOf } from '../region/region.js';
import { RegionScanner } from '../scan/region-scanner.js';
import type { StoreCore } from '../store-core.js';
import type { TableState } from '../table-state.js';
import { firstRow } from './first-row.js';
import { plainGet } from './plain-get.js';

export function readRow(core: StoreCore, state: TableState, get: Get): Result {
  const region = regionFor(state, get);
  return (
    plainGet(region, get, core.commits.readPoint, core, null) ??
    scanRow(core, region, get, null) ??
    Result.EMPTY
  );
}

/** As `readRow`, into `raw`; false when there is nothing. */
export function readRawRow(core: StoreCore, state: TableState, get: Get, raw: RawRow): boolean {
  const region = regionFor(state, get);
  raw.clear();
  const plain = plainGet(region, get, core.commits.readPoint, core, raw);
  if (plain !== undefined) return raw.count > 0;
  raw.clear();
  const result = scanRow(core, region, get, raw);
  return result !== undefined && (!result.isEmpty || raw.count > 0);
}

/** The first row that begins with `prefix` and has the column, that cell alone, into `raw`; false when there is none, undefined when a scan must tell. */
export function readFirstRow(
  core: StoreCore,
  state: TableState,
  prefix: Uint8Array,
  qualifier: Uint8Array,
  raw: RawRow,
): boolean | undefined {
  const region = regionOf(state.regions, prefix);
  const found = firstRow(region, prefix, qualifier, core.commits.readPoint, core, raw);
  if (found !== undefined) region.readRequests++;
  return found;
}

function regionFor(state: TableState, get: Get): Region {
  state.checkQuery(get);
  const region = regionOf(state.regions, get.row);
  region.readRequests++;
  return region;
}

function scanRow(core: StoreCore, region: Region, get: Get, raw: RawRow | null): Result | undefined {
  const scanner = RegionScanner.forGet(core.sourcesOf(region, get), get, {
    readPoint: core.commits.readPoint,
    now: core.now(),
    random: core.settings.random,
  });
  try {
    return raw === null ? scanner.next() : scanner.nextRaw(raw);
  } finally {
    scanner.close();
  }
}
