/** Where the state of a job is stored: in a table, or, on read-only stores, in memory. */

import { compareBytes, equalBytes, toHex } from '../bytes/index.js';
import { Delete, Get, Scan, type Table } from '../table/index.js';
import { compareAndSet } from '../table/table.js';

/** Rows of one family, each with one column. */
export interface JobRows {
  get(row: Uint8Array, column: Uint8Array): Promise<Uint8Array | undefined>;
  /** Compare-and-set of the column; `undefined` expects it to be absent. Returns whether it was changed. */
  compareAndSet(
    row: Uint8Array,
    column: Uint8Array,
    before: Uint8Array | undefined,
    after: Uint8Array,
  ): Promise<boolean>;
  /** The rows in [start, stop), with only this column if one is named. */
  list(start: Uint8Array, stop: Uint8Array, column?: Uint8Array): Promise<JobRow[]>;
  delete(rows: readonly Uint8Array[]): Promise<void>;
}

export interface JobRow {
  readonly row: Uint8Array;
  readonly value: Uint8Array;
}

export class TableRows implements JobRows {
  constructor(
    private readonly table: Table,
    private readonly family: string,
  ) {}

  async get(row: Uint8Array, column: Uint8Array): Promise<Uint8Array | undefined> {
    const { family } = this;
    return (await this.table.get(new Get(row).addColumn(family, column))).getValue(family, column);
  }

  compareAndSet(
    row: Uint8Array,
    qualifier: Uint8Array,
    before: Uint8Array | undefined,
    after: Uint8Array,
  ): Promise<boolean> {
    return compareAndSet(this.table, { row, family: this.family, qualifier }, before, after);
  }

  async list(start: Uint8Array, stop: Uint8Array, column?: Uint8Array): Promise<JobRow[]> {
    const scan = new Scan().withStartRow(start).withStopRow(stop);
    if (column !== undefined) scan.addColumn(this.family, column);
    const rows: JobRow[] = [];
    for await (const { row, cells } of this.table.scan(scan)) {
      const cell = cells[0];
      if (cell !== undefined) rows.push({ row: new Uint8Array(row), value: new Uint8Array(cell.value) });
    }
    return rows;
  }

  async delete(rows: readonly Uint8Array[]): Promise<void> {
    const outcomes = await this.table.batch(rows.map((row) => new Delete(row)));
    for (const outcome of outcomes) if (!outcome.ok) throw outcome.error;
  }
}

/** Lost at the end of the run: a job over a read-only store starts anew each time. */
export class MemoryRows implements JobRows {
  private readonly rows = new Map<string, JobRow & { readonly column: Uint8Array }>();

  async get(row: Uint8Array): Promise<Uint8Array | undefined> {
    return this.rows.get(toHex(row))?.value;
  }

  async compareAndSet(
    row: Uint8Array,
    column: Uint8Array,
    before: Uint8Array | undefined,
    value: Uint8Array,
  ): Promise<boolean> {
    const now = this.rows.get(toHex(row))?.value;
    const same = now === undefined || before === undefined ? now === before : equalBytes(now, before);
    if (same) this.rows.set(toHex(row), { row, column, value });
    return same;
  }

  async list(start: Uint8Array, stop: Uint8Array, column?: Uint8Array): Promise<JobRow[]> {
    return [...this.rows.values()]
      .filter(({ row }) => compareBytes(row, start) >= 0 && compareBytes(row, stop) < 0)
      .filter((each) => column === undefined || equalBytes(each.column, column))
      .sort((a, b) => compareBytes(a.row, b.row));
  }

  async delete(rows: readonly Uint8Array[]): Promise<void> {
    for (const row of rows) this.rows.delete(toHex(row));
  }
}
