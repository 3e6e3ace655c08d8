/**
 * Writes rows before their effects, on engines whose atomic step is one row. One call writes a row; a feature does its work for many rows
 * together later. In order:
 *
 * 1. The program has a writer record ({@link WriterRecords}), which leads others to its rows if it dies.
 * 2. The row is written with a new shadow, so that changes that other writers have planned fail. Then the call returns. An insert, and
 *    each row if the work needs its former values, has the condition that there is no marker; {@link IntentDriver} writes a row that
 *    exists.
 * 3. The work for the rows that were written meanwhile ({@link GATHERED}) is done.
 * 4. The record is removed when no row waits.
 */

import { equalBytes, toLatin1 } from '../../bytes/index.js';
import { RowanError } from '../../errors.js';
import type { EntitySchema } from '../../schema/types.js';
import { SHADOW_QUALIFIER } from '../../schema/types.js';
import {
  type BatchAction,
  type BatchOutcome,
  LATEST_TIMESTAMP,
  type Put,
  Result,
  type RowMutation,
  Scan,
  type Table,
} from '../../table/index.js';
import type { Metric } from '../../table/telemetry.js';
import { type Change, type ChangeOutcome, checked } from '../change.js';
import type { ChangeImage } from '../maintainer.js';
import type { WholeCall } from '../options.js';
import { RowImage } from '../row-image.js';
import { BackgroundBatches, GATHERED } from './background-batches.js';
import { ABANDONED_AFTER, type DataRows, newToken, type RowsAhead, WRITE_WINDOW } from './row-work.js';
import { type Covered, WriterRecords } from './writer-records.js';

/** Rows that are looked at, or worked on, together. */
const TOGETHER = 512;
/** Rows that may lack what follows them. Further writers wait. */
const MOST_WAITING = 8192;

/** A row that is written, with the columns that were written. */
export interface AheadRow {
  readonly row: Uint8Array;
  /** The row with nothing but these columns. Undefined: unknown. */
  readonly after: RowImage | undefined;
}

/** What follows rows that are written ahead of it. */
export interface LaterWork {
  /** The table, row and family of its writer records. */
  readonly records: { readonly table: Table; readonly row: Uint8Array; readonly family: string };
  /** Whether the former values of a row are needed. Then only rows that do not exist are written ahead. */
  readonly needsFormer: boolean;
  /**
   * The number of things that the change of a row leaves to be done. `before` is empty: its former values are not read.
   * @returns undefined for a change that cannot be made ahead. @throws RowanError for one that is to be refused.
   */
  plan(change: ChangeImage): number | undefined;
  /**
   * Does the work for distinct rows, as they are now. @param settledAfter age in ms from which the work of others is abandoned. @returns
   * whether it is complete; otherwise others are at work on some of them.
   */
  perform(rows: readonly AheadRow[], settledAfter: number): Promise<boolean>;
  /** Those of these rows for which work is to be done. */
  lacking(rows: readonly Uint8Array[]): Promise<readonly Uint8Array[]>;
  /**
   * What the work leaves in the table of records and a row does not lead to that was deleted meanwhile. Undefined: others see that it
   * has no row.
   */
  begun?(): Promise<readonly BegunWork[]>;
}

/** Scans for cells that work on rows has left. */
interface BegunWork {
  readonly scan: Scan;
  /** The row that the work is about, by the row of such a cell. */
  rowOf(row: Uint8Array): Uint8Array;
}

interface AheadSource {
  readonly schema: EntitySchema;
  readonly rows: DataRows;
  readonly work: LaterWork;
  now(): number;
  onFailure(error: RowanError): void;
}

/** A row to be written. */
interface PlannedRow extends AheadRow {
  readonly put: Put;
  readonly after: RowImage;
  /** Whether it is written only where it does not exist. */
  readonly isNew: boolean;
  /** What is to be done after it. */
  readonly count: number;
}

/** Rows of one call that wait. */
interface WaitingRows {
  readonly covered: Covered;
  readonly rows: readonly PlannedRow[];
}

export class AheadWriter implements RowsAhead {
  private readonly records: WriterRecords;
  private readonly batches: BackgroundBatches<WaitingRows>;
  private readonly waiting = new Map<Covered, WaitingRows>();
  /** The number of rows that wait. */
  private rows = 0;
  private readonly planned = new WeakMap<Change, PlannedRow>();
  /** Changes for which rows are not expected to be new, after some that were not. */
  private skips = 0;
  private skipped = 0;

  constructor(private readonly source: AheadSource) {
    const { schema, work, now, onFailure } = source;
    this.records = new WriterRecords({
      ...work.records,
      entity: schema.name,
      now,
      onFailure,
      catchUp: (since, settledAfter) => this.catchUp(since, settledAfter),
    });
    this.batches = new BackgroundBatches<WaitingRows>((waiting) => this.follow(waiting), {
      ...GATHERED,
      sizeOf: ({ rows }) => rows.length,
    });
  }

  takes(change: Change): boolean {
    const { operation, expects, reads } = change;
    if (this.records.hasEnded || reads !== undefined) return false;
    if (operation !== 'insert' && (operation !== 'put' || expects.length > 0)) return false;
    if (operation === 'put' && this.skipped > 0 && this.source.work.needsFormer) {
      this.skipped--;
      return false;
    }
    try {
      const planned = this.plan(change);
      if (planned !== undefined) this.planned.set(change, planned);
      return planned !== undefined;
    } catch (error) {
      // The driver refuses it.
      if (error instanceof RowanError) return false;
      throw error;
    }
  }

  /** Undefined for changes that may do more than to set columns. */
  private plan(change: Change): PlannedRow | undefined {
    const { schema, rows, work } = this.source;
    const { row, expects, operation } = change;
    const { mutations, seen, outlived, remains } = change.resolve(undefined);
    const isInsert = operation === 'insert';
    const isPlain = seen.length === 0 && outlived === undefined && remains === undefined;
    if (!isPlain || (isInsert && !isAbsence(expects, schema.marker!))) return undefined;
    if (!mutations.every(isNow)) return undefined;
    const before = RowImage.of(row, Result.EMPTY);
    const after = before.after(mutations);
    const count = work.plan({ operation, row, before, after, mutations });
    if (count === undefined) return undefined;
    const put = rows.shadowPut(row, newToken(), undefined);
    const [first] = mutations as readonly Put[];
    put.setDurability(first!.durability);
    for (const { cells } of mutations as readonly Put[]) put.cells.push(...cells);
    return { row, put, after, isNew: isInsert || work.needsFormer, count };
  }

  async write(
    changes: readonly Change[],
    table: Table,
    call: WholeCall,
  ): Promise<{ outcomes: (ChangeOutcome | undefined)[]; following: Promise<void> }> {
    const rows = changes.map((change) => this.planned.get(change)!);
    let covered: Covered;
    const covering = this.records.covered();
    try {
      covered = await call.before(covering);
    } catch (error) {
      covering.then(
        (unused) => this.records.ended([unused]),
        () => undefined,
      );
      if (!(error instanceof RowanError)) throw error;
      return { outcomes: changes.map(() => ({ ok: false, error })), following: Promise.resolve() };
    }
    const { family, qualifier } = this.source.schema.marker!;
    const actions = rows.map(({ put, isNew }) =>
      isNew ? checked(put.row, [{ kind: 'absent', family, qualifier }], [put]) : put,
    );
    const answers = await this.send(actions, table, call);
    const written = rows.filter((_, i) => !answers[i]!.ok || isSuccess(answers[i]!));
    // Where the answer is lost, the row may be written later.
    if (answers.some(({ ok }) => !ok)) this.records.keep(covered);
    const outcomes = changes.map((change, i) => this.outcomeOf(change, answers[i]!));
    return { outcomes, following: this.followed(covered, written) };
  }

  private async send(
    actions: readonly BatchAction[],
    table: Table,
    call: WholeCall,
  ): Promise<readonly BatchOutcome[]> {
    try {
      const timeout = Math.min(call.timeout ?? WRITE_WINDOW, WRITE_WINDOW);
      const { signal, attributes } = call;
      // Sent again, a put could arrive late without anybody knowing, and no record would lead to its row.
      return await table.batch(actions, { signal, attributes, timeout, once: true });
    } catch (error) {
      if (!(error instanceof RowanError)) throw error;
      return actions.map(() => ({ ok: false, error }));
    }
  }

  /** Undefined: the row exists, and is to be written by the driver. */
  private outcomeOf(change: Change, answer: BatchOutcome): ChangeOutcome | undefined {
    if (!answer.ok) return answer;
    if (isSuccess(answer)) {
      if (change.operation === 'put') this.skips = 0;
      return { ok: true, result: answer.result };
    }
    if (change.operation === 'insert') return { ok: false, error: change.mismatch!() };
    if (this.skipped === 0) this.skips = Math.min(2 * this.skips + 1, 63);
    this.skipped = this.skips;
    return undefined;
  }

  /** Has the work done. Not awaited by writers, unless too many rows wait. */
  private followed(covered: Covered, written: readonly PlannedRow[]): Promise<void> {
    const rows = written.filter(({ count }) => count > 0);
    if (rows.length === 0) {
      this.records.ended([covered]);
      return Promise.resolve();
    }
    const waiting = { covered, rows };
    this.waiting.set(covered, waiting);
    this.rows += rows.length;
    return this.batches.add([waiting]);
  }

  async room(): Promise<void> {
    if (this.rows > MOST_WAITING) await this.batches.rest();
  }

  /** Does the work for rows. Where it fails, their record stays, and leads to them. */
  private async follow(waiting: readonly WaitingRows[]): Promise<void> {
    const { work, onFailure } = this.source;
    // Of a row that was written several times, the last.
    const rows = new Map(waiting.flatMap((one) => one.rows).map((one) => [toLatin1(one.row), one]));
    const all = [...rows.values()];
    try {
      let isComplete = true;
      for (let i = 0; i < all.length; i += TOGETHER) {
        const isDone = await work.perform(all.slice(i, i + TOGETHER), ABANDONED_AFTER);
        isComplete &&= isDone;
      }
      if (!isComplete) for (const { covered } of waiting) this.records.leave(covered);
    } catch (error) {
      if (!(error instanceof RowanError)) throw error;
      for (const { covered } of waiting) this.records.leave(covered);
      onFailure(error);
    } finally {
      for (const { covered, rows } of waiting) {
        this.waiting.delete(covered);
        this.rows -= rows.length;
      }
      this.records.ended(waiting.map(({ covered }) => covered));
    }
  }

  /** Does the work that rows lack which were written since then. @returns the number of rows. */
  private async catchUp(since: number, settledAfter: number): Promise<number> {
    const { rows, work } = this.source;
    const written = new Scan().addColumn(rows.family, SHADOW_QUALIFIER);
    let found = await this.workOff(rows.table, written, since, settledAfter, (row) => row);
    const { records } = work;
    for (const { scan, rowOf } of (await work.begun?.()) ?? [])
      found += await this.workOff(records.table, scan, since, settledAfter, rowOf);
    return found;
  }

  /** As {@link catchUp}, of rows to which cells lead that are not older. `rowOf`: the row of the entity, by the row of such a cell. */
  private async workOff(
    table: Table,
    scan: Scan,
    since: number,
    settledAfter: number,
    rowOf: BegunWork['rowOf'],
  ): Promise<number> {
    const { schema, work } = this.source;
    const scanner = table.scan(scan.setTimeRange(since).setCacheBlocks(false));
    let found = 0;
    try {
      for (;;) {
        const page = await scanner.nextBatch(TOGETHER);
        const own = page.map(({ row }) => rowOf(row)).filter((row) => schema.key.matches(row));
        const lacking = own.length === 0 ? [] : await work.lacking(own);
        const open = lacking.map((row) => ({ row, after: undefined }));
        while (open.length > 0 && !this.records.hasEnded) if (await work.perform(open, settledAfter)) break;
        found += lacking.length;
        if (page.length < TOGETHER) return found;
      }
    } finally {
      await scanner.close();
    }
  }

  /** Resolves when the work for rows that were written before the call is done. */
  rest(): Promise<void> {
    return this.batches.rest();
  }

  /** Ends the work. What is left of it is found by its record. */
  end(): Promise<void> {
    return this.records.end();
  }

  /** Metrics of what rows lack. Empty where no entity writes rows ahead. */
  static metrics(
    all: Iterable<AheadWriter>,
    { name, unit, what }: { readonly name: string; readonly unit: string; readonly what: string },
  ): Metric[] {
    const found = [...all].map(({ backlog }) => backlog);
    if (found.length === 0) return [];
    const value = found.reduce((sum, { count }) => sum + count, 0);
    const age = Math.max(0, ...found.map(({ age }) => age));
    return [
      { name, kind: 'gauge', unit, description: what, value },
      {
        name: `${name}.age`,
        kind: 'gauge',
        unit: 'ms',
        description: 'For how long the first of them has waited',
        value: age,
      },
    ];
  }

  /** What the rows of this program lack, and the age of the first in ms. */
  get backlog(): { readonly count: number; readonly age: number } {
    const open = this.records.waiting.flatMap((covered) => this.waiting.get(covered) ?? []);
    const count = open.flatMap(({ rows }) => rows).reduce((sum, one) => sum + one.count, 0);
    const age = count === 0 ? 0 : Math.max(0, this.source.now() - open[0]!.covered.since);
    return { count, age };
  }

  /** Works off old records in the background, and again when others have become old. */
  kick(): void {
    this.records.kick();
  }

  /**
   * Does the work that rows of other programs lack, and rows whose writes had no answer. Also of programs that live.
   * @returns the number of rows.
   */
  recover(settledAfter = ABANDONED_AFTER): Promise<number> {
    return this.records.recover(true, settledAfter);
  }

  /** The time since when rows may lack something, by the clocks of all servers. Infinite: none lacks anything. */
  since(): Promise<number> {
    return this.records.since();
  }
}

function isSuccess(answer: BatchOutcome): boolean {
  return answer.ok && answer.success !== false;
}

function isNow(mutation: RowMutation): boolean {
  return (
    mutation.kind === 'put' &&
    mutation.timestamp === LATEST_TIMESTAMP &&
    mutation.ttl === undefined &&
    mutation.cells.every(({ timestamp }) => timestamp === LATEST_TIMESTAMP)
  );
}

/** Whether a change expects only that the row has no marker. */
function isAbsence(
  expects: Change['expects'],
  { family, qualifier }: { readonly family: string; readonly qualifier: Uint8Array },
): boolean {
  const [only] = expects;
  return (
    expects.length === 1 &&
    only?.kind === 'absent' &&
    only.family === family &&
    equalBytes(only.qualifier, qualifier)
  );
}
