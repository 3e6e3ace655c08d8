import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { toLatin1 } from '../bytes/index.js';
import type { WholeCall } from './options.js';

/**
 * How a write holds its row: beside others that only put (`puts`), beside others that only increment and append (`adds`), or by itself
 * (`alone`): deletes, changes that read first, and changes that put and add at once.
 */
export type RowUse = 'puts' | 'adds' | 'alone';

/** A writer that waits for a row. */
interface Waiting {
  readonly use: RowUse;
  enter: () => void;
}

/** Rows of puts that run while no others use the lock. Named when others come. */
interface UnnamedPuts {
  readonly rows: readonly Uint8Array[];
  names: readonly string[] | undefined;
}

/** The lock of one row: its holders, and the waiting writers in FIFO order. */
class Entry {
  inside = 0;
  use: RowUse = 'puts';
  /** The latest time, on the clock of `performance.now()`, that a cell of a write which has ended may be stamped with. */
  latest = Number.NEGATIVE_INFINITY;
  /** Whether the row is kept until {@link latest} is over. */
  isKept = false;
  readonly waiting: Waiting[] = [];
}

/**
 * Resolves when the millisecond of `since`, on the clock of `performance.now()`, is over at the server too. It passes between two changes
 * of one row of which one may be a delete: HBase stamps both when it applies them, to the millisecond, and a delete hides every put
 * that has its timestamp, whatever came first (R32).
 */
export async function nextMillisecond(since = performance.now()): Promise<void> {
  // The tenth allows for clocks of different speed.
  const isOver = (): boolean => performance.now() - since >= 1.1;
  if (!isOver()) await sleep(1);
  // A timer counts from the start of its turn of the event loop, so it may fire early. A second one would double the wait.
  while (!isOver()) await turn();
}

/** The most attempts of a change whose rows are written, or whose unique values are claimed, by other programs at the same time. */
export const ROW_ATTEMPTS = 64;
/** The longest pause between two of them, ms. */
const LONGEST_PAUSE = 100;

/** Waits before an attempt after the first: at random, and longer each time, so that programs which disturb each other meet less often. */
export async function pauseBefore(attempt: number): Promise<void> {
  await sleep(Math.random() * Math.min(LONGEST_PAUSE, 2 ** attempt));
}

/**
 * Orders the writes of each row in this process: writers of a row run together or one alone ({@link RowUse}), in the order in which they
 * came. A delete keeps its row for a millisecond after its answer, so that no later put of this process is hidden by it. So does an
 * increment or append: HBase stamps it at least a millisecond after the cell that it adds to, so many of them run ahead of the clock,
 * and a put or delete with an earlier timestamp would change nothing.
 */
export class RowLock {
  private readonly rows = new Map<string, Entry>();
  /** Puts without entries in `rows`, which is empty while there are any: puts alone wait for no other writer. */
  private readonly unnamed = new Set<UnnamedPuts>();
  private readonly background = new Set<Promise<void>>();

  /**
   * Runs `write` while it holds the row. @param call whose time the wait for the row is part of. @throws TimeoutError, RowanError
   * `ERR_ABORTED` while it waits.
   */
  async run<T>(row: Uint8Array, use: RowUse, write: () => Promise<T>, call?: WholeCall): Promise<T> {
    if (use === 'puts') return this.runPuts([row], write, call);
    const name = toLatin1(row);
    const entered = this.enter(name, use, call);
    if (entered !== undefined) await entered;
    try {
      return await write();
    } finally {
      this.leave(name, use);
    }
  }

  /** As `run`, with several rows. */
  async runAll<T>(
    rows: readonly { readonly row: Uint8Array; readonly use: RowUse }[],
    write: () => Promise<T>,
    call?: WholeCall,
  ): Promise<T> {
    const release = await this.hold(rows, call);
    try {
      return await write();
    } finally {
      release();
    }
  }

  /** As `runAll`, with the use `puts` of all rows. */
  async runPuts<T>(rows: readonly Uint8Array[], write: () => Promise<T>, call?: WholeCall): Promise<T> {
    if (this.rows.size > 0)
      return this.runAll(
        rows.map((row) => ({ row, use: 'puts' })),
        write,
        call,
      );
    const puts: UnnamedPuts = { rows, names: undefined };
    this.unnamed.add(puts);
    try {
      return await write();
    } finally {
      if (puts.names === undefined) this.unnamed.delete(puts);
      else for (const name of puts.names) this.leave(name, 'puts');
    }
  }

  /**
   * Takes the locks of several rows, in the order of their bytes, so that no two callers wait for each other.
   * @returns releases them, each when the times of its cells are over. @throws as {@link run}; then it holds none.
   */
  async hold(
    rows: readonly { readonly row: Uint8Array; readonly use: RowUse }[],
    call?: WholeCall,
  ): Promise<() => void> {
    const wanted = new Map<string, RowUse>();
    for (const { row, use } of rows) {
      const name = toLatin1(row);
      wanted.set(name, use === (wanted.get(name) ?? use) ? use : 'alone');
    }
    const names = [...wanted.keys()].sort();
    let held = 0;
    try {
      for (; held < names.length; held++) {
        const entered = this.enter(names[held]!, wanted.get(names[held]!)!, call);
        if (entered !== undefined) await entered;
      }
    } catch (error) {
      for (const name of names.slice(0, held)) this.release(name);
      throw error;
    }
    return () => {
      for (const name of names) this.leave(name, wanted.get(name)!);
    };
  }

  /** Releases rows when the background work of an acknowledged write has ended. */
  releaseAfter(work: Promise<unknown>, release: () => void): void {
    const ending = work.then(release, (error: unknown) => {
      release();
      throw error;
    });
    const background = ending.finally(() => this.background.delete(background));
    this.background.add(background);
  }

  /** Resolves when the work that follows the writes completed before this call has ended. */
  async rest(): Promise<void> {
    await Promise.all(this.background);
  }

  private nameAll(): void {
    const all = [...this.unnamed];
    this.unnamed.clear();
    for (const puts of all) {
      puts.names = puts.rows.map((row) => toLatin1(row));
      for (const name of puts.names) void this.enter(name, 'puts');
    }
  }

  /** Undefined: the row is held. */
  private enter(name: string, use: RowUse, call?: WholeCall): Promise<void> | undefined {
    if (this.unnamed.size > 0) this.nameAll();
    let entry = this.rows.get(name);
    if (entry === undefined) {
      entry = new Entry();
      this.rows.set(name, entry);
    }
    if (entry.waiting.length === 0 && admits(entry, use)) {
      entry.inside++;
      entry.use = use;
      return undefined;
    }
    const writer: Waiting = { use, enter: () => undefined };
    entry.waiting.push(writer);
    const entered = new Promise<void>((enter) => {
      writer.enter = enter;
    });
    return call === undefined ? entered : this.orLeave(name, writer, call.before(entered));
  }

  /** A writer that no longer waits leaves the row to those behind it. */
  private async orLeave(name: string, writer: Waiting, entered: Promise<void>): Promise<void> {
    try {
      await entered;
    } catch (error) {
      const entry = this.rows.get(name)!;
      const place = entry.waiting.indexOf(writer);
      // It has the row since this turn of the event loop.
      if (place === -1) this.release(name);
      else {
        entry.waiting.splice(place, 1);
        admitWaiting(entry);
      }
      throw error;
    }
  }

  private leave(name: string, use: RowUse): void {
    if (use !== 'puts') {
      const entry = this.rows.get(name)!;
      entry.latest = Math.max(performance.now(), entry.latest + 1);
      if (!entry.isKept) {
        void this.keep(name, entry);
        return;
      }
    }
    this.release(name);
  }

  private async keep(name: string, entry: Entry): Promise<void> {
    entry.isKept = true;
    for (let over = Number.NaN; over !== entry.latest; ) {
      over = entry.latest;
      await nextMillisecond(over);
    }
    entry.isKept = false;
    this.release(name);
  }

  private release(name: string): void {
    const entry = this.rows.get(name)!;
    entry.inside--;
    admitWaiting(entry);
    if (entry.inside === 0) this.rows.delete(name);
  }
}

function admitWaiting(entry: Entry): void {
  const { waiting } = entry;
  while (waiting.length > 0 && admits(entry, waiting[0]!.use)) {
    const next = waiting.shift()!;
    entry.inside++;
    entry.use = next.use;
    next.enter();
  }
}

function admits({ inside, use: held }: Entry, use: RowUse): boolean {
  return inside === 0 || (use === held && use !== 'alone');
}
