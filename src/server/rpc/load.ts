/** What all connections of a server hold at once, and when it is too much. */

import { JavaClass, ServerException } from '../errors.js';
import type { RequestLimits } from './request.js';

/** What clients may ask of the server at once, and how long they may take. Times are in milliseconds. */
export interface ConnectionLimits extends RequestLimits {
  readonly maxConnections: number;
  /** Calls that are under way, of all connections: writes that wait for the disk, mostly. */
  readonly maxCalls: number;
  /** Of one connection; further ones wait at the client, which cannot send them. */
  readonly maxCallsPerConnection: number;
  /** Bytes of requests and answers that are held, of all connections. */
  readonly maxQueuedBytes: number;
  /** Bytes of answers that a connection has not read; no call of it is begun above them. */
  readonly maxUnreadBytes: number;
  /** A connection that reads nothing of what it was sent for this long is closed. */
  readonly slowReaderTimeout: number;
  /** A connection without calls for this long is closed. */
  readonly idleTimeout: number;
  /** A connection says who it is within this time. */
  readonly helloTimeout: number;
}

export class Load {
  /** Open connections. */
  connections = 0;
  /** Calls under way. */
  calls = 0;
  /** Bytes of frames that are not whole, of calls that wait, and of answers that nobody has read. */
  bytes = 0;
  /** Calls since the server was started. */
  total = 0;
  readonly startedAt = performance.now();

  constructor(readonly limits: ConnectionLimits) {}

  /** Begins a call. @throws ServerException when there are too many already: the client waits and asks again. */
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

  /** Calls in a second, since the start. */
  get callsPerSecond(): number {
    return Math.round((this.total * 1000) / Math.max(1000, performance.now() - this.startedAt));
  }
}
