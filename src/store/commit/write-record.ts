/**
 * The payload of a log record (docs/formats.md, "Write records"): row mutations, one after the other, each with the number of its
 * table. The seq of mutation i is that of the record + i.
 *
 *     mutation   table number varint | row length varint | row | cell count varint | cells
 *     cell       family number varint | type uint8, 80 set when a ttl follows | timestamp varint
 *                | qualifier length varint | qualifier | value length varint | value | ttl varint
 *
 * All mutations of a record take effect or none does. The last may be of table 0, which no table has, with an empty row. The timestamp
 * of its cell of family 0 is the store's clock (`RowClock.highest`) at the time of the record. If rows are ahead of the time of the
 * record, that time is the timestamp of a second cell, of family 1.
 */

import { copyWords, EMPTY_BYTES, writeVarint } from '../../bytes/index.js';
import { CorruptionError } from '../../errors.js';
import { CellType, MAX_ROW_LENGTH } from '../../table/index.js';

const FLAG_TTL = 0x80;
const INITIAL_BYTES = 1 << 16;
/** A longer buffer is dropped after its record, so that one large value does not occupy memory for ever. */
const KEPT_BYTES = 1 << 22;

/** Not the number of a table: marks the mutation that records the store's clock. */
export const CLOCK_TABLE = 0;
/** The family of the cell with the time of the record, where that is not the clock. */
export const TIME_FAMILY = 1;

/** Builds one record at a time in a reused buffer. */
export class WriteRecordBuilder {
  buffer: Uint8Array = new Uint8Array(INITIAL_BYTES);
  /** A view of `buffer`. */
  private view = new DataView(this.buffer.buffer);
  length = 0;

  reset(): void {
    this.length = 0;
    if (this.buffer.length > KEPT_BYTES) this.use(new Uint8Array(INITIAL_BYTES));
  }

  beginMutation(table: number, row: Uint8Array, cells: number, rowOffset = 0, rowLength = row.length): void {
    this.reserve(rowLength + 24);
    const { buffer } = this;
    let at = writeVarint(buffer, this.length, table);
    at = writeVarint(buffer, at, rowLength);
    at = writeBytes(buffer, at, row, rowOffset, rowLength);
    this.length = writeVarint(buffer, at, cells);
  }

  cell(
    family: number,
    qualifier: Uint8Array,
    timestamp: number,
    type: number,
    ttl: number,
    value: Uint8Array,
    valueOffset = 0,
    valueLength = value.length,
  ): void {
    this.reserve(qualifier.length + valueLength + 48);
    const { buffer } = this;
    let at = writeVarint(buffer, this.length, family);
    buffer[at++] = ttl === 0 ? type : type | FLAG_TTL;
    at = writeVarint(buffer, at, timestamp);
    at = writeVarint(buffer, at, qualifier.length);
    at = writeBytes(buffer, at, qualifier, 0, qualifier.length);
    at = writeVarint(buffer, at, valueLength);
    at = writeBytes(buffer, at, value, valueOffset, valueLength);
    this.length = ttl === 0 ? at : writeVarint(buffer, at, ttl);
  }

  /** Adds a put of the column and time of `head`. */
  putCell(head: Uint8Array, value: DataView, valueOffset: number, valueLength: number): void {
    this.reserve(head.length + valueLength + 8);
    const { buffer } = this;
    let at = writeBytes(buffer, this.length, head, 0, head.length);
    at = writeVarint(buffer, at, valueLength);
    copyWords(value, valueOffset, valueLength, this.view, at);
    this.length = at + valueLength;
  }

  /** Adds the last mutation of a record: the store's clock, and the time, which is at most that. */
  clock(clock: number, time: number): void {
    this.beginMutation(CLOCK_TABLE, EMPTY_BYTES, time < clock ? 2 : 1);
    this.cell(0, EMPTY_BYTES, clock, CellType.Put, 0, EMPTY_BYTES);
    if (time < clock) this.cell(TIME_FAMILY, EMPTY_BYTES, time, CellType.Put, 0, EMPTY_BYTES);
  }

  private reserve(bytes: number): void {
    if (this.length + bytes <= this.buffer.length) return;
    const larger = new Uint8Array(Math.max(this.buffer.length * 2, this.length + bytes));
    larger.set(this.buffer.subarray(0, this.length));
    this.use(larger);
  }

  private use(buffer: Uint8Array): void {
    this.buffer = buffer;
    this.view = new DataView(buffer.buffer);
  }
}

/** The bytes of a put before its value, the same for all puts of a column at one time ({@link WriteRecordBuilder.putCell}). */
export function cellHead(family: number, qualifier: Uint8Array, timestamp: number): Uint8Array {
  const head = new Uint8Array(qualifier.length + 40);
  let at = writeVarint(head, 0, family);
  head[at++] = CellType.Put;
  at = writeVarint(head, at, timestamp);
  at = writeVarint(head, at, qualifier.length);
  return head.subarray(0, writeBytes(head, at, qualifier, 0, qualifier.length));
}

/** Writes `length` bytes of `source` at `offset` and returns the offset after them. */
function writeBytes(
  target: Uint8Array,
  offset: number,
  source: Uint8Array,
  from: number,
  length: number,
): number {
  // A part of `source` needs a view to be copied at once.
  if (length < (length === source.length ? 24 : 64))
    for (let i = 0; i < length; i++) target[offset + i] = source[from + i]!;
  else target.set(length === source.length ? source : source.subarray(from, from + length), offset);
  return offset + length;
}

/** A decoded cell of a record: its numbers, and the offsets of its bytes. One object is reused for all cells of a record. */
export class RecordedCell {
  /** The index of the row mutation that it belongs to. */
  mutation = 0;
  table = 0;
  /** False for the first cell of a mutation. */
  sameRow = false;
  family = 0;
  type = 0;
  timestamp = 0;
  ttl = 0;
  /** Holds row, qualifier and value. */
  bytes: Uint8Array = EMPTY_BYTES;
  /** A view of `bytes`. */
  view = new DataView(EMPTY_BYTES.buffer, 0, 0);
  rowOffset = 0;
  rowLength = 0;
  qualifierOffset = 0;
  qualifierLength = 0;
  valueOffset = 0;
  valueLength = 0;

  /** Points to the record in `payload`. */
  begin(payload: Uint8Array): void {
    if (payload === this.bytes) return;
    this.bytes = payload;
    this.view = new DataView(payload.buffer, payload.byteOffset, payload.length);
  }

  /** The row, a view of the record. */
  get row(): Uint8Array {
    return this.bytes.subarray(this.rowOffset, this.rowOffset + this.rowLength);
  }

  /** The qualifier, a view of the record. */
  get qualifier(): Uint8Array {
    return this.bytes.subarray(this.qualifierOffset, this.qualifierOffset + this.qualifierLength);
  }

  /** The value, a view of the record. */
  get value(): Uint8Array {
    return this.bytes.subarray(this.valueOffset, this.valueOffset + this.valueLength);
  }
}

/** Receives the cells of a record one by one. The cell object is reused for the next cell. */
export interface WriteRecordSink {
  cell(cell: RecordedCell): void;
}

/** Like `WriteRecordReader.read`, for a single record. */
export function readWriteRecord(payload: Uint8Array, sink: WriteRecordSink): number {
  return new WriteRecordReader().read(payload, sink, 0, payload.length);
}

/** Decodes records; one object serves many. */
export class WriteRecordReader {
  private readonly cell = new RecordedCell();
  private payload: Uint8Array = EMPTY_BYTES;
  private from = 0;
  private at = 0;
  private end = 0;

  /**
   * Decodes the record in `payload` from `from` up to `end`, and passes its cells to `sink`.
   * @returns the number of row mutations.
   * @throws CorruptionError when the payload ends early, a number is out of range, or a row is too long. The sink may have
   * received some cells by then; where that matters, read the record into a list first.
   */
  read(payload: Uint8Array, sink: WriteRecordSink, from: number, end: number): number {
    this.payload = payload;
    this.from = from;
    this.at = from;
    this.end = end;
    const { cell } = this;
    cell.begin(payload);
    let mutation = 0;
    while (this.at < end) {
      cell.mutation = mutation;
      cell.sameRow = false;
      cell.table = this.varint();
      cell.rowLength = this.varint();
      cell.rowOffset = this.skip(cell.rowLength);
      if (cell.rowLength > MAX_ROW_LENGTH) throw this.outOfRange();
      const cells = this.varint();
      for (let i = 0; i < cells; i++) {
        cell.family = this.varint();
        const typeAndFlags = this.byte();
        cell.type = typeAndFlags & ~FLAG_TTL;
        cell.timestamp = this.varint();
        cell.qualifierLength = this.varint();
        cell.qualifierOffset = this.skip(cell.qualifierLength);
        cell.valueLength = this.varint();
        cell.valueOffset = this.skip(cell.valueLength);
        cell.ttl = (typeAndFlags & FLAG_TTL) !== 0 ? this.varint() : 0;
        sink.cell(cell);
        cell.sameRow = true;
      }
      mutation++;
    }
    return mutation;
  }

  private byte(): number {
    if (this.at >= this.end) throw this.ended();
    return this.payload[this.at++]!;
  }

  private varint(): number {
    const first = this.byte();
    if (first < 0x80) return first;
    let value = first & 0x7f;
    let scale = 0x80;
    for (let i = 1; i < 8; i++) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        if (value > Number.MAX_SAFE_INTEGER) break;
        return value;
      }
      scale *= 0x80;
    }
    throw this.outOfRange();
  }

  /** Skips bytes, and returns the offset where they begin. */
  private skip(length: number): number {
    const start = this.at;
    if (start + length > this.end) throw this.ended();
    this.at = start + length;
    return start;
  }

  private outOfRange(): CorruptionError {
    return new CorruptionError(
      `A number in a write record is out of range at byte ${this.at - this.from} of the record.`,
    );
  }

  private ended(): CorruptionError {
    return new CorruptionError(`A write record ends within a cell, at byte ${this.end - this.from}.`);
  }
}
