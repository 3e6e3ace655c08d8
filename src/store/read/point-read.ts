/** Reads of one row: without a scanner where possible, else with one. */

import { compareBytes } from '../../bytes/index.js';
import {
  type FamilyDescriptor,
  FOREVER,
  type Get,
  type Query,
  type RawRow,
  Result,
} from '../../table/index.js';
import type { RowReader } from '../commit/row-operations.js';
import { type CellCursor, isInColumn, isInRow, SeekKey } from '../cursor.js';
import { BloomKey } from '../file/bloom-filter.js';
import type { StoreFile } from '../file/store-file.js';
import { type FamilyStore, type Region, regionOf, type StoreVersion } from '../region/region.js';
import {
  HIDDEN,
  isPlainFamily,
  isPlainQuery,
  NewestPut,
  PlainRow,
  ROW_UNDECIDED,
  SHOWN,
} from '../scan/newest-put.js';
import { RegionScanner } from '../scan/region-scanner.js';
import { CellMaker, copyRowAhead, dropRow, StoredRowBuilder } from '../scan/row-builder.js';
import { RowRun } from '../scan/row-run.js';
import { type FamilySource, inOrder, oldestUnexpired } from '../scan/store-read.js';
import type { TableState } from '../table-state.js';

/** The parts of the store that row readers use. */
export interface RowReaderCore {
  readonly settings: { readonly random: () => number };
  /** Writes up to this sequence number are visible; default: all. */
  readonly readPoint?: number;
  /** `sourcesOf` returns more than the region's own stores. */
  readonly merged?: boolean;
  now(): number;
  /** The families of a region that a read names, in order. */
  sourcesOf(region: Region, query: Query): readonly FamilySource[];
}

/** The parts of the store that reads of committed rows use. */
export interface PointReadCore extends RowReaderCore {
  readonly commits: { readonly readPoint: number };
}

export function readRow(reads: PointReadCore, state: TableState, get: Get): Result {
  const region = regionFor(state, get);
  return (
    plainGet(region, get, reads.commits.readPoint, reads, null) ??
    scanRow(reads, region, get, reads.commits.readPoint, null) ??
    Result.EMPTY
  );
}

/** Like `readRow`, into `raw`; false when there is nothing. */
export function readRawRow(reads: PointReadCore, state: TableState, get: Get, raw: RawRow): boolean {
  const region = regionFor(state, get);
  raw.clear();
  const plain = plainGet(region, get, reads.commits.readPoint, reads, raw);
  if (plain !== undefined) return raw.count > 0;
  raw.clear();
  const result = scanRow(reads, region, get, reads.commits.readPoint, raw);
  return result !== undefined && (!result.isEmpty || raw.count > 0);
}

function regionFor(state: TableState, get: Get): Region {
  state.checkQuery(get);
  const region = regionOf(state.regions, get.row);
  region.readRequests++;
  return region;
}

function scanRow(
  core: RowReaderCore,
  region: Region,
  get: Get,
  readPoint: number,
  raw: RawRow | null,
  withTtl = false,
): Result | undefined {
  const scanner = RegionScanner.forGet(core.sourcesOf(region, get), get, {
    readPoint,
    now: core.now(),
    random: core.settings.random,
    withTtl,
  });
  try {
    return raw === null ? scanner.next() : scanner.nextRaw(raw);
  } finally {
    scanner.close();
  }
}

/** Reads rows of one region with every write so far, acknowledged or not, as read-modify-write needs (R69). */
export class UncommittedRowReader implements RowReader {
  constructor(
    private readonly core: RowReaderCore,
    private readonly state: TableState,
    private readonly region: Region,
  ) {}

  private get readPoint(): number {
    return this.core.readPoint ?? Number.MAX_SAFE_INTEGER;
  }

  get families(): readonly string[] {
    return this.state.descriptor.families.map((family) => family.name);
  }

  read(get: Get, withTtl = false): Result {
    const { core, readPoint } = this;
    // What it finds has no time to live of its own.
    const plain = core.merged ? undefined : plainGet(this.region, get, readPoint, core, null);
    return plain ?? scanRow(core, this.region, get, readPoint, null, withTtl) ?? Result.EMPTY;
  }
}

// Gets without a scanner. A get of one column decides from the first cell of the column in each memstore and file; gets of
// families, or some of their columns, use {@link PlainRow}.

/** Provides the time that decides which cells have expired. */
export interface ReadClock {
  now(): number;
}

/** Like `oldestUnexpired`, without reading the clock where nothing expires. */
export function oldestSeen(family: FamilyDescriptor, clock: ReadClock): number {
  return family.ttl === FOREVER ? 0 : oldestUnexpired(family, clock.now());
}

/** The most family markers at the start of a row that are examined. */
const MAX_MARKERS = 16;

/** Reused: reads are synchronous. */
const target = new SeekKey();
const bloomKey = new BloomKey();
const plainRow = new PlainRow();
const rowRun = new RowRun();
const rule = new NewestPut();
const out = new StoredRowBuilder();
const makers = new Map<string, CellMaker>();

/**
 * Reads the row into `raw`, or into the returned result when `raw` is null; with `raw` the result only says whether there is
 * anything. Undefined when the get needs a scanner.
 */
export function plainGet(
  region: Region,
  get: Get,
  readPoint: number,
  clock: ReadClock,
  raw: RawRow | null,
): Result | undefined {
  if (!isPlainQuery(get) || !get.cacheBlocks || get.checkExistenceOnly || get.raw) return undefined;
  bloomKey.setRow(get.row);
  if (get.onlyFamily !== undefined) {
    const store = region.byFamily.get(get.onlyFamily);
    if (store === undefined) return undefined;
    return plainColumn(store, get, get.onlyColumn!, readPoint, clock, raw);
  }
  return plainFamilies(region, get, readPoint, clock, raw);
}

function plainFamilies(
  region: Region,
  get: Get,
  readPoint: number,
  clock: ReadClock,
  raw: RawRow | null,
): Result | undefined {
  const { stores } = region;
  const { row } = get;
  const all = get.asksForAll;
  plainRow.rule.readPoint = readPoint;
  plainRow.raw = raw;
  plainRow.out = out;
  rowRun.rule.readPoint = readPoint;
  rowRun.raw = raw;
  rowRun.out = out;
  out.count = 0;
  // Copied: the result outlives the get, whose bytes belong to the caller.
  let own: Uint8Array | undefined;
  if (raw !== null) raw.begin(row);
  for (let i = 0; i < stores.length; i++) {
    const store = stores[i]!;
    const { descriptor } = store;
    const columns = all ? null : get.families.get(descriptor.name);
    if (columns === undefined) continue;
    if (!isPlainFamily(descriptor, get.maxVersions)) return undefined;
    const head = seekAll(store, row, readPoint);
    if (head === undefined) continue;
    const fresh = raw === null && own === undefined;
    if (fresh) own = copyRowAhead(head, columns === null);
    const oldest = oldestSeen(descriptor, clock);
    const ahead = fresh ? head : null;
    if (columns === null && readRun(store, own ?? row, oldest, ahead)) continue;
    const cells = raw ?? out;
    const before = cells.count;
    if (!plainRow.read(makerOf(descriptor.name), own ?? row, inOrder(columns), oldest, ahead))
      return undefined;
    if (columns === null) store.known.learn(cells, before);
  }
  if (raw !== null) return raw.count > 0 ? IN_RAW_ROW : Result.EMPTY;
  if (out.count > 0) return out.take(own!, false);
  if (own !== undefined) dropRow(own);
  return Result.EMPTY;
}

/** Like `plainRow`, directly from the encoded bytes of cells. */
function readRun(
  { descriptor, known }: FamilyStore,
  row: Uint8Array,
  oldest: number,
  head: CellCursor | null,
): boolean {
  const { name } = descriptor;
  const family = { name, known, columns: null, oldestUnexpired: oldest };
  if (!rowRun.read(plainRow, row, family, head)) return false;
  plainRow.begin();
  return true;
}

/** Seeks the cursors of all memstores and files with cells of the row, and adds them to the row reader. Returns one of them. */
function seekAll(store: FamilyStore, row: Uint8Array, readPoint: number): CellCursor | undefined {
  const { active, frozen, files } = store.version;
  target.setRow(row);
  plainRow.begin();
  let head: CellCursor | undefined;
  let order = files.length + frozen.length;
  for (let i = -1; i < frozen.length; i++, order--) {
    const memstore = i < 0 ? active : frozen[i]!;
    if (memstore.size === 0) continue;
    const cursor = memstore.pointCursor;
    if (!cursor.seekInRow(target, bloomKey.row1, readPoint)) continue;
    cursor.order = order;
    plainRow.add(cursor);
    head = cursor;
  }
  for (let i = files.length - 1; i >= 0; i--) {
    const file = files[i]!;
    if (!seekFile(file)) continue;
    file.pointCursor.order = i;
    plainRow.add(file.pointCursor);
    head = file.pointCursor;
  }
  return head;
}

/**
 * Whether the rows are distinct, and no memstore and no file has a cell of one of them, visible or not. False also where hashes leave
 * it open.
 */
export function areNewRows(regions: readonly Region[], rows: readonly Uint8Array[]): boolean {
  const hashes = isAscending(rows) ? undefined : new Set<number>();
  if (hashes === undefined && rows.length > 1 && isFree(regions, rows[0]!, rows[rows.length - 1]!))
    return true;
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!;
    bloomKey.setRow(row);
    if (hashes?.has(bloomKey.row1)) return false;
    hashes?.add(bloomKey.row1);
    for (const { version } of regionOf(regions, row).stores) if (mayHaveRow(version, row)) return false;
  }
  return true;
}

function isAscending(rows: readonly Uint8Array[]): boolean {
  for (let i = 1; i < rows.length; i++) if (compareBytes(rows[i - 1]!, rows[i]!) >= 0) return false;
  return true;
}

/** Whether no memstore and no file has a cell from row `first` to row `last`. False also where that takes more than a look. */
function isFree(regions: readonly Region[], first: Uint8Array, last: Uint8Array): boolean {
  const region = regionOf(regions, first);
  if (regionOf(regions, last) !== region) return false;
  target.setRow(first);
  for (const { version } of region.stores) {
    const { active, frozen, files } = version;
    if (!active.isFree(target, last)) return false;
    for (let i = 0; i < frozen.length; i++) if (!frozen[i]!.isFree(target, last)) return false;
    for (let i = 0; i < files.length; i++) if (files[i]!.spans(first, last)) return false;
  }
  return true;
}

/** Whether a memstore or file may have a cell of the row, which is the bloom key's. */
function mayHaveRow({ active, frozen, files }: StoreVersion, row: Uint8Array): boolean {
  if (active.mayHaveRow(bloomKey.row1, row)) return true;
  for (let i = 0; i < frozen.length; i++) if (frozen[i]!.mayHaveRow(bloomKey.row1, row)) return true;
  if (files.length === 0) return false;
  target.setRow(row);
  for (let i = files.length - 1; i >= 0; i--) if (seekFile(files[i]!)) return true;
  return false;
}

/** Whether the file has a cell of the row at or after the target; then its cursor stands there. */
function seekFile(file: StoreFile): boolean {
  return file.pointCursor.seekInRow(target, bloomKey);
}

/** Reads one column: the first of its cells, over all memstores and files, decides it. */
function plainColumn(
  store: FamilyStore,
  get: Get,
  qualifier: Uint8Array,
  readPoint: number,
  clock: ReadClock,
  raw: RawRow | null,
): Result | undefined {
  const { descriptor } = store;
  // In the column of the empty qualifier the family's markers are between its puts.
  if (!isPlainFamily(descriptor, get.maxVersions) || qualifier.length === 0) return undefined;
  const { row } = get;
  const { active, frozen, files } = store.version;
  rule.readPoint = readPoint;
  rule.begin(oldestSeen(descriptor, clock));
  target.setColumn(row, qualifier);
  const rowStart = bloomKey.target;
  let best: CellCursor | undefined;
  for (let i = -1; i < frozen.length; i++) {
    const memstore = i < 0 ? active : frozen[i]!;
    if (memstore.size === 0) continue;
    const cursor = memstore.pointCursor;
    const marked = memstore.familyMarkers > 0;
    if (!cursor.seekInRow(marked ? rowStart : target, bloomKey.row1, readPoint)) continue;
    const place = marked ? skipMarkers(cursor, row, qualifier) : IN_ROW;
    if (place === NEEDS_MATCHER) return undefined;
    if (place !== AT_END) best = newer(cursor, place === IN_ROW, row, qualifier, best);
  }
  let hashed = false;
  for (let i = files.length - 1; i >= 0; i--) {
    const { meta, pointCursor } = files[i]!;
    // The cells of this file are older than the one found, or hidden.
    if (best !== undefined && meta.maxTimestamp < best.timestamp) continue;
    if (meta.maxTimestamp <= rule.familyTimestamp) continue;
    if (!hashed && meta.bloomFilter === 'ROWCOL') {
      bloomKey.setColumn(qualifier);
      hashed = true;
    }
    const marked = meta.deleteFamilyCount > 0;
    if (!pointCursor.seekInRow(marked ? rowStart : target, bloomKey)) continue;
    const place = marked ? skipMarkers(pointCursor, row, qualifier) : IN_ROW;
    if (place === NEEDS_MATCHER) return undefined;
    if (place !== AT_END) best = newer(pointCursor, place === IN_ROW, row, qualifier, best);
  }
  if (best === undefined) return Result.EMPTY;
  const verdict = rule.judge(best);
  if (verdict !== SHOWN) return verdict === HIDDEN ? Result.EMPTY : undefined;
  const maker = makerOf(descriptor.name);
  if (raw !== null) {
    raw.begin(row);
    maker.makeRaw(best, raw, 0);
    return IN_RAW_ROW;
  }
  const own = copyRowAhead(best, false);
  return new Result(own, [maker.make(best, own, 0, true)]);
}

/** Results of `skipMarkers`: the cursor is in the row; it may be in another row; it is at the end; a matcher is needed. */
const IN_ROW = 0;
const MAYBE_IN_ROW = 1;
const AT_END = 2;
const NEEDS_MATCHER = 3;

/** Examines the family's markers at the start of the row, where the cursor stands, and moves to the column. */
function skipMarkers(cursor: CellCursor, row: Uint8Array, qualifier: Uint8Array): number {
  for (let i = 0; cursor.qualifierLength === 0; i++) {
    if (i === MAX_MARKERS) return NEEDS_MATCHER;
    if (rule.sees(cursor) && rule.judge(cursor) === ROW_UNDECIDED) return NEEDS_MATCHER;
    if (!cursor.nextInRow(row)) return AT_END;
  }
  // Mostly there is no other column before it.
  if (isInColumn(cursor, qualifier)) return IN_ROW;
  return cursor.reseek(target) ? MAYBE_IN_ROW : AT_END;
}

/**
 * The newer of `best` and the first visible cell of the column at the cursor, if there is one. `inRow`: the cursor is known to
 * be in the row.
 */
function newer(
  cursor: CellCursor,
  inRow: boolean,
  row: Uint8Array,
  qualifier: Uint8Array,
  best: CellCursor | undefined,
): CellCursor | undefined {
  for (let known = inRow; ; known = false) {
    if (!cursor.valid || !isInColumn(cursor, qualifier) || !(known || isInRow(cursor, row))) return best;
    if (rule.sees(cursor)) break;
    cursor.next();
  }
  if (best === undefined) return cursor;
  if (cursor.timestamp !== best.timestamp) return cursor.timestamp > best.timestamp ? cursor : best;
  if (cursor.type !== best.type) return cursor.type > best.type ? cursor : best;
  // Sources are visited newest first: of equal cells the first wins.
  return cursor.seq > best.seq ? cursor : best;
}

/** Stands for a result whose cells are in the raw row. */
const IN_RAW_ROW: Result = new Result(new Uint8Array(0), []);

/** The maker of a family's cells, shared by reads that end before the next begins. */
export function makerOf(family: string): CellMaker {
  let maker = makers.get(family);
  if (maker === undefined) {
    maker = new CellMaker(family, undefined);
    makers.set(family, maker);
  }
  return maker;
}
