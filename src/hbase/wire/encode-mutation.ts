/** `MutationProto` and `Condition`. The cells of mutations are in the cell block, in the order of the mutations. */

import { CellType, LATEST_TIMESTAMP } from '../../table/checks.js';
import type { Append, Delete, Durability, Increment, Put, RowMutation } from '../../table/mutation.js';
import type { PackedPuts } from '../../table/packed-puts.js';
import type { CheckAndMutate } from '../../table/row-mutations.js';
import { columnTail, writeCell, writeLongCell, writePackedCell } from './cell-codec.js';
import { writeAttribute, writeTimeRange, writeTimestamp } from './encode-query.js';
import { COMPARE_TYPES, encodeFilter, writeBinaryComparator } from './filter-codec.js';
import { encodeVisibility, VISIBILITY } from './messages-security.js';
import { type ProtoWriter, tagOf, utf8Name, WireType } from './proto-writer.js';

const MUTATION = {
  row: tagOf(1, WireType.Bytes),
  type: tagOf(2, WireType.Varint),
  timestamp: tagOf(4, WireType.Varint),
  attribute: tagOf(5, WireType.Bytes),
  durability: tagOf(6, WireType.Varint),
  timeRange: tagOf(7, WireType.Bytes),
  cellCount: tagOf(8, WireType.Varint),
  nonce: tagOf(9, WireType.Varint),
} as const;

const MUTATION_TYPES = { append: 0, increment: 1, put: 2, delete: 3 } as const;

const DURABILITY: Readonly<Record<Durability, number>> = {
  USE_DEFAULT: 0,
  SKIP_WAL: 1,
  ASYNC_WAL: 2,
  SYNC_WAL: 3,
  FSYNC_WAL: 4,
};

const FALSE = Uint8Array.of(0);

/** Number of a mutation's cells in the cell block. */
function cellCountOf(mutation: RowMutation): number {
  return mutation.kind === 'put' || mutation.kind === 'delete'
    ? mutation.cells.length
    : mutation.columns.length;
}

/** Approximate encoded bytes of a mutation, to limit the size of a request. */
export function sizeOfMutation(mutation: RowMutation): number {
  // The upper bound: a UTF-16 unit takes at most three bytes.
  let size = 40 + mutation.row.length + 3 * (mutation.visibility?.length ?? 0);
  if (mutation.kind === 'put' || mutation.kind === 'delete') {
    for (const cell of mutation.cells)
      size += 32 + mutation.row.length + cell.qualifier.length + cell.value.length;
  } else if (mutation.kind === 'append') {
    for (const column of mutation.columns) {
      size += 32 + mutation.row.length + column.qualifier.length + column.value.length;
    }
  } else {
    for (const column of mutation.columns) size += 40 + mutation.row.length + column.qualifier.length;
  }
  return size;
}

// — Packed puts, which have no object for each cell.

/** What the cells of a column have in common after the row: `uint8 familyLength | family | qualifier | int64 timestamp | uint8 type`. */
const tails = new WeakMap<PackedPuts['columns'], readonly Uint8Array[]>();

function tailsOf(columns: PackedPuts['columns']): readonly Uint8Array[] {
  let known = tails.get(columns);
  if (known === undefined) {
    known = columns.map(({ family, qualifier }) => columnTail(utf8Name(family), qualifier));
    tails.set(columns, known);
  }
  return known;
}

/** As {@link sizeOfMutation} of the put. */
export function sizeOfPackedPut(puts: PackedPuts, put: number): number {
  const { rows, rowEnds, cells, columns } = puts;
  const first = put === 0 ? 0 : rowEnds[put - 1]!;
  const end = rowEnds[put]!;
  const { length } = rows[put]!;
  let size = 40 + length + (end - first) * (32 + length) + valueEndOf(puts, end) - valueEndOf(puts, first);
  for (let cell = first; cell < end; cell++) size += columns[cells[cell]!]!.qualifier.length;
  return size;
}

/** Where the values of the first `count` cells end. */
function valueEndOf({ valueEnds, start }: PackedPuts, count: number): number {
  return count === 0 ? start : valueEnds[count - 1]!;
}

/** As {@link writeMutationCells} of the put. */
export function writePackedCells(writer: ProtoWriter, puts: PackedPuts, put: number): void {
  const { rows, rowEnds, cells, valueEnds, bytes } = puts;
  const columns = tailsOf(puts.columns);
  const row = rows[put]!;
  const first = put === 0 ? 0 : rowEnds[put - 1]!;
  for (let cell = rowEnds[put]! - 1; cell >= first; cell--) {
    const from = valueEndOf(puts, cell);
    writePackedCell(writer, row, columns[cells[cell]!]!, bytes, from, valueEnds[cell]! - from);
  }
}

/** As {@link writeMutation} of the put. */
export function writePackedPut(writer: ProtoWriter, puts: PackedPuts, put: number): void {
  const { rows, rowEnds, durability } = puts;
  const count = put === 0 ? rowEnds[0]! : rowEnds[put]! - rowEnds[put - 1]!;
  writer.varintField(MUTATION.cellCount, count);
  writer.varintField(MUTATION.durability, DURABILITY[durability]);
  writeTimestamp(writer, MUTATION.timestamp, LATEST_TIMESTAMP);
  writer.varintField(MUTATION.type, MUTATION_TYPES.put);
  writer.bytesField(MUTATION.row, rows[put]!);
}

/** Writes the mutation's cells, from the last to the first. */
export function writeMutationCells(writer: ProtoWriter, mutation: RowMutation): void {
  if (mutation.kind === 'increment') writeAmounts(writer, mutation);
  else if (mutation.kind === 'append') writeValues(writer, mutation);
  else writeCells(writer, mutation);
}

function writeCells(writer: ProtoWriter, mutation: Put | Delete): void {
  const { row, cells } = mutation;
  for (let i = cells.length - 1; i >= 0; i--) {
    const cell = cells[i]!;
    writeCell(writer, row, utf8Name(cell.family), cell.qualifier, cell.timestamp, cell.type, cell.value);
  }
}

function writeAmounts(writer: ProtoWriter, increment: Increment): void {
  const { row, columns } = increment;
  for (let i = columns.length - 1; i >= 0; i--) {
    const { family, qualifier, timestamp, amount } = columns[i]!;
    writeLongCell(writer, row, utf8Name(family), qualifier, timestamp, amount);
  }
}

function writeValues(writer: ProtoWriter, append: Append): void {
  const { row, columns } = append;
  for (let i = columns.length - 1; i >= 0; i--) {
    const { family, qualifier, timestamp, value } = columns[i]!;
    writeCell(writer, row, utf8Name(family), qualifier, timestamp, CellType.Put, value);
  }
}

/** Writes the fields of a `MutationProto`. Only increments and appends carry the `nonce`. */
export function writeMutation(writer: ProtoWriter, mutation: RowMutation, nonce: bigint): void {
  const changesValue = mutation.kind === 'increment' || mutation.kind === 'append';
  if (changesValue && nonce !== 0n) {
    writer.bigVarint(nonce);
    writer.varint(MUTATION.nonce);
  }
  const count = cellCountOf(mutation);
  if (count > 0) writer.varintField(MUTATION.cellCount, count);
  if (changesValue && !mutation.timeRange.isAll) {
    writeTimeRange(writer, MUTATION.timeRange, mutation.timeRange);
  }
  writer.varintField(MUTATION.durability, DURABILITY[mutation.durability]);
  if (changesValue && !mutation.returnResults) writeAttribute(writer, MUTATION.attribute, '_rr_', FALSE);
  if (mutation.visibility !== undefined)
    writeAttribute(writer, MUTATION.attribute, VISIBILITY, encodeVisibility(mutation.visibility));
  if (mutation.ttl !== undefined) writeAttribute(writer, MUTATION.attribute, '_ttl', longBytes(mutation.ttl));
  const timestamp = mutation.kind === 'delete' && count === 0 ? mutation.timestamp : LATEST_TIMESTAMP;
  writeTimestamp(writer, MUTATION.timestamp, timestamp);
  writer.varintField(MUTATION.type, MUTATION_TYPES[mutation.kind]);
  writer.bytesField(MUTATION.row, mutation.row);
}

function longBytes(value: number): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(value));
  return bytes;
}

const CONDITION = {
  row: tagOf(1, WireType.Bytes),
  family: tagOf(2, WireType.Bytes),
  qualifier: tagOf(3, WireType.Bytes),
  compareType: tagOf(4, WireType.Varint),
  comparator: tagOf(5, WireType.Bytes),
  timeRange: tagOf(6, WireType.Bytes),
  filter: tagOf(7, WireType.Bytes),
} as const;

/** Writes the fields of a `Condition`. Without a filter the server compares `given operator stored`, as `CheckAndMutate` does. */
export function writeCondition(writer: ProtoWriter, check: CheckAndMutate): void {
  const condition = check.condition;
  if (condition.kind === 'filter') writer.bytesField(CONDITION.filter, encodeFilter(condition.filter));
  if (!condition.timeRange.isAll) writeTimeRange(writer, CONDITION.timeRange, condition.timeRange);
  if (condition.kind === 'column') {
    writeBinaryComparator(writer, CONDITION.comparator, condition.value);
    writer.varintField(CONDITION.compareType, COMPARE_TYPES[condition.operator]);
    writer.bytesField(CONDITION.qualifier, condition.qualifier);
    writer.bytesField(CONDITION.family, utf8Name(condition.family));
  }
  writer.bytesField(CONDITION.row, check.row);
}
