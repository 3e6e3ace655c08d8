/** What clients of a store asked for that do not wait for each other, and what may be found of it. */

import { RowanError } from '../../../src/errors.js';

export type ChangeKind = 'put' | 'loose' | 'set' | 'delete' | 'count' | 'append' | 'batch' | 'load' | 'table';

/** One change. `begun` and `ended` are ticks of the history's own clock. */
export interface Change {
  readonly id: number;
  readonly kind: ChangeKind;
  /** The row that several changes share, of those kinds that share one. */
  readonly row: string;
  /** Whether it was to be on the disk before it was acknowledged. */
  readonly synced: boolean;
  readonly begun: number;
  ended: number;
  outcome: 'open' | 'acknowledged' | 'rejected';
  /** Of a rejected one. */
  code?: string;
}

/** What a store shows: the changes whose traces are there, and the last change of each shared row. */
export interface Observed {
  readonly changes: ReadonlySet<number>;
  /** Shared row to the change whose value it has, or undefined when it has none. */
  readonly values: ReadonlyMap<string, number>;
}

/** Which changes must be there. */
export interface Demand {
  /** Changes that were acknowledged up to this tick, and none that was begun later. */
  readonly acknowledgedUntil: number;
  readonly begunUntil: number;
  /** Whether only what was synced must be there: after a loss of power. */
  readonly syncedOnly: boolean;
  /**
   * Changes begun before this tick, in an earlier life of the store, whose log could not be synced, may be there though
   * they were rejected; default none.
   */
  readonly doubtfulUntil?: number;
}

export class History {
  readonly changes: Change[] = [];
  /** Ticks on at every beginning and end of a change. */
  now = 0;

  begin(kind: ChangeKind, row: string, synced: boolean): Change {
    const change: Change = {
      id: this.changes.length,
      kind,
      row,
      synced,
      begun: ++this.now,
      ended: Infinity,
      outcome: 'open',
    };
    this.changes.push(change);
    return change;
  }

  /** Follows a change to its end, whichever it is; other errors than Rowan's are the test's failure. */
  async follow(change: Change, work: Promise<unknown>): Promise<void> {
    try {
      await work;
      change.outcome = 'acknowledged';
    } catch (error) {
      if (!(error instanceof RowanError)) throw error;
      change.outcome = 'rejected';
      change.code = error.code;
    } finally {
      change.ended = ++this.now;
    }
  }

  /** Throws when a store that shows this breaks a promise. */
  check({ changes, values }: Observed, demand: Demand): void {
    for (const id of changes) this.checkPresent(id, demand);
    for (const change of this.changes) {
      if (changes.has(change.id) || change.kind === 'loose') continue;
      if (change.outcome !== 'acknowledged' || change.ended > demand.acknowledgedUntil) continue;
      if (demand.syncedOnly && !change.synced) continue;
      throw new Error(`${this.say(change)} was acknowledged and is not there`);
    }
    this.checkNoHoles(changes);
    this.checkValues(changes, values);
  }

  private checkPresent(id: number, { begunUntil, doubtfulUntil = 0 }: Demand): void {
    const change = this.changes[id];
    if (change === undefined || change.begun > begunUntil)
      throw new Error(`change ${id} was found before it was made`);
    const doubtful = change.code === 'ERR_READONLY' && change.begun <= doubtfulUntil;
    if (change.outcome === 'rejected' && !doubtful)
      throw new Error(`${this.say(change)} was rejected (${change.code}) and is there`);
  }

  /** Whatever had ended when a change began that is there, is there too. */
  private checkNoHoles(found: ReadonlySet<number>): void {
    let latest: Change | undefined;
    for (const id of found) {
      const change = this.changes[id]!;
      if (change.kind === 'loose') continue;
      if (latest === undefined || change.begun > latest.begun) latest = change;
    }
    if (latest === undefined) return;
    for (const change of this.changes) {
      if (change.outcome !== 'acknowledged' || change.ended >= latest.begun) continue;
      if (change.kind !== 'loose' && !found.has(change.id))
        throw new Error(`${this.say(latest)} is there, but not ${this.say(change)} which had ended before`);
    }
  }

  /** A shared row shows a change that no other change of the row has followed. */
  private checkValues(found: ReadonlySet<number>, values: ReadonlyMap<string, number>): void {
    const byRow = new Map<string, Change[]>();
    for (const id of found) {
      const change = this.changes[id]!;
      if (change.kind !== 'set' && change.kind !== 'delete') continue;
      byRow.set(change.row, [...(byRow.get(change.row) ?? []), change]);
    }
    for (const row of values.keys())
      if (!byRow.has(row)) throw new Error(`${row} has a value that nobody gave it`);
    for (const [row, changes] of byRow) {
      const value = values.get(row);
      const candidates = changes.filter(({ id, kind }) =>
        value === undefined ? kind === 'delete' : id === value,
      );
      if (candidates.length === 0)
        throw new Error(`${row} shows ${value ?? 'nothing'}, whose change is not there`);
      const last = candidates.some((one) => !changes.some((other) => other.begun > one.ended));
      if (!last) throw new Error(`${row} shows ${value ?? 'nothing'}, which a later change had replaced`);
    }
  }

  private say({ id, kind, row, synced, begun, ended }: Change): string {
    return `change ${id} (${kind} ${row}${synced ? '' : ', not synced'}, ${begun} to ${ended})`;
  }
}

const LOGGED: ReadonlySet<ChangeKind> = new Set(['put', 'set', 'delete', 'count', 'append', 'batch']);

/**
 * Holds the states that crashes of one script have left to being prefixes of one order, whichever that is: of any two,
 * one holds all that the other holds. This is for changes in the log; what goes into the MANIFEST instead may come before
 * or after a change in the log that is made at the same time, until one of them is acknowledged.
 */
export class Chain {
  private readonly seen = new Map<string, { changes: ReadonlySet<number>; where: string }>();

  add(found: ReadonlySet<number>, history: History, where: string): void {
    const changes = new Set([...found].filter((id) => LOGGED.has(history.changes[id]!.kind)));
    this.seen.set([...changes].sort((a, b) => a - b).join(), { changes, where });
  }

  /** How many different ones there were. */
  check(): number {
    const states = [...this.seen.values()].sort((a, b) => a.changes.size - b.changes.size);
    for (let i = 1; i < states.length; i++) {
      const [less, more] = [states[i - 1]!, states[i]!];
      const only = [...less.changes].filter((id) => !more.changes.has(id));
      const other = [...more.changes].filter((id) => !less.changes.has(id));
      if (only.length > 0)
        throw new Error(
          `a hole: ${only} but not ${other} was found ${less.where}, the other way round ${more.where}`,
        );
    }
    return states.length;
  }
}
