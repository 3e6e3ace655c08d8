/** The little of ZooKeeper's protocol that reading a few znodes takes: connect, getData, close. */

import { connect, type Socket } from 'node:net';
import { addressKey, type ResolveAddress, type ServerAddress } from '../rpc/address.js';
import { ConnectionError, ProtocolError } from '../rpc/errors.js';
import { firstAnswer, type NobodyAnswered } from '../rpc/first-answer.js';
import { FrameAssembler } from '../rpc/frame-assembler.js';

const OP_GET_DATA = 4;
const OP_CLOSE = -11;
const NO_NODE = -101;
const SESSION_TIMEOUT = 10_000;
const MAX_FRAME = 4 << 20;
/** Milliseconds without an answer after which another server is asked too. */
const LONGEST_STAGGER = 500;

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
  const stagger = Math.min(LONGEST_STAGGER, timeout / (quorum.length + 1));
  try {
    return await firstAnswer(quorum, { atOnce: 1, stagger, timeout }, async (server, signal, timeLeft) => {
      const name = addressKey(server);
      try {
        const target = resolve ? await resolve(server.host, server.port) : server;
        return await readFrom(target, paths, timeLeft, signal);
      } catch (cause) {
        throw new ConnectionError(`${name}: ${(cause as Error).message}`, { cause });
      }
    });
  } catch (failure) {
    const failures = (failure as NobodyAnswered).errors.map(({ message }) => message);
    const said = failures.join(' | ') || `no answer within ${Math.round(timeout)} ms`;
    throw new ConnectionError(`No ZooKeeper server answered: ${said}. Check the option zookeeper.quorum.`);
  }
}

function readFrom(
  server: ServerAddress,
  paths: readonly string[],
  timeout: number,
  signal: AbortSignal,
): Promise<(Uint8Array | undefined)[]> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: server.host, port: server.port });
    const found: (Uint8Array | undefined)[] = [];
    let connected = false;
    const finish = (error?: Error): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onOver);
      socket.removeAllListeners();
      socket.on('error', () => undefined); // a late error of a socket given up must not end the process
      socket.destroy();
      if (error) reject(error);
      else resolve(found);
    };
    const timer = setTimeout(() => finish(new Error(`no answer within ${Math.round(timeout)} ms`)), timeout);
    const onOver = (): void => finish(new Error('another server answered first'));
    signal.addEventListener('abort', onOver);
    const onFrame = (buffer: Buffer, start: number, end: number): void => {
      if (!connected) {
        connected = true;
        for (const [i, path] of paths.entries()) sendGetData(socket, i + 1, path);
        return;
      }
      if (found.length === paths.length) return;
      found.push(readReply(buffer.subarray(start, end), found.length + 1));
      if (found.length < paths.length) return;
      socket.write(frame(ints(paths.length + 1, OP_CLOSE)));
      finish();
    };
    const onOversized = (_: Buffer, _start: number, _end: number, length: number): void => {
      throw new ProtocolError(`ZooKeeper announced a reply of ${length} bytes.`);
    };
    const frames = new FrameAssembler(MAX_FRAME, { frame: onFrame, oversized: onOversized });
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
function readReply(reply: Buffer, xid: number): Uint8Array | undefined {
  if (reply.length < 16) throw new ProtocolError('ZooKeeper sent a reply that is too short.');
  if (reply.readInt32BE(0) !== xid) throw new ProtocolError('ZooKeeper answered another request.');
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
