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
