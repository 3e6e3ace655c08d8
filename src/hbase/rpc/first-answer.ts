import { ClosedError, type RowanError, TimeoutError } from '../../errors.js';
import { timerDelay } from '../../table/checks.js';
import { asRowanError } from './call.js';

interface HedgeOptions {
  /** Candidates asked at the start. */
  readonly atOnce: number;
  /** Milliseconds without an answer after which another candidate is asked. */
  readonly stagger: number;
  /** Limit of the whole call, milliseconds. */
  readonly timeout: number;
}

/** No candidate answered. Has the errors of those that had failed. */
export class NoAnswerError extends Error {
  constructor(readonly errors: readonly RowanError[]) {
    super('nobody answered');
  }
}

/**
 * Asks several candidates the same and returns the first answer. Another candidate is asked when one fails or has not answered for a
 * while, so that hung ones cost little. The signal aborts the remaining requests when there is an answer.
 * @throws NoAnswerError when all have failed, or at the timeout.
 */
export function firstAnswer<C, T>(
  candidates: readonly C[],
  { atOnce, stagger, timeout }: HedgeOptions,
  ask: (candidate: C, signal: AbortSignal, timeLeft: number) => Promise<T>,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const end = performance.now() + timeout;
    const errors: RowanError[] = [];
    const over = new AbortController();
    let begun = 0;
    let next: NodeJS.Timeout | undefined;
    const settle = (finish: () => void): void => {
      if (over.signal.aborted) return;
      clearTimeout(next);
      clearTimeout(last);
      over.abort();
      finish();
    };
    const last = setTimeout(() => settle(() => reject(new NoAnswerError(errors))), timerDelay(timeout));
    const begin = (): void => {
      clearTimeout(next);
      const candidate = candidates[begun];
      if (candidate === undefined || over.signal.aborted) return;
      begun++;
      ask(candidate, over.signal, Math.max(1, end - performance.now())).then(
        (answer) => settle(() => resolve(answer)),
        (error: unknown) => {
          errors.push(asRowanError(error));
          if (begun < candidates.length) begin();
          else if (errors.length === candidates.length) settle(() => reject(new NoAnswerError(errors)));
        },
      );
      if (begun < candidates.length) next = setTimeout(begin, timerDelay(stagger));
    };
    if (candidates.length === 0) settle(() => reject(new NoAnswerError(errors)));
    for (let i = 0; i < atOnce; i++) begin();
  });
}

/**
 * Resolves as `promise`, or rejects with a TimeoutError after `timeout` milliseconds or a ClosedError when `signal` aborts. A later
 * outcome of the promise is ignored.
 */
export function withTimeout<T>(
  promise: Promise<T>,
  timeout: number,
  what: string | (() => string),
  signal?: AbortSignal,
): Promise<T> {
  const said = (): string => (typeof what === 'string' ? what : what());
  return new Promise<T>((resolve, reject) => {
    const settle = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
    const onAbort = (): void => {
      settle();
      reject(new ClosedError(`${said()} was under way when the connection to HBase was closed.`));
    };
    const timer = setTimeout(() => {
      settle();
      reject(new TimeoutError(`${said()} was not done within ${Math.round(timeout)} ms. Try again.`));
    }, timerDelay(timeout));
    signal?.addEventListener('abort', onAbort);
    promise.then(
      (value) => {
        settle();
        resolve(value);
      },
      (error: unknown) => {
        settle();
        reject(error as Error);
      },
    );
    if (signal?.aborted === true) onAbort();
  });
}
