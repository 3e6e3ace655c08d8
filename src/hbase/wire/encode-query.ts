/** `Get`, `Scan` and their common fields, written from the last to the first (see {@link ProtoWriter}). */

import { LATEST_TIMESTAMP } from '../../table/checks.js';
import type { Filter } from '../../table/filter/filters.js';
import type { Get, Query, Scan, TimeRange } from '../../table/get-and-scan.js';
import { encodeFilter } from './filter-codec.js';
import { Authorizations, VISIBILITY } from './messages-security.js';
import { type ProtoWriter, tagOf, utf8Name, WireType } from './proto-writer.js';
import { encodeMessage } from './schema.js';

/** HBase's `Long.MAX_VALUE` as a varint. Every mutation has it. */
const LATEST = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f);

const bytesTag = (field: number): number => tagOf(field, WireType.Bytes);
const varintTag = (field: number): number => tagOf(field, WireType.Varint);

const COLUMN_FAMILY = bytesTag(1);
const COLUMN_QUALIFIER = bytesTag(2);
const RANGE_FROM = varintTag(1);
const RANGE_TO = varintTag(2);
const FAMILY_RANGE_FAMILY = bytesTag(1);
const FAMILY_RANGE_RANGE = bytesTag(2);

/** Writes a timestamp as a varint; `LATEST_TIMESTAMP` as `Long.MAX_VALUE`. */
export function writeTimestamp(writer: ProtoWriter, tag: number, timestamp: number): void {
  if (timestamp === LATEST_TIMESTAMP) writer.raw(LATEST);
  else writer.varint(timestamp);
  writer.varint(tag);
}

export function writeTimeRange(writer: ProtoWriter, tag: number, range: TimeRange): void {
  const mark = writer.mark();
  writeTimestamp(writer, RANGE_TO, range.max);
  writeTimestamp(writer, RANGE_FROM, range.min);
  writer.endMessage(tag, mark);
}

/** The columns of a query; none: all families. A server says that a family is missing only where it is named. */
function columnsOf(query: Query): (readonly [string, readonly Uint8Array[] | null])[] {
  if (!query.asksForAll) return [...query.families];
  return (query.expectedFamilies ?? []).map((family) => [family, null]);
}

function writeColumns(writer: ProtoWriter, tag: number, query: Query): void {
  const families = columnsOf(query);
  for (let i = families.length - 1; i >= 0; i--) {
    const [family, qualifiers] = families[i]!;
    const mark = writer.mark();
    if (qualifiers !== null) {
      for (let q = qualifiers.length - 1; q >= 0; q--) writer.bytesField(COLUMN_QUALIFIER, qualifiers[q]!);
    }
    writer.bytesField(COLUMN_FAMILY, utf8Name(family));
    writer.endMessage(tag, mark);
  }
}

function writeFamilyTimeRanges(writer: ProtoWriter, tag: number, query: Query): void {
  if (query.familyTimeRanges.size === 0) return;
  for (const [family, range] of query.familyTimeRanges) {
    const mark = writer.mark();
    writeTimeRange(writer, FAMILY_RANGE_RANGE, range);
    writer.bytesField(FAMILY_RANGE_FAMILY, utf8Name(family));
    writer.endMessage(tag, mark);
  }
}

function writeAuthorizations(writer: ProtoWriter, tag: number, { authorizations }: Query): void {
  if (authorizations === undefined) return;
  writeAttribute(writer, tag, VISIBILITY, encodeMessage(Authorizations, { label: authorizations }));
}

const GET = {
  row: bytesTag(1),
  column: bytesTag(2),
  attribute: bytesTag(3),
  filter: bytesTag(4),
  timeRange: bytesTag(5),
  maxVersions: varintTag(6),
  cacheBlocks: varintTag(7),
  storeLimit: varintTag(8),
  storeOffset: varintTag(9),
  existenceOnly: varintTag(10),
  consistency: varintTag(12),
  familyTimeRange: bytesTag(13),
  loadFamiliesOnDemand: varintTag(14),
} as const;

/**
 * Whether loading families on demand would change the result. With it the server reads the families that the filter needs first. Then
 * it does not evaluate row filters for rows whose needed families became empty (`RegionScannerImpl.nextInternal`,
 * `FilterWrapper.filterRowCellsWithRet`), misses rows without cells in them, which a skip filter passes, and sees cells that end a
 * while filter in another order.
 */
function needsAllFamilies(filter: Filter): boolean {
  if (filter.kind === 'list') return filter.filters.some(needsAllFamilies);
  return filter.kind === 'singleColumnValueExclude' || filter.kind === 'skip' || filter.kind === 'while';
}

/** Writes the fields of a `Get`. `existenceOnly` overrides the get's own option. */
export function writeGet(writer: ProtoWriter, get: Get, existenceOnly: boolean): void {
  writeFamilyTimeRanges(writer, GET.familyTimeRange, get);
  if (get.filter !== undefined && needsAllFamilies(get.filter))
    writer.boolField(GET.loadFamiliesOnDemand, false);
  if (get.consistency === 'TIMELINE') writer.varintField(GET.consistency, 1);
  if (existenceOnly) writer.boolField(GET.existenceOnly, true);
  if (get.rowOffsetPerColumnFamily > 0) writer.varintField(GET.storeOffset, get.rowOffsetPerColumnFamily);
  if (get.maxResultsPerColumnFamily !== undefined) {
    writer.varintField(GET.storeLimit, get.maxResultsPerColumnFamily);
  }
  if (!get.cacheBlocks) writer.boolField(GET.cacheBlocks, false);
  writer.varintField(GET.maxVersions, get.maxVersions);
  if (!get.timeRange.isAll) writeTimeRange(writer, GET.timeRange, get.timeRange);
  if (get.filter !== undefined) writer.bytesField(GET.filter, encodeFilter(get.filter));
  writeAuthorizations(writer, GET.attribute, get);
  if (get.raw) writeAttribute(writer, GET.attribute, '_raw_', TRUE);
  writeColumns(writer, GET.column, get);
  writer.bytesField(GET.row, get.row);
}

const SCAN = {
  column: bytesTag(1),
  attribute: bytesTag(2),
  startRow: bytesTag(3),
  stopRow: bytesTag(4),
  filter: bytesTag(5),
  timeRange: bytesTag(6),
  maxVersions: varintTag(7),
  cacheBlocks: varintTag(8),
  batchSize: varintTag(9),
  maxResultSize: varintTag(10),
  storeLimit: varintTag(11),
  storeOffset: varintTag(12),
  loadFamiliesOnDemand: varintTag(13),
  reversed: varintTag(15),
  consistency: varintTag(16),
  caching: varintTag(17),
  familyTimeRange: bytesTag(19),
  readPoint: varintTag(20),
  includeStartRow: varintTag(21),
  includeStopRow: varintTag(22),
  readType: varintTag(23),
} as const;

const PAIR_NAME = bytesTag(1);
const PAIR_VALUE = bytesTag(2);
const TRUE = Uint8Array.of(0xff);

/** Writes an attribute of a mutation or query. */
export function writeAttribute(writer: ProtoWriter, tag: number, name: string, value: Uint8Array): void {
  const mark = writer.mark();
  writer.bytesField(PAIR_VALUE, value);
  writer.bytesField(PAIR_NAME, utf8Name(name));
  writer.endMessage(tag, mark);
}

/** Read types: `STREAM` for long scans, `PREAD` for short ones; 0: the server chooses. */
export const ReadType = { Default: 0, Stream: 1, Pread: 2 } as const;

/** The start of a region's scanner, and the limits of its answers. */
export interface ScanPosition {
  readonly startRow: Uint8Array;
  readonly includeStartRow: boolean;
  readonly maxResultSize: number;
  readonly caching: number;
  readonly readType: number;
  /** The mvcc read point; undefined: the present one. */
  readonly readPoint?: bigint | undefined;
}

/** Writes the fields of a `Scan`. */
export function writeScan(writer: ProtoWriter, scan: Scan, at: ScanPosition): void {
  if (at.readType !== ReadType.Default) writer.varintField(SCAN.readType, at.readType);
  writer.boolField(SCAN.includeStopRow, scan.includeStopRow);
  writer.boolField(SCAN.includeStartRow, at.includeStartRow);
  if (at.readPoint !== undefined) {
    writer.bigVarint(at.readPoint);
    writer.varint(SCAN.readPoint);
  }
  writeFamilyTimeRanges(writer, SCAN.familyTimeRange, scan);
  writer.varintField(SCAN.caching, at.caching);
  if (scan.consistency === 'TIMELINE') writer.varintField(SCAN.consistency, 1);
  if (scan.reversed) writer.boolField(SCAN.reversed, true);
  // With families loaded on demand, servers refuse reversed scans with filters that do not need all of them.
  if (scan.filter !== undefined && (scan.reversed || needsAllFamilies(scan.filter))) {
    writer.boolField(SCAN.loadFamiliesOnDemand, false);
  }
  if (scan.rowOffsetPerColumnFamily > 0) writer.varintField(SCAN.storeOffset, scan.rowOffsetPerColumnFamily);
  if (scan.maxResultsPerColumnFamily !== undefined) {
    writer.varintField(SCAN.storeLimit, scan.maxResultsPerColumnFamily);
  }
  writer.varintField(SCAN.maxResultSize, at.maxResultSize);
  if (scan.batch !== undefined) writer.varintField(SCAN.batchSize, scan.batch);
  writer.boolField(SCAN.cacheBlocks, scan.cacheBlocks);
  writer.varintField(SCAN.maxVersions, scan.maxVersions);
  if (!scan.timeRange.isAll) writeTimeRange(writer, SCAN.timeRange, scan.timeRange);
  if (scan.filter !== undefined) writer.bytesField(SCAN.filter, encodeFilter(scan.filter));
  if (scan.stopRow.length > 0) writer.bytesField(SCAN.stopRow, scan.stopRow);
  if (at.startRow.length > 0) writer.bytesField(SCAN.startRow, at.startRow);
  writeAuthorizations(writer, SCAN.attribute, scan);
  if (scan.raw) writeAttribute(writer, SCAN.attribute, '_raw_', TRUE);
  writeColumns(writer, SCAN.column, scan);
}
