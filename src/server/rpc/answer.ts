/**
 * Encodes responses as frames: `int32 length | varint, ResponseHeader | varint, message | cell block`. Written back to
 * front.
 */

import { type CellBlockCompression, packCells } from '../../hbase/rpc/connection-settings.js';
import { CONNECTION_CALL_ID } from '../../hbase/rpc/frames.js';
import { writeCell } from '../../hbase/wire/cell-codec.js';
import { ResponseHeader } from '../../hbase/wire/messages-rpc.js';
import { ProtoWriter, tagOf, utf8Name, WireType } from '../../hbase/wire/proto-writer.js';
import type { MessageCodec } from '../../hbase/wire/schema.js';
import type { Cell, Result } from '../../table/index.js';
import type { ServerException } from '../errors.js';

/** The response to a call. */
export interface Answer {
  /** Writes the fields of the message, last field first. */
  writeMessage(writer: ProtoWriter): void;
  /** Writes the cells after the message, last cell first. */
  writeCells?(writer: ProtoWriter): void;
}

/** A response without cells. */
export function messageAnswer<T>(codec: MessageCodec<T>, value: T): Answer {
  return { writeMessage: (writer) => codec.write(writer, value) };
}

/** Writes the cells of results, last cell first. */
export function writeResultCells(writer: ProtoWriter, results: readonly Result[]): void {
  for (let r = results.length - 1; r >= 0; r--) writeCells(writer, results[r]!.cells);
}

function writeCells(writer: ProtoWriter, cells: readonly Cell[]): void {
  for (let i = cells.length - 1; i >= 0; i--) {
    const { row, family, qualifier, timestamp, type, value } = cells[i]!;
    writeCell(writer, row, utf8Name(family), qualifier, timestamp, type, value);
  }
}

const RESULT_CELL = tagOf(1, WireType.Bytes);
const RESULT_CELL_COUNT = tagOf(2, WireType.Varint);
const RESULT_EXISTS = tagOf(3, WireType.Varint);
const RESULT_PARTIAL = tagOf(5, WireType.Varint);

const CELL_ROW = tagOf(1, WireType.Bytes);
const CELL_FAMILY = tagOf(2, WireType.Bytes);
const CELL_QUALIFIER = tagOf(3, WireType.Bytes);
const CELL_TIMESTAMP = tagOf(4, WireType.Varint);
const CELL_TYPE = tagOf(5, WireType.Varint);
const CELL_VALUE = tagOf(6, WireType.Bytes);

/** Writes a `Result`, with its cells inline or with their number in the cell block. */
export function writeResult(writer: ProtoWriter, tag: number, result: Result, isInline: boolean): void {
  const mark = writer.mark();
  if (result.partial) writer.boolField(RESULT_PARTIAL, true);
  if (isInline) {
    const { cells } = result;
    for (let i = cells.length - 1; i >= 0; i--) writeInlineCell(writer, cells[i]!);
  } else {
    writer.varintField(RESULT_CELL_COUNT, result.cells.length);
  }
  writer.endMessage(tag, mark);
}

/** Writes the `Result` of an existence check. */
export function writeExists(writer: ProtoWriter, tag: number, exists: boolean): void {
  const mark = writer.mark();
  writer.boolField(RESULT_EXISTS, exists);
  writer.varintField(RESULT_CELL_COUNT, 0);
  writer.endMessage(tag, mark);
}

function writeInlineCell(writer: ProtoWriter, cell: Cell): void {
  const mark = writer.mark();
  writer.bytesField(CELL_VALUE, cell.value);
  writer.varintField(CELL_TYPE, cell.type);
  writer.varintField(CELL_TIMESTAMP, cell.timestamp);
  writer.bytesField(CELL_QUALIFIER, cell.qualifier);
  writer.bytesField(CELL_FAMILY, utf8Name(cell.family));
  writer.bytesField(CELL_ROW, cell.row);
  writer.endMessage(RESULT_CELL, mark);
}

/** The approximate size of a result in a response. */
export function sizeOfResult({ cells }: Result): number {
  let size = 16;
  for (let i = 0; i < cells.length; i++) {
    const { row, qualifier, value } = cells[i]!;
    size += 40 + row.length + qualifier.length + value.length;
  }
  return size;
}

const CALL_ID = tagOf(1, WireType.Varint);
const CELL_BLOCK_META = tagOf(3, WireType.Bytes);
const CELL_BLOCK_LENGTH = tagOf(1, WireType.Varint);

/**
 * Frames are written synchronously, so one writer serves all; after a large frame it keeps at most this much memory.
 */
const SCRATCH = 65536;
let scratch = new ProtoWriter(SCRATCH);

/** Writes with the shared writer, or with a new one if that is in use. @throws errors of `write`. */
function framed(write: (writer: ProtoWriter) => void): Buffer {
  const writer = scratch;
  writer.reset();
  try {
    write(writer);
    writer.int32BE(writer.length);
    if (writer.buffer.length > SCRATCH) {
      scratch = new ProtoWriter(SCRATCH);
      return writer.view();
    }
    return Buffer.from(writer.view());
  } catch (error) {
    scratch = new ProtoWriter(SCRATCH);
    throw error;
  }
}

/** The frame of a response. */
export function answerFrame(
  id: number,
  answer: Answer,
  compression: CellBlockCompression | undefined,
): Buffer {
  return framed((writer) => {
    answer.writeCells?.(writer);
    if (compression !== undefined && writer.length > 0) packCells(compression, writer, 0);
    const cells = writer.length;
    answer.writeMessage(writer);
    writer.varint(writer.length - cells);
    const header = writer.mark();
    if (cells > 0) {
      const meta = writer.mark();
      writer.varintField(CELL_BLOCK_LENGTH, cells);
      writer.endMessage(CELL_BLOCK_META, meta);
    }
    writer.varintField(CALL_ID, id);
    writer.varint(writer.mark() - header);
  });
}

/** The frame of an exception. Without a call id it concerns the connection, which then ends. */
export function exceptionFrame(exception: ServerException, id: number = CONNECTION_CALL_ID): Buffer {
  return framed((writer) => {
    ResponseHeader.write(writer, {
      callId: id,
      exception: {
        exceptionClassName: exception.javaClass,
        stackTrace: exception.trace,
        doNotRetry: exception.doNotRetry,
        ...(exception.isOverload ? { serverOverloaded: true } : {}),
      },
    });
    writer.varint(writer.length);
  });
}
