import { setTimeout as sleep } from 'node:timers/promises';
import { toLatin1 } from '../bytes/index.js';

/** A writer that waits for a row. */
interface Waiting {
  readonly alone: boolean;
  readonly enter: () => void;
}

/** The lock of one row: its holders, and the waiting writers in FIFO order. */
export class Entry {
  inside = 0;
  alone = false;
  readonly waiting: Waiting[] = [];
}

/**
 * Resolves when the millisecond of `since`, on the clock of `performance.now()`, is over at the server too. It passes between two changes
 * of one row of which one may be a delete: HBase stamps both when it applies them, to the millisecond, and a delete hides every put
 * that has its timestamp, whatever came first (R32).
 */
export async function nextMillisecond(since = performance.now()): Promise<void> {
  // A timer counts from the start of its turn of the event loop, so it may fire early; the tenth allows for clocks of different speed.
  while (performance.now() - since < 1.1) await sleep(1);
}

/**
 * Orders the writes of each row in this process: writers of a row run together, or one alone, in the order in which they came. A
 * delete has its row alone, and keeps it for a millisecond after its answer, so that no later put of this process is hidden by it.
 */
export class RowLock {
  private readonly rows = new Map<string, Entry>();
  private readonly behind = new Set<Promise<void>>();

  /** Runs `write` while it holds the row. `tick`: the row is kept until the next millisecond. */
  async run<T>(row: Uint8Array, alone: boolean, tick: boolean, write: () => Promise<T>): Promise<T> {
    const name = toLatin1(row);
    const entered = this.enter(name, alone);
    if (entered !== undefined) await entered;
    try {
      return await write();
    } finally {
      this.leave(name, tick);
    }
  }

  /** As `run`, with several rows. */
  async runAll<T>(
    rows: readonly { readonly row: Uint8Array; readonly alone: boolean }[],
    write: () => Promise<T>,
  ): Promise<T> {
    const release = await this.hold(rows);
    try {
      return await write();
    } finally {
      release();
    }
  }

  /**
   * Takes the locks of several rows, in the order of their bytes, so that no two callers wait for each other.
   * @returns releases them; rows that were taken alone a millisecond later.
   */
  async hold(rows: readonly { readonly row: Uint8Array; readonly alone: boolean }[]): Promise<() => void> {
    const wanted = new Map<string, boolean>();
    for (const { row, alone } of rows) {
      const name = toLatin1(row);
      wanted.set(name, alone || wanted.get(name) === true);
    }
    const names = [...wanted.keys()].sort();
    for (const name of names) {
      const entered = this.enter(name, wanted.get(name)!);
      if (entered !== undefined) await entered;
    }
    return () => {
      for (const name of names) this.leave(name, wanted.get(name)!);
    };
  }

  /** Releases rows when the work that goes on behind an answered write has ended. */
  releaseAfter(work: Promise<unknown>, release: () => void): void {
    const ending = work.then(release, (error: unknown) => {
      release();
      throw error;
    });
    const behind = ending.finally(() => this.behind.delete(behind));
    this.behind.add(behind);
  }

  /** Resolves when the work behind the writes that were answered before the call has ended. */
  async rest(): Promise<void> {
    await Promise.all(this.behind);
  }

  private enter(name: string, alone: boolean): Promise<void> | undefined {
    let entry = this.rows.get(name);
    if (entry === undefined) {
      entry = new Entry();
      this.rows.set(name, entry);
    }
    if (entry.waiting.length === 0 && (entry.inside === 0 || !(alone || entry.alone))) {
      entry.inside++;
      entry.alone = alone;
      return undefined;
    }
    const { waiting } = entry;
    return new Promise((enter) => {
      waiting.push({ alone, enter });
    });
  }

  private leave(name: string, tick: boolean): void {
    if (tick) void nextMillisecond().then(() => this.release(name));
    else this.release(name);
  }

  private release(name: string): void {
    const entry = this.rows.get(name)!;
    entry.inside--;
    if (entry.inside > 0) return;
    entry.alone = false;
    const { waiting } = entry;
    while (waiting.length > 0 && (entry.inside === 0 || !(waiting[0]!.alone || entry.alone))) {
      const next = waiting.shift()!;
      entry.inside++;
      entry.alone = next.alone;
      next.enter();
    }
    if (entry.inside === 0) this.rows.delete(name);
  }
}
