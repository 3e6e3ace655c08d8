import { compareBytes, equalBytes } from '../bytes/index.js';
import { UnsupportedError } from '../errors.js';
import { CellCursor, compareToSeekKey, type SeekKey } from '../store/cursor.js';
import type { FilterEvaluator } from '../store/filter/index.js';
import { RegionScanner } from '../store/scan/region-scanner.js';
import { KnownColumns } from '../store/scan/row-run.js';
import type { FamilySource, ScanContext } from '../store/scan/store-read.js';
import type { Cell } from '../table/checks.js';
import { type FamilyDescriptor, FOREVER } from '../table/descriptor.js';
import { ALL_VERSIONS, type Get, isGet, type Scan } from '../table/get-and-scan.js';
import { Result } from '../table/result.js';
import { isFenceFamily } from '../table/write-fence.js';
import { type KnownTable, noSuchFamily } from './descriptors.js';
import { MAX_FILTER } from './names.js';
import { serviceFilterOf } from './pushdown.js';
import { chain, column, interleave, type RowFilter, timesOf, wholeFamily } from './wire.js';

/** The approximate size of a column's filter besides its name: reads of more columns than fit fetch whole families. */
const COLUMN_BYTES = 24;

/**
 * Plans how a get or a scan is executed: which part the service evaluates, and which part runs here. The service always
 * returns a superset of the result. It may return expired cells and surplus versions, which are removed here.
 */
export class ReadPlan {
  /** The filter for the service; undefined: everything. */
  readonly filter: RowFilter | undefined;
  /** Whether the returned rows are the result, apart from expired cells. */
  readonly isPlain: boolean;
  /** Whether each returned row is part of the result, so that the service can apply the limit. */
  readonly isCounted: boolean;
  private readonly families: readonly FamilyDescriptor[];

  /**
   * Plans a query.
   * @throws UnsupportedError for features that Bigtable lacks; RowanError `ERR_NO_SUCH_FAMILY`.
   */
  constructor(
    private readonly query: Get | Scan,
    known: KnownTable,
  ) {
    refuse(query);
    const { descriptor } = known;
    for (const family of query.asksForAll ? (query.expectedFamilies ?? []) : query.families.keys()) {
      if (!known.families.has(family)) throw noSuchFamily(descriptor.name, family, known);
    }
    this.families = query.asksForAll
      ? descriptor.families.filter(({ name }) => !isFenceFamily(name))
      : descriptor.families.filter(({ name }) => query.families.has(name));
    const isRaw = query.raw;
    this.isPlain = !isRaw && isPlain(query, this.families);
    const expires = this.families.some(({ ttl }) => ttl !== FOREVER);
    this.isCounted = this.isPlain && !expires;
    const parts: RowFilter[] = [];
    const cells = this.cellsFilter(descriptor.families.length);
    if (cells !== undefined) parts.push(cells);
    if (query.filter !== undefined && !isRaw && query.timeRange.isAll && query.familyTimeRanges.size === 0) {
      parts.push(...(serviceFilterOf(query.filter, expires, this.families.length) ?? []));
    }
    // Version limits apply first: of the versions that a family keeps, those in the time range.
    if (isRaw && !query.timeRange.isAll && query.familyTimeRanges.size === 0) {
      parts.push({ timestampRangeFilter: timesOf(query.timeRange) });
    }
    if (this.isPlain && isGet(query) && query.checkExistenceOnly) {
      if (!expires) parts.push({ cellsPerRowLimitFilter: 1 });
      parts.push({ stripValueTransformer: true });
    }
    this.filter = parts.length === 0 ? undefined : chain(...parts);
  }

  /** The result row of a get. `cells`: what the service returned. */
  rowOf(get: Get, cells: readonly Cell[] | undefined, context: ScanContext): Result {
    if (cells === undefined) return Result.EMPTY;
    if (!this.isPlain) return this.decidedRow(get, cells, context);
    const result = this.plainRow(cells, context.now) ?? Result.EMPTY;
    return get.checkExistenceOnly && !result.isEmpty ? new Result(result.row, []) : result;
  }

  /** Like `rowOf`, for unfiltered cells. */
  decidedRow(get: Get, cells: readonly Cell[], context: ScanContext): Result {
    return RegionScanner.forGet(this.sources(cells, context.now), get, context).next() ?? Result.EMPTY;
  }

  /** The results of a scan from some of its rows, at most `limit`. */
  resultsOf(
    rows: readonly (readonly Cell[])[],
    limit: number,
    context: ScanContext,
    filter: FilterEvaluator | undefined,
  ): Result[] {
    const results: Result[] = [];
    if (this.isPlain) {
      for (const cells of rows) {
        const row = results.length < limit ? this.plainRow(cells, context.now) : undefined;
        if (row !== undefined) results.push(row);
      }
      return results;
    }
    const scan = (this.query as Scan).copy();
    scan.limit = Number.isFinite(limit) ? limit : undefined;
    const cells = scan.reversed ? [...rows].reverse().flat() : rows.flat();
    const scanner = RegionScanner.forScan(this.sources(cells, context.now), scan, context, filter);
    for (let row = scanner.next(); row !== undefined; row = scanner.next()) results.push(row);
    return results;
  }

  private plainRow(cells: readonly Cell[], now: number): Result | undefined {
    const kept = this.isCounted ? cells : cells.filter((cell) => !this.hasExpired(cell, now));
    return kept.length === 0 ? undefined : new Result(kept[0]!.row, kept);
  }

  private hasExpired({ family, timestamp }: Cell, now: number): boolean {
    const { ttl, minVersions } = this.families.find(({ name }) => name === family)!;
    return ttl !== FOREVER && minVersions === 0 && timestamp < now - ttl * 1000;
  }

  private sources(cells: readonly Cell[], now: number): FamilySource[] {
    return this.families.map((descriptor) => ({
      descriptor: { ...descriptor, keepDeletedCells: 'FALSE', newVersionBehavior: false },
      known: new KnownColumns(),
      openCursors: () => [new ListCursor(kept(cells, descriptor, now))],
    }));
  }

  /** Filters on families, columns, and the number of versions that can matter. */
  private cellsFilter(familiesOfTable: number): RowFilter | undefined {
    const { query, families } = this;
    const versionsOf = ({ versions }: FamilyDescriptor): number =>
      this.isPlain ? Math.min(versions, query.maxVersions) : versions;
    const limits = new Set(families.map(versionsOf));
    const [limit = ALL_VERSIONS] = limits;
    const chosen =
      families.length < familiesOfTable || families.some(({ name }) => this.columnsOf(name) !== null);
    if (limits.size > 1) {
      return interleave(
        families.map((family) => chain(this.chosen(family.name), ...versionsFilter(versionsOf(family)))),
      );
    }
    const parts = chosen ? [interleave(families.flatMap(({ name }) => this.chosenParts(name)))] : [];
    const all = [...parts, ...versionsFilter(limit)];
    return all.length === 0 ? undefined : chain(...all);
  }

  private columnsOf(family: string): readonly Uint8Array[] | null {
    return this.query.asksForAll ? null : (this.query.families.get(family) ?? null);
  }

  private chosen(family: string): RowFilter {
    return interleave(this.chosenParts(family));
  }

  private chosenParts(family: string): readonly RowFilter[] {
    const columns = this.columnsOf(family);
    if (columns === null) return [wholeFamily(family)];
    const size = columns.reduce((sum, { length }) => sum + 2 * length + family.length + COLUMN_BYTES, 0);
    // Surplus columns are removed here; `isPlain` accounts for that.
    if (size > MAX_FILTER / 2) return [wholeFamily(family)];
    return columns.map((qualifier) => column(family, qualifier));
  }
}

/** The cells of a family that have neither expired nor exceed its version limit. */
function kept(cells: readonly Cell[], family: FamilyDescriptor, now: number): readonly Cell[] {
  const { name, versions, minVersions, ttl } = family;
  const oldest = ttl === FOREVER ? 0 : now - ttl * 1000;
  const out: Cell[] = [];
  let before: Cell | undefined;
  let rank = 0;
  for (const cell of cells) {
    if (cell.family !== name) continue;
    rank = before !== undefined && isOfOneColumn(before, cell) ? rank + 1 : 0;
    before = cell;
    if (rank < versions && (rank < minVersions || cell.timestamp >= oldest)) out.push(cell);
  }
  return out;
}

function versionsFilter(versions: number): RowFilter[] {
  return versions === ALL_VERSIONS ? [] : [{ cellsPerColumnLimitFilter: versions }];
}

function isPlain(query: Get | Scan, families: readonly FamilyDescriptor[]): boolean {
  if (
    query.filter !== undefined ||
    !query.timeRange.isAll ||
    query.familyTimeRanges.size > 0 ||
    query.maxResultsPerColumnFamily !== undefined ||
    query.rowOffsetPerColumnFamily > 0 ||
    (!isGet(query) && query.batch !== undefined)
  ) {
    return false;
  }
  if (!query.asksForAll) {
    for (const columns of query.families.values()) {
      const size = (columns ?? []).reduce((sum, { length }) => sum + 2 * length, 0);
      if (size + COLUMN_BYTES * (columns?.length ?? 0) > MAX_FILTER / 4) return false;
    }
  }
  return families.every(({ ttl, minVersions }) => ttl === FOREVER || minVersions === 0);
}

function refuse(query: Get | Scan): void {
  if (query.authorizations !== undefined) {
    throw new UnsupportedError('Bigtable has no visibility labels. Leave out setAuthorizations.');
  }
  if (!isGet(query) && query.writtenAfter !== undefined) {
    throw new UnsupportedError('Bigtable does not number commits. Leave out setWrittenAfter.');
  }
}

/** Whether both cells are versions of the same column of one row. */
function isOfOneColumn(a: Cell, b: Cell): boolean {
  return equalBytes(a.qualifier, b.qualifier) && (a.row === b.row || equalBytes(a.row, b.row));
}

/** Presents cells of one family to the read side of the embedded engine. */
class ListCursor extends CellCursor {
  private at = 0;

  /** Cells of one family, in order. */
  constructor(private readonly cells: readonly Cell[]) {
    super();
  }

  seekToFirst(): boolean {
    return this.moveTo(0);
  }

  seek(target: SeekKey): boolean {
    return this.search(target, 0);
  }

  reseek(target: SeekKey): boolean {
    return this.search(target, this.at);
  }

  next(): boolean {
    return this.moveTo(this.at + 1);
  }

  seekToPreviousRow(row: Uint8Array | null): boolean {
    const { cells } = this;
    let last = cells.length - 1;
    if (row !== null) while (last >= 0 && compareBytes(cells[last]!.row, row) >= 0) last--;
    if (last < 0) return this.moveTo(cells.length);
    while (last > 0 && compareBytes(cells[last - 1]!.row, cells[last]!.row) === 0) last--;
    return this.moveTo(last);
  }

  close(): void {
    this.valid = false;
  }

  private search(target: SeekKey, from: number): boolean {
    let [low, high] = [from, this.cells.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      this.moveTo(middle);
      if (compareToSeekKey(this, target) < 0) low = middle + 1;
      else high = middle;
    }
    return this.moveTo(low);
  }

  private moveTo(at: number): boolean {
    this.at = at;
    const cell = this.cells[at];
    this.valid = cell !== undefined;
    if (cell === undefined) return false;
    const { row, qualifier, value } = cell;
    const key = new Uint8Array(row.length + qualifier.length);
    key.set(row);
    key.set(qualifier, row.length);
    this.key = key;
    this.rowLength = row.length;
    this.qualifierOffset = row.length;
    this.qualifierLength = qualifier.length;
    this.timestamp = cell.timestamp;
    this.type = cell.type;
    this.value = value;
    this.valueLength = value.length;
    return true;
  }
}
