import { setTimeout as sleep } from 'node:timers/promises';
import { equalBytes, toBytes, toLatin1 } from '../../bytes/index.js';
import { type RowanError, UnsupportedError } from '../../errors.js';
import type { EntityIndex } from '../../features/indexes/entity-indexes.js';
import { newToken, SHADOW_QUALIFIER } from '../../features/indexes/entry.js';
import type { EntryChange } from '../../features/indexes/plan.js';
import type { EntitySchema } from '../../schema/types.js';
import {
  type Cell,
  Get,
  LATEST_TIMESTAMP,
  type OperationOptions,
  Put,
  Result,
  type RowMutation,
  type Table,
} from '../../table/index.js';
import { type Change, checked, type Expectation } from '../change.js';
import type { ChangeOutcome } from '../executor.js';
import { EntryLife } from '../expiry.js';
import type { WholeCall } from '../options.js';
import { RowImage } from '../row-image.js';
import { TICK } from '../row-lock.js';

/**
 * The row without what is kept beside it, its shadow and its mark: these stay for a while when it is deleted. Empty: there is no
 * row.
 */
export function withoutMarks({ marker, changeMarks }: EntitySchema, result: Result): Result {
  const isMark = (family: string, qualifier: Uint8Array): boolean =>
    family === changeMarks || (family === marker?.family && equalBytes(qualifier, SHADOW_QUALIFIER));
  if (!result.cells.some(({ family, qualifier }) => isMark(family, qualifier))) return result;
  const cells = result.cells.filter(({ family, qualifier }) => !isMark(family, qualifier));
  return cells.length === 0 ? Result.EMPTY : new Result(result.row, cells);
}

/** The mark of a row's last recorded change, in the family that its entity names for marks. FROZEN. */
export const MARK_QUALIFIER: Uint8Array = toBytes('c');

/** Rows with their shadow: the cell beside the marker that says which change their entries are of. */

/**
 * Milliseconds that what keeps late requests out stands where nothing else holds it: the shadow of a row that is not there, and the
 * tokens of what a group was given. No request is later.
 */
export const FENCED = 4 * 60 * 60 * 1000;

/** A row, and apart from it its shadow and its mark. */
export interface LoadedRow {
  readonly stored: Result;
  readonly shadow: Uint8Array | undefined;
  /** The mark of its last change, where changes are recorded. */
  readonly changeMark: Uint8Array | undefined;
}

export class DataRows {
  readonly family: string;
  /** The family of marks. */
  private readonly marks: string | undefined;
  private readonly life: EntryLife;

  constructor(
    readonly table: Table,
    private readonly schema: EntitySchema,
  ) {
    this.life = new EntryLife(schema);
    this.family = schema.marker!.family;
    this.marks = schema.changeMarks;
  }

  async load(row: Uint8Array, options: OperationOptions | undefined): Promise<LoadedRow> {
    return this.split(await this.table.get(new Get(row), options));
  }

  async loadAll(rows: readonly Uint8Array[], options: OperationOptions | undefined): Promise<LoadedRow[]> {
    if (rows.length === 1) return [await this.load(rows[0]!, options)];
    const found = await this.table.getAll(
      rows.map((row) => new Get(row)),
      options,
    );
    return found.map((result) => this.split(result));
  }

  private split(result: Result): LoadedRow {
    const { marks } = this;
    const shadow = result.getValue(this.family, SHADOW_QUALIFIER);
    const changeMark = marks === undefined ? undefined : result.getValue(marks, MARK_QUALIFIER);
    return { stored: withoutMarks(this.schema, result), shadow, changeMark };
  }

  /** What must hold for a row's entries to be of the change that they were when it was read. */
  unchanged(
    { stored, shadow }: Omit<LoadedRow, 'changeMark'>,
    others: readonly Expectation[],
  ): Expectation[] {
    const cell = { family: this.family, qualifier: SHADOW_QUALIFIER };
    if (shadow !== undefined) return [...others, { ...cell, kind: 'equal', value: shadow }];
    // In front: of a row that is not there the first absence alone is asked, and every row has a shadow from its beginning.
    const expects: Expectation[] = [{ ...cell, kind: 'absent' }, ...others];
    // Of a row without a shadow absence says nothing: it may be gone.
    const witness = this.witnessOf(stored);
    if (witness !== undefined && others.every(({ kind }) => kind === 'absent')) {
      expects.push({ kind: 'present', family: witness.family, qualifier: witness.qualifier });
    }
    return expects;
  }

  /** A cell by which a row is there: its marker, for what stands at another place than it is declared at cannot be asked for. */
  private witnessOf({ cells }: Result): Cell | undefined {
    const { family, qualifier } = this.schema.marker!;
    const isMarker = (cell: Cell): boolean => cell.family === family && equalBytes(cell.qualifier, qualifier);
    return cells.find(isMarker) ?? cells[0];
  }

  /** Where cells have no lives it stays: nobody takes a shadow for a row. */
  shadowPut(row: Uint8Array, token: Uint8Array, ttl: number | undefined): Put {
    return new Put(row).addColumn(this.family, SHADOW_QUALIFIER, token).setTtl(ttl, { optional: true });
  }

  /**
   * Gives a row another shadow, if it is still as it was loaded: a write that was planned before, however late it comes, then fails
   * by its condition. Of a row that is not there the shadow stands alone, for {@link FENCED}.
   * @returns whether it was. @throws RowanError as the table does.
   */
  async fence(row: Uint8Array, loaded: LoadedRow, now: number): Promise<boolean> {
    // A delete hides what is written in its millisecond (R32).
    await sleep(TICK);
    const put = this.shadowPut(row, newToken(), this.shadowLife(loaded.stored, now));
    const { success } = await this.table.checkAndMutate(checked(row, this.unchanged(loaded, []), [put]));
    return success;
  }

  /** Milliseconds that the shadow of a row stands which nothing else is written with; undefined: without end. */
  shadowLife(stored: Result, now: number): number | undefined {
    if (stored.isEmpty) return FENCED;
    return this.life.remainingOfMarker((family, qualifier) => stored.getLatest(family, qualifier), now);
  }
}

/** Fences rows as they are now; see {@link DataRows.fence}. @returns whether none was being changed by others. */
export async function fenceRows(
  table: Table,
  schema: EntitySchema,
  found: readonly Uint8Array[],
  now: () => number,
): Promise<boolean> {
  if (found.length === 0) return true;
  const rows = new DataRows(table, schema);
  const loaded = await rows.loadAll(found, undefined);
  const fenced = await Promise.all(loaded.map((one, i) => rows.fence(found[i]!, one, now())));
  return fenced.every((one) => one);
}

/** One row that is changed together with its entries, and how far that has come. */

/** An entry that may be one of a row, and one that it may be none of. */
export interface Suspect {
  readonly index: EntityIndex;
  readonly row: Uint8Array;
}

/** An entry that was written before its row. */
export interface Mark extends Suspect {
  readonly change: EntryChange;
  /** What it was written with. */
  readonly value: Uint8Array;
}

export class RowWork {
  readonly row: Uint8Array;
  /** The row without its shadow, as it was read last. */
  image: RowImage;
  shadow: Uint8Array | undefined;
  token: Uint8Array = newToken();
  mutations: readonly RowMutation[] = [];
  expects: readonly Expectation[] = [];
  changes: readonly EntryChange[] = [];
  /** Whether the row's shadow is to be of this change. */
  renews = false;
  /** Whether its entries are known only when it has been written. */
  isOpenEnded = false;
  /** Whether its entries must wait for others. */
  isPutOff = false;
  /** Whether its data row may have been written. */
  isSent = false;
  /** Values of unique indexes that others have, in a row that is only mended. */
  taken = 0;
  outcome: ChangeOutcome | undefined;
  /** The mark that says which change the row is of; of entities whose changes are recorded. */
  changeMark: Uint8Array | undefined;
  /** The settling of its effects, once it has begun. */
  followUp: Promise<unknown> | undefined;
  /** Every entry that was marked, by its row. */
  readonly marks = new Map<string, Mark>();

  constructor(
    row: Uint8Array,
    /** Undefined: the row stays as it is, and its entries are put right. */
    readonly change: Change | undefined,
    readonly suspects: readonly Suspect[] = [],
    /** Whether the suspects may be of others, who are to be kept from writing the row. */
    readonly isFencing: boolean = false,
  ) {
    this.row = row;
    this.image = RowImage.of(row, Result.EMPTY);
  }

  get isDone(): boolean {
    return this.outcome !== undefined;
  }

  /** Begins a round with what was read. */
  begin(image: RowImage, { shadow, changeMark }: Omit<LoadedRow, 'stored'>): void {
    this.image = image;
    this.shadow = shadow;
    this.changeMark = changeMark;
    this.token = newToken();
    this.isPutOff = false;
  }

  note(mark: Mark): void {
    this.marks.set(toLatin1(mark.row), mark);
  }

  drop(change: EntryChange): void {
    this.changes = this.changes.filter((one) => one !== change);
  }

  fail(error: RowanError): void {
    this.outcome ??= { ok: false, error };
  }
}

/**
 * A record that the intent driver has written before a row, so that whoever finds it can finish the change, and removed behind it:
 * the outbox's note of effects ({@link FollowUps}), the entry of the change log. State of a row is kept by its {@link RowWork}.
 */
export interface RowIntent {
  /** Whether the row's shadow is to be of this change, whatever the change touches. */
  readonly renewsShadow: boolean;
  /** The mutations of a round, with what is added to them or taken away. @throws what refuses the change. */
  plan(
    work: RowWork,
    mutations: readonly RowMutation[],
  ): readonly RowMutation[] | Promise<readonly RowMutation[]>;
  /** Writes the intents of rows. Those whose intent could not be written are failed or put off; the others are written next. */
  note(works: readonly RowWork[], rows: DataRows, call: WholeCall): Promise<void>;
  /** Conditions on the row when it is written. */
  condition?(work: RowWork): readonly Expectation[];
  /** Mutations that are written with the row. */
  writtenWith?(work: RowWork): readonly RowMutation[];
  /** Ends the intents of a round, while the locks of the rows are held. What fails is found by readers. */
  close?(works: readonly RowWork[]): Promise<void>;
  /** Settles the effects of rows that are written, and ends their intents. Effects may wait for the locks of the rows. */
  finish?(works: readonly RowWork[]): Promise<void>;
}

/** Resolves to the answers when all have ended. @throws the first error in the order of the list, when all have ended. */
export async function allEnded<T>(all: readonly (T | Promise<T>)[]): Promise<T[]> {
  const ends = await Promise.allSettled(all);
  return ends.map((end) => {
    if (end.status === 'rejected') throw end.reason;
    return end.value;
  });
}

/** Writes that say a time of their own, where what follows a row goes by what is written last. */

/**
 * All cells of a row have the time of the write: what was given another may stand behind what is there already.
 * @throws UnsupportedError on mutations with a time.
 */
export function refuseTimes({ name }: EntitySchema, mutations: readonly RowMutation[]): void {
  const timed = mutations.some((mutation) => {
    if (!('cells' in mutation)) return false;
    const times = [mutation.timestamp, ...mutation.cells.map(({ timestamp }) => timestamp)];
    return times.some((time) => time !== LATEST_TIMESTAMP);
  });
  if (!timed) return;
  throw new UnsupportedError(
    `${name} has changes that are told, copies, referential rules or summaries, or others have them about it: on HBase its rows are not written with a timestamp. Leave it out.`,
    { details: { entity: name } },
  );
}
