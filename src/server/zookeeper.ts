import { randomBytes } from 'node:crypto';
import { createServer, type Server, type Socket } from 'node:net';
import { FrameAssembler } from '../hbase/rpc/frames.js';
import { GetClusterIdResponse, MasterNode, MetaRegionServerNode } from '../hbase/wire/messages-rpc.js';
import { encodeMessage } from '../hbase/wire/schema.js';
import { type Address, listening } from './options.js';
import type { ServerParts } from './services/parts.js';

const Operation = {
  Exists: 3,
  GetData: 4,
  GetChildren: 8,
  Sync: 9,
  Ping: 11,
  GetChildren2: 12,
  Auth: 100,
  SetWatches: 101,
  SetWatches2: 105,
  Close: -11,
} as const;

const ZkError = { Ok: 0, Unimplemented: -6, NoNode: -101, ReadOnly: -119 } as const;
/** Operations that write: create, delete, setData, setACL, multi and similar ones. */
const WRITES = new Set([1, 2, 5, 7, 14, 15, 19, 20, 21]);

const PARENT = '/hbase';
/** Requests contain a path and a few more bytes. */
const MAX_REQUEST = 65536;
const MAX_CONNECTIONS = 1000;
/** A client that is silent for longer than the longest session is disconnected. */
const IDLE = 120_000;
const MIN_TIMEOUT = 2000;
const LONGEST_TIMEOUT = 90_000;
/** The state of meta's region: open. */
const OPEN = 3;

/** The content of a node in HBase's format: ff, a length-prefixed id, PBUF, the message. */
function node(message: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(0xff), ints(5), Buffer.from('rowanPBUF'), message]);
}

function ints(...values: readonly number[]): Buffer {
  const out = Buffer.alloc(values.length * 4);
  for (let i = 0; i < values.length; i++) out.writeInt32BE(values[i]!, i * 4);
  return out;
}

/**
 * Answers the few requests that HBase's clients send to ZooKeeper: the locations of the master and of meta, and the
 * cluster's id. It is not a ZooKeeper: nothing can be written and nothing changes, so watches never fire. Frames are
 * `int32 length | bytes`:
 *
 *     request  int32 xid | int32 operation | body           reply  int32 xid | int64 zxid | int32 error | body
 *
 * The first frame of a connection opens a session, and has neither xid nor operation.
 */
export class ZooKeeperAnswers {
  private readonly sockets = new Set<Socket>();
  private readonly nodes: ReadonlyMap<string, Buffer>;

  private constructor(
    private readonly listener: Server,
    readonly address: Address,
    { server, clusterId }: ServerParts,
  ) {
    this.nodes = new Map([
      [PARENT, Buffer.alloc(0)],
      [
        `${PARENT}/hbaseid`,
        node(encodeMessage(GetClusterIdResponse, { clusterId, rowanTransactions: true })),
      ],
      [`${PARENT}/master`, node(encodeMessage(MasterNode, { master: server }))],
      [`${PARENT}/meta-region-server`, node(encodeMessage(MetaRegionServerNode, { server, state: OPEN }))],
      [`${PARENT}/table`, Buffer.alloc(0)],
    ]);
    listener.on('connection', (socket) => this.take(socket));
  }

  static async start(at: Address, parts: ServerParts): Promise<ZooKeeperAnswers> {
    const listener = createServer({ noDelay: true });
    listener.maxConnections = MAX_CONNECTIONS;
    return new ZooKeeperAnswers(listener, await listening(listener, at), parts);
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise<void>((resolve) => this.listener.close(() => resolve()));
  }

  private take(socket: Socket): void {
    this.sockets.add(socket);
    let hasSession = false;
    const frames = new FrameAssembler(MAX_REQUEST, {
      frame: (buffer, start, end) => {
        const request = buffer.subarray(start, end);
        const reply = hasSession ? this.reply(request) : session(request);
        hasSession = true;
        if (reply === undefined) socket.destroy();
        else socket.write(Buffer.concat([ints(reply.length), reply]));
        if (request.length >= 8 && request.readInt32BE(4) === Operation.Close) socket.end();
      },
      oversized: () => socket.destroy(),
    });
    socket.setTimeout(IDLE, () => socket.destroy());
    socket.on('error', () => undefined);
    socket.on('close', () => this.sockets.delete(socket));
    socket.on('data', (chunk: Buffer) => {
      try {
        frames.push(chunk);
        // A client that does not read is disconnected.
        if (socket.writableLength > MAX_REQUEST) socket.destroy();
      } catch {
        socket.destroy();
      }
    });
  }

  /** Undefined for an invalid request. */
  private reply(request: Buffer): Buffer | undefined {
    if (request.length < 8) return undefined;
    const [xid, operation] = [request.readInt32BE(0), request.readInt32BE(4)];
    switch (operation) {
      case Operation.Ping:
      case Operation.Close:
      case Operation.Auth:
      case Operation.SetWatches:
      case Operation.SetWatches2:
        return replied(xid, ZkError.Ok);
      default:
    }
    if (WRITES.has(operation)) return replied(xid, ZkError.ReadOnly);
    const path = pathOf(request);
    if (path === undefined) return undefined;
    if (operation === Operation.Sync)
      return replied(xid, ZkError.Ok, ints(Buffer.byteLength(path)), Buffer.from(path));
    return this.read(xid, operation, path);
  }

  private read(xid: number, operation: number, path: string): Buffer {
    const data = this.nodes.get(path);
    if (data === undefined) return replied(xid, ZkError.NoNode);
    const children = [...this.nodes.keys()].filter((name) => name.startsWith(`${path}/`));
    const stat = statOf(data, children.length);
    switch (operation) {
      case Operation.Exists:
        return replied(xid, ZkError.Ok, stat);
      case Operation.GetData:
        return replied(xid, ZkError.Ok, ints(data.length), data, stat);
      case Operation.GetChildren:
      case Operation.GetChildren2: {
        const names = children.map((name) => Buffer.from(name.slice(path.length + 1)));
        const list = names.flatMap((name) => [ints(name.length), name]);
        const rest = operation === Operation.GetChildren2 ? [stat] : [];
        return replied(xid, ZkError.Ok, ints(names.length), ...list, ...rest);
      }
      default:
        return replied(xid, ZkError.Unimplemented);
    }
  }
}

function replied(xid: number, error: number, ...body: readonly Uint8Array[]): Buffer {
  return Buffer.concat([ints(xid, 0, 1, error), ...body]);
}

/** Reads int32 length | path; undefined if it does not fit. */
function pathOf(request: Buffer): string | undefined {
  if (request.length < 12) return undefined;
  const length = request.readInt32BE(8);
  return length < 0 || length > request.length - 12 ? undefined : request.toString('utf8', 12, 12 + length);
}

/**
 * Opens a session: int32 version | int64 last zxid | int32 timeout | int64 session | bytes password | bool read only.
 * Newer clients have the last, and are answered with it.
 */
function session(request: Buffer): Buffer | undefined {
  if (request.length < 28) return undefined;
  const asked = request.readInt32BE(12);
  const timeout = Math.min(LONGEST_TIMEOUT, Math.max(MIN_TIMEOUT, asked));
  const password = request.readInt32BE(24);
  const saysReadOnly = request.length > 28 + Math.max(0, password);
  const id = randomBytes(8);
  id[0] = id[0]! & 0x7f;
  const flag = saysReadOnly ? Buffer.of(0) : Buffer.alloc(0);
  return Buffer.concat([ints(0, timeout), id, ints(16), randomBytes(16), flag]);
}

/** A `Stat`: two int64 of changes, two of times | int32 versions, three | int64 owner | int32 length, children | int64 last change. */
function statOf(data: Buffer, children: number): Buffer {
  return ints(0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, data.length, children, 0, 1);
}
