/** Milliseconds after which a condition is not waited for any more: far above what a busy machine takes. */
export const GIVE_UP = 300_000;

/** Of polls of what a server does in its own time. */
export const PATIENCE = { timeout: GIVE_UP, interval: 200 };

/**
 * What is waited for. One that does not come is an error that says so, with what `more` knows then: a test that is only ended has
 * nothing to say.
 */
export async function orSay<T>(
  what: string,
  wait: Promise<T>,
  more: () => string,
  patience = GIVE_UP,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`${what} did not come within ${patience / 1000} s. ${more()}`)),
      patience,
    );
  });
  try {
    return await Promise.race([wait, over]);
  } finally {
    clearTimeout(timer);
  }
}
