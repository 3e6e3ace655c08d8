import type { Socket } from 'node:net';
import { AuthCode } from '../../hbase/rpc/connection-settings.js';
import { FrameAssembler, type FrameHandler } from '../../hbase/rpc/frames.js';
import { exceptionOf, JavaClass, ServerException } from '../errors.js';
import { DigestLogin } from '../security/digest-login.js';
import type { KnownUser, Users } from '../security/users.js';
import { type Answer, answerFrame, exceptionFrame } from './answer.js';
import type { Load } from './load.js';
import { type Peer, readPeer } from './peer.js';
import { type Request, type RequestHead, RequestReader, type ServiceSession } from './request.js';

/** The server, as a connection sees it. */
export interface ConnectionHost {
  readonly load: Load;
  /** Undefined while requests are accepted; when the server stops, the error for further requests. */
  readonly stopped: ServerException | undefined;
  /** The service for one connection; undefined if there is no such service. */
  service(name: string, user: KnownUser | undefined): ServiceSession | undefined;
  /** The allowed users; undefined if anyone may connect. */
  readonly users: Users | undefined;
  /** The response frame to a preamble that only asks for the cluster id. */
  registryFrame(): Buffer;
  /** Called when a connection has ended. */
  closed(connection: Connection): void;
}

/** The length of the preamble of every connection. */
const PREAMBLE_LENGTH = 6;
const MAGIC = 'HBas';
const VERSION = 0;
/** The preamble of HBase 2.6 that only asks for the cluster id. */
const REGISTRY_PREAMBLE = 'Regist';
/** The largest connection header; usual ones have a few hundred bytes. */
const MAX_HEADER_SIZE = 65536;
/** How long, in ms, a connection processes calls before others get a turn. */
const TURN = 10;

interface Frame {
  readonly buffer: Buffer;
  readonly start: number;
  readonly end: number;
}

/**
 * One client connection:
 *
 *     "HBas" 00 auth | int32, ConnectionHeader | { int32, request }*
 *
 * Requests start in order and are answered in the order in which they finish. Buffers are bounded: the connection reads
 * only while there is room for calls and for responses that the client has not read.
 */
export class Connection implements FrameHandler {
  private readonly frames: FrameAssembler;
  private readonly requests: RequestReader;
  private preamble: Buffer = Buffer.alloc(0);
  private stage: 'preamble' | 'login' | 'header' | 'calls' | 'over' = 'preamble';
  private login: DigestLogin | undefined;
  private user: KnownUser | undefined;
  private peer: Peer | undefined;
  private service: ServiceSession | undefined;
  /** Complete requests that have not started. */
  private readonly waiting: Frame[] = [];
  private waitingBytes = 0;
  /** The number of calls in progress. */
  private calls = 0;
  /** This connection's share of the server's load. */
  private charged = 0;
  private turn: NodeJS.Immediate | undefined;
  /** Whether responses of this turn are being collected. */
  private collecting = false;
  private readonly hello: NodeJS.Timeout;
  private slow: NodeJS.Timeout | undefined;
  private readonly idleEnds: (() => void)[] = [];

  constructor(
    private readonly socket: Socket,
    private readonly host: ConnectionHost,
  ) {
    const { limits } = host.load;
    this.frames = new FrameAssembler(limits.maxRequestSize, this);
    this.requests = new RequestReader(limits);
    host.load.connections++;
    socket.setNoDelay(true);
    socket.setKeepAlive(true, 60_000);
    socket.setTimeout(limits.idleTimeout, () => this.idle());
    this.hello = setTimeout(() => this.destroy(), limits.helloTimeout);
    this.hello.unref();
    socket.on('data', (chunk: Buffer) => this.receive(chunk));
    socket.on('drain', () => this.drained());
    // Socket errors are handled when the socket closes.
    socket.on('error', () => undefined);
    socket.on('close', () => this.over());
  }

  /** Resolves when no call is in progress and all responses are sent, or when the connection has ended. */
  quiet(): Promise<void> {
    return new Promise((resolve) => {
      this.idleEnds.push(resolve);
      this.checkQuiet();
    });
  }

  destroy(): void {
    this.socket.destroy();
  }

  private receive(chunk: Buffer): void {
    try {
      let rest = this.stage === 'preamble' ? this.readPreamble(chunk) : chunk;
      if (this.stage === 'login' && rest.length > 0) rest = this.logIn(rest);
      if (rest.length > 0 && this.stage !== 'over') this.frames.push(rest);
      this.pump();
      this.charge();
    } catch (error) {
      this.fail(exceptionOf(error));
    }
  }

  /** Reads the preamble; returns the bytes after it. */
  private readPreamble(chunk: Buffer): Buffer {
    const bytes = this.preamble.length === 0 ? chunk : Buffer.concat([this.preamble, chunk]);
    if (bytes.length < PREAMBLE_LENGTH) {
      this.preamble = bytes;
      return Buffer.alloc(0);
    }
    if (bytes.toString('latin1', 0, PREAMBLE_LENGTH) === REGISTRY_PREAMBLE) {
      this.end(this.host.registryFrame());
      return Buffer.alloc(0);
    }
    if (bytes.toString('latin1', 0, MAGIC.length) !== MAGIC) {
      // The client does not speak HBase's protocol, so there is no response.
      this.stage = 'over';
      this.destroy();
      return Buffer.alloc(0);
    }
    if (bytes[4] !== VERSION)
      throw new ServerException(
        JavaClass.WrongVersion,
        `The protocol's version is ${VERSION}, not ${bytes[4]}.`,
      );
    const { users } = this.host;
    if (bytes[5] !== (users === undefined ? AuthCode.Simple : AuthCode.Digest)) {
      this.stage = 'header';
      throw new ServerException(
        JavaClass.BadAuth,
        users === undefined
          ? 'This server supports only simple authentication. Set hbase.security.authentication to simple.'
          : 'This server requires a user secret: connect with secretAuthenticator, or a token of it (docs/server.md).',
      );
    }
    if (users === undefined) {
      this.stage = 'header';
    } else {
      this.stage = 'login';
      this.login = new DigestLogin(users);
    }
    return bytes.subarray(PREAMBLE_LENGTH);
  }

  /** Continues a login; returns the bytes after it. */
  private logIn(chunk: Buffer): Buffer {
    const { answer, ended, rest } = this.login!.push(chunk);
    if (ended === undefined) {
      if (answer !== undefined) this.socket.write(answer);
      return rest;
    }
    this.login = undefined;
    this.user = ended.user;
    if (ended.user === undefined) {
      this.end(answer!);
      return rest;
    }
    this.socket.write(answer!);
    this.stage = 'header';
    return rest;
  }

  frame(buffer: Buffer, start: number, end: number): void {
    if (this.stage === 'header') {
      if (end - start > MAX_HEADER_SIZE)
        throw new ServerException(JavaClass.FatalConnection, 'The header of the connection is too long.');
      this.greet(buffer.subarray(start, end));
    } else if (this.stage === 'calls') {
      this.waiting.push({ buffer, start, end });
      this.waitingBytes += end - start;
    }
  }

  oversized(_buffer: Buffer, _start: number, _end: number, length: number): void {
    const { maxRequestSize } = this.host.load.limits;
    throw new ServerException(
      JavaClass.RequestTooBig,
      `RPC data length of ${length} received is greater than max allowed ${maxRequestSize}. Send less at once, or set maxRequestSize.`,
    );
  }

  private greet(header: Uint8Array): void {
    this.peer = readPeer(header, this.user?.name);
    this.service = this.host.service(this.peer.service, this.user);
    if (this.service === undefined) {
      const name = this.peer.service.slice(0, 100);
      throw new ServerException(JavaClass.UnknownService, `There is no service "${name}".`);
    }
    clearTimeout(this.hello);
    this.stage = 'calls';
  }

  /** Starts calls while there is room, until the time slice ends. */
  private pump(): void {
    if (this.turn !== undefined) return;
    const { socket } = this;
    if (this.waiting.length > 0) this.beginWaiting();
    if (this.waiting.length === 0) {
      if (socket.isPaused() && this.stage !== 'over') socket.resume();
    } else {
      socket.pause();
      if (this.hasRoom) this.takeTurn();
    }
    this.checkQuiet();
  }

  private beginWaiting(): void {
    const end = performance.now() + TURN;
    let taken = 0;
    while (taken < this.waiting.length && this.hasRoom) {
      const frame = this.waiting[taken++]!;
      this.waitingBytes -= frame.end - frame.start;
      this.begin(frame);
      if (performance.now() >= end) break;
    }
    this.waiting.splice(0, taken);
  }

  private takeTurn(): void {
    this.turn = setImmediate(() => {
      this.turn = undefined;
      this.pump();
      this.charge();
    });
  }

  private get hasRoom(): boolean {
    const { maxCallsPerConnection, maxUnreadBytes } = this.host.load.limits;
    return (
      this.stage === 'calls' &&
      this.calls < maxCallsPerConnection &&
      this.socket.writableLength < maxUnreadBytes
    );
  }

  /** Starts one call. An error of the call is its response; an invalid request ends the connection. */
  private begin({ buffer, start, end }: Frame): void {
    let head: RequestHead;
    try {
      head = this.requests.open(buffer, start, end);
    } catch (error) {
      this.fail(exceptionOf(error));
      return;
    }
    try {
      if (this.host.stopped !== undefined) throw this.host.stopped;
      this.host.load.admit();
    } catch (error) {
      this.send(exceptionFrame(exceptionOf(error), head.id));
      return;
    }
    this.calls++;
    let answer: Answer | Promise<Answer>;
    try {
      answer = this.call(head);
    } catch (error) {
      this.ended(head.id, undefined, error);
      return;
    } finally {
      this.requests.release();
    }
    if (!(answer instanceof Promise)) {
      this.ended(head.id, answer, undefined);
      return;
    }
    const size = end - start;
    this.host.load.bytes += size;
    const done = (answered: Answer | undefined, error: unknown): void => {
      this.host.load.bytes -= size;
      this.ended(head.id, answered, error);
      if (this.waiting.length > 0) this.pump();
      this.charge();
    };
    answer.then(
      (answered) => done(answered, undefined),
      (error: unknown) => done(undefined, error),
    );
  }

  private call(head: RequestHead): Answer | Promise<Answer> {
    const { peer, requests } = this;
    const handler = this.service!.methods[head.method.toLowerCase()];
    if (handler === undefined) {
      throw new ServerException(
        JavaClass.UnsupportedOperation,
        `${peer!.service}.${head.method} is not supported by rowan serve. See docs/server.md for what is.`,
      );
    }
    requests.body(head, peer!.compression);
    const deadline = head.timeout > 0 ? performance.now() + head.timeout : Number.POSITIVE_INFINITY;
    const request: Request = { peer: peer!, reader: requests.reader, cells: requests.cells, deadline };
    return handler(request);
  }

  private ended(id: number, answer: Answer | undefined, error: unknown): void {
    this.calls--;
    this.host.load.ended();
    let frame: Buffer;
    try {
      if (answer === undefined) throw error;
      frame = answerFrame(id, answer, this.peer!.compression);
    } catch (failure) {
      frame = exceptionFrame(exceptionOf(failure), id);
    }
    this.send(frame);
    this.checkQuiet();
  }

  private send(frame: Buffer): void {
    if (this.stage === 'over' || this.socket.destroyed) return;
    this.collect();
    this.socket.write(frame);
    if (this.slow !== undefined || this.socket.writableLength < this.host.load.limits.maxUnreadBytes) return;
    // Whenever the client has read something, the timeout starts anew.
    this.watch(this.socket.bytesWritten - this.socket.writableLength);
  }

  /** Collects the responses of this turn, so that one system call sends them: one sync ends many writes. */
  private collect(): void {
    if (this.collecting) return;
    this.collecting = true;
    this.socket.cork();
    process.nextTick(() => {
      this.collecting = false;
      this.socket.uncork();
      this.charge();
      this.checkQuiet();
    });
  }

  /** Ends the connection unless the client has read since. */
  private watch(read: number): void {
    const { slowReaderTimeout, maxUnreadBytes } = this.host.load.limits;
    this.slow = setTimeout(() => {
      this.slow = undefined;
      const now = this.socket.bytesWritten - this.socket.writableLength;
      if (this.socket.writableLength < maxUnreadBytes) return;
      if (now === read) this.destroy();
      else this.watch(now);
    }, slowReaderTimeout);
    this.slow.unref();
  }

  private drained(): void {
    clearTimeout(this.slow);
    this.slow = undefined;
    this.pump();
    this.charge();
    this.checkQuiet();
  }

  /** Updates this connection's share of the load. */
  private charge(): void {
    const { load } = this.host;
    const held =
      this.stage === 'over' ? 0 : this.waitingBytes + this.frames.collected + this.socket.writableLength;
    load.bytes += held - this.charged;
    this.charged = held;
    if (this.frames.collected > 0 && load.bytes > load.limits.maxQueuedBytes) {
      // An incomplete request would hold its bytes forever.
      this.fail(
        new ServerException(JavaClass.CallQueueTooBig, 'The server holds too many bytes of requests.', false),
      );
    }
  }

  private checkQuiet(): void {
    if (this.idleEnds.length === 0) return;
    const isQuiet = this.calls === 0 && this.waiting.length === 0 && this.socket.writableLength === 0;
    if (!isQuiet && this.stage !== 'over') return;
    for (const resolve of this.idleEnds.splice(0)) resolve();
  }

  private idle(): void {
    if (this.calls === 0 && this.waiting.length === 0) this.destroy();
  }

  /** Reports an error of the connection and ends it. */
  private fail(exception: ServerException): void {
    if (this.stage === 'over') return;
    if (this.stage === 'preamble') this.destroy();
    else this.end(exceptionFrame(exception));
  }

  private end(last: Buffer): void {
    this.stage = 'over';
    this.waiting.length = 0;
    this.waitingBytes = 0;
    this.frames.clear();
    this.socket.end(last);
    // Gives the client a moment to read the error; data received meanwhile is dropped.
    this.socket.resume();
    const { helloTimeout } = this.host.load.limits;
    setTimeout(() => this.destroy(), Math.min(1000, helloTimeout)).unref();
  }

  private over(): void {
    this.stage = 'over';
    clearTimeout(this.hello);
    clearTimeout(this.slow);
    clearImmediate(this.turn);
    this.waiting.length = 0;
    this.waitingBytes = 0;
    this.frames.clear();
    this.charge();
    this.host.load.connections--;
    this.service?.ended?.();
    this.checkQuiet();
    this.host.closed(this);
  }
}
