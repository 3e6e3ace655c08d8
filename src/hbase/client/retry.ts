import { RowanError, TimeoutError } from '../../errors.js';
import { timerDelay } from '../../table/checks.js';
import {
  AnswerTooLargeError,
  ConnectionError,
  ProtocolError,
  RemoteError,
  throttleWait,
} from '../rpc/errors.js';

// — Abort signals with many waiting calls. Node warns of a target with many listeners, so each signal gets one.

/** The callbacks of one signal, which has a single listener for all. */
class Waiting {
  readonly callbacks = new Set<() => void>();

  constructor(private readonly signal: AbortSignal) {
    signal.addEventListener('abort', this.fire, { once: true });
  }

  stop(): void {
    this.signal.removeEventListener('abort', this.fire);
    waiting.delete(this.signal);
  }

  private readonly fire = (): void => {
    waiting.delete(this.signal);
    for (const callback of [...this.callbacks]) callback();
  };
}

const waiting = new WeakMap<AbortSignal, Waiting>();

/** Calls `callback` once when the signal aborts; not if it has aborted already. */
export function onAbort(signal: AbortSignal, callback: () => void): void {
  if (signal.aborted) return;
  let found = waiting.get(signal);
  if (found === undefined) {
    found = new Waiting(signal);
    waiting.set(signal, found);
  }
  found.callbacks.add(callback);
}

/** Removes a callback of {@link onAbort}. */
export function offAbort(signal: AbortSignal, callback: () => void): void {
  const found = waiting.get(signal);
  if (found === undefined) return;
  found.callbacks.delete(callback);
  if (found.callbacks.size === 0) found.stop();
}

/** Resolves after `milliseconds`, or earlier when the signal aborts. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  if (milliseconds <= 0) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(timer);
      if (signal !== undefined) offAbort(signal, finish);
      resolve();
    };
    const timer = setTimeout(finish, timerDelay(milliseconds));
    if (signal !== undefined) onAbort(signal, finish);
  });
}

/** Resolves with `promise`, or when the signal aborts, whichever is first. The promise must not reject. */
export function orAborted(promise: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return promise;
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = (): void => {
      offAbort(signal, finish);
      resolve();
    };
    onAbort(signal, finish);
    promise.then(finish, finish);
  });
}

// — How long to wait before the next attempt.

/** Factors of the pause, attempt by attempt (`HConstants.RETRY_BACKOFF`). */
const BACKOFF = [1, 2, 3, 5, 10, 20, 40, 100, 100, 100, 100, 200, 200];
/** The longest pause, in milliseconds (20 s in HBase), so that a recovered region is found soon. */
const LONGEST_PAUSE = 5000;
/** Factor of the pause for an overloaded server (`hbase.client.pause.server.overloaded` is 500, `hbase.client.pause` 100). */
const OVERLOAD_FACTOR = 5;
/** Jitter of pauses, as a share, so that clients do not retry all at once. */
const JITTER = 0.2;

/** Milliseconds to wait before attempt `attempt` + 1, `attempt` counting from 1. */
export function pauseBefore(attempt: number, base: number, error: RowanError): number {
  if (error instanceof RemoteError) {
    if (isFullAnswer(error)) return 0;
    if (error.retryClass === 'moved' && attempt <= 2) return 0;
    const wait = throttleWait(error);
    // A quota names a time as if nobody else waited for it. Who is refused again comes later.
    if (wait !== undefined)
      return attempt === 1 ? timerDelay(wait) : Math.max(timerDelay(wait), backoff(attempt, base, error));
  }
  return backoff(attempt, base, error);
}

function backoff(attempt: number, base: number, error: RowanError): number {
  const overloaded =
    error instanceof RemoteError &&
    (error.serverOverloaded || /^Call(QueueTooBig|Dropped)Exception$/.test(error.simpleClass));
  const factor = BACKOFF[Math.min(attempt, BACKOFF.length) - 1] ?? 1;
  const pause = base * factor * (overloaded ? OVERLOAD_FACTOR : 1);
  return Math.min(Math.max(LONGEST_PAUSE, base), pause) * (1 - JITTER / 2 + Math.random() * JITTER);
}

/**
 * Milliseconds to wait before the next connect after `failures` consecutive ones failed: random, up to a growing bound, so that
 * programs in a restart loop neither hinder the cluster's recovery nor connect all at once.
 */
export function pauseBetweenStarts(failures: number, base: number): number {
  if (failures === 0) return 0;
  const factor = BACKOFF[Math.min(failures, BACKOFF.length) - 1] ?? 1;
  return Math.random() * Math.min(Math.max(LONGEST_PAUSE, base), base * factor);
}

// — What an error says of the next attempt.

/** Whether the region's location is in doubt after this error (`ClientExceptionsUtil.isMetaClearingException`). */
export function suggestsStaleLocation(error: RowanError): boolean {
  if (error instanceof RemoteError) return error.retryClass === 'relocate' || error.retryClass === 'moved';
  return error instanceof ConnectionError || error instanceof TimeoutError || error instanceof ProtocolError;
}

/** Whether the server may have applied the request although it failed with this error. */
export function isAmbiguous(error: RowanError): boolean {
  if (error instanceof RemoteError) return error.mayBeApplied;
  if (error instanceof ConnectionError || error instanceof TimeoutError) return true;
  return error instanceof ProtocolError || error instanceof AnswerTooLargeError;
}

/** Whether the rest of a `Multi` is to be requested at once, because its answer was full. */
export function isFullAnswer(error: RowanError): boolean {
  return error instanceof RemoteError && error.retryClass === 'immediate';
}

/** The final error of a retried operation, with the number of attempts. An error that is not retryable is returned unchanged. */
export function exhaustedError(error: RowanError, what: string, attempts: number, why: string): RowanError {
  if (attempts <= 1 || !error.retryable) return error;
  const message = `${what} was given up after ${attempts} attempts (${why}). Last error: ${error.message}`;
  const details = { ...error.details, attempts };
  return new RowanError(error.code, message, { cause: error, retryable: error.retryable, details });
}
