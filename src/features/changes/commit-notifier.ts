/** Wakes the change feeds of a database after each commit. */
export class CommitNotifier {
  /** The number of notifications so far. */
  notified = 0;
  private waiting = new Set<() => void>();

  notify(): void {
    this.notified++;
    if (this.waiting.size === 0) return;
    const woken = this.waiting;
    this.waiting = new Set();
    for (const wake of woken) wake();
  }

  /** Resolves after the next notification beyond `notified`, or when the signal is aborted. */
  after(notified: number, signal: AbortSignal): Promise<void> {
    if (this.notified > notified || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        signal.removeEventListener('abort', wake);
        this.waiting.delete(wake);
        resolve();
      };
      signal.addEventListener('abort', wake);
      this.waiting.add(wake);
    });
  }
}
