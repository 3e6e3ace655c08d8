import { compareBytes, compareSlices } from '../bytes/index.js';
import type { RawRowTable } from '../job/batches.js';
import { type CellSelection, scanOf } from '../job/table-pass.js';
import type { RowRange } from '../job/types.js';
import {
  type Cell,
  RawRow,
  type Result,
  type ResultScanner,
  type SyncResultScanner,
  type Table,
} from '../table/index.js';

/** Rows to compare with those of another table, one after the other. */
export interface OtherRows {
  /** The next row, if it has been read already. */
  readonly buffered: Result | undefined;
  /** The next row, without consuming it; undefined at the end. */
  peek(): Promise<Result | undefined>;
  take(): void;
  close(): Promise<void>;
}

/** How many rows are read ahead, and about how many bytes of them. */
const ROWS_AHEAD = 500;
const BYTES_AHEAD = 4 << 20;

/** Reads rows of a range of a table, one batch ahead. */
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
      this.batch = await this.scanner.nextBatch(ROWS_AHEAD, BYTES_AHEAD);
      this.index = 0;
      this.ended = this.batch.length === 0;
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

/** Reads raw rows of a range, one row ahead; the row object is reused. */
export class RawRowReader implements OtherRows {
  /** Always undefined: Results are created only on demand here. */
  readonly buffered = undefined;
  private readonly scanner: SyncResultScanner;
  private readonly row = new RawRow();
  private isAhead = false;

  constructor(table: RawRowTable, { start, stop }: RowRange, selection: CellSelection) {
    this.scanner = table.scanSync(scanOf(selection, false).withStartRow(start).withStopRow(stop));
  }

  /** The next row; valid until it is consumed. */
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

// — Compares the cells of two rows.

export function sameCells(a: readonly Cell[], b: readonly Cell[]): boolean {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at++) if (!sameCell(a[at]!, b[at]!)) return false;
  return true;
}

/** Whether two rows have the same key and the same cells, all of them puts. */
export function sameRawRows(a: RawRow, b: RawRow): boolean {
  const { count } = a;
  if (b.count !== count || compareBytes(a.row, b.row) !== 0) return false;
  for (let at = 0; at < count; at++) {
    // Values are contiguous, so equal ends mean equal lengths.
    if (a.ends[at] !== b.ends[at] || a.timestamps[at] !== b.timestamps[at]) return false;
    if (a.families[at] !== b.families[at] || compareBytes(a.qualifiers[at]!, b.qualifiers[at]!) !== 0)
      return false;
  }
  const length = count === 0 ? 0 : a.ends[count - 1]!;
  return compareSlices(a.bytes, 0, length, b.bytes, 0, length) === 0;
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

/** Cells of a row by place; of two cells at one place the later one replaces the other. */
export class CellPlaces {
  private readonly cells = new Map<string, Cell[]>();

  constructor(cells: readonly Cell[]) {
    for (const cell of cells) {
      const place = placeOf(cell);
      const known = this.cells.get(place);
      if (known === undefined) this.cells.set(place, [cell]);
      else known.push(cell);
    }
  }

  /** Whether there is a cell at the same place. */
  hasPlaceOf(cell: Cell): boolean {
    return this.cells.has(placeOf(cell));
  }

  has(cell: Cell): boolean {
    return this.cells.get(placeOf(cell))?.some((other) => sameCell(cell, other)) === true;
  }
}

function placeOf({ family, qualifier, timestamp }: Cell): string {
  const name = Buffer.from(qualifier.buffer, qualifier.byteOffset, qualifier.length).toString('latin1');
  return `${timestamp}\0${family}\0${name}`;
}
