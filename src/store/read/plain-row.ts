/**
 * The short way to one whole row, if no marker, no time to live and no second source is about: the newest cell of every
 * column as one memstore or file has them. Makes no scanner and no cells.
 */

import { FOREVER, type Get, type RawRow } from '../../table/index.js';
import { type CellCursor, isInRow, SeekKey } from '../cursor.js';
import { BloomKey } from '../file/bloom-key.js';
import type { FamilyStore } from '../region/family-store.js';
import type { Region } from '../region/region.js';
import type { StoreFile } from '../region/store-file.js';
import { copyPlainCells } from '../scan/plain-cells.js';
import { CellMaker } from '../scan/row-builder.js';

/** Reads are synchronous: one key and one bloom key serve them all. */
const seekKey = new SeekKey();
const bloomKey = new BloomKey();
/** Whether the bloom key is that of the row. */
let hashed = false;
const makers = new Map<string, CellMaker>();

/** Whether a get wants whole families as they are now. */
export function wantsPlainRow(get: Get): boolean {
  if (
    get.maxVersions !== 1 ||
    get.filter !== undefined ||
    !get.timeRange.isAll ||
    get.familyTimeRanges.size > 0 ||
    get.maxResultsPerColumnFamily !== undefined ||
    get.rowOffsetPerColumnFamily !== 0 ||
    !get.cacheBlocks ||
    get.checkExistenceOnly
  ) {
    return false;
  }
  if (get.onlyFamily !== undefined) return false;
  if (get.asksForAll) return true;
  for (const columns of get.families.values()) if (columns !== null) return false;
  return true;
}

/** Reads the row into `raw`; false when it takes a scanner, and `raw` then holds nothing of use. */
export function readPlainRow(region: Region, get: Get, readPoint: number, raw: RawRow): boolean {
  const { row, families } = get;
  raw.begin(row);
  seekKey.row = row;
  seekKey.rowLength = row.length;
  seekKey.qualifierLength = 0;
  seekKey.timestamp = Number.MAX_SAFE_INTEGER;
  hashed = false;
  const { stores } = region;
  for (let i = 0; i < stores.length; i++) {
    const store = stores[i]!;
    if (families.size > 0 && !families.has(store.descriptor.name)) continue;
    if (!readFamily(store, row, readPoint, raw)) return false;
  }
  return true;
}

function readFamily(store: FamilyStore, row: Uint8Array, readPoint: number, raw: RawRow): boolean {
  const { ttl, newVersionBehavior, name } = store.descriptor;
  if (newVersionBehavior || ttl !== FOREVER) return false;
  const { active, frozen, files } = store.version;
  let found: CellCursor | undefined;
  if (active.size > 0) {
    const cursor = active.pointCursor;
    if (cursor.seek(seekKey) && isInRow(cursor, row)) found = cursor;
  }
  for (let i = 0; i < frozen.length; i++) {
    const cursor = frozen[i]!.pointCursor;
    if (!cursor.seek(seekKey) || !isInRow(cursor, row)) continue;
    if (found !== undefined) return false;
    found = cursor;
  }
  for (let i = 0; i < files.length; i++) {
    if (!seekFile(files[i]!, files.length === 1)) continue;
    const cursor = files[i]!.pointCursor;
    if (!isInRow(cursor, row)) continue;
    if (found !== undefined) return false;
    found = cursor;
  }
  return found === undefined || copyPlainCells(found, makerOf(name), row, readPoint, raw, null);
}

/** False when the file has nothing of the row or behind it, or when its filter says that it has not the row. */
function seekFile(file: StoreFile, only: boolean): boolean {
  const cursor = file.pointCursor;
  // The only file most likely has the row: where its block is at hand, the filter would cost more than it spares.
  if (only && cursor.seekInMemory(seekKey)) return cursor.valid;
  if (!hashed) bloomKey.setRow(seekKey.row);
  hashed = true;
  return file.reader.mayContain(bloomKey) && cursor.seek(seekKey);
}

function makerOf(family: string): CellMaker {
  let maker = makers.get(family);
  if (maker === undefined) {
    maker = new CellMaker(family, undefined);
    makers.set(family, maker);
  }
  return maker;
}
