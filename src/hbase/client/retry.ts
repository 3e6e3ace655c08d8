import { RowanError, TimeoutError } from '../../errors.js';
import { timerDelay } from '../../table/checks.js';
import {
  AnswerTooLargeError,
  ConnectionError,
  ProtocolError,
  RemoteError,
  throttleWait,
} from '../rpc/errors.js';

/** Listening to abort signals. One signal may be given to many calls, and Node warns of a target with many listeners. */

/** Whoever waits for one signal; the signal itself has one listener for all. */
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

/** Calls `callback` once when the signal aborts. One that has aborted already calls nobody. */
export function onAbort(signal: AbortSignal, callback: () => void): void {
  if (signal.aborted) return;
  let found = waiting.get(signal);
  if (found === undefined) {
    found = new Waiting(signal);
    waiting.set(signal, found);
  }
  found.callbacks.add(callback);
}

/** Takes back {@link onAbort}. */
export function offAbort(signal: AbortSignal, callback: () => void): void {
  const found = waiting.get(signal);
  if (found === undefined) return;
  found.callbacks.delete(callback);
  if (found.callbacks.size === 0) found.stop();
}

/** What the pause grows by, attempt after attempt (`HConstants.RETRY_BACKOFF`). */
const BACKOFF = [1, 2, 3, 5, 10, 20, 40, 100, 100, 100, 100, 200, 200];
/** No pause is longer than this, in milliseconds (20 s in HBase): a region that is back is found soon. */
const LONGEST_PAUSE = 5000;
/** An overloaded server is given this much more time (`hbase.client.pause.server.overloaded` is 500 to 100). */
const OVERLOAD_FACTOR = 5;
/** Pauses differ by this part, so that clients do not come back all at once. */
const JITTER = 0.2;

/** The longest that a timer takes (2^31-1 ms); what is longer fires at once. */
const LONGEST_TIMER = 0x7fffffff;

/** Milliseconds to wait before attempt `attempt` + 1, `attempt` counting from 1. */
export function pauseBefore(attempt: number, base: number, error: RowanError): number {
  if (error instanceof RemoteError) {
    if (isFullAnswer(error)) return 0;
    if (error.retryClass === 'moved' && attempt <= 2) return 0;
    const wait = throttleWait(error);
    if (wait !== undefined) return Math.min(wait, LONGEST_TIMER);
  }
  const overloaded =
    error instanceof RemoteError &&
    (error.serverOverloaded || /^Call(QueueTooBig|Dropped)Exception$/.test(error.simpleClass));
  const factor = BACKOFF[Math.min(attempt, BACKOFF.length) - 1] ?? 1;
  const pause = base * factor * (overloaded ? OVERLOAD_FACTOR : 1);
  return Math.min(Math.max(LONGEST_PAUSE, base), pause) * (1 - JITTER / 2 + Math.random() * JITTER);
}

/**
 * Milliseconds to wait before a cluster is looked for that `failures` starts in a row did not find: anything up to a bound that
 * grows, so that programs that start again and again neither hurry the cluster nor come all at once.
 */
export function pauseBetweenStarts(failures: number, base: number): number {
  if (failures === 0) return 0;
  const factor = BACKOFF[Math.min(failures, BACKOFF.length) - 1] ?? 1;
  return Math.random() * Math.min(Math.max(LONGEST_PAUSE, base), base * factor);
}

/** Whether the place of the region is in doubt after this error (`ClientExceptionsUtil.isMetaClearingException`). */
export function doubtsLocation(error: RowanError): boolean {
  if (error instanceof RemoteError) return error.retryClass === 'relocate' || error.retryClass === 'moved';
  return error instanceof ConnectionError || error instanceof TimeoutError || error instanceof ProtocolError;
}

/** Whether the server may have done what was asked although this error came back instead of its answer. */
export function isAmbiguous(error: RowanError): boolean {
  if (error instanceof ConnectionError || error instanceof TimeoutError) return true;
  return error instanceof ProtocolError || error instanceof AnswerTooLargeError;
}

/** Whether the rest of a Multi is to be asked for at once, because its answer was full. */
export function isFullAnswer(error: RowanError): boolean {
  return error instanceof RemoteError && error.retryClass === 'immediate';
}

/** A promise for `milliseconds` from now that ends early, without an error, when the signal aborts. */
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

/** Waits for `promise`, or for the signal to abort, whichever is first. The promise must not reject. */
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

/** An error with what was tried before it was given up; one that no repetition mends speaks for itself. */
export function givenUp(error: RowanError, what: string, attempts: number, why: string): RowanError {
  if (attempts <= 1 || !error.retryable) return error;
  const message = `${what} was given up after ${attempts} attempts (${why}). Last error: ${error.message}`;
  const details = { ...error.details, attempts };
  return new RowanError(error.code, message, { cause: error, retryable: error.retryable, details });
}
