/**
 * Writes entries on HBase around the write of their row: before it marks every entry that the change touches as
 * unverified, after it verifies or removes them. A later change writes a mark of its own, so an earlier one cannot
 * undo it.
 */

import { equalBytes, toLatin1 } from '../../bytes/index.js';
import { ABANDONED_AFTER, type DataRows, type RowWork } from '../../repository/remote/row-work.js';
import {
  type BatchAction,
  type BatchOutcome,
  type Cell,
  CheckAndMutate,
  Get,
  type OperationOptions,
  type RowMutation,
  RowMutations,
  type Table,
} from '../../table/index.js';
import type { EntityIndex } from './entity-indexes.js';
import { decodeEntry, ENTRY_QUALIFIER, INDEX_FAMILY, type IndexEntry, unverifiedValue } from './entry.js';
import { deleteOf, type EntryChange, type EntryPlanner, putOf } from './plan.js';

/** An entry that leads to a row, perhaps wrongly. */
export interface Suspect {
  readonly index: EntityIndex;
  readonly row: Uint8Array;
}

/** An entry that was marked unverified before its row is written. */
export interface Mark extends Suspect {
  readonly change: EntryChange;
  /** The unverified value. */
  readonly value: Uint8Array;
}

/** The entries of a row that is being written. */
export class EntryWork {
  changes: readonly EntryChange[] = [];
  /** In a repair: the number of unique values that other rows hold. */
  taken = 0;
  /** Every marked entry, by its row key (latin1). */
  readonly marks = new Map<string, Mark>();

  constructor(
    /** The work on the row. */
    readonly of: RowWork,
    readonly suspects: readonly Suspect[] = [],
    /** Whether the suspects may belong to other writers, which must be fenced off. */
    readonly isFencing: boolean = false,
  ) {}

  drop(change: EntryChange): void {
    this.changes = this.changes.filter((one) => one !== change);
  }
}

/** The further attempt for a mark that was not as expected. */
interface NextAttempt {
  readonly action: BatchAction;
  /** Whether it takes the value from a writer that gave up. */
  readonly isTakeover: boolean;
}

/** An entry as it is stored. */
export interface StoredEntry {
  readonly cell: Cell;
  readonly holder: Uint8Array;
  readonly token: Uint8Array | undefined;
}

export class EntryMarks {
  constructor(
    private readonly table: Table,
    private readonly planner: EntryPlanner,
    private readonly rows: DataRows,
    private readonly now: () => number,
    private readonly settledAfter: number,
    /** Whether it is in a transaction, so that no other program writes meanwhile. */
    private readonly isAlone: boolean,
    /** Called when a unique value is taken over from a writer that gave up. */
    private readonly onTakeover: () => void,
  ) {}

  /** Marks every entry that the works touch. A work that cannot continue fails or is deferred. */
  async mark(works: readonly EntryWork[], options: OperationOptions | undefined): Promise<void> {
    const marks = works.flatMap((work) => work.changes.map((change) => this.markOf(work, change)));
    for (const [work, mark] of marks) work.marks.set(toLatin1(mark.row), mark);
    const actions = marks.map(([work, mark]) => this.firstAttempt(work, mark));
    const answers = await this.batch(actions, options);
    const contested = marks.filter(([work], i) => !this.isMarked(work, answers[i]!));
    if (contested.length === 0) return;
    await this.contest(works, contested, options);
    await this.release(works.filter(({ of }) => of.isPutOff));
  }

  private markOf(work: EntryWork, change: EntryChange): readonly [EntryWork, Mark] {
    const { index, row, before, after } = change;
    return [work, { index, row, change, value: unverifiedValue((after ?? before)!.value, work.of.token) }];
  }

  /** The first attempt at a mark. Entries of unique indexes are claimed only if they are as expected. */
  private firstAttempt(work: EntryWork, mark: Mark): BatchAction {
    const { index, change } = mark;
    const put = this.putOf(work, mark);
    if (!index.index.unique) return put;
    return change.before === undefined
      ? CheckAndMutate.ifNotExists(INDEX_FAMILY, ENTRY_QUALIFIER, put)
      : ifStill(change.before.value, put);
  }

  private putOf(work: EntryWork, { index, row, value, change }: Mark): RowMutation {
    const ttl = change.after === undefined ? this.planner.remaining(index, work.of.image) : change.ttl;
    return putOf({ row, value }, ttl);
  }

  /** Whether the mark is written, or the work has failed because of it. */
  private isMarked(work: EntryWork, answer: BatchOutcome): boolean {
    if (!answer.ok) work.of.fail(answer.error);
    return !answer.ok || answer.success !== false;
  }

  /**
   * Resolves claims of unique values that were not as expected: held by another row, by an earlier attempt, or by an
   * abandoned change.
   */
  private async contest(
    works: readonly EntryWork[],
    contested: readonly (readonly [EntryWork, Mark])[],
    options: OperationOptions | undefined,
  ): Promise<void> {
    const open = contested.filter(([work]) => !work.of.isDone);
    const found = await this.storedEntries(
      open.map(([, mark]) => mark),
      options,
    );
    const here = new Set(works.filter(({ of }) => !of.isDone).map(({ of }) => toLatin1(of.row)));
    const attempts: [EntryWork, NextAttempt][] = [];
    for (const [i, [work, mark]] of open.entries()) {
      const attempt = await this.nextAttempt(work, mark, found[i], here, options);
      if (attempt !== undefined) attempts.push([work, attempt]);
    }
    const answers = await this.batch(
      attempts.map(([, { action }]) => action),
      options,
    );
    for (const [i, [work, { isTakeover }]] of attempts.entries()) {
      const answer = answers[i]!;
      if (!this.isMarked(work, answer)) work.of.isPutOff = true;
      else if (isTakeover && answer.ok) this.onTakeover();
    }
  }

  private async nextAttempt(
    work: EntryWork,
    mark: Mark,
    found: StoredEntry | undefined,
    here: ReadonlySet<string>,
    options: OperationOptions | undefined,
  ): Promise<NextAttempt | undefined> {
    const { index, row, change } = mark;
    const put = this.putOf(work, mark);
    if (found === undefined) {
      if (change.after !== undefined) {
        const action = CheckAndMutate.ifNotExists(INDEX_FAMILY, ENTRY_QUALIFIER, put);
        return { action, isTakeover: false };
      }
      work.drop(change);
      return undefined;
    }
    const { holder, token, cell } = found;
    const action = ifStill(cell.value, put);
    if (equalBytes(holder, work.of.row)) return { action, isTakeover: false };
    if (change.after === undefined) {
      work.drop(change);
      return undefined;
    }
    const loaded = await this.rows.load(holder, options);
    const { stored, shadow } = loaded;
    if (this.planner.hasEntry(index, stored, row)) {
      if (here.has(toLatin1(holder))) work.of.isPutOff = true;
      else if (work.of.change === undefined) {
        work.taken++;
        work.drop(change);
      } else work.of.fail(this.planner.duplicateError(index, row, holder));
      return undefined;
    }
    // Its row has been written since, or its writer can no longer write the row.
    const isSeen = token === undefined || (shadow !== undefined && equalBytes(token, shadow));
    if (isSeen || (this.isAbandoned(cell) && (await this.rows.fence(holder, loaded, this.now()))))
      return { action, isTakeover: !isSeen };
    work.of.isPutOff = true;
    return undefined;
  }

  /** The timestamp from which on marks may belong to changes in progress, whatever `settledAfter` is. */
  since(): number {
    return Math.max(0, this.now() - ABANDONED_AFTER);
  }

  /** Whether an unverified entry is abandoned. */
  isAbandoned(cell: Cell): boolean {
    return this.remaining(cell) <= 0;
  }

  /** Milliseconds until an unverified entry counts as abandoned. */
  remaining(cell: Cell): number {
    return cell.timestamp + this.settledAfter - this.now();
  }

  /** Releases claimed values, so that two changes that wait for each other do not deadlock. */
  private async release(works: readonly EntryWork[]): Promise<void> {
    const claims = works.flatMap(({ marks }) =>
      [...marks.values()].filter(({ index, change }) => index.index.unique && change.before === undefined),
    );
    await this.remove(claims);
  }

  /** Removes entries that are still as they were marked. @returns their number. */
  async remove(marks: readonly Mark[]): Promise<number> {
    const found = await this.storedEntries(marks, undefined);
    const actions: BatchAction[] = [];
    for (const [i, { row, value }] of marks.entries()) {
      const cell = found[i]?.cell;
      if (cell !== undefined && equalBytes(cell.value, value)) actions.push(this.removal(row, cell));
    }
    await this.batch(actions, undefined);
    return actions.length;
  }

  /**
   * Verifies the new entries of the rows and removes the old ones.
   * @returns the works that lack one of their new entries.
   */
  async settle(works: readonly EntryWork[]): Promise<EntryWork[]> {
    const marks = works.flatMap((work) =>
      [...work.marks.values()]
        .filter(({ change }) => work.changes.includes(change))
        .map((mark): [EntryWork, Mark] => [work, mark]),
    );
    const kept = marks.filter(([, { change }]) => change.after !== undefined);
    const gone = marks.filter(([, { change }]) => change.after === undefined);
    const shortened = kept.map(([, mark]) => mark).filter(({ change }) => change.isShortened);
    const marked = await this.storedEntries(shortened, undefined);
    // In parallel: an unverified new entry already leads readers to the row.
    const removed = this.remove(gone.map(([, mark]) => mark));
    const verifying = this.batch(
      kept.map(([, mark]) => {
        const { value, change } = mark;
        const entry = change.after!;
        const cell = change.isShortened ? marked[shortened.indexOf(mark)]?.cell : undefined;
        return ifStill(
          value,
          cell === undefined ? putOf(entry, change.ttl) : verified(entry, change.ttl, cell),
        );
      }),
      undefined,
    );
    const [answers] = await Promise.all([verifying, removed]);
    const lost = kept.filter((_, i) => {
      const answer = answers[i]!;
      return answer.ok && answer.success === false;
    });
    return [...new Set(lost.map(([work]) => work))];
  }

  /**
   * Removes entries of a row that does not exist: abandoned ones from before the row was fenced, and those with one
   * of the tokens `mine`.
   */
  async removeOrphans(
    of: Uint8Array,
    suspects: readonly Suspect[],
    before: readonly (StoredEntry | undefined)[],
    mine: ReadonlyMap<string, Mark>,
  ): Promise<number> {
    const actions: BatchAction[] = [];
    for (const [i, { row }] of suspects.entries()) {
      const storedEntries = before[i];
      if (storedEntries === undefined || !equalBytes(storedEntries.holder, of)) continue;
      const { cell, token } = storedEntries;
      if (token === undefined || this.isAbandoned(cell)) actions.push(this.removal(row, cell));
    }
    await this.batch(actions, undefined);
    return actions.length + (await this.remove([...mine.values()]));
  }

  async storedEntries(
    entries: readonly Suspect[],
    options: OperationOptions | undefined,
  ): Promise<(StoredEntry | undefined)[]> {
    if (entries.length === 0) return [];
    const found = await this.table.getAll(
      entries.map(({ row }) => new Get(row)),
      options,
    );
    return found.map((result, i) => {
      const cell = result.getLatest(INDEX_FAMILY, ENTRY_QUALIFIER);
      if (cell === undefined) return undefined;
      const { index, row } = entries[i]!;
      const { dataRow: holder, token } = decodeEntry(index.index, row, cell.value);
      return { cell, holder, token };
    });
  }

  /** Verifies or removes unverified entries, if they are still as they were read. */
  async decide(
    decisions: readonly {
      readonly row: Uint8Array;
      readonly cell: Cell;
      readonly put: RowMutation | RowMutations | undefined;
    }[],
  ): Promise<void> {
    await this.batch(
      decisions.map(({ row, cell, put }) =>
        put === undefined ? this.removal(row, cell) : ifStill(cell.value, put),
      ),
      undefined,
    );
  }

  /**
   * A delete up to the cell's own timestamp: a later entry written in the same millisecond as the delete would be
   * hidden. In a transaction nobody writes one, and the cell gets another timestamp at the commit.
   */
  private removal(row: Uint8Array, { value, timestamp }: Cell): CheckAndMutate {
    return ifStill(value, deleteOf(row, this.isAlone ? undefined : timestamp));
  }

  private async batch(
    actions: readonly BatchAction[],
    options: OperationOptions | undefined,
  ): Promise<BatchOutcome[]> {
    return actions.length === 0 ? [] : this.table.batch(actions, options);
  }
}

/**
 * Verifies an entry that was marked by this cell. Where rows have a TTL, also deletes the entry stored before the
 * mark, which may have a longer one and would reappear. The mark expires with the row.
 */
export function verified(
  entry: IndexEntry,
  ttl: number | undefined,
  { timestamp }: Cell,
): RowMutation | RowMutations {
  const put = putOf(entry, ttl);
  return ttl === undefined ? put : new RowMutations(entry.row).add(put, deleteOf(entry.row, timestamp - 1));
}

/** A change of an entry on condition that it still has the value. */
function ifStill(value: Uint8Array, action: RowMutation | RowMutations): CheckAndMutate {
  return CheckAndMutate.ifEquals(INDEX_FAMILY, ENTRY_QUALIFIER, value, action);
}
