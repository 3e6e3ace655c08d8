/**
 * What a transaction has read: rows, and ranges of rows including what is absent. Conflicts are detected by sequence numbers: cells of
 * later writes are in memory, or in files whose metadata shows it, until the snapshot is released. So no list of recent
 * writes is kept for transactions, and writes that no transaction depends on cost nothing extra.
 */

import {
  compareBytes,
  compareSlices,
  copyBytes,
  EMPTY_BYTES,
  equalBytes,
  toLatin1,
} from '../../bytes/index.js';
import { RowanError } from '../../errors.js';
import { type Get, LATEST_TIMESTAMP, type Query, type Scan } from '../../table/index.js';
import { type CellCursor, SeekKey } from '../cursor.js';
import type { Memstore } from '../memstore/memstore.js';
import { type FamilyStore, type Region, regionOf } from '../region/region.js';
import type { TableState } from '../table-state.js';

/** The most reads of a transaction. */
const MAX_READS = 1_000_000;

/** Rows from `start` to `stop`, both inclusive; null: to the last row. For a single row both are the same array. */
export interface ReadRange {
  readonly state: TableState;
  /** Null: all. */
  families: ReadonlySet<string> | null;
  start: Uint8Array;
  stop: Uint8Array | null;
}

/** Reused: checks run in one turn. */
const seekKey = new SeekKey();

export class ReadSet {
  private readonly rows = new ReadRows();
  private readonly ranges: ReadRange[] = [];

  addGet(state: TableState, get: Get): void {
    const known = this.rows.find(state, get.row);
    const families = familiesOf(get);
    if (known === undefined) {
      this.checkSize();
      const row = copyBytes(get.row);
      this.rows.add({ state, families, start: row, stop: row });
    } else if (known.families !== null && !isWithin(families, known.families)) {
      known.families = families === null ? null : new Set([...known.families, ...families]);
    }
  }

  /** Adds the range of a scan, which grows as the scan advances; empty at first. */
  addScan(state: TableState, scan: Scan): ScannedRange {
    this.checkSize();
    const range = new ScannedRange(state, familiesOf(scan), scan);
    this.ranges.push(range);
    return range;
  }

  /** The first row or range that a write after `readPoint` has changed. */
  changedSince(readPoint: number): ReadRange | undefined {
    for (const read of this.rows.all) if (isChanged(read, readPoint)) return read;
    for (const read of this.ranges) if (isChanged(read, readPoint)) return read;
    return undefined;
  }

  /** Whether the row was read, or is in a range that was read. */
  covers(state: TableState, row: Uint8Array): boolean {
    if (this.rows.find(state, row) !== undefined) return true;
    return this.ranges.some(
      (range) =>
        range.state === state &&
        compareBytes(range.start, row) <= 0 &&
        (range.stop === null || compareBytes(row, range.stop) <= 0),
    );
  }

  private checkSize(): void {
    if (this.rows.all.length + this.ranges.length < MAX_READS) return;
    throw new RowanError(
      'ERR_TOO_LARGE',
      `A transaction reads at most ${MAX_READS} rows and ranges. Read ranges with queries, or split it into several transactions.`,
    );
  }
}

/** So few rows are compared one by one, which most transactions never exceed; more are found by name. */
const FEW_ROWS = 8;

/** The single rows that were read, in the order of their first reads. */
class ReadRows {
  readonly all: ReadRange[] = [];
  private readonly byName = new Map<string, ReadRange>();

  find(state: TableState, row: Uint8Array): ReadRange | undefined {
    const { all } = this;
    if (all.length > FEW_ROWS) return this.byName.get(nameOf(state, row));
    for (let i = all.length - 1; i >= 0; i--) {
      const read = all[i]!;
      if (read.state === state && equalBytes(read.start, row)) return read;
    }
    return undefined;
  }

  /** Adds a row that {@link find} does not know. */
  add(read: ReadRange): void {
    const { all } = this;
    all.push(read);
    if (all.length <= FEW_ROWS) return;
    const unnamed = all.length === FEW_ROWS + 1 ? all : [read];
    for (const each of unnamed) this.byName.set(nameOf(each.state, each.start), each);
  }
}

function nameOf(state: TableState, row: Uint8Array): string {
  return `${state.id} ${toLatin1(row)}`;
}

/** The range that a scan has read so far; complete when the scan has ended. */
export class ScannedRange implements ReadRange {
  start: Uint8Array;
  stop: Uint8Array | null;
  private readonly low: Uint8Array;
  private readonly high: Uint8Array | null;

  constructor(
    readonly state: TableState,
    readonly families: ReadonlySet<string> | null,
    private readonly scan: Scan,
  ) {
    const [low, high] = scan.reversed ? [scan.stopRow, scan.startRow] : [scan.startRow, scan.stopRow];
    this.low = copyBytes(low);
    this.high = high.length === 0 ? null : copyBytes(high);
    // Empty: nothing was returned yet.
    this.start = scan.reversed ? AFTER_ALL : this.low;
    this.stop = scan.reversed ? this.high : EMPTY_BYTES;
  }

  reached(row: Uint8Array): void {
    if (this.scan.reversed) this.start = copyBytes(row);
    else this.stop = copyBytes(row);
  }

  ended(): void {
    this.start = this.low;
    this.stop = this.high;
  }
}

/** Longer than any row. */
const AFTER_ALL = new Uint8Array(2 ** 15).fill(0xff);

function familiesOf(query: Query): ReadonlySet<string> | null {
  if (query.onlyFamily !== undefined) return new Set([query.onlyFamily]);
  return query.asksForAll ? null : new Set(query.families.keys());
}

function isWithin(some: ReadonlySet<string> | null, all: ReadonlySet<string>): boolean {
  if (some === null) return false;
  for (const family of some) if (!all.has(family)) return false;
  return true;
}

function isChanged(read: ReadRange, readPoint: number): boolean {
  const { state, start, stop } = read;
  if (stop !== null && compareBytes(start, stop) > 0) return false;
  if (stop === start) return isChangedIn(regionOf(state.regions, start), read, readPoint);
  return state.regions.some(
    (region) => overlaps(region, start, stop) && isChangedIn(region, read, readPoint),
  );
}

function overlaps(region: Region, start: Uint8Array, stop: Uint8Array | null): boolean {
  if (region.endKey.length > 0 && compareBytes(region.endKey, start) <= 0) return false;
  return stop === null || compareBytes(region.startKey, stop) <= 0;
}

function isChangedIn(region: Region, read: ReadRange, readPoint: number): boolean {
  const { families } = read;
  return region.stores.some(
    (store) =>
      (families === null || families.has(store.descriptor.name)) && hasNewer(store, region, read, readPoint),
  );
}

function hasNewer(store: FamilyStore, region: Region, read: ReadRange, readPoint: number): boolean {
  const { active, frozen, files } = store.version;
  if (memstoreHasNewer(active, region, read, readPoint)) return true;
  if (frozen.some((memstore) => memstoreHasNewer(memstore, region, read, readPoint))) return true;
  return files.some((file) => {
    if ((file.seq ?? file.meta.maxSeq) <= readPoint) return false;
    const cursor = file.openCursor({
      row: null,
      startRow: read.start,
      stopRow: read.stop,
      columns: null,
      minTimestamp: 0,
      maxTimestamp: LATEST_TIMESTAMP,
      cacheBlocks: false,
      reversed: false,
    });
    if (cursor === undefined) return false;
    try {
      return cursorHasNewer(cursor, region, read, readPoint);
    } finally {
      cursor.close();
    }
  });
}

function memstoreHasNewer(memstore: Memstore, region: Region, read: ReadRange, readPoint: number): boolean {
  if (memstore.size === 0 || memstore.maxSeq <= readPoint) return false;
  return cursorHasNewer(memstore.pointCursor, region, read, readPoint, memstore.inTimeOrder);
}

/** So many older cells of a column are looked at before the search goes on behind them. */
const FEW_CELLS = 4;

/**
 * Whether there is a later cell among the rows of the region that were read. Files may also hold rows of other regions. `inTimeOrder`: later
 * cells have no earlier timestamps. So one with an earlier timestamp than a cell before the snapshot is older, too, as are all that follow it in
 * its column: rows that change often have many.
 */
function cursorHasNewer(
  cursor: CellCursor,
  region: Region,
  read: ReadRange,
  readPoint: number,
  inTimeOrder = false,
): boolean {
  const { endKey, startKey } = region;
  const { stop } = read;
  let more = cursor.seek(seekKey.setRow(compareBytes(startKey, read.start) > 0 ? startKey : read.start));
  // The latest timestamp so far, and how many cells with earlier ones there were.
  let latest = -1;
  let older = 0;
  while (more) {
    const { key, rowOffset, rowLength, qualifierOffset, qualifierLength, timestamp } = cursor;
    if (stop !== null && compareSlices(key, rowOffset, rowLength, stop, 0, stop.length) > 0) return false;
    if (endKey.length > 0 && compareSlices(key, rowOffset, rowLength, endKey, 0, endKey.length) >= 0)
      return false;
    if (cursor.seq > readPoint) return true;
    more = cursor.next();
    if (!inTimeOrder || !more) continue;
    latest = Math.max(latest, timestamp);
    if (cursor.timestamp >= latest || ++older <= FEW_CELLS) continue;
    const isInColumn =
      cursor.rowLength === rowLength &&
      compareSlices(cursor.key, cursor.rowOffset, rowLength, key, rowOffset, rowLength) === 0 &&
      compareSlices(
        cursor.key,
        cursor.qualifierOffset,
        cursor.qualifierLength,
        key,
        qualifierOffset,
        qualifierLength,
      ) === 0;
    if (!isInColumn) continue;
    seekKey.setRow(key, rowOffset, rowLength);
    seekKey.qualifier = key;
    seekKey.qualifierOffset = qualifierOffset;
    seekKey.qualifierLength = qualifierLength;
    seekKey.timestamp = -1;
    more = cursor.seek(seekKey);
    older = 0;
  }
  return false;
}
