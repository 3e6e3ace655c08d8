/**
 * Cells on the wire (`KeyValueCodec`, `KeyValue`), all numbers big-endian:
 *
 *     int32 length | int32 keyLength | int32 valueLength |
 *       int16 rowLength | row | uint8 familyLength | family | qualifier | int64 timestamp | uint8 type | value
 *
 * A cell block is a sequence of them. Decoded cells are views of the block.
 */

import { copySlice, EMPTY_BYTES } from '../../bytes/index.js';
import { RowanError } from '../../errors.js';
import { Cell, CellType, LATEST_TIMESTAMP } from '../../table/checks.js';
import { ProtocolError } from '../rpc/errors.js';
import { tooManyObjects } from './proto-reader.js';
import { nameFromUtf8, type ProtoWriter } from './proto-writer.js';

const TWO_32 = 4294967296;
/** Bytes of a key after its row, without family and qualifier. */
const TAIL_OVERHEAD = 10;
/** Bytes of a key without row, family and qualifier. */
const KEY_OVERHEAD = 2 + TAIL_OVERHEAD;
/** The offset of a cell's row. */
const ROW_AT = 14;
/** HBase's `Long.MAX_VALUE`, in halves. */
const LATEST_HIGH = 0x7fffffff;
const LATEST_LOW = 0xffffffff;

/** Prepends one cell to the writer's bytes. `timestamp` may be `LATEST_TIMESTAMP`. */
export function writeCell(
  writer: ProtoWriter,
  row: Uint8Array,
  family: Uint8Array,
  qualifier: Uint8Array,
  timestamp: number,
  type: number,
  value: Uint8Array,
): void {
  const start = beginCell(writer, row, family, qualifier, timestamp, type, value.length);
  copyInto(writer.buffer, start, value);
}

/** Writes a cell whose value is an int64. */
export function writeLongCell(
  writer: ProtoWriter,
  row: Uint8Array,
  family: Uint8Array,
  qualifier: Uint8Array,
  timestamp: number,
  amount: bigint,
): void {
  const start = beginCell(writer, row, family, qualifier, timestamp, CellType.Put, 8);
  writer.buffer.writeBigInt64BE(amount, start);
}

/** The bytes between row and value of puts to a column, at the time of the write. */
export function columnTail(family: Uint8Array, qualifier: Uint8Array): Uint8Array {
  const tail = new Uint8Array(TAIL_OVERHEAD + family.length + qualifier.length);
  let at = copyInto(tail, 1, family);
  at = copyInto(tail, at, qualifier);
  at = putInt32(tail, at, LATEST_HIGH);
  at = putInt32(tail, at, LATEST_LOW);
  tail[0] = family.length;
  tail[at] = CellType.Put;
  return tail;
}

/** As {@link writeCell} of a put, with the column as {@link columnTail} returns it, and a slice of `bytes` as its value. */
export function writePackedCell(
  writer: ProtoWriter,
  row: Uint8Array,
  tail: Uint8Array,
  bytes: Uint8Array,
  from: number,
  length: number,
): void {
  let at = beginKey(writer, row, tail.length, length);
  const { buffer } = writer;
  at = copyInto(buffer, at, tail);
  copySlice(bytes, from, length, buffer, at);
}

/** Allocates a cell and writes it up to the end of its row; `tail`: the length of the rest of the key. @returns the offset after the row. */
function beginKey(writer: ProtoWriter, row: Uint8Array, tail: number, valueLength: number): number {
  const keyLength = 2 + row.length + tail;
  const size = 12 + keyLength + valueLength;
  writer.reserve(size);
  const { buffer } = writer;
  let at = writer.position - size;
  writer.position = at;
  at = putInt32(buffer, at, size - 4);
  at = putInt32(buffer, at, keyLength);
  at = putInt32(buffer, at, valueLength);
  buffer[at++] = row.length >>> 8;
  buffer[at++] = row.length;
  return copyInto(buffer, at, row);
}

/** Allocates a cell and writes all but its value. @returns the offset of the value. */
function beginCell(
  writer: ProtoWriter,
  row: Uint8Array,
  family: Uint8Array,
  qualifier: Uint8Array,
  timestamp: number,
  type: number,
  valueLength: number,
): number {
  const tail = TAIL_OVERHEAD + family.length + qualifier.length;
  let at = beginKey(writer, row, tail, valueLength);
  const { buffer } = writer;
  buffer[at++] = family.length;
  at = copyInto(buffer, at, family);
  at = copyInto(buffer, at, qualifier);
  const latest = timestamp === LATEST_TIMESTAMP;
  at = putInt32(buffer, at, latest ? LATEST_HIGH : Math.floor(timestamp / TWO_32));
  at = putInt32(buffer, at, latest ? LATEST_LOW : timestamp % TWO_32);
  buffer[at++] = type;
  return at;
}

function putInt32(buffer: Uint8Array, at: number, value: number): number {
  buffer[at] = value >>> 24;
  buffer[at + 1] = value >>> 16;
  buffer[at + 2] = value >>> 8;
  buffer[at + 3] = value;
  return at + 4;
}

function copyInto(buffer: Uint8Array, at: number, bytes: Uint8Array): number {
  const length = bytes.length;
  if (length < 24) for (let i = 0; i < length; i++) buffer[at + i] = bytes[i]!;
  else buffer.set(bytes, at);
  return at + length;
}

/** Decodes a cell block. Cells share their row, and qualifiers that recur in successive rows. */
export class CellReader {
  private buffer: Uint8Array = EMPTY_BYTES;
  /** The buffer's ArrayBuffer and offset, cached because the getters are slow calls. */
  private memory: ArrayBufferLike = EMPTY_BYTES.buffer;
  private base = 0;
  /** A DataView, which checks bounds once for four bytes. */
  private numbers: DataView | undefined;
  private position = 0;
  private end = 0;
  private row: Uint8Array = EMPTY_BYTES;
  /** The qualifiers of the previous row, by position. */
  private readonly qualifiers: Uint8Array[] = [];
  private column = 0;
  private familyBytes: Uint8Array = EMPTY_BYTES;
  private family = '';
  private failure: RowanError | undefined;
  /** The offsets of the current cell's parts. Timestamp, type and value begin at `tail`. */
  private rowStart = 0;
  private rowLength = 0;
  private familyStart = 0;
  private familyLength = 0;
  private qualifierStart = 0;
  private qualifierLength = 0;
  private tail = 0;
  private valueLength = 0;
  /** Cells that may still be decoded. */
  private budget = 0;

  /** @param takesLatest whether `Long.MAX_VALUE` decodes to `LATEST_TIMESTAMP`: cells to be written have it, stored cells do not. */
  constructor(private readonly takesLatest = false) {}

  /** Starts reading a block, of which at most `budget` cells are decoded. */
  reset(buffer: Uint8Array, position: number, end: number, budget: number): void {
    this.buffer = buffer;
    this.memory = buffer.buffer;
    this.base = buffer.byteOffset;
    this.numbers = undefined;
    this.budget = budget;
    this.position = position;
    this.end = end;
    this.row = EMPTY_BYTES;
    this.qualifiers.length = 0;
    this.column = 0;
  }

  /** Another reader of the block, at the same position. */
  fork(): CellReader {
    const reader = new CellReader(this.takesLatest);
    reader.reset(this.buffer, this.position, this.end, Number.POSITIVE_INFINITY);
    reader.familyBytes = this.familyBytes;
    reader.family = this.family;
    return reader;
  }

  /** Number of unread bytes. */
  get left(): number {
    return this.end - this.position;
  }

  /** @throws ProtocolError when cells are left: an answer announces all that it has. `answer`: what it is, for the message. */
  checkUsedUp(answer: string): void {
    if (this.left > 0) throw new ProtocolError(`${answer} has more cells than it announces.`);
  }

  /** Releases the block. */
  release(): void {
    this.reset(EMPTY_BYTES, 0, 0, 0);
  }

  /**
   * Decodes the next `count` cells.
   * @throws ProtocolError when the block has fewer or they are malformed; RowanError, after skipping all of them: `ERR_CODEC` when a
   * timestamp is out of range, `ERR_TOO_LARGE` when they exceed the budget.
   */
  read(count: number): Cell[] {
    if (count > this.budget) {
      this.passCells(count);
      this.throwFailure();
      throw tooManyObjects();
    }
    this.checkCount(count);
    this.budget -= count;
    const cells: Cell[] = new Array(count);
    for (let i = 0; i < count; i++) cells[i] = this.next();
    this.throwFailure();
    return cells;
  }

  /**
   * Checks and skips rows of `counts` cells each.
   * @returns the offset of each row, for {@link readAt}. @throws as `read`.
   */
  passRows(counts: readonly number[]): Uint32Array {
    const starts = new Uint32Array(counts.length);
    for (let i = 0; i < starts.length; i++) {
      starts[i] = this.position;
      this.passCells(counts[i]!);
    }
    this.throwFailure();
    return starts;
  }

  /** Where the next cell begins. */
  get offset(): number {
    return this.position;
  }

  /** Decodes `count` cells at an offset of {@link passRows}. */
  readAt(start: number, count: number): Cell[] {
    this.position = start;
    return this.read(count);
  }

  /** The row key of the cell at an offset of {@link passRows}. */
  rowOf(start: number): Uint8Array {
    return this.view(start + ROW_AT, (this.buffer[start + 12]! << 8) | this.buffer[start + 13]!);
  }

  private passCells(count: number): void {
    this.checkCount(count);
    for (let i = 0; i < count; i++) {
      const after = this.open();
      this.familyAt(this.familyStart, this.familyLength);
      this.timestampAt(this.tail);
      cellTypeOf(this.buffer[this.tail + 8]!);
      this.position = after;
    }
  }

  private checkCount(count: number): void {
    if (count * 24 <= this.end - this.position) return;
    throw new ProtocolError(`A result announces ${count} cells, more than its cell block holds.`);
  }

  private throwFailure(): void {
    const { failure } = this;
    if (failure === undefined) return;
    this.failure = undefined;
    throw failure;
  }

  private next(): Cell {
    const after = this.open();
    const { tail } = this;
    const row = this.rowAt(this.rowStart, this.rowLength);
    const cell = new Cell(
      row,
      this.familyAt(this.familyStart, this.familyLength),
      this.qualifierAt(this.qualifierStart, this.qualifierLength),
      this.timestampAt(tail),
      cellTypeOf(this.buffer[tail + 8]!),
      this.view(tail + 9, this.valueLength),
    );
    this.position = after;
    return cell;
  }

  /** Locates the parts of the cell at the position. @returns the offset of the next one. */
  private open(): number {
    const buffer = this.buffer;
    const start = this.position;
    if (this.end - start < 24) throw new ProtocolError('A cell block ends in the middle of a cell.');
    this.numbers ??= new DataView(this.memory, this.base, buffer.length);
    const { numbers } = this;
    const length = numbers.getUint32(start);
    const keyLength = numbers.getUint32(start + 4);
    const valueLength = numbers.getUint32(start + 8);
    if (length < 8 + keyLength + valueLength || length > this.end - start - 4) {
      throw new ProtocolError(`A cell of ${length} bytes does not fit into its cell block.`);
    }
    const rowLength = numbers.getUint16(start + 12);
    const rowStart = start + ROW_AT;
    if (rowLength + KEY_OVERHEAD > keyLength)
      throw new ProtocolError('The row of a cell is longer than its key.');
    const familyStart = rowStart + rowLength + 1;
    const familyLength = buffer[familyStart - 1]!;
    const qualifierLength = keyLength - KEY_OVERHEAD - rowLength - familyLength;
    if (qualifierLength < 0) throw new ProtocolError('The family of a cell is longer than its key.');
    const qualifierStart = familyStart + familyLength;
    this.rowStart = rowStart;
    this.rowLength = rowLength;
    this.familyStart = familyStart;
    this.familyLength = familyLength;
    this.qualifierStart = qualifierStart;
    this.qualifierLength = qualifierLength;
    this.tail = qualifierStart + qualifierLength;
    this.valueLength = valueLength;
    return start + 4 + length;
  }

  private timestampAt(at: number): number {
    const high = this.numbers!.getUint32(at);
    const low = this.numbers!.getUint32(at + 4);
    if (isTimestamp(high, low)) return high * TWO_32 + low;
    if (this.takesLatest && high === LATEST_HIGH && low === LATEST_LOW) return LATEST_TIMESTAMP;
    this.failure ??= timestampError(high, low);
    return 0;
  }

  private view(start: number, length: number): Uint8Array {
    if (length === 0) return EMPTY_BYTES;
    return new Uint8Array(this.memory, this.base + start, length);
  }

  private rowAt(start: number, length: number): Uint8Array {
    if (this.isAt(this.row, start, length)) {
      this.column++;
    } else {
      this.row = this.view(start, length);
      this.column = 0;
    }
    return this.row;
  }

  private qualifierAt(start: number, length: number): Uint8Array {
    const known = this.qualifiers[this.column];
    if (known !== undefined && this.isAt(known, start, length)) return known;
    const qualifier = this.view(start, length);
    this.qualifiers[this.column] = qualifier;
    return qualifier;
  }

  private familyAt(start: number, length: number): string {
    if (!this.isAt(this.familyBytes, start, length)) {
      this.familyBytes = Uint8Array.from(this.view(start, length));
      this.family = nameFromUtf8(this.familyBytes);
    }
    return this.family;
  }

  private isAt(bytes: Uint8Array, start: number, length: number): boolean {
    if (bytes.length !== length) return false;
    const buffer = this.buffer;
    // Compared backwards, because successive rows and qualifiers differ at their ends.
    for (let i = length - 1; i >= 0; i--) if (bytes[i] !== buffer[start + i]) return false;
    return true;
  }
}

function isTimestamp(high: number, low: number): boolean {
  return high < 0x200000 && high * TWO_32 + low < LATEST_TIMESTAMP;
}

function timestampError(high: number, low: number): RowanError {
  const exact = BigInt.asIntN(64, (BigInt(high) << 32n) | BigInt(low));
  return new RowanError(
    'ERR_CODEC',
    `A cell has the timestamp ${exact}; Rowan reads timestamps from 0 to ${LATEST_TIMESTAMP - 1}. ` +
      'Read with a time range that leaves it out, or rewrite it.',
  );
}

/**
 * A timestamp given in halves.
 * @throws RowanError `ERR_CODEC` above 2^53-2, where numbers are not exact.
 */
export function timestampOf(high: number, low: number): number {
  if (!isTimestamp(high, low)) throw timestampError(high, low);
  return high * TWO_32 + low;
}

/** @throws ProtocolError for a type that HBase does not have. */
export function cellTypeOf(code: number): CellType {
  switch (code) {
    case CellType.Put:
    case CellType.Delete:
    case CellType.DeleteFamilyVersion:
    case CellType.DeleteColumn:
    case CellType.DeleteFamily:
      return code;
    default:
      throw new ProtocolError(`A cell has the unknown type ${code}.`);
  }
}
