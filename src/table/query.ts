import { type BytesLike, equalBytes } from '../bytes/index.js';
import { InvalidArgumentError } from '../errors.js';
import {
  checkBytes,
  checkFamily,
  checkPositiveInteger,
  checkTimestamp,
  describe,
  LATEST_TIMESTAMP,
} from './checks.js';
import type { Filter } from './filter/filters.js';

/** Timestamps from `min` (inclusive) to `max` (exclusive); `max` = LATEST_TIMESTAMP is open (R52). */
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

/** "As many as the family keeps", the argument of `readVersions` that `readAllVersions` gives. */
export const ALL_VERSIONS: number = 2147483647;

/** `STRONG` reads the primary; `TIMELINE` may answer from a replica that lags behind (HBase `Consistency`). */
export type Consistency = 'STRONG' | 'TIMELINE';

const NO_TIME_RANGES: ReadonlyMap<string, TimeRange> = new Map();

/** What get and scan have in common: which columns, versions and times, and a filter (HBase `Query`). */
export abstract class Query {
  /**
   * The only column asked for, while it is the only one and nobody has looked at `families`: a get of one column, the
   * commonest of all, needs no map.
   */
  onlyFamily: string | undefined;
  onlyColumn: Uint8Array | undefined;
  private asked: Map<string, Uint8Array[] | null> | undefined;
  familyTimeRanges: ReadonlyMap<string, TimeRange> = NO_TIME_RANGES;
  timeRange: TimeRange = TimeRange.ALL;
  /** The newest versions wanted of each column; default 1 (R9). */
  maxVersions = 1;
  filter: Filter | undefined;
  cacheBlocks = true;
  consistency: Consistency = 'STRONG';
  /** The labels that this reader makes use of; undefined: all that its user has. HBase alone knows labels. */
  authorizations: readonly string[] | undefined;
  /** At most this many cells of each row and family; undefined: all (R55). */
  maxResultsPerColumnFamily: number | undefined;
  /** Cells to pass over at the head of each row and family (R55). */
  rowOffsetPerColumnFamily = 0;

  /** Family -> its columns, or null for the whole family. Empty: every family. */
  get families(): Map<string, Uint8Array[] | null> {
    if (this.asked === undefined) {
      this.asked = new Map();
      if (this.onlyFamily !== undefined) this.asked.set(this.onlyFamily, [this.onlyColumn!]);
      this.onlyFamily = undefined;
      this.onlyColumn = undefined;
    }
    return this.asked;
  }

  /** The same request as an object of its own: what is asked of one is not asked of the other. */
  abstract copy(): this;

  /** Whether every family is asked for. */
  get asksForAll(): boolean {
    return this.onlyFamily === undefined && (this.asked === undefined || this.asked.size === 0);
  }

  /** Asks for the whole family, whatever columns of it were asked for before. */
  addFamily(family: string): this {
    this.families.set(checkFamily(family), null);
    return this;
  }

  /** Asks for one column. After `addFamily` of the same family it narrows the family to its columns, as in HBase. */
  addColumn(family: string, qualifier: BytesLike): this {
    const bytes = checkBytes(qualifier, 'qualifier');
    checkFamily(family);
    if (this.asked === undefined && this.onlyFamily === undefined) {
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

  /** Only cells with a timestamp in [min, max). */
  setTimeRange(min: number, max: number = LATEST_TIMESTAMP): this {
    this.timeRange = new TimeRange(min, max);
    return this;
  }

  /** Only cells with exactly this timestamp. */
  setTimestamp(timestamp: number): this {
    return this.setTimeRange(checkTimestamp(timestamp), timestamp + 1);
  }

  /** A time range of one family, which takes the place of the query's for that family (R51). */
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

  setCacheBlocks(cacheBlocks: boolean): this {
    this.cacheBlocks = cacheBlocks;
    return this;
  }

  setConsistency(consistency: Consistency): this {
    this.consistency = consistency;
    return this;
  }

  /**
   * The labels of which cells with a visibility are to be shown; those that the user does not have are passed over. Without
   * them: all that the user has. Needs HBase's `VisibilityController`; the embedded engine refuses it (`ERR_UNSUPPORTED`).
   * @throws InvalidArgumentError for an empty list too, which HBase takes for all that the user has.
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
          'HBase takes an empty list of authorizations for all that the user has. Name a label, or leave the list out to mean that.',
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

  /** Makes `copy` ask for the same columns, versions and times. Not by `Object.assign`, which costs ten times as much. */
  protected copyTo(copy: Query): void {
    const { asked } = this;
    copy.onlyFamily = this.onlyFamily;
    copy.onlyColumn = this.onlyColumn;
    if (asked !== undefined) {
      copy.asked = new Map();
      for (const [family, columns] of asked) copy.asked.set(family, columns && [...columns]);
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
  }
}
