import { ClosedError, type RowanError, TimeoutError } from '../../errors.js';
import { timerDelay } from '../../table/checks.js';
import { asRowanError } from './call.js';

export interface Asking {
  /** How many are asked at once from the beginning. */
  readonly atOnce: number;
  /** Milliseconds after which another one is asked too, though nobody has failed. */
  readonly stagger: number;
  /** Milliseconds for all of them. */
  readonly timeout: number;
}

/** Nobody had an answer; what each failed with, as far as they had ended. */
export class NobodyAnswered extends Error {
  constructor(readonly errors: readonly RowanError[]) {
    super('nobody answered');
  }
}

/**
 * The first answer of several that are asked the same: the next one is asked when another has failed, or has not answered
 * for a while, so that a few which hang cost a moment and not the whole time. The rest is told by the signal when it is
 * over.
 * @throws NobodyAnswered when all have failed, or the time is over.
 */
export function firstAnswer<C, T>(
  candidates: readonly C[],
  { atOnce, stagger, timeout }: Asking,
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
    const last = setTimeout(() => settle(() => reject(new NobodyAnswered(errors))), timerDelay(timeout));
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
          else if (errors.length === candidates.length) settle(() => reject(new NobodyAnswered(errors)));
        },
      );
      if (begun < candidates.length) next = setTimeout(begin, timerDelay(stagger));
    };
    if (candidates.length === 0) settle(() => reject(new NobodyAnswered(errors)));
    for (let i = 0; i < atOnce; i++) begin();
  });
}

/**
 * `promise`, or a TimeoutError after `timeout` milliseconds, or a ClosedError when `signal` aborts. What the promise does
 * later is of no concern then.
 */
export function withTimeout<T>(
  promise: Promise<T>,
  timeout: number,
  what: string,
  signal?: AbortSignal,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const settle = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
    const onAbort = (): void => {
      settle();
      reject(new ClosedError(`${what} was under way when the connection to HBase was closed.`));
    };
    const timer = setTimeout(() => {
      settle();
      reject(new TimeoutError(`${what} was not done within ${Math.round(timeout)} ms. Try again.`));
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
