/**
 * A server that speaks HBase's protocol as far as the tests need: it says hello, reads requests, and answers what a
 * test tells it to, down to single bytes. It knows the registry and a meta with one region a table.
 */

import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions, Server as TlsServer } from 'node:tls';
import { EMPTY_BYTES } from '../../src/bytes/index.js';
import { MultiRowRangeFilter } from '../../src/hbase/wire/messages-filter.js';
import {
  GetClusterIdResponse,
  GetMetaRegionLocationsResponse,
  RegionInfoMessage,
  RequestHeader,
  ResponseHeader,
} from '../../src/hbase/wire/messages-rpc.js';
import { ProtoReader } from '../../src/hbase/wire/proto-reader.js';
import { ProtoWriter } from '../../src/hbase/wire/proto-writer.js';
import { decodeMessage, encodeMessage, type MessageCodec, type TypeOf } from '../../src/hbase/wire/schema.js';
import { cellBlock, type WireCell } from './fake-cells.js';
import { GetRequest, MultiRequest, MultiResponse, MutateRequest, ScanRequest } from './fake-messages.js';

/** A request as it came. */
export interface Request {
  readonly id: number;
  readonly method: string;
  readonly param: Uint8Array;
  readonly cells: Uint8Array;
  readonly timeout: number;
  /** Absent: the server's choice. */
  readonly priority: number | undefined;
  readonly attributes: Record<string, string>;
  readonly connection: PeerConnection;
}

/** What a test does with a request; true: it has seen to it, else the peer answers as it would by itself. */
type Handler = (request: Request) => boolean | undefined;

export interface PeerOptions {
  readonly tls?: TlsOptions;
  /** Takes a token of the client; answers what to send, or 'done' after its last one. */
  readonly sasl?: (token: Buffer, socket: Socket) => Uint8Array | 'done';
  /** The exchange is over after this many tokens, whatever is answered to the last. */
  readonly saslTokens?: number;
}

export class PeerConnection {
  constructor(readonly socket: Socket) {}

  raw(bytes: Uint8Array): void {
    this.socket.write(bytes);
  }

  /** Answers a call with a message and cells. */
  reply<T>(id: number, codec: MessageCodec<T>, value: T, cells: Uint8Array = EMPTY_BYTES): void {
    this.raw(answerFrame(id, encodeMessage(codec, value), cells));
  }

  fail(id: number, className: string, message = 'because', doNotRetry = false): void {
    this.raw(exceptionFrame(id, className, message, doNotRetry));
  }
}

export function delimited(message: Uint8Array): Uint8Array {
  const writer = new ProtoWriter(message.length + 16);
  writer.raw(message);
  writer.varint(message.length);
  return Uint8Array.from(writer.view());
}

export function frame(...parts: readonly Uint8Array[]): Uint8Array {
  const body = Buffer.concat(parts);
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length);
  return Buffer.concat([length, body]);
}

export function answerFrame(id: number, message: Uint8Array, cells: Uint8Array = EMPTY_BYTES): Uint8Array {
  const cellBlockMeta = cells.length > 0 ? { length: cells.length } : undefined;
  const header = encodeMessage(ResponseHeader, { callId: id, cellBlockMeta });
  return frame(delimited(header), delimited(message), cells);
}

export function exceptionFrame(
  id: number,
  className: string,
  message: string,
  doNotRetry = false,
): Uint8Array {
  const exception = {
    exceptionClassName: className,
    stackTrace: `${className}: ${message}\n\tat x`,
    doNotRetry,
  };
  return frame(delimited(encodeMessage(ResponseHeader, { callId: id, exception })));
}

export class FakePeer {
  readonly requests: Request[] = [];
  readonly hellos: Buffer[] = [];
  readonly sockets = new Set<Socket>();
  /** A write of the socket that came as one chunk counts as one. */
  chunks = 0;
  handler: Handler = () => undefined;
  /** Told of every connection, before anything has come over it. */
  onConnection: (socket: Socket) => void = () => undefined;
  /** The port of a server that has a second replica of every region. */
  replicaPort: number | undefined;
  /** Where meta has the tables that are elsewhere: "host:port" by name. */
  readonly places = new Map<string, string>();
  /** The start code that meta has of every server. */
  startCode = 1n;
  /** Tables that meta does not have, beside those whose name begins with "absent". */
  readonly absent = new Set<string>();
  /** Tables that meta has as disabled. */
  readonly disabled = new Set<string>();
  private sasl: PeerOptions['sasl'];
  private saslTokens: number | undefined;
  private regionId = 1700000000000;

  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {
    server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) =>
      this.serve(socket),
    );
    server.on('tlsClientError', () => undefined);
  }

  /** With `tls` over TLS. With `sasl` it takes part in the exchange before the connection header. */
  static async start(handler?: Handler, options: PeerOptions = {}): Promise<FakePeer> {
    const server = options.tls === undefined ? createServer() : createTlsServer(options.tls);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const peer = new FakePeer(server, (server.address() as { port: number }).port);
    if (handler) peer.handler = handler;
    peer.sasl = options.sasl;
    peer.saslTokens = options.saslTokens;
    return peer;
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** The requests of a method, in their order. */
  of(method: string): Request[] {
    return this.requests.filter((request) => request.method === method);
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  /** The region of every table gets another id, and so another name. */
  renewRegions(): void {
    this.regionId++;
  }

  private serve(socket: Socket): void {
    this.sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('close', () => this.sockets.delete(socket));
    socket.on('error', () => undefined);
    this.onConnection(socket);
    const connection = new PeerConnection(socket);
    let data = Buffer.alloc(0);
    let greeted = false;
    let authenticated = false;
    let tokens = 0;
    const nextToken = (): Buffer | undefined => {
      if (data.length < 10 || data.length < 10 + data.readInt32BE(6)) return undefined;
      const end = 10 + data.readInt32BE(6);
      const token = data.subarray(10, end);
      data = Buffer.concat([data.subarray(0, 6), data.subarray(end)]);
      return token;
    };
    socket.on('data', (chunk: Buffer) => {
      this.chunks++;
      data = Buffer.concat([data, chunk]);
      if (!greeted && data.length >= 6 && data[5] !== 0x50 && !authenticated) {
        while (!authenticated) {
          const token = nextToken();
          if (token === undefined) return;
          const answer = this.sasl?.(token, socket) ?? 'done';
          if (answer === 'done') authenticated = true;
          else socket.write(answer);
          if (++tokens === this.saslTokens) authenticated = true;
        }
        // What follows looks like an unauthenticated hello.
        data = Buffer.concat([Buffer.from('HBas\0P', 'latin1'), data.subarray(6)]);
      }
      if (!greeted) {
        if (data.length < 10 || data.length < 10 + data.readInt32BE(6)) return;
        const end = 10 + data.readInt32BE(6);
        this.hellos.push(data.subarray(0, end));
        data = data.subarray(end);
        greeted = true;
      }
      while (data.length >= 4 && data.length >= 4 + data.readInt32BE(0)) {
        const end = 4 + data.readInt32BE(0);
        this.receive(connection, data.subarray(4, end));
        data = data.subarray(end);
      }
    });
  }

  private receive(connection: PeerConnection, body: Buffer): void {
    const reader = new ProtoReader(body);
    const outer = reader.enter();
    const header = RequestHeader.read(reader);
    reader.leave(outer);
    const param = reader.bytes();
    const request: Request = {
      id: header.callId ?? 0,
      method: header.methodName ?? '',
      param,
      cells: body.subarray(reader.position),
      timeout: header.timeout ?? 0,
      priority: header.priority,
      attributes: Object.fromEntries(
        (header.attribute ?? []).map(({ name, value }) => [name, Buffer.from(value ?? []).toString()]),
      ),
      connection,
    };
    this.requests.push(request);
    if (this.handler(request) === true) return;
    this.answer(request);
  }

  /** Answers as a server would that is well. */
  answer({ id, method, param, connection }: Request): void {
    if (method === 'GetClusterId') connection.reply(id, GetClusterIdResponse, { clusterId: 'fake' });
    else if (method === 'GetMetaRegionLocations') {
      const tableName = { namespace: Buffer.from('hbase'), qualifier: Buffer.from('meta') };
      const serverName = { hostName: '127.0.0.1', port: this.port, startCode: 1 };
      const location = { regionInfo: { regionId: 1, tableName }, serverName, seqNum: -1 };
      connection.reply(id, GetMetaRegionLocationsResponse, { metaLocations: [location] });
    } else if (method === 'Scan') this.answerMetaScan(id, param, connection);
    else if (method === 'Get') this.answerGet(id, connection);
    else if (method === 'Multi') this.answerMulti(id, param, connection);
    else if (method === 'FlushRegion') connection.raw(answerFrame(id, EMPTY_BYTES));
    else if (method === 'Mutate') connection.raw(answerFrame(id, Uint8Array.of(0x10, 1)));
    else
      connection.fail(
        id,
        'org.apache.hadoop.hbase.DoNotRetryIOException',
        `fake peer has no ${method}`,
        true,
      );
  }

  /** Nothing for every action. */
  private answerMulti(id: number, param: Uint8Array, connection: PeerConnection): void {
    const { regionAction = [] } = MultiRequest.read(new ProtoReader(param));
    const regions = regionAction.map(({ action = [] }) => ({
      results: action.map(({ index }) => ({ index, result: {} })),
    }));
    connection.reply(id, MultiResponse, { regions });
  }

  private answerGet(id: number, connection: PeerConnection): void {
    connection.raw(answerFrame(id, EMPTY_BYTES));
  }

  /** One region for whatever table is asked about, at this peer; none for tables whose name begins with "absent". */
  private answerMetaScan(id: number, param: Uint8Array, connection: PeerConnection): void {
    const { scan } = ScanRequest.read(new ProtoReader(param));
    const start = Buffer.from(scan?.startRow ?? EMPTY_BYTES).toString('latin1');
    const table = start.split(',')[0]!.replace('\0', '');
    const end = Uint8Array.of(0x18, 0, 0x40, 0);
    if (!start.includes(',') && scan?.reversed !== true) {
      const { ranges = [] } = decodeMessage(
        MultiRowRangeFilter,
        scan?.filter?.serializedFilter ?? EMPTY_BYTES,
      );
      const asked = ranges.length === 0 ? [table] : ranges.map(({ startRow }) => `${Buffer.from(startRow!)}`);
      const there = asked.filter((one) => !one.startsWith('absent') && !this.absent.has(one));
      const cells = there.map((one): WireCell => {
        return [one, 'table', 'state', 5, 4, Uint8Array.of(8, this.disabled.has(one) ? 1 : 0)];
      });
      const counts = Uint8Array.from(there.flatMap(() => [0x08, 1]));
      connection.raw(answerFrame(id, Buffer.concat([counts, end]), cellBlock(cells)));
      return;
    }
    if (table.startsWith('absent')) {
      connection.raw(answerFrame(id, end));
      return;
    }
    const info = encodeMessage(RegionInfoMessage, {
      regionId: this.regionId,
      tableName: { namespace: Buffer.from('default'), qualifier: Buffer.from(table) },
      startKey: EMPTY_BYTES,
      endKey: EMPTY_BYTES,
    });
    const startCode = Buffer.alloc(8);
    startCode.writeBigInt64BE(this.startCode);
    const row = `${table},,${this.regionId}`;
    const cell = (qualifier: string, value: Uint8Array | string): WireCell => [
      row,
      'info',
      qualifier,
      5,
      4,
      value,
    ];
    const cells = cellBlock([
      cell('regioninfo', Buffer.concat([Buffer.from('PBUF'), info])),
      cell('seqnumDuringOpen', startCode),
      cell('server', this.places.get(table) ?? this.address),
      cell('serverstartcode', startCode),
      cell('state', this.disabled.has(table) ? 'CLOSED' : 'OPEN'),
      ...(this.replicaPort === undefined
        ? []
        : [cell('server_0001', `127.0.0.1:${this.replicaPort}`), cell('serverstartcode_0001', startCode)]),
    ]);
    const count = this.replicaPort === undefined ? 5 : 7;
    connection.raw(answerFrame(id, Buffer.concat([Uint8Array.of(0x08, count), end]), cells));
  }
}

export function readGet(request: Request): TypeOf<typeof GetRequest> {
  return GetRequest.read(new ProtoReader(request.param));
}

export function readMulti(request: Request): TypeOf<typeof MultiRequest> {
  return MultiRequest.read(new ProtoReader(request.param));
}

export function readMutate(request: Request): TypeOf<typeof MutateRequest> {
  return MutateRequest.read(new ProtoReader(request.param));
}

export function readScanRequest(request: Request): TypeOf<typeof ScanRequest> {
  return ScanRequest.read(new ProtoReader(request.param));
}
