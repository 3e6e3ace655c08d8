import { ClosedError, InvalidArgumentError } from '../errors.js';
import type { StoreEvent } from './events.js';
import type { FileSystem } from './fs/file-system.js';
import type { StoreSettings } from './options.js';

/** The folder, settings, clock and listener of an open store, shared by all its parts. */
export class StoreEnvironment {
  constructor(
    readonly directory: string,
    readonly fileSystem: FileSystem,
    readonly settings: StoreSettings,
  ) {}

  /** @throws InvalidArgumentError when the `clock` option returns anything but a time. */
  now(): number {
    const now = this.settings.clock();
    if (Number.isSafeInteger(now) && now >= 0) return now;
    throw new InvalidArgumentError(
      `The clock of the store returned ${now}. It must return whole milliseconds since 1970 (option "clock").`,
    );
  }

  emit(event: StoreEvent): void {
    try {
      this.settings.onEvent(event);
    } catch {
      // A failing listener must not stop the store's work.
    }
  }
}

/** An operation that closing the store interrupts, because its length depends on the caller: a bulk load that reads its cells. */
export interface Interruptible {
  /** Ends the operation at once and releases what it holds. It may be called in any turn, once. */
  interrupt(): void;
}

/** Whether a store is open, and the operations that its close waits for. */
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

const CHECKED = process.env['ROWAN_INVARIANTS'] === '1';

/**
 * Checks of numbered invariants, run in tests (environment variable `ROWAN_INVARIANTS=1`) and skipped elsewhere.
 * `holds`: a function if the check is costly. @throws Error naming the invariant when it does not hold.
 */
export function invariant(holds: boolean | (() => boolean), name: string): void {
  if (CHECKED && !(typeof holds === 'function' ? holds() : holds))
    throw new Error(`Invariant ${name} does not hold. This is a bug in Rowan: report it.`);
}
