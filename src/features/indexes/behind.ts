/**
 * Entries that follow behind the answer, on HBase: where all indexes of an entity are eventual, a new row is written in one call, and
 * its entries afterwards, with those of many rows.
 *
 * 1. The program has a **writer record** in the index table: one cell that says since when rows of the entity may lack entries.
 * 2. The row is written with a shadow, on condition that it has no marker. No other call precedes the answer.
 * 3. Behind it the rows of the last {@link GATHERED} ms are repaired together: entries are marked, shadows renewed, entries verified.
 * 4. The record is removed when no row waits.
 *
 * A row that exists already is written by {@link IntentDriver}. Records of programs that died lead others to the rows: they scan for
 * shadows that are not older, and write the entries that lack (docs/indexes-eventual.md).
 */

import { concatBytes, equalBytes, toBytes, toHex, toLatin1 } from '../../bytes/index.js';
import { RowanError } from '../../errors.js';
import { type Change, type ChangeOutcome, checked } from '../../repository/change.js';
import { EntryExpiry } from '../../repository/expiry.js';
import { refuseUnfollowed } from '../../repository/maintainer.js';
import type { WholeCall } from '../../repository/options.js';
import { BackgroundBatches } from '../../repository/remote/background-batches.js';
import {
  ABANDONED_AFTER,
  FENCED,
  newToken,
  type RowsAhead,
  WINDOW,
} from '../../repository/remote/row-work.js';
import { RowImage } from '../../repository/row-image.js';
import { SHADOW_QUALIFIER, TOKEN_LENGTH } from '../../schema/types.js';
import {
  type BatchOutcome,
  type Cell,
  Delete,
  Get,
  LATEST_TIMESTAMP,
  Put,
  Result,
  type RowMutation,
  Scan,
  type Table,
} from '../../table/index.js';
import type { Metric } from '../../table/telemetry.js';
import type { EntityIndexes } from './entity-indexes.js';
import { INDEX_FAMILY } from './entry.js';
import type { RemoteEntries } from './remote.js';

/** The row of an index table with the writer records. No entry has so short a row. FROZEN. */
const WRITERS_ROW = Uint8Array.of(1);
/** Milliseconds for which rows wait for others, to have their entries written together. */
const GATHERED = 50;
/** Rows whose entries are written together. */
const TOGETHER = 512;
/** Rows that may lack entries. Further writers wait. */
const MOST_WAITING = 2048;
/** Milliseconds after which a record is written again before further rows are. Its age tells others whether the program lives. */
const RENEWED_AFTER = 10_000;
/** Milliseconds without a waiting row after which a record is removed. */
const IDLE = 5000;
/** Milliseconds after which a record that cannot be removed is left to be worked off by its age. */
const LEFT_AFTER = 60_000;

/** A row that does not exist, as far as the writer knows. */
interface NewRow {
  readonly put: Put;
  /** The number of its entries. */
  readonly entries: number;
}

/** Rows that are written, or about to be, and may lack entries. */
interface WaitingRows {
  readonly record: WriterRecord;
  /** By the engine's time, not later than the rows were written. */
  readonly since: number;
  rows: readonly Uint8Array[];
  entries: number;
}

/** The record of a program that it may have rows without entries. */
class WriterRecord {
  readonly token = newToken();
  readonly begun = performance.now();
  /** When the request was sent that wrote it last. */
  renewed = Number.NEGATIVE_INFINITY;
  renewing: Promise<void> | undefined;
  /** The time that it says. */
  since = 0;
  /** Whether rows may be written, or lack entries, without this program knowing: it stays until others may remove it. */
  isLeft = false;
  /** In the order of their times. */
  readonly waiting = new Set<WaitingRows>();
}

/** A record as it is stored. */
interface StoredRecord {
  readonly token: Uint8Array;
  readonly entity: string;
  readonly since: number;
  readonly cell: Cell;
}

export class EntriesBehind implements RowsAhead {
  private record: WriterRecord | undefined;
  private readonly following: BackgroundBatches<WaitingRows>;
  /** The rows that wait for entries. */
  private rows = 0;
  private readonly planned = new WeakMap<Change, NewRow>();
  /** Changes for which rows are not expected to be new, after some that were not. */
  private skips = 0;
  private skipped = 0;
  /** The age at which a record of others was worked off last, by its token in hex. */
  private readonly looked = new Map<string, number>();
  private idle: NodeJS.Timeout | undefined;
  private timer: NodeJS.Timeout | undefined;
  private recovering: Promise<unknown> | undefined;
  private hasEnded = false;

  /** `entries`: with a driver of their own, which has no intents. `table`: that of the entries. */
  constructor(
    private readonly entries: RemoteEntries,
    private readonly table: Table,
    private readonly now: () => number,
    private readonly onFailure: (error: RowanError) => void,
  ) {
    this.following = new BackgroundBatches<WaitingRows>((waiting) => this.follow(waiting), GATHERED);
  }

  /** Whether entries of all indexes of an entity may follow behind its rows. Those of rows that expire do not. */
  static isFor({ all, schema }: EntityIndexes): boolean {
    return all.every(({ index }) => index.eventual) && !new EntryExpiry(schema).ends;
  }

  takes(change: Change): boolean {
    const { operation, expects, reads } = change;
    if (this.hasEnded || reads !== undefined) return false;
    if (operation !== 'insert' && (operation !== 'put' || expects.length > 0)) return false;
    if (operation === 'put' && this.skipped > 0) {
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

  /** Undefined for changes that may do more than to set columns of a new row. */
  private plan(change: Change): NewRow | undefined {
    const { planner, rows, indexes } = this.entries;
    const { row, expects, operation } = change;
    const { mutations, seen, outlived, remains } = change.resolve(undefined);
    const isInsert = operation === 'insert';
    const isPlain = seen.length === 0 && outlived === undefined && remains === undefined;
    if (!isPlain || (isInsert && !isAbsence(expects, indexes.schema.marker!))) return undefined;
    if (!mutations.every(isNow)) return undefined;
    refuseUnfollowed(indexes.schema, planner.names, mutations, this.now);
    const before = RowImage.of(row, Result.EMPTY);
    const entries = planner.changes(before, before.after(mutations)).length;
    const put = rows.shadowPut(row, newToken(), undefined);
    const [first] = mutations as readonly Put[];
    put.setDurability(first!.durability);
    for (const { cells } of mutations as readonly Put[]) put.cells.push(...cells);
    return { put, entries };
  }

  async write(
    changes: readonly Change[],
    table: Table,
    call: WholeCall,
  ): Promise<{ outcomes: (ChangeOutcome | undefined)[]; following: Promise<void> }> {
    const rows = changes.map((change) => this.planned.get(change)!);
    let waiting: WaitingRows;
    try {
      waiting = await this.covered();
    } catch (error) {
      if (!(error instanceof RowanError)) throw error;
      return { outcomes: changes.map(() => ({ ok: false, error })), following: Promise.resolve() };
    }
    const { family, qualifier } = this.entries.indexes.schema.marker!;
    const checks = rows.map(({ put }) => checked(put.row, [{ kind: 'absent', family, qualifier }], [put]));
    const answers = await this.send(checks, table, call);
    const written = rows.filter((_, i) => !answers[i]!.ok || isSuccess(answers[i]!));
    // Where the answer is lost, the row may be written later.
    if (answers.some(({ ok }) => !ok)) waiting.record.isLeft = true;
    const outcomes = changes.map((change, i) => this.outcomeOf(change, answers[i]!));
    return { outcomes, following: this.followed(waiting, written) };
  }

  private async send(
    checks: readonly ReturnType<typeof checked>[],
    table: Table,
    call: WholeCall,
  ): Promise<readonly BatchOutcome[]> {
    try {
      const timeout = Math.min(call.timeout ?? WINDOW, WINDOW);
      return await table.batch(checks, { signal: call.signal, attributes: call.attributes, timeout });
    } catch (error) {
      if (!(error instanceof RowanError)) throw error;
      return checks.map(() => ({ ok: false, error }));
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

  /** Has the entries written. Not awaited by writers, unless too many rows wait. */
  private followed(waiting: WaitingRows, written: readonly NewRow[]): Promise<void> {
    const leading = written.filter(({ entries }) => entries > 0);
    waiting.rows = leading.map(({ put }) => put.row);
    this.rows += leading.length;
    waiting.entries = leading.reduce((sum, { entries }) => sum + entries, 0);
    if (leading.length > 0) return this.following.add([waiting]);
    this.ended([waiting]);
    return Promise.resolve();
  }

  async room(): Promise<void> {
    if (this.rows > MOST_WAITING) await this.following.rest();
  }

  /** Notes rows that are about to be written, when the record that leads to them is stored. */
  private async covered(): Promise<WaitingRows> {
    clearTimeout(this.idle);
    let { record } = this;
    const now = performance.now();
    if (record === undefined || (record.isLeft && now - record.begun > LEFT_AFTER)) {
      record = new WriterRecord();
      this.record = record;
    }
    const waiting: WaitingRows = { record, since: this.now(), rows: [], entries: 0 };
    record.waiting.add(waiting);
    const age = now - record.renewed;
    try {
      if (age > RENEWED_AFTER) await this.renew(record);
      else if (age > RENEWED_AFTER / 2) this.renew(record).catch(() => undefined);
    } catch (error) {
      this.ended([waiting]);
      throw error;
    }
    return waiting;
  }

  private renew(record: WriterRecord): Promise<void> {
    record.renewing ??= this.store(record).finally(() => {
      record.renewing = undefined;
    });
    return record.renewing;
  }

  private async store(record: WriterRecord): Promise<void> {
    const sent = performance.now();
    const [first] = record.waiting;
    if (!record.isLeft || record.since === 0) record.since = first?.since ?? this.now();
    const value = new Uint8Array(8);
    new DataView(value.buffer).setBigUint64(0, BigInt(record.since));
    await this.table.put(new Put(WRITERS_ROW).addColumn(INDEX_FAMILY, this.qualifierOf(record), value));
    record.renewed = sent;
    this.kick();
  }

  private qualifierOf({ token }: WriterRecord): Uint8Array {
    return concatBytes(token, toBytes(this.entries.indexes.schema.name));
  }

  /** Writes the entries of rows. Where it fails, the record stays, and leads to them. */
  private async follow(waiting: readonly WaitingRows[]): Promise<void> {
    const rows = [
      ...new Map(waiting.flatMap(({ rows }) => rows.map((row) => [toLatin1(row), row]))).values(),
    ];
    try {
      for (let i = 0; i < rows.length; i += TOGETHER) await this.repair(rows.slice(i, i + TOGETHER));
    } catch (error) {
      if (!(error instanceof RowanError)) throw error;
      for (const { record } of waiting) this.leave(record);
      this.onFailure(error);
    } finally {
      this.ended(waiting);
    }
  }

  private async repair(rows: readonly Uint8Array[]): Promise<void> {
    const outcomes = await this.entries.repair(rows.map((row) => ({ row })));
    for (const { error } of outcomes) if (error !== undefined) throw error;
  }

  private leave(record: WriterRecord): void {
    record.isLeft = true;
    if (this.record === record) this.record = undefined;
    this.kick();
  }

  private ended(waiting: readonly WaitingRows[]): void {
    for (const one of waiting) {
      one.record.waiting.delete(one);
      this.rows -= one.rows.length;
    }
    const { record } = this;
    if (record === undefined || record.waiting.size > 0 || this.hasEnded) return;
    clearTimeout(this.idle);
    this.idle = setTimeout(() => {
      this.remove(record).catch((error: unknown) => {
        if (!(error instanceof RowanError)) throw error;
        this.onFailure(error);
      });
    }, IDLE);
    this.idle.unref();
  }

  /** Removes a record if no row waits. */
  private async remove(record: WriterRecord): Promise<void> {
    if (record.waiting.size > 0) return;
    if (this.record === record) this.record = undefined;
    await record.renewing?.catch(() => undefined);
    if (record.isLeft) this.kick();
    if (record.isLeft || record.since === 0) return;
    await this.table.delete(new Delete(WRITERS_ROW).addColumns(INDEX_FAMILY, this.qualifierOf(record)));
  }

  /** Resolves when the entries of rows that were written before the call are written. */
  rest(): Promise<void> {
    return this.following.rest();
  }

  /** Ends the work. What is left of it is found by its record. */
  async end(): Promise<void> {
    this.hasEnded = true;
    clearTimeout(this.idle);
    clearTimeout(this.timer);
    await this.recovering;
    const { record } = this;
    if (record === undefined) return;
    try {
      await this.remove(record);
    } catch (error) {
      // Others remove it later.
      if (!(error instanceof RowanError)) throw error;
    }
  }

  /** The entries that rows of this program lack, and the age of the first in ms. */
  get backlog(): { readonly entries: number; readonly age: number } {
    const waiting = [...(this.record?.waiting ?? [])];
    const entries = waiting.reduce((sum, { entries }) => sum + entries, 0);
    return { entries, age: entries === 0 ? 0 : Math.max(0, this.now() - waiting[0]!.since) };
  }

  /** Works off old records in the background, and again when others have become old. */
  kick(): void {
    if (this.recovering !== undefined || this.hasEnded) return;
    this.recovering = this.recover(false)
      .catch((error: unknown) => {
        if (!(error instanceof RowanError)) throw error;
        if (!this.hasEnded) this.onFailure(error);
      })
      .finally(() => {
        this.recovering = undefined;
      });
  }

  /**
   * Writes the entries that rows of other programs lack, and rows whose writes had no answer. @param all also of programs that
   * live. @returns the number of rows.
   */
  async recover(all: boolean): Promise<number> {
    const records = await this.records();
    const due = all ? records : records.filter((record) => this.isDue(record));
    if (due.length === 0) return this.scheduled(records, 0);
    const found = await this.scan(Math.min(...due.map(({ since }) => since)));
    for (const record of due) {
      const age = this.ageOf(record);
      if (age >= ABANDONED_AFTER) this.looked.set(toHex(record.token), age);
      // A late request that arrives after this is not followed (docs/hbase-calls.md).
      if (age < FENCED || this.isOwn(record)) continue;
      const { qualifier, timestamp } = record.cell;
      await this.table.delete(new Delete(WRITERS_ROW).addColumns(INDEX_FAMILY, qualifier, timestamp));
    }
    return this.scheduled(records, found);
  }

  private scheduled(records: readonly StoredRecord[], found: number): number {
    clearTimeout(this.timer);
    const rests = records.filter((record) => !this.isOwn(record)).map((record) => this.restOf(record));
    if (rests.length === 0 || this.hasEnded) return found;
    this.timer = setTimeout(() => this.kick(), Math.max(1000, Math.min(...rests)));
    this.timer.unref();
    return found;
  }

  private isOwn({ token }: StoredRecord): boolean {
    return this.record !== undefined && equalBytes(token, this.record.token);
  }

  private isDue(record: StoredRecord): boolean {
    return !this.isOwn(record) && this.restOf(record) <= 0;
  }

  private ageOf({ cell }: StoredRecord): number {
    return this.now() - cell.timestamp;
  }

  /** Milliseconds until a record is worked off: once its program has given up, and then each time it is twice as old. */
  private restOf(record: StoredRecord): number {
    const age = this.ageOf(record);
    const looked = this.looked.get(toHex(record.token)) ?? 0;
    const isRenewed = age < looked;
    return Math.min(Math.max(ABANDONED_AFTER, isRenewed ? 0 : 2 * looked), FENCED) - age;
  }

  /** The time since when rows may lack entries, by the clocks of all servers. Infinite: none lacks any. */
  async since(): Promise<number> {
    const records = await this.records();
    return Math.min(...records.map(({ since }) => since)) - ABANDONED_AFTER;
  }

  private async records(): Promise<StoredRecord[]> {
    const { cells } = await this.table.get(new Get(WRITERS_ROW));
    const { name } = this.entries.indexes.schema;
    return cells.map(recordOf).filter(({ entity }) => entity === name);
  }

  /** Writes the entries that rows lack whose shadow is not older. @returns the number of rows. */
  private async scan(since: number): Promise<number> {
    const { rows } = this.entries;
    const { key } = this.entries.indexes.schema;
    const scan = new Scan()
      .addColumn(rows.family, SHADOW_QUALIFIER)
      .setTimeRange(Math.max(0, since - ABANDONED_AFTER))
      .setCacheBlocks(false);
    const scanner = rows.table.scan(scan);
    let found = 0;
    try {
      for (;;) {
        const page = await scanner.nextBatch(TOGETHER);
        const own = page.map(({ row }) => row).filter((row) => key.matches(row));
        const lacking = await this.lacking(own);
        if (lacking.length > 0) await this.repair(lacking);
        found += lacking.length;
        if (page.length < TOGETHER) return found;
      }
    } finally {
      await scanner.close();
    }
  }

  /** The rows that lack one of their entries. */
  private async lacking(rows: readonly Uint8Array[]): Promise<Uint8Array[]> {
    if (rows.length === 0) return [];
    const { indexes, marks } = this.entries;
    const loaded = await this.entries.rows.loadAll(rows, undefined);
    const wanted = loaded.flatMap(({ stored }, i) =>
      indexes
        .entriesOf(stored)
        .flatMap((entries, place) =>
          entries.map((entry) => ({ of: rows[i]!, index: indexes.all[place]!, row: entry.row })),
        ),
    );
    const standing = await marks.storedEntries(wanted, undefined);
    return [...new Set(wanted.filter((_, i) => standing[i] === undefined).map(({ of }) => of))];
  }
}

/** What entities lack. None where no entity has such entries. */
export function behindMetrics(all: Iterable<EntriesBehind>): Metric[] {
  const found = [...all].map(({ backlog }) => backlog);
  if (found.length === 0) return [];
  return [
    {
      name: 'rowan.index.pending',
      kind: 'gauge',
      unit: '{entry}',
      description: 'Entries of eventual indexes that are not written yet',
      value: found.reduce((sum, { entries }) => sum + entries, 0),
    },
    {
      name: 'rowan.index.pending.age',
      kind: 'gauge',
      unit: 'ms',
      description: 'For how long the first of them has waited',
      value: Math.max(0, ...found.map(({ age }) => age)),
    },
  ];
}

/**
 * A record's cell: the qualifier is its token, 8, and the name of the entity; the value is the time in ms, 8, big-endian. FROZEN.
 */
function recordOf(cell: Cell): StoredRecord {
  const { qualifier, value } = cell;
  return {
    token: qualifier.subarray(0, TOKEN_LENGTH),
    entity: Buffer.from(qualifier.subarray(TOKEN_LENGTH)).toString('utf8'),
    since: Number(new DataView(value.buffer, value.byteOffset).getBigUint64(0)),
    cell,
  };
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
