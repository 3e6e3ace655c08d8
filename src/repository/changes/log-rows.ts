/**
 * Rows of the table of changes where one step is one row: a log of entries in sixteen buckets, each with numbers of its own.
 * docs/formats.md has the bytes.
 *
 *     00 | bucket              c:n              the number that was given out last, int64
 *     01 | bucket | number 8   c:00             what is known of the change: 0 it is under way, 1 it was made, 2 it was not
 *                              c:00 m           the mark of the row before it
 *                              c:table 00 ...   the entry, in parts
 */

import { randomBytes } from 'node:crypto';
import { toBytes } from '../../bytes/index.js';
import { CorruptionError } from '../../errors.js';
import { murmur3 } from '../../key/digest.js';
import { CheckAndMutate, Increment, Put, Result } from '../../table/index.js';
import type { RowEntry } from './entry.js';
import { addEntry, CHANGES_FAMILY, CHANGES_TABLE, type CommitEntry, columnsOf, entriesOf } from './table.js';

/** FROZEN. */
export const BUCKETS = 16;
const COUNTER = 0;
const ENTRY = 1;
const LAST = toBytes('n');
const STATE = Uint8Array.of(0);
const BEFORE = Uint8Array.of(0, 0x6d);
const NUMBER_AT = 2;
const ENTRY_LENGTH = 10;

/** What is known of a change. FROZEN. */
export const UNDER_WAY = 0;
export const MADE = 1;
export const NOT_MADE = 2;

/** Where an entry stands. */
export interface LogPlace {
  readonly bucket: number;
  readonly number: number;
}

/** A change that is to be written down before its row is changed. */
export interface LoggedChange extends LogPlace {
  /** "namespace:name". */
  readonly table: string;
  readonly entry: RowEntry;
  /** The mark that the row has. */
  readonly mark: Uint8Array;
  /** Milliseconds for which the entry is kept. */
  readonly kept: number;
}

/** An entry as it was read. */
export interface LogRow extends LogPlace {
  readonly state: number;
  /** When it was written, ms, by the server's clock. */
  readonly time: number;
  /** The mark that the row had before; undefined where nobody wrote an entry. */
  readonly mark: Uint8Array | undefined;
  /** Of the tables that were asked for. */
  readonly entry: CommitEntry | undefined;
}

/** The bucket of a row: all of its changes stand in one, so that their numbers tell their order. */
export function bucketOf(table: string, row: Uint8Array): number {
  return murmur3(row, 0, row.length, murmur3(toBytes(table))) % BUCKETS;
}

export function counterRow(bucket: number): Uint8Array {
  return Uint8Array.of(COUNTER, bucket);
}

export function entryRow({ bucket, number }: LogPlace): Uint8Array {
  const row = Buffer.alloc(ENTRY_LENGTH);
  row[0] = ENTRY;
  row[1] = bucket;
  row.writeBigUInt64BE(BigInt(number), NUMBER_AT);
  return row;
}

/** What the columns begin with that are to be read for these tables. */
export function logColumns(tables: readonly string[]): Uint8Array[] {
  return [STATE, ...tables.map(columnsOf)];
}

/** The column that says what is known of a change. */
export const STATE_COLUMN = { family: CHANGES_FAMILY, qualifier: STATE } as const;

/** Takes `count` numbers of a bucket. */
export function takeNumbers(bucket: number, count: number): Increment {
  return new Increment(counterRow(bucket)).addColumn(CHANGES_FAMILY, LAST, count);
}

/** The number given out last, and when; 0 where there is none. */
export function lastNumber(result: Result): { readonly number: number; readonly time: number } {
  const cell = result.getLatest(CHANGES_FAMILY, LAST);
  if (cell === undefined) return { number: 0, time: 0 };
  return { number: Number(Buffer.from(cell.value).readBigInt64BE()), time: cell.timestamp };
}

/** Writes a change down as one that is under way, unless somebody has closed its number. */
export function writeUnderWay({ table, entry, mark, kept, ...place }: LoggedChange): CheckAndMutate {
  const put = new Put(entryRow(place)).setTtl(kept);
  put.addColumn(CHANGES_FAMILY, STATE, Uint8Array.of(UNDER_WAY)).addColumn(CHANGES_FAMILY, BEFORE, mark);
  addEntry(put, { table, ...entry }, 0);
  return CheckAndMutate.ifNotExists(CHANGES_FAMILY, STATE, put);
}

/** Says what became of a change that was under way. */
export function closeChange(place: LogPlace, state: number, kept: number): CheckAndMutate {
  return CheckAndMutate.ifEquals(
    CHANGES_FAMILY,
    STATE,
    Uint8Array.of(UNDER_WAY),
    new Put(entryRow(place)).addColumn(CHANGES_FAMILY, STATE, Uint8Array.of(state)).setTtl(kept),
  );
}

/** Closes a number that nobody has written an entry with: who took it has to take another. */
export function closeNumber(place: LogPlace, kept: number): CheckAndMutate {
  return CheckAndMutate.ifNotExists(
    CHANGES_FAMILY,
    STATE,
    new Put(entryRow(place)).addColumn(CHANGES_FAMILY, STATE, Uint8Array.of(NOT_MADE)).setTtl(kept),
  );
}

export function readLogRow({ row, cells }: Result): LogRow {
  if (row.length !== ENTRY_LENGTH || row[0] !== ENTRY)
    throw new CorruptionError('A row of the table of changes is no entry of the log.', {
      details: { table: CHANGES_TABLE },
    });
  const own = cells.filter(({ qualifier }) => qualifier[0] === 0);
  const parts = cells.filter(({ qualifier }) => qualifier[0] !== 0);
  const state = own.find(({ qualifier }) => qualifier.length === STATE.length);
  const mark = own.find(({ qualifier }) => qualifier.length === BEFORE.length);
  return {
    bucket: row[1]!,
    number: Number(Buffer.from(row).readBigUInt64BE(NUMBER_AT)),
    state: state?.value[0] ?? NOT_MADE,
    time: (mark ?? state)?.timestamp ?? 0,
    mark: mark?.value,
    entry: parts.length === 0 ? undefined : entriesOf(new Result(row, parts))[0],
  };
}

/** The qualifier of marks. FROZEN. */
export const MARK_QUALIFIER: Uint8Array = toBytes('c');

/** The mark of rows that a change has left: its number. */
export function numberMark(number: number): Uint8Array {
  const mark = Buffer.alloc(8);
  mark.writeBigUInt64BE(BigInt(number));
  return mark;
}

/** The mark of a row whose last change is not to be told by it: one that none had before. */
export function freshMark(): Uint8Array {
  const mark = randomBytes(8);
  mark[0]! |= 0x80;
  return mark;
}

/** The number that a mark tells; undefined when it tells none. */
export function markedNumber(mark: Uint8Array): number | undefined {
  return mark[0]! >= 0x80 ? undefined : Number(Buffer.from(mark).readBigUInt64BE());
}

/** The rows of a bucket from a number on. */
export function entryRange(bucket: number, number: number): { start: Uint8Array; stop: Uint8Array } {
  return { start: entryRow({ bucket, number }), stop: Uint8Array.of(ENTRY, bucket + 1) };
}
