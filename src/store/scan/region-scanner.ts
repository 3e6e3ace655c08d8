import { compareSlices, EMPTY_BYTES, keyAfter } from '../../bytes/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { type Get, type Query, type RawRow, Result, refuseRawColumns, type Scan } from '../../table/index.js';
import { type CellCursor, isInRow } from '../cursor.js';
import { buildFilter } from '../filter/build.js';
import type { FilterEvaluator, FilterFamily } from '../filter/filter-evaluator.js';
import { copyRow, dropRow, StoredRowBuilder } from './row-builder.js';
import {
  type FamilySource,
  familyQuery,
  type ReadHint,
  readHint,
  readMatcher,
  type ScanContext,
} from './store-read.js';
import { StoreScanner } from './store-scanner.js';

export type { ScanContext } from './store-read.js';

const UNLIMITED = Number.MAX_SAFE_INTEGER;
const encoder = new TextEncoder();
/** Family names as bytes. A store has few families. */
const families = new Map<string, FilterFamily>();

interface RowBounds {
  /** The only row; null in scans. */
  readonly row: Uint8Array | null;
  readonly reversed: boolean;
  readonly stopRow: Uint8Array;
  readonly includeStopRow: boolean;
  readonly limit: number;
  readonly batch: number;
  readonly existenceOnly: boolean;
}

/** Reads the rows of one region over its families, with filters (HBase `RegionScannerImpl`). */
export class RegionScanner {
  private readonly out = new StoredRowBuilder();
  private readonly hasFilterRow: boolean;
  private rowsLeft: number;
  private finished = false;
  /** The row in which a batch ended; its next cell is in `out` already. */
  private openRow: Uint8Array | null = null;
  /** How many rows without results one call may still skip. */
  maxSkipped = UNLIMITED;
  /** The row at which `maxSkipped` was used up. */
  pausedAt: Uint8Array | undefined;

  private constructor(
    /** In the byte order of their families. */
    private readonly stores: readonly StoreScanner[],
    private readonly bounds: RowBounds,
    private readonly filter: FilterEvaluator | undefined,
  ) {
    this.hasFilterRow = filter?.hasFilterRow ?? false;
    this.rowsLeft = bounds.limit;
  }

  /** Creates a filter for `forScan`, so that it treats the scan of several regions as one. */
  static filterOf(query: Query, context: ScanContext, reversed = false): FilterEvaluator | undefined {
    return query.filter && buildFilter(query.filter, { reversed, random: context.random });
  }

  /**
   * Reads the row of a get: at most one result. `sources`: the families that the get names, in byte order.
   */
  static forGet(sources: readonly FamilySource[], get: Get, context: ScanContext): RegionScanner {
    refuseRawColumns(get);
    const filter = RegionScanner.filterOf(get, context);
    const rows = {
      row: get.row,
      startRow: null,
      stopRow: null,
      cacheBlocks: get.cacheBlocks,
      reversed: false,
    };
    const stores: StoreScanner[] = [];
    for (let i = 0; i < sources.length; i++) {
      stores.push(openStore(sources[i]!, get, rows, context, filter));
    }
    const bounds = {
      row: get.row,
      reversed: false,
      stopRow: get.row,
      includeStopRow: true,
      limit: 1,
      batch: UNLIMITED,
      existenceOnly: get.checkExistenceOnly,
    };
    return new RegionScanner(stores, bounds, filter);
  }

  /**
   * Scans the rows between the scan's bounds. `sources`: the families that the scan names, in byte order. `filter`: the one that was
   * used for the previous regions; default a new one.
   * @throws InvalidArgumentError for a raw scan of single columns (R48) and for a batch with a filter of whole rows.
   */
  static forScan(
    sources: readonly FamilySource[],
    scan: Scan,
    context: ScanContext,
    filter: FilterEvaluator | undefined = RegionScanner.filterOf(scan, context, scan.reversed),
  ): RegionScanner {
    checkScan(scan, filter);
    const { startRow, stopRow, reversed } = scan;
    const [low, high] = reversed ? [stopRow, startRow] : [startRow, stopRow];
    const rows = {
      row: null,
      startRow: low.length === 0 ? null : low,
      stopRow: high.length === 0 ? null : high,
      cacheBlocks: scan.cacheBlocks,
      reversed,
    };
    const stores = sources.map((source) => openStore(source, scan, rows, context, filter));
    for (const store of stores) position(store, scan);
    const bounds = {
      row: null,
      reversed,
      stopRow,
      includeStopRow: scan.includeStopRow,
      limit: scan.limit ?? UNLIMITED,
      batch: scan.batch ?? UNLIMITED,
      existenceOnly: false,
    };
    return new RegionScanner(stores, bounds, filter);
  }

  /** Whether the filter has ended the scan, for later regions too. */
  get filterDone(): boolean {
    return this.filter?.done ?? false;
  }

  /** The next row, or the next part of one; undefined at the end. */
  next(): Result | undefined {
    if (this.finished) return undefined;
    if (this.openRow !== null) return this.continueRow(this.openRow);
    for (;;) {
      const head = this.rowsLeft > 0 && !this.filterDone ? this.nextHead() : null;
      if (head === null || this.isBeyondStop(head)) {
        this.finished = true;
        return undefined;
      }
      const row = this.rowAt(head);
      const result = this.readRow(row);
      if (result !== undefined) return result;
      // A get reads its row once: reading it again would begin after the family's markers and see what they hide.
      if (this.bounds.row !== null) {
        this.finished = true;
        return undefined;
      }
      if (--this.maxSkipped <= 0) {
        this.pausedAt = row.slice();
        return undefined;
      }
      if (this.out.raw === null) dropRow(row);
    }
  }

  /** Like `next`, with the cells in `raw`; the returned result only says that there are some. */
  nextRaw(raw: RawRow): Result | undefined {
    if (this.hasFilterRow || this.bounds.batch !== UNLIMITED) {
      // Such rows are changed as a whole, or returned in parts.
      const result = this.next();
      if (result !== undefined) raw.fill(result);
      return result;
    }
    this.out.raw = raw;
    try {
      return this.next();
    } finally {
      this.out.raw = null;
    }
  }

  close(): void {
    this.finished = true;
    for (const store of this.stores) store.close();
  }

  /** A copy of the row of `head`, which is kept while the row is read. */
  private rowAt(head: CellCursor): Uint8Array {
    const { raw } = this.out;
    if (raw !== null) return raw.setRow(head.key, head.rowOffset, head.rowLength);
    // Not the row of the get: its bytes belong to the caller.
    return copyRow(head);
  }

  /** The cursor with the next row over all families. */
  private nextHead(): CellCursor | null {
    const { stores } = this;
    if (stores.length === 1) return stores[0]!.head;
    let first: CellCursor | null = null;
    for (let i = 0; i < stores.length; i++) {
      const head = stores[i]!.head;
      if (head === null) continue;
      if (first === null) first = head;
      else {
        const order = compareSlices(
          head.key,
          head.rowOffset,
          head.rowLength,
          first.key,
          first.rowOffset,
          first.rowLength,
        );
        if (this.bounds.reversed ? order > 0 : order < 0) first = head;
      }
    }
    return first;
  }

  private isBeyondStop(head: CellCursor): boolean {
    const { stopRow, includeStopRow, reversed } = this.bounds;
    if (stopRow.length === 0) return false;
    const order = compareSlices(head.key, head.rowOffset, head.rowLength, stopRow, 0, stopRow.length);
    if (order === 0) return !includeStopRow;
    return reversed ? order < 0 : order > 0;
  }

  /** Reads the row at the heads; undefined when it has no results. */
  private readRow(row: Uint8Array): Result | undefined {
    const { filter, out } = this;
    if (out.raw !== null) out.raw.clear();
    if (filter?.filterRowKey(row, 0, row.length)) {
      if (filter.done) {
        this.finished = true;
        return undefined;
      }
      // HBase passes the cells of a dropped row to the filter nevertheless.
      this.startRow(row);
      this.collect(row, UNLIMITED);
      out.count = 0;
      this.endRow(row);
      return undefined;
    }
    this.startRow(row);
    const limit = this.bounds.existenceOnly && !this.hasFilterRow ? 1 : this.bounds.batch;
    const whole = this.collect(row, limit);
    if (!whole && !this.bounds.existenceOnly) return this.endBatch(row);
    const dropped = out.count === 0 || (filter !== undefined && this.filterRow(filter));
    if (dropped) out.count = 0;
    if (out.count === 0) {
      this.endRow(row);
      return undefined;
    }
    // The way to the next row, which is a search in a reversed scan, is for rows that are wanted.
    if (--this.rowsLeft > 0) this.endRow(row);
    else this.finished = true;
    if (this.bounds.existenceOnly) out.count = 0;
    return out.take(row, false);
  }

  private startRow(row: Uint8Array): void {
    const { stores } = this;
    for (let i = 0; i < stores.length; i++) {
      const store = stores[i]!;
      const head = store.head;
      if (head !== null && isInRow(head, row)) store.startRow();
      else store.skipRow();
    }
  }

  /** Adds the row's cells of all families; false when there are `limit` before the end of the row. */
  private collect(row: Uint8Array, limit: number): boolean {
    const { stores, out } = this;
    for (let i = 0; i < stores.length; i++) {
      if (!stores[i]!.readRow(row, out, limit)) return false;
    }
    return true;
  }

  private filterRow(filter: FilterEvaluator): boolean {
    const { out } = this;
    if (!this.hasFilterRow) return filter.filterRow();
    out.edit((cells) => filter.filterRowCells(cells));
    return out.count > 0 && filter.filterRow();
  }

  private endRow(row: Uint8Array): void {
    if (this.bounds.row === null) for (const store of this.stores) store.leaveRow(row);
    this.filter?.reset();
  }

  /** Returns a part of the row, after checking whether the row has more. */
  private endBatch(row: Uint8Array): Result {
    const part = this.out.take(row, true);
    this.collect(row, 1);
    if (this.out.count > 0) {
      this.openRow = row;
      return part;
    }
    this.openRow = null;
    this.endRow(row);
    this.rowsLeft--;
    return new Result(part.row, part.cells, false);
  }

  private continueRow(row: Uint8Array): Result {
    if (this.bounds.batch <= this.out.count || !this.collect(row, this.bounds.batch))
      return this.endBatch(row);
    this.openRow = null;
    this.endRow(row);
    this.rowsLeft--;
    return this.out.take(row, false);
  }
}

function openStore(
  source: FamilySource,
  query: Get | Scan,
  rows: Pick<ReadHint, 'row' | 'startRow' | 'stopRow' | 'cacheBlocks' | 'reversed'>,
  context: ScanContext,
  filter: FilterEvaluator | undefined,
): StoreScanner {
  const { raw } = query;
  const family = filterFamily(source.descriptor.name);
  const part = familyQuery(source.descriptor, family, query, raw, context.now, filter, rows.reversed);
  const store = new StoreScanner(source.openCursors(readHint(part, rows)), readMatcher(part), {
    family,
    readPoint: context.readPoint,
    pendingPuts: context.pendingPuts,
    reversed: rows.reversed,
    withTtl: raw || context.withTtl === true,
    filter,
    rowOffset: query.rowOffsetPerColumnFamily,
    rowLimit: query.maxResultsPerColumnFamily ?? UNLIMITED,
  });
  if (rows.row !== null) store.seek(rows.row);
  return store;
}

/** Moves to the first row of a scan. */
function position(store: StoreScanner, scan: Scan): void {
  const { startRow, includeStartRow } = scan;
  if (scan.reversed) {
    store.seekBefore(startRow.length === 0 ? null : includeStartRow ? keyAfter(startRow) : startRow);
  } else {
    store.seek(startRow.length === 0 ? EMPTY_BYTES : includeStartRow ? startRow : keyAfter(startRow));
  }
}

function checkScan(scan: Scan, filter: FilterEvaluator | undefined): void {
  if (scan.writtenAfter !== undefined && !scan.raw) {
    throw new InvalidArgumentError(
      'Only a raw scan can read what was written after a commit. Call setRaw(true).',
    );
  }
  refuseRawColumns(scan);
  if (scan.batch !== undefined && filter?.hasFilterRow) {
    throw new InvalidArgumentError(
      'A scan with a batch cannot have a filter that decides over whole rows. Leave out the batch or the filter.',
    );
  }
}

/** A family's name, also as bytes. */
export function filterFamily(name: string): FilterFamily {
  let family = families.get(name);
  if (!family) {
    family = { name, bytes: encoder.encode(name) };
    families.set(name, family);
  }
  return family;
}
