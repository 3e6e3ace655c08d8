/**
 * A sync that callers share: one runs at a time, and the calls that come while it runs share the next one, so that each covers what was
 * written before its call.
 */
export class SharedSync {
  private running: Promise<void> | undefined;
  private next: Promise<void> | undefined;

  constructor(private readonly sync: () => Promise<void>) {}

  /** Resolves when all that was written before the call is on the disk; rejects when the sync that covers it fails. */
  run(): Promise<void> {
    if (this.running === undefined) {
      this.running = this.sync().finally(() => (this.running = undefined));
      return this.running;
    }
    this.next ??= this.running
      .catch(() => {})
      .then(() => {
        this.next = undefined;
        return this.run();
      });
    return this.next;
  }
}
