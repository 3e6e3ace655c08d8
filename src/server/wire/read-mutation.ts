/** Decodes `MutationProto` and `Condition`, with the cells that accompany them. */

import { EMPTY_BYTES, equalBytes } from '../../bytes/index.js';
import { type CellReader, cellTypeOf } from '../../hbase/wire/cell-codec.js';
import { BinaryComparator, Named } from '../../hbase/wire/messages-filter.js';
import { NameBytesPair } from '../../hbase/wire/messages-rpc.js';
import { CellVisibility, VISIBILITY } from '../../hbase/wire/messages-security.js';
import type { ProtoReader } from '../../hbase/wire/proto-reader.js';
import { nameFromUtf8 } from '../../hbase/wire/proto-writer.js';
import { decodeMessage } from '../../hbase/wire/schema.js';
import { CellType, LATEST_TIMESTAMP } from '../../table/checks.js';
import {
  Append,
  CheckAndMutate,
  type CompareOperator,
  Delete,
  type Durability,
  type Filter,
  Increment,
  type MutationCell,
  Put,
  type RowMutation,
  type RowMutations,
  TimeRange,
} from '../../table/index.js';
import { refused } from '../errors.js';
import { operatorOf, readFilter } from './read-filter.js';
import { readBytes, readNested, readNestedBy, readTimeRange, readTimestamp } from './read-query.js';

const DURABILITIES: readonly Durability[] = ['USE_DEFAULT', 'SKIP_WAL', 'ASYNC_WAL', 'SYNC_WAL', 'FSYNC_WAL'];

const MutationType = { Append: 0, Increment: 1, Put: 2, Delete: 3 } as const;

/** `DeleteType` as cell types. */
const DELETE_TYPES: readonly CellType[] = [
  CellType.Delete,
  CellType.DeleteColumn,
  CellType.DeleteFamily,
  CellType.DeleteFamilyVersion,
];

/** A decoded change. */
export interface WireMutation {
  readonly mutation: RowMutation;
  /** 0 if it has no nonce. */
  readonly nonce: bigint;
}

const TAG = {
  row: 10,
  type: 16,
  columnValue: 26,
  timestamp: 32,
  attribute: 42,
  durability: 48,
  timeRange: 58,
  cellCount: 64,
  nonce: 72,
};

/** The fields of a `MutationProto` before its type is known. */
class MutationParts {
  row: Uint8Array = EMPTY_BYTES;
  type = -1;
  timestamp: number = LATEST_TIMESTAMP;
  durability: Durability = 'USE_DEFAULT';
  timeRange: TimeRange = TimeRange.ALL;
  cells: MutationCell[] = [];
  nonce = 0n;
  ttl: number | undefined;
  visibility: string | undefined;
  returnResults = true;
}

/** Decodes a `MutationProto` up to the reader's end, and takes its cells from `block`. */
export function readMutation(reader: ProtoReader, block: CellReader): WireMutation {
  const parts = new MutationParts();
  let cellCount = 0;
  while (!reader.done) {
    const tag = reader.varint();
    switch (tag) {
      case TAG.row:
        parts.row = readBytes(reader);
        break;
      case TAG.type:
        parts.type = reader.int32();
        break;
      case TAG.columnValue:
        readColumnValue(reader, parts);
        break;
      case TAG.timestamp:
        parts.timestamp = readTimestamp(reader);
        break;
      case TAG.attribute:
        readAttribute(reader, parts);
        break;
      case TAG.durability:
        parts.durability = DURABILITIES[reader.int32()] ?? 'USE_DEFAULT';
        break;
      case TAG.timeRange:
        parts.timeRange = readTimeRange(reader);
        break;
      case TAG.cellCount:
        cellCount = reader.uint32();
        break;
      case TAG.nonce:
        parts.nonce = reader.bigVarint();
        break;
      default:
        reader.skip(tag);
    }
  }
  if (cellCount > 0) takeCells(parts, block.read(cellCount));
  return { mutation: mutationOf(parts), nonce: parts.nonce };
}

function takeCells(parts: MutationParts, cells: ReturnType<CellReader['read']>): void {
  if (parts.row.length === 0) parts.row = cells[0]!.row;
  let last: Uint8Array | undefined;
  for (const cell of cells) {
    // Fast path: cells of a row share the row's bytes.
    if (cell.row === last) continue;
    last = cell.row;
    if (!equalBytes(last, parts.row)) throw refused('A mutation has cells of another row than its own.');
  }
  parts.cells = parts.cells.length === 0 ? cells : [...parts.cells, ...cells];
}

const TTL = '_ttl';
const RETURN_RESULTS = '_rr_';
const PERMISSIONS = 'acl';

function readAttribute(reader: ProtoReader, parts: MutationParts): void {
  const { name, value = EMPTY_BYTES } = readNested(reader, NameBytesPair);
  switch (name) {
    case TTL:
      if (value.length !== 8) throw refused(`A time to live has ${value.length} bytes; it is a long.`);
      parts.ttl = Number(Buffer.from(value).readBigInt64BE());
      break;
    case RETURN_RESULTS:
      parts.returnResults = value.length === 0 || value[0] !== 0;
      break;
    case VISIBILITY:
      parts.visibility = decodeMessage(CellVisibility, value).expression;
      break;
    case PERMISSIONS:
      throw refused('Permissions of single cells are not supported by rowan serve.');
    default:
  }
}

/** `ColumnValue`: a family with qualifiers and values, if they are not sent as cells. */
function readColumnValue(reader: ProtoReader, parts: MutationParts): void {
  const outer = reader.enter();
  let family = '';
  while (!reader.done) {
    const tag = reader.varint();
    if (tag === 10) {
      family = nameFromUtf8(reader.bytes());
    } else if (tag === 18) {
      parts.cells.push(readNestedBy(reader, readQualifierValue, family));
    } else {
      reader.skip(tag);
    }
  }
  reader.leave(outer);
}

/** Stands for "as in the mutation", whose field may follow its cells. */
const OF_MUTATION = -1;

function readQualifierValue(reader: ProtoReader, family: string): MutationCell {
  let qualifier: Uint8Array = EMPTY_BYTES;
  let value: Uint8Array = EMPTY_BYTES;
  let timestamp: number = OF_MUTATION;
  let type: CellType = CellType.Put;
  while (!reader.done) {
    const tag = reader.varint();
    switch (tag) {
      case 10:
        qualifier = readBytes(reader);
        break;
      case 18:
        value = readBytes(reader);
        break;
      case 24:
        timestamp = readTimestamp(reader);
        break;
      case 32:
        type = DELETE_TYPES[reader.int32()] ?? cellTypeOf(0);
        break;
      case 42:
        if (reader.bytes().length > 0) throw refused('Tags of cells are not supported by rowan serve.');
        break;
      default:
        reader.skip(tag);
    }
  }
  return { family, qualifier, timestamp, type, value };
}

function mutationOf(parts: MutationParts): RowMutation {
  const { timestamp } = parts;
  const isOpen = (cell: MutationCell): boolean => cell.timestamp === OF_MUTATION;
  const cells = parts.cells.some(isOpen)
    ? parts.cells.map((cell) => (isOpen(cell) ? { ...cell, timestamp } : cell))
    : parts.cells;
  const mutation = changeOf(parts, cells);
  if (parts.ttl !== undefined) mutation.setTtl(parts.ttl);
  mutation.durability = parts.durability;
  mutation.visibility = parts.visibility;
  return mutation;
}

function changeOf(parts: MutationParts, cells: readonly MutationCell[]): RowMutation {
  switch (parts.type) {
    case MutationType.Put: {
      const put = new Put(parts.row, parts.timestamp);
      for (const cell of cells) {
        if (cell.type !== CellType.Put) throw refused('A put has a cell that deletes.');
        put.cells.push(cell);
      }
      return put;
    }
    case MutationType.Delete: {
      const del = new Delete(parts.row, parts.timestamp);
      for (const cell of cells) {
        if (cell.type === CellType.Put) throw refused('A delete has a cell that is put.');
        del.cells.push(cell);
      }
      return del;
    }
    case MutationType.Increment: {
      const increment = new Increment(parts.row);
      for (const { family, qualifier, value, timestamp } of cells)
        increment.addColumn(family, qualifier, amountOf(value), timestamp);
      return withRange(increment, parts);
    }
    case MutationType.Append: {
      const append = new Append(parts.row);
      for (const { family, qualifier, value, timestamp } of cells)
        append.addColumn(family, qualifier, value, timestamp);
      return withRange(append, parts);
    }
    default:
      throw refused(`A mutation has the unknown type ${parts.type}.`);
  }
}

function withRange<M extends Increment | Append>(mutation: M, parts: MutationParts): M {
  mutation.timeRange = parts.timeRange;
  mutation.returnResults = parts.returnResults;
  return mutation;
}

function amountOf(value: Uint8Array): bigint {
  if (value.length !== 8) throw refused(`An increment adds a value of ${value.length} bytes; a long has 8.`);
  return Buffer.from(value.buffer, value.byteOffset, 8).readBigInt64BE();
}

function comparedBytes(comparator: Uint8Array = EMPTY_BYTES): Uint8Array {
  const { value = EMPTY_BYTES } = decodeMessage(BinaryComparator, comparator).comparable;
  return Uint8Array.from(value);
}

/** A decoded condition, without the row. */
export interface WireCondition {
  readonly row: Uint8Array;
  on(action: RowMutation | RowMutations): CheckAndMutate;
}

/** Decodes a `Condition` up to the reader's end. */
export function readCondition(reader: ProtoReader): WireCondition {
  let row: Uint8Array = EMPTY_BYTES;
  let family = '';
  let qualifier: Uint8Array = EMPTY_BYTES;
  let operator: CompareOperator = 'EQUAL';
  let value: Uint8Array = EMPTY_BYTES;
  let filter: Filter | undefined;
  let timeRange: TimeRange = TimeRange.ALL;
  while (!reader.done) {
    const tag = reader.varint();
    switch (tag) {
      case 10:
        row = readBytes(reader);
        break;
      case 18:
        family = nameFromUtf8(reader.bytes());
        break;
      case 26:
        qualifier = readBytes(reader);
        break;
      case 32:
        operator = operatorOf(reader.int32());
        break;
      case 42: {
        // HBase uses only the bytes, whatever the comparator class.
        const { name, serialized } = readNested(reader, Named);
        value = name.endsWith('.NullComparator') ? EMPTY_BYTES : comparedBytes(serialized);
        break;
      }
      case 50:
        timeRange = readTimeRange(reader);
        break;
      case 58:
        filter = readFilter(readNested(reader, Named));
        break;
      default:
        reader.skip(tag);
    }
  }
  const expected = value.length === 0 ? null : value;
  const column = { family, qualifier, operator, value: expected, timeRange };
  return {
    row,
    on(action) {
      if (!equalBytes(action.row, row)) throw refused('A condition has another row than its change.');
      return filter === undefined
        ? CheckAndMutate.ifMatches(column, action)
        : CheckAndMutate.ifFilter(filter, action, timeRange);
    },
  };
}
