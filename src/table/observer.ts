import { InvalidArgumentError } from '../errors.js';
import { type Cell, describe } from './checks.js';
import { canonicalTableName } from './descriptor.js';
import type { Get } from './get-and-scan.js';
import type { Durability, RowMutation } from './mutation.js';
import type { Result } from './result.js';
import type { RowMutations } from './row-mutations.js';
import type { TableChange } from './table.js';

/** Observers: what is told of every write of a table, whoever makes it, and may add to it or refuse it. */

/** A change of one row, as an observer sees it. It must not be altered. */
export interface ObservedWrite {
  readonly table: string;
  readonly change: RowMutation | RowMutations;
  /**
   * Reads a row of this table, or of another: on the embedded engine as it is at this point of the step, at once; on
   * HBase with a call of its own.
   */
  read(get: Get, table?: string): Result | Promise<Result>;
  /**
   * In `after` on the embedded engine: the cells as they were stored, with the times they were given, the sums of
   * increments, the markers of a delete of a whole row; those that end are {@link CellWithTtl}s. Undefined elsewhere.
   */
  readonly stored?: (() => readonly Cell[]) | undefined;
}

/** Changes that are to be made with the observed one; nothing: none. */
export type Additions = readonly TableChange[] | undefined;

/**
 * Told of each change of a row: puts, deletes, increments, appends and row mutations, those of batches and those of checks
 * that held. Bulk loads pass it by.
 *
 * On the embedded engine both functions run in the step of the write and answer at once; what they answer is written in
 * the same step, what they throw keeps the whole step out. On HBase `before` runs before the call is sent (its additions
 * are sent ahead of it; what it throws keeps the call back) and `after` when it has succeeded (its additions follow, and
 * what it throws is thrown to the writer although the write stands): other writers, and a crash, may come in between.
 */
export interface WriteObserver {
  /**
   * Asked before either of the others is called: true, and it is not called for the change. For those who let many changes
   * pass: it costs less than what the others are given.
   */
  ignores?(change: RowMutation | RowMutations): boolean;
  before?(write: ObservedWrite): Additions | Promise<Additions>;
  after?(write: ObservedWrite): Additions | Promise<Additions>;
}

/** The observers of an engine's tables, in the order in which they were added. */
export class WriteObservers {
  private readonly byTable = new Map<string, readonly WriteObserver[]>();

  /** Those of a table; undefined when there are none. `name` as {@link canonicalTableName} gives it. */
  of(name: string): readonly WriteObserver[] | undefined {
    return this.byTable.size === 0 ? undefined : this.byTable.get(name);
  }

  /** Those of a table that do not ignore a change; undefined when there are none. */
  told(name: string, change: RowMutation | RowMutations): readonly WriteObserver[] | undefined {
    const all = this.of(name);
    if (all === undefined) return undefined;
    let count = 0;
    for (const observer of all) if (isTold(observer, change)) count++;
    if (count === all.length) return all;
    return count === 0 ? undefined : all.filter((observer) => isTold(observer, change));
  }

  /** Adds one; the function that takes it away again. @throws InvalidArgumentError when it is none. */
  add(table: string, observer: WriteObserver): () => void {
    const given: unknown = observer;
    if (
      typeof given !== 'object' ||
      given === null ||
      !isFunctionOrNothing(observer.ignores) ||
      !isFunctionOrNothing(observer.before) ||
      !isFunctionOrNothing(observer.after) ||
      (observer.before === undefined && observer.after === undefined)
    ) {
      throw new InvalidArgumentError(
        `observe takes an object with a function "before", "after" or both, not ${describe(given)}.`,
      );
    }
    const name = canonicalTableName(table);
    // One entry for each call, so that what was added twice is taken away once for each.
    const entry: WriteObserver = {
      ...(observer.ignores && { ignores: (change) => observer.ignores!(change) }),
      ...(observer.before && { before: (write) => observer.before!(write) }),
      ...(observer.after && { after: (write) => observer.after!(write) }),
    };
    this.byTable.set(name, [...(this.byTable.get(name) ?? []), entry]);
    return () => {
      const left = (this.byTable.get(name) ?? []).filter((each) => each !== entry);
      if (left.length === 0) this.byTable.delete(name);
      else this.byTable.set(name, left);
    };
  }
}

/** Whether an observer is to be told of a change. */
export function isTold({ ignores }: WriteObserver, change: RowMutation | RowMutations): boolean {
  return ignores === undefined || !ignores(change);
}

function isFunctionOrNothing(value: unknown): boolean {
  return value === undefined || typeof value === 'function';
}

/** The commits of an engine that numbers them: what is told of each as a whole, inside of its step. */

/** A row that a commit has changed, as it was before the commit and as the commit leaves it. */
export interface CommittedRow {
  readonly table: string;
  readonly row: Uint8Array;
  /** The newest cell of each column; empty: there was no row. */
  readonly before: Result;
  readonly after: Result;
}

/** All that one step of writes has changed of the recorded tables. */
export interface Commit {
  /** Greater than that of every commit before it, across openings too. */
  readonly number: number;
  /** The strictest that its writes ask for. */
  readonly durability: Durability;
  /** In the order in which they were changed first; rows that are as they were are left out. */
  readonly rows: readonly CommittedRow[];
}

/**
 * Told of the commits that change rows which it wants. `record` runs in the step, behind all else; it answers at once what is to
 * be written in the same step, and what it throws keeps the whole step out.
 */
export interface CommitRecorder {
  wants(table: string, row: Uint8Array): boolean;
  record(commit: Commit): readonly TableChange[];
  /** What was recorded can be read now. */
  committed(): void;
}

/** The commits of an engine, from the one that they are asked for on. */
export interface Commits {
  /** The number up to which readers see everything: whatever they do not see yet has a greater one. */
  readonly last: number;
  /** Has every commit that changes rows of these tables recorded; the function that ends it. */
  record(tables: readonly string[], recorder: CommitRecorder): () => void;
}

/** The recorders of an engine's tables. */
export class CommitRecorders {
  private readonly byTable = new Map<string, readonly CommitRecorder[]>();

  /** Those of a table; undefined when there are none. */
  of(table: string): readonly CommitRecorder[] | undefined {
    return this.byTable.size === 0 ? undefined : this.byTable.get(table);
  }

  add(tables: readonly string[], recorder: CommitRecorder): () => void {
    for (const table of tables) this.byTable.set(table, [...(this.byTable.get(table) ?? []), recorder]);
    return () => {
      for (const table of tables) {
        const left = (this.byTable.get(table) ?? []).filter((each) => each !== recorder);
        if (left.length === 0) this.byTable.delete(table);
        else this.byTable.set(table, left);
      }
    };
  }
}
