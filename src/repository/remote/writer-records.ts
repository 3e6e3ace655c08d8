/**
 * Writer records, where a step is one row: cells that lead other programs to rows whose writer died before the work that follows them
 * was done. A record says: rows of this entity that were written since this time may lack it (docs/indexes-eventual.md).
 *
 * A program stores its record before the first row, renews it while rows wait, and removes it when none does. A record stays where a
 * write had no answer: the row may be written later.
 */

import { concatBytes, equalBytes, toBytes, toHex } from '../../bytes/index.js';
import { isWriteRefused, RowanError } from '../../errors.js';
import { TOKEN_LENGTH } from '../../schema/types.js';
import { type Cell, Delete, Get, Put, type Table } from '../../table/index.js';
import { ABANDONED_AFTER, FailingWork, FENCE_TTL, newToken } from './row-work.js';

/** Milliseconds after which a record is written again before further rows are. Its age tells others whether the program lives. */
const RENEWED_AFTER = 10_000;
/** Milliseconds without a waiting row after which a record is removed. */
const IDLE = 5000;
/** Milliseconds after which a record that cannot be removed is left to be worked off by its age. */
const LEFT_AFTER = 60_000;

const NEVER = Number.NEGATIVE_INFINITY;

/** Rows that are written, or about to be, and may lack what follows them. */
export interface Covered {
  readonly record: WriterRecord;
  /** By the engine's time, not later than the rows were written. */
  readonly since: number;
}

/** The record of a program that rows of it may lack something. */
class WriterRecord {
  readonly token = newToken();
  readonly begun = performance.now();
  /** When the request was sent that wrote it last. */
  renewed = NEVER;
  renewing: Promise<void> | undefined;
  /** The time that it says. */
  since = 0;
  /** Whether rows may be written, or lack something, without this program knowing: it stays until others may remove it. */
  isLeft = false;
  /** In the order of their times. */
  readonly waiting = new Set<Covered>();
}

/** A record as it is stored. */
interface StoredRecord {
  readonly token: Uint8Array;
  readonly entity: string;
  readonly since: number;
  readonly cell: Cell;
}

interface RecordsSource {
  /** The table, row and family of the records. */
  readonly table: Table;
  readonly row: Uint8Array;
  readonly family: string;
  readonly entity: string;
  readonly now: () => number;
  readonly onFailure: (error: RowanError) => void;
  /**
   * Does the work that rows lack which were written since then. @param settledAfter milliseconds after which the work of others is
   * abandoned. @returns the number of rows.
   */
  readonly catchUp: (since: number, settledAfter: number) => Promise<number>;
}

/** The records of one entity. */
export class WriterRecords {
  private record: WriterRecord | undefined;
  /** The age at which a record of others was worked off last, by its token in hex. */
  private readonly looked = new Map<string, number>();
  private idle: NodeJS.Timeout | undefined;
  private timer: NodeJS.Timeout | undefined;
  private recovering: Promise<unknown> | undefined;
  private readonly attempts = new FailingWork();
  hasEnded = false;

  constructor(private readonly source: RecordsSource) {}

  /** Notes rows that are about to be written, when the record that leads to them is stored. Call {@link ended} with the same object. */
  async covered(): Promise<Covered> {
    clearTimeout(this.idle);
    let { record } = this;
    const now = performance.now();
    if (record === undefined || (record.isLeft && now - record.begun > LEFT_AFTER)) {
      record = new WriterRecord();
      this.record = record;
    }
    const covered: Covered = { record, since: this.source.now() };
    record.waiting.add(covered);
    const age = now - record.renewed;
    try {
      if (age > RENEWED_AFTER) await this.renew(record);
      else if (age > RENEWED_AFTER / 2) this.renew(record).catch(() => undefined);
    } catch (error) {
      this.ended([covered]);
      throw error;
    }
    return covered;
  }

  private renew(record: WriterRecord): Promise<void> {
    record.renewing ??= this.store(record).finally(() => {
      record.renewing = undefined;
    });
    return record.renewing;
  }

  private async store(record: WriterRecord): Promise<void> {
    const { table, row, family, now } = this.source;
    const sent = performance.now();
    const [first] = record.waiting;
    if (!record.isLeft || record.since === 0) record.since = first?.since ?? now();
    const value = new Uint8Array(8);
    new DataView(value.buffer).setBigUint64(0, BigInt(record.since));
    try {
      await table.put(new Put(row).addColumn(family, this.qualifierOf(record), value));
    } catch (error) {
      // Nothing is stored that would have to be removed.
      if (isWriteRefused(error) && record.renewed === NEVER) record.since = 0;
      throw error;
    }
    record.renewed = sent;
    this.kick();
  }

  private qualifierOf({ token }: WriterRecord): Uint8Array {
    return concatBytes(token, toBytes(this.source.entity));
  }

  /** Has the record stay for late requests: a write of its rows had no answer. */
  keep({ record }: Covered): void {
    record.isLeft = true;
  }

  /** Leaves a record to be worked off by its age: what follows its rows has failed. */
  leave({ record }: Covered): void {
    record.isLeft = true;
    if (this.record === record) this.record = undefined;
    this.kick();
  }

  /** Nothing follows these rows any more. */
  ended(all: readonly Covered[]): void {
    for (const one of all) one.record.waiting.delete(one);
    const { record } = this;
    if (record === undefined || record.waiting.size > 0 || this.hasEnded) return;
    clearTimeout(this.idle);
    this.idle = setTimeout(() => {
      this.remove(record).catch((error: unknown) => {
        if (!(error instanceof RowanError)) throw error;
        this.source.onFailure(error);
      });
    }, IDLE);
    this.idle.unref();
  }

  /** Removes a record if no row waits. */
  private async remove(record: WriterRecord): Promise<void> {
    const { table, row, family } = this.source;
    if (record.waiting.size > 0) return;
    if (this.record === record) this.record = undefined;
    await record.renewing?.catch(() => undefined);
    if (record.isLeft) this.kick();
    if (record.isLeft || record.since === 0) return;
    await table.delete(new Delete(row).addColumns(family, this.qualifierOf(record)));
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

  /** The rows of this program that wait, in the order of their times. */
  get waiting(): readonly Covered[] {
    return [...(this.record?.waiting ?? [])];
  }

  /** Works off old records in the background, and again when others have become old. */
  kick(): void {
    if (this.recovering !== undefined || this.hasEnded) return;
    this.recovering = this.recover(false, ABANDONED_AFTER)
      .then(() => {
        this.attempts.succeeded();
      })
      .catch((error: unknown) => {
        if (!(error instanceof RowanError)) throw error;
        if (this.hasEnded) return;
        this.source.onFailure(error);
        this.kickIn(this.attempts.failed());
      })
      .finally(() => {
        this.recovering = undefined;
      });
  }

  /**
   * Does what follows rows of other programs, and rows whose writes had no answer. @param all also of programs that live. @returns
   * the number of rows.
   */
  async recover(all: boolean, settledAfter: number): Promise<number> {
    const { table, row, family } = this.source;
    const records = await this.records();
    const due = all ? records : records.filter((record) => this.isDue(record));
    if (due.length === 0) return this.scheduled(records, 0);
    // The clocks of servers and programs differ.
    const since = Math.min(...due.map((record) => record.since)) - ABANDONED_AFTER;
    const found = await this.source.catchUp(Math.max(0, since), settledAfter);
    for (const record of due) {
      const age = this.ageOf(record);
      if (age >= ABANDONED_AFTER) this.looked.set(toHex(record.token), age);
      // A late request that arrives after this is not followed (docs/hbase-calls.md).
      if (age < FENCE_TTL || this.isOwn(record)) continue;
      const { qualifier, timestamp } = record.cell;
      await table.delete(new Delete(row).addColumns(family, qualifier, timestamp));
    }
    return this.scheduled(records, found);
  }

  private scheduled(records: readonly StoredRecord[], found: number): number {
    const rests = records.filter((record) => !this.isOwn(record)).map((record) => this.restOf(record));
    clearTimeout(this.timer);
    if (rests.length > 0) this.kickIn(Math.max(1000, Math.min(...rests)));
    return found;
  }

  private kickIn(milliseconds: number): void {
    clearTimeout(this.timer);
    if (this.hasEnded) return;
    this.timer = setTimeout(() => this.kick(), milliseconds);
    this.timer.unref();
  }

  private isOwn({ token }: StoredRecord): boolean {
    return this.record !== undefined && equalBytes(token, this.record.token);
  }

  private isDue(record: StoredRecord): boolean {
    return !this.isOwn(record) && this.restOf(record) <= 0;
  }

  private ageOf({ cell }: StoredRecord): number {
    return this.source.now() - cell.timestamp;
  }

  /** Milliseconds until a record is worked off: once its program has given up, and then each time it is twice as old. */
  private restOf(record: StoredRecord): number {
    const age = this.ageOf(record);
    const looked = this.looked.get(toHex(record.token)) ?? 0;
    const isRenewed = age < looked;
    return Math.min(Math.max(ABANDONED_AFTER, isRenewed ? 0 : 2 * looked), FENCE_TTL) - age;
  }

  /** The time since when rows may lack something, by the clocks of all servers. Infinite: none lacks anything. */
  async since(): Promise<number> {
    const records = await this.records();
    return Math.min(...records.map(({ since }) => since)) - ABANDONED_AFTER;
  }

  private async records(): Promise<StoredRecord[]> {
    const { table, row, entity } = this.source;
    const { cells } = await table.get(new Get(row));
    return cells.map(recordOf).filter((record) => record.entity === entity);
  }
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
