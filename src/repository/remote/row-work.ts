import { randomBytes } from 'node:crypto';
import { equalBytes, toBytes } from '../../bytes/index.js';
import { type RowanError, UnsupportedError } from '../../errors.js';
import type { EntryRepair } from '../../query/access.js';
import { type EntitySchema, LIST_QUALIFIER, SHADOW_QUALIFIER, TOKEN_LENGTH } from '../../schema/types.js';
import {
  type Cell,
  CellType,
  Delete,
  familyNames,
  filters,
  Get,
  type OperationOptions,
  Put,
  Result,
  type RowMutation,
  type Table,
} from '../../table/index.js';
import type { ChangeOutcome } from '../change.js';
import { type Change, checked, type Expectation } from '../change.js';
import { EntryExpiry } from '../expiry.js';
import type { WholeCall } from '../options.js';
import { isTimed, RowImage } from '../row-image.js';
import { nextMillisecond } from '../row-lock.js';

/** Whether a cell is a row's shadow, the list of its entries or its change mark. */
export function isMark(
  { marker, changeMarks }: EntitySchema,
  { family, qualifier }: Pick<Cell, 'family' | 'qualifier'>,
): boolean {
  if (family === changeMarks) return true;
  if (family !== marker?.family) return false;
  return equalBytes(qualifier, SHADOW_QUALIFIER) || equalBytes(qualifier, LIST_QUALIFIER);
}

/** The row without such cells, which may outlive it. Empty: the row does not exist. */
export function withoutMarks(schema: EntitySchema, result: Result): Result {
  if (!result.cells.some((cell) => isMark(schema, cell))) return result;
  const cells = result.cells.filter((cell) => !isMark(schema, cell));
  return cells.length === 0 ? Result.EMPTY : new Result(result.row, cells);
}

/** The qualifier of a row's change mark, in the family that its entity names for marks. FROZEN. */
export const MARK_QUALIFIER: Uint8Array = toBytes('c');

/**
 * Milliseconds for which late requests are fenced off by cells that nothing else keeps: the shadow of a missing row, and the tokens of
 * amounts that a group has taken. A request that is later still is not fenced off (docs/hbase-calls.md).
 */
export const FENCE_TTL = 4 * 60 * 60 * 1000;

/**
 * Age in milliseconds from which an intent or an unverified entry has no live writer: a change writes its row within
 * {@link WRITE_WINDOW} of its first mark, or starts over. The rest allows for clock differences.
 */
export const ABANDONED_AFTER = 30_000;
/** The longest time, in ms, between two attempts at work of dead programs. */
const LONGEST_PAUSE = 60 * 60 * 1000;

/** When background work that fails is tried again: the later, the longer it has failed, for a right may be missing for good. */
export class FailingWork {
  private since: number | undefined;

  /** @returns milliseconds until the next attempt. */
  failed(): number {
    const now = performance.now();
    this.since ??= now;
    return Math.min(Math.max(ABANDONED_AFTER, now - this.since), LONGEST_PAUSE);
  }

  succeeded(): void {
    this.since = undefined;
  }
}

/** Milliseconds from the first mark to the deadline of the row's write. */
export const WRITE_WINDOW = 10_000;

/** Of a raw read: the delete markers, and empty puts. */
const EMPTY_VALUES = filters.value('EQUAL', '');

/** Shorter than a token. Empty it would mean an absent cell. */
const NO_SHADOW = Uint8Array.of(0);

/** Tokens whose random bytes are drawn together: the call costs a hundred times what the bytes of one token do. */
const TOKENS_DRAWN = 256;
/** The random bytes of the next tokens, and how many of them are used. */
let random = new Uint8Array();
let used = 0;

/** A unique token, by which a writer recognizes its own writes. */
export function newToken(): Uint8Array {
  if (used === random.length) {
    random = new Uint8Array(randomBytes(TOKENS_DRAWN * TOKEN_LENGTH));
    used = 0;
  }
  used += TOKEN_LENGTH;
  return random.slice(used - TOKEN_LENGTH, used);
}

/** A row, with the cells apart from it that are stored beside it. */
interface LoadedRow {
  readonly stored: Result;
  readonly shadow: Uint8Array | undefined;
  /** The list of its entries in eventual indexes. */
  readonly listed: Uint8Array | undefined;
  /** The change mark, where changes are recorded. */
  readonly changeMark: Uint8Array | undefined;
  /** The timestamp of the shadow. */
  readonly shadowTime: number | undefined;
}

/**
 * The rows of an entity with their shadows. The shadow is a cell beside the marker that holds the token of the change that the row's
 * index entries belong to.
 */
export class DataRows {
  readonly family: string;
  /** The family of change marks. */
  private readonly marks: string | undefined;
  /** How long what is stored beside the rows lives. */
  readonly life: EntryExpiry;
  private readonly families: readonly string[];

  constructor(
    readonly table: Table,
    private readonly schema: EntitySchema,
  ) {
    this.life = new EntryExpiry(schema);
    this.family = schema.marker!.family;
    this.marks = schema.changeMarks;
    this.families = familyNames(schema.table.descriptor);
  }

  async load(row: Uint8Array, options: OperationOptions | undefined): Promise<LoadedRow> {
    const found = await this.table.get(this.whole(row), options);
    await this.loadTexts([found]);
    return this.split(found);
  }

  async loadAll(rows: readonly Uint8Array[], options: OperationOptions | undefined): Promise<LoadedRow[]> {
    if (rows.length === 1) return [await this.load(rows[0]!, options)];
    const found = await this.table.getAll(
      rows.map((row) => this.whole(row)),
      options,
    );
    await this.loadTexts(found);
    return found.map((result) => this.split(result));
  }

  /** Whether the row has delete markers. One of them may hide a put with the timestamp of its own (R32). */
  async hasMarkers(row: Uint8Array, options: OperationOptions | undefined): Promise<boolean> {
    const { cells } = await this.table.get(this.whole(row).setRaw(true).setFilter(EMPTY_VALUES), options);
    return cells.some(({ type }) => type !== CellType.Put);
  }

  private whole(row: Uint8Array): Get {
    return new Get(row).expectFamilies(this.families);
  }

  /** Of keys with a dictionary: who decodes the rows needs them. */
  private async loadTexts(found: readonly Result[]): Promise<void> {
    const { dictionaries } = this.schema.key;
    if (dictionaries === undefined) return;
    await dictionaries.loadTexts(found.filter(({ isEmpty }) => !isEmpty).map(({ row }) => row));
  }

  private split(result: Result): LoadedRow {
    const { marks } = this;
    const shadow = result.getLatest(this.family, SHADOW_QUALIFIER);
    const changeMark = marks === undefined ? undefined : result.getValue(marks, MARK_QUALIFIER);
    return {
      stored: withoutMarks(this.schema, result),
      shadow: shadow?.value,
      listed: result.getValue(this.family, LIST_QUALIFIER),
      changeMark,
      shadowTime: shadow?.timestamp,
    };
  }

  /** The conditions under which the row has not been changed since it was read, as far as its entries depend on it. */
  unchanged(
    { stored, shadow }: Pick<LoadedRow, 'stored' | 'shadow'>,
    others: readonly Expectation[],
  ): Expectation[] {
    const cell = { family: this.family, qualifier: SHADOW_QUALIFIER };
    if (shadow !== undefined) return [...others, { ...cell, kind: 'equal', value: shadow }];
    // First in the list: of several absences HBase checks only the first. Every new row gets a shadow, so its absence suffices.
    const expects: Expectation[] = [{ ...cell, kind: 'absent' }, ...others];
    // For a stored row without a shadow, absence alone would also hold after its deletion.
    const witness = this.witnessOf(stored);
    if (witness !== undefined && others.every(({ kind }) => kind === 'absent')) {
      expects.push({ kind: 'present', family: witness.family, qualifier: witness.qualifier });
    }
    return expects;
  }

  /** A cell that proves that the row exists: its marker, because a cell at another place than declared cannot be checked. */
  private witnessOf({ cells }: Result): Cell | undefined {
    const { family, qualifier } = this.schema.marker!;
    const isMarker = (cell: Cell): boolean => cell.family === family && equalBytes(cell.qualifier, qualifier);
    return cells.find(isMarker) ?? cells[0];
  }

  /**
   * On engines without cell TTL it stays for ever, which is harmless: a shadow alone is not a row. `lists`: the list of the row's entries
   * from now on; undefined: as it is.
   */
  shadowPut(row: Uint8Array, token: Uint8Array, ttl: number | undefined, lists?: Uint8Array): Put {
    const put = new Put(row).addColumn(this.family, SHADOW_QUALIFIER, token);
    if (lists !== undefined) put.addColumn(this.family, LIST_QUALIFIER, lists);
    return put.setTtl(ttl, { optional: true });
  }

  /**
   * Gives a row a new shadow if it is unchanged since it was loaded. A write planned before then fails its condition,
   * however late it arrives. The shadow of a missing row is its only cell, for {@link FENCE_TTL}.
   * @returns whether the row was unchanged. @throws RowanError as the table does.
   */
  async fence(row: Uint8Array, loaded: LoadedRow, now: number): Promise<boolean> {
    // A delete hides puts of its millisecond (R32).
    await nextMillisecond();
    const put = this.shadowPut(row, newToken(), this.shadowLife(loaded.stored, now));
    const { success } = await this.table.checkAndMutate(checked(row, this.unchanged(loaded, []), [put]));
    return success;
  }

  /** Fails as a write of the row would, where its table takes none. Writes nothing, as no row has the shadow that it asks for. */
  async checkWritable(row: Uint8Array, options: OperationOptions | undefined): Promise<void> {
    const cell = { family: this.family, qualifier: SHADOW_QUALIFIER };
    const never: Expectation = { ...cell, kind: 'equal', value: NO_SHADOW };
    const del = new Delete(row).addColumns(cell.family, cell.qualifier);
    await this.table.checkAndMutate(checked(row, [never], [del]), options);
  }

  /** The time to live of a shadow that is written alone, ms; undefined: none. */
  shadowLife(stored: Result, now: number): number | undefined {
    if (stored.isEmpty) return FENCE_TTL;
    return this.life.remainingOfMarker((family, qualifier) => stored.getLatest(family, qualifier), now);
  }
}

/** Fences rows as they are now; see {@link DataRows.fence}. @returns false when another writer changed one meanwhile. */
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

/** The state of one row's change: what was read, what is planned and what has been done. */
export class RowWork {
  readonly row: Uint8Array;
  /** The row without its shadow, as last read. */
  image: RowImage;
  shadow: Uint8Array | undefined;
  token: Uint8Array = newToken();
  mutations: readonly RowMutation[] = [];
  expects: readonly Expectation[] = [];
  /** Whether the change sets the row's shadow to its token. */
  renews = false;
  /** Whether the change may alter entries, so that there are some to mark. */
  altersEntries = false;
  /** Whether its entries are known only after the row was written, as with explicit timestamps. */
  isOpenEnded = false;
  /** Whether this attempt must wait for other writers. */
  isPutOff = false;
  /** Whether its data row may have been written. */
  isSent = false;
  outcome: ChangeOutcome | undefined;
  /** The list of the row's entries in eventual indexes, as last read. */
  listed: Uint8Array | undefined;
  /** The list that is written with the shadow. Undefined: it stays as it is. */
  lists: Uint8Array | undefined;
  /** The row's change mark as last read, where changes are recorded. */
  changeMark: Uint8Array | undefined;
  /** Ends its intents and settles its entries, after the answer. */
  closing: Promise<void> | undefined;
  /** Settles its effects; undefined: not begun. */
  followUp: Promise<unknown> | undefined;

  constructor(
    row: Uint8Array,
    /** Undefined: a repair, which keeps the row and brings its entries in line. */
    readonly change: Change | undefined,
  ) {
    this.row = row;
    this.image = RowImage.of(row, Result.EMPTY);
  }

  get isDone(): boolean {
    return this.outcome !== undefined;
  }

  /** Begins an attempt with the row as read. */
  begin(image: RowImage, loaded: Pick<LoadedRow, 'shadow' | 'listed' | 'changeMark'>): void {
    this.image = image;
    this.shadow = loaded.shadow;
    this.listed = loaded.listed;
    this.lists = undefined;
    this.changeMark = loaded.changeMark;
    this.token = newToken();
    this.mutations = [];
    this.isPutOff = false;
  }

  fail(error: RowanError): void {
    this.outcome ??= { ok: false, error };
  }
}

/**
 * A record that is written before a row and ended after it, so that others can finish a change that was broken off: the outbox's
 * intent ({@link FollowUps}), or the entry of the change log.
 */
export interface RowIntent {
  /** Writes rows in one call, where no other intents and no entries are about them. Undefined: intents are noted before. */
  readonly ahead?: RowsAhead | undefined;
  /** Whether every change sets the row's shadow, whatever columns it touches. */
  readonly renewsShadow: boolean;
  /** @returns the mutations, amended as needed. @throws RowanError to refuse the change. */
  plan(
    work: RowWork,
    mutations: readonly RowMutation[],
  ): readonly RowMutation[] | Promise<readonly RowMutation[]>;
  /** Writes the intents. Works whose intent could not be written are failed or put off. */
  note(works: readonly RowWork[], rows: DataRows, call: WholeCall): Promise<void>;
  /** Further conditions of the row's write. */
  condition?(work: RowWork): readonly Expectation[];
  /** Further mutations of the row's write. */
  writtenWith?(work: RowWork): readonly RowMutation[];
  /** Ends the intents of a round, while the row locks are held. Readers settle those for which it fails. */
  close?(works: readonly RowWork[]): Promise<void>;
  /** Settles the effects of written rows and ends their intents. Effects may wait for the row locks. */
  finish?(works: readonly RowWork[]): Promise<void>;
}

/**
 * Entries that lead to the rows of an entity, on an engine whose step is one row: marked as unverified before a row is written, verified
 * or removed behind it. A feature has them (docs/extending.md).
 */
export interface RowEntries {
  /** Receives unverified entries that queries have read. */
  readonly readRepair: EntryRepair;
  /** What the entity has, for messages: "indexes (byName)". */
  readonly name: string;
  /** Whether a change alters no entry, whatever its row holds. Such a change needs no driver. */
  isUntouchedBy(change: Change): boolean;
  /**
   * Plans the entries of a change that leaves the row as `after`.
   * @returns whether the change may alter entries. Then it renews the row's shadow, so that a change whose marks it overwrites fails.
   * @throws RowanError to refuse the change.
   */
  plan(work: RowWork, after: RowImage): boolean;
  /** Plans the entries of a row that keeps its cells. @returns whether there is anything to write. */
  planRepair(work: RowWork): boolean;
  /** Marks the entries that the works touch. Works that cannot continue are failed or put off. */
  mark(works: readonly RowWork[], call: WholeCall): Promise<void>;
  /** Verifies or removes the marked entries of written rows. Where it fails, readers do it. */
  settle(works: readonly RowWork[]): Promise<void>;
  /** Takes back the marks of works that have changed nothing. */
  withdraw(works: readonly RowWork[]): Promise<void>;
  /** Writes new rows ahead of their entries. Undefined: entries are marked before. */
  readonly ahead?: RowsAhead | undefined;
}

/** Writes rows in one call, ahead of what follows them. */
export interface RowsAhead {
  /** Whether it can write the row of a change. */
  takes(change: Change): boolean;
  /**
   * Writes rows. Undefined outcomes: the row exists, and the driver has to apply the change.
   * @returns also the work after the answer.
   */
  write(
    changes: readonly Change[],
    table: Table,
    call: WholeCall,
  ): Promise<{
    readonly outcomes: readonly (ChangeOutcome | undefined)[];
    readonly following: Promise<void>;
  }>;
  /** Resolves where further rows may be written. */
  room(): Promise<void>;
  /** Resolves when what follows rows that were written before the call is done. */
  rest(): Promise<void>;
  /**
   * Does the work that rows of other programs lack, and rows whose writes had no answer. @param settledAfter age in milliseconds from
   * which the work of others is abandoned. @returns the number of rows.
   */
  recover(settledAfter?: number): Promise<number>;
}

/** Resolves when all have ended. @throws the first error in the order of the list. */
export async function allEnded<T>(all: readonly (T | Promise<T>)[]): Promise<T[]> {
  const ends = await Promise.allSettled(all);
  return ends.map((end) => {
    if (end.status === 'rejected') throw end.reason;
    return end.value;
  });
}

/**
 * Refuses explicit timestamps. Effects and recorded changes follow the last write, which an older timestamp would not make visible.
 * @throws UnsupportedError on mutations with a timestamp.
 */
export function refuseTimes(
  { name }: EntitySchema,
  mutations: readonly RowMutation[],
  before: RowImage,
): void {
  if (!mutations.some((mutation) => isTimed(mutation, before))) return;
  throw new UnsupportedError(
    `${name} has recorded changes, copies, computed columns, referential rules or summaries, or is the target of such: on HBase its rows cannot be written with a timestamp. Leave the timestamp out.`,
    { details: { entity: name } },
  );
}
