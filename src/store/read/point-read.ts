/** Reading one row: the short way for the newest value of one column, else through a scanner of the region. */

import { Cell, CellType, FOREVER, type Get, type RawRow, Result } from '../../table/index.js';
import { type CellCursor, SeekKey } from '../cursor.js';
import { BloomKey } from '../file/bloom-key.js';
import type { FamilyStore } from '../region/family-store.js';
import { type Region, regionOf } from '../region/region.js';
import { ByteSlab } from '../scan/byte-slab.js';
import { RegionScanner } from '../scan/region-scanner.js';
import type { StoreCore } from '../store-core.js';
import type { TableState } from '../table-state.js';
import { readPlainRow, wantsPlainRow } from './plain-row.js';

/** Reads are synchronous: one key, one bloom key and one place for the found cell serve them all. */
const seekKey = new SeekKey();
const bloomKey = new BloomKey();
const slab = new ByteSlab();

export function readRow(core: StoreCore, state: TableState, get: Get): Result {
  return read(core, regionFor(state, get), get, null) ?? Result.EMPTY;
}

/** As `readRow`, into `raw`; false when there is nothing. */
export function readRawRow(core: StoreCore, state: TableState, get: Get, raw: RawRow): boolean {
  const region = regionFor(state, get);
  if (wantsPlainRow(get) && readPlainRow(region, get, core.commits.readPoint, raw)) return raw.count > 0;
  raw.clear();
  const result = read(core, region, get, raw);
  return result !== undefined && (!result.isEmpty || raw.count > 0);
}

function regionFor(state: TableState, get: Get): Region {
  state.checkQuery(get);
  const region = regionOf(state.regions, get.row);
  region.readRequests++;
  return region;
}

function read(core: StoreCore, region: Region, get: Get, raw: RawRow | null): Result | undefined {
  if (get.onlyFamily !== undefined && isPlain(get)) {
    const result = readColumn(region.byFamily.get(get.onlyFamily)!, get.row, get.onlyColumn!, core);
    if (result !== undefined) {
      if (raw !== null) raw.fill(result);
      return result;
    }
  }
  const now = core.now();
  const scanner = RegionScanner.forGet(core.sourcesOf(region, get), get, {
    readPoint: core.commits.readPoint,
    now,
    random: core.settings.random,
  });
  try {
    return raw === null ? scanner.next() : scanner.nextRaw(raw);
  } finally {
    scanner.close();
  }
}

/** Whether a get wants nothing but the newest cells of its columns. */
function isPlain(get: Get): boolean {
  return (
    get.maxVersions === 1 &&
    get.filter === undefined &&
    get.timeRange.isAll &&
    get.familyTimeRanges.size === 0 &&
    get.maxResultsPerColumnFamily === undefined &&
    get.rowOffsetPerColumnFamily === 0 &&
    get.cacheBlocks &&
    !get.checkExistenceOnly
  );
}

/**
 * The newest cell of a column, if it can be told from the first cells of each memstore and file alone: it is a put,
 * has not expired, and no family marker is about. Undefined when it takes a scanner to tell.
 */
function readColumn(
  store: FamilyStore,
  row: Uint8Array,
  qualifier: Uint8Array,
  core: StoreCore,
): Result | undefined {
  const { readPoint } = core.commits;
  const { active, frozen, files } = store.version;
  const { newVersionBehavior, ttl } = store.descriptor;
  if (newVersionBehavior) return undefined;
  seekKey.row = row;
  seekKey.rowLength = row.length;
  seekKey.qualifier = qualifier;
  seekKey.qualifierLength = qualifier.length;
  seekKey.timestamp = ALL_TIMESTAMPS;
  let best: CellCursor | undefined;
  if (active.size > 0) {
    if (active.familyMarkers > 0) return undefined;
    best = newer(active.pointCursor, qualifier, readPoint, best);
  }
  for (let i = 0; i < frozen.length; i++) {
    const memstore = frozen[i]!;
    if (memstore.familyMarkers > 0) return undefined;
    best = newer(memstore.pointCursor, qualifier, readPoint, best);
  }
  let hashed = false;
  for (let i = files.length - 1; i >= 0; i--) {
    const file = files[i]!;
    const meta = file.meta;
    if (best && meta.maxTimestamp < best.timestamp && meta.deleteFamilyCount === 0) continue;
    // The only file most likely has the row: where its block is at hand, the filter would cost more than it spares.
    if (files.length === 1 && meta.deleteFamilyCount === 0 && file.pointCursor.seekInMemory(seekKey)) {
      best = newerOf(file.pointCursor, qualifier, readPoint, best);
      break;
    }
    if (!hashed) {
      bloomKey.setRow(row).setColumn(qualifier);
      hashed = true;
    }
    if (!file.reader.mayContain(bloomKey)) continue;
    if (meta.deleteFamilyCount > 0) return undefined;
    best = newer(file.pointCursor, qualifier, readPoint, best);
  }
  if (!best) return Result.EMPTY;
  if (best.type !== CellType.Put || best.ttl !== 0) return undefined;
  if (ttl !== FOREVER && best.timestamp < core.now() - ttl * 1000) return undefined;
  const value = slab.copy(best.value, best.valueOffset, best.valueLength);
  // The get's own bytes are the caller's.
  const ownRow = slab.copy(row, 0, row.length);
  const ownQualifier = slab.copy(qualifier, 0, qualifier.length);
  const cell = new Cell(ownRow, store.descriptor.name, ownQualifier, best.timestamp, CellType.Put, value);
  return new Result(ownRow, [cell]);
}

const ALL_TIMESTAMPS = Number.MAX_SAFE_INTEGER;

/** Seeks `cursor` to the column; the newer of its first visible cell there and `best`. */
function newer(
  cursor: CellCursor,
  qualifier: Uint8Array,
  readPoint: number,
  best: CellCursor | undefined,
): CellCursor | undefined {
  cursor.seek(seekKey);
  return newerOf(cursor, qualifier, readPoint, best);
}

/** The newer of the first visible cell of the column, where the cursor stands, and `best`. */
function newerOf(
  cursor: CellCursor,
  qualifier: Uint8Array,
  readPoint: number,
  best: CellCursor | undefined,
): CellCursor | undefined {
  while (cursor.valid) {
    if (!isAt(cursor, seekKey.row, qualifier)) return best;
    if (cursor.seq <= readPoint) break;
    cursor.next();
  }
  if (!cursor.valid) return best;
  if (!best) return cursor;
  if (cursor.timestamp !== best.timestamp) return cursor.timestamp > best.timestamp ? cursor : best;
  if (cursor.type !== best.type) return cursor.type > best.type ? cursor : best;
  // Sources are looked at newest first: of equal cells the first stands.
  return cursor.seq > best.seq ? cursor : best;
}

function isAt(cursor: CellCursor, row: Uint8Array, qualifier: Uint8Array): boolean {
  const { key, rowOffset, rowLength, qualifierOffset, qualifierLength } = cursor;
  if (rowLength !== row.length || qualifierLength !== qualifier.length) return false;
  for (let i = 0; i < rowLength; i++) if (key[rowOffset + i] !== row[i]) return false;
  for (let i = 0; i < qualifierLength; i++) if (key[qualifierOffset + i] !== qualifier[i]) return false;
  return true;
}
