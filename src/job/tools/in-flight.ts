/** Writes that go on while the next rows are read. */

/**
 * Bounds how many there are at once. For writes whose order does not matter; `settle` belongs before each checkpoint, `close` at the
 * end of the attempt, so that none of it goes on beside the next.
 */
export class InFlight {
  private readonly running = new Set<Promise<void>>();
  private readonly failures: unknown[] = [];

  constructor(private readonly most: number) {}

  /** Begins a write as soon as there is room. @throws what an earlier one threw. */
  async add(write: () => Promise<void>): Promise<void> {
    while (this.running.size >= this.most) await Promise.race(this.running);
    this.throwIfFailed();
    const running = write()
      .catch((error: unknown) => void this.failures.push(error))
      .finally(() => this.running.delete(running));
    this.running.add(running);
  }

  /** Waits for all. @throws what one of them threw. */
  async settle(): Promise<void> {
    await this.close();
    this.throwIfFailed();
  }

  /** Waits for all, whatever their ends. */
  async close(): Promise<void> {
    await Promise.all(this.running);
  }

  private throwIfFailed(): void {
    if (this.failures.length > 0) throw this.failures[0];
  }
}
