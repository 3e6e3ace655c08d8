import { toLatin1, toStringBinary } from '../../bytes/index.js';
import { tableNameMessage } from '../../hbase/admin/table-codec.js';
import { encodedNameOf, META_TABLE, regionNameOf } from '../../hbase/region/region.js';
import type { RegionInfoMessage, RegionSpecifier } from '../../hbase/wire/messages-rpc.js';
import type { TypeOf } from '../../hbase/wire/schema.js';
import type { Region, ServedStore, TableState } from '../../store/serving.js';
import { JavaClass, ServerException } from '../errors.js';

/** A region with its table. */
export interface ServedRegion {
  readonly state: TableState;
  readonly region: Region;
  /** The region's full name. */
  readonly name: Uint8Array;
  readonly encodedName: string;
}

const ENCODED_NAME = 2;

/** HBase's ids are timestamps: programs that print or parse region names expect thirteen digits. */
const FIRST_ID = 1_500_000_000_000;

function regionIdOf({ id }: Region): number {
  return FIRST_ID + id;
}

/**
 * Finds regions by the names that clients use. A region's name contains the store's own id: a daughter's is larger than
 * its parent's, a recreated table has new ones, and restarts change none, so that outdated client caches are always
 * detected.
 */
export class ServedRegions {
  /** By full name, as Latin-1. */
  private readonly byName = new Map<string, ServedRegion>();
  private readonly byEncodedName = new Map<string, ServedRegion>();
  /** Regions computed for each table, by its list of regions. */
  private readonly known = new WeakMap<readonly Region[], readonly ServedRegion[]>();

  constructor(private readonly store: ServedStore) {}

  /** The present regions of a table, in order. */
  of(state: TableState): readonly ServedRegion[] {
    const known = this.known.get(state.regions);
    if (known !== undefined) return known;
    const regions = state.regions.map((region) => this.named(state, region));
    this.known.set(state.regions, regions);
    this.forgetRetired();
    return regions;
  }

  private named(state: TableState, region: Region): ServedRegion {
    const name = regionNameOf(state.name, region.startKey, regionIdOf(region));
    const key = toLatin1(name);
    const found = this.byName.get(key);
    if (found !== undefined) return found;
    const served = { state, region, name, encodedName: encodedNameOf(name)! };
    this.byName.set(key, served);
    this.byEncodedName.set(served.encodedName, served);
    return served;
  }

  private forgetRetired(): void {
    for (const [key, { region, encodedName }] of this.byName) {
      if (!region.retired) continue;
      this.byName.delete(key);
      this.byEncodedName.delete(encodedName);
    }
  }

  /**
   * The region with a name, if it accepts reads and writes.
   * @throws ServerException `NotServingRegionException` when it was split, or its table is gone or disabled; the client
   * then looks it up again.
   */
  open(specifier: TypeOf<typeof RegionSpecifier>): ServedRegion {
    const served = this.find(specifier);
    if (served?.state.enabled === true) return served;
    throw notServing(specifier.value);
  }

  /** The region with a name, whether its table is enabled or not; undefined if it does not exist. */
  find({ type, value }: TypeOf<typeof RegionSpecifier>): ServedRegion | undefined {
    const key = toLatin1(value);
    const served = this.lookUp(type, key);
    if (served !== undefined) return served;
    for (const name of this.store.tableNames()) this.of(this.store.table(name)!);
    return this.lookUp(type, key);
  }

  private lookUp(type: number, key: string): ServedRegion | undefined {
    const served = type === ENCODED_NAME ? this.byEncodedName.get(key) : this.byName.get(key);
    return served === undefined || served.region.retired ? undefined : served;
  }
}

/** The error for a region that does not exist now. */
export function notServing(name: Uint8Array): ServerException {
  const text = toStringBinary(name.subarray(0, 300));
  return new ServerException(JavaClass.NotServingRegion, `${text} is not online on this server.`, false);
}

/** The name of meta's region, which never changes. */
export const META_REGION = regionNameOf(META_TABLE, new Uint8Array(0), 1);
const META_KEY = toLatin1(META_REGION);
const META_ENCODED = encodedNameOf(META_REGION)!;

/** Whether a request addresses `hbase:meta`. */
export function isMeta({ value }: TypeOf<typeof RegionSpecifier>): boolean {
  if (value.length !== META_KEY.length && value.length !== META_ENCODED.length) return false;
  const key = toLatin1(value);
  return key === META_KEY || key === META_ENCODED;
}

export function regionInfoOf({ state, region }: ServedRegion): RegionInfoMessage {
  return {
    regionId: regionIdOf(region),
    tableName: tableNameMessage(state.name),
    startKey: region.startKey,
    endKey: region.endKey,
    offline: false,
    split: false,
    replicaId: 0,
  };
}

export const META_INFO: RegionInfoMessage = {
  regionId: 1,
  tableName: tableNameMessage(META_TABLE),
  startKey: new Uint8Array(0),
  endKey: new Uint8Array(0),
  offline: false,
  split: false,
  replicaId: 0,
};
