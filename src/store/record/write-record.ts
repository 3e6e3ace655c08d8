/**
 * What the write-ahead log holds of a write (docs/formats.md, "Write records"): row mutations one after the other, each
 * with the number of its table. The seq of mutation i is that of the record + i.
 *
 *     mutation   table number varint | row length varint | row | cell count varint | cells
 *     cell       family number varint | type uint8, 80 set when a ttl follows | timestamp varint
 *                | qualifier length varint | qualifier | value length varint | value | ttl varint
 *
 * All the mutations of a record take effect or none does. The last may be one of table 0, which no table has, with an
 * empty row and one cell: its timestamp is the clock of the store (`RowClock.highest`) at the time of the record.
 */

import { EMPTY_BYTES, writeVarint } from '../../bytes/index.js';
import { CorruptionError } from '../../errors.js';
import { CellType } from '../../table/index.js';

const FLAG_TTL = 0x80;
const INITIAL_BYTES = 1 << 16;
/** A longer buffer is given back after its record, so that one large value does not hold its memory for ever. */
const KEPT_BYTES = 1 << 22;

/** The number of no table: what carries the clock of the store. */
export const CLOCK_TABLE = 0;

/** Builds one record at a time in a buffer that is used again. */
export class WriteRecordBuilder {
  buffer: Uint8Array = new Uint8Array(INITIAL_BYTES);
  length = 0;

  reset(): void {
    this.length = 0;
    if (this.buffer.length > KEPT_BYTES) this.buffer = new Uint8Array(INITIAL_BYTES);
  }

  beginMutation(table: number, row: Uint8Array, cells: number): void {
    this.reserve(row.length + 24);
    const { buffer } = this;
    let at = writeVarint(buffer, this.length, table);
    at = writeVarint(buffer, at, row.length);
    at = writeBytes(buffer, at, row);
    this.length = writeVarint(buffer, at, cells);
  }

  cell(
    family: number,
    qualifier: Uint8Array,
    timestamp: number,
    type: number,
    ttl: number,
    value: Uint8Array,
  ): void {
    this.reserve(qualifier.length + value.length + 48);
    const { buffer } = this;
    let at = writeVarint(buffer, this.length, family);
    buffer[at++] = ttl === 0 ? type : type | FLAG_TTL;
    at = writeVarint(buffer, at, timestamp);
    at = writeVarint(buffer, at, qualifier.length);
    at = writeBytes(buffer, at, qualifier);
    at = writeVarint(buffer, at, value.length);
    at = writeBytes(buffer, at, value);
    this.length = ttl === 0 ? at : writeVarint(buffer, at, ttl);
  }

  /** The last mutation of a record: the clock of the store. */
  clock(time: number): void {
    this.beginMutation(CLOCK_TABLE, EMPTY_BYTES, 1);
    this.cell(0, EMPTY_BYTES, time, CellType.Put, 0, EMPTY_BYTES);
  }

  private reserve(bytes: number): void {
    if (this.length + bytes <= this.buffer.length) return;
    const larger = new Uint8Array(Math.max(this.buffer.length * 2, this.length + bytes));
    larger.set(this.buffer.subarray(0, this.length));
    this.buffer = larger;
  }
}

/** Writes bytes at `offset` and gives the offset after them. */
function writeBytes(target: Uint8Array, offset: number, value: Uint8Array): number {
  const length = value.length;
  if (length < 24) for (let i = 0; i < length; i++) target[offset + i] = value[i]!;
  else target.set(value, offset);
  return offset + length;
}

/** Takes the cells of a record one by one; `mutation` is the index of the row mutation a cell belongs to. */
export interface WriteRecordSink {
  cell(
    mutation: number,
    table: number,
    row: Uint8Array,
    family: number,
    qualifier: Uint8Array,
    timestamp: number,
    type: number,
    ttl: number,
    value: Uint8Array,
  ): void;
}

/**
 * Reads the record that stands in `payload` from `from` up to `end`. Byte strings handed to the sink are views of `payload`.
 * @returns the number of row mutations.
 * @throws CorruptionError when the payload ends early or a number is out of range, before which the sink may have been
 * given some cells: read a record into a list first where that matters.
 */
export function readWriteRecord(
  payload: Uint8Array,
  sink: WriteRecordSink,
  from = 0,
  end = payload.length,
): number {
  const reader = new PayloadReader(payload, from, end);
  let mutation = 0;
  while (reader.at < end) {
    const table = reader.varint();
    const row = reader.bytes(reader.varint());
    const cells = reader.varint();
    for (let i = 0; i < cells; i++) {
      const family = reader.varint();
      const typeAndFlags = reader.byte();
      const timestamp = reader.varint();
      const qualifier = reader.bytes(reader.varint());
      const value = reader.bytes(reader.varint());
      const ttl = (typeAndFlags & FLAG_TTL) !== 0 ? reader.varint() : 0;
      sink.cell(mutation, table, row, family, qualifier, timestamp, typeAndFlags & ~FLAG_TTL, ttl, value);
    }
    mutation++;
  }
  return mutation;
}

class PayloadReader {
  at: number;

  constructor(
    private readonly payload: Uint8Array,
    private readonly from: number,
    private readonly end: number,
  ) {
    this.at = from;
  }

  byte(): number {
    if (this.at >= this.end) throw this.ended();
    return this.payload[this.at++]!;
  }

  varint(): number {
    let value = 0;
    let scale = 1;
    for (let i = 0; i < 8; i++) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        if (value > Number.MAX_SAFE_INTEGER) break;
        return value;
      }
      scale *= 0x80;
    }
    throw new CorruptionError(
      `A number in a write record is out of range at byte ${this.at - this.from} of the record.`,
    );
  }

  bytes(length: number): Uint8Array {
    if (length === 0) return EMPTY_BYTES;
    const end = this.at + length;
    if (end > this.end) throw this.ended();
    const bytes = this.payload.subarray(this.at, end);
    this.at = end;
    return bytes;
  }

  private ended(): CorruptionError {
    return new CorruptionError(`A write record ends within a cell, at byte ${this.end - this.from}.`);
  }
}
