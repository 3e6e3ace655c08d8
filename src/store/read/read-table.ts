import { throwIfAborted } from '../../errors.js';
import type {
  Get,
  OperationOptions,
  Query,
  RawRow,
  ReadView,
  Result,
  ResultScanner,
  Scan,
  SyncResultScanner,
} from '../../table/index.js';
import { checkEach, checkGet, checkScan } from '../../table/observer.js';
import type { RowReader } from '../commit/row-operations.js';
import type { StoreEnvironment } from '../environment.js';
import type { Memstore } from '../memstore/memstore.js';
import type { StoreSettings } from '../options.js';
import { type FamilyStore, type Region, regionOf, VersionSource } from '../region/region.js';
import { RegionScanner } from '../scan/region-scanner.js';
import type { FamilySource } from '../scan/store-read.js';
import type { StoredTables, TableState } from '../table-state.js';
import { readFirstRow } from './first-row.js';
import { areNewRows, type RowReaderCore, readRawRow, readRow, UncommittedRowReader } from './point-read.js';
import { readAhead } from './read-ahead.js';
import type { IdleReader, ReaderEnd, ScannerRegistry } from './scanner-registry.js';
import {
  AsyncScanner,
  boundsOf,
  endedReader,
  held,
  overlaps,
  type ScannerCore,
  type ScanView,
  TableScanner,
  UncommittedView,
} from './table-scanner.js';

/** The parts of an open store that reads use: the read point, the clock, the open scans, and rows with unacknowledged writes. */
export class StoreReads implements ScannerCore, RowReaderCore {
  readonly settings: StoreSettings;
  /** The time of the step that runs in this turn. */
  private time: number | undefined;

  constructor(
    private readonly environment: StoreEnvironment,
    readonly commits: ScannerCore['commits'],
    readonly scanners: ScannerRegistry,
  ) {
    this.settings = environment.settings;
  }

  now(): number {
    return this.time ?? this.environment.now();
  }

  /** Runs a step, whose reads all have this time: a row that expires meanwhile is there for all of them. */
  asOf<T>(time: number, step: () => T): T {
    this.time = time;
    try {
      return step();
    } finally {
      this.time = undefined;
    }
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

  /** Whether the rows are distinct and certain to have no cells, acknowledged or not. */
  areNew(state: TableState, rows: readonly Uint8Array[]): boolean {
    return areNewRows(state.regions, rows);
  }

  /** Returns the rows of a scan with every write so far, acknowledged or not. */
  scanUncommitted(state: TableState, scan: Scan): Result[] {
    return [...new TableScanner(this, state, scan, new UncommittedView(this.now()))];
  }
}

/** The parts of a store that it uses. */
export interface ReadCore {
  readonly reads: StoreReads;
  readonly catalog: StoredTables;
}

/** The read operations of a table, shared by stores that are open for writing and read-only. */
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

  readAhead(gets: readonly Get[]): Promise<void> | undefined {
    return readAhead(this.core.catalog.openTable(this.name), gets);
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
    const ahead = this.readAhead(gets);
    if (ahead !== undefined) {
      await ahead;
      throwIfAborted(options?.signal);
    }
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

/** The resources of a view, separate from its reader. */
class ViewHold implements IdleReader {
  readonly regions: Region[] = [];
  readonly sources = new Map<FamilyStore, VersionSource>();
  end: ReaderEnd | 'closed' | undefined;
  slot = -1;
  used = true;
  idle = 0;
  readonly pinsAll = false;

  constructor(
    private readonly registry: ScannerRegistry,
    readonly readPoint: number,
    readonly time: number,
    public owner: object | undefined,
  ) {}

  readsFrom(memstore: Memstore): boolean {
    for (const { version } of this.sources.values()) if (version.active === memstore) return true;
    return false;
  }

  close(end: ReaderEnd | 'closed'): void {
    if (this.end !== undefined) return;
    this.end = end;
    for (const { version } of this.sources.values()) version.release();
    this.sources.clear();
    this.registry.closed(this);
    this.owner = undefined;
  }

  cutOff(why: ReaderEnd): void {
    this.close(why);
  }
}

/**
 * A part of a table as of one moment: it retains the regions, their memstores and files, and the read point when it is created. It
 * ends like a scan: when it is closed, garbage-collected, or not used for long.
 */
class TableView implements ReadView {
  private readonly hold: ViewHold;
  private readonly view: ScanView;

  constructor(
    private readonly reads: StoreReads,
    private readonly state: TableState,
    span: Scan,
  ) {
    const hold = new ViewHold(reads.scanners, reads.commits.readPoint, reads.now(), this);
    const bounds = boundsOf(span);
    for (const region of state.regions) {
      if (!overlaps(region, bounds)) continue;
      hold.regions.push(region);
      for (const store of region.stores) hold.sources.set(store, held(store));
    }
    reads.scanners.opened(hold);
    this.hold = hold;
    this.view = {
      readPoint: hold.readPoint,
      now: hold.time,
      regions: hold.regions,
      touch: () => {
        hold.used = true;
      },
      hold: (store) => {
        const { descriptor, version, known } = hold.sources.get(store) ?? store;
        return new VersionSource(descriptor, version.retain(), known);
      },
    };
  }

  getRaw(get: Get, into: RawRow): boolean {
    this.checkRead();
    const { reads, state, hold } = this;
    // Nothing was written since: the row is unchanged.
    if (reads.commits.readPoint === hold.readPoint) return readRawRow(reads, state, get, into);
    state.checkQuery(get);
    const context = { readPoint: hold.readPoint, now: hold.time, random: reads.settings.random };
    const region = regionOf(hold.regions, get.row);
    const scanner = RegionScanner.forGet(this.sourcesOf(region, get), get, context);
    into.clear();
    try {
      const result = scanner.nextRaw(into);
      return result !== undefined && (!result.isEmpty || into.count > 0);
    } finally {
      scanner.close();
    }
  }

  /** The sources of one read, which the view retains. */
  private sourcesOf({ stores }: Region, get: Get): readonly FamilySource[] {
    const asked = get.asksForAll
      ? stores
      : stores.filter(({ descriptor }) => get.families.has(descriptor.name));
    return asked.map((store) => this.hold.sources.get(store) ?? store);
  }

  scanSync(scan: Scan): SyncResultScanner {
    this.checkRead();
    return new TableScanner(this.reads, this.state, scan, this.view);
  }

  private checkRead(): void {
    const { end } = this.hold;
    if (end !== undefined) throw endedReader(end === 'closed' ? 'expired' : end, this.reads, this.state);
    this.hold.used = true;
  }

  close(): void {
    this.hold.close('closed');
  }
}
