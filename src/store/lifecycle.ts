import { ClosedError } from '../errors.js';

/** Whether a store is open, and what its end waits for. */

/** Work whose length is somebody else's to say: a load that reads its cells from elsewhere. */
export interface Interruptible {
  /** Ends the work at once, with whatever it holds. It may be called in any turn, and once. */
  interrupt(): void;
}

export class Lifecycle {
  private ended = false;
  private readonly operations = new Set<Promise<unknown>>();
  private readonly interruptible = new Set<Interruptible>();

  /** No operation begins any more. */
  get closed(): boolean {
    return this.ended;
  }

  checkOpen(): void {
    if (this.ended) throw closedStore();
  }

  /** Has the end wait for an operation that somebody asked for. */
  track<T>(operation: Promise<T>): Promise<T> {
    const ended: Promise<unknown> = operation.catch(() => {}).then(() => this.operations.delete(ended));
    this.operations.add(ended);
    return operation;
  }

  /** Has the end interrupt `work`, unless {@link settled} is called before. */
  begun(work: Interruptible): void {
    this.interruptible.add(work);
  }

  settled(work: Interruptible): void {
    this.interruptible.delete(work);
  }

  /** Lets nothing begin any more, and interrupts what would have no end. */
  end(): void {
    this.ended = true;
    for (const work of [...this.interruptible]) work.interrupt();
    this.interruptible.clear();
  }

  /** Resolves when everything tracked has ended. */
  async ending(): Promise<void> {
    while (this.operations.size > 0) await Promise.all(this.operations);
  }
}

/** The error for what is asked of a store that was closed. */
export function closedStore(): ClosedError {
  return new ClosedError('The store is closed. Open it again to go on.');
}

/** Runs pieces of work one after the other, in the order in which they came. */
export class SerialQueue {
  private tail: Promise<unknown> = Promise.resolve();

  /** Resolves or rejects as `work` does; what fails does not stop what comes after it. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.tail.then(work);
    this.tail = result.catch(() => {});
    return result;
  }
}
