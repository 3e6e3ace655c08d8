/** Reads of `hbase:meta` and `hbase:namespace`, tables derived from the catalog, by any get and scan. */

import { compareBytes, equalBytes } from '../../bytes/index.js';
import { compareMetaRows, META_TABLE } from '../../hbase/region/region.js';
import { RowsFilter } from '../../store/filter/rows-filter.js';
import { type Get, type Query, Result, type Scan } from '../../table/index.js';
import { JavaClass, ServerException } from '../errors.js';
import { type MetaRows, NAMESPACE_TABLE, tableOfMetaRow } from './catalog-rows.js';

/** Rows of one region, in scan order. */
export interface RegionRows {
  /** The next row; undefined at the end, or when `maxSkipped` has reached 0. */
  next(): Result | undefined;
  /** How many more rows without a result may be skipped. */
  maxSkipped: number;
  /** The row at which `maxSkipped` reached 0. */
  readonly pausedAt?: Uint8Array | undefined;
  /** Whether a filter has ended the scan, also for the regions that follow. */
  readonly filterDone: boolean;
  close(): void;
}

type Order = (a: Uint8Array, b: Uint8Array) => number;

/** A read-only, derived table. */
export interface CatalogTable {
  readonly name: string;
  readonly families: readonly string[];
  readonly order: Order;
  /** All rows, or those that may lie between two rows; an empty bound is open. */
  rows(low: Uint8Array, high: Uint8Array): Iterable<Result>;
}

export function metaTable(rows: MetaRows): CatalogTable {
  return {
    name: META_TABLE,
    families: ['info', 'table'],
    order: compareMetaRows,
    *rows(low, high) {
      const first = low.length === 0 ? undefined : Buffer.from(tableOfMetaRow(low));
      const last = high.length === 0 ? undefined : Buffer.from(tableOfMetaRow(high));
      for (const table of rows.tables()) {
        const name = Buffer.from(table);
        if (first !== undefined && compareBytes(name, first) < 0) continue;
        if (last !== undefined && compareBytes(name, last) > 0) return;
        yield* rows.of(table);
      }
    },
  };
}

export function namespaceTable(rows: () => readonly Result[]): CatalogTable {
  return { name: NAMESPACE_TABLE, families: ['info'], order: compareBytes, rows };
}

/** Executes a get. */
export function getOfCatalog(table: CatalogTable, get: Get): Result {
  checkFamilies(table, get);
  for (const row of table.rows(get.row, get.row)) {
    if (!equalBytes(row.row, get.row)) continue;
    const asked = columnsOf(row, get);
    if (asked === undefined || get.filter === undefined) return asked ?? Result.EMPTY;
    const filter = new RowsFilter(get.filter, { reversed: false, random: Math.random });
    return filter.apply(asked) ?? Result.EMPTY;
  }
  return Result.EMPTY;
}

/** Executes a scan. */
export function scanOfCatalog(table: CatalogTable, scan: Scan): RegionRows {
  checkFamilies(table, scan);
  return new CatalogRows(rowsOfScan(table, scan), scan);
}

function* rowsOfScan(table: CatalogTable, scan: Scan): Generator<Result> {
  const { startRow, includeStartRow, stopRow, includeStopRow, reversed } = scan;
  const [low, high] = reversed ? [stopRow, startRow] : [startRow, stopRow];
  const [includeLow, includeHigh] = reversed
    ? [includeStopRow, includeStartRow]
    : [includeStartRow, includeStopRow];
  const isWithin = ({ row }: Result): boolean => {
    const fromLow = low.length === 0 ? 1 : table.order(row, low);
    const toHigh = high.length === 0 ? 1 : table.order(high, row);
    return (fromLow > 0 || (fromLow === 0 && includeLow)) && (toHigh > 0 || (toHigh === 0 && includeHigh));
  };
  const rows = table.rows(low, high);
  for (const row of reversed ? [...rows].reverse() : rows) {
    const asked = isWithin(row) ? columnsOf(row, scan) : undefined;
    if (asked !== undefined) yield asked;
  }
}

class CatalogRows implements RegionRows {
  maxSkipped = Number.MAX_SAFE_INTEGER;
  private readonly filter: RowsFilter | undefined;

  constructor(
    private readonly rows: Iterator<Result>,
    scan: Scan,
  ) {
    this.filter =
      scan.filter && new RowsFilter(scan.filter, { reversed: scan.reversed, random: Math.random });
  }

  get filterDone(): boolean {
    return this.filter?.done ?? false;
  }

  next(): Result | undefined {
    for (;;) {
      if (this.filterDone) return undefined;
      const { done, value } = this.rows.next();
      if (done === true) return undefined;
      const row = this.filter === undefined ? value : this.filter.apply(value);
      if (row !== undefined) return row;
    }
  }

  close(): void {
    this.rows.return?.();
  }
}

function checkFamilies(table: CatalogTable, query: Query): void {
  if (query.asksForAll) return;
  for (const family of query.families.keys()) {
    if (table.families.includes(family)) continue;
    throw new ServerException(
      JavaClass.NoSuchColumnFamily,
      `Column family ${family} does not exist in table ${table.name}, which has ${table.families.join(', ')}.`,
    );
  }
}

/** The part of a row that a query requests; undefined if there is none. */
function columnsOf(row: Result, query: Query): Result | undefined {
  const { timeRange } = query;
  if (query.asksForAll && timeRange.isAll) return row;
  const { families } = query;
  const cells = row.cells.filter((cell) => {
    if (!timeRange.contains(cell.timestamp)) return false;
    if (families.size === 0) return true;
    const columns = families.get(cell.family);
    return columns === null || (columns?.some((column) => equalBytes(column, cell.qualifier)) ?? false);
  });
  return cells.length === 0 ? undefined : new Result(row.row, cells);
}
