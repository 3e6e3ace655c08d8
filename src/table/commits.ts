/** The commits of an engine that numbers them: what is told of each as a whole, inside of its step. */

import type { Durability } from './mutation.js';
import type { Result } from './result.js';
import type { TableChange } from './table.js';

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
