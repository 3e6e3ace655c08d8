/** Writers that wait for the same sync. */
class Group {
  readonly promise: Promise<void>;
  resolve!: () => void;
  reject!: (error: unknown) => void;

  constructor() {
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }
}

/**
 * The promises of writers by what they wait for: records that are staged, records that are written, and records that the running
 * sync covers. A failed write rejects only the first.
 */
export class SyncWaiters {
  private staged: Group | undefined;
  private written: Group[] = [];
  private syncing: Group[] = [];

  /** Whether a sync is needed that has not begun. */
  get waiting(): boolean {
    return this.staged !== undefined || this.written.length > 0;
  }

  /** Adds a writer; `staged`: it waits for records that are staged, not only for written ones. */
  add(staged: boolean): Promise<void> {
    if (staged) {
      this.staged ??= new Group();
      return this.staged.promise;
    }
    let group = this.written[this.written.length - 1];
    if (group === undefined) {
      group = new Group();
      this.written.push(group);
    }
    return group.promise;
  }

  stagedIsWritten(): void {
    if (this.staged === undefined) return;
    this.written.push(this.staged);
    this.staged = undefined;
  }

  rejectStaged(error: unknown): void {
    this.staged?.reject(error);
    this.staged = undefined;
  }

  syncBegins(): void {
    this.syncing = this.written;
    this.written = [];
  }

  syncEnded(): void {
    for (const group of this.syncing) group.resolve();
    this.syncing = [];
  }

  /** Everything written is on the disk, including what a running sync covers. */
  resolveWritten(): void {
    this.syncEnded();
    for (const group of this.written) group.resolve();
    this.written = [];
  }

  rejectAll(error: unknown): void {
    this.rejectStaged(error);
    for (const group of this.written) group.reject(error);
    for (const group of this.syncing) group.reject(error);
    this.written = [];
    this.syncing = [];
  }
}

/** Writes of the log in one turn of the event loop. */
const WRITES_A_TURN = 64;

/**
 * Lets the event loop turn now and then. A write without a sync is acknowledged within the turn, so a client that awaits one put
 * after another would never leave it: no timer would run, no file would be flushed, and the log would get no next
 * segment.
 */
export class MicrotaskBudget {
  private used = 0;

  /** Runs the task in a microtask, or in the next turn of the event loop when this turn's budget is used up. */
  soon(task: () => void): void {
    if (this.used === WRITES_A_TURN) {
      setImmediate(task);
      return;
    }
    if (this.used++ === 0) {
      setImmediate(() => {
        this.used = 0;
      });
    }
    queueMicrotask(task);
  }
}
