import { JavaClass, ServerException } from '../errors.js';
import type { RequestLimits } from './request.js';

/** Limits of clients' use of the server. Times are in milliseconds. */
export interface ConnectionLimits extends RequestLimits {
  readonly maxConnections: number;
  /** Calls in progress over all connections; mostly writes waiting for the disk. */
  readonly maxCalls: number;
  /** Calls in progress of one connection; the server reads no further ones. */
  readonly maxCallsPerConnection: number;
  /** Buffered bytes of requests and responses over all connections. */
  readonly maxQueuedBytes: number;
  /** Unread response bytes of a connection above which none of its calls starts. */
  readonly maxUnreadBytes: number;
  /** A connection that reads none of its responses for this long is closed. */
  readonly slowReaderTimeout: number;
  /** A connection without calls for this long is closed. */
  readonly idleTimeout: number;
  /** A connection must complete its handshake within this time. */
  readonly helloTimeout: number;
}

/** Measures and limits what all connections of a server hold at once. */
export class Load {
  /** Open connections. */
  connections = 0;
  /** Calls in progress. */
  calls = 0;
  /** Bytes of incomplete frames, waiting calls, and unread responses. */
  bytes = 0;
  /** Calls since the server started. */
  total = 0;
  readonly startedAt = performance.now();

  constructor(readonly limits: ConnectionLimits) {}

  /** Registers a call. @throws ServerException when there are too many; the client waits and retries. */
  admit(): void {
    const { maxCalls, maxQueuedBytes } = this.limits;
    if (this.calls < maxCalls && this.bytes < maxQueuedBytes) {
      this.calls++;
      this.total++;
      return;
    }
    throw new ServerException(
      JavaClass.CallQueueTooBig,
      `Call queue is full on rowan serve, too many items queued: ${this.calls} calls of ${maxCalls}, ${this.bytes} bytes of ${maxQueuedBytes}.`,
      false,
    );
  }

  ended(): void {
    this.calls--;
  }

  /** Average calls per second since the start. */
  get callsPerSecond(): number {
    return Math.round((this.total * 1000) / Math.max(1000, performance.now() - this.startedAt));
  }
}
