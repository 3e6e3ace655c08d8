import { ClosedError } from '../errors.js';

/** Whether a store is open, and the operations that its close waits for. */

/** An operation that closing the store interrupts, because its length depends on the caller: a bulk load that reads its cells. */
export interface Interruptible {
  /** Ends the operation at once and releases what it holds. It may be called in any turn, once. */
  interrupt(): void;
}

export class Lifecycle {
  private ended = false;
  private readonly operations = new Set<Promise<unknown>>();
  private readonly interruptibles = new Set<Interruptible>();

  /** The store is closing or closed: no operation may begin. */
  get closed(): boolean {
    return this.ended;
  }

  checkOpen(): void {
    if (this.ended) throw closedStore();
  }

  /** Makes the close wait for an operation. */
  track<T>(operation: Promise<T>): Promise<T> {
    const ended: Promise<unknown> = operation.catch(() => {}).then(() => this.operations.delete(ended));
    this.operations.add(ended);
    return operation;
  }

  /** Makes the close interrupt `work`, unless {@link uninterruptible} is called first. */
  interruptible(work: Interruptible): void {
    this.interruptibles.add(work);
  }

  uninterruptible(work: Interruptible): void {
    this.interruptibles.delete(work);
  }

  /** Refuses new operations from now on, and interrupts those that may not end by themselves. */
  end(): void {
    this.ended = true;
    for (const work of [...this.interruptibles]) work.interrupt();
    this.interruptibles.clear();
  }

  /** Resolves when every tracked operation has ended. */
  async ending(): Promise<void> {
    while (this.operations.size > 0) await Promise.all(this.operations);
  }
}

/** The error for an operation on a closed store. */
export function closedStore(): ClosedError {
  return new ClosedError('The store is closed. Open it again first.');
}

/** Runs pieces of work one at a time, in the order in which they were added. */
export class SerialQueue {
  private tail: Promise<unknown> = Promise.resolve();

  /** Resolves or rejects as `work` does. A failure does not stop the work after it. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.tail.then(work);
    this.tail = result.catch(() => {});
    return result;
  }
}
