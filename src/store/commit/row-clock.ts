import { toLatin1 } from '../../bytes/index.js';
import { InvalidArgumentError } from '../../errors.js';

/** Memory for rows ahead of the clock; above it the clock is moved past all of them. */
const MAX_ROWS_BYTES = 8 << 20;
const ENTRY_BYTES = 64;
/** Timestamps end at half of the greatest integer, so that a half can be added to each exactly. */
const MAX_TIME = 2 ** 52 - 1;

/**
 * Assigns the timestamps of writes that have none of their own. HBase assigns the server's time, and a delete hides everything
 * with its timestamp or an older one, also puts that come after it (R32): a put in the same millisecond as a delete is lost.
 * Here such a write is always ordered after earlier writes of its row:
 *
 * 1. The store's clock never goes back. If the system clock does, the store's clock stands still until that has caught up; also
 *    across openings, because log and MANIFEST record {@link RowClock.highest}.
 * 2. A put is later than every earlier delete of its row, and not before any earlier put. A delete is not before any earlier
 *    write of its row. Where necessary a row gets timestamps ahead of the clock.
 * 3. Only timestamps assigned here count. A write with a timestamp of its own affects no other, as in HBase.
 */
export class RowClock {
  /** The store's time: the timestamp of a write, unless its row is ahead. */
  time = 0;
  /** What {@link now} read last from the system clock: earlier than {@link time} while that is set back. */
  systemTime = 0;
  /** Later writes, of whatever row, get no lower timestamp after the next opening. */
  highest = 0;
  /** The timestamp of the last write of rows that are not behind the clock; plus a half if it was a delete. */
  private readonly rows = new Map<string, number>();
  private rowsBytes = 0;

  constructor(private readonly clock: () => number) {}

  /** Continues from the clock that the store recorded. */
  restore(highest: number): void {
    if (highest <= this.highest) return;
    this.time = highest;
    this.highest = highest;
  }

  /** The store's time, read once before the writes of a call. @throws InvalidArgumentError when the `clock` option returns no time. */
  now(): number {
    const now = this.clock();
    if (!(Number.isSafeInteger(now) && now >= 0 && now <= MAX_TIME)) throw brokenClock(now);
    this.systemTime = now;
    if (now > this.time) this.advance(now);
    return this.time;
  }

  /** Whether writes of some rows get other timestamps than {@link time}. */
  get isAhead(): boolean {
    return this.rows.size > 0;
  }

  /** Has no later write get a lower timestamp than `time`. @throws InvalidArgumentError when it is beyond the last time of a clock. */
  advanceTo(time: number): void {
    if (time > MAX_TIME)
      throw new InvalidArgumentError(
        `The time of a store ends at ${MAX_TIME} ms since 1970, before ${time}.`,
      );
    if (time > this.time) this.advance(time);
  }

  /** The timestamp of a put of the row, or of an increment, append or row mutations. */
  ofPut(table: number, row: Uint8Array): number {
    if (!this.isAhead) return this.time;
    const key = keyOf(table, row);
    const last = this.rows.get(key);
    if (last === undefined) return this.time;
    const time = Math.ceil(last);
    this.remember(key, time);
    return Math.max(time, this.time);
  }

  /** The timestamp of a delete of the row. */
  ofDelete(table: number, row: Uint8Array): number {
    const last = this.rows.size === 0 ? undefined : this.rows.get(keyOf(table, row));
    return last === undefined ? this.time : Math.max(Math.floor(last), this.time);
  }

  /** Records that the row was deleted up to `time`, or one version of it at `time`. */
  deleted(table: number, row: Uint8Array, time: number): void {
    if (time < this.time) return;
    const key = keyOf(table, row);
    this.remember(key, Math.max(time + 0.5, this.rows.get(key) ?? 0));
  }

  /** Records that the row was written at `time`, which may be ahead of the clock. */
  written(table: number, row: Uint8Array, time: number): void {
    if (time <= this.time) return;
    const key = keyOf(table, row);
    this.remember(key, Math.max(time, this.rows.get(key) ?? 0));
  }

  private remember(key: string, last: number): void {
    if (!this.rows.has(key)) this.rowsBytes += key.length + ENTRY_BYTES;
    this.rows.set(key, last);
    if (last > this.highest) this.highest = Math.ceil(last);
    if (this.rowsBytes > MAX_ROWS_BYTES) this.advance(this.highest);
  }

  private advance(time: number): void {
    this.time = time;
    if (time < this.highest) return;
    this.highest = time;
    if (this.rows.size === 0) return;
    this.rows.clear();
    this.rowsBytes = 0;
  }
}

function keyOf(table: number, row: Uint8Array): string {
  return `${table} ${toLatin1(row)}`;
}

function brokenClock(now: number): InvalidArgumentError {
  return new InvalidArgumentError(
    `The clock of the store returned ${now}. It must return whole milliseconds since 1970 (option "clock").`,
  );
}
