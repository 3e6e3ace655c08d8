/** The rows of one range of two tables, held against each other cell by cell. */

import { compareBytes, keyAfter } from '../../bytes/index.js';
import type { RawRow, Result } from '../../table/index.js';
import type { RowRange } from '../types.js';
import { RawRowReader } from './raw-row-reader.js';
import type { OtherRows } from './row-reader.js';
import { sameCells, sameRawRows } from './same-cells.js';

/** A row that is not the same in both tables, with its cells in each. */
export type Difference = { readonly row: Uint8Array } & (
  | { readonly kind: 'missing'; readonly wanted: Result; readonly found?: undefined }
  | { readonly kind: 'extra'; readonly wanted?: undefined; readonly found: Result }
  | { readonly kind: 'different'; readonly wanted: Result; readonly found: Result }
);

/** Takes differences, in the order of their rows. */
export type DifferenceSink = (differences: readonly Difference[]) => Promise<void>;

/** Differences that are handed on at once. */
const DIFFERENCES_AT_ONCE = 500;

export class RangeComparison {
  private differences: Difference[] = [];
  private last: Uint8Array | undefined;
  private lastRaw: RawRow | undefined;

  /** `others`: the second table's rows. It closes them. */
  constructor(
    private readonly others: OtherRows,
    private readonly sink: DifferenceSink,
  ) {}

  /** The first table's last row that was looked at. */
  get lastRow(): Uint8Array | undefined {
    return this.last;
  }

  /** The next rows of the first table; answers how many are equal. What differs is with the sink before it does. */
  async rows(rows: readonly Result[]): Promise<number> {
    let equal = 0;
    for (const row of rows) {
      // Rows that are equal, nearly all, cost no turn of the event loop.
      const next = this.others.buffered ?? (await this.others.peek());
      if (next !== undefined && compareBytes(next.row, row.row) === 0 && sameCells(row.cells, next.cells)) {
        this.others.take();
        equal++;
      } else if (await this.compare(row)) equal++;
    }
    this.last = rows.at(-1)?.row ?? this.last;
    await this.handOn();
    return equal;
  }

  /**
   * The next row of the first table, which is filled again for the one behind it; answers whether it is equal. `handOn` belongs behind
   * the last of several.
   */
  rawRow(row: RawRow): boolean | Promise<boolean> {
    this.lastRaw = row;
    const { others } = this;
    if (others instanceof RawRowReader) {
      const { next } = others;
      if (next !== undefined && sameRawRows(row, next)) {
        others.take();
        return true;
      }
    }
    return this.compare(row.toResult());
  }

  /** After the last row of the first table. */
  async finish(): Promise<void> {
    await this.extrasBefore(undefined);
    await this.handOn();
  }

  close(): Promise<void> {
    return this.others.close();
  }

  private async compare(wanted: Result): Promise<boolean> {
    const { row } = wanted;
    await this.extrasBefore(row);
    const found = await this.others.peek();
    if (found === undefined || compareBytes(found.row, row) !== 0) {
      await this.differs({ kind: 'missing', row, wanted });
      return false;
    }
    this.others.take();
    if (sameCells(wanted.cells, found.cells)) return true;
    await this.differs({ kind: 'different', row, wanted, found });
    return false;
  }

  private async extrasBefore(row: Uint8Array | undefined): Promise<void> {
    for (;;) {
      const found = await this.others.peek();
      if (found === undefined || (row !== undefined && compareBytes(found.row, row) >= 0)) return;
      this.others.take();
      await this.differs({ kind: 'extra', row: found.row, found });
    }
  }

  private async differs(difference: Difference): Promise<void> {
    this.differences.push(difference);
    if (this.differences.length >= DIFFERENCES_AT_ONCE) await this.handOn();
  }

  /** What differs up to here is with the sink when this has ended. */
  async handOn(): Promise<void> {
    if (this.lastRaw !== undefined) this.last = this.lastRaw.row.slice();
    const { differences } = this;
    if (differences.length === 0) return;
    this.differences = [];
    await this.sink(differences);
  }
}

/** The range from the first to the last of these rows. */
export function rangeOf(rows: readonly { readonly row: Uint8Array }[]): RowRange {
  return { start: rows[0]!.row, stop: keyAfter(rows.at(-1)!.row) };
}
