import type { Get, RawRow, ReadView, Scan, SyncResultScanner } from '../../table/index.js';
import type { Memstore } from '../memstore/memstore.js';
import { type FamilyStore, VersionSource } from '../region/family-store.js';
import { type Region, regionOf } from '../region/region.js';
import { RegionScanner } from '../scan/region-scanner.js';
import type { FamilySource } from '../scan/store-read.js';
import type { TableState } from '../table-state.js';
import { readRawRow } from './point-read.js';
import type { IdleReader, ReaderEnd, ScannerRegistry } from './scanner-registry.js';
import type { StoreReads } from './store-reads.js';
import { boundsOf, endedReader, held, overlaps, type ScanView, TableScanner } from './table-scanner.js';

/**
 * A part of a table as of one moment: it retains the regions, their memstores and files, and the read point when it is created. It
 * ends like a scan: when it is closed, garbage-collected, or not used for long.
 */

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

export class TableView implements ReadView {
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
