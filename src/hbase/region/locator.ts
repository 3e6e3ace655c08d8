import {
  compareBytes,
  concatBytes,
  EMPTY_BYTES,
  equalBytes,
  fromLatin1,
  toStringBinary,
} from '../../bytes/index.js';
import { RowanError } from '../../errors.js';
import { MAX_ROW_LENGTH } from '../../table/checks.js';
import type { Result } from '../../table/result.js';
import { addressKey } from '../rpc/connection-settings.js';
import { RemoteError } from '../rpc/errors.js';
import { withTimeout } from '../rpc/first-answer.js';
import { TableStateMessage } from '../wire/messages-admin.js';
import { decodeMessage } from '../wire/schema.js';
import {
  isRecovered,
  META_TABLE,
  type MetaRow,
  Region,
  readMetaRow,
  regionNameOf,
  shownName,
} from './region.js';
import type { Registry } from './registry.js';

/** The cached regions of one table, in key order, without overlaps. */
class TableRegions {
  readonly regions: Region[] = [];

  /** The number of regions that begin at or before `row`. */
  upperBound(row: Uint8Array): number {
    const regions = this.regions;
    let low = 0;
    let high = regions.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareBytes(regions[middle]!.startKey, row) <= 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The index of `region`, or of the region that it is a replica of; -1 when the cache has another region there. */
  indexOf(region: Region): number {
    const at = this.upperBound(region.startKey) - 1;
    const known = this.regions[at];
    return known !== undefined && (known === region || known.replicas.includes(region)) ? at : -1;
  }
}

/**
 * The cache of region locations (HBase `AsyncNonMetaRegionLocator`). A location may be stale: the server then answers so, and
 * {@link remove} or {@link replace} correct the cache.
 */
export class RegionCache {
  private readonly tables = new Map<string, TableRegions>();

  /** Counts of cached tables and regions. */
  sizes(): { readonly tables: number; readonly regions: number } {
    let regions = 0;
    for (const table of this.tables.values()) regions += table.regions.length;
    return { tables: this.tables.size, regions };
  }

  /** Every cached region, table by table in the order of their keys. */
  *[Symbol.iterator](): Iterator<Region> {
    for (const { regions } of this.tables.values()) yield* regions;
  }

  /** The region that holds `row`. */
  find(table: string, row: Uint8Array): Region | undefined {
    const known = this.tables.get(table);
    if (known === undefined) return undefined;
    const region = known.regions[known.upperBound(row) - 1];
    return region !== undefined && holds(region, row) ? region : undefined;
  }

  /** The region that holds the greatest rows below `row`; for an empty row the last region. */
  findBefore(table: string, row: Uint8Array): Region | undefined {
    const known = this.tables.get(table);
    if (known === undefined) return undefined;
    if (row.length === 0) {
      const last = known.regions.at(-1);
      return last !== undefined && last.endKey.length === 0 ? last : undefined;
    }
    let at = known.upperBound(row) - 1;
    if (at >= 0 && compareBytes(known.regions[at]!.startKey, row) === 0) at--;
    const region = known.regions[at];
    if (region === undefined) return undefined;
    return region.endKey.length === 0 || compareBytes(row, region.endKey) <= 0 ? region : undefined;
  }

  /** Whether any region of the table is cached. */
  knows(table: string): boolean {
    return (this.tables.get(table)?.regions.length ?? 0) > 0;
  }

  /**
   * Adds a region that was looked up, unless an overlapping one in the cache is newer.
   * @returns the region, or the equal one that was cached before.
   */
  insert(region: Region): Region {
    let known = this.tables.get(region.table);
    if (known === undefined) {
      known = new TableRegions();
      this.tables.set(region.table, known);
    }
    const regions = known.regions;
    let from = known.upperBound(region.startKey);
    if (from > 0 && reaches(regions[from - 1]!, region.startKey)) from--;
    let to = from;
    while (to < regions.length && reaches(region, regions[to]!.startKey)) {
      const known = regions[to]!;
      if (isSame(known, region)) return known;
      if (isNewer(known, region)) return region;
      to++;
    }
    regions.splice(from, to - from, region);
    return region;
  }

  /** Removes `region`, unless the cache has a newer one by now. */
  remove(region: Region): void {
    const known = this.tables.get(region.table);
    const at = known?.indexOf(region) ?? -1;
    if (at >= 0) known!.regions.splice(at, 1);
  }

  /** Replaces a region by its new location, unless the cache has a newer one by now. */
  replace(old: Region, moved: Region): void {
    const known = this.tables.get(old.table);
    const at = known?.indexOf(old) ?? -1;
    if (at < 0) return;
    const replicas = [...old.replicas];
    replicas[0] = moved;
    moved.replicas = replicas;
    known!.regions[at] = moved;
  }

  /** Removes every region on a server. */
  removeServer(server: string): void {
    for (const known of this.tables.values()) {
      let kept = 0;
      for (const region of known.regions) if (region.server !== server) known.regions[kept++] = region;
      known.regions.length = kept;
    }
  }

  removeTable(table: string): void {
    this.tables.delete(table);
  }
}

/** Whether `row` is in the region, given that the region begins at or before it. */
function holds(region: Region, row: Uint8Array): boolean {
  return region.endKey.length === 0 || compareBytes(row, region.endKey) < 0;
}

/** Whether `region`, which begins at or before `row`, ends after it. */
function reaches(region: Region, row: Uint8Array): boolean {
  return holds(region, row);
}

/** Whether both are the same region at the same location, replicas included. */
function isSame(known: Region, found: Region): boolean {
  return (
    known.regionId === found.regionId &&
    known.server === found.server &&
    known.startCode === found.startCode &&
    known.seqNum === found.seqNum &&
    equalBytes(known.name, found.name) &&
    known.replicas.length === found.replicas.length &&
    known.replicas.every((replica, id) => replica?.server === found.replicas[id]?.server)
  );
}

function isNewer(known: Region, found: Region): boolean {
  if (known.regionId !== found.regionId) return known.regionId > found.regionId;
  return known.seqNum > found.seqNum;
}

/** The reads of meta that the locator needs. */
export interface MetaReader {
  /** Up to `limit` rows backwards from `startRow` to `stopRow`, both inclusive. */
  scanBackwards(startRow: Uint8Array, stopRow: Uint8Array, limit: number): Promise<Result[]>;
  /** The `table:state` cells of tables, by table name, in one request. Tables that do not exist have none. */
  tableStates(tables: readonly string[]): Promise<ReadonlyMap<string, Uint8Array>>;
  /** The row of a region with {@link META_VERSIONS} versions of its states and locations. */
  history(region: Uint8Array): Promise<Result>;
}

/** Strings that sort after, and before, every region id. */
const NINES = ',99999999999999';
const ZEROES = ',00000000000000';
/** Regions that a lookup prefetches (`hbase.client.locate.prefetch.limit`). */
const PREFETCH = 10;
/** Concurrent lookups of one table. */
const LOOKUPS_A_TABLE = 4;
const META_REGION_ID = 1;
const DISABLED = 1;
const DISABLING = 2;

interface Waiter {
  readonly row: Uint8Array;
  readonly before: boolean;
  /** Whether a lookup was started for it. Another lookup may answer it first. */
  started: boolean;
  resolve(region: Region): void;
  reject(error: RowanError): void;
}

/** The lookups of one table. Few run at a time, and each answers every waiter whose row it covers. */
interface TableLookups {
  running: number;
  waiters: Waiter[];
}

/** The part of a locator by which operations find regions. */
export type RegionFinder = Pick<Locator, 'cache' | 'locate' | 'lookupOf' | 'isDisabled' | 'isRecovered'>;

/** Finds the region of a row: in the cache, else in `hbase:meta`, whose location the registry knows. */
export class Locator {
  private readonly lookups = new Map<string, TableLookups>();
  private metaLookup: Promise<Region> | undefined;
  private meta: MetaReader | undefined;
  /** Where meta was found last. */
  private metaServer: string | undefined;
  /** Number of reads of meta so far. */
  lookupsMade = 0;

  constructor(
    readonly cache: RegionCache,
    private readonly registry: Registry,
    private readonly registryTimeout: number,
  ) {}

  /** Sets the reader of meta. Called once, before the first lookup. */
  readMetaWith(meta: MetaReader): void {
    this.meta = meta;
  }

  /**
   * The region that holds `row`, or, with `before`, the one that holds the greatest rows below it (an empty row: the
   * last region). Waits at most `timeout` milliseconds.
   * @throws RowanError `ERR_TABLE_NOT_FOUND`, `ERR_TABLE_DISABLED`, `ERR_WRONG_REGION` while a region has no server,
   * `ERR_TIMEOUT`, and what reading meta throws.
   */
  locate(table: string, row: Uint8Array, before: boolean, timeout: number): Promise<Region> {
    const cached = before ? this.cache.findBefore(table, row) : this.cache.find(table, row);
    if (cached !== undefined) return Promise.resolve(cached);
    const found = table === META_TABLE ? this.locateMeta() : this.lookUp(table, row, before);
    return withTimeout(found, timeout, () => this.lookupOf(table, row));
  }

  /** A lookup, for messages, with where it waits if that is known by then. */
  lookupOf(table: string, row: Uint8Array): string {
    const where = this.metaServer === undefined ? '' : ` (hbase:meta is on ${this.metaServer})`;
    return `The lookup of the region of row "${toStringBinary(row)}" of table ${table}${where}`;
  }

  /** Meta's region, at the location that the registry gives. */
  locateMeta(): Promise<Region> {
    this.metaLookup ??= this.registry
      .metaLocations(this.registryTimeout)
      .then((locations) => {
        const replicas: (Region | undefined)[] = [];
        for (const { replicaId, address, startCode, seqNum } of locations) {
          const name = regionNameOf(META_TABLE, EMPTY_BYTES, META_REGION_ID);
          replicas[replicaId] = new Region(
            META_TABLE,
            EMPTY_BYTES,
            EMPTY_BYTES,
            META_REGION_ID,
            replicaId,
            name,
            address,
            startCode,
            seqNum,
          );
        }
        const primary = replicas[0]!;
        primary.replicas = replicas;
        this.metaServer = addressKey(primary.address);
        return this.cache.insert(primary);
      })
      .finally(() => {
        this.metaLookup = undefined;
      });
    return this.metaLookup;
  }

  private lookUp(table: string, row: Uint8Array, before: boolean): Promise<Region> {
    let lookups = this.lookups.get(table);
    if (lookups === undefined) {
      lookups = { running: 0, waiters: [] };
      this.lookups.set(table, lookups);
    }
    const found = new Promise<Region>((resolve, reject) => {
      lookups.waiters.push({ row, before, started: false, resolve, reject });
    });
    this.startLookups(table, lookups);
    return found;
  }

  private startLookups(table: string, lookups: TableLookups): void {
    // The first lookup of a table usually answers the other rows requested with it.
    const limit = this.cache.knows(table) ? LOOKUPS_A_TABLE : 1;
    while (lookups.running < limit) {
      const waiter = lookups.waiters.find(({ started }) => !started);
      if (waiter === undefined) break;
      waiter.started = true;
      lookups.running++;
      this.readMeta(table, waiter.row, waiter.before).then(
        (region) => {
          lookups.running--;
          this.settle(table, lookups, waiter, region);
        },
        (error: RowanError) => {
          lookups.running--;
          lookups.waiters = lookups.waiters.filter((other) => other !== waiter);
          waiter.reject(error);
          this.startLookups(table, lookups);
        },
      );
    }
    if (lookups.waiters.length === 0 && lookups.running === 0) this.lookups.delete(table);
  }

  private settle(table: string, lookups: TableLookups, waiter: Waiter, region: Region): void {
    waiter.resolve(region);
    const left: Waiter[] = [];
    for (const other of lookups.waiters) {
      if (other === waiter) continue;
      const { row, before } = other;
      const known = before ? this.cache.findBefore(table, row) : this.cache.find(table, row);
      if (known === undefined) left.push(other);
      else other.resolve(known);
    }
    lookups.waiters = left;
    this.startLookups(table, lookups);
  }

  /** Reads meta backwards from just after the key that the row's region would have. */
  private async readMeta(table: string, row: Uint8Array, before: boolean): Promise<Region> {
    const prefix = Buffer.from(`${table},`, 'utf8');
    const start = metaKeyAfter(table, prefix, row, before);
    const stop = concatBytes(prefix, fromLatin1(','));
    this.lookupsMade++;
    const results = await this.meta!.scanBackwards(start, stop, PREFETCH);
    const rows = results.map(readMetaRow).filter((found) => found !== undefined && found.table === table);
    const first = rows.find((found) => !found!.isSplitParent);
    let region: Region | undefined;
    for (const found of rows) {
      if (!isUsable(found!)) continue;
      const known = this.cache.insert(found!.region!);
      if (found === first) region = known;
    }
    if (first === undefined) {
      throw new RowanError(
        'ERR_TABLE_NOT_FOUND',
        `Table ${table} does not exist. Create it first, or check its name.`,
        {
          details: { table },
        },
      );
    }
    if (region !== undefined) return region;
    throw await this.whyNotUsable(table, first);
  }

  private async whyNotUsable(table: string, row: MetaRow): Promise<RowanError> {
    if (await this.isDisabled(table)) return tableDisabled(table);
    return new RemoteError(
      {
        code: 'ERR_WRONG_REGION',
        retryable: true,
        retryClass: 'busy',
        exceptionClass: 'RegionInTransition',
        remoteMessage: `region ${row.state ?? 'without a state'}`,
        server: 'hbase:meta',
      },
      `Region ${shownName(row)} is on no server at the moment (${row.state ?? 'no state'}). Try again shortly.`,
      { details: { table, region: shownName(row) } },
    );
  }

  /** Those of these tables that exist, read from meta: the master would read meta too, in a handler that recovery needs. */
  async existing(tables: readonly string[]): Promise<string[]> {
    const asked = tables.filter((table) => table !== META_TABLE);
    const states = asked.length === 0 ? undefined : await this.meta!.tableStates(asked);
    return tables.filter((table) => table === META_TABLE || states?.has(table));
  }

  /** Whether `now` recovered the region from the log of `before`, so that it knows the nonces of what was applied there. */
  async isRecovered(before: Region, now: Region): Promise<boolean> {
    if (!equalBytes(before.name, now.name)) return false;
    return isRecovered(await this.meta!.history(now.name), before, now);
  }

  /** Those of these tables that meta has as disabled or disabling. */
  async disabled(tables: readonly string[]): Promise<string[]> {
    if (tables.length === 0) return [];
    const states = await this.meta!.tableStates(tables);
    return tables.filter((table) => {
      const value = states.get(table);
      if (value === undefined) return false;
      const { state } = decodeMessage(TableStateMessage, value);
      return state === DISABLED || state === DISABLING;
    });
  }

  async isDisabled(table: string): Promise<boolean> {
    return (await this.disabled([table])).length > 0;
  }
}

/** The error of an operation on a disabled table. */
export function tableDisabled(table: string): RowanError {
  return new RowanError('ERR_TABLE_DISABLED', `Table ${table} is disabled. Enable it first.`, {
    details: { table },
  });
}

/** The key in meta just behind that of the region which holds `row` (with `before`: the rows below it). */
function metaKeyAfter(table: string, prefix: Uint8Array, row: Uint8Array, before: boolean): Uint8Array {
  if (before && row.length === 0) return concatBytes(Buffer.from(table, 'utf8'), Uint8Array.of(0));
  // Keys in meta are limited as others are, so no region begins with a row as long as those that are cut here.
  const longest = MAX_ROW_LENGTH - prefix.length - NINES.length;
  if (row.length > longest) return concatBytes(prefix, row.subarray(0, longest), fromLatin1(NINES));
  return concatBytes(prefix, row, fromLatin1(before ? ZEROES : NINES));
}

function isUsable(row: MetaRow): boolean {
  return row.region !== undefined && !row.isSplitParent && (row.state === undefined || row.state === 'OPEN');
}
