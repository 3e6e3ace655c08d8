/** Runs a transaction, and runs it again after conflicts, within its limits of attempts and time. */

import {
  InvalidArgumentError,
  RowanError,
  SerializationError,
  TimeoutError,
  throwIfAborted,
} from '../../errors.js';
import { checkOptions, checkPositiveInteger, describe, timerDelay } from '../../table/checks.js';
import type { TableTransaction, TransactionOptions } from '../../table/index.js';
import type { StoreCore } from '../store-core.js';
import type { Wait } from './contention.js';
import { StoreTransaction } from './transaction.js';
import { TransactionTables } from './transaction-table.js';

const OPTIONS = Object.freeze({ attempts: true, signal: true, timeout: true } as const);

const DEFAULT_ATTEMPTS = 10;
/** Milliseconds after which an open transaction is ended: the cells that it may read are kept for it. */
const DEFAULT_TIMEOUT = 60_000;
/** The longest pause before another attempt, in milliseconds. */
const LONGEST_PAUSE = 128;
/** From this attempt on the conflicts come from writes outside of transactions, which take no turns: a pause lets them end. */
const PAUSE_FROM = 3;

/**
 * @throws what `run` throws, when nothing was written; SerializationError when all attempts had conflicts; RowanError
 * `ERR_TIMEOUT`, `ERR_ABORTED`, `ERR_CLOSED`.
 */
export async function runTransaction<T>(
  core: StoreCore,
  run: (transaction: TableTransaction) => Promise<T>,
  options: TransactionOptions = {},
): Promise<T> {
  checkOptions('transaction', options, OPTIONS);
  if (typeof run !== 'function') {
    throw new InvalidArgumentError(`transaction takes a function, async (tx) => …, not ${describe(run)}.`);
  }
  const attempts = checkPositiveInteger(options.attempts ?? DEFAULT_ATTEMPTS, 'The number of attempts');
  const timeout = checkPositiveInteger(options.timeout ?? DEFAULT_TIMEOUT, 'The timeout');
  const contender = core.contention.enter();
  const limit = new TransactionLimit(timeout, options.signal);
  const wait: Wait = (begin) => limit.wait(begin);
  let last: SerializationError | undefined;
  try {
    for (let attempt = 1; attempt <= attempts; attempt++) {
      if (attempt > PAUSE_FROM) await limit.wait(pause(attempt, core.settings.random));
      await contender.takeTurns(wait);
      // Writes at the conflicting row that are not acknowledged yet must be in the next snapshot.
      if (last !== undefined) await core.commits.awaitDecided();
      const transaction = new StoreTransaction(core);
      limit.ends((why) => transaction.cut(why));
      try {
        const answer = await untilCut(transaction, run);
        await transaction.commit(contender, wait, options.signal);
        return answer;
      } catch (error) {
        last = transaction.conflict;
        if (last === undefined) throw error;
        transaction.reportConflict(contender);
      } finally {
        limit.ends(undefined);
        transaction.end();
        contender.ended();
      }
    }
  } finally {
    contender.ended();
    limit.lift();
  }
  throw new SerializationError(
    `The transaction was run ${attempts} times, and each time other writes had changed what it read. ` +
      'Read less in it, let fewer run at once on the same rows, or allow more attempts.',
    { cause: last, details: { ...last!.details, attempts } },
  );
}

/** The result of `run`; does not wait for it when the transaction is ended by a deadline, a signal or the store's close. */
function untilCut<T>(
  transaction: StoreTransaction,
  run: (transaction: TableTransaction) => Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    transaction.onCut = reject;
    // In a promise, so that a synchronous throw is a rejection too.
    Promise.resolve()
      .then(() => run(new TransactionTables(transaction)))
      .then(resolve, reject);
  });
}

/** The deadline of a transaction over all of its runs and waits, and the signal that aborts it. */
class TransactionLimit {
  private readonly deadline: number;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private over: RowanError | undefined;
  private onEnd: ((why: RowanError) => void) | undefined;
  private readonly abort = (): void => this.end(aborted(this.signal!));

  constructor(
    private readonly timeout: number,
    private readonly signal: AbortSignal | undefined,
  ) {
    throwIfAborted(signal);
    this.deadline = performance.now() + timeout;
    this.arm();
    signal?.addEventListener('abort', this.abort, { once: true });
  }

  /** Re-arms the timer: the platform's timers are limited to 2^31 - 1 ms. */
  private arm(): void {
    const left = Math.max(1, Math.ceil(this.deadline - performance.now()));
    this.timer = setTimeout(() => {
      if (performance.now() < this.deadline) this.arm();
      else this.end(timedOut(this.timeout));
    }, timerDelay(left));
    this.timer.unref();
  }

  /** Sets the callback for the end of the time, which replaces the one before; undefined: none. */
  ends(onEnd: ((why: RowanError) => void) | undefined): void {
    this.onEnd = onEnd;
    if (this.over !== undefined) onEnd?.(this.over);
  }

  /**
   * Resolves when the function that `begin` receives is called. At the deadline or on abort it calls the function that `begin`
   * returned, then the callback set before, and rejects.
   */
  wait(begin: (wake: () => void) => () => void): Promise<void> {
    const before = this.onEnd;
    return new Promise((resolve, reject) => {
      const giveUp = begin(() => {
        this.onEnd = before;
        resolve();
      });
      this.ends((why) => {
        giveUp();
        before?.(why);
        reject(why);
      });
    });
  }

  lift(): void {
    this.onEnd = undefined;
    clearTimeout(this.timer);
    this.signal?.removeEventListener('abort', this.abort);
  }

  private end(why: RowanError): void {
    this.over = why;
    this.onEnd?.(why);
  }
}

function timedOut(milliseconds: number): TimeoutError {
  return new TimeoutError(
    `The transaction was not committed within ${milliseconds} ms: nothing of it was written. Do less in it, wait for ` +
      'nothing else, or give it more time (timeout).',
    { retryable: false },
  );
}

function aborted(signal: AbortSignal): RowanError {
  return new RowanError(
    'ERR_ABORTED',
    'The transaction was aborted by its AbortSignal: nothing of it was written.',
    {
      cause: signal.reason,
    },
  );
}

/** For {@link TransactionLimit.wait}: a random pause whose upper bound grows with the attempts. */
function pause(attempt: number, random: () => number): (wake: () => void) => () => void {
  const longest = Math.min(LONGEST_PAUSE, 2 ** attempt);
  return (wake) => {
    const timer = setTimeout(wake, random() * longest);
    return () => clearTimeout(timer);
  };
}
