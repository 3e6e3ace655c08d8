/**
 * Rows of the table of changes where one step is one row: a log of entries in sixteen buckets, each with numbers of its own.
 * docs/formats.md has the bytes.
 *
 *     00 | bucket              c:n              the number that was given out last, int64
 *                              c:s              a number up to which every change is closed, int64
 *     01 | bucket | number 8   c:00             what is known of the change: 0 it is under way, 1 it was made, 2 it was not
 *                              c:00 m           the mark of the row before it
 *                              c:00 l i         where cells have no lives: milliseconds for which the entry is kept, int64
 *                              c:table 00 ...   the entry, in parts
 */

import { randomBytes } from 'node:crypto';
import { toBytes } from '../../bytes/index.js';
import { CorruptionError } from '../../errors.js';
import { murmur3 } from '../../key/digest.js';
import { CheckAndMutate, Increment, Put, Result, Scan } from '../../table/index.js';
import type { RowEntry } from './entry.js';
import { addEntry, CHANGES_FAMILY, CHANGES_TABLE, type CommitEntry, columnsOf, entriesOf } from './table.js';

/** FROZEN. */
export const BUCKETS = 16;
const COUNTER = 0;
const ENTRY = 1;
const LAST = toBytes('n');
const CLOSED_UP_TO = toBytes('s');
const STATE = Uint8Array.of(0);
const BEFORE = Uint8Array.of(0, 0x6d);
const LIFE = Uint8Array.of(0, 0x6c, 0x69);
const NUMBER_AT = 2;
const ENTRY_LENGTH = 10;

/** The states of a change. FROZEN. */
export const UNDECIDED = 0;
export const MADE = 1;
export const NOT_MADE = 2;

/** The place of an entry: bucket and number. */
export interface LogPlace {
  readonly bucket: number;
  readonly number: number;
}

/** A change that is written to the log before its row is changed. */
export interface LoggedChange extends LogPlace {
  /** "namespace:name". */
  readonly table: string;
  readonly entry: RowEntry;
  /** The mark that the row has before the change. */
  readonly mark: Uint8Array;
  /** Milliseconds for which the entry is kept. */
  readonly kept: number;
}

/** An entry as it is read. */
export interface LogRow extends LogPlace {
  readonly state: number;
  /** The time at which it was written, ms, by the server's clock. */
  readonly time: number;
  /** The mark that the row had before. Undefined: the number has no entry. */
  readonly mark: Uint8Array | undefined;
  /** Milliseconds for which it is kept. Undefined: its cells have a TTL. */
  readonly life: number | undefined;
  /** The part of the entry that is about the requested tables. */
  readonly entry: CommitEntry | undefined;
}

/** The bucket of a row. All changes of a row are in one bucket, so that their numbers give their order. */
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

/** Prefixes of the columns to be read for these tables. */
export function logColumns(tables: readonly string[]): Uint8Array[] {
  return [STATE, ...tables.map(columnsOf)];
}

/** The column that holds the state of a change. */
export const STATE_COLUMN = { family: CHANGES_FAMILY, qualifier: STATE } as const;

/** A scan of the ages and retention times of a bucket's first entries. */
export function scanAges(bucket: number, limit: number): Scan {
  const { start, stop } = entryRange(bucket, 0);
  const scan = new Scan().withStartRow(start).withStopRow(stop).setLimit(limit);
  for (const qualifier of [STATE, BEFORE, LIFE]) scan.addColumn(CHANGES_FAMILY, qualifier);
  return scan;
}

/** Allocates `count` numbers of a bucket. */
export function allocateNumbers(bucket: number, count: number): Increment {
  return new Increment(counterRow(bucket)).addColumn(CHANGES_FAMILY, LAST, count);
}

/** The last number that a bucket has allocated. All fields are 0 where there is none. */
export interface LastNumber {
  readonly number: number;
  /** The time at which it was allocated, ms, by the server's clock. */
  readonly time: number;
  /** Every change up to this number is closed, or older than four hours. */
  readonly closedUpTo: number;
}

export function lastNumber(result: Result): LastNumber {
  const last = result.getLatest(CHANGES_FAMILY, LAST);
  const closedUpTo = result.getValue(CHANGES_FAMILY, CLOSED_UP_TO);
  return {
    number: last === undefined ? 0 : numberOf(last.value),
    time: last?.timestamp ?? 0,
    closedUpTo: closedUpTo === undefined ? 0 : numberOf(closedUpTo),
  };
}

/** Records that every change of a bucket up to this number is closed. */
export function putClosedUpTo({ bucket, number }: LogPlace): Put {
  return new Put(counterRow(bucket)).addColumn(CHANGES_FAMILY, CLOSED_UP_TO, bytesOf(number));
}

function numberOf(bytes: Uint8Array): number {
  return Number(Buffer.from(bytes).readBigInt64BE());
}

function bytesOf(number: number): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(number));
  return bytes;
}

/** A put of an entry with its retention time: as a TTL of its cells, or in a column on engines without cell TTLs. */
function keptPut(place: LogPlace, kept: number, cellTtl: boolean): Put {
  const put = new Put(entryRow(place));
  return cellTtl ? put.setTtl(kept) : put.addColumn(CHANGES_FAMILY, LIFE, bytesOf(kept));
}

/** Writes a change as undecided, on condition that its number is not closed. */
export function writeUndecided(
  { table, entry, mark, kept, ...place }: LoggedChange,
  cellTtl: boolean,
): CheckAndMutate {
  const put = keptPut(place, kept, cellTtl);
  put.addColumn(CHANGES_FAMILY, STATE, Uint8Array.of(UNDECIDED)).addColumn(CHANGES_FAMILY, BEFORE, mark);
  addEntry(put, { table, ...entry }, 0);
  return CheckAndMutate.ifNotExists(CHANGES_FAMILY, STATE, put);
}

/** Records the outcome of an undecided change. */
export function closeChange(place: LogPlace, state: number, kept: number, cellTtl: boolean): CheckAndMutate {
  return CheckAndMutate.ifEquals(
    CHANGES_FAMILY,
    STATE,
    Uint8Array.of(UNDECIDED),
    keptPut(place, kept, cellTtl).addColumn(CHANGES_FAMILY, STATE, Uint8Array.of(state)),
  );
}

/** Closes a number under which no entry was written. Its owner has to allocate another. */
export function closeNumber(place: LogPlace, kept: number, cellTtl: boolean): CheckAndMutate {
  return CheckAndMutate.ifNotExists(
    CHANGES_FAMILY,
    STATE,
    keptPut(place, kept, cellTtl).addColumn(CHANGES_FAMILY, STATE, Uint8Array.of(NOT_MADE)),
  );
}

export function readLogRow({ row, cells }: Result): LogRow {
  if (row.length !== ENTRY_LENGTH || row[0] !== ENTRY)
    throw new CorruptionError('A row of the table of changes is not a valid log entry.', {
      details: { table: CHANGES_TABLE },
    });
  const own = cells.filter(({ qualifier }) => qualifier[0] === 0);
  const parts = cells.filter(({ qualifier }) => qualifier[0] !== 0);
  const state = own.find(({ qualifier }) => qualifier.length === STATE.length);
  const mark = own.find(({ qualifier }) => qualifier.length === BEFORE.length);
  const life = own.find(({ qualifier }) => qualifier.length === LIFE.length);
  return {
    bucket: row[1]!,
    number: Number(Buffer.from(row).readBigUInt64BE(NUMBER_AT)),
    state: state?.value[0] ?? NOT_MADE,
    time: (mark ?? state)?.timestamp ?? 0,
    mark: mark?.value,
    life: life && numberOf(life.value),
    entry: parts.length === 0 ? undefined : entriesOf(new Result(row, parts))[0],
  };
}

/** The mark of a row whose last change has this number. */
export function numberMark(number: number): Uint8Array {
  return bytesOf(number);
}

/** A random mark that no change has: for rows whose last change is not in the log. */
export function freshMark(): Uint8Array {
  const mark = randomBytes(8);
  mark[0]! |= 0x80;
  return mark;
}

/** The number in a mark. Undefined: it is a random mark. */
export function markedNumber(mark: Uint8Array): number | undefined {
  return mark[0]! >= 0x80 ? undefined : numberOf(mark);
}

/** The range of a bucket's rows from a number on. */
export function entryRange(bucket: number, number: number): { start: Uint8Array; stop: Uint8Array } {
  return { start: entryRow({ bucket, number }), stop: Uint8Array.of(ENTRY, bucket + 1) };
}
