/** Wakes the feeds of a database when something was committed. */

export class CommitNotifier {
  /** How often it has rung. */
  rung = 0;
  private waiting = new Set<() => void>();

  ring(): void {
    this.rung++;
    if (this.waiting.size === 0) return;
    const woken = this.waiting;
    this.waiting = new Set();
    for (const wake of woken) wake();
  }

  /** Resolves when it has rung more than `rung` times, or the signal is aborted. */
  after(rung: number, signal: AbortSignal): Promise<void> {
    if (this.rung > rung || signal.aborted) return Promise.resolve();
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
