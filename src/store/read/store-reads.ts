import type { Query, Result, Scan } from '../../table/index.js';
import type { RowReader } from '../commit/row-operations.js';
import type { StoreEnvironment } from '../environment.js';
import type { StoreSettings } from '../options.js';
import { type Region, regionOf } from '../region/region.js';
import type { FamilySource } from '../scan/store-read.js';
import type { TableState } from '../table-state.js';
import { type RowReaderCore, UncommittedRowReader } from './row-reader.js';
import type { ScannerRegistry } from './scanner-registry.js';
import { type ScannerCore, TableScanner, UncommittedView } from './table-scanner.js';

/** What reads of an open store use: the read point, the clock, the open scans, and rows with unacknowledged writes. */
export class StoreReads implements ScannerCore, RowReaderCore {
  readonly settings: StoreSettings;

  constructor(
    private readonly environment: StoreEnvironment,
    readonly commits: ScannerCore['commits'],
    readonly scanners: ScannerRegistry,
  ) {
    this.settings = environment.settings;
  }

  now(): number {
    return this.environment.now();
  }

  /** The families of a region that a read names, in order. */
  sourcesOf(region: Region, query: Query): readonly FamilySource[] {
    if (query.asksForAll) return region.stores;
    return region.stores.filter((store) => query.families.has(store.descriptor.name));
  }

  /** Reads a row with every write so far, acknowledged or not. */
  rowReader(state: TableState, row: Uint8Array): RowReader {
    return new UncommittedRowReader(this, state, regionOf(state.regions, row));
  }

  /** Returns the rows of a scan with every write so far, acknowledged or not. */
  scanUncommitted(state: TableState, scan: Scan): Result[] {
    return [...new TableScanner(this, state, scan, new UncommittedView(this.now()))];
  }
}
