/** Rows read from the bytes of their cells. */

import { compareSlices } from '../../bytes/index.js';
import type { RawRow } from '../../table/index.js';
import type { CellCursor, PutTaker } from '../cursor.js';
import type { KnownColumns } from './known-columns.js';
import { MOST_OLDER, MOST_PASSED } from './plain-row.js';

/** A family whose rows are read. */
export interface RunFamily {
  readonly name: string;
  readonly known: KnownColumns;
  /** The only columns that are asked for, in byte order; null: all. */
  readonly columns: readonly Uint8Array[] | null;
  /** Puts of earlier times have expired. */
  readonly oldestUnexpired: number;
}

/**
 * Reads a row that one memstore or block has all of, from the bytes of its cells and without a step of a cursor for each:
 * most rows are puts of columns that rows before had. Any other is for a {@link PlainRow}, which gives the same of these.
 */
export class RowRun implements PutTaker {
  /** Cells of later writes are not seen. */
  readPoint = 0;
  private raw: RawRow | undefined;
  private family = '';
  private columns: readonly Uint8Array[] = [];
  /** The columns are those that are asked for, of others that there may be. */
  private only = false;
  private oldestUnexpired = 0;
  /** What is said of each column: the same bytes. */
  private given: readonly Uint8Array[] = [];
  /** The place behind the last column that the row has had. */
  private place = 0;
  private older = 0;
  private passed = 0;

  /**
   * Adds what can be seen of the row, at whose first cell the cursor stands, to `raw`, and moves the cursor behind it. False:
   * it takes more than this; both are as they were.
   */
  read(cursor: CellCursor, raw: RawRow, { name, known, columns, oldestUnexpired }: RunFamily): boolean {
    if (columns === null && !known.any) return false;
    this.raw = raw;
    this.family = name;
    this.columns = columns ?? known.columns;
    this.given = columns ?? known.given;
    this.only = columns !== null;
    this.oldestUnexpired = oldestUnexpired;
    this.place = 0;
    this.older = 0;
    this.passed = 0;
    const { count } = raw;
    if (cursor.giveRow(this)) return true;
    raw.count = count;
    return false;
  }

  take(bytes: Uint8Array, at: number, length: number, timestamp: number, valueLength: number): boolean {
    const { columns } = this;
    let { place } = this;
    for (; place < columns.length; place++) {
      const column = columns[place]!;
      // Rows mostly have every column, so this is looked at first.
      if (!isColumn(bytes, at, length, column)) {
        if (compareSlices(bytes, at, length, column, 0, column.length) > 0) continue;
        break;
      }
      this.place = place + 1;
      if (timestamp < this.oldestUnexpired) return ++this.older <= MOST_OLDER;
      this.raw!.add(this.family, this.given[place]!, timestamp, bytes, at + length, valueLength);
      return true;
    }
    // Rows mostly have one version of a column, so this is looked at last.
    if (this.place > 0 && isColumn(bytes, at, length, columns[this.place - 1]!))
      return ++this.older <= MOST_OLDER;
    return this.only && ++this.passed <= MOST_PASSED;
  }
}

function isColumn(bytes: Uint8Array, at: number, length: number, column: Uint8Array): boolean {
  if (length !== column.length) return false;
  for (let i = 0; i < length; i++) if (bytes[at + i] !== column[i]) return false;
  return true;
}
