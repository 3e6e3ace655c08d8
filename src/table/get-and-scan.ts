import { type BytesLike, EMPTY_BYTES, equalBytes, prefixEnd } from '../bytes/index.js';
import { InvalidArgumentError } from '../errors.js';
import {
  brand,
  checkBytes,
  checkFamily,
  checkPositiveInteger,
  checkRow,
  checkTimestamp,
  describe,
  LATEST_TIMESTAMP,
  requestOf,
} from './checks.js';
import type { Filter } from './filter/filters.js';

/** Timestamps from `min` (inclusive) to `max` (exclusive); `max` = LATEST_TIMESTAMP means no upper bound (R52). */
export class TimeRange {
  static readonly ALL: TimeRange = new TimeRange(0, LATEST_TIMESTAMP);

  constructor(
    readonly min: number,
    readonly max: number,
  ) {
    checkTimestamp(min);
    checkTimestamp(max);
    if (max < min)
      throw new InvalidArgumentError(`A time range ends at or after its start; got [${min}, ${max}).`);
  }

  get isAll(): boolean {
    return this.min === 0 && this.max === LATEST_TIMESTAMP;
  }

  contains(timestamp: number): boolean {
    return timestamp >= this.min && (timestamp < this.max || this.max === LATEST_TIMESTAMP);
  }
}

/** "As many as the family keeps": the value that `readAllVersions` sets. */
export const ALL_VERSIONS: number = 2147483647;

/** `STRONG` reads the primary; `TIMELINE` may return data of a replica that lags behind (HBase `Consistency`). */
export type Consistency = 'STRONG' | 'TIMELINE';

const NO_TIME_RANGES: ReadonlyMap<string, TimeRange> = new Map();

/** The common part of get and scan: columns, versions, times, and a filter (HBase `Query`). */
export abstract class Query {
  /**
   * The only requested column, as long as there is one and `families` was not accessed. The usual get, of one column, then needs no
   * map.
   */
  onlyFamily: string | undefined;
  onlyColumn: Uint8Array | undefined;
  /** The result of `families`. Undefined: it was not accessed. */
  private columnsByFamily: Map<string, Uint8Array[] | null> | undefined;
  familyTimeRanges: ReadonlyMap<string, TimeRange> = NO_TIME_RANGES;
  timeRange: TimeRange = TimeRange.ALL;
  /** The number of newest versions of each column; default 1 (R9). */
  maxVersions = 1;
  filter: Filter | undefined;
  /** Returns puts and delete markers as they are stored (R47, R48). */
  raw = false;
  cacheBlocks = true;
  consistency: Consistency = 'STRONG';
  /** The visibility labels that this read uses; undefined: all labels of its user. Only HBase supports them. */
  authorizations: readonly string[] | undefined;
  /** The most cells of each row and family; undefined: all (R55). */
  maxResultsPerColumnFamily: number | undefined;
  /** Cells to skip at the start of each row and family (R55). */
  rowOffsetPerColumnFamily = 0;
  /** The families of {@link expectFamilies}. */
  expectedFamilies: readonly string[] | undefined;

  /** The requested columns of each family, or null for the whole family. Empty: every family. */
  get families(): Map<string, Uint8Array[] | null> {
    if (this.columnsByFamily === undefined) {
      this.columnsByFamily = new Map();
      if (this.onlyFamily !== undefined) this.columnsByFamily.set(this.onlyFamily, [this.onlyColumn!]);
      this.onlyFamily = undefined;
      this.onlyColumn = undefined;
    }
    return this.columnsByFamily;
  }

  /** An independent copy of the request. */
  abstract copy(): this;

  /** Whether every family is requested. */
  get asksForAll(): boolean {
    return (
      this.onlyFamily === undefined && (this.columnsByFamily === undefined || this.columnsByFamily.size === 0)
    );
  }

  /** Requests the whole family, whatever columns of it were requested before. */
  addFamily(family: string): this {
    this.families.set(checkFamily(family), null);
    return this;
  }

  /** Requests one column. After `addFamily` of the same family it narrows the family to its columns, as in HBase. */
  addColumn(family: string, qualifier: BytesLike): this {
    const bytes = checkBytes(qualifier, 'qualifier');
    checkFamily(family);
    if (this.columnsByFamily === undefined && this.onlyFamily === undefined) {
      this.onlyFamily = family;
      this.onlyColumn = bytes;
      return this;
    }
    const columns = this.families.get(family);
    if (columns) {
      if (!columns.some((column) => equalBytes(column, bytes))) columns.push(bytes);
    } else {
      this.families.set(family, [bytes]);
    }
    return this;
  }

  /**
   * Of a read of every family: the families that the table is known to have. It fails with `ERR_NO_SUCH_FAMILY` if the table has lost
   * one, where it would else find no cells of it. On HBase the request names these families, and so finds no cells of others.
   */
  expectFamilies(families: readonly string[] | undefined): this {
    this.expectedFamilies = families;
    return this;
  }

  /** Only cells with a timestamp in [min, max). */
  setTimeRange(min: number, max: number = LATEST_TIMESTAMP): this {
    this.timeRange = new TimeRange(min, max);
    return this;
  }

  /** Only cells with exactly this timestamp. */
  setTimestamp(timestamp: number): this {
    return this.setTimeRange(checkTimestamp(timestamp), timestamp + 1);
  }

  /** Sets a time range for one family, which replaces the query's for that family (R51). */
  setColumnFamilyTimeRange(family: string, min: number, max: number = LATEST_TIMESTAMP): this {
    this.familyTimeRanges = new Map(this.familyTimeRanges).set(checkFamily(family), new TimeRange(min, max));
    return this;
  }

  readVersions(versions: number): this {
    this.maxVersions = checkPositiveInteger(versions, 'The number of versions');
    return this;
  }

  readAllVersions(): this {
    this.maxVersions = ALL_VERSIONS;
    return this;
  }

  setFilter(filter: Filter | undefined): this {
    this.filter = filter;
    return this;
  }

  setRaw(raw: boolean): this {
    this.raw = raw;
    return this;
  }

  setCacheBlocks(cacheBlocks: boolean): this {
    this.cacheBlocks = cacheBlocks;
    return this;
  }

  setConsistency(consistency: Consistency): this {
    this.consistency = consistency;
    return this;
  }

  /**
   * Sets the visibility labels to read with; labels that the user does not have are ignored. Default: all labels of the user. Needs
   * HBase's `VisibilityController`; the embedded engine refuses it (`ERR_UNSUPPORTED`).
   * @throws InvalidArgumentError, also for an empty list, which HBase would treat as all labels of the user.
   */
  setAuthorizations(labels: readonly string[] | undefined): this {
    if (labels !== undefined) {
      const isSound =
        Array.isArray(labels) && labels.every((label) => typeof label === 'string' && label !== '');
      if (!isSound) {
        throw new InvalidArgumentError(
          `Authorizations are a list of labels, ["secret"], not ${describe(labels)}.`,
        );
      }
      if (labels.length === 0) {
        throw new InvalidArgumentError(
          'HBase treats an empty list of authorizations as all labels of the user. Name a label, or omit the list to read with all of them.',
        );
      }
    }
    this.authorizations = labels === undefined ? undefined : [...labels];
    return this;
  }

  setMaxResultsPerColumnFamily(limit: number): this {
    this.maxResultsPerColumnFamily = checkPositiveInteger(limit, 'The number of cells a row and family');
    return this;
  }

  setRowOffsetPerColumnFamily(offset: number): this {
    this.rowOffsetPerColumnFamily =
      offset === 0 ? 0 : checkPositiveInteger(offset, 'The offset in a row and family');
    return this;
  }

  /** Copies the fields to `copy`. Not with `Object.assign`, which costs ten times as much. */
  protected copyTo(copy: Query): void {
    const { columnsByFamily } = this;
    copy.onlyFamily = this.onlyFamily;
    copy.onlyColumn = this.onlyColumn;
    if (columnsByFamily !== undefined) {
      copy.columnsByFamily = new Map();
      for (const [family, columns] of columnsByFamily)
        copy.columnsByFamily.set(family, columns && [...columns]);
    }
    copy.familyTimeRanges = this.familyTimeRanges;
    copy.timeRange = this.timeRange;
    copy.maxVersions = this.maxVersions;
    copy.filter = this.filter;
    copy.cacheBlocks = this.cacheBlocks;
    copy.consistency = this.consistency;
    copy.authorizations = this.authorizations;
    copy.maxResultsPerColumnFamily = this.maxResultsPerColumnFamily;
    copy.rowOffsetPerColumnFamily = this.rowOffsetPerColumnFamily;
    copy.expectedFamilies = this.expectedFamilies;
    copy.raw = this.raw;
  }
}

/** @throws InvalidArgumentError for a raw query of single columns (R48). */
export function refuseRawColumns(query: Query): void {
  if (!query.raw) return;
  for (const [family, columns] of query.families) {
    if (columns === null) continue;
    throw new InvalidArgumentError(
      `A raw query reads whole families; it names columns of "${family}". Use addFamily.`,
    );
  }
}

/** Reads one row (HBase `Get`). Without added families or columns it reads every family. */
export class Get extends Query {
  readonly row: Uint8Array;
  /** Only checks whether the row has a matching cell; the result has no cells, and a row only if there is one (R52). */
  checkExistenceOnly = false;

  constructor(row: BytesLike) {
    super();
    this.row = checkRow(row);
  }

  setCheckExistenceOnly(checkExistenceOnly: boolean): this {
    this.checkExistenceOnly = checkExistenceOnly;
    return this;
  }

  override copy(): this {
    const copy = new Get(this.row) as this;
    this.copyTo(copy);
    copy.checkExistenceOnly = this.checkExistenceOnly;
    return copy;
  }
}

brand(Get, 'get');

/** Whether a value is a Get. */
export function isGet(given: unknown): given is Get {
  return requestOf(given) === 'get';
}

/**
 * Reads rows in byte order, or in reverse order (HBase `Scan`). An empty start or stop row means no bound. In a reversed scan the
 * start row is the upper bound (R49, R50).
 */
export class Scan extends Query {
  startRow: Uint8Array = EMPTY_BYTES;
  includeStartRow = true;
  stopRow: Uint8Array = EMPTY_BYTES;
  includeStopRow = false;
  reversed = false;
  /** Of a raw scan: cells of commits after this one are returned whatever their timestamps, in addition to those of the time range. */
  writtenAfter: number | undefined;
  /** The most rows; undefined: all. */
  limit: number | undefined;
  /** The most cells in one result; a longer row is returned in several, all but the last `partial`. */
  batch: number | undefined;
  /** Rows to fetch with one call to a server; undefined: the engine decides. */
  caching: number | undefined;
  /** Bytes to fetch with one call to a server; undefined: the engine decides. */
  maxResultSize: number | undefined;

  withStartRow(row: BytesLike, inclusive = true): this {
    this.startRow = checkBytes(row, 'row');
    this.includeStartRow = inclusive;
    return this;
  }

  withStopRow(row: BytesLike, inclusive = false): this {
    this.stopRow = checkBytes(row, 'row');
    this.includeStopRow = inclusive;
    return this;
  }

  /** Restricts the scan to the rows that start with `prefix`, in either direction. Call it after `setReversed`. */
  setStartStopRowForPrefix(prefix: BytesLike): this {
    const bytes = checkBytes(prefix, 'prefix of rows');
    const end = prefixEnd(bytes) ?? EMPTY_BYTES;
    if (this.reversed) return this.withStartRow(end, end.length === 0).withStopRow(bytes, true);
    return this.withStartRow(bytes).withStopRow(end);
  }

  setReversed(reversed: boolean): this {
    this.reversed = reversed;
    return this;
  }

  /**
   * Of a raw scan on the embedded engine: returns also the cells outside of the time range that commits after this one wrote. An empty
   * time range, `setTimeRange(0, 0)`, leaves these alone. Engines that do not number commits refuse it.
   */
  setWrittenAfter(commit: number | undefined): this {
    if (commit !== undefined && (!Number.isSafeInteger(commit) || commit < 0)) {
      throw new InvalidArgumentError(
        `A scan of what was written after a commit takes its number, an integer from 0 on, not ${describe(commit)}.`,
      );
    }
    this.writtenAfter = commit;
    return this;
  }

  setLimit(limit: number | undefined): this {
    this.limit = limit === undefined ? undefined : checkPositiveInteger(limit, 'The limit of a scan');
    return this;
  }

  setBatch(batch: number | undefined): this {
    this.batch = batch === undefined ? undefined : checkPositiveInteger(batch, 'The batch of a scan');
    return this;
  }

  setCaching(caching: number | undefined): this {
    this.caching = caching === undefined ? undefined : checkPositiveInteger(caching, 'The caching of a scan');
    return this;
  }

  setMaxResultSize(bytes: number | undefined): this {
    this.maxResultSize =
      bytes === undefined ? undefined : checkPositiveInteger(bytes, 'The result size of a scan');
    return this;
  }

  override copy(): this {
    const copy = new Scan() as this;
    this.copyTo(copy);
    copy.startRow = this.startRow;
    copy.includeStartRow = this.includeStartRow;
    copy.stopRow = this.stopRow;
    copy.includeStopRow = this.includeStopRow;
    copy.reversed = this.reversed;
    copy.writtenAfter = this.writtenAfter;
    copy.limit = this.limit;
    copy.batch = this.batch;
    copy.caching = this.caching;
    copy.maxResultSize = this.maxResultSize;
    return copy;
  }
}

brand(Scan, 'scan');
