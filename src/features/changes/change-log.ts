import { equalBytes } from '../../bytes/index.js';
import { RowanError } from '../../errors.js';
import { MARK_QUALIFIER } from '../../repository/remote/row-work.js';
import {
  CheckAndMutate,
  Delete,
  filters,
  Get,
  type OperationOptions,
  Put,
  type ResultScanner,
  Scan,
  type Table,
} from '../../table/index.js';
import {
  allocateNumbers,
  BUCKETS,
  closeChange,
  closeNumber,
  counterRow,
  entryRange,
  entryRow,
  freshMark,
  type LastNumber,
  type LoggedChange,
  type LogPlace,
  type LogRow,
  lastNumber,
  logColumns,
  MADE,
  markedNumber,
  NOT_MADE,
  numberMark,
  putClosedUpTo,
  readLogRow,
  STATE_COLUMN,
  scanAges,
  UNDECIDED,
  writeUndecided,
} from './log-rows.js';

/** A change with a known outcome. */
export interface ClosedChange {
  readonly place: LogPlace;
  readonly isMade: boolean;
  /** Milliseconds for which the outcome is kept. */
  readonly kept: number;
}

/** Every so many numbers of a bucket its oldest entries are checked for removal, on engines without cell TTLs. */
const REMOVED_EVERY = 64;
/** The number of entries checked then. */
const REMOVED_AT_ONCE = 256;

/**
 * The change log on engines whose atomic step is one row: numbers are allocated, entries are written under them and
 * closed, and read in order.
 */
export class ChangeLog {
  /** @param cellTtl whether the engine has cell TTLs, by which entries expire. */
  constructor(
    private readonly table: Table,
    private readonly cellTtl: boolean,
  ) {}

  /**
   * Allocates a new number in the bucket of each row. Undefined where no number was learned. Numbers of one bucket
   * rise in the order of the list. @throws RowanError as the table does.
   */
  async allocate(
    buckets: readonly number[],
    options: OperationOptions | undefined,
  ): Promise<(number | undefined)[]> {
    const counts = new Map<number, number>();
    for (const bucket of buckets) counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
    const asked = [...counts];
    const answers = await this.table.batch(
      asked.map(([bucket, count]) => allocateNumbers(bucket, count)),
      options,
    );
    const next = new Map<number, number>();
    for (const [i, answer] of answers.entries()) {
      if (!answer.ok) throw answer.error;
      const [bucket, count] = asked[i]!;
      // The answer may be lost although the numbers were allocated: then they stay unused.
      const { number } = lastNumber(answer.result);
      if (number > 0) next.set(bucket, number - count + 1);
    }
    return buckets.map((bucket) => {
      const number = next.get(bucket);
      if (number !== undefined) next.set(bucket, number + 1);
      return number;
    });
  }

  /**
   * Writes changes as undecided, and closes others. @returns whether each was written: not where a reader has closed
   * its number after waiting. @throws RowanError as the table does; then the outcome of all is unknown.
   */
  async write(
    changes: readonly LoggedChange[],
    closed: readonly ClosedChange[],
    options: OperationOptions | undefined,
  ): Promise<boolean[]> {
    const { cellTtl } = this;
    const answers = await this.table.batch(
      [
        ...changes.map((change) => writeUndecided(change, cellTtl)),
        ...closed.map(({ place, isMade, kept }) =>
          closeChange(place, isMade ? MADE : NOT_MADE, kept, cellTtl),
        ),
      ],
      options,
    );
    for (const answer of answers) if (!answer.ok) throw answer.error;
    return changes.map((_, i) => {
      const answer = answers[i]!;
      return answer.ok && answer.success !== false;
    });
  }

  /** Closes changes. Closed changes are never altered. @throws RowanError as the table does. */
  async close(closed: readonly ClosedChange[]): Promise<void> {
    if (closed.length > 0) await this.write([], closed, undefined);
  }

  /**
   * Removes expired entries on engines without cell TTLs, oldest first, in buckets that have passed a multiple of
   * REMOVED_EVERY. So few entries outlive their time, and few are read. @throws RowanError as the table does.
   */
  async removeEnded(closed: readonly ClosedChange[], now: number): Promise<void> {
    if (this.cellTtl) return;
    const round = closed.filter(({ place }) => place.number % REMOVED_EVERY === 0);
    for (const bucket of new Set(round.map(({ place }) => place.bucket))) {
      const first = await rowsOf(this.table.scan(scanAges(bucket, REMOVED_AT_ONCE)));
      const alive = first.findIndex(({ time, life }) => life === undefined || time + life > now);
      const ended = alive < 0 ? first : first.slice(0, alive);
      const answers = await this.table.batch(ended.map((place) => new Delete(entryRow(place))));
      for (const answer of answers) if (!answer.ok) throw answer.error;
    }
  }

  /** Closes numbers under which no entry was written. @throws RowanError as the table does. */
  async closeNumbers(places: readonly LogPlace[], kept: number): Promise<void> {
    const answers = await this.table.batch(places.map((place) => closeNumber(place, kept, this.cellTtl)));
    for (const answer of answers) if (!answer.ok) throw answer.error;
  }

  /** The last number of each bucket. */
  async last(): Promise<LastNumber[]> {
    const gets = Array.from({ length: BUCKETS }, (_, bucket) => new Get(counterRow(bucket)));
    return (await this.table.getAll(gets)).map(lastNumber);
  }

  /** Records that every change of a bucket up to this number is closed: new feeds start after it. */
  async recordClosedUpTo(place: LogPlace): Promise<void> {
    await this.table.put(putClosedUpTo(place));
  }

  /** Up to `limit` entries of a bucket from a number on, with the changes of these tables. */
  async read(
    bucket: number,
    from: number,
    tables: readonly string[],
    limit: number,
    options: OperationOptions,
  ): Promise<LogRow[]> {
    const { start, stop } = entryRange(bucket, from);
    const scan = new Scan()
      .withStartRow(start)
      .withStopRow(stop)
      .setFilter(filters.multipleColumnPrefix(logColumns(tables)))
      .setLimit(limit);
    return rowsOf(this.table.scan(scan, options));
  }

  /** The undecided changes of a table in a bucket. */
  async *undecided(bucket: number, table: string): AsyncGenerator<LogRow, void, undefined> {
    const { start, stop } = entryRange(bucket, 0);
    const scan = new Scan()
      .withStartRow(start)
      .withStopRow(stop)
      .addColumn(STATE_COLUMN.family, STATE_COLUMN.qualifier)
      .setFilter(filters.value('EQUAL', Uint8Array.of(UNDECIDED)));
    for (const { number } of await rowsOf(this.table.scan(scan)))
      for (const row of await this.read(bucket, number, [table], 1, {}))
        if (row.number === number && row.state === UNDECIDED) yield row;
  }

  /** The changes among the newest entries that their writers have not closed, and when the first of them was written. @param limit entries to read. */
  async open(limit: number): Promise<{ readonly count: number; readonly since: number | undefined }> {
    const each = Math.ceil(limit / BUCKETS);
    const found = await Promise.all(
      (await this.last()).map(({ number, closedUpTo }, bucket) => {
        if (number <= closedUpTo) return [];
        const { start, stop } = entryRange(bucket, Math.max(closedUpTo, number - each) + 1);
        const scan = new Scan().withStartRow(start).withStopRow(stop).setLimit(each);
        scan.addColumn(STATE_COLUMN.family, STATE_COLUMN.qualifier);
        return rowsOf(this.table.scan(scan));
      }),
    );
    const times = found.flat().flatMap(({ state, time }) => (state === UNDECIDED ? [time] : []));
    return { count: times.length, since: times.length === 0 ? undefined : Math.min(...times) };
  }

  /** The states of a bucket's entries, newest first, in pages of this size. */
  async *newest(bucket: number, upTo: number, page: number): AsyncGenerator<LogRow, void, undefined> {
    const { start } = entryRange(bucket, 0);
    let from = entryRange(bucket, upTo).start;
    for (let isFirst = true; ; isFirst = false) {
      const scan = new Scan()
        .setReversed(true)
        .withStartRow(from, isFirst)
        .withStopRow(start, true)
        .setLimit(page)
        .addColumn(STATE_COLUMN.family, STATE_COLUMN.qualifier);
      const rows = await rowsOf(this.table.scan(scan));
      yield* rows;
      if (rows.length < page) return;
      from = entryRange(bucket, rows.at(-1)!.number).start;
    }
  }
}

async function rowsOf(scanner: ResultScanner): Promise<LogRow[]> {
  const rows: LogRow[] = [];
  for await (const result of scanner) rows.push(readLogRow(result));
  return rows;
}

// — Decides the outcome of a change that its writer has not closed, from the state of the row. If the writer may still
// be alive, it fences the row.

/** An undecided change: its writer is still working, or has ended without closing it. */
interface UndecidedChange extends LogPlace {
  readonly row: Uint8Array;
  /** The mark that the row had before the change. */
  readonly mark: Uint8Array;
}

/** Where the row of an undecided change is stored. */
interface DecidedRow {
  readonly log: ChangeLog;
  readonly table: Table;
  /** The family of its mark. */
  readonly marks: string;
  readonly kept: number;
  /** Whether the table is never written again. */
  isRetired(): Promise<boolean>;
}

/**
 * Decides and closes a change from its row's mark.
 *
 * * The mark is that of the change: it was made.
 * * The mark is neither that nor the one before: it was not made and cannot be, since the next writer of the row
 *   closes this change first.
 * * The mark is the one before: the writer may still write. With `ends` the row gets a new mark, so that the write
 *   fails and the writer retries. Where the table is never written again, the change was not made.
 *
 * @returns whether the change is closed.
 */
export async function decideChange(
  change: UndecidedChange,
  where: DecidedRow,
  ends: boolean,
): Promise<boolean> {
  const { row, mark, bucket, number } = change;
  const { log, table, marks, kept } = where;
  const found = await table.get(new Get(row));
  const is = found.getValue(marks, MARK_QUALIFIER);
  const isMade = is !== undefined && equalBytes(is, numberMark(number));
  if (is !== undefined && equalBytes(is, mark)) {
    if (!ends) return false;
    const earlier = markedNumber(mark);
    if (earlier !== undefined) await log.close([{ place: { bucket, number: earlier }, isMade: true, kept }]);
    const isDeleted = found.cells.every(({ family }) => family === marks);
    const put = new Put(row).addColumn(marks, MARK_QUALIFIER, freshMark());
    put.setTtl(isDeleted ? kept : undefined, { optional: true });
    // Otherwise the writer, or another reader, was faster. The next attempt decides.
    if (!(await isFenced(CheckAndMutate.ifEquals(marks, MARK_QUALIFIER, mark, put), where))) return false;
  }
  await log.close([{ place: { bucket, number }, isMade, kept }]);
  return true;
}

/** Whether the writer's condition can no longer hold. */
async function isFenced(check: CheckAndMutate, { table, isRetired }: DecidedRow): Promise<boolean> {
  try {
    return (await table.checkAndMutate(check)).success;
  } catch (error) {
    if (!(error instanceof RowanError) || error.code !== 'ERR_READONLY') throw error;
    // The writer is refused too, but perhaps for a moment only.
    return isRetired();
  }
}
