/** Runs a transaction, again when others were faster, as often and as long as it was said. */

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
import type { Patience } from './contention.js';
import { StoreTransaction } from './transaction.js';
import { TransactionTables } from './transaction-table.js';

const OPTIONS = Object.freeze({ attempts: true, signal: true, timeout: true } as const);

const DEFAULT_ATTEMPTS = 10;
/** Milliseconds after which an open transaction is ended: cells that it may see are kept for it. */
const DEFAULT_TIMEOUT = 60_000;
/** Milliseconds waited at most before it is tried again. */
const LONGEST_PAUSE = 128;
/** Runs after which it is writes outside of transactions that overtake it: they know no turns, and a pause lets them end. */
const PAUSE_FROM = 3;

/**
 * @throws what `run` throws, and nothing was written then; SerializationError when all attempts were overtaken;
 * RowanError `ERR_TIMEOUT`, `ERR_ABORTED`, `ERR_CLOSED`.
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
  const patience: Patience = (begin) => limit.wait(begin);
  let last: SerializationError | undefined;
  try {
    for (let attempt = 1; attempt <= attempts; attempt++) {
      if (attempt > PAUSE_FROM) await limit.wait(pause(attempt, core.settings.random));
      await contender.takeTurns(patience);
      // What was committed at its row and is not acknowledged yet is to be in its snapshot.
      if (last !== undefined) await core.commits.awaitDecided();
      const transaction = new StoreTransaction(core);
      limit.ends((why) => transaction.cut(why));
      try {
        const answer = await untilCut(transaction, run);
        await transaction.commit(contender, patience, options.signal);
        return answer;
      } catch (error) {
        last = transaction.conflict;
        if (last === undefined) throw error;
        transaction.tellConflict(contender);
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
    `The transaction was tried ${attempts} times, and each time others had changed what it read. ` +
      'Read less in it, let fewer run at once on the same rows, or give it more attempts.',
    { cause: last, details: { ...last!.details, attempts } },
  );
}

/** What `run` answers; it is not waited for when the transaction is ended from outside. */
function untilCut<T>(
  transaction: StoreTransaction,
  run: (transaction: TableTransaction) => Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    transaction.onCut = reject;
    // In a turn of its own, so that what it throws at once is a rejection too.
    Promise.resolve()
      .then(() => run(new TransactionTables(transaction)))
      .then(resolve, reject);
  });
}

/** The time that a transaction has for all of its runs and waits, and the signal that ends it. */
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

  /** Timers of the platform take no more than 2^31 - 1 ms. */
  private arm(): void {
    const left = Math.max(1, Math.ceil(this.deadline - performance.now()));
    this.timer = setTimeout(() => {
      if (performance.now() < this.deadline) this.arm();
      else this.end(timedOut(this.timeout));
    }, timerDelay(left));
    this.timer.unref();
  }

  /** What is told of the end, in place of what was told before; undefined: nothing. */
  ends(onEnd: ((why: RowanError) => void) | undefined): void {
    this.onEnd = onEnd;
    if (this.over !== undefined) onEnd?.(this.over);
  }

  /**
   * Resolves when what `begin` was given is called. At the end it rejects, once what `begin` gave back was called, and who was
   * told of the end before is told too.
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
    `The transaction was not committed within ${milliseconds} ms: nothing of it was written. Do less in it, nothing ` +
      'that waits for others, or give it more time (timeout).',
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

/** For {@link TransactionLimit.wait}: woken after a time that grows with the attempts and is drawn at random. */
function pause(attempt: number, random: () => number): (wake: () => void) => () => void {
  const longest = Math.min(LONGEST_PAUSE, 2 ** attempt);
  return (wake) => {
    const timer = setTimeout(wake, random() * longest);
    return () => clearTimeout(timer);
  };
}
