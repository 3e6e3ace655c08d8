/** Waits, or less long when the signal is aborted; who waits looks at the signal then. */
export async function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((done) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      done();
    };
    const timer = setTimeout(end, Math.min(milliseconds, 2 ** 31 - 1));
    signal.addEventListener('abort', end);
  });
}
