/** The log of changes where one step is one row: numbers are taken, entries written under them and closed, and read in order. */

import {
  filters,
  Get,
  type OperationOptions,
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
  type LoggedChange,
  type LogPlace,
  type LogRow,
  lastNumber,
  logColumns,
  MADE,
  NOT_MADE,
  readLogRow,
  STATE_COLUMN,
  takeNumbers,
  writeUnderWay,
} from './log-rows.js';

/** A change of which it is known whether it was made. */
export interface ClosedChange {
  readonly place: LogPlace;
  readonly isMade: boolean;
  /** Milliseconds for which that is kept. */
  readonly kept: number;
}

/** The number that a bucket has given out last, and when, by the server's clock. */
export interface LastNumber {
  readonly number: number;
  readonly time: number;
}

export class ChangeLog {
  constructor(private readonly table: Table) {}

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
    const answers = await this.table.batch([...changes.map(writeUnderWay), ...closed.map(closing)], options);
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

  /** Closes numbers that nobody has written an entry with. @throws RowanError as the table does. */
  async closeNumbers(places: readonly LogPlace[], kept: number): Promise<void> {
    const answers = await this.table.batch(places.map((place) => closeNumber(place, kept)));
    for (const answer of answers) if (!answer.ok) throw answer.error;
  }

  /** Of each bucket. */
  async last(): Promise<LastNumber[]> {
    const gets = Array.from({ length: BUCKETS }, (_, bucket) => new Get(counterRow(bucket)));
    return (await this.table.getAll(gets)).map(lastNumber);
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

function closing({ place, isMade, kept }: ClosedChange): ReturnType<typeof closeChange> {
  return closeChange(place, isMade ? MADE : NOT_MADE, kept);
}

async function rowsOf(scanner: ResultScanner): Promise<LogRow[]> {
  const rows: LogRow[] = [];
  for await (const result of scanner) rows.push(readLogRow(result));
  return rows;
}
