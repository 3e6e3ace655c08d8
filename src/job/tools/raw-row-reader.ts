/** Rows of a range of a table that fills one row again and again, one ahead. */

import { RawRow, type Result, type SyncResultScanner } from '../../table/index.js';
import type { FillingTable } from '../batches.js';
import type { RowRange } from '../types.js';
import type { OtherRows } from './row-reader.js';
import { type CellSelection, scanOf } from './selection.js';

export class RawRowReader implements OtherRows {
  /** Of no meaning here: rows that are looked at as results are made so one by one. */
  readonly buffered = undefined;
  private readonly scanner: SyncResultScanner;
  private readonly row = new RawRow();
  private isAhead = false;

  constructor(table: FillingTable, { start, stop }: RowRange, selection: CellSelection) {
    this.scanner = table.scanSync(scanOf(selection, false).withStartRow(start).withStopRow(stop));
  }

  /** The next row; of use until it is taken. */
  get next(): RawRow | undefined {
    if (!this.isAhead) this.isAhead = this.scanner.nextRaw!(this.row);
    return this.isAhead ? this.row : undefined;
  }

  async peek(): Promise<Result | undefined> {
    return this.next?.toResult();
  }

  take(): void {
    this.isAhead = false;
  }

  async close(): Promise<void> {
    this.scanner.close();
  }
}
