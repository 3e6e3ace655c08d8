import { equalBytes } from '../../bytes/index.js';
import { RowanError } from '../../errors.js';
import { checked, type Expectation } from '../../repository/change.js';
import { BackgroundBatches } from '../../repository/index.js';
import {
  allEnded,
  type DataRows,
  MARK_QUALIFIER,
  type RowIntent,
  type RowWork,
  refuseTimes,
} from '../../repository/remote/row-work.js';
import type { EntitySchema } from '../../schema/types.js';
import {
  Cell,
  CellType,
  Delete,
  LATEST_TIMESTAMP,
  type OperationOptions,
  Put,
  Result,
  type RowMutation,
} from '../../table/index.js';
import type { ChangeLog, ClosedChange } from './change-log.js';
import type { RowEntry } from './entry.js';
import { bucketOf, freshMark, type LogPlace, markedNumber, numberMark } from './log-rows.js';

/** The parts of a database that change intents use. */
interface ChangeIntentSource {
  readonly schema: EntitySchema;
  /** The column family that holds the marks. */
  readonly marks: string;
  /** Milliseconds for which changes are kept. */
  readonly kept: number;
  /** The name of the entity's table, "namespace:name". */
  readonly table: string;
  readonly log: ChangeLog;
  now(): number;
  /** Called when new changes can be read. */
  onRecorded(): void;
}

/** A row of a round whose change has a sequence number. */
interface NumberedWork {
  readonly work: RowWork;
  readonly recorded: Recorded;
  readonly place: LogPlace;
  readonly mark: Uint8Array;
}

/** The log entry of a row's change in the present round. */
interface Recorded {
  /** Undefined: the write changes nothing. */
  readonly entry: RowEntry | undefined;
  /** The place of the written entry. Undefined: not written yet, or closed. */
  place: LogPlace | undefined;
}

/**
 * Write intents of the change log on HBase (docs/changes-internals.md). The entry of a change is written before its
 * row, on condition that the row still has the mark that was read. The row write then sets the mark to the entry's
 * number.
 */
export class ChangeIntents implements RowIntent {
  readonly renewsShadow = false;
  private readonly recorded = new WeakMap<RowWork, Recorded>();
  private readonly closing = new BackgroundBatches<ClosedChange>((closed) => this.closeLogged(closed));

  constructor(private readonly source: ChangeIntentSource) {}

  /** Returns the mutations without those that touch marks, and keeps the row that they produce. */
  plan(work: RowWork, requested: readonly RowMutation[]): readonly RowMutation[] {
    const { schema } = this.source;
    refuseTimes(schema, requested, work.image);
    const families = schema.table.descriptor.families
      .map(({ name }) => name)
      .filter((name) => name !== this.source.marks);
    const mutations = requested.map((mutation) =>
      mutation.kind === 'delete' && mutation.cells.length === 0 ? ofFamilies(mutation, families) : mutation,
    );
    const before = work.image.toResult();
    const after = work.image.after(mutations).toResult();
    const entry = isSame(before, after)
      ? undefined
      : { row: work.row, before, after: timed(after, this.source.now()) };
    this.recorded.set(work, { entry, place: undefined });
    return mutations;
  }

  /**
   * Allocates numbers for the changes and writes their entries. A change whose row or number another writer has used
   * is deferred. After an error the outcome is unknown; a reader of the log decides it later.
   */
  async note(
    works: readonly RowWork[],
    rows: DataRows,
    options: OperationOptions | undefined,
  ): Promise<void> {
    const changing = works.filter((work) => this.recorded.get(work)?.entry !== undefined);
    const unmarked = changing.filter(({ isDone, changeMark }) => !isDone && changeMark === undefined);
    const open = changing.filter(({ isDone }) => !isDone);
    if (open.length === 0) return;
    const { log, table, kept } = this.source;
    const buckets = open.map(({ row }) => bucketOf(table, row));
    const taking = log.allocate(buckets, options);
    await allEnded<unknown>([taking, this.claim(unmarked, rows, options)]);
    const numbers = await taking;
    const numbered: NumberedWork[] = [];
    const unused: LogPlace[] = [];
    for (const [i, work] of open.entries()) {
      const recorded = this.recorded.get(work)!;
      const number = numbers[i];
      if (number === undefined) {
        work.isPutOff = true;
        continue;
      }
      const place = { bucket: buckets[i]!, number };
      if (work.isDone || work.isPutOff) unused.push(place);
      else numbered.push({ work, recorded, place, mark: work.changeMark! });
    }
    // Close unused numbers: readers would wait for them.
    if (unused.length > 0) await log.closeNumbers(unused, kept);
    if (numbered.length === 0) return;
    const written = await log.write(
      numbered.map(({ place, recorded, mark }) => ({ ...place, table, entry: recorded.entry!, mark, kept })),
      numbered.flatMap(({ place, mark }) => this.before(place, mark)),
      options,
    );
    for (const [i, { work, recorded, place }] of numbered.entries()) {
      if (written[i]) recorded.place = place;
      else work.isPutOff = true;
    }
  }

  /** Marks the change that the row's mark names as made, in case its writer has not closed it yet. */
  private before({ bucket }: LogPlace, mark: Uint8Array): ClosedChange[] {
    const number = markedNumber(mark);
    if (number === undefined) return [];
    return [{ place: { bucket, number }, isMade: true, kept: this.source.kept }];
  }

  /** Gives a mark to rows without one: absence alone cannot tell whether the row changed in between. */
  private async claim(
    works: readonly RowWork[],
    rows: DataRows,
    options: OperationOptions | undefined,
  ): Promise<void> {
    if (works.length === 0) return;
    const { marks, kept } = this.source;
    const fresh = works.map(() => freshMark());
    const answers = await rows.table.batch(
      works.map((work, i) => {
        const { row, image, shadow } = work;
        const loaded = { stored: image.toResult(), shadow };
        const put = new Put(row).addColumn(marks, MARK_QUALIFIER, fresh[i]!);
        return checked(
          row,
          [this.absent(), ...rows.unchanged(loaded, [])],
          [put.setTtl(image.isEmpty ? kept : undefined, { optional: true })],
        );
      }),
      options,
    );
    for (const [i, answer] of answers.entries()) {
      const work = works[i]!;
      if (!answer.ok) work.fail(answer.error);
      else if (answer.success === false) work.isPutOff = true;
      else work.changeMark = fresh[i];
    }
  }

  /** The condition that the row's mark is unchanged since it was read. */
  condition(work: RowWork): Expectation[] {
    const { change, changeMark } = work;
    if (change === undefined) return [];
    const column = { family: this.source.marks, qualifier: MARK_QUALIFIER };
    if (changeMark !== undefined) return [{ ...column, kind: 'equal', value: changeMark }];
    return this.recorded.get(work)?.entry === undefined ? [this.absent()] : [];
  }

  /** The mutations that set the row's new mark. The mark of a deleted row stays as long as its change is kept. */
  writtenWith(work: RowWork): RowMutation[] {
    const { place, entry } = this.recorded.get(work) ?? {};
    if (place === undefined) return [];
    const { marks, kept } = this.source;
    const put = new Put(work.row).addColumn(marks, MARK_QUALIFIER, numberMark(place.number));
    return [put.setTtl(entry!.after.isEmpty ? kept : undefined, { optional: true })];
  }

  private absent(): Expectation {
    return { kind: 'absent', family: this.source.marks, qualifier: MARK_QUALIFIER };
  }

  /** Records the outcome of each change of a round. If this fails, a reader of the log decides the outcome. */
  close(works: readonly RowWork[]): Promise<void> {
    const { kept } = this.source;
    const closed: ClosedChange[] = [];
    for (const work of works) {
      const { outcome, isSent } = work;
      const recorded = this.recorded.get(work);
      const place = recorded?.place;
      if (recorded !== undefined) recorded.place = undefined;
      const isMade = outcome?.ok === true;
      // Skip rows whose write may or may not have arrived.
      if (place !== undefined && (isMade || !isSent)) closed.push({ place, isMade, kept });
    }
    return this.closing.add(closed);
  }

  private async closeLogged(closed: readonly ClosedChange[]): Promise<void> {
    const { log } = this.source;
    try {
      await log.close(closed);
      await log.removeEnded(closed, this.source.now());
    } catch (error) {
      if (!(error instanceof RowanError)) throw error;
    }
    if (closed.some(({ isMade }) => isMade)) this.source.onRecorded();
  }
}

/** The delete, limited to these families. */
function ofFamilies(mutation: Delete, families: readonly string[]): Delete {
  const del = new Delete(mutation.row).setDurability(mutation.durability);
  for (const family of families) del.addFamily(family);
  return del;
}

function isSame(before: Result, after: Result): boolean {
  return (
    before.cells.length === after.cells.length &&
    before.cells.every((cell, i) => {
      const other = after.cells[i]!;
      return (
        cell.family === other.family &&
        equalBytes(cell.qualifier, other.qualifier) &&
        equalBytes(cell.value, other.value)
      );
    })
  );
}

/** The image with the present time in place of times that the server will set. */
function timed(image: Result, now: number): Result {
  if (image.isEmpty) return image;
  const cells = image.cells.map(({ row, family, qualifier, timestamp, value }) =>
    timestamp === LATEST_TIMESTAMP
      ? new Cell(row, family, qualifier, now, CellType.Put, value)
      : new Cell(row, family, qualifier, timestamp, CellType.Put, value),
  );
  return new Result(image.row, cells);
}
