import type { Socket } from 'node:net';
import { RowanError } from '../../errors.js';
import { timerDelay } from '../../table/checks.js';
import {
  addressKey,
  type ResolveAddress,
  type ServerAddress,
  type TlsOptions,
} from '../rpc/connection-settings.js';
import { ConnectionError, ProtocolError } from '../rpc/errors.js';
import { firstAnswer, type NoAnswerError } from '../rpc/first-answer.js';
import { FrameAssembler } from '../rpc/frames.js';
import { openSocket } from '../rpc/transport.js';
import type { SaslSession } from '../security/sasl.js';
import type { ZooKeeperSasl } from '../security/zookeeper-sasl.js';

const OP_GET_DATA = 4;
const OP_SASL = 102;
const OP_CLOSE = -11;
/** The length that encodes an absent buffer. */
const NULL = -1;
const NO_NODE = -101;
const NO_AUTH = -102;
const AUTH_FAILED = -115;
const SESSION_CLOSED_REQUIRE_SASL = -124;
/** The most replies that may wait to be read. */
const MAX_REPLIES = 64;
const SESSION_TIMEOUT = 10_000;
const MAX_FRAME = 4 << 20;
/** Milliseconds without an answer after which another server is asked too. */
const LONGEST_STAGGER = 500;

/** Connection and authentication settings of ZooKeeper. */
interface ZooKeeperAccess {
  readonly resolveAddress: ResolveAddress | undefined;
  readonly tls: TlsOptions | undefined;
  readonly sasl: ZooKeeperSasl | undefined;
}

/**
 * Reads znodes over one short connection to the first server of the quorum that answers. Of ZooKeeper's protocol it speaks what
 * that needs: connect, sasl, getData, close.
 * @returns the content of each path; undefined where the node does not exist.
 * @throws ConnectionError when no server answers.
 */
export async function readZNodes(
  quorum: readonly ServerAddress[],
  paths: readonly string[],
  timeout: number,
  access: ZooKeeperAccess,
): Promise<(Uint8Array | undefined)[]> {
  const stagger = Math.min(LONGEST_STAGGER, timeout / (quorum.length + 1));
  try {
    return await firstAnswer(quorum, { atOnce: 1, stagger, timeout }, async (server, signal, timeLeft) => {
      try {
        return await readFrom(server, paths, timeLeft, signal, access);
      } catch (cause) {
        throw new ConnectionError(`${addressKey(server)}: ${(cause as Error).message}`, { cause });
      }
    });
  } catch (failure) {
    const failures = (failure as NoAnswerError).errors.map(({ message }) => message);
    const reasons = failures.join(' | ') || `no answer within ${Math.round(timeout)} ms`;
    throw new ConnectionError(
      `No ZooKeeper server answered: ${reasons.replace(/\.$/, '')}. Check the option zookeeper.`,
    );
  }
}

async function readFrom(
  server: ServerAddress,
  paths: readonly string[],
  timeout: number,
  signal: AbortSignal,
  access: ZooKeeperAccess,
): Promise<(Uint8Array | undefined)[]> {
  const end = performance.now() + timeout;
  const socket = await openSocket(server, { ...access, connectTimeout: timeout }, signal);
  const replies = new Replies(socket, Math.max(1, end - performance.now()), signal);
  try {
    socket.write(frame(connectRequest()));
    await replies.next();
    let xid = 0;
    if (access.sasl !== undefined)
      xid = await authenticate(socket, replies, await access.sasl.session(server));
    for (const [i, path] of paths.entries()) sendGetData(socket, xid + i + 1, path);
    const found: (Uint8Array | undefined)[] = [];
    for (const _ of paths) found.push(readReply(await replies.next(), ++xid));
    socket.write(frame(ints(xid + 1, OP_CLOSE)));
    return found;
  } finally {
    replies.end();
    socket.destroy();
  }
}

/** Runs the SASL exchange, one token a request. @returns the last xid. @throws RowanError `ERR_SECURITY` when it is refused. */
async function authenticate(socket: Socket, replies: Replies, session: SaslSession): Promise<number> {
  let token: Uint8Array | undefined = await session.start();
  for (let xid = 1; ; xid++) {
    const sent: Uint8Array = token ?? new Uint8Array(0);
    socket.write(frame(Buffer.concat([ints(xid, OP_SASL, sent.length), sent])));
    // The server's last token may still prove its identity.
    const isLast = session.isComplete;
    const challenge = readReply(await replies.next(), xid);
    if (isLast) return xid;
    token = await session.respond(challenge ?? new Uint8Array(0));
    if (session.isComplete && token === undefined) return xid;
  }
}

/** Incoming frames, awaited one after the other. */
class Replies {
  private readonly arrived: Buffer[] = [];
  private failure: Error | undefined;
  private wake: (() => void) | undefined;
  private readonly timer: NodeJS.Timeout;

  constructor(
    socket: Socket,
    timeout: number,
    private readonly signal: AbortSignal,
  ) {
    const frames = new FrameAssembler(MAX_FRAME, {
      frame: (buffer, start, end) => {
        if (this.arrived.length >= MAX_REPLIES)
          throw new ProtocolError('ZooKeeper answers what was not asked.');
        this.arrived.push(Buffer.from(buffer.subarray(start, end)));
        this.wake?.();
      },
      oversized: (_, _start, _end, length) => {
        throw new ProtocolError(`ZooKeeper announced a reply of ${length} bytes.`);
      },
    });
    this.timer = setTimeout(
      () => this.fail(new Error(`no answer within ${Math.round(timeout)} ms`)),
      timerDelay(timeout),
    );
    signal.addEventListener('abort', this.onOver);
    socket.on('error', (error) => this.fail(error));
    socket.on('close', () => this.fail(new Error('the connection was closed')));
    socket.on('data', (chunk) => {
      try {
        frames.push(chunk);
      } catch (error) {
        this.fail(error as Error);
        socket.destroy();
      }
    });
  }

  async next(): Promise<Buffer> {
    while (this.arrived.length === 0) {
      if (this.failure !== undefined) throw this.failure;
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
    return this.arrived.shift()!;
  }

  /** The listeners stay on the socket: a late error event without a listener would end the process. */
  end(): void {
    clearTimeout(this.timer);
    this.signal.removeEventListener('abort', this.onOver);
  }

  private readonly onOver = (): void => this.fail(new Error('another server answered first'));

  private fail(error: Error): void {
    this.failure ??= error;
    this.wake?.();
  }
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
  if (error === NO_AUTH || error === AUTH_FAILED || error === SESSION_CLOSED_REQUIRE_SASL) {
    throw new RowanError(
      'ERR_SECURITY',
      `ZooKeeper refused the read (error ${error}). Check the option zookeeper.sasl.`,
    );
  }
  if (error !== 0) throw new Error(`ZooKeeper answered error ${error}`);
  const length = reply.length >= 20 ? reply.readInt32BE(16) : Number.NaN;
  if (length === NULL) return new Uint8Array(0);
  if (!(length >= 0) || length > reply.length - 20) throw new ProtocolError('ZooKeeper sent a broken reply.');
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

/** The option `zookeeper`, with its defaults. */
export interface ZooKeeperSettings extends Partial<Pick<ZooKeeperAccess, 'tls' | 'sasl'>> {
  readonly quorum: readonly ServerAddress[];
  readonly parent: string;
}
