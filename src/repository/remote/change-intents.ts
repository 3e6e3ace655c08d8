import { concatBytes, copyBytes, EMPTY_BYTES, equalBytes, toBytes } from '../../bytes/index.js';
import { RowanError } from '../../errors.js';
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
import { checked, type Expectation } from '../change.js';
import type { ChangeLog, ClosedChange } from '../changes/change-log.js';
import { bucketOf, freshMark, MARK_QUALIFIER, markedNumber, numberMark } from '../changes/log-rows.js';
import { OUTBOX_FAMILY } from '../outbox.js';
import { type DataRows, type RowWork, refuseTimes } from './row-work.js';

/**
 * The part of a row's change that is about telling it (docs/changes.md): the change is written into the log before the row is
 * written, on condition that the row still has the mark by which it was read, and sets the mark to its number.
 */

/** What it takes from its database. */
export interface ChangeIntentSource {
  readonly schema: EntitySchema;
  /** The family of marks. */
  readonly marks: string;
  /** Milliseconds for which changes are kept. */
  readonly kept: number;
  /** The name of the entity's table, "namespace:name". */
  readonly table: string;
  readonly log: ChangeLog;
  now(): number;
  /** Told when changes were made that can be read now. */
  onTold(): void;
}

export class ChangeIntents {
  constructor(private readonly source: ChangeIntentSource) {}

  /** The mutations, none of which touches the marks; notes what they make of the row. */
  plan(work: RowWork, said: readonly RowMutation[]): readonly RowMutation[] {
    const { schema } = this.source;
    refuseTimes(schema, said);
    const families = schema.table.descriptor.families
      .map(({ name }) => name)
      .filter((name) => name !== this.source.marks);
    const mutations = said.map((mutation) =>
      mutation.kind === 'delete' && mutation.cells.length === 0 ? ofFamilies(mutation, families) : mutation,
    );
    const before = work.image.toResult();
    const after = work.image.after(mutations).toResult();
    work.told = isSame(before, after)
      ? undefined
      : { row: work.row, before, after: timed(after, this.source.now()) };
    return mutations;
  }

  /**
   * Takes numbers for the changes, and writes them down. One whose row or number somebody else has touched is put off; after an
   * error nothing is known of any, and whoever reads the log finds out.
   */
  async note(
    works: readonly RowWork[],
    rows: DataRows,
    options: OperationOptions | undefined,
  ): Promise<void> {
    await this.claim(
      works.filter(
        ({ isDone, told, changeMark }) => !isDone && told !== undefined && changeMark === undefined,
      ),
      rows,
      options,
    );
    const told = works.filter(({ isDone, isPutOff, told }) => !isDone && !isPutOff && told !== undefined);
    if (told.length === 0) return;
    const { log, table, kept } = this.source;
    const buckets = told.map(({ row }) => bucketOf(table, row));
    const numbers = await log.take(buckets, options);
    for (const [i, work] of told.entries()) {
      const number = numbers[i];
      if (number === undefined) work.isPutOff = true;
      else work.place = { bucket: buckets[i]!, number };
    }
    const placed = told.filter(({ place }) => place !== undefined);
    const written = await log.write(
      placed.map(({ place, told, changeMark }) => ({
        ...place!,
        table,
        entry: told!,
        mark: changeMark!,
        kept,
      })),
      placed.flatMap((work) => this.before(work)),
      options,
    );
    for (const [i, work] of placed.entries()) {
      if (written[i]) continue;
      work.isPutOff = true;
      work.place = undefined;
    }
  }

  /** The change that the row's mark is of was made, whether or not its writer has come to say so. */
  private before({ place, changeMark }: RowWork): ClosedChange[] {
    const number = markedNumber(changeMark!);
    if (number === undefined) return [];
    return [{ place: { bucket: place!.bucket, number }, isMade: true, kept: this.source.kept }];
  }

  /** Rows without a mark get one: that there is none says nothing of what was between. */
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
          [put.setTtl(image.isEmpty ? kept : undefined)],
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

  /** What must hold of the row's mark for it to be as it was read. */
  expects({ change, told, changeMark }: RowWork): Expectation[] {
    if (change === undefined) return [];
    const column = { family: this.source.marks, qualifier: MARK_QUALIFIER };
    if (changeMark !== undefined) return [{ ...column, kind: 'equal', value: changeMark }];
    return told === undefined ? [this.absent()] : [];
  }

  /** What is written with the row. Of a row that is gone the mark stays as long as its change is kept. */
  mark({ row, place, told }: RowWork): RowMutation[] {
    if (place === undefined) return [];
    const { marks, kept } = this.source;
    const put = new Put(row).addColumn(marks, MARK_QUALIFIER, numberMark(place.number));
    return [put.setTtl(told!.after.isEmpty ? kept : undefined)];
  }

  private absent(): Expectation {
    return { kind: 'absent', family: this.source.marks, qualifier: MARK_QUALIFIER };
  }

  /** Says of the changes of a round what became of them. What fails here, whoever reads the log finds out. */
  async close(works: readonly RowWork[]): Promise<void> {
    const { log, kept } = this.source;
    const closed: ClosedChange[] = [];
    for (const work of works) {
      const { place, outcome, isSent } = work;
      work.place = undefined;
      const isMade = outcome?.ok === true;
      // Of a row of which nobody knows whether it was written nothing is said.
      if (place !== undefined && (isMade || !isSent)) closed.push({ place, isMade, kept });
    }
    try {
      await log.close(closed);
    } catch (error) {
      if (!(error instanceof RowanError)) throw error;
    }
    if (closed.some(({ isMade }) => isMade)) this.source.onTold();
  }
}

/** The delete of a row, without what is in other families. */
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

/** The server gives new cells their times; here it is about that of now. */
function timed(image: Result, now: number): Result {
  if (image.isEmpty) return image;
  const cells = image.cells.map(({ row, family, qualifier, timestamp, value }) =>
    timestamp === LATEST_TIMESTAMP
      ? new Cell(row, family, qualifier, now, CellType.Put, value)
      : new Cell(row, family, qualifier, timestamp, CellType.Put, value),
  );
  return new Result(image.row, cells);
}

/**
 * What is still to follow rows, on an engine whose one step is a row: noted before the row is written, removed when what
 * follows from it has been done. docs/formats.md has the bytes.
 *
 *     row      entity 00 | 00 | row of the entity
 *     o:token  (empty)                              a cell for each change that is under way
 */

const END = Uint8Array.of(0, 0);

/** A change of a row that is, or was, under way. */
export interface IntentMark {
  readonly token: Uint8Array;
  /** When it was noted last, by the engine's time. */
  readonly since: number;
}

/** A row that something is to follow from. */
export interface Intent {
  readonly row: Uint8Array;
  readonly entity: string;
  readonly target: Uint8Array;
  readonly marks: readonly IntentMark[];
}

export function intentRow({ name }: EntitySchema, target: Uint8Array): Uint8Array {
  return concatBytes(toBytes(name), END, target);
}

export function putIntent(row: Uint8Array, token: Uint8Array): RowMutation {
  return new Put(row).addColumn(OUTBOX_FAMILY, token, EMPTY_BYTES);
}

/** Up to what was read of them, where that is said: a change that begins anew notes itself once more. */
export function removeIntents(
  row: Uint8Array,
  marks: readonly (Pick<IntentMark, 'token'> & Partial<IntentMark>)[],
): RowMutation {
  const del = new Delete(row);
  for (const { token, since } of marks) del.addColumns(OUTBOX_FAMILY, token, since);
  return del;
}

/** Undefined for what is none. */
export function readIntent({ row, cells }: Result): Intent | undefined {
  const end = row.indexOf(0);
  if (end < 0 || row[end + 1] !== 0) return undefined;
  const own = cells.filter(({ family }) => family === OUTBOX_FAMILY);
  return {
    row,
    entity: Buffer.from(row.subarray(0, end)).toString('utf8'),
    target: copyBytes(row, end + END.length),
    marks: own.map(({ qualifier, timestamp }) => ({ token: qualifier, since: timestamp })),
  };
}
