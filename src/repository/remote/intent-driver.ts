/**
 * Applies changes on HBase, where one step changes one row (docs/extending.md). In order:
 *
 * 1. The row and its shadow are read.
 * 2. Intents are noted, and the index entries that the change touches are marked unverified.
 * 3. The row is written with a new shadow, on condition that the shadow is the one that was read.
 * 4. Behind the answer, entries are verified or removed, effects are settled and intents end.
 *
 * A change that is broken off leaves intents, which the outbox and the readers of the change log settle, and unverified entries, which
 * readers check against the row (docs/indexes-internals.md).
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { equalBytes, toLatin1 } from '../../bytes/index.js';
import { ConflictError, RowanError } from '../../errors.js';
import type { EntityIndex, EntityIndexes } from '../../features/indexes/entity-indexes.js';
import { encodeEntryValue } from '../../features/indexes/entry.js';
import { type EntryChange, EntryPlanner } from '../../features/indexes/plan.js';
import { EntryMarks, type StoredEntry } from '../../features/indexes/remote.js';
import { type BatchOutcome, type OperationOptions, Result, type Table } from '../../table/index.js';
import {
  type Change,
  checked,
  deleteOutlived,
  type Expectation,
  getIf,
  isSatisfiedBy,
  type Remains,
  resolvedFor,
} from '../change.js';
import type { ChangeOutcome } from '../executor.js';
import { WholeCall } from '../options.js';
import { isPlain, RowImage, withoutIdleDeletes } from '../row-image.js';
import { nextMillisecond } from '../row-lock.js';
import { BackgroundBatches } from './background-batches.js';
import {
  ABANDONED_AFTER,
  allEnded,
  DataRows,
  type Mark,
  type RowIntent,
  RowWork,
  type Suspect,
  WINDOW,
} from './row-work.js';

/** Attempts of a change whose row is written, or whose unique values are claimed, by others at the same time. */
const ATTEMPTS = 64;
/** The longest wait between two attempts, ms. */
const LONGEST_WAIT = 100;

/** The outcome of mending the entries of a row. */
interface RepairedRow {
  readonly error: RowanError | undefined;
  /** The number of its unique values that another entity holds. */
  readonly taken: number;
  /** Entries written or removed. */
  readonly entries: number;
}

export class IntentDriver {
  readonly planner: EntryPlanner;
  readonly rows: DataRows;
  readonly entries: EntryMarks;
  private readonly finishing = new BackgroundBatches<RowWork>((works) => this.finishEntries(works));

  constructor(
    table: Table,
    entries: Table,
    readonly indexes: EntityIndexes,
    private readonly now: () => number,
    /** Milliseconds after which the writer of an unverified entry is taken to have given up. */
    settledAfter: number = ABANDONED_AFTER,
    /** The intents of changes, in the order in which they plan. */
    readonly intents: readonly RowIntent[] = [],
  ) {
    this.planner = new EntryPlanner(indexes, now);
    this.rows = new DataRows(table, indexes.schema);
    this.entries = new EntryMarks(entries, this.planner, this.rows, now, settledAfter);
  }

  /** Applies changes of distinct rows. Call {@link finish} afterwards, without the row locks, to settle their effects. */
  async apply(changes: readonly Change[], call: WholeCall): Promise<RowWork[]> {
    const works = changes.map((change) => new RowWork(change.row, change));
    await this.drive(works, call);
    await call.inTime(this.withdraw(works));
    return works;
  }

  private beginFollowUp(works: readonly RowWork[]): void {
    const followUp = allEnded(this.intents.map((intent) => intent.finish?.(works)));
    // {@link finish} rethrows the error.
    followUp.catch(() => undefined);
    for (const work of works) work.followUp = followUp;
  }

  /** Settles the effects of changed rows and ends their intents. Call without the row locks: effects may change the same rows. */
  async finish(works: readonly RowWork[]): Promise<void> {
    const others = works.filter(({ followUp }) => followUp === undefined);
    if (others.length > 0) this.beginFollowUp(others);
    await allEnded([...new Set(works.map(({ followUp }) => followUp))]);
  }

  /** Brings the entries of rows in line with the rows. `suspects`: entries that may wrongly lead to the row. */
  async repair(
    rows: readonly { readonly row: Uint8Array; readonly suspects?: readonly Suspect[] }[],
    mine: ReadonlyMap<string, Mark> = NO_MARKS,
    options?: OperationOptions,
  ): Promise<RepairedRow[]> {
    const works = rows.map(({ row, suspects }) => new RowWork(row, undefined, suspects, mine === NO_MARKS));
    const suspects = works.flatMap((work) => (work.isFencing ? work.suspects : []));
    // Read before the rows are fenced: entries that change after that belong to writers who have seen the fence.
    const before = await this.entries.storedEntries(suspects, options);
    await this.drive(works, WholeCall.of(options, this.rows.table));
    const repaired: RepairedRow[] = [];
    let at = 0;
    for (const work of works) {
      const from = at;
      if (work.isFencing) at += work.suspects.length;
      const error = work.outcome!.ok ? undefined : work.outcome!.error;
      const stray = work.image.isEmpty && error === undefined;
      const removed = stray ? await this.removeOrphans(work, before.slice(from, at), mine) : 0;
      repaired.push({ error, taken: work.taken, entries: stray ? removed : work.changes.length });
    }
    return repaired;
  }

  private removeOrphans(
    work: RowWork,
    before: readonly (StoredEntry | undefined)[],
    mine: ReadonlyMap<string, Mark>,
  ): Promise<number> {
    return this.entries.removeOrphans(work.row, work.suspects, before, new Map([...mine, ...work.marks]));
  }

  private async drive(works: readonly RowWork[], call: WholeCall): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const open = works.filter(({ isDone }) => !isDone);
      if (open.length === 0) return;
      if (attempt > 0) await sleep(Math.random() * Math.min(LONGEST_WAIT, 2 ** attempt));
      try {
        await this.round(open, call);
      } catch (error) {
        if (!(error instanceof RowanError)) throw error;
        for (const work of open) work.fail(error);
      }
    }
    for (const work of works) {
      work.fail(
        new ConflictError(
          `A row of ${this.indexes.schema.name} was changed by others, or a value of a unique index was being claimed, at each of ` +
            `${ATTEMPTS} attempts. Try again later.`,
          { retryable: true },
        ),
      );
    }
  }

  private async round(works: readonly RowWork[], call: WholeCall): Promise<void> {
    await this.load(works, call);
    // A delete of this millisecond may precede the read, and would hide a put with the same timestamp (R32).
    const seen = nextMillisecond(performance.now());
    await Promise.all(works.map((work) => this.attempt(work, call)));
    const planned = works.filter(({ isDone }) => !isDone);
    const began = performance.now();
    // Concurrently: if one of them refuses a row, what the others wrote is withdrawn.
    await allEnded([
      ...this.intents.map((intent) => intent.note(planned, this.rows, call)),
      this.entries.mark(planned, call),
    ]);
    const marked = performance.now();
    await seen;
    const ready = planned.filter(({ isDone, isPutOff }) => !isDone && !isPutOff);
    // Too late: others may take the marks for abandoned before the row is written.
    const isLate = ready.length === 0 || performance.now() - began > WINDOW / 2;
    const written = isLate ? [] : await this.write(ready, call);
    // Started under the row lock but not awaited under it, because effects may change the same rows.
    if (written.length > 0) this.beginFollowUp(written);
    const closing = call.inTime(this.close(planned, written, marked));
    // The caller is answered when its row is written. A retry, or a repair, needs the round to be over.
    if (written.length < planned.length || written.some(({ change }) => change === undefined)) await closing;
    else for (const work of written) work.closing = closing;
  }

  /**
   * Ends the intents of a round, and verifies or removes the entries of the written rows. If this is broken off, readers of entries and
   * of the change log decide by the row.
   */
  private async close(
    planned: readonly RowWork[],
    written: readonly RowWork[],
    marked: number,
  ): Promise<void> {
    await allEnded([
      ...this.intents.map((intent) => intent.close?.(planned)),
      // A removal in the millisecond of a mark would hide the mark (R32).
      nextMillisecond(marked).then(() => this.endEntries(written)),
    ]);
  }

  private async attempt(work: RowWork, options: OperationOptions | undefined): Promise<void> {
    try {
      await this.plan(work, options);
    } catch (error) {
      if (!(error instanceof RowanError)) throw error;
      work.fail(error);
    }
  }

  /** Reads the rows, and fails works whose expectations are not met. */
  private async load(works: readonly RowWork[], options: OperationOptions | undefined): Promise<void> {
    const filtered = works.filter(({ change }) => change?.expects.some(({ kind }) => kind === 'filter'));
    const [loaded, held] = await Promise.all([
      this.rows.loadAll(
        works.map(({ row }) => row),
        options,
      ),
      filtered.length === 0
        ? []
        : this.rows.table.getAll(
            filtered.map(({ row, change }) => getIf(row, change!.expects)),
            options,
          ),
    ]);
    for (const [i, work] of works.entries()) {
      work.begin(RowImage.of(work.row, loaded[i]!.stored), loaded[i]!);
      const hasFailed = work.change?.expects.some((expectation) => !isSatisfied(work.image, expectation));
      if (hasFailed) work.fail(work.change!.mismatch!());
    }
    for (const [i, work] of filtered.entries()) if (held[i]!.isEmpty) work.fail(work.change!.mismatch!());
  }

  private async plan(work: RowWork, options: OperationOptions | undefined): Promise<void> {
    if (work.isDone) return;
    const { change } = work;
    if (change === undefined) {
      this.planMending(work);
      return;
    }
    const { mutations: said, seen, outlived, remains } = resolvedFor(change, work.image);
    if (said.length === 0) {
      work.outcome = NOTHING_DONE;
      return;
    }
    this.planner.refuse(said);
    if (remains !== undefined) await this.remove(work, remains, options);
    const { image } = work;
    let mutations = said;
    for (const intent of this.intents) mutations = await intent.plan(work, mutations);
    mutations = withoutIdleDeletes(image, mutations);
    // A filter was not read together with the row, so it is checked by a write: of the shadow.
    if (mutations.length === 0 && !change.expects.some(({ kind }) => kind === 'filter')) {
      work.outcome = NOTHING_DONE;
      return;
    }
    const after = image.after(mutations);
    const written =
      outlived === undefined || outlived.length === 0
        ? mutations
        : [...mutations, deleteOutlived(work.row, outlived)];
    work.mutations = written;
    work.isOpenEnded = !isPlain(image, mutations, this.now());
    const changes = work.isOpenEnded
      ? [...this.all(image, true), ...this.all(after, true)]
      : this.planner.changes(image, after);
    work.changes = this.withEarlier(work, changes, after);
    // A change that overwrites another's mark must renew the shadow, so that the other's row write fails.
    work.renews =
      this.intents.some(({ renewsShadow }) => renewsShadow) ||
      image.isEmpty ||
      work.changes.length > 0 ||
      work.isOpenEnded ||
      mutations.length === 0 ||
      !this.planner.leavesEntries(image, after);
    work.expects = this.rows.unchanged(loadedOf(work), [...change.expects, ...seen]);
    if (!work.renews || (after.isEmpty && !work.isOpenEnded)) return;
    const ttl = this.planner.life.remainingOfMarker(
      (family, qualifier) => after.cell(family, qualifier),
      this.now(),
    );
    work.mutations = [...written, this.rows.shadowPut(work.row, work.token, ttl)];
  }

  /** Deletes cells that an expired row left behind, in a request of its own: increments and appends would add to them. */
  private async remove(
    work: RowWork,
    remains: Remains,
    options: OperationOptions | undefined,
  ): Promise<void> {
    const left = remains.in(work.image);
    if (left.length === 0) return;
    const del = deleteOutlived(work.row, left);
    await this.rows.table.checkAndMutate(
      checked(work.row, this.rows.unchanged(loadedOf(work), []), [del]),
      options,
    );
    work.image = work.image.after([del]);
  }

  /** Plans a repair: the row keeps its cells and gets a new shadow, so that pending writes start again. */
  private planMending(work: RowWork): void {
    const { image, row } = work;
    const entries = this.all(image, false);
    const strange = work.suspects
      .filter((suspect) => !entries.some((entry) => equalBytes(entry.row, suspect.row)))
      .map((suspect) => blank(suspect, row));
    work.changes = image.isEmpty ? [] : this.withEarlier(work, [...entries, ...strange], image);
    work.renews = true;
    work.expects = this.rows.unchanged(loadedOf(work), []);
    // Entries of others are removed only behind a fence. Own marks need none.
    if (image.isEmpty ? !work.isFencing || work.suspects.length === 0 : work.changes.length === 0)
      work.outcome = NOTHING_DONE;
    const life = this.rows.shadowLife(image.toResult(), this.now());
    work.mutations = [this.rows.shadowPut(row, work.token, life)];
  }

  /** All entries of a row, as new ones, or with `had` as existing ones. */
  private all(image: RowImage, had: boolean): EntryChange[] {
    const { all } = this.indexes;
    return this.indexes.entriesOf(image.toResult()).flatMap((entries, i) => {
      const index = all[i]!;
      const ttl = this.planner.remaining(index, image);
      const isShortened = ttl !== undefined;
      return entries.map((is) => ({ index, row: is.row, was: had ? is : undefined, is, ttl, isShortened }));
    });
  }

  /** Adds the entries that an earlier attempt has marked. */
  private withEarlier(work: RowWork, changes: readonly EntryChange[], after: RowImage): EntryChange[] {
    const rows = new Set(changes.map(({ row }) => toLatin1(row)));
    const unique = changes.length === rows.size ? [...changes] : uniqueByRow(changes);
    const earlier = [...work.marks].filter(([name]) => !rows.has(name));
    if (earlier.length === 0) return unique;
    const kept = this.all(after, true);
    for (const [, mark] of earlier) {
      const still = kept.find(({ row }) => equalBytes(row, mark.row));
      unique.push(still ?? blank(mark, work.row));
    }
    return unique;
  }

  private async write(works: readonly RowWork[], call: WholeCall): Promise<RowWork[]> {
    const timeout = Math.min(call.timeout ?? WINDOW, WINDOW);
    for (const work of works) work.isSent = true;
    const answers = await this.rows.table.batch(
      works.map((work) => {
        const { row, expects, mutations } = work;
        const conditions = this.intents.flatMap((intent) => intent.condition?.(work) ?? []);
        const added = this.intents.flatMap((intent) => intent.writtenWith?.(work) ?? []);
        return checked(row, [...expects, ...conditions], [...mutations, ...added]);
      }),
      { signal: call.signal, attributes: call.attributes, timeout },
    );
    return works.filter((work, i) => {
      const answer = answers[i]!;
      if (!answer.ok) work.fail(answer.error);
      else if (answer.success === false) work.isSent = false;
      else work.outcome = written(answer);
      return answer.ok && answer.success !== false;
    });
  }

  /** Settles entries in batches with those of other writes. Repairs settle at once, because a batch may await them. */
  private async endEntries(written: readonly RowWork[]): Promise<void> {
    const touching = written.filter(({ changes }) => changes.length > 0);
    const isMending = touching.some(({ change }) => change === undefined);
    await (isMending ? this.finishEntries(touching) : this.finishing.add(touching));
  }

  /** Settles entries. Where it fails they stay unverified, and a reader settles them. */
  private async finishEntries(works: readonly RowWork[]): Promise<void> {
    try {
      const settled = works.filter(({ isOpenEnded }) => !isOpenEnded);
      const lost = await this.entries.settle(settled);
      const open = works.filter(({ isOpenEnded }) => isOpenEnded);
      // The mark of an inserted row may be gone because a concurrent insert and delete of the row removed it.
      const torn = [...open, ...lost.filter(({ image, change }) => image.isEmpty && change !== undefined)];
      for (const work of torn) {
        const suspects = [...work.marks.values()];
        await this.repair([{ row: work.row, suspects }], work.marks);
      }
    } catch (error) {
      if (!(error instanceof RowanError)) throw error;
    }
  }

  /** Repairs the entries marked by refused changes, unless their row may still be written. */
  private async withdraw(works: readonly RowWork[]): Promise<void> {
    for (const work of works) {
      const isRefused = !work.outcome!.ok && !work.isSent;
      if (work.marks.size === 0 || !(isRefused || work.outcome === NOTHING_DONE)) continue;
      try {
        await this.repair([{ row: work.row, suspects: [...work.marks.values()] }], work.marks);
      } catch (error) {
        if (!(error instanceof RowanError)) throw error;
      }
    }
  }
}

const NOTHING_DONE: ChangeOutcome = Object.freeze({ ok: true, result: Result.EMPTY });
const NO_MARKS: ReadonlyMap<string, Mark> = new Map();

function loadedOf({ image, shadow }: RowWork): {
  readonly stored: Result;
  readonly shadow: Uint8Array | undefined;
} {
  return { stored: image.toResult(), shadow };
}

/** Whether the row meets an expectation. Filters are evaluated by the engine, and are of rows that exist. */
function isSatisfied(image: RowImage, expectation: Expectation): boolean {
  if (expectation.kind === 'filter') return !image.isEmpty;
  return isSatisfiedBy(expectation, image.value(expectation.family, expectation.qualifier));
}

/** The removal of an entry of which only the row key is known. */
function blank(
  { index, row }: { readonly index: EntityIndex; readonly row: Uint8Array },
  dataRow: Uint8Array,
): EntryChange {
  const cells = index.index.included.map(() => undefined);
  return {
    index,
    row,
    was: { row, value: encodeEntryValue(index.index, dataRow, cells) },
    is: undefined,
    ttl: undefined,
    isShortened: false,
  };
}

function uniqueByRow(changes: readonly EntryChange[]): EntryChange[] {
  return [...new Map(changes.map((change) => [toLatin1(change.row), change])).values()];
}

function written(answer: BatchOutcome & { readonly ok: true }): ChangeOutcome {
  return { ok: true, result: answer.result };
}
