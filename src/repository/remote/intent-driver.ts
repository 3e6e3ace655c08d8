/**
 * The driver of changes on engines whose one step is a row: intent, row, follow-up, done (docs/extending.md). Intents are noted and
 * index entries are marked unverified, the row is written if it is still as it was read, entries are verified or removed, effects
 * are settled, and the intents end. What is broken off leaves intents, which the outbox and readers of the change log find, and
 * unverified entries, which every reader holds against the row (docs/indexes-internals.md).
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { equalBytes, toLatin1 } from '../../bytes/index.js';
import { ConflictError, RowanError } from '../../errors.js';
import type { EntityIndex, EntityIndexes } from '../../features/indexes/entity-indexes.js';
import { encodeEntryValue } from '../../features/indexes/entry.js';
import { type EntryChange, EntryPlanner } from '../../features/indexes/plan.js';
import { EntryMarks, SETTLED, type Standing, WINDOW } from '../../features/indexes/remote.js';
import { type BatchOutcome, type OperationOptions, Result, type Table } from '../../table/index.js';
import {
  type Change,
  checked,
  deleteOutlived,
  type Expectation,
  getIf,
  isMetBy,
  type Remains,
  resolvedFor,
} from '../change.js';
import type { ChangeOutcome } from '../executor.js';
import { WholeCall } from '../options.js';
import { isPlain, RowImage } from '../row-image.js';
import { TICK } from '../row-lock.js';
import { allEnded, DataRows, type Mark, type RowIntent, RowWork, type Suspect } from './row-work.js';

/** How often a change is begun anew when others write its row, or claim its values, at the same time. */
const ATTEMPTS = 64;
/** The longest wait between two attempts, ms. */
const LONGEST_WAIT = 100;
/** The outcome of mending a row. */
export interface Mended {
  readonly error: RowanError | undefined;
  /** Its values of unique indexes that another entity has. */
  readonly taken: number;
  /** Entries written or removed. */
  readonly entries: number;
}

export class IntentDriver {
  readonly planner: EntryPlanner;
  readonly rows: DataRows;
  readonly entries: EntryMarks;
  private readonly hasEventual: boolean;

  constructor(
    table: Table,
    entries: Table,
    readonly indexes: EntityIndexes,
    private readonly now: () => number,
    /** Milliseconds after which an unverified entry is nobody's who may still write its row. */
    settledAfter: number = SETTLED,
    /** What is noted of changes beside their entries, in the order in which it is planned. */
    readonly intents: readonly RowIntent[] = [],
  ) {
    this.planner = new EntryPlanner(indexes, now);
    this.hasEventual = indexes.all.some(({ index }) => index.eventual);
    this.rows = new DataRows(table, indexes.schema);
    this.entries = new EntryMarks(entries, this.planner, this.rows, now, settledAfter);
  }

  /** Changes of rows that are all different. Their effects are to be settled by {@link finish} when the row locks are released. */
  async apply(changes: readonly Change[], call: WholeCall): Promise<RowWork[]> {
    const works = changes.map((change) => new RowWork(change.row, change));
    await this.drive(works, call);
    await call.inTime(this.withdraw(works));
    return works;
  }

  private beginFollowUp(works: readonly RowWork[]): void {
    const followUp = allEnded(this.intents.map((intent) => intent.finish?.(works)));
    // Whoever waits for the works is told.
    followUp.catch(() => undefined);
    for (const work of works) work.followUp = followUp;
  }

  /** Settles the effects of changed rows, and ends their intents. Not under the row lock: effects may change the same rows. */
  async finish(works: readonly RowWork[]): Promise<void> {
    const others = works.filter(({ followUp }) => followUp === undefined);
    if (others.length > 0) this.beginFollowUp(others);
    await allEnded([...new Set(works.map(({ followUp }) => followUp))]);
  }

  /** Makes the entries of rows what they are to be; `suspects` of each: entries that may be none of its. */
  async mend(
    rows: readonly { readonly row: Uint8Array; readonly suspects?: readonly Suspect[] }[],
    mine: ReadonlyMap<string, Mark> = NO_MARKS,
    options?: OperationOptions,
  ): Promise<Mended[]> {
    const works = rows.map(({ row, suspects }) => new RowWork(row, undefined, suspects, mine === NO_MARKS));
    const suspects = works.flatMap((work) => (work.isFencing ? work.suspects : []));
    // Before the rows are: what is written of entries behind that is of those who have seen it.
    const before = await this.entries.standing(suspects, options);
    await this.drive(works, WholeCall.of(options, this.rows.table));
    const mended: Mended[] = [];
    let at = 0;
    for (const work of works) {
      const from = at;
      if (work.isFencing) at += work.suspects.length;
      const error = work.outcome!.ok ? undefined : work.outcome!.error;
      const stray = work.image.isEmpty && error === undefined;
      const removed = stray ? await this.removeStray(work, before.slice(from, at), mine) : 0;
      mended.push({ error, taken: work.taken, entries: stray ? removed : work.changes.length });
    }
    return mended;
  }

  private removeStray(
    work: RowWork,
    before: readonly (Standing | undefined)[],
    mine: ReadonlyMap<string, Mark>,
  ): Promise<number> {
    return this.entries.removeStray(work.row, work.suspects, before, new Map([...mine, ...work.marks]));
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
    const seen = sleep(TICK);
    await Promise.all(works.map((work) => this.attempt(work, call)));
    const planned = works.filter(({ isDone }) => !isDone);
    const began = performance.now();
    // Side by side: what is noted of a row that comes to nothing is withdrawn, whichever of them found out.
    await allEnded([
      ...this.intents.map((intent) => intent.note(planned, this.rows, call)),
      this.entries.mark(planned, call),
    ]);
    const marked = sleep(TICK);
    await seen;
    const ready = planned.filter(({ isDone, isPutOff }) => !isDone && !isPutOff);
    // Too late: the marks may be taken for abandoned before the row is written.
    const isLate = ready.length === 0 || performance.now() - began > WINDOW / 2;
    const written = isLate ? [] : await this.write(ready, call);
    // Effects are settled beside what is still done under the row lock, which does not wait for them: they may change the same rows.
    if (written.length > 0) this.beginFollowUp(written);
    await call.inTime(this.close(planned, written, marked));
  }

  /** What is done behind the rows. Whatever of it is not done is found by those who read entries, or the log of changes. */
  private async close(
    planned: readonly RowWork[],
    written: readonly RowWork[],
    marked: Promise<void>,
  ): Promise<void> {
    await allEnded([
      ...this.intents.map((intent) => intent.close?.(planned)),
      marked.then(() => this.finishEntries(written)),
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

  /** Reads the rows, and has those fail that are not as their writers expect. */
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
      const unmet = work.change?.expects.some((expectation) => !isMet(work.image, expectation));
      if (unmet) work.fail(work.change!.mismatch!());
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
    // Who marks an entry that another has marked must keep that other from writing the row.
    work.renews =
      this.intents.some(({ renewsShadow }) => renewsShadow) ||
      image.isEmpty ||
      work.changes.length > 0 ||
      work.isOpenEnded ||
      !this.planner.leavesEntries(image, after);
    work.expects = this.rows.unchanged(loadedOf(work), [...change.expects, ...seen]);
    if (!work.renews || (after.isEmpty && !work.isOpenEnded)) return;
    const ttl = this.planner.life.remainingOfMarker(
      (family, qualifier) => after.cell(family, qualifier),
      this.now(),
    );
    work.mutations = [...written, this.rows.shadowPut(work.row, work.token, ttl)];
  }

  /** Deletes what an earlier life of the row has left, in a request of its own: increments and appends would add to it. */
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

  /** The row stays, its shadow is renewed: whoever has planned by what it was before begins anew. */
  private planMending(work: RowWork): void {
    const { image, row } = work;
    const entries = this.all(image, false);
    const strange = work.suspects
      .filter((suspect) => !entries.some((entry) => equalBytes(entry.row, suspect.row)))
      .map((suspect) => blank(suspect, row));
    work.changes = image.isEmpty ? [] : this.withEarlier(work, [...entries, ...strange], image);
    work.renews = true;
    work.expects = this.rows.unchanged(loadedOf(work), []);
    // What others have begun is not undone before they can end it no more; one's own is nobody else's.
    if (image.isEmpty ? !work.isFencing || work.suspects.length === 0 : work.changes.length === 0)
      work.outcome = NOTHING_DONE;
    const life = this.rows.shadowLife(image.toResult(), this.now());
    work.mutations = [this.rows.shadowPut(row, work.token, life)];
  }

  /** All entries of a row: as if they were new, or as such that it has. */
  private all(image: RowImage, had: boolean): EntryChange[] {
    const { all } = this.indexes;
    return this.indexes.entriesOf(image.toResult()).flatMap((entries, i) => {
      const index = all[i]!;
      const ttl = this.planner.remaining(index, image);
      const isShortened = ttl !== undefined;
      return entries.map((is) => ({ index, row: is.row, was: had ? is : undefined, is, ttl, isShortened }));
    });
  }

  /** With what an earlier attempt has marked, to be put right with the rest. */
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

  /** The entries of eventual indexes are finished behind the writers, unless it is these that are mended. */
  private async finishEntries(works: readonly RowWork[]): Promise<void> {
    const touching = works.filter(({ changes }) => changes.length > 0);
    if (touching.length === 0) return;
    await this.finishThose(touching, false);
    if (!this.hasEventual) return;
    const later = touching.filter(({ change, isOpenEnded }) => change !== undefined && !isOpenEnded);
    if (later.length > 0) void this.finishThose(later, true);
    const now = touching.filter(({ change }) => change === undefined);
    if (now.length > 0) await this.finishThose(now, true);
  }

  /** What fails here stays unverified: it is held against the row by every reader, and put right by one of them. */
  private async finishThose(touching: readonly RowWork[], eventual: boolean): Promise<void> {
    try {
      const settled = touching.filter(({ isOpenEnded }) => !isOpenEnded);
      const lost = await this.entries.settle(settled, eventual);
      const open = eventual ? [] : touching.filter(({ isOpenEnded }) => isOpenEnded);
      // Who saw the row missing may have marked before another removed it again.
      const torn = [...open, ...lost.filter(({ image, change }) => image.isEmpty && change !== undefined)];
      for (const work of torn) {
        const suspects = [...work.marks.values()];
        await this.mend([{ row: work.row, suspects }], work.marks);
      }
    } catch (error) {
      if (!(error instanceof RowanError)) throw error;
    }
  }

  /** Puts right what changes have marked that came to nothing. Nothing of those whose row may yet be written. */
  private async withdraw(works: readonly RowWork[]): Promise<void> {
    for (const work of works) {
      const isRefused = !work.outcome!.ok && !work.isSent;
      if (work.marks.size === 0 || !(isRefused || work.outcome === NOTHING_DONE)) continue;
      try {
        await this.mend([{ row: work.row, suspects: [...work.marks.values()] }], work.marks);
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

/** What the row is known to be. Filters are asked of the engine. */
function isMet(image: RowImage, expectation: Expectation): boolean {
  if (expectation.kind === 'filter') return true;
  return isMetBy(expectation, image.value(expectation.family, expectation.qualifier));
}

/** An entry that is to go, of which only the row is known. */
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
