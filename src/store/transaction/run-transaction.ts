/** Runs a transaction, again when others were faster, as often and as long as it was said. */

import { InvalidArgumentError, RowanError, SerializationError, throwIfAborted } from '../../errors.js';
import { checkOptions, checkPositiveInteger, describe, timerDelay } from '../../table/checks.js';
import type { TableTransaction, TransactionOptions } from '../../table/index.js';
import type { StoreCore } from '../store-core.js';
import { StoreTransaction } from './transaction.js';
import { TransactionTables } from './transaction-table.js';

const OPTIONS = Object.freeze({ attempts: true, signal: true, timeout: true } as const);

const DEFAULT_ATTEMPTS = 10;
/** What an open transaction may see is kept for it: it must not stay open for ever. */
const DEFAULT_TIMEOUT = 60_000;
/** Milliseconds waited at most before it is tried again. */
const LONGEST_PAUSE = 128;

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
  const deadline = performance.now() + timeout;
  let last: SerializationError | undefined;
  for (let attempt = 1; attempt <= attempts; attempt++) {
    if (last !== undefined) await pause(attempt, core.settings.random);
    throwIfAborted(options.signal);
    const transaction = new StoreTransaction(core);
    const left = Math.max(1, Math.ceil(deadline - performance.now()));
    const timer = setTimeout(() => transaction.timeOut(timeout), timerDelay(left));
    timer.unref();
    const abort = (): void => transaction.cut(aborted(options.signal!));
    options.signal?.addEventListener('abort', abort, { once: true });
    try {
      const answer = await untilCut(transaction, run);
      await transaction.commit(options.signal);
      return answer;
    } catch (error) {
      last = transaction.conflict;
      if (last === undefined) throw error;
    } finally {
      clearTimeout(timer);
      options.signal?.removeEventListener('abort', abort);
      transaction.end();
    }
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

function aborted(signal: AbortSignal): RowanError {
  return new RowanError(
    'ERR_ABORTED',
    'The transaction was aborted by its AbortSignal: nothing of it was written.',
    {
      cause: signal.reason,
    },
  );
}

/** Those that met do not meet again at the same moment. */
function pause(attempt: number, random: () => number): Promise<void> {
  const longest = Math.min(LONGEST_PAUSE, 2 ** attempt);
  return new Promise((resolve) => {
    setTimeout(resolve, random() * longest);
  });
}
