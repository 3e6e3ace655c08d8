/**
 * Orders conflicting transactions so that none starves. Of optimistic transactions that run at once and read and write the same row, one
 * commits and the others have conflicts and run again. Without further rules one transaction could lose every time.
 *
 * - A transaction that had a conflict queues for the **turn** of each row at which that happened, and of the rows that it has
 *   read and changed, and runs again when it has all of them. A row's turn belongs to one transaction at a time, first come,
 *   first served. Turns are taken in the order of their names, so that there is no deadlock.
 * - While it runs again it **guards** what it read before: a transaction that would write there delays its commit until this one has
 *   ended, unless it runs again itself and is the older one. So there is no circular wait, and the oldest always commits.
 *
 * So among transactions alone, one that had a conflict commits in its next run, or in the one after if it meets others at another row.
 * Writes outside of transactions take no turns, and may cause further conflicts.
 */

import { toLatin1 } from '../../bytes/index.js';
import type { TableState } from '../table-state.js';
import type { ReadRange, ReadSet } from './read-set.js';

/** The most rows whose turns a transaction takes at once; turns of further conflicts are added one by one. */
const MAX_TURNS = 64;

/** Ends a wait. */
type Wake = () => void;

/** Waits until `wake` is called; rejects when the transaction's deadline or signal ends the wait. */
export type Wait = (begin: (wake: Wake) => () => void) => Promise<void>;

/** One transaction, over all of its runs. */
export class Contender {
  /** The turns of rows at which it had conflicts, in the order in which they are taken. */
  private turns: readonly string[] = [];
  /** The turns of rows that it holds. */
  private readonly held: string[] = [];
  /** The data that its last run has read, while it runs again. */
  guarded: ReadSet | undefined;
  /** Commits that wait for its end. */
  readonly waiting = new Set<Wake>();

  constructor(
    private readonly contention: Contention,
    /** The order in which transactions began. */
    readonly age: number,
  ) {}

  /** Called after a conflict at `place`, for a run that has read `reads` and changed `written`. */
  onConflict(place: ReadRange, reads: ReadSet, written: Iterable<WrittenRow>): void {
    const names = new Set(this.turns).add(turnOf(place));
    for (const { state, row } of written) {
      if (names.size >= MAX_TURNS) break;
      if (reads.covers(state, row)) names.add(turnOfRow(state, row));
    }
    this.turns = [...names].sort();
    this.guarded = reads;
  }

  /** Resolves when it may run again. */
  async takeTurns(wait: Wait): Promise<void> {
    for (const name of this.turns) {
      await this.contention.takeTurn(name, wait);
      this.held.push(name);
    }
    if (this.guarded !== undefined) this.contention.guards.add(this);
  }

  /**
   * What a commit that would write `rows` has to wait for: the end of a transaction that goes first and guards one of them; undefined
   * for nothing. To be called again after the wait, and in the turn of the commit.
   */
  blockedBy(rows: Iterable<WrittenRow>, wait: Wait): Promise<void> | undefined {
    const guard = this.guardOf(rows);
    if (guard === undefined) return undefined;
    return wait((wake) => {
      guard.waiting.add(wake);
      return () => guard.waiting.delete(wake);
    });
  }

  private guardOf(rows: Iterable<WrittenRow>): Contender | undefined {
    const isGuard = this.contention.guards.has(this);
    const others = [...this.contention.guards].filter(
      (guard) => guard !== this && !(isGuard && guard.age >= this.age),
    );
    if (others.length === 0) return undefined;
    for (const { state, row } of rows) {
      const found = others.find((guard) => guard.guarded!.covers(state, row));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Called when a run has ended, with or without success: passes its turns on. */
  ended(): void {
    this.contention.guards.delete(this);
    for (const wake of this.waiting) wake();
    this.waiting.clear();
    for (const name of this.held.splice(0)) this.contention.passTurn(name);
  }
}

/** A row that a transaction has changed. */
export interface WrittenRow {
  readonly state: TableState;
  readonly row: Uint8Array;
}

/** The turns and guards of one store. */
export class Contention {
  /** Transactions that run again. */
  readonly guards = new Set<Contender>();
  /** Turns that are taken, each with the queue of those that wait for it. */
  private readonly turns = new Map<string, Wake[]>();
  private begun = 0;

  enter(): Contender {
    return new Contender(this, this.begun++);
  }

  async takeTurn(name: string, wait: Wait): Promise<void> {
    const queue = this.turns.get(name);
    if (queue === undefined) {
      this.turns.set(name, []);
      return;
    }
    await wait((wake) => {
      queue.push(wake);
      return () => queue.splice(queue.indexOf(wake), 1);
    });
  }

  passTurn(name: string): void {
    const next = this.turns.get(name)!.shift();
    if (next === undefined) this.turns.delete(name);
    else next();
  }
}

/** The name of a turn. All ranges of one table share one, because they may overlap. */
function turnOf({ state, start, stop }: ReadRange): string {
  return start === stop ? turnOfRow(state, start) : `${state.id}`;
}

function turnOfRow({ id }: TableState, row: Uint8Array): string {
  return `${id} ${toLatin1(row)}`;
}
