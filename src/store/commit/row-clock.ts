/**
 * The times of writes that have none of their own. HBase gives each the time of the server's clock, and a delete hides
 * what has its timestamp or an older one, whatever came first (R32): a put in the millisecond of a delete vanishes. Here
 * such a write always comes after what it follows in its row:
 *
 * 1. The clock of the store never goes back: where the one it was given does, it stands still until that has caught up;
 *    across reopenings too, for the log and the MANIFEST carry {@link RowClock.highest}.
 * 2. A put of a row is later than every delete of the row before it, and no earlier than every put; a delete is no
 *    earlier than every write of the row before it. A row that needs it is given times ahead of the clock.
 * 3. Only times given here count. A write with a timestamp of its own changes nothing for others, as in HBase.
 */

import { toLatin1 } from '../../bytes/index.js';
import { InvalidArgumentError } from '../../errors.js';

/** What the rows that are remembered may hold of memory before the clock is set past them. */
const MAX_HELD_BYTES = 8 << 20;
const BYTES_OF_ENTRY = 64;
/** Times end at half of the greatest number, so that a half can be told beside each. */
const MAX_TIME = 2 ** 52 - 1;

export class RowClock {
  /** The time of the store. */
  time = 0;
  /** The time of the last write of rows that are not behind the clock; a half more when it was a delete. */
  private readonly rows = new Map<string, number>();
  private heldBytes = 0;
  /** No write to come may have a lower time, whatever its row. */
  highest = 0;

  constructor(private readonly clock: () => number) {}

  /** Goes on from where the store stood when it was open last. */
  restore(highest: number): void {
    if (highest <= this.highest) return;
    this.time = highest;
    this.highest = highest;
  }

  /** The time of the store, to be asked for once before the writes of a call. @throws InvalidArgumentError for a broken clock. */
  now(): number {
    const now = this.clock();
    if (!(Number.isSafeInteger(now) && now >= 0 && now <= MAX_TIME)) throw brokenClock(now);
    if (now > this.time) this.advance(now);
    return this.time;
  }

  /** The time of a put of the row, or of an increment, append or row mutations. */
  ofPut(table: number, row: Uint8Array): number {
    if (this.rows.size === 0) return this.time;
    const key = keyOf(table, row);
    const last = this.rows.get(key);
    if (last === undefined) return this.time;
    const time = Math.ceil(last);
    this.remember(key, time);
    return Math.max(time, this.time);
  }

  /** The time of a delete of the row. */
  ofDelete(table: number, row: Uint8Array): number {
    const last = this.rows.size === 0 ? undefined : this.rows.get(keyOf(table, row));
    return last === undefined ? this.time : Math.max(Math.floor(last), this.time);
  }

  /** The row has been deleted up to `time`, or one version of it at `time`. */
  deleted(table: number, row: Uint8Array, time: number): void {
    if (time < this.time) return;
    const key = keyOf(table, row);
    this.remember(key, Math.max(time + 0.5, this.rows.get(key) ?? 0));
  }

  /** The row was written at `time`, which may be ahead of the clock. */
  written(table: number, row: Uint8Array, time: number): void {
    if (time <= this.time) return;
    const key = keyOf(table, row);
    this.remember(key, Math.max(time, this.rows.get(key) ?? 0));
  }

  private remember(key: string, last: number): void {
    if (!this.rows.has(key)) this.heldBytes += key.length + BYTES_OF_ENTRY;
    this.rows.set(key, last);
    if (last > this.highest) this.highest = Math.ceil(last);
    if (this.heldBytes > MAX_HELD_BYTES) this.advance(this.highest);
  }

  private advance(time: number): void {
    this.time = time;
    if (time < this.highest) return;
    this.highest = time;
    if (this.rows.size === 0) return;
    this.rows.clear();
    this.heldBytes = 0;
  }
}

function keyOf(table: number, row: Uint8Array): string {
  return `${table} ${toLatin1(row)}`;
}

function brokenClock(now: number): InvalidArgumentError {
  return new InvalidArgumentError(
    `The clock of the store told ${now}. It must give whole milliseconds since 1970 (option "clock").`,
  );
}
