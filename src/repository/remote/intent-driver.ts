/**
 * Applies changes on HBase, where one step changes one row (docs/extending.md). In order:
 *
 * 1. The row and its shadow are read.
 * 2. Intents are noted, and the index entries that the change touches are marked unverified. Meanwhile delete markers of the row are
 *    looked for, which may hide a put of their millisecond.
 * 3. The row is written with a new shadow, on condition that the shadow is the one that was read.
 * 4. After the answer, entries are verified or removed, effects are settled and intents end.
 *
 * A change that is broken off leaves intents, which the outbox and the readers of the change log settle, and unverified entries, which
 * readers check against the row (docs/indexes-internals.md).
 */

import { toHex } from '../../bytes/index.js';
import { ConflictError, isWriteRefused, RowanError, TimeoutError } from '../../errors.js';
import type { EntitySchema } from '../../schema/types.js';
import {
  type BatchOutcome,
  type OperationOptions,
  Result,
  type Table,
  type TableTransaction,
} from '../../table/index.js';
import {
  type Change,
  type ChangeExecutor,
  type ChangeOutcome,
  checked,
  chunksOf,
  deleteOutlived,
  type Expectation,
  getIf,
  isSatisfiedBy,
  type Remains,
  resolvedFor,
} from '../change.js';
import { refuseUnfollowed } from '../maintainer.js';
import { WholeCall } from '../options.js';
import { areNewest, differ, RowImage, withoutIdleDeletes } from '../row-image.js';
import { nextMillisecond, pauseBefore, ROW_ATTEMPTS, type RowLock } from '../row-lock.js';
import type { RemoteExecutor } from './remote-executor.js';
import {
  allEnded,
  DataRows,
  type RowEntries,
  type RowIntent,
  type RowsAhead,
  RowWork,
  WRITE_WINDOW,
} from './row-work.js';

/** What an entity without entries has, for messages. */
const FOLLOWED = 'recorded changes, copies, referential rules or summaries about it';

/** @template Entries of entities that have entries, as those with indexes. */
export class IntentDriver<Entries extends RowEntries | undefined = RowEntries | undefined> {
  readonly rows: DataRows;
  readonly entries: Entries;
  /** The number of rounds under way. */
  private rounds = 0;

  constructor(
    table: Table,
    private readonly schema: EntitySchema,
    private readonly now: () => number,
    /** The intents of changes, in the order in which they plan. */
    readonly intents: readonly RowIntent[],
    /** Makes the entries of the entity's rows, for this driver. */
    entriesOf: (driver: IntentDriver) => Entries,
    /** The transaction that its table is of. */
    readonly transaction?: TableTransaction,
    /** Receives the number of changes that start again. */
    private readonly onRestart?: (changes: number) => void,
    /** Whether raw reads of the table show delete markers (capability `deleteMarkers`). */
    private readonly showsMarkers = false,
  ) {
    this.rows = new DataRows(table, schema);
    this.entries = entriesOf(this);
  }

  /** Writes rows ahead of what follows them, where one feature alone does. */
  get ahead(): RowsAhead | undefined {
    const { entries, intents } = this;
    if (this.isAlone || (entries !== undefined && intents.length > 0) || intents.length > 1) return undefined;
    return entries?.ahead ?? intents[0]?.ahead;
  }

  /** Whether no other program writes meanwhile. */
  get isAlone(): boolean {
    return this.transaction !== undefined;
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

  /**
   * Takes works of distinct rows through rounds until each has an outcome. One without a change keeps its row, renews the shadow, and has
   * its entries brought in line.
   */
  async drive(works: readonly RowWork[], call: WholeCall): Promise<void> {
    for (let attempt = 0; attempt < ROW_ATTEMPTS; attempt++) {
      const open = works.filter(({ isDone }) => !isDone);
      if (open.length === 0) return;
      if (attempt > 0) {
        this.onRestart?.(open.length);
        await pauseBefore(attempt);
      }
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
          `A row of ${this.schema.name} was changed by others, or a value of a unique index was being claimed, at each of ` +
            `${ROW_ATTEMPTS} attempts. Try again later.`,
          { retryable: true, details: { entity: this.schema.name, keyHex: toHex(work.row) } },
        ),
      );
    }
  }

  private async round(works: readonly RowWork[], call: WholeCall): Promise<void> {
    this.rounds++;
    try {
      await this.runRound(works, call);
    } finally {
      this.rounds--;
    }
  }

  private async runRound(works: readonly RowWork[], call: WholeCall): Promise<void> {
    await this.load(works, call);
    const loaded = performance.now();
    await Promise.all(works.map((work) => this.attempt(work, call)));
    const planned = works.filter(({ isDone }) => !isDone);
    const began = performance.now();
    const unhidden = this.cannotBeHidden(planned, call);
    // Concurrently: if one of them refuses a row, what the others wrote is withdrawn.
    await allEnded([
      ...this.intents.map((intent) => intent.note(planned, this.rows, call)),
      this.entries?.mark(planned, call),
    ]);
    const marked = performance.now();
    // A delete of this millisecond may precede the read, and would hide a put with the same timestamp (R32).
    if (!(await unhidden)) await nextMillisecond(loaded);
    const ready = planned.filter(({ isDone, isPutOff }) => !isDone && !isPutOff);
    // Too late: others may take the marks for abandoned before the row is written.
    const isLate = ready.length === 0 || performance.now() - began > WRITE_WINDOW / 2;
    const written = isLate ? [] : await this.write(ready, call);
    // Started under the row lock but not awaited under it, because effects may change the same rows.
    if (written.length > 0) this.beginFollowUp(written);
    const closing = call.inTime(this.close(planned, written, marked));
    // The caller is answered when its row is written. A retry, or a repair, needs the round to be over.
    if (written.length < planned.length || written.some(({ change }) => change === undefined)) await closing;
    else for (const work of written) work.closing = closing;
  }

  /**
   * Whether no delete that precedes the read of the rows hides what is written in its millisecond, because the row has no delete markers:
   * a read of them, beside the marks, costs less than the millisecond. Of several rows, beside other rounds, or by itself it costs more.
   */
  private async cannotBeHidden(works: readonly RowWork[], call: WholeCall): Promise<boolean> {
    if (this.isAlone) return true;
    const only = works.length === 1 ? works[0]! : undefined;
    if (!this.showsMarkers || only === undefined || only.isOpenEnded || this.rounds > FEW_ROUNDS)
      return false;
    if (!only.altersEntries && this.intents.length === 0) return false;
    // Where they cannot be read, the write waits.
    return this.rows.hasMarkers(only.row, call).then(
      (has) => !has,
      () => false,
    );
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
      this.isAlone
        ? this.entries?.settle(written)
        : nextMillisecond(marked).then(() => this.entries?.settle(written)),
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
      this.planRepair(work);
      return;
    }
    const { mutations: requested, seen, outlived, remains } = resolvedFor(change, work.image);
    if (requested.length === 0) {
      work.outcome = NOTHING_DONE;
      return;
    }
    refuseUnfollowed(this.schema, this.entries?.name ?? FOLLOWED, requested, this.now);
    if (remains !== undefined) await this.remove(work, remains, options);
    const { image } = work;
    let mutations = requested;
    for (const intent of this.intents) mutations = await intent.plan(work, mutations);
    mutations = withoutIdleDeletes(image, mutations);
    // A filter was not read together with the row, so it is checked by a write: of the shadow.
    if (mutations.length === 0 && !change.expects.some(({ kind }) => kind === 'filter')) {
      // Where keys were changed (`db.rekey`), the row may be in the table that has taken the place of this one.
      if (image.isEmpty && !this.isAlone) await this.rows.checkWritable(work.row, options);
      work.outcome = NOTHING_DONE;
      return;
    }
    const after = image.after(mutations);
    const written =
      outlived === undefined || outlived.length === 0
        ? mutations
        : [...mutations, deleteOutlived(work.row, outlived)];
    work.mutations = written;
    work.isOpenEnded = !areNewest(mutations, image, this.now());
    work.altersEntries = this.entries?.plan(work, after) ?? false;
    work.renews =
      work.altersEntries ||
      this.intents.some(({ renewsShadow }) => renewsShadow) ||
      image.isEmpty ||
      after.isEmpty ||
      work.isOpenEnded ||
      mutations.length === 0 ||
      differ(image, after, [this.schema.marker!]);
    work.expects = this.rows.unchanged(loadedOf(work), [...change.expects, ...seen]);
    if (!work.renews || (after.isEmpty && !work.isOpenEnded)) return;
    const ttl = this.rows.life.remainingOfMarker(
      (family, qualifier) => after.cell(family, qualifier),
      this.now(),
    );
    work.mutations = [...written, this.rows.shadowPut(work.row, work.token, ttl, work.lists)];
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
  private planRepair(work: RowWork): void {
    const { image, row } = work;
    if (this.entries?.planRepair(work) !== true) work.outcome = NOTHING_DONE;
    work.renews = true;
    work.expects = this.rows.unchanged(loadedOf(work), []);
    const life = this.rows.shadowLife(image.toResult(), this.now());
    work.mutations = [this.rows.shadowPut(row, work.token, life, work.lists)];
  }

  private async write(works: readonly RowWork[], call: WholeCall): Promise<RowWork[]> {
    const timeout = Math.min(call.timeout ?? WRITE_WINDOW, WRITE_WINDOW);
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
      if (answer.ok ? answer.success === false : isUnwritten(answer.error)) work.isSent = false;
      else if (answer.ok) work.outcome = written(answer);
      return answer.ok && answer.success !== false;
    });
  }

  /** Takes back the entries of refused changes, unless their row may still be written. */
  private async withdraw(works: readonly RowWork[]): Promise<void> {
    const idle = works.filter(({ outcome, isSent }) => (!outcome!.ok && !isSent) || outcome === NOTHING_DONE);
    await this.entries?.withdraw(idle);
  }
}

/** Rounds under way beside which a round looks for delete markers instead of waiting: with more of them the server has the work to do. */
const FEW_ROUNDS = 4;

const NOTHING_DONE: ChangeOutcome = Object.freeze({ ok: true, result: Result.EMPTY });

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

/** Whether the error says that nothing was written, nor will be by an earlier request that had no answer. */
function isUnwritten(error: RowanError): boolean {
  return isWriteRefused(error) && error.details['outcome'] === undefined;
}

function written(answer: BatchOutcome & { readonly ok: true }): ChangeOutcome {
  return { ok: true, result: answer.result };
}

/** Rows that go through the phases of a change together. */
const TOGETHER = 512;

/** Applies the change sets of an entity with indexes, maintainers or recorded changes, on HBase. */
export class IntentExecutor implements ChangeExecutor {
  constructor(
    private readonly driver: IntentDriver,
    private readonly rowLock: RowLock,
    /** Applies changes that touch no entries. */
    private readonly plain: RemoteExecutor,
  ) {}

  async run(change: Change, options: OperationOptions | undefined): Promise<Result> {
    const call = WholeCall.of(options, this.driver.rows.table);
    const { entries, intents } = this.driver;
    if (intents.length === 0 && entries!.isUntouchedBy(change)) return this.plain.run(change, call);
    const [outcome] = await this.apply([change], call);
    if (!outcome!.ok) throw outcome!.error;
    return outcome!.result;
  }

  async runAll(changes: readonly Change[], options: OperationOptions | undefined): Promise<ChangeOutcome[]> {
    const outcomes: ChangeOutcome[] = [];
    const call = WholeCall.of(options, this.driver.rows.table);
    const isFree = (chunk: readonly Change[]): boolean => chunk.length < TOGETHER;
    for (const chunk of chunksOf(changes, isFree)) outcomes.push(...(await this.apply(chunk, call)));
    return outcomes;
  }

  runAtomic(): Promise<Result[]> {
    return this.plain.runAtomic();
  }

  private async apply(changes: readonly Change[], call: WholeCall): Promise<ChangeOutcome[]> {
    const { ahead } = this.driver;
    if (ahead === undefined) return this.applyByDriver(changes, call);
    const ended = await this.writeAhead(ahead, changes, call);
    const left = changes.filter((change) => !ended.has(change));
    const others = left.length === 0 ? [] : await this.applyByDriver(left, call);
    for (const [i, change] of left.entries()) ended.set(change, others[i]!);
    return changes.map((change) => ended.get(change)!);
  }

  /** Writes the rows that may be written ahead of what follows them. @returns the outcomes of those that were. */
  private async writeAhead(
    ahead: RowsAhead,
    changes: readonly Change[],
    call: WholeCall,
  ): Promise<Map<Change, ChangeOutcome>> {
    const ended = new Map<Change, ChangeOutcome>();
    const first = changes.filter((change) => ahead.takes(change));
    if (first.length === 0) return ended;
    const uses = first.map(({ row }) => ({ row, use: 'puts' as const }));
    let written: Awaited<ReturnType<RowsAhead['write']>>;
    try {
      await call.before(ahead.room());
      written = await this.rowLock.runAll(uses, () => ahead.write(first, this.driver.rows.table, call), call);
    } catch (error) {
      if (!(error instanceof TimeoutError)) throw error;
      for (const change of first) ended.set(change, { ok: false, error });
      return ended;
    }
    const { outcomes, following } = written;
    this.rowLock.releaseAfter(following, () => undefined);
    for (const [i, change] of first.entries()) {
      const outcome = outcomes[i];
      if (outcome !== undefined) ended.set(change, outcome);
    }
    return ended;
  }

  private async applyByDriver(changes: readonly Change[], call: WholeCall): Promise<ChangeOutcome[]> {
    const rows = changes.map(({ row }) => ({ row, use: 'alone' as const }));
    let release: () => void;
    try {
      release = await this.rowLock.hold(rows, call);
    } catch (error) {
      // Changes of earlier chunks are made.
      if (error instanceof TimeoutError) return changes.map(() => ({ ok: false, error }));
      throw error;
    }
    let works: RowWork[] = [];
    try {
      works = await this.driver.apply(changes, call);
    } finally {
      // The next writer of a row waits until its entries are settled.
      this.rowLock.releaseAfter(allEnded(works.map(({ closing }) => closing)), release);
    }
    // Without the lock: effects may change the same rows. At the timeout they go on in the background.
    if (this.driver.intents.length > 0) await call.inTime(this.driver.finish(works));
    return works.map(({ outcome }) => outcome!);
  }
}
