/**
 * Who goes first when transactions meet, so that none starves. Optimistic transactions that read the same row take effect
 * one after the other: of those that run at once one commits, and the others have run in vain. Left alone, a transaction can
 * lose every time.
 *
 * - A transaction that was overtaken takes the **turn** of each row at which that has happened, and of those that it has read
 *   and changed, and runs again when it has them all: in the order in which they were asked for, one transaction at a time. Turns are taken in one order of their
 *   names, so that no two wait for each other.
 * - While it runs again it **guards** what it read before: who would write there waits with its commit until it has ended,
 *   unless it runs again too and is the older one. So nobody waits in a circle, and the oldest of those always gets through.
 *
 * So among transactions alone, one that was overtaken commits in its next run, or in the one after when it met others at
 * another row. Writes outside of transactions ask for no turn and may overtake it again.
 */

import { toLatin1 } from '../../bytes/index.js';
import type { TableState } from '../table-state.js';
import type { ReadRange, ReadSet } from './read-set.js';

/** Rows whose turns one transaction takes at most; where it is overtaken at others, their turns are added one by one. */
const MOST_TURNS = 64;

/** Called when what was waited for is there. */
type Wake = () => void;

/** Waits until `wake` is called or the waiter gives up: rejects by its deadline or signal. */
export type Patience = (begin: (wake: Wake) => () => void) => Promise<void>;

/** One transaction, over all of its runs. */
export class Contender {
  /** Rows at which it was overtaken, in the order in which turns are taken. */
  private turns: readonly string[] = [];
  /** Those of them that it has. */
  private readonly held: string[] = [];
  /** What its last run has read, while it runs again. */
  guarded: ReadSet | undefined;
  /** Those whose commits wait for its end. */
  readonly waiting = new Set<Wake>();

  constructor(
    private readonly contention: Contention,
    /** The order in which transactions began. */
    readonly age: number,
  ) {}

  /** It was overtaken at `place`, having read `reads` and changed `written`. */
  overtaken(place: ReadRange, reads: ReadSet, written: Iterable<WrittenRow>): void {
    const names = new Set(this.turns).add(turnOf(place));
    for (const { state, row } of written) {
      if (names.size >= MOST_TURNS) break;
      if (reads.covers(state, row)) names.add(turnOfRow(state, row));
    }
    this.turns = [...names].sort();
    this.guarded = reads;
  }

  /** Resolves when it may run again. */
  async takeTurns(patience: Patience): Promise<void> {
    for (const name of this.turns) {
      await this.contention.takeTurn(name, patience);
      this.held.push(name);
    }
    if (this.guarded !== undefined) this.contention.guards.add(this);
  }

  /**
   * What a commit that would write `rows` has to wait for: the end of who goes first and guards one of them; undefined: of
   * nobody. To be asked again behind the wait, and in the turn of the commit.
   */
  toWaitFor(rows: Iterable<WrittenRow>, patience: Patience): Promise<void> | undefined {
    const guard = this.guardOf(rows);
    if (guard === undefined) return undefined;
    return patience((wake) => {
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

  /** The run has ended, however: others have their turn. */
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
  /** Turns that somebody has, each with those that wait for it, in their order. */
  private readonly turns = new Map<string, Wake[]>();
  private begun = 0;

  enter(): Contender {
    return new Contender(this, this.begun++);
  }

  async takeTurn(name: string, patience: Patience): Promise<void> {
    const queue = this.turns.get(name);
    if (queue === undefined) {
      this.turns.set(name, []);
      return;
    }
    await patience((wake) => {
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

/** Ranges of one table have one turn, for they may overlap. */
function turnOf({ state, start, stop }: ReadRange): string {
  return start === stop ? turnOfRow(state, start) : `${state.id}`;
}

function turnOfRow({ id }: TableState, row: Uint8Array): string {
  return `${id} ${toLatin1(row)}`;
}
