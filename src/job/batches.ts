/** Reads the rows of a split and passes them to its work in batches. */

import { keyAfter } from '../bytes/index.js';
import {
  RawRow,
  type Result,
  type ResultScanner,
  type Scan,
  type SyncTable,
  type ThreadedScanner,
} from '../table/index.js';
import type { DerivedPutsWork, JobPhase, JobReadable, RawRowWork, RowWeight, SplitWork } from './types.js';

/** The number of rows of a synchronous scan that are processed before other events of the process run. */
const ROWS_OF_A_TURN = 4096;

/** The result of one batch. */
export interface Batch extends RowWeight {
  /** Rows read; each may represent several. */
  readonly given: number;
  /** The last of them. */
  readonly last: Uint8Array;
}

export interface Batches {
  /** Reads and processes up to this many rows, or fewer that have some `bytes` together. Undefined: none are left. */
  next(wanted: number, bytes: number): Promise<Batch | undefined>;
  close(): void | Promise<void>;
}

interface BatchOptions {
  readonly weigh?: JobPhase['weigh'];
  readonly sync: boolean;
  /** The number of threads that read; 1: the calling one. */
  readonly threads: number;
  readonly signal: AbortSignal;
  /** The most rows whose puts threads make at a time; undefined: they make none. */
  readonly derivedRows?: number | undefined;
}

/**
 * Opens a scan for this work. It reuses one raw row if both the work and the table support that.
 * `sync`: the table's engine answers in this thread.
 */
export function openBatches(
  table: JobReadable,
  scan: Scan,
  work: Pick<SplitWork, 'rows' | 'raw' | 'derived'>,
  { weigh, sync, threads, signal, derivedRows }: BatchOptions,
): Batches {
  if (sync && work.raw !== undefined && weigh === undefined && readsRawRows(table)) {
    const threaded = scanInThreads(table, scan, threads, signal);
    if (threaded !== undefined && work.derived !== undefined && derivedRows !== undefined)
      return new DerivedBatches(threaded, work.derived, derivedRows);
    return new RawBatches(threaded ?? openRawRows(table, scan), work.raw);
  }
  return new ResultBatches(table.scan(scan, { signal }), work, weigh);
}

/** A table whose scan reuses one raw row. */
export type RawRowTable = JobReadable & Pick<SyncTable, 'scanSync' | 'scanInThreads'>;

/** Rows that are read one by one into a reused one; false at the end. */
interface RawRows {
  next(into: RawRow): boolean | Promise<boolean>;
  close(): void;
}

function scanInThreads(
  table: RawRowTable,
  scan: Scan,
  threads: number,
  signal: AbortSignal,
): ThreadedScanner | undefined {
  if (threads === 1) return undefined;
  const { startRow, includeStartRow, stopRow } = scan;
  const range = { start: includeStartRow ? startRow : keyAfter(startRow), stop: stopRow };
  return table.scanInThreads?.(scan, [range], { threads, signal });
}

function openRawRows(table: RawRowTable, scan: Scan): RawRows {
  const scanner = table.scanSync(scan);
  return { next: (into) => scanner.nextRaw!(into), close: () => scanner.close() };
}

/** A table that cannot read a raw row by key cannot scan raw rows either. */
export function readsRawRows(table: JobReadable): table is RawRowTable {
  return (table as Partial<SyncTable>).getRaw !== undefined;
}

class ResultBatches implements Batches {
  constructor(
    private readonly scanner: ResultScanner,
    private readonly work: Pick<SplitWork, 'rows'>,
    private readonly weigh: JobPhase['weigh'],
  ) {}

  async next(wanted: number, most: number): Promise<Batch | undefined> {
    const read = await this.scanner.nextBatch(wanted, most);
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

/** Avoids an object for each cell, and reuses the row object. */
class RawBatches implements Batches {
  private readonly row = new RawRow();
  private ofThisTurn = 0;

  constructor(
    private readonly reading: RawRows,
    private readonly work: RawRowWork,
  ) {}

  async next(wanted: number, most: number): Promise<Batch | undefined> {
    const { reading, row, work } = this;
    if (this.ofThisTurn >= ROWS_OF_A_TURN) {
      this.ofThisTurn = 0;
      await new Promise((resolve) => setImmediate(resolve));
    }
    let given = 0;
    let bytes = 0;
    while (given < wanted && (bytes < most || given === 0)) {
      const more = reading.next(row);
      if (!(typeof more === 'boolean' ? more : await more)) break;
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
    this.reading.close();
  }
}

/** Each batch is a packet of a thread. */
class DerivedBatches implements Batches {
  constructor(
    private readonly scanner: ThreadedScanner,
    private readonly work: DerivedPutsWork,
    private readonly maxRows: number,
  ) {}

  async next(): Promise<Batch | undefined> {
    const { scanner, work, maxRows } = this;
    const packet = await scanner.nextPuts({ ...work.puts, maxRows });
    if (packet === undefined) return undefined;
    await work.take(packet);
    const { rows, bytes, last } = packet;
    return { given: rows, rows, bytes, last };
  }

  close(): void {
    this.scanner.close();
  }
}

/** Fixed bytes of a cell besides its row, qualifier and value. */
const CELL_BYTES = 12;

/** The bytes of keys and values of rows. */
function sizeOf(rows: readonly Result[]): number {
  let bytes = 0;
  for (const { row, cells } of rows) {
    for (const cell of cells) bytes += row.length + cell.qualifier.length + cell.value.length + CELL_BYTES;
  }
  return bytes;
}

/** The same for one raw row. */
function rawSizeOf({ row, count, qualifiers, ends }: RawRow): number {
  if (count === 0) return 0;
  let bytes = count * (row.length + CELL_BYTES) + ends[count - 1]!;
  for (let i = 0; i < count; i++) bytes += qualifiers[i]!.length;
  return bytes;
}
