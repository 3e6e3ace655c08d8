import { ExceptionResponse } from '../wire/messages-rpc.js';
import type { ProtoReader } from '../wire/proto-reader.js';
import { ProtocolError } from './errors.js';

/** `ResponseHeader.call_id` of an answer that is about the connection: -1 as an unsigned number. */
export const CONNECTION_CALL_ID = 0xffffffff;

/** Whose answer a frame is, what failed, and the length of its cell block. */
export interface ResponseHeaderFields {
  readonly id: number;
  readonly exception: ExceptionResponse | undefined;
  readonly cellLength: number;
}

/** Reads the header that a frame begins with. By hand: every answer has one. */
export function readResponseHeader(reader: ProtoReader): ResponseHeaderFields {
  const outer = reader.enter();
  let id = CONNECTION_CALL_ID;
  let exception: ExceptionResponse | undefined;
  let cellLength = 0;
  while (!reader.done) {
    const tag = reader.varint();
    if (tag === 8) {
      id = reader.uint32();
    } else if (tag === 18) {
      const header = reader.enter();
      exception = ExceptionResponse.read(reader);
      reader.leave(header);
    } else if (tag === 26) {
      const header = reader.enter();
      while (!reader.done) {
        const inner = reader.varint();
        if (inner === 8) cellLength = reader.varint();
        else reader.skip(inner);
      }
      reader.leave(header);
    } else {
      reader.skip(tag);
    }
  }
  reader.leave(outer);
  return { id, exception, cellLength };
}

/**
 * The call's id of an answer of `length` bytes whose beginning `reader` stands at. It stands first in the header, the rest of which may
 * lie beyond what was kept.
 * @throws ProtocolError when it does not.
 */
export function readIdOfBegun(reader: ProtoReader, length: number): number {
  reader.varint();
  if (reader.varint() !== 8) throw new ProtocolError(`The server announced an answer of ${length} bytes.`);
  return reader.uint32();
}
