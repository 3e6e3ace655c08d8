import { type BytesLike, EMPTY_BYTES, prefixEnd } from '../bytes/index.js';
import { brand, checkBytes, checkPositiveInteger, checkRow, requestOf } from './checks.js';
import { Query } from './query.js';

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
  /** Returns puts and delete markers as they are stored (R47, R48). */
  raw = false;
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

  setRaw(raw: boolean): this {
    this.raw = raw;
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
    copy.raw = this.raw;
    copy.limit = this.limit;
    copy.batch = this.batch;
    copy.caching = this.caching;
    copy.maxResultSize = this.maxResultSize;
    return copy;
  }
}

brand(Scan, 'scan');
