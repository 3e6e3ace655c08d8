/** Decodes requests: `varint, RequestHeader | varint, message | cell block`, in a frame. */

import { type CellBlockCompression, unpackCells } from '../../hbase/rpc/connection-settings.js';
import { ProtocolError } from '../../hbase/rpc/errors.js';
import { CellReader } from '../../hbase/wire/cell-codec.js';
import { ProtoReader } from '../../hbase/wire/proto-reader.js';
import { nameFromUtf8 } from '../../hbase/wire/proto-writer.js';
import type { Answer } from './answer.js';
import type { Peer } from './peer.js';

/** A decoded request. Valid only synchronously: handlers must read messages and cells before they await. */
export interface Request {
  readonly peer: Peer;
  /** Narrowed to the request's message. */
  readonly reader: ProtoReader;
  readonly cells: CellReader;
  /** When the client gives up, by `performance.now()`; infinite if it does not say. */
  readonly deadline: number;
}

/** Executes a request. Its errors are sent to the client as exceptions. */
export type Handler = (request: Request) => Answer | Promise<Answer>;

/** The methods of a service, by lower-case name, since clients differ in the case of the first letter. */
export type Service = Readonly<Record<string, Handler>>;

/** A service as one connection uses it. */
export interface ServiceSession {
  readonly methods: Service;
  /** Called when the connection has ended. */
  ended?(): void;
}

/** The header of a request. */
export interface RequestHead {
  readonly id: number;
  readonly method: string;
  readonly timeout: number;
  readonly cellLength: number;
  /** Whether a message follows the header. */
  readonly hasParam: boolean;
}

const HEADER = { id: 8, method: 26, hasParam: 32, cellMeta: 42, timeout: 56 };

/** Parses the header at the start of a frame, and leaves the reader after it. @throws ProtocolError. */
function readRequestHead(reader: ProtoReader): RequestHead {
  const outer = reader.enter();
  let id = -1;
  let method = '';
  let timeout = 0;
  let cellLength = 0;
  let hasParam = false;
  while (!reader.done) {
    const tag = reader.varint();
    switch (tag) {
      case HEADER.id:
        id = reader.uint32();
        break;
      case HEADER.method:
        method = nameFromUtf8(reader.bytes().subarray(0, 256));
        break;
      case HEADER.hasParam:
        hasParam = reader.bool();
        break;
      case HEADER.cellMeta: {
        const meta = reader.enter();
        while (!reader.done) {
          const inner = reader.varint();
          if (inner === 8) cellLength = reader.uint32();
          else reader.skip(inner);
        }
        reader.leave(meta);
        break;
      }
      case HEADER.timeout:
        timeout = reader.uint32();
        break;
      default:
        reader.skip(tag);
    }
  }
  reader.leave(outer);
  if (id < 0) throw new ProtocolError('A request has no number.');
  return { id, method, timeout, cellLength, hasParam };
}

/** Limits of one request. */
export interface RequestLimits {
  /** Bytes, uncompressed. */
  readonly maxRequestSize: number;
  /** Cells, and objects of other kinds. */
  readonly maxRequestCells: number;
}

/** Reads requests. One instance is enough, since each request is read synchronously. */
export class RequestReader {
  readonly reader = new ProtoReader(new Uint8Array(0));
  readonly cells = new CellReader(true);

  constructor(private readonly limits: RequestLimits) {}

  /** Opens a frame and parses its header. @throws ProtocolError. */
  open(frame: Buffer, start: number, end: number): RequestHead {
    this.reader.reset(frame, start, end, this.limits.maxRequestCells);
    return readRequestHead(this.reader);
  }

  /** Opens the message after the header, and its cells. @throws ProtocolError, AnswerTooLargeError. */
  body(head: RequestHead, compression: CellBlockCompression | undefined): void {
    const { reader, cells, limits } = this;
    const frameEnd = reader.end;
    let end = reader.position;
    if (head.hasParam) {
      end = reader.lengthEnd();
      reader.end = end;
    } else {
      reader.end = reader.position;
    }
    if (head.cellLength > frameEnd - end)
      throw new ProtocolError(
        `A request announces ${head.cellLength} bytes of cells and has ${frameEnd - end}.`,
      );
    const frame = reader.buffer;
    const cellsEnd = end + head.cellLength;
    if (compression === undefined || head.cellLength === 0) {
      cells.reset(frame, end, cellsEnd, limits.maxRequestCells);
      return;
    }
    const packed = Buffer.from(frame.buffer, frame.byteOffset + end, head.cellLength);
    const unpacked = unpackCells(compression, packed, limits.maxRequestSize);
    cells.reset(unpacked, 0, unpacked.length, limits.maxRequestCells);
  }

  /** Drops the reference to the frame. */
  release(): void {
    this.reader.reset(new Uint8Array(0), 0, 0, 0);
    this.cells.release();
  }
}
