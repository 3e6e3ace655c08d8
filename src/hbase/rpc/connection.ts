import type { Socket } from 'node:net';
import { EMPTY_BYTES } from '../../bytes/index.js';
import { ClosedError, type RowanError } from '../../errors.js';
import type { MethodStatistics, Observer } from '../observe/observer.js';
import type { Authenticator } from '../security/authenticator.js';
import type { FinalStatus } from '../security/sasl.js';
import { CellReader } from '../wire/cell-codec.js';
import type { ExceptionResponse } from '../wire/messages-rpc.js';
import { ProtoReader } from '../wire/proto-reader.js';
import { ProtoWriter } from '../wire/proto-writer.js';
import {
  AbandonedCalls,
  answerTooLarge,
  asRowanError,
  type Call,
  type ResponseFrame,
  timedOut,
} from './call.js';
import {
  addressKey,
  type ConnectionSettings,
  type ServerAddress,
  type ServiceName,
  unpackCells,
} from './connection-settings.js';
import { ConnectionError, ProtocolError, remoteError } from './errors.js';
import {
  CONNECTION_CALL_ID,
  cannotBeSent,
  FrameAssembler,
  readIdOfBegun,
  readResponseHeader,
  writeFrame,
} from './frames.js';
import { performHandshake } from './handshake.js';
import { openSocket, SecuredStream, SocketReader } from './transport.js';

const MAX_CALL_ID = 0x7fffffff;
/** The most calls in one write to the socket. */
const CALLS_A_WRITE = 64;
/** Milliseconds between checks of the calls' deadlines. */
const SWEEP_INTERVAL = 50;
/** The largest write buffer that is reused. */
const LARGEST_KEPT_BUFFER = 1 << 20;
const INITIAL_BUFFER = 16384;

/**
 * One connection to one service of one server.
 *
 * - Calls sent in the same turn of the event loop leave in one write, after the turn's microtasks.
 * - Every call ends exactly once: by its answer, its deadline, or the end of the connection.
 * - When the connection ends, the socket is closed first, then its calls fail.
 * - An answer to a call that was given up is ignored. An answer to a call that was never made ends the connection.
 */
export class Connection {
  readonly key: string;
  /** The socket, once it is open. */
  private opened: Socket | undefined;
  /** The same, once requests may be written to it. */
  private socket: Socket | undefined;
  private closedBy: RowanError | undefined;
  private readonly waiting: Call[] = [];
  /** When the last call was sent, on the clock of `performance.now()`. */
  lastUsed = performance.now();
  private readonly inFlight = new Map<number, Call>();
  private nextId = 0;
  private readonly abandoned = new AbandonedCalls();
  private lastReceived = 0;
  /** Send time of the oldest call that timed out without a byte received since; undefined: there is none. */
  private silentSince: number | undefined;
  private flushScheduled = false;
  private sweeper: NodeJS.Timeout | undefined;
  /** The security layer that signs or seals the bytes, if any. */
  private secured: SecuredStream | undefined;
  private finalStatus: FinalStatus | undefined;
  private readonly methods: Map<string, MethodStatistics>;
  /** Aborts the opening when the connection ends. */
  private readonly ended = new AbortController();
  private readonly writer = new ProtoWriter(INITIAL_BUFFER);
  private readonly spare: Buffer[] = [];
  private readonly frames: FrameAssembler;
  private readonly reader = new ProtoReader(new Uint8Array(0));
  private readonly cells = new CellReader();
  private readonly frame: ResponseFrame = { reader: this.reader, cells: this.cells };

  constructor(
    readonly address: ServerAddress,
    readonly service: ServiceName,
    private readonly settings: ConnectionSettings,
    private readonly authenticator: Authenticator,
    private readonly observer: Observer,
    /** Called once when the connection has ended, before its calls fail. */
    private readonly onEnd: (connection: Connection, error: RowanError) => void,
  ) {
    this.key = addressKey(address);
    this.methods = observer.server(this.key);
    this.frames = new FrameAssembler(settings.maxFrameSize, {
      frame: (buffer, start, end) => {
        try {
          this.receive(buffer, start, end);
        } finally {
          // Drop the reference, so that a large frame is freed before the next one arrives.
          this.reader.reset(EMPTY_BYTES, 0, 0, 0);
        }
      },
      oversized: (buffer, start, end, length) => this.refuse(buffer, start, end, length),
    });
    this.open().catch((error: unknown) => this.onUnreadable(error));
  }

  /** Whether any byte was ever received from the server. */
  get hasAnswered(): boolean {
    return this.lastReceived > 0;
  }

  /** Calls without an answer. */
  get isOpen(): boolean {
    return this.opened !== undefined;
  }

  get pending(): number {
    return this.inFlight.size + this.waiting.length;
  }

  /** Bytes that the operating system has not accepted yet. */
  get unsentBytes(): number {
    return (this.socket?.writableLength ?? 0) + (this.secured?.unsentBytes ?? 0);
  }

  /** Sends `call` together with the other calls of this turn. */
  send(call: Call): void {
    if (this.closedBy !== undefined) {
      const error = this.closedBy;
      queueMicrotask(() => call.onError(error));
      return;
    }
    call.startedAt = performance.now();
    this.lastUsed = call.startedAt;
    this.waiting.push(call);
    this.sweeper ??= setTimeout(() => this.sweep(), SWEEP_INTERVAL);
    if (this.socket !== undefined && !this.flushScheduled) {
      this.flushScheduled = true;
      process.nextTick(() => this.flush());
    }
  }

  /** Sends queued calls at once, without waiting for the end of the turn. */
  flush(): void {
    this.flushScheduled = false;
    const socket = this.socket;
    if (socket === undefined || this.closedBy !== undefined || this.waiting.length === 0) return;
    const calls = this.waiting.splice(0);
    for (let from = 0; from < calls.length; from += CALLS_A_WRITE) {
      const to = Math.min(from + CALLS_A_WRITE, calls.length);
      // From the last to the first, because the writer writes backwards.
      for (let i = to - 1; i >= from; i--) this.encode(calls[i]!);
      this.writeOut(socket);
    }
  }

  /** Closes the connection. Calls under way fail with `error`. */
  close(error: RowanError = new ClosedError('The connection to HBase was closed.')): void {
    this.end(error);
  }

  private async open(): Promise<void> {
    const began = performance.now();
    // The authentication listens to the socket itself.
    const reader =
      this.authenticator.negotiate === undefined ? new SocketReader(this.frames, this) : undefined;
    const socket = await openSocket(this.address, this.settings, this.ended.signal, reader);
    if (this.closedBy !== undefined) {
      socket.destroy();
      return;
    }
    this.opened = socket;
    socket.on('error', (cause) => this.connectionLost(cause.message, cause));
    socket.on('close', () => this.connectionLost('it was closed by the other side'));
    const { header, layer, finalStatus } = await performHandshake(
      socket,
      this,
      this.settings,
      this.authenticator,
      this.ended.signal,
    );
    if (this.closedBy !== undefined) return;
    this.finalStatus = finalStatus;
    this.socket = socket;
    if (layer !== undefined) {
      const take = (data: Buffer): void => this.frames.push(data);
      this.secured = new SecuredStream(socket, layer, take, (error) => this.onUnreadable(error));
      this.secured.write(header, () => undefined);
    } else if (header.length > 0) {
      socket.write(header);
    }
    const { key: server, service } = this;
    this.observer.emit({ kind: 'connected', server, service, milliseconds: performance.now() - began });
    socket.on('data', (chunk) => this.onData(chunk));
    // The authentication left the socket paused.
    socket.resume();
    this.flush();
  }

  private encode(call: Call): void {
    const mark = this.writer.mark();
    const id = this.nextId;
    try {
      writeFrame(this.writer, call, id, this.settings.cellBlockCompression);
    } catch (error) {
      this.writer.rewind(mark);
      call.onUnsendable(cannotBeSent(call, error));
      return;
    }
    call.id = id;
    call.sent = true;
    this.nextId = id === MAX_CALL_ID ? 0 : id + 1;
    this.inFlight.set(id, call);
  }

  private writeOut(socket: Socket): void {
    const buffer = this.writer.buffer;
    const data = this.writer.view();
    if (data.length === 0) return;
    this.writer.reset(this.spare.pop() ?? Buffer.allocUnsafeSlow(INITIAL_BUFFER));
    const onWritten = (): void => {
      if (buffer.length <= LARGEST_KEPT_BUFFER && this.spare.length < 4) this.spare.push(buffer);
    };
    if (this.secured === undefined) socket.write(data, onWritten);
    else this.secured.write(data, onWritten);
  }

  /** @internal */
  onArrival(): void {
    this.lastReceived = performance.now();
    this.silentSince = undefined;
  }

  /** @internal */
  onUnreadable(error: unknown): void {
    this.end(asRowanError(error));
  }

  private onData(chunk: Buffer): void {
    this.onArrival();
    try {
      const data = this.finalStatus === undefined ? chunk : this.passFinalStatus(this.finalStatus, chunk);
      if (data === undefined) return;
      if (this.secured === undefined) this.frames.push(data);
      else this.secured.receive(data);
    } catch (error) {
      this.onUnreadable(error);
    }
  }

  /** The bytes after the server's last authentication message; undefined while that is incomplete. */
  private passFinalStatus(finalStatus: FinalStatus, chunk: Buffer): Buffer | undefined {
    const rest = finalStatus.push(chunk);
    if (rest !== undefined) this.finalStatus = undefined;
    return rest;
  }

  private receive(buffer: Buffer, start: number, end: number): void {
    if (this.closedBy !== undefined) return;
    const reader = this.reader;
    reader.reset(buffer, start, end, this.settings.maxAnswerCells);
    const { id, exception, cellLength } = readResponseHeader(reader);
    if (cellLength > end - reader.position) {
      throw new ProtocolError(`An answer announces a cell block of ${cellLength} bytes and has less.`);
    }
    this.deliver(id, exception, buffer, end - cellLength, end);
  }

  private deliver(
    id: number,
    exception: ExceptionResponse | undefined,
    buffer: Buffer,
    messageEnd: number,
    end: number,
  ): void {
    const call = this.inFlight.get(id);
    if (call === undefined) {
      const late = this.receiveUnclaimed(id, exception);
      if (late !== undefined && exception === undefined) {
        this.read(buffer, messageEnd, end, (frame) => late.onLateResponse?.(frame));
      }
      return;
    }
    this.inFlight.delete(id);
    if (exception !== undefined) {
      const error = this.toError(exception, call.describe());
      this.fail(call, error);
      if (error.retryClass === 'fatal') throw error;
      return;
    }
    try {
      this.read(buffer, messageEnd, end, (frame) => call.onResponse(frame));
      this.observer.callEnded(this.methods, this.key, call, undefined);
    } catch (thrown) {
      const error = asRowanError(thrown);
      this.fail(call, error);
      if (error instanceof ProtocolError) throw error;
    }
  }

  private read(buffer: Buffer, messageEnd: number, end: number, take: (frame: ResponseFrame) => void): void {
    const { reader, cells } = this;
    const { cellBlockCompression, maxFrameSize, maxAnswerCells } = this.settings;
    try {
      reader.end = messageEnd;
      reader.enter();
      if (cellBlockCompression === undefined || messageEnd === end) {
        cells.reset(buffer, messageEnd, end, maxAnswerCells);
      } else {
        const block = unpackCells(cellBlockCompression, buffer.subarray(messageEnd, end), maxFrameSize);
        cells.reset(block, 0, block.length, maxAnswerCells);
      }
      take(this.frame);
    } finally {
      cells.release();
    }
  }

  /** An answer that is too large fails its own call. It is skipped; other calls continue. */
  private refuse(buffer: Buffer, start: number, end: number, length: number): void {
    if (this.closedBy !== undefined) return;
    this.reader.reset(buffer, start, end, 1);
    const id = readIdOfBegun(this.reader, length);
    const call = this.inFlight.get(id);
    if (call === undefined) {
      this.receiveUnclaimed(id, undefined);
      return;
    }
    this.inFlight.delete(id);
    this.fail(call, answerTooLarge(call, this.key, length, this.settings.maxFrameSize));
  }

  /** Handles an answer without a waiting call: about the connection, late, or invalid. @returns the call of a late one. */
  private receiveUnclaimed(id: number, exception: ExceptionResponse | undefined): Call | undefined {
    if (id === CONNECTION_CALL_ID && exception !== undefined) throw this.toError(exception, 'The connection');
    if (this.abandoned.has(id)) return this.abandoned.take(id);
    throw new ProtocolError(`The server answered call ${id}, which was never made.`);
  }

  private toError(exception: ExceptionResponse, what: string): ReturnType<typeof remoteError> {
    const { exceptionClassName = 'java.io.IOException', stackTrace = '', ...rest } = exception;
    return remoteError({ ...rest, className: exceptionClassName, stackTrace }, this.key, what);
  }

  private sweep(): void {
    this.sweeper = undefined;
    const now = performance.now();
    let isBlocked = false;
    let longest = this.settings.rpcTimeout;
    for (const [id, call] of this.inFlight) {
      if (!call.isExpired(now)) {
        longest = Math.max(longest, call.timeout);
        continue;
      }
      this.inFlight.delete(id);
      this.abandoned.add(id, call);
      if (this.lastReceived < call.startedAt) this.silentSince ??= call.startedAt;
      isBlocked ||= this.isBlockedSince(call.startedAt, now);
      this.fail(call, timedOut(call, this.key));
    }
    for (let i = this.waiting.length - 1; i >= 0; i--) {
      const call = this.waiting[i]!;
      if (!call.isExpired(now)) continue;
      this.waiting.splice(i, 1);
      this.fail(call, timedOut(call, this.key));
    }
    // No byte for as long as a call may take: the peer has ended without closing the connection, or hangs.
    if (this.silentSince !== undefined && now - this.silentSince >= longest) {
      this.connectionLost(`not a byte came within ${Math.round(longest)} ms of a request`);
    } else if (isBlocked) {
      this.connectionLost('an answer that does not come to its end keeps all others back');
    } else if (this.pending > 0) this.sweeper = setTimeout(() => this.sweep(), SWEEP_INTERVAL);
  }

  /** Whether an incomplete answer has held back others for longer than a call may take. Calls with short timeouts do not count. */
  private isBlockedSince(started: number, now: number): boolean {
    const { openSince } = this.frames;
    return openSince !== undefined && openSince < started && now - openSince >= this.settings.rpcTimeout;
  }

  private fail(call: Call, error: RowanError): void {
    this.observer.callEnded(this.methods, this.key, call, error);
    call.onError(error);
  }

  private connectionLost(why: string, cause?: unknown): void {
    const message = `The connection to HBase server ${this.key} was lost: ${why}. Check the server and the network.`;
    this.end(new ConnectionError(message, { cause, details: { server: this.key } }));
  }

  private end(error: RowanError): void {
    if (this.closedBy !== undefined) return;
    this.closedBy = error;
    clearTimeout(this.sweeper);
    this.ended.abort();
    this.abandoned.clear();
    const socket = this.opened;
    this.opened = undefined;
    this.socket = undefined;
    // Listeners stay: a late error event without a listener would end the process.
    socket?.destroy();
    this.frames.clear();
    this.onEnd(this, error);
    const calls = [...this.inFlight.values(), ...this.waiting];
    this.inFlight.clear();
    this.waiting.length = 0;
    for (const call of calls) this.fail(call, error);
  }
}
