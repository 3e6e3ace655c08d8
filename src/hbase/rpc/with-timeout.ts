import { ClosedError, TimeoutError } from '../../errors.js';

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
    }, timeout);
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
