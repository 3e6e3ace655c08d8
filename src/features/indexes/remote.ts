/**
 * The entries of an entity on HBase. The {@link IntentDriver} has them marked as unverified before a row is written, and verified or removed
 * after it. Whoever finds an unverified entry later settles it by its row.
 */

import { equalBytes, toLatin1 } from '../../bytes/index.js';
import { RowanError } from '../../errors.js';
import type { EntryRepair } from '../../query/access.js';
import type { Change } from '../../repository/change.js';
import { WholeCall } from '../../repository/options.js';
import { BackgroundBatches } from '../../repository/remote/background-batches.js';
import type { IntentDriver } from '../../repository/remote/intent-driver.js';
import {
  ABANDONED_AFTER,
  type DataRows,
  type RowEntries,
  type RowsAhead,
  RowWork,
} from '../../repository/remote/row-work.js';
import { RowImage } from '../../repository/row-image.js';
import type { Cell, OperationOptions, RowMutation, RowMutations, Table } from '../../table/index.js';
import type { Metric } from '../../table/telemetry.js';
import type { EntityIndexes } from './entity-indexes.js';
import { encodeEntryValue } from './entry.js';
import { EntryMarks, EntryWork, type Mark, type StoredEntry, type Suspect, verified } from './marks.js';
import { type EntryChange, EntryPlanner } from './plan.js';

/** The outcome of repairing the entries of a row. */
interface RepairedRow {
  readonly error: RowanError | undefined;
  /** The number of its unique values that another entity holds. */
  readonly taken: number;
  /** Entries written or removed. */
  readonly entries: number;
}

/** Counters of a database's entries on HBase. */
export class EntryFigures {
  takeovers = 0;
  repairs = 0;
  /** When the wait of entries began, by `performance.now()`. */
  private readonly waiting = new Map<object, { readonly entries: number; readonly since: number }>();

  /** Counts entries as waiting until {@link end} with the same object. */
  begin(what: object, entries: number): void {
    if (entries > 0) this.waiting.set(what, { entries, since: performance.now() });
  }

  end(what: object): void {
    this.waiting.delete(what);
  }

  get metrics(): Metric[] {
    const all = [...this.waiting.values()];
    const now = performance.now();
    const figure = (
      [name, kind, unit]: readonly [string, Metric['kind'], string],
      description: string,
      value: number,
    ): Metric => ({ name: `rowan.index.${name}`, kind, unit, description, value });
    return [
      figure(
        ['unverified', 'gauge', '{entry}'],
        'Unverified entries that this program has written or read, and is about to settle',
        all.reduce((sum, { entries }) => sum + entries, 0),
      ),
      figure(
        ['unverified.age', 'gauge', 'ms'],
        'For how long the first of them has waited',
        all.reduce((age, { since }) => Math.max(age, now - since), 0),
      ),
      figure(
        ['repairs', 'counter', '{entry}'],
        'Unverified entries that queries read and this program settled',
        this.repairs,
      ),
      figure(
        ['takeovers', 'counter', '{entry}'],
        'Unique values taken over from writers that gave up',
        this.takeovers,
      ),
    ];
  }
}

export class RemoteEntries implements RowEntries {
  readonly name: string;
  readonly planner: EntryPlanner;
  readonly marks: EntryMarks;
  readonly readRepair: ReadRepair;
  readonly rows: DataRows;
  ahead: RowsAhead | undefined;
  /** Whether entries are listed beside their rows: those of eventual indexes. */
  private readonly hasLists: boolean;
  private readonly works = new WeakMap<RowWork, EntryWork>();
  private readonly settling = new BackgroundBatches<EntryWork>((works) => this.settleAll(works));

  /** @param settledAfter milliseconds after which the writer of an unverified entry is taken to have given up. */
  constructor(
    readonly indexes: EntityIndexes,
    entries: Table,
    private readonly driver: IntentDriver,
    now: () => number,
    settledAfter: number = ABANDONED_AFTER,
    readonly figures: EntryFigures = new EntryFigures(),
  ) {
    this.rows = driver.rows;
    this.hasLists = indexes.all.some(({ index }) => index.eventual);
    this.planner = new EntryPlanner(indexes, now);
    this.name = this.planner.names;
    const onTakeover = (): void => {
      figures.takeovers++;
    };
    const { isAlone } = driver;
    this.marks = new EntryMarks(entries, this.planner, this.rows, now, settledAfter, isAlone, onTakeover);
    this.readRepair = new ReadRepair(this);
  }

  private of(work: RowWork): EntryWork {
    let own = this.works.get(work);
    if (own === undefined) {
      own = new EntryWork(work);
      this.works.set(work, own);
    }
    return own;
  }

  /** True for an update of columns outside all indexes, of a row that must exist. */
  isUntouchedBy(change: Change): boolean {
    if (change.operation !== 'update' || change.reads !== undefined || this.planner.isWide) return false;
    const { mutations } = change.resolve(undefined);
    this.planner.refuse(mutations);
    return mutations.every((mutation) =>
      cellsOf(mutation).every(
        ({ family, qualifier }) =>
          !this.indexes.columns.some(
            (column) => column.family === family && equalBytes(column.qualifier, qualifier),
          ),
      ),
    );
  }

  plan(of: RowWork, after: RowImage): boolean {
    const { image, isOpenEnded } = of;
    const work = this.of(of);
    const changes = isOpenEnded
      ? [...this.all(image, true), ...this.all(after, true)]
      : this.planner.changes(image, after);
    const listed = this.withListed(of, changes, after);
    work.changes = this.withEarlier(work, listed, after);
    return work.changes.length > 0 || !this.planner.leavesEntries(image, after);
  }

  planRepair(of: RowWork): boolean {
    const { image, row } = of;
    const work = this.of(of);
    const entries = this.withListed(of, this.all(image, false), image);
    const foreign = work.suspects
      .filter((suspect) => !entries.some((entry) => equalBytes(entry.row, suspect.row)))
      .map((suspect) => removalOf(suspect, row));
    work.changes = image.isEmpty ? [] : this.withEarlier(work, [...entries, ...foreign], image);
    // Entries of others are removed only behind a fence. Own marks need none.
    return image.isEmpty ? work.isFencing && work.suspects.length > 0 : work.changes.length > 0;
  }

  /** All entries of a row, as new ones, or with `had` as existing ones. */
  private all(image: RowImage, had: boolean): EntryChange[] {
    const { all } = this.indexes;
    return this.indexes.entriesOf(image.toResult()).flatMap((entries, i) => {
      const index = all[i]!;
      const ttl = this.planner.remaining(index, image);
      const isShortened = ttl !== undefined;
      return entries.map((entry) => {
        const before = had ? entry : undefined;
        return { index, row: entry.row, before, after: entry, ttl, isShortened };
      });
    });
  }

  /**
   * Adds the removal of entries that are listed beside the row, and that it has no more. Sets the list of those that it has from now on:
   * all others are unverified before the row is written.
   */
  private withListed(of: RowWork, changes: readonly EntryChange[], after: RowImage): EntryChange[] {
    const { row, listed } = of;
    if (!this.hasLists) return [...changes];
    const { entries, others } = this.planner.listed(listed, row);
    const has = this.all(after, true);
    const lists = this.planner.listOf(has, row, others);
    const isAsListed = listed === undefined ? lists.length === 0 : equalBytes(lists, listed);
    of.lists = after.isEmpty || isAsListed ? undefined : lists;
    const known = [...has, ...changes];
    const gone = entries.filter((entry) => !known.some((one) => equalBytes(one.row, entry.row)));
    return [...changes, ...gone.map((entry) => removalOf(entry, row))];
  }

  /** Adds the entries that an earlier attempt has marked. */
  private withEarlier(work: EntryWork, changes: readonly EntryChange[], after: RowImage): EntryChange[] {
    const rows = new Set(changes.map(({ row }) => toLatin1(row)));
    const unique = changes.length === rows.size ? [...changes] : uniqueByRow(changes);
    const earlier = [...work.marks].filter(([name]) => !rows.has(name));
    if (earlier.length === 0) return unique;
    const kept = this.all(after, true);
    for (const [, mark] of earlier) {
      const still = kept.find(({ row }) => equalBytes(row, mark.row));
      unique.push(still ?? removalOf(mark, work.of.row));
    }
    return unique;
  }

  mark(works: readonly RowWork[], call: WholeCall): Promise<void> {
    return this.marks.mark(
      works.map((work) => this.of(work)),
      call,
    );
  }

  /** Settles entries in batches with those of other writes. Repairs settle at once, because a batch may await them. */
  async settle(written: readonly RowWork[]): Promise<void> {
    const touching = written.map((work) => this.of(work)).filter(({ changes }) => changes.length > 0);
    const isRepair = touching.some(({ of }) => of.change === undefined);
    for (const work of touching) this.figures.begin(work, work.changes.length);
    try {
      await (isRepair ? this.settleAll(touching) : this.settling.add(touching));
    } finally {
      for (const work of touching) this.figures.end(work);
    }
  }

  private async settleAll(works: readonly EntryWork[]): Promise<void> {
    try {
      const settled = works.filter(({ of }) => !of.isOpenEnded);
      const lost = await this.marks.settle(settled);
      const open = works.filter(({ of }) => of.isOpenEnded);
      // The mark of an inserted row may be gone because a concurrent insert and delete of the row removed it.
      const toRepair = [...open, ...lost.filter(({ of }) => of.image.isEmpty && of.change !== undefined)];
      for (const work of toRepair) await this.repairMarked(work);
    } catch (error) {
      if (!(error instanceof RowanError)) throw error;
    }
  }

  async withdraw(works: readonly RowWork[]): Promise<void> {
    for (const of of works) {
      const work = this.works.get(of);
      if (work === undefined || work.marks.size === 0) continue;
      try {
        await this.repairMarked(work);
      } catch (error) {
        if (!(error instanceof RowanError)) throw error;
      }
    }
  }

  private async repairMarked({ of, marks }: EntryWork): Promise<void> {
    await this.repair([{ row: of.row, suspects: [...marks.values()] }], marks);
  }

  /** Brings the entries of rows in line with the rows. `suspects`: entries that may wrongly lead to the row. */
  async repair(
    rows: readonly { readonly row: Uint8Array; readonly suspects?: readonly Suspect[] }[],
    mine: ReadonlyMap<string, Mark> = NO_MARKS,
    options?: OperationOptions,
  ): Promise<RepairedRow[]> {
    const works = rows.map(({ row, suspects }) => {
      const work = new EntryWork(new RowWork(row, undefined), suspects, mine === NO_MARKS);
      this.works.set(work.of, work);
      return work;
    });
    const suspects = works.flatMap((work) => (work.isFencing ? work.suspects : []));
    // Read before the rows are fenced: entries that change after that belong to writers who have seen the fence.
    const before = await this.marks.storedEntries(suspects, options);
    await this.driver.drive(
      works.map(({ of }) => of),
      WholeCall.of(options, this.rows.table),
    );
    const repaired: RepairedRow[] = [];
    let at = 0;
    for (const work of works) {
      const from = at;
      if (work.isFencing) at += work.suspects.length;
      const { image, outcome } = work.of;
      const error = outcome!.ok ? undefined : outcome!.error;
      const hasNoRow = image.isEmpty && error === undefined;
      const removed = hasNoRow ? await this.removeOrphans(work, before.slice(from, at), mine) : 0;
      repaired.push({ error, taken: work.taken, entries: hasNoRow ? removed : work.changes.length });
    }
    return repaired;
  }

  private removeOrphans(
    { of, suspects, marks }: EntryWork,
    before: readonly (StoredEntry | undefined)[],
    mine: ReadonlyMap<string, Mark>,
  ): Promise<number> {
    return this.marks.removeOrphans(of.row, suspects, before, new Map([...mine, ...marks]));
  }
}

const NO_MARKS: ReadonlyMap<string, Mark> = new Map();

function cellsOf(
  mutation: RowMutation,
): readonly { readonly family: string; readonly qualifier: Uint8Array }[] {
  return 'cells' in mutation ? mutation.cells : mutation.columns;
}

/** The removal of an entry of which only the row key is known. */
function removalOf({ index, row }: Suspect, dataRow: Uint8Array): EntryChange {
  const cells = index.index.included.map(() => undefined);
  return {
    index,
    row,
    before: { row, value: encodeEntryValue(index.index, dataRow, cells) },
    after: undefined,
    ttl: undefined,
    isShortened: false,
  };
}

function uniqueByRow(changes: readonly EntryChange[]): EntryChange[] {
  return [...new Map(changes.map((change) => [toLatin1(change.row), change])).values()];
}

/** The most waiting entries. Further ones are dropped, and noted again by the next query. */
const MAX_WAITING = 1024;

/** An unverified entry whose writer may still write its row. */
interface OpenSuspect {
  readonly suspect: Suspect;
  /** Milliseconds until the writer is taken to have given up. */
  readonly remaining: number;
}

/** Settles unverified entries that queries meet, in the background. */
class ReadRepair implements EntryRepair {
  private readonly waiting = new Map<string, Suspect>();
  private running: Promise<void> | undefined;

  constructor(private readonly entries: RemoteEntries) {}

  note(suspect: Suspect): void {
    if (this.waiting.size >= MAX_WAITING) return;
    this.waiting.set(toLatin1(suspect.row), suspect);
    this.running ??= this.run().finally(() => {
      this.running = undefined;
    });
  }

  since(): number {
    return this.entries.marks.since();
  }

  private async run(): Promise<void> {
    while (this.waiting.size > 0) {
      const suspects = [...this.waiting.values()];
      const { figures } = this.entries;
      this.waiting.clear();
      figures.begin(suspects, suspects.length);
      try {
        const left = await this.settle(suspects);
        figures.repairs += suspects.length - left.length;
      } catch (error) {
        // The next query that meets the entries tries again.
        if (!(error instanceof RowanError)) throw error;
      } finally {
        figures.end(suspects);
      }
    }
  }

  /**
   * Settles unverified entries. An entry with the token of the row's shadow is verified or removed, as the row's
   * columns require; a later change of the row marks it as unverified again. An entry with another token may belong
   * to a pending write: if it is old, its row is fenced and its entries are repaired.
   * @returns the entries that are too young to decide on.
   */
  async settle(suspects: readonly Suspect[]): Promise<readonly OpenSuspect[]> {
    const { marks, rows, planner, indexes } = this.entries;
    const stored = await marks.storedEntries(suspects, undefined);
    const open = suspects.flatMap((suspect, i) => {
      const found = stored[i];
      return found?.token === undefined ? [] : [{ suspect, ...found, token: found.token }];
    });
    if (open.length === 0) return [];
    const left: OpenSuspect[] = [];
    const loaded = await rows.loadAll(
      open.map(({ holder }) => holder),
      undefined,
    );
    const decisions: { row: Uint8Array; cell: Cell; put: RowMutation | RowMutations | undefined }[] = [];
    for (const [i, { suspect, token, cell, holder }] of open.entries()) {
      const { stored, shadow } = loaded[i]!;
      const { index, row } = suspect;
      if (shadow !== undefined && equalBytes(token, shadow)) {
        const entry = indexes
          .entriesOf(stored)
          [indexes.all.indexOf(index)]!.find((one) => equalBytes(one.row, row));
        const ttl = planner.remaining(index, RowImage.of(holder, stored));
        decisions.push({ row, cell, put: entry && verified(entry, ttl, cell) });
      } else if (marks.isAbandoned(cell)) {
        await this.entries.repair([{ row: holder, suspects: [suspect] }]);
      } else left.push({ suspect, remaining: marks.remaining(cell) });
    }
    await marks.decide(decisions);
    return left;
  }
}
