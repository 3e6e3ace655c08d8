import { TimeoutError } from '../../errors.js';

/** `promise`, or a TimeoutError after `timeout` milliseconds. What the promise does later is of no concern then. */
export function withTimeout<T>(promise: Promise<T>, timeout: number, what: string): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new TimeoutError(`${what} was not done within ${Math.round(timeout)} ms. Try again.`));
    }, timeout);
    promise.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error as Error);
      },
    );
  });
}
