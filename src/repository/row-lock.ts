import { toLatin1 } from '../bytes/index.js';

/** A writer before the row's gate. */
interface Waiting {
  readonly alone: boolean;
  readonly enter: () => void;
}

/** The holder of one row's lock, and the writers that wait for it, in the order in which they came. */
export class Entry {
  inside = 0;
  alone = false;
  readonly waiting: Waiting[] = [];
}

/**
 * Keeps writes of one row in this process from being lost beside a delete. HBase stamps both when it applies them, to the
 * millisecond, and a delete hides every write that has its time, whatever came first (R32). So a delete has its row to
 * itself, from when it is sent until a tick after its answer.
 */

/** Milliseconds for which a row is kept after a delete. Two: the end of a tick of the server's clock is not known. */
export const TICK = 2;

/** Writers of a row go together, or one alone; in the order in which they came. It measures no clock, so none can stall it. */
export class RowLock {
  private readonly rows = new Map<string, Entry>();

  /** Runs `write` when the row lets it in. `tick`: keeps the row a little longer when it says so. */
  async run<T>(row: Uint8Array, alone: boolean, tick: boolean, write: () => Promise<T>): Promise<T> {
    const name = toLatin1(row);
    await this.enter(name, alone);
    try {
      return await write();
    } finally {
      this.leave(name, tick);
    }
  }

  /** As `run`, with several rows. They are entered in the order of their bytes, so that no two wait for each other. */
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
