/** The rows of a split, given to its work in batches. */

import { RawRow, type Result, type ResultScanner, type Scan, type SyncTable } from '../table/index.js';
import type { JobPhase, JobReadable, RawRowWork, RowWeight, SplitWork } from './types.js';

/** Rows of a scan that answers at once that are worked before other events get their turn. */
const ROWS_OF_A_TURN = 4096;

/** What was worked. */
export interface Batch extends RowWeight {
  /** Rows as they were read: each may stand for several. */
  readonly given: number;
  /** The last of them. */
  readonly last: Uint8Array;
}

export interface Batches {
  /** Reads and works so many rows, or those that are left. Undefined: there are none. */
  next(wanted: number): Promise<Batch | undefined>;
  close(): void | Promise<void>;
}

/**
 * Begins a scan for this work: by rows that are filled again and again where both the work and the table can.
 * `sync`: the table's engine answers in this thread.
 */
export function openBatches(
  table: JobReadable,
  scan: Scan,
  work: Pick<SplitWork, 'rows' | 'raw'>,
  {
    weigh,
    sync,
    signal,
  }: { readonly weigh?: JobPhase['weigh']; readonly sync: boolean; readonly signal: AbortSignal },
): Batches {
  if (sync && work.raw !== undefined && weigh === undefined && fillsRows(table)) {
    return new RawBatches(table, scan, work.raw);
  }
  return new ResultBatches(table.scan(scan, { signal }), work, weigh);
}

/** A table that fills one row again and again. */
export type FillingTable = JobReadable & Pick<SyncTable, 'scanSync'>;

/** Tables that cannot get a row so cannot scan so, either. */
export function fillsRows(table: JobReadable): table is FillingTable {
  return (table as Partial<SyncTable>).getRaw !== undefined;
}

class ResultBatches implements Batches {
  constructor(
    private readonly scanner: ResultScanner,
    private readonly work: Pick<SplitWork, 'rows'>,
    private readonly weigh: JobPhase['weigh'],
  ) {}

  async next(wanted: number): Promise<Batch | undefined> {
    const read = await this.scanner.nextBatch(wanted);
    if (read.length === 0) return undefined;
    const { rows, bytes } = this.weightOf(read);
    await this.work.rows(read);
    return { given: read.length, rows, bytes, last: read[read.length - 1]!.row };
  }

  close(): Promise<void> {
    return this.scanner.close();
  }

  private weightOf(read: readonly Result[]): RowWeight {
    const { weigh } = this;
    if (weigh === undefined) return { rows: read.length, bytes: sizeOf(read) };
    const weights = read.map(weigh);
    return {
      rows: weights.reduce((sum, weight) => sum + weight.rows, 0),
      bytes: weights.reduce((sum, weight) => sum + weight.bytes, 0),
    };
  }
}

/** No cell costs an object, and no row more than what is made of it. */
class RawBatches implements Batches {
  private readonly scanner: ReturnType<SyncTable['scanSync']>;
  private readonly row = new RawRow();
  private ofThisTurn = 0;

  constructor(
    table: FillingTable,
    scan: Scan,
    private readonly work: RawRowWork,
  ) {
    this.scanner = table.scanSync(scan);
  }

  async next(wanted: number): Promise<Batch | undefined> {
    const { scanner, row, work } = this;
    if (this.ofThisTurn >= ROWS_OF_A_TURN) {
      this.ofThisTurn = 0;
      await new Promise((resolve) => setImmediate(resolve));
    }
    let given = 0;
    let bytes = 0;
    while (given < wanted && scanner.nextRaw!(row)) {
      given++;
      bytes += rawSizeOf(row);
      const working = work.row(row);
      if (working instanceof Promise) await working;
    }
    if (given === 0) return undefined;
    this.ofThisTurn += given;
    await work.flush();
    return { given, rows: given, bytes, last: row.row.slice() };
  }

  close(): void {
    this.scanner.close();
  }
}

/** Bytes of a cell besides its row, qualifier and value. */
const CELL_BYTES = 12;

/** Bytes of keys and values. */
function sizeOf(rows: readonly Result[]): number {
  let bytes = 0;
  for (const { row, cells } of rows) {
    for (const cell of cells) bytes += row.length + cell.qualifier.length + cell.value.length + CELL_BYTES;
  }
  return bytes;
}

/** The same of one. */
function rawSizeOf({ row, count, qualifiers, ends }: RawRow): number {
  if (count === 0) return 0;
  let bytes = count * (row.length + CELL_BYTES) + ends[count - 1]!;
  for (let i = 0; i < count; i++) bytes += qualifiers[i]!.length;
  return bytes;
}
