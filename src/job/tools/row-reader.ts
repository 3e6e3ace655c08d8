/** Rows of a range of a table, a batch ahead. */

import type { Result, ResultScanner, Table } from '../../table/index.js';
import type { RowRange } from '../types.js';
import { type CellSelection, scanOf } from './selection.js';

/** Rows that are held against those of another table, one after the other. */
export interface OtherRows {
  /** The next row where it is read already. */
  readonly buffered: Result | undefined;
  /** The next row, which stays the next until it is taken; undefined at the end. */
  peek(): Promise<Result | undefined>;
  take(): void;
  close(): Promise<void>;
}

/** Rows that are read ahead. */
const ROWS_AHEAD = 500;

export class RowReader implements OtherRows {
  private readonly scanner: ResultScanner;
  private batch: readonly Result[] = [];
  private index = 0;
  private ended = false;

  constructor(table: Table, { start, stop }: RowRange, selection: CellSelection) {
    this.scanner = table.scan(
      scanOf(selection, false).setCaching(ROWS_AHEAD).withStartRow(start).withStopRow(stop),
    );
  }

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
