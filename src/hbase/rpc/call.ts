import { RowanError, TimeoutError } from '../../errors.js';
import type { CellReader } from '../wire/cell-codec.js';
import type { ProtoReader } from '../wire/proto-reader.js';
import type { ProtoWriter } from '../wire/proto-writer.js';
import type { MessageCodec } from '../wire/schema.js';
import { AnswerTooLargeError, ProtocolError } from './errors.js';
import type { RequestAttributes } from './request-attributes.js';

/**
 * `RequestHeader.priority`: which of the server's queues a call goes into (`HConstants`), as HBase's own client has it. What
 * clients ask is normal: the handlers of all else are those by which a cluster recovers, and clients that fill them keep it
 * down. Servers raise calls of their admin service, and reads of `hbase:meta`, by themselves.
 */
export const Priority = { Normal: 0, High: 200 } as const;

/** An answer: its message, and its cell block. Valid only during {@link Call.onResponse}. */
export interface ResponseFrame {
  /** Narrowed to the result message. */
  readonly reader: ProtoReader;
  readonly cells: CellReader;
}

/**
 * One request to a server. A connection gives it an id, writes it, and ends it with exactly one of
 * {@link onResponse} and {@link onError}.
 */
export abstract class Call {
  /** Given by the connection. */
  id = -1;
  priority: number = Priority.Normal;
  attributes: RequestAttributes | undefined;
  /** When it was handed to the connection, on the connection's clock. */
  startedAt = 0;
  /** Whether its bytes were given to the socket: from then on the server may have acted on it. */
  sent = false;

  constructor(
    /** The rpc's name in HBase's `.proto`, case exact. */
    readonly method: string,
    /** Milliseconds from the start until it is given up. */
    readonly timeout: number,
  ) {}

  /** Writes the request message, its fields from the last to the first. */
  abstract writeParam(writer: ProtoWriter): void;

  /** Writes the request's cells, if it has any, the last first. */
  writeCells(_writer: ProtoWriter): void {}

  /** Takes the answer. A {@link ProtocolError} thrown here closes the connection, another error is the call's own. */
  abstract onResponse(frame: ResponseFrame): void;

  abstract onError(error: RowanError): void;

  /** Ends a call that could not be written; nothing of it was sent. */
  onUnsendable(error: RowanError): void {
    this.onError(error);
  }

  /** Takes an answer that comes after the call was given up, if anything is still to be done about it. */
  onLateResponse?(frame: ResponseFrame): void;

  /** What the call was to do, for messages. */
  describe(): string {
    return this.method;
  }

  /** Looked at a few times a second: whether the call is over its time. */
  isExpired(now: number): boolean {
    return now - this.startedAt >= this.timeout;
  }
}

/** A request and its answer as messages of a schema. */
export class UnaryCall<Q, A> extends Call {
  readonly answer: Promise<A>;
  private resolve!: (value: A) => void;
  private reject!: (error: RowanError) => void;

  constructor(
    method: string,
    timeout: number,
    private readonly requestCodec: MessageCodec<Q>,
    private readonly request: Q,
    private readonly responseCodec: MessageCodec<A>,
    priority: number = Priority.Normal,
  ) {
    super(method, timeout);
    this.priority = priority;
    this.answer = new Promise<A>((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  override writeParam(writer: ProtoWriter): void {
    this.requestCodec.write(writer, this.request);
  }

  override onResponse(frame: ResponseFrame): void {
    const { reader } = frame;
    const { buffer, position, end } = reader;
    // The frame's memory may be large and is not ours to pin: a small copy is.
    if (end - position < buffer.length / 2) {
      reader.reset(Uint8Array.prototype.slice.call(buffer, position, end), 0, end - position, reader.budget);
    }
    this.resolve(this.responseCodec.read(reader));
  }

  override onError(error: RowanError): void {
    this.reject(error);
  }
}

/** Any thrown thing as an error of ours; what is not one already came of bytes that nobody foresaw. */
export function asRowanError(error: unknown): RowanError {
  if (error instanceof RowanError) return error;
  return new ProtocolError(`An answer could not be read: ${(error as Error)?.message ?? String(error)}.`, {
    cause: error,
  });
}

/** The error of a call that was given up. */
export function timedOut(call: Call, server: string): TimeoutError {
  return new TimeoutError(
    `${call.describe()} had no answer from ${server} within ${Math.round(call.timeout)} ms. ` +
      'Check the server, or allow more time.',
    { details: { server } },
  );
}

export function answerTooLarge(
  call: Call,
  server: string,
  bytes: number,
  limit: number,
): AnswerTooLargeError {
  return new AnswerTooLargeError(
    `${call.describe()} was answered by ${server} with ${bytes} bytes, more than maxFrameSize (${limit}) allows. ` +
      'Ask for fewer columns or versions, scan the row with setBatch, or raise maxFrameSize.',
    { details: { server, bytes, limit } },
  );
}

/** HBase never answers what came too late, so the oldest are forgotten. */
const MOST = 65536;

/** Calls that were given up, and of which an answer is still expected. */
export class AbandonedCalls {
  /** Those that want their answer even then. */
  private readonly calls = new Map<number, Call | undefined>();

  add(id: number, call: Call): void {
    this.calls.set(id, call.onLateResponse === undefined ? undefined : call);
    if (this.calls.size <= MOST) return;
    for (const oldest of this.calls.keys()) {
      this.calls.delete(oldest);
      return;
    }
  }

  has(id: number): boolean {
    return this.calls.has(id);
  }

  /** Takes the call out, now that its answer has come; undefined when that is to be passed over. */
  take(id: number): Call | undefined {
    const call = this.calls.get(id);
    this.calls.delete(id);
    return call;
  }

  clear(): void {
    this.calls.clear();
  }
}
