import { startsWithBytes } from '../../bytes/index.js';
import type { RawRow } from '../../table/index.js';
import { type CellCursor, compareRows, isInColumn, isInRow, SeekKey } from '../cursor.js';
import { type Region, regionOf, type StoreVersion } from '../region/region.js';
import { isPlainFamily, type NewestPut, PlainRow, SHOWN } from '../scan/newest-put.js';
import type { TableState } from '../table-state.js';
import { makerOf, oldestSeen, type PointReadCore, type ReadClock } from './point-read.js';

/** The most rows without a visible cell that are skipped; with more of them a scan is faster. */
const MAX_SKIPPED_ROWS = 16;

/** Reused: reads are synchronous. */
const target = new SeekKey();
const plainRow = new PlainRow();
/** The cursors that are in a row of the prefix. */
const cursors: (CellCursor | undefined)[] = [];

/**
 * Reads the cell of the first row that begins with `prefix` and has the column, such as an entry of an index, into `raw`; false when
 * there is none, undefined when only a scan can decide. It uses the cursors of gets: no scan is opened, and nothing is retained. The
 * result is that of a scan of the prefix and column with limit 1.
 */
export function readFirstRow(
  reads: PointReadCore,
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

/** Reads the row's cell into `raw`; false when there is none, undefined when only a scanner can decide. */
function firstRow(
  { stores, endKey }: Region,
  prefix: Uint8Array,
  qualifier: Uint8Array,
  readPoint: number,
  clock: ReadClock,
  raw: RawRow,
): boolean | undefined {
  // The prefix may continue in the next region, or the row in another family.
  if (stores.length !== 1 || startsWithBytes(endKey, prefix)) return undefined;
  const { descriptor, version } = stores[0]!;
  if (!isPlainFamily(descriptor, 1)) return undefined;
  let count = seekAll(version, prefix);
  plainRow.raw = raw;
  plainRow.out = null;
  const { rule } = plainRow;
  rule.readPoint = readPoint;
  const oldest = oldestSeen(descriptor, clock);
  const maker = makerOf(descriptor.name);
  let skipped = 0;
  for (; count > 0 && skipped < MAX_SKIPPED_ROWS; skipped++) {
    const first = leastOf(count);
    raw.clear();
    const row = raw.setRow(first.key, first.rowOffset, first.rowLength);
    rule.begin(oldest);
    if (count === 1 && isAnswer(first, qualifier, rule)) {
      maker.makeRaw(first, raw, 0);
      clearCursors(0, count);
      return true;
    }
    plainRow.begin();
    for (let i = 0; i < count; i++) if (isInRow(cursors[i]!, row)) plainRow.add(cursors[i]!);
    if (!plainRow.read(maker, row, [qualifier], oldest, null)) break;
    if (raw.count > 0) {
      clearCursors(0, count);
      return true;
    }
    count = dropLeft(count, prefix);
  }
  clearCursors(0, count);
  return count === 0 ? false : undefined;
}

/** Seeks the cursors of all memstores and files; returns how many are in a row of the prefix. */
function seekAll({ active, frozen, files }: StoreVersion, prefix: Uint8Array): number {
  target.setRow(prefix);
  let count = 0;
  let order = files.length + frozen.length;
  for (let i = -1; i < frozen.length; i++, order--) {
    const memstore = i < 0 ? active : frozen[i]!;
    if (memstore.size === 0) continue;
    const cursor = memstore.pointCursor;
    if (!cursor.seek(target) || !hasPrefix(cursor, prefix)) continue;
    cursor.order = order;
    cursors[count++] = cursor;
  }
  for (let i = files.length - 1; i >= 0; i--) {
    const cursor = files[i]!.pointCursor;
    if (!cursor.seek(target) || !hasPrefix(cursor, prefix)) continue;
    cursor.order = i;
    cursors[count++] = cursor;
  }
  return count;
}

/**
 * Whether the first cell of a row that a single source has is the newest of the column and visible. No marker hides it, because
 * markers would come before it. The cells after it do not matter.
 */
function isAnswer(cell: CellCursor, qualifier: Uint8Array, rule: NewestPut): boolean {
  return qualifier.length > 0 && isInColumn(cell, qualifier) && rule.sees(cell) && rule.judge(cell) === SHOWN;
}

function leastOf(count: number): CellCursor {
  let least = cursors[0]!;
  for (let i = 1; i < count; i++) if (compareRows(cursors[i]!, least) < 0) least = cursors[i]!;
  return least;
}

/** Drops the cursors that have left the prefix; returns how many are left. */
function dropLeft(count: number, prefix: Uint8Array): number {
  let left = 0;
  for (let i = 0; i < count; i++) {
    const cursor = cursors[i]!;
    if (cursor.valid && hasPrefix(cursor, prefix)) cursors[left++] = cursor;
  }
  clearCursors(left, count);
  return left;
}

/** Drops references to cursors, which retain blocks and memstores. */
function clearCursors(from: number, to: number): void {
  for (let i = from; i < to; i++) cursors[i] = undefined;
}

function hasPrefix({ key, rowOffset, rowLength }: CellCursor, prefix: Uint8Array): boolean {
  const { length } = prefix;
  if (rowLength < length) return false;
  for (let i = length - 1; i >= 0; i--) if (key[rowOffset + i] !== prefix[i]) return false;
  return true;
}
