/** A client that says what it is told to, byte for byte, and reads what is answered. */

import { connect, type Socket } from 'node:net';
import { regionNameOf } from '../../src/hbase/region/region.js';
import { AuthCode } from '../../src/hbase/rpc/connection-settings.js';
import { FrameAssembler } from '../../src/hbase/rpc/frames.js';
import { connectionHeader, preamble } from '../../src/hbase/rpc/handshake.js';
import { RequestHeader, ResponseHeader } from '../../src/hbase/wire/messages-rpc.js';
import { ProtoReader } from '../../src/hbase/wire/proto-reader.js';
import {
  decodeMessage,
  Empty,
  encodeMessage,
  type MessageCodec,
  type TypeOf,
} from '../../src/hbase/wire/schema.js';
import { GetOnlineRegionResponse } from '../../src/server/services/messages.js';
import { delimited, frame } from '../hbase-client/fake-peer.js';

type Service = Parameters<typeof connectionHeader>[1];

interface RawAnswer {
  readonly id: number;
  readonly exception: TypeOf<typeof ResponseHeader>['exception'];
  /** The message, and the cells behind it. */
  readonly message: Uint8Array;
  readonly cells: Uint8Array;
}

/** The frame of a request. */
function requestFrame(
  id: number,
  method: string,
  message: Uint8Array,
  cells: Uint8Array = new Uint8Array(0),
  timeout = 60_000,
): Uint8Array {
  const header = encodeMessage(RequestHeader, {
    callId: id,
    methodName: method,
    requestParam: true,
    timeout,
    cellBlockMeta: cells.length > 0 ? { length: cells.length } : undefined,
  });
  return frame(delimited(header), delimited(message), cells);
}

export class RawClient {
  readonly answers: RawAnswer[] = [];
  readonly closed: Promise<void>;
  /** Milliseconds that a call says it waits for its answer. */
  callTimeout = 60_000;
  private lastId = 0;
  private readonly waiting = new Map<number, (answer: RawAnswer) => void>();

  private constructor(readonly socket: Socket) {
    const frames = new FrameAssembler(1 << 28, {
      frame: (buffer, start, end) => this.take(buffer.subarray(start, end)),
      oversized: () => socket.destroy(),
    });
    socket.on('data', (chunk: Buffer) => frames.push(chunk));
    socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => socket.on('close', () => resolve()));
  }

  /** Connects, and says nothing. */
  static async open(endpoint: string): Promise<RawClient> {
    const [host, port] = endpoint.split(':');
    const socket = connect(Number(port), host);
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    return new RawClient(socket);
  }

  /** Connects, and greets. `header`: the connection header with its length. */
  static async greet(
    endpoint: string,
    service: Service = 'ClientService',
    header: Uint8Array = connectionHeader('raw', service),
  ): Promise<RawClient> {
    const client = await RawClient.open(endpoint);
    client.socket.write(Buffer.concat([preamble(AuthCode.Simple), header]));
    return client;
  }

  send(bytes: Uint8Array): void {
    this.socket.write(bytes);
  }

  /** Makes a call; the answer, whatever it is. */
  call<Q>(method: string, codec: MessageCodec<Q>, request: Q, cells?: Uint8Array): Promise<RawAnswer> {
    return this.callRaw(method, encodeMessage(codec, request), cells);
  }

  callRaw(method: string, message: Uint8Array, cells?: Uint8Array): Promise<RawAnswer> {
    const id = ++this.lastId;
    const answered = new Promise<RawAnswer>((resolve) => this.waiting.set(id, resolve));
    this.send(requestFrame(id, method, message, cells, this.callTimeout));
    return answered;
  }

  end(): void {
    this.socket.destroy();
  }

  private take(bytes: Buffer): void {
    const reader = new ProtoReader(bytes);
    const outer = reader.enter();
    const header = ResponseHeader.read(reader);
    reader.leave(outer);
    let message: Uint8Array = new Uint8Array(0);
    if (header.exception === undefined) message = reader.bytes();
    const answer = {
      id: header.callId ?? -1,
      exception: header.exception,
      message,
      cells: bytes.subarray(reader.position),
    };
    this.answers.push(answer);
    this.waiting.get(answer.id)?.(answer);
    this.waiting.delete(answer.id);
  }
}

/** The only region of a table, as requests name it. */
export async function regionOf(
  endpoint: string,
  table: string,
): Promise<{ readonly type: number; readonly value: Uint8Array }> {
  const admin = await RawClient.greet(endpoint, 'AdminService');
  const { message } = await admin.call('GetOnlineRegion', Empty, {});
  admin.end();
  const { regionInfo = [] } = decodeMessage(GetOnlineRegionResponse, message);
  const info = regionInfo.find(({ tableName }) => Buffer.from(tableName.qualifier).toString() === table)!;
  return { type: 1, value: regionNameOf(table, info.startKey ?? new Uint8Array(0), info.regionId) };
}
