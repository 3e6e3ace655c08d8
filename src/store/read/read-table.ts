/** The read operations of a table, shared by stores that are open for writing and read-only. */

import { throwIfAborted } from '../../errors.js';
import type {
  Get,
  OperationOptions,
  RawRow,
  ReadView,
  Result,
  ResultScanner,
  Scan,
  SyncResultScanner,
} from '../../table/index.js';
import { checkEach, checkGet, checkScan } from '../../table/observed-table.js';
import type { StoredTables } from '../stored-tables.js';
import { readFirstRow, readRawRow, readRow } from './point-read.js';
import type { StoreReads } from './store-reads.js';
import { AsyncScanner, TableScanner } from './table-scanner.js';
import { TableView } from './table-view.js';

/** The parts of a store that it uses. */
export interface ReadCore {
  readonly reads: StoreReads;
  readonly catalog: StoredTables;
}

export class ReadTable<Core extends ReadCore = ReadCore> {
  constructor(
    protected readonly core: Core,
    readonly name: string,
  ) {}

  getSync(get: Get): Result {
    checkGet(get);
    return readRow(this.core.reads, this.core.catalog.openTable(this.name), get);
  }

  getRaw(get: Get, into: RawRow): boolean {
    return readRawRow(this.core.reads, this.core.catalog.openTable(this.name), get, into);
  }

  firstRaw(prefix: Uint8Array, qualifier: Uint8Array, into: RawRow): boolean | undefined {
    return readFirstRow(this.core.reads, this.core.catalog.openTable(this.name), prefix, qualifier, into);
  }

  async get(get: Get, options?: OperationOptions): Promise<Result> {
    if (options?.signal) throwIfAborted(options.signal);
    checkGet(get);
    return readRow(this.core.reads, this.core.catalog.openTable(this.name), get);
  }

  async getAll(gets: readonly Get[], options?: OperationOptions): Promise<Result[]> {
    throwIfAborted(options?.signal);
    checkEach('getAll', gets, checkGet);
    const state = this.core.catalog.openTable(this.name);
    const results: Result[] = new Array(gets.length);
    for (let i = 0; i < gets.length; i++) results[i] = readRow(this.core.reads, state, gets[i]!);
    return results;
  }

  async exists(get: Get, options?: OperationOptions): Promise<boolean> {
    // A get that checks existence returns the row without cells.
    return (await this.get(get, options)).row.length > 0;
  }

  scan(scan: Scan, options?: OperationOptions): ResultScanner {
    return new AsyncScanner(this.scanSync(scan), options?.signal);
  }

  scanSync(scan: Scan): SyncResultScanner {
    checkScan(scan);
    return new TableScanner(this.core.reads, this.core.catalog.openTable(this.name), scan);
  }

  readView(span: Scan): ReadView {
    checkScan(span);
    return new TableView(this.core.reads, this.core.catalog.openTable(this.name), span);
  }
}
