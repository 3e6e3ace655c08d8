/** Decodes `Get` and `Scan`. */

import { EMPTY_BYTES } from '../../bytes/index.js';
import { Named } from '../../hbase/wire/messages-filter.js';
import { NameBytesPair } from '../../hbase/wire/messages-rpc.js';
import { Authorizations, VISIBILITY } from '../../hbase/wire/messages-security.js';
import type { ProtoReader } from '../../hbase/wire/proto-reader.js';
import { nameFromUtf8 } from '../../hbase/wire/proto-writer.js';
import { decodeMessage, type MessageCodec } from '../../hbase/wire/schema.js';
import { LATEST_TIMESTAMP } from '../../table/checks.js';
import { Get, type Query, Scan, TimeRange } from '../../table/index.js';
import { refused } from '../errors.js';
import { readFilter } from './read-filter.js';

/** Decodes a nested message at the reader's position. */
export function readNested<T>(reader: ProtoReader, codec: MessageCodec<T>): T {
  const outer = reader.enter();
  const value = codec.read(reader);
  reader.leave(outer);
  return value;
}

/**
 * Like {@link readNested}, by a function that decodes the message up to the reader's end; `context` is passed to it.
 */
export function readNestedBy<T>(reader: ProtoReader, read: (reader: ProtoReader) => T): T;
export function readNestedBy<T, C>(
  reader: ProtoReader,
  read: (reader: ProtoReader, context: C) => T,
  context: C,
): T;
export function readNestedBy<T, C>(
  reader: ProtoReader,
  read: (reader: ProtoReader, context: C) => T,
  context?: C,
): T {
  const outer = reader.enter();
  const value = read(reader, context as C);
  reader.leave(outer);
  return value;
}

/** A plain Uint8Array over the request's memory, whatever the buffer's class. */
export function readBytes(reader: ProtoReader): Uint8Array {
  const end = reader.lengthEnd();
  const { buffer, position } = reader;
  reader.position = end;
  return end === position
    ? EMPTY_BYTES
    : new Uint8Array(buffer.buffer, buffer.byteOffset + position, end - position);
}

/** The length of `Long.MAX_VALUE` on the wire. */
const LATEST_LENGTH = 9;

/** Decodes a timestamp. `Long.MAX_VALUE`, and anything above the store's range, becomes `LATEST_TIMESTAMP`. */
export function readTimestamp(reader: ProtoReader): number {
  const { buffer, position, end } = reader;
  if (end - position >= LATEST_LENGTH && buffer[position + 8] === 0x7f) {
    let at = 0;
    while (at < 8 && buffer[position + at] === 0xff) at++;
    if (at === 8) {
      reader.position = position + LATEST_LENGTH;
      return LATEST_TIMESTAMP;
    }
  }
  const value = BigInt.asIntN(64, reader.bigVarint());
  if (value < 0n) throw refused(`A timestamp of ${value} is not supported: give one from 0 to 2^53-2.`);
  return value >= BigInt(LATEST_TIMESTAMP) ? LATEST_TIMESTAMP : Number(value);
}

/** Decodes a `TimeRange`, whose bounds are optional. */
export function readTimeRange(reader: ProtoReader): TimeRange {
  const outer = reader.enter();
  let min = 0;
  let max = LATEST_TIMESTAMP;
  while (!reader.done) {
    const tag = reader.varint();
    if (tag === 8) min = readTimestamp(reader);
    else if (tag === 16) max = readTimestamp(reader);
    else reader.skip(tag);
  }
  reader.leave(outer);
  return min === 0 && max === LATEST_TIMESTAMP ? TimeRange.ALL : new TimeRange(min, max);
}

function readColumn(reader: ProtoReader, query: Query): void {
  const outer = reader.enter();
  let family: string | undefined;
  let isWhole = true;
  const early: Uint8Array[] = [];
  while (!reader.done) {
    const tag = reader.varint();
    if (tag === 10) {
      family = nameFromUtf8(reader.bytes());
    } else if (tag === 18) {
      isWhole = false;
      reader.charge();
      const qualifier = readBytes(reader);
      if (family === undefined) early.push(qualifier);
      else query.addColumn(family, qualifier);
    } else {
      reader.skip(tag);
    }
  }
  reader.leave(outer);
  if (family === undefined) throw refused('A column of the request has no family.');
  for (const qualifier of early) query.addColumn(family, qualifier);
  if (isWhole) query.addFamily(family);
}

function readFamilyTimeRange(reader: ProtoReader, query: Query): void {
  const outer = reader.enter();
  let family = '';
  let range: TimeRange = TimeRange.ALL;
  while (!reader.done) {
    const tag = reader.varint();
    if (tag === 10) family = nameFromUtf8(reader.bytes());
    else if (tag === 18) range = readTimeRange(reader);
    else reader.skip(tag);
  }
  reader.leave(outer);
  query.setColumnFamilyTimeRange(family, range.min, range.max);
}

const RAW = '_raw_';

/** Attributes that affect a read. Others belong to the client and are ignored. */
function readAttribute(reader: ProtoReader, query: Query): void {
  const { name, value = EMPTY_BYTES } = readNested(reader, NameBytesPair);
  if (name === RAW) query.setRaw(value.length > 0 && value[0] !== 0);
  if (name === VISIBILITY) query.authorizations = decodeMessage(Authorizations, value).label ?? [];
}

/** Field numbers of the fields that gets and scans have in common. */
interface QueryFields {
  readonly column: number;
  readonly attribute: number;
  readonly filter: number;
  readonly timeRange: number;
  readonly maxVersions: number;
  readonly cacheBlocks: number;
  readonly storeLimit: number;
  readonly storeOffset: number;
  readonly familyTimeRange: number;
}

const GET: QueryFields = {
  column: 18,
  attribute: 26,
  filter: 34,
  timeRange: 42,
  maxVersions: 48,
  cacheBlocks: 56,
  storeLimit: 64,
  storeOffset: 72,
  familyTimeRange: 106,
};

const SCAN: QueryFields = {
  column: 10,
  attribute: 18,
  filter: 42,
  timeRange: 50,
  maxVersions: 56,
  cacheBlocks: 64,
  storeLimit: 88,
  storeOffset: 96,
  familyTimeRange: 154,
};

/** Decodes the field of `tag` if it is one of these. */
function readQueryField(reader: ProtoReader, tag: number, query: Query, fields: QueryFields): boolean {
  switch (tag) {
    case fields.column:
      readColumn(reader, query);
      return true;
    case fields.attribute:
      readAttribute(reader, query);
      return true;
    case fields.filter:
      query.filter = readFilter(readNested(reader, Named));
      return true;
    case fields.timeRange:
      query.timeRange = readTimeRange(reader);
      return true;
    case fields.maxVersions:
      query.readVersions(reader.uint32());
      return true;
    case fields.cacheBlocks:
      query.cacheBlocks = reader.bool();
      return true;
    case fields.storeLimit:
      query.setMaxResultsPerColumnFamily(reader.uint32());
      return true;
    case fields.storeOffset:
      query.setRowOffsetPerColumnFamily(reader.uint32());
      return true;
    case fields.familyTimeRange:
      readFamilyTimeRange(reader, query);
      return true;
    default:
      return false;
  }
}

const GET_ROW = 10;
const GET_EXISTENCE_ONLY = 80;
const GET_CLOSEST_ROW_BEFORE = 88;

/** Decodes a `Get` up to the reader's end. */
export function readGet(reader: ProtoReader): Get {
  const start = reader.position;
  const get = new Get(rowOf(reader));
  reader.position = start;
  while (!reader.done) {
    const tag = reader.varint();
    if (tag === GET_EXISTENCE_ONLY) {
      get.checkExistenceOnly = reader.bool();
    } else if (tag === GET_CLOSEST_ROW_BEFORE) {
      if (reader.bool())
        throw refused('closest_row_before is not supported: use a reversed scan with limit 1.');
    } else if (!readQueryField(reader, tag, get, GET)) {
      reader.skip(tag);
    }
  }
  return get;
}

/** The row, usually the first field, but allowed anywhere. */
function rowOf(reader: ProtoReader): Uint8Array {
  while (!reader.done) {
    const tag = reader.varint();
    if (tag === GET_ROW) return readBytes(reader);
    reader.skip(tag);
  }
  throw refused('A get has no row.');
}

/** A scan with the options of its responses. */
export interface WireScan {
  readonly scan: Scan;
  /** The largest response in bytes; 0: the server's choice. */
  readonly maxResultSize: number;
  readonly needsCursor: boolean;
}

const SCAN_FIELD = {
  startRow: 26,
  stopRow: 34,
  batchSize: 72,
  maxResultSize: 80,
  reversed: 120,
  includeStartRow: 168,
  includeStopRow: 176,
  needCursor: 192,
};

/** Decodes a `Scan` up to the reader's end. */
export function readScan(reader: ProtoReader): WireScan {
  const scan = new Scan();
  let maxResultSize = 0;
  let needsCursor = false;
  let includeStopRow: boolean | undefined;
  while (!reader.done) {
    const tag = reader.varint();
    switch (tag) {
      case SCAN_FIELD.startRow:
        scan.startRow = readBytes(reader);
        break;
      case SCAN_FIELD.stopRow:
        scan.stopRow = readBytes(reader);
        break;
      case SCAN_FIELD.batchSize: {
        const batch = reader.int32();
        if (batch > 0) scan.setBatch(batch);
        break;
      }
      case SCAN_FIELD.maxResultSize:
        maxResultSize = Number(BigInt.asIntN(64, reader.bigVarint()));
        break;
      case SCAN_FIELD.reversed:
        scan.reversed = reader.bool();
        break;
      case SCAN_FIELD.includeStartRow:
        scan.includeStartRow = reader.bool();
        break;
      case SCAN_FIELD.includeStopRow:
        includeStopRow = reader.bool();
        break;
      case SCAN_FIELD.needCursor:
        needsCursor = reader.bool();
        break;
      default:
        if (!readQueryField(reader, tag, scan, SCAN)) reader.skip(tag);
    }
  }
  // Clients that do not know the flag express a get by a scan of one row.
  scan.includeStopRow =
    includeStopRow ?? (scan.startRow.length > 0 && Buffer.compare(scan.startRow, scan.stopRow) === 0);
  return { scan, maxResultSize, needsCursor };
}
