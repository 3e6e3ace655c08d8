/** Reads the rows of one region over its families, with filters (HBase `RegionScannerImpl`). */

import { compareSlices, EMPTY_BYTES, keyAfter } from '../../bytes/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { type Get, type Query, type RawRow, Result, type Scan } from '../../table/index.js';
import { type CellCursor, isInRow } from '../cursor.js';
import { buildFilter } from '../filter/build.js';
import type { FilterEvaluator, FilterFamily } from '../filter/filter-evaluator.js';
import { RowBuilder } from './row-builder.js';
import { copyRow, dropRow } from './row-copy.js';
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
/** Family names as bytes; a store has few. */
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

export class RegionScanner {
  private readonly out = new RowBuilder();
  private readonly hasFilterRow: boolean;
  private rowsLeft: number;
  private finished = false;
  /** The row that a batch has broken off; its next cell is in `out` already. */
  private openRow: Uint8Array | null = null;
  /** Rows of which nothing is given that one call may still pass over. */
  patience = UNLIMITED;
  /** The row at which its patience was at an end. */
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

  /** A filter to be handed to `forScan`, so that the scan of several regions is one scan to it. */
  static filterOf(query: Query, context: ScanContext, reversed = false): FilterEvaluator | undefined {
    return query.filter && buildFilter(query.filter, { reversed, random: context.random });
  }

  /**
   * Reads the row of a get: one result at most. `sources`: the families that the get is about, in byte order.
   */
  static forGet(sources: readonly FamilySource[], get: Get, context: ScanContext): RegionScanner {
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
      stores.push(openStore(sources[i]!, get, false, rows, context, filter));
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
   * Scans the rows between the scan's bounds. `sources`: the families that the scan is about, in byte order. `filter`:
   * one that has seen the regions before this one; default a new one.
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
    const stores = sources.map((source) => openStore(source, scan, scan.raw, rows, context, filter));
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

  /** Whether the filter has ended the scan, for the regions behind this one too. */
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
      // A get looks at its row once: a second look would begin behind the family's markers and see what they hide.
      if (this.bounds.row !== null) {
        this.finished = true;
        return undefined;
      }
      if (--this.patience <= 0) {
        this.pausedAt = row.slice();
        return undefined;
      }
      if (this.out.raw === null) dropRow(row);
    }
  }

  /** As `next`, its cells in `raw`; what is answered only says that there are some. */
  nextRaw(raw: RawRow): Result | undefined {
    if (this.hasFilterRow || this.bounds.batch !== UNLIMITED) {
      // Such rows are changed as a whole, or come in parts.
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

  /** The row that `head` is in, to be kept while it is read. */
  private rowAt(head: CellCursor): Uint8Array {
    const { raw } = this.out;
    if (raw !== null) return raw.setRow(head.key, head.rowOffset, head.rowLength);
    // Not the row of the get: its bytes are the caller's.
    return copyRow(head);
  }

  /** The cursor that holds the row that comes next over all families. */
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

  /** Reads the row that stands at the heads; undefined when nothing of it is to be given. */
  private readRow(row: Uint8Array): Result | undefined {
    const { filter, out } = this;
    if (out.raw !== null) out.raw.clear();
    if (filter?.filterRowKey(row, 0, row.length)) {
      if (filter.done) {
        this.finished = true;
        return undefined;
      }
      // HBase shows the cells of a dropped row to the filter all the same.
      this.startRow(row);
      this.gather(row, UNLIMITED);
      out.count = 0;
      this.endRow(row);
      return undefined;
    }
    this.startRow(row);
    const limit = this.bounds.existenceOnly && !this.hasFilterRow ? 1 : this.bounds.batch;
    const whole = this.gather(row, limit);
    if (!whole && !this.bounds.existenceOnly) return this.breakOff(row);
    const dropped = out.count === 0 || (filter !== undefined && this.filterRow(filter));
    if (dropped) out.count = 0;
    this.endRow(row);
    if (out.count === 0) return undefined;
    this.rowsLeft--;
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

  /** Adds the row's cells of all families; false when there are `limit` before the row is at its end. */
  private gather(row: Uint8Array, limit: number): boolean {
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

  /** Gives a part of the row, once it is known whether there is more of it. */
  private breakOff(row: Uint8Array): Result {
    const part = this.out.take(row, true);
    this.gather(row, 1);
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
    if (this.bounds.batch <= this.out.count || !this.gather(row, this.bounds.batch))
      return this.breakOff(row);
    this.openRow = null;
    this.endRow(row);
    this.rowsLeft--;
    return this.out.take(row, false);
  }
}

function openStore(
  source: FamilySource,
  query: Get | Scan,
  raw: boolean,
  rows: Pick<ReadHint, 'row' | 'startRow' | 'stopRow' | 'cacheBlocks' | 'reversed'>,
  context: ScanContext,
  filter: FilterEvaluator | undefined,
): StoreScanner {
  const family = filterFamily(source.descriptor.name);
  const part = familyQuery(source.descriptor, family, query, raw, context.now, filter, rows.reversed);
  const store = new StoreScanner(source.openCursors(readHint(part, rows)), readMatcher(part), {
    family,
    readPoint: context.readPoint,
    reversed: rows.reversed,
    raw,
    filter,
    rowOffset: query.rowOffsetPerColumnFamily,
    rowLimit: query.maxResultsPerColumnFamily ?? UNLIMITED,
  });
  if (rows.row !== null) store.seek(rows.row);
  return store;
}

/** To the first row of a scan. */
function position(store: StoreScanner, scan: Scan): void {
  const { startRow, includeStartRow } = scan;
  if (scan.reversed) {
    store.seekBefore(startRow.length === 0 ? null : includeStartRow ? keyAfter(startRow) : startRow);
  } else {
    store.seek(startRow.length === 0 ? EMPTY_BYTES : includeStartRow ? startRow : keyAfter(startRow));
  }
}

function checkScan(scan: Scan, filter: FilterEvaluator | undefined): void {
  if (scan.raw) {
    for (const [family, columns] of scan.families) {
      if (columns === null) continue;
      throw new InvalidArgumentError(
        `Cannot specify any column for a raw scan, but columns of family "${family}" are. Ask for whole families.`,
      );
    }
  }
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
