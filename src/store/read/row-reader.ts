import { type Cell, CellType, Get, LATEST_TIMESTAMP, type Query, Result } from '../../table/index.js';
import type { RowReader } from '../commit/row-operations.js';
import { compareToSeekKey, SeekKey } from '../cursor.js';
import type { Region } from '../region/region.js';
import { RegionScanner } from '../scan/region-scanner.js';
import type { FamilySource, ReadHint } from '../scan/store-read.js';
import type { TableState } from '../table-state.js';
import { plainGet } from './plain-get.js';

/** The parts of the store that row readers use. */
export interface RowReaderCore {
  readonly settings: { readonly random: () => number };
  /** Writes up to this sequence number are visible; default: all. */
  readonly readPoint?: number;
  /** `sourcesOf` returns more than the region's own stores. */
  readonly merged?: boolean;
  now(): number;
  /** The families of a region that a read names, in order. */
  sourcesOf(region: Region, query: Query): readonly FamilySource[];
}

/** Reads rows of one region with every write so far, acknowledged or not, as read-modify-write needs (R69). */
export class UncommittedRowReader implements RowReader {
  constructor(
    private readonly core: RowReaderCore,
    private readonly state: TableState,
    private readonly region: Region,
  ) {}

  private get readPoint(): number {
    return this.core.readPoint ?? Number.MAX_SAFE_INTEGER;
  }

  get families(): readonly string[] {
    return this.state.descriptor.families.map((family) => family.name);
  }

  read(get: Get): Result {
    const { core, readPoint } = this;
    const plain = core.merged ? undefined : plainGet(this.region, get, readPoint, core, null);
    return plain ?? this.scan(get);
  }

  private scan(get: Get): Result {
    const scanner = RegionScanner.forGet(this.core.sourcesOf(this.region, get), get, {
      readPoint: this.readPoint,
      now: this.core.now(),
      random: this.core.settings.random,
    });
    try {
      return scanner.next() ?? Result.EMPTY;
    } finally {
      scanner.close();
    }
  }

  ttlOf(cell: Cell): number {
    const [source] = this.core.sourcesOf(this.region, new Get(cell.row).addFamily(cell.family));
    if (source === undefined) return 0;
    const { readPoint } = this;
    const key = new SeekKey().setColumn(cell.row, cell.qualifier, cell.timestamp, CellType.Put);
    let ttl = 0;
    let newest = -1;
    for (const cursor of source.openCursors(wholeRow(cell.row))) {
      let found = cursor.seek(key);
      // Newest first: cells beyond the read point come before the one in question.
      while (found && cursor.seq > readPoint) found = cursor.next();
      if (found && compareToSeekKey(cursor, key) === 0 && cursor.seq > newest) {
        newest = cursor.seq;
        ttl = cursor.ttl;
      }
      cursor.close();
    }
    return ttl;
  }
}

function wholeRow(row: Uint8Array): ReadHint {
  return {
    row,
    startRow: null,
    stopRow: null,
    columns: null,
    minTimestamp: 0,
    maxTimestamp: LATEST_TIMESTAMP,
    cacheBlocks: true,
    reversed: false,
  };
}
