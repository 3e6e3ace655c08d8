import { startsWithBytes } from '../../bytes/index.js';
import { type Get, type RawRow, Result } from '../../table/index.js';
import { type CellCursor, compareRows, isInColumn, isInRow, SeekKey } from '../cursor.js';
import type { StoreVersion } from '../region/family-store.js';
import { type Region, regionOf } from '../region/region.js';
import { isPlainFamily, type NewestPut, SHOWN } from '../scan/newest-put.js';
import { PlainRow } from '../scan/plain-row.js';
import { RegionScanner } from '../scan/region-scanner.js';
import type { TableState } from '../table-state.js';
import { makerOf, oldestSeen, plainGet, type ReadClock } from './plain-get.js';
import type { StoreReads } from './store-reads.js';

/**
 * The short way to the first row of a prefix that has a column, such as an entry of an index: by the cursors that gets read by,
 * so that no scan is opened and nothing is held. It gives what a scan of the prefix and column gives first.
 */

/** Rows that are passed over since nothing of them is left; where there are more a scan is quicker. */
const MOST_PASSED = 16;

/** Reads are synchronous: one of each serves them all. */
const target = new SeekKey();
const plainRow = new PlainRow();
/** The cursors that stand in a row of the prefix. */
const standing: (CellCursor | undefined)[] = [];

/** Reads the row's cell into `raw`; false when there is none, undefined when it takes a scanner to tell. */
export function firstRow(
  { stores, endKey }: Region,
  prefix: Uint8Array,
  qualifier: Uint8Array,
  readPoint: number,
  clock: ReadClock,
  raw: RawRow,
): boolean | undefined {
  // The prefix may go on in the next region, and a row in another family.
  if (stores.length !== 1 || startsWithBytes(endKey, prefix)) return undefined;
  const { descriptor, version } = stores[0]!;
  if (!isPlainFamily(descriptor, 1)) return undefined;
  let count = gather(version, prefix);
  plainRow.raw = raw;
  plainRow.out = null;
  const { rule } = plainRow;
  rule.readPoint = readPoint;
  const oldest = oldestSeen(descriptor, clock);
  const maker = makerOf(descriptor.name);
  let passed = 0;
  for (; count > 0 && passed < MOST_PASSED; passed++) {
    const first = leastOf(count);
    raw.clear();
    const row = raw.setRow(first.key, first.rowOffset, first.rowLength);
    rule.begin(oldest);
    if (count === 1 && isAnswer(first, qualifier, rule)) {
      maker.makeRaw(first, raw, 0);
      letGo(0, count);
      return true;
    }
    plainRow.begin();
    for (let i = 0; i < count; i++) if (isInRow(standing[i]!, row)) plainRow.add(standing[i]!);
    if (!plainRow.read(maker, row, [qualifier], oldest, false)) break;
    if (raw.count > 0) {
      letGo(0, count);
      return true;
    }
    count = stillStanding(count, prefix);
  }
  letGo(0, count);
  return count === 0 ? false : undefined;
}

/** Seeks the cursors of all that may have cells of the prefix; how many stand in one of its rows. */
function gather({ active, frozen, files }: StoreVersion, prefix: Uint8Array): number {
  target.setRow(prefix);
  let count = 0;
  let order = files.length + frozen.length;
  for (let i = -1; i < frozen.length; i++, order--) {
    const memstore = i < 0 ? active : frozen[i]!;
    if (memstore.size === 0) continue;
    const cursor = memstore.pointCursor;
    if (!cursor.seek(target) || !begins(cursor, prefix)) continue;
    cursor.order = order;
    standing[count++] = cursor;
  }
  for (let i = files.length - 1; i >= 0; i--) {
    const cursor = files[i]!.pointCursor;
    if (!cursor.seek(target) || !begins(cursor, prefix)) continue;
    cursor.order = i;
    standing[count++] = cursor;
  }
  return count;
}

/**
 * Whether the first cell of a row, of which nothing else has any, is the newest of the column, and none hides it: markers
 * would stand before it. What stands behind it need not be looked at.
 */
function isAnswer(cell: CellCursor, qualifier: Uint8Array, rule: NewestPut): boolean {
  return qualifier.length > 0 && isInColumn(cell, qualifier) && rule.sees(cell) && rule.judge(cell) === SHOWN;
}

function leastOf(count: number): CellCursor {
  let least = standing[0]!;
  for (let i = 1; i < count; i++) if (compareRows(standing[i]!, least) < 0) least = standing[i]!;
  return least;
}

/** Lets go of the cursors that have left the prefix; how many there are still. */
function stillStanding(count: number, prefix: Uint8Array): number {
  let left = 0;
  for (let i = 0; i < count; i++) {
    const cursor = standing[i]!;
    if (cursor.valid && begins(cursor, prefix)) standing[left++] = cursor;
  }
  letGo(left, count);
  return left;
}

/** Cursors hold blocks and memstores. */
function letGo(from: number, to: number): void {
  for (let i = from; i < to; i++) standing[i] = undefined;
}

function begins({ key, rowOffset, rowLength }: CellCursor, prefix: Uint8Array): boolean {
  const { length } = prefix;
  if (rowLength < length) return false;
  for (let i = length - 1; i >= 0; i--) if (key[rowOffset + i] !== prefix[i]) return false;
  return true;
}

/** Reading one row: by a short way where there is one, else through a scanner of the region. */

export function readRow(reads: StoreReads, state: TableState, get: Get): Result {
  const region = regionFor(state, get);
  return (
    plainGet(region, get, reads.commits.readPoint, reads, null) ??
    scanRow(reads, region, get, null) ??
    Result.EMPTY
  );
}

/** As `readRow`, into `raw`; false when there is nothing. */
export function readRawRow(reads: StoreReads, state: TableState, get: Get, raw: RawRow): boolean {
  const region = regionFor(state, get);
  raw.clear();
  const plain = plainGet(region, get, reads.commits.readPoint, reads, raw);
  if (plain !== undefined) return raw.count > 0;
  raw.clear();
  const result = scanRow(reads, region, get, raw);
  return result !== undefined && (!result.isEmpty || raw.count > 0);
}

/** The first row that begins with `prefix` and has the column, that cell alone, into `raw`; false when there is none, undefined when a scan must tell. */
export function readFirstRow(
  reads: StoreReads,
  state: TableState,
  prefix: Uint8Array,
  qualifier: Uint8Array,
  raw: RawRow,
): boolean | undefined {
  const region = regionOf(state.regions, prefix);
  const found = firstRow(region, prefix, qualifier, reads.commits.readPoint, reads, raw);
  if (found !== undefined) region.readRequests++;
  return found;
}

function regionFor(state: TableState, get: Get): Region {
  state.checkQuery(get);
  const region = regionOf(state.regions, get.row);
  region.readRequests++;
  return region;
}

function scanRow(reads: StoreReads, region: Region, get: Get, raw: RawRow | null): Result | undefined {
  const scanner = RegionScanner.forGet(reads.sourcesOf(region, get), get, {
    readPoint: reads.commits.readPoint,
    now: reads.now(),
    random: reads.settings.random,
  });
  try {
    return raw === null ? scanner.next() : scanner.nextRaw(raw);
  } finally {
    scanner.close();
  }
}
