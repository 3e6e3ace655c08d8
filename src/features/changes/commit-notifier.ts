/** Wakes the feeds of a database when something was committed. */

export class CommitNotifier {
  /** How often it has notified. */
  notified = 0;
  private waiting = new Set<() => void>();

  notify(): void {
    this.notified++;
    if (this.waiting.size === 0) return;
    const woken = this.waiting;
    this.waiting = new Set();
    for (const wake of woken) wake();
  }

  /** Resolves when it has notified more than `notified` times, or the signal is aborted. */
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
