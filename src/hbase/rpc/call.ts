import { RowanError, TimeoutError } from '../../errors.js';
import type { CellReader } from '../wire/cell-codec.js';
import type { ProtoReader } from '../wire/proto-reader.js';
import type { ProtoWriter } from '../wire/proto-writer.js';
import type { MessageCodec } from '../wire/schema.js';
import { AnswerTooLargeError, ProtocolError } from './errors.js';
import type { RequestAttributes } from './request-attributes.js';

/**
 * `RequestHeader.priority` selects the server's call queue (`HConstants`). Values are those of HBase's own client: client calls are
 * normal, because a cluster recovers by its high-priority handlers, and clients that occupy them can keep it down. Servers raise the
 * priority of admin calls and reads of `hbase:meta` by themselves.
 */
export const Priority = { Normal: 0, High: 200 } as const;

/** An answer: its message, and its cell block. Valid only during {@link Call.onResponse}. */
export interface ResponseFrame {
  /** Limited to the result message. */
  readonly reader: ProtoReader;
  readonly cells: CellReader;
}

/**
 * One request to a server. The connection assigns its id, writes it, and ends it by exactly one call of {@link onResponse} or
 * {@link onError}.
 */
export abstract class Call {
  /** Assigned by the connection. */
  id = -1;
  priority: number = Priority.Normal;
  attributes: RequestAttributes | undefined;
  /** When it was passed to the connection, on the clock of `performance.now()`. */
  startedAt = 0;
  /** When the first of its operations ended, on the same clock; 0: none has. */
  endedAt = 0;
  /** Whether its bytes were written to the socket. From then on the server may have applied it. */
  sent = false;

  constructor(
    /** The name of the RPC in HBase's `.proto`, case exact. */
    readonly method: string,
    /** Milliseconds after which it is given up. */
    readonly timeout: number,
  ) {}

  /** Writes the request message, its fields from the last to the first. */
  abstract writeParam(writer: ProtoWriter): void;

  /** Writes the request's cells, if any, from the last to the first. */
  writeCells(_writer: ProtoWriter): void {}

  /** Handles the answer. A {@link ProtocolError} thrown here closes the connection; other errors fail the call alone. */
  abstract onResponse(frame: ResponseFrame): void;

  abstract onError(error: RowanError): void;

  /** Ends a call that could not be encoded. Nothing of it was sent. */
  onUnsendable(error: RowanError): void {
    this.onError(error);
  }

  /** Handles an answer that arrives after the call was given up; undefined: it is ignored. */
  onLateResponse?(frame: ResponseFrame): void;

  /** Description of the call, for messages. */
  describe(): string {
    return this.method;
  }

  /** Whether the call's deadline has passed; checked a few times a second. */
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
    const { reader, cells } = frame;
    const { buffer, position, end } = reader;
    // A copy, because the answer would keep a large frame in memory.
    if (end - position < buffer.length / 2) {
      reader.reset(Uint8Array.prototype.slice.call(buffer, position, end), 0, end - position, reader.budget);
    }
    const answer = this.responseCodec.read(reader);
    cells.checkUsedUp(`An answer to ${this.describe()}`);
    this.resolve(answer);
  }

  override onError(error: RowanError): void {
    this.reject(error);
  }
}

/** Any thrown value as a `RowanError`. Other errors come of malformed answers. */
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

/** HBase does not answer calls that arrived too late, so the oldest are dropped. */
const MAX_ABANDONED = 65536;

/** Calls that were given up and may still be answered. */
export class AbandonedCalls {
  /** Those that handle a late answer. */
  private readonly calls = new Map<number, Call | undefined>();

  add(id: number, call: Call): void {
    this.calls.set(id, call.onLateResponse === undefined ? undefined : call);
    if (this.calls.size <= MAX_ABANDONED) return;
    for (const oldest of this.calls.keys()) {
      this.calls.delete(oldest);
      return;
    }
  }

  has(id: number): boolean {
    return this.calls.has(id);
  }

  /** Removes the call whose answer has arrived; undefined when the answer is to be ignored. */
  take(id: number): Call | undefined {
    const call = this.calls.get(id);
    this.calls.delete(id);
    return call;
  }

  clear(): void {
    this.calls.clear();
  }
}
