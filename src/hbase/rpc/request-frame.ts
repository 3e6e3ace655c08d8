import { InvalidArgumentError, RowanError } from '../../errors.js';
import { type ProtoWriter, utf8Name } from '../wire/proto-writer.js';
import type { Call } from './call.js';
import { type CellBlockCompression, packCells } from './cell-block-compression.js';
import { ProtocolError } from './errors.js';

const CALL_ID = 8;
const METHOD_NAME = 26;
const REQUEST_PARAM = 32;
const CELL_BLOCK_META = 42;
const CELL_BLOCK_LENGTH = 8;
const PRIORITY = 48;
const TIMEOUT = 56;

/**
 * Writes a request, from its end to its beginning:
 *
 *     int32 length of the rest | varint, RequestHeader | varint, request message | cell block
 */
export function writeFrame(
  writer: ProtoWriter,
  call: Call,
  id: number,
  compression: CellBlockCompression | undefined,
): void {
  const frame = writer.mark();
  call.writeCells(writer);
  if (compression !== undefined && writer.mark() > frame) packCells(compression, writer, frame);
  const cellBlock = writer.mark() - frame;

  const param = writer.mark();
  call.writeParam(writer);
  writer.varint(writer.mark() - param);

  const header = writer.mark();
  if (call.attributes !== undefined) writer.raw(call.attributes.fields);
  writer.varintField(TIMEOUT, Math.max(1, Math.ceil(call.timeout)));
  if (call.priority !== 0) writer.varintField(PRIORITY, call.priority);
  if (cellBlock > 0) {
    const meta = writer.mark();
    writer.varintField(CELL_BLOCK_LENGTH, cellBlock);
    writer.endMessage(CELL_BLOCK_META, meta);
  }
  writer.boolField(REQUEST_PARAM, true);
  writer.bytesField(METHOD_NAME, utf8Name(call.method));
  writer.varintField(CALL_ID, id);
  writer.varint(writer.mark() - header);
  writer.int32BE(writer.mark() - frame);
}

/** The error of a request that could not be written: no server has seen it, and it fails again. */
export function cannotBeSent(call: Call, cause: unknown): RowanError {
  if (cause instanceof RowanError && !(cause instanceof ProtocolError)) return cause;
  const why = (cause as Error)?.message ?? String(cause);
  return new InvalidArgumentError(`${call.describe()} cannot be sent: ${why}. Check its arguments.`, {
    cause,
  });
}
