/** Rows of one scan, fetched in growing batches: a merge that stops early has read little of each range. */

import type {
  OperationOptions,
  Result,
  ResultScanner,
  Scan,
  SyncResultScanner,
  SyncTable,
  Table,
} from '../table/index.js';

/** A table, and the same table again if it answers without leaving the thread. */
export interface TableAccess {
  readonly table: Table;
  readonly sync: SyncTable | undefined;
  /**
   * Loads what a decoding lacked: a promise when that is why it failed, undefined for other errors. Undefined where
   * nothing is ever lacking.
   */
  readonly recover?: ((error: unknown) => Promise<void> | undefined) | undefined;
}

/** Rows fetched from a range at first; each further fetch doubles it up to the most. */
const FIRST_BATCH = 8;
const LARGEST_BATCH = 256;

/** One scan with a buffer of rows. Fetching leaves the thread only where the table does. */
export class ScanSource {
  private buffer: readonly Result[] = [];
  private index = 0;
  private batch: number;
  private ended = false;
  private readonly scanner: ResultScanner | SyncResultScanner;
  private readonly isSync: boolean;

  constructor(access: TableAccess, scan: Scan, options: OperationOptions) {
    this.isSync = access.sync !== undefined;
    this.scanner = access.sync?.scanSync(scan) ?? access.table.scan(scan, options);
    // A remote scan pays for each fetch, a local one only for rows.
    this.batch = this.isSync ? FIRST_BATCH : Math.min(scan.limit ?? LARGEST_BATCH, LARGEST_BATCH);
  }

  /** The next row, which `take` removes; undefined when nothing is buffered or nothing is left. */
  get head(): Result | undefined {
    return this.buffer[this.index];
  }

  /** The row of `head`. */
  get row(): Uint8Array | undefined {
    return this.buffer[this.index]?.row;
  }

  /** Whether `head` is undefined only for want of a fetch. */
  get needsFetch(): boolean {
    return this.index >= this.buffer.length && !this.ended;
  }

  take(): Result {
    return this.buffer[this.index++]!;
  }

  /** Fills the buffer; a promise only when the table is not a sync one. */
  fetch(wanted: number = this.batch): Promise<void> | undefined {
    const count = Math.min(this.batch, Math.max(wanted, 1));
    this.batch = Math.min(this.batch * 2, LARGEST_BATCH);
    if (this.isSync) {
      this.fill((this.scanner as SyncResultScanner).nextBatch(count), count);
      return undefined;
    }
    return (this.scanner as ResultScanner).nextBatch(count).then((rows) => this.fill(rows, count));
  }

  private fill(rows: readonly Result[], asked: number): void {
    this.buffer = rows;
    this.index = 0;
    if (rows.length < asked) this.ended = true;
  }

  close(): Promise<void> | void {
    this.ended = true;
    this.buffer = [];
    return this.scanner.close();
  }
}
