import { toLatin1 } from '../bytes/index.js';

/** A writer that waits for the row's lock. */
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
 * Row locks prevent lost writes beside a delete in this process. HBase stamps both when it applies them, to the
 * millisecond, and a tombstone hides every cell with its timestamp, whatever came first (R32). So a delete holds its
 * row exclusively from sending until a tick after its answer.
 */

/**
 * Milliseconds for which a row stays locked after a delete. Two, since the server's clock may be anywhere within its
 * millisecond.
 */
export const TICK = 2;

/** Per-row FIFO locks: shared by writers, exclusive for deletes. No timeouts. */
export class RowLock {
  private readonly rows = new Map<string, Entry>();

  /**
   * Runs `write` while holding the row's lock, shared or exclusive (`alone`). If `tick` returns true, the lock is
   * held a little longer.
   */
  async run<T>(row: Uint8Array, alone: boolean, tick: boolean, write: () => Promise<T>): Promise<T> {
    const name = toLatin1(row);
    await this.enter(name, alone);
    try {
      return await write();
    } finally {
      this.leave(name, tick);
    }
  }

  /** As `run`, with several rows. They are locked in byte order, so that there are no deadlocks. */
  async runAll<T>(
    rows: readonly { readonly row: Uint8Array; readonly alone: boolean }[],
    write: () => Promise<T>,
  ): Promise<T> {
    const wanted = new Map<string, boolean>();
    for (const { row, alone } of rows) {
      const name = toLatin1(row);
      wanted.set(name, alone || wanted.get(name) === true);
    }
    const names = [...wanted.keys()].sort();
    for (const name of names) await this.enter(name, wanted.get(name)!);
    try {
      return await write();
    } finally {
      for (const name of names) this.leave(name, wanted.get(name)!);
    }
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
    if (tick) setTimeout(() => this.release(name), TICK);
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
