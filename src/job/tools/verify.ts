/** Holds two tables against each other, cell by cell (HBase VerifyReplication), and mends the second if asked to. */

import { compareBytes, fromHex, keyAfter, toHex } from '../../bytes/index.js';
import { type Cell, Delete, type Result, type ResultScanner, type Table } from '../../table/index.js';
import type { JobOutcome, RowRange, SplitContext, SplitWork } from '../types.js';
import type { TableOf } from './copy.js';
import { writeRows } from './copy.js';
import { type CellSelection, checkSelection, runPass, scanOf, type ToolOptions } from './selection.js';

/** A row that is not the same in both tables. */
export interface RowDifference {
  readonly row: Uint8Array;
  /** `missing`: not in the second table; `extra`: in the second only; `different`: other cells. */
  readonly kind: 'missing' | 'extra' | 'different';
}

export interface VerifyOptions extends ToolOptions {
  /** Called for each difference, at least once: those behind the last checkpoint come again when a job is resumed. */
  readonly onDifference?: (difference: RowDifference) => void;
  /** Makes the second table like the first, row by row. Default false. */
  readonly repair?: boolean;
}

/** Rows of the second table that are read ahead. */
const ROWS_AHEAD = 500;

/**
 * Compares every version, value and timestamp. Counters: `rows` (of the first table), `equal`, `missing`, `extra`,
 * `different`, and `repaired`. With `raw: true` delete markers are compared as well.
 * @throws RowanError `ERR_TABLE_NOT_FOUND`.
 */
export async function verifyTables(
  first: TableOf,
  second: TableOf,
  options: VerifyOptions = {},
): Promise<JobOutcome> {
  await checkSelection(second.engine, second.table, options);
  const other = second.engine.table(second.table);
  return runPass(first.engine, options, {
    tool: 'verify',
    table: first.table,
    about: [second.table],
    does: `${second.engine.name} ${second.table} ${options.repair === true}`,
    scan: () => scanOf(options, false),
    open: (context) => new SplitComparison(other, context, options),
  });
}

/** The rows of one split of the first table, walked along with those of the second. */
class SplitComparison implements SplitWork {
  private readonly others: OtherRows;
  private last: Uint8Array | undefined;

  constructor(
    private readonly other: Table,
    private readonly context: SplitContext,
    private readonly options: VerifyOptions,
  ) {
    const { resumed, range } = context;
    const start = resumed === undefined ? range.start : keyAfter(fromHex(resumed as string));
    this.others = new OtherRows(other, { start, stop: range.stop }, options);
  }

  async rows(rows: readonly Result[]): Promise<void> {
    let equal = 0;
    for (const row of rows) {
      // Rows that are equal, nearly all, cost no turn of the event loop.
      const next = this.others.buffered ?? (await this.others.peek());
      if (next !== undefined && compareBytes(next.row, row.row) === 0 && sameCells(row.cells, next.cells)) {
        this.others.take();
        equal++;
      } else await this.compare(row);
      this.last = row.row;
    }
    this.context.count('rows', rows.length);
    this.context.count('equal', equal);
  }

  private async compare(row: Result): Promise<void> {
    await this.extrasBefore(row.row);
    const found = await this.others.peek();
    if (found === undefined || compareBytes(found.row, row.row) !== 0) {
      await this.differs('missing', row, undefined);
      return;
    }
    this.others.take();
    if (sameCells(row.cells, found.cells)) this.context.count('equal');
    else await this.differs('different', row, found);
  }

  async finish(): Promise<void> {
    await this.extrasBefore(undefined);
  }

  commit(): string | undefined {
    return this.last === undefined ? (this.context.resumed as string | undefined) : toHex(this.last);
  }

  close(): Promise<void> {
    return this.others.close();
  }

  private async extrasBefore(row: Uint8Array | undefined): Promise<void> {
    for (;;) {
      const found = await this.others.peek();
      if (found === undefined || (row !== undefined && compareBytes(found.row, row) >= 0)) return;
      this.others.take();
      await this.differs('extra', undefined, found);
    }
  }

  private async differs(
    kind: RowDifference['kind'],
    wanted: Result | undefined,
    found: Result | undefined,
  ): Promise<void> {
    const { row } = (wanted ?? found)!;
    this.context.count(kind);
    this.options.onDifference?.({ row: new Uint8Array(row), kind });
    if (this.options.repair !== true) return;
    const surplus = (found?.cells ?? []).filter(
      (cell) => !(wanted?.cells ?? []).some((each) => sameCell(each, cell)),
    );
    // Other timestamps than those that are put: what is deleted and what is put do not meet.
    for (const { family, qualifier, timestamp } of surplus) {
      const kept = wanted?.cells.some(
        (each) =>
          each.timestamp === timestamp &&
          each.family === family &&
          compareBytes(each.qualifier, qualifier) === 0,
      );
      if (kept !== true) await this.other.delete(new Delete(row).addColumn(family, qualifier, timestamp));
    }
    if (wanted !== undefined) await writeRows(this.other, [wanted]);
    this.context.count('repaired');
  }
}

/** Rows of the second table, a batch ahead. */
class OtherRows {
  private readonly scanner: ResultScanner;
  private batch: readonly Result[] = [];
  private index = 0;
  private ended = false;

  constructor(table: Table, { start, stop }: RowRange, selection: CellSelection) {
    this.scanner = table.scan(
      scanOf(selection, false).setCaching(ROWS_AHEAD).withStartRow(start).withStopRow(stop),
    );
  }

  /** The next row where it is read already. */
  get buffered(): Result | undefined {
    return this.batch[this.index];
  }

  async peek(): Promise<Result | undefined> {
    if (this.index >= this.batch.length && !this.ended) {
      this.batch = await this.scanner.nextBatch(ROWS_AHEAD);
      this.index = 0;
      this.ended = this.batch.length < ROWS_AHEAD;
    }
    return this.batch[this.index];
  }

  take(): void {
    this.index++;
  }

  close(): Promise<void> {
    return this.scanner.close();
  }
}

function sameCells(a: readonly Cell[], b: readonly Cell[]): boolean {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at++) if (!sameCell(a[at]!, b[at]!)) return false;
  return true;
}

function sameCell(a: Cell, b: Cell): boolean {
  return (
    a.timestamp === b.timestamp &&
    a.type === b.type &&
    a.family === b.family &&
    compareBytes(a.qualifier, b.qualifier) === 0 &&
    compareBytes(a.value, b.value) === 0
  );
}
