/** A group of writers that wait for the same sync. */
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
 * Who waits for which bytes: those whose records are only staged, those whose records are written, and those whom the
 * sync under way covers. A failed write strikes only the first.
 */
export class SyncWaiters {
  private staged: Group | undefined;
  /** Writers that wait only until staged records are written. */
  private forWrite: Group | undefined;
  private written: Group[] = [];
  private underWay: Group[] = [];

  /** Whether anybody waits for a sync that has not begun. */
  get waiting(): boolean {
    return this.staged !== undefined || this.written.length > 0;
  }

  /** One more who waits: for what is staged now, or only for what is written. */
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

  addForWrite(): Promise<void> {
    this.forWrite ??= new Group();
    return this.forWrite.promise;
  }

  stagedIsWritten(): void {
    this.forWrite?.resolve();
    this.forWrite = undefined;
    if (this.staged === undefined) return;
    this.written.push(this.staged);
    this.staged = undefined;
  }

  rejectStaged(error: unknown): void {
    this.forWrite?.reject(error);
    this.forWrite = undefined;
    this.staged?.reject(error);
    this.staged = undefined;
  }

  syncBegins(): void {
    this.underWay = this.written;
    this.written = [];
  }

  syncEnded(): void {
    for (const group of this.underWay) group.resolve();
    this.underWay = [];
  }

  /** Everything written is on the disk, that of a sync under way included. */
  resolveWritten(): void {
    this.syncEnded();
    for (const group of this.written) group.resolve();
    this.written = [];
  }

  rejectAll(error: unknown): void {
    this.rejectStaged(error);
    for (const group of this.written) group.reject(error);
    for (const group of this.underWay) group.reject(error);
    this.written = [];
    this.underWay = [];
  }
}

/** Writes of the log in one turn of the event loop, before the rest of the program has its turn. */
const WRITES_A_TURN = 64;

/**
 * Lets the event loop turn. What is written without a sync is acknowledged without leaving the turn, so that a client which
 * awaits one put after the other would never leave it either: no timer would run, no file be flushed, and the log would
 * not get its next segment.
 */
export class MicrotaskBudget {
  private used = 0;

  /** Runs the task behind the work at hand, or where this turn has had its share, in the next one. */
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
