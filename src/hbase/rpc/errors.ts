/** The errors that talking to a cluster adds. */

import { CorruptionError, type ErrorCode, RowanError, type RowanErrorOptions } from '../../errors.js';
import type { RetryClass } from './retry-class.js';

/** Bytes from a server that break the protocol. The connection they came by is closed. */
export class ProtocolError extends CorruptionError {
  constructor(message: string, options: RowanErrorOptions = {}) {
    super(`${message} The connection was closed; check that the address is that of an HBase server.`, {
      retryable: true,
      ...options,
    });
  }
}

/**
 * An answer of a server is larger than what is believed of one. It fails what asked for it, at once and for good: the
 * same request meets it again. Others on the connection go on.
 */
export class AnswerTooLargeError extends RowanError {
  constructor(message: string, options: RowanErrorOptions = {}) {
    super('ERR_TOO_LARGE', message, options);
  }
}

/** A server cannot be reached, or the connection to it broke. Safe to repeat for all that can be repeated. */
export class ConnectionError extends RowanError {
  constructor(message: string, options: RowanErrorOptions = {}) {
    super('ERR_CONNECTION', message, { retryable: true, ...options });
  }
}

/**
 * A change that must not be made twice was sent, and its answer was lost: it took effect or it did not. Read the row to
 * find out. Not retryable, for a blind repetition could apply it twice or see its own first effect.
 */
export class UnknownOutcomeError extends RowanError {
  constructor(message: string, options: RowanErrorOptions = {}) {
    super('ERR_CONNECTION', message, {
      ...options,
      retryable: false,
      details: { ...options.details, outcome: 'unknown' },
    });
  }
}

export interface RemoteErrorFacts {
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly retryClass: RetryClass;
  /** The Java class, with its package. */
  readonly exceptionClass: string;
  /** The first line of the server's stack trace, without the class. */
  readonly remoteMessage: string;
  /** "host:port" of the server that answered. */
  readonly server: string;
  /** Where a moved region went, when the server says so. */
  readonly movedTo?: MovedTo | undefined;
  readonly serverOverloaded?: boolean;
}

/** The new place of a region, as a `RegionMovedException` tells it. */
export interface MovedTo {
  readonly host: string;
  readonly port: number;
  readonly startCode: number;
  readonly seqNum: number;
}

/** An exception of a server: its class, its message, and what it means for a retry. */
export class RemoteError extends RowanError {
  readonly retryClass: RetryClass;
  readonly exceptionClass: string;
  readonly remoteMessage: string;
  readonly movedTo: MovedTo | undefined;
  readonly serverOverloaded: boolean;

  constructor(facts: RemoteErrorFacts, message: string, options: RowanErrorOptions = {}) {
    super(facts.code, message, {
      ...options,
      retryable: facts.retryable,
      details: { exceptionClass: facts.exceptionClass, server: facts.server, ...options.details },
    });
    this.retryClass = facts.retryClass;
    this.exceptionClass = facts.exceptionClass;
    this.remoteMessage = facts.remoteMessage;
    this.movedTo = facts.movedTo;
    this.serverOverloaded = facts.serverOverloaded ?? false;
  }

  /** The Java class without its package. */
  get simpleClass(): string {
    return this.exceptionClass.slice(this.exceptionClass.lastIndexOf('.') + 1);
  }
}
