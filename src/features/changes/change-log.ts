import { equalBytes } from '../../bytes/index.js';
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
  putSettled,
  readLogRow,
  STATE_COLUMN,
  scanAges,
  takeNumbers,
  writeUnderWay,
} from './log-rows.js';

/** The log of changes where one step is one row: numbers are taken, entries written under them and closed, and read in order. */

/** A change of which it is known whether it was made. */
export interface ClosedChange {
  readonly place: LogPlace;
  readonly isMade: boolean;
  /** Milliseconds for which that is kept. */
  readonly kept: number;
}

/** Numbers of a bucket behind which its first entries are looked at, where they do not end by themselves. */
const REMOVED_EVERY = 64;
/** Entries that are looked at then. */
const REMOVED_AT_ONCE = 256;

export class ChangeLog {
  /** `cellTtl`: whether cells have lives of their own, by which entries end. */
  constructor(
    private readonly table: Table,
    private readonly cellTtl: boolean,
  ) {}

  /**
   * A new number of its bucket for each; undefined where none could be told. Those of a bucket rise in the order of the list.
   * @throws RowanError as the table does.
   */
  async take(
    buckets: readonly number[],
    options: OperationOptions | undefined,
  ): Promise<(number | undefined)[]> {
    const counts = new Map<number, number>();
    for (const bucket of buckets) counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
    const asked = [...counts];
    const answers = await this.table.batch(
      asked.map(([bucket, count]) => takeNumbers(bucket, count)),
      options,
    );
    const next = new Map<number, number>();
    for (const [i, answer] of answers.entries()) {
      if (!answer.ok) throw answer.error;
      const [bucket, count] = asked[i]!;
      // The answer may be lost though they were taken: then nobody has them.
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
   * Writes changes down as under way, and closes others, all of which must be answered for.
   * @returns whether each was written; not where its number was closed by somebody who had waited for it.
   * @throws RowanError as the table does, then nothing is known of any.
   */
  async write(
    changes: readonly LoggedChange[],
    closed: readonly ClosedChange[],
    options: OperationOptions | undefined,
  ): Promise<boolean[]> {
    const { cellTtl } = this;
    const answers = await this.table.batch(
      [
        ...changes.map((change) => writeUnderWay(change, cellTtl)),
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

  /** Closes changes; those that are closed stay as they are. @throws RowanError as the table does. */
  async close(closed: readonly ClosedChange[]): Promise<void> {
    if (closed.length > 0) await this.write([], closed, undefined);
  }

  /**
   * Where entries do not end by themselves: removes those that are kept no longer, oldest first, of buckets in which a round number was
   * closed. So no more are left than are kept, and few are looked at. @throws RowanError as the table does.
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

  /** Closes numbers that nobody has written an entry with. @throws RowanError as the table does. */
  async closeNumbers(places: readonly LogPlace[], kept: number): Promise<void> {
    const answers = await this.table.batch(places.map((place) => closeNumber(place, kept, this.cellTtl)));
    for (const answer of answers) if (!answer.ok) throw answer.error;
  }

  /** Of each bucket. */
  async last(): Promise<LastNumber[]> {
    const gets = Array.from({ length: BUCKETS }, (_, bucket) => new Get(counterRow(bucket)));
    return (await this.table.getAll(gets)).map(lastNumber);
  }

  /** Says that every change of a bucket up to this number is closed: feeds that begin need not look at those. */
  async settle(place: LogPlace): Promise<void> {
    await this.table.put(putSettled(place));
  }

  /** Up to `limit` entries of a bucket from a number on, with what these tables' changes were. */
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

  /** The states of a bucket's entries, from the newest back, so many at once. */
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

/** What became of a change that nobody has closed: its row tells, and is marked anew where its writer may still come. */

/** A change that is under way, or whose writer has ended. */
export interface UndecidedChange extends LogPlace {
  readonly row: Uint8Array;
  /** The mark that the row had before. */
  readonly mark: Uint8Array;
}

/**
 * Closes a change by its row. The row has the mark of the change: it was made. It has another than before: it was not, and
 * cannot be any more, for whoever changes the row behind a change closes that first. It has that of before: its writer may still
 * be about to; with `ends` it is kept from it, and begins anew.
 * @returns whether it is closed.
 */
export async function decideChange(
  change: UndecidedChange,
  where: { readonly log: ChangeLog; readonly table: Table; readonly marks: string; readonly kept: number },
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
    const isGone = found.cells.every(({ family }) => family === marks);
    const put = new Put(row).addColumn(marks, MARK_QUALIFIER, freshMark());
    put.setTtl(isGone ? kept : undefined, { optional: true });
    const { success } = await table.checkAndMutate(CheckAndMutate.ifEquals(marks, MARK_QUALIFIER, mark, put));
    // Its writer was faster, or another: the next look tells.
    if (!success) return false;
  }
  await log.close([{ place: { bucket, number }, isMade, kept }]);
  return true;
}
