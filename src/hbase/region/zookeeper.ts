/** The little of ZooKeeper's protocol that reading a few znodes takes: connect, getData, close. */

import { connect, type Socket } from 'node:net';
import { addressKey, type ResolveAddress, type ServerAddress } from '../rpc/address.js';
import { ConnectionError, ProtocolError } from '../rpc/errors.js';
import { FrameAssembler } from '../rpc/frame-assembler.js';

const OP_GET_DATA = 4;
const OP_CLOSE = -11;
const NO_NODE = -101;
const SESSION_TIMEOUT = 10_000;
const MAX_FRAME = 4 << 20;

/**
 * The content of each path, undefined where there is no such node, read over one short connection to the first server of
 * the quorum that answers.
 * @throws ConnectionError when none does.
 */
export async function readZNodes(
  quorum: readonly ServerAddress[],
  paths: readonly string[],
  timeout: number,
  resolve: ResolveAddress | undefined,
): Promise<(Uint8Array | undefined)[]> {
  const end = performance.now() + timeout;
  const failures: string[] = [];
  for (const server of quorum) {
    const left = end - performance.now();
    if (left <= 0) break;
    try {
      const target = resolve ? await resolve(server.host, server.port) : server;
      return await readFrom(target, paths, left);
    } catch (error) {
      failures.push(`${addressKey(server)}: ${(error as Error).message}`);
    }
  }
  throw new ConnectionError(
    `No ZooKeeper server answered: ${failures.join(' | ') || 'no time was left'}. Check the option zookeeper.quorum.`,
  );
}

function readFrom(
  server: ServerAddress,
  paths: readonly string[],
  timeout: number,
): Promise<(Uint8Array | undefined)[]> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: server.host, port: server.port });
    const found: (Uint8Array | undefined)[] = [];
    let connected = false;
    const finish = (error?: Error): void => {
      clearTimeout(timer);
      socket.removeAllListeners();
      socket.on('error', () => undefined); // a late error of a socket given up must not end the process
      socket.destroy();
      if (error) reject(error);
      else resolve(found);
    };
    const timer = setTimeout(() => finish(new Error(`no answer within ${Math.round(timeout)} ms`)), timeout);
    const frames = new FrameAssembler(MAX_FRAME, (buffer, start, end) => {
      if (!connected) {
        connected = true;
        for (const [i, path] of paths.entries()) sendGetData(socket, i + 1, path);
        return;
      }
      found.push(readReply(buffer.subarray(start, end)));
      if (found.length < paths.length) return;
      socket.write(frame(ints(paths.length + 1, OP_CLOSE)));
      finish();
    });
    socket.on('error', finish);
    socket.on('close', () => finish(new Error('the connection was closed')));
    socket.on('connect', () => socket.write(frame(connectRequest())));
    socket.on('data', (chunk) => {
      try {
        frames.push(chunk);
      } catch (error) {
        finish(error as Error);
      }
    });
  });
}

/** int32 protocol version, int64 last zxid, int32 timeout, int64 session, bytes password, bool read only. */
function connectRequest(): Buffer {
  const request = Buffer.alloc(45);
  request.writeInt32BE(SESSION_TIMEOUT, 12);
  request.writeInt32BE(16, 24);
  return request;
}

function sendGetData(socket: Socket, xid: number, path: string): void {
  const name = Buffer.from(path, 'utf8');
  socket.write(frame(Buffer.concat([ints(xid, OP_GET_DATA, name.length), name, Buffer.of(0)])));
}

/** int32 xid, int64 zxid, int32 error, then the data. */
function readReply(reply: Buffer): Uint8Array | undefined {
  if (reply.length < 16) throw new ProtocolError('ZooKeeper sent a reply that is too short.');
  const error = reply.readInt32BE(12);
  if (error === NO_NODE) return undefined;
  if (error !== 0) throw new Error(`ZooKeeper answered error ${error}`);
  const length = reply.length >= 20 ? reply.readInt32BE(16) : -1;
  if (length < 0 || length > reply.length - 20) throw new ProtocolError('ZooKeeper sent a broken reply.');
  return Uint8Array.from(reply.subarray(20, 20 + length));
}

function ints(...values: readonly number[]): Buffer {
  const out = Buffer.alloc(values.length * 4);
  for (const [i, value] of values.entries()) out.writeInt32BE(value, i * 4);
  return out;
}

function frame(body: Buffer): Buffer {
  return Buffer.concat([ints(body.length), body]);
}
