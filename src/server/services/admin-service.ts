/** `AdminService`: what clients ask the server of a region about it. */

import { tableNameText } from '../../hbase/admin/table-codec.js';
import {
  CompactRegionRequest,
  FlushRegionRequest,
  GetRegionInfoRequest,
  GetRegionInfoResponse,
  GetRegionLoadRequest,
  GetRegionLoadResponse,
  type RegionLoad,
} from '../../hbase/wire/messages-admin.js';
import { LogEntry, SlowLogResponses } from '../../hbase/wire/messages-operations.js';
import { Empty, encodeMessage, type TypeOf } from '../../hbase/wire/schema.js';
import {
  isMeta,
  META_INFO,
  META_REGION,
  notServing,
  regionInfoOf,
  type ServedRegion,
} from '../regions/served-regions.js';
import type { Service } from '../rpc/request.js';
import type { Specifier } from '../wire/read-calls.js';
import { Flags, FlushRegionResponse, GetOnlineRegionResponse, GetServerInfoResponse } from './messages.js';
import { checkWritable, type ServerParts } from './parts.js';
import { constant, method, nothing } from './registry-service.js';

type LoadMessage = TypeOf<typeof RegionLoad>;

const MEBIBYTE = 1 << 20;
const FULL_NAME = 1;

/** Rounds up like HBase: anything above zero is at least one. */
function mebibytes(bytes: number): number {
  return bytes > 0 && bytes < MEBIBYTE ? 1 : Math.floor(bytes / MEBIBYTE);
}

/** The size of a region on disk and in memory. */
export function regionLoadOf({ region, name }: ServedRegion): LoadMessage {
  return {
    region: { type: FULL_NAME, value: name },
    stores: region.stores.length,
    storeFiles: region.stores.reduce((sum, store) => sum + store.version.files.length, 0),
    storeFileSizeMB: mebibytes(region.fileBytes),
    memstoreSizeMB: mebibytes(region.memstoreBytes),
    readRequests: region.readRequests,
    writeRequests: region.writeRequests,
  };
}

/** The load of meta, which has no stored data. */
const META_LOAD: LoadMessage = { region: { type: FULL_NAME, value: META_REGION }, stores: 1 };

/** The slow log is off, as HBase's is by default. */
const NO_LOG_ENTRIES: TypeOf<typeof LogEntry> = {
  logClassName: 'org.apache.hadoop.hbase.shaded.protobuf.generated.AdminProtos$SlowLogResponses',
  logMessage: encodeMessage(SlowLogResponses, {}),
};

/** The regions of all tables, or of one. */
export function* openRegions({ store, regions }: ServerParts, table?: string): Generator<ServedRegion> {
  for (const name of table === undefined ? store.tableNames() : [table]) {
    const state = store.table(name);
    if (state?.enabled === true) yield* regions.of(state);
  }
}

function familyName(bytes: Uint8Array | undefined): string | undefined {
  return bytes === undefined || bytes.length === 0 ? undefined : Buffer.from(bytes).toString('utf8');
}

/** The compactions that clients asked for and that still run, by region: clients poll for their end. */
class RunningCompactions {
  private readonly running: { readonly region: object; readonly isMajor: boolean }[] = [];

  /** Registers a compaction until it ends. Its failure is reported by the event listener of the store. */
  add(region: object, isMajor: boolean, done: Promise<unknown>): void {
    const entry = { region, isMajor };
    this.running.push(entry);
    const end = (): void => void this.running.splice(this.running.indexOf(entry), 1);
    done.then(end, end);
  }

  /** `GetRegionInfoResponse.CompactionState`: 0 none, 1 minor, 2 major, 3 both. */
  stateOf(region: object): number {
    let state = 0;
    for (const entry of this.running) if (entry.region === region) state |= entry.isMajor ? 2 : 1;
    return state;
  }
}

export function adminService(parts: ServerParts): Service {
  const { store, server } = parts;
  const compactions = new RunningCompactions();
  const known = (specifier: Specifier): ServedRegion => {
    const served = parts.regions.find(specifier);
    if (served === undefined) throw notServing(specifier.value);
    return served;
  };
  return {
    getregioninfo: method(GetRegionInfoRequest, GetRegionInfoResponse, ({ region, bestSplitRow }) => {
      if (isMeta(region)) return { regionInfo: META_INFO, compactionState: 0, splittable: false };
      const served = known(region);
      const middle = bestSplitRow === true ? store.middleOf(served.region) : undefined;
      return {
        regionInfo: regionInfoOf(served),
        compactionState: compactions.stateOf(served.region),
        splittable: true,
        ...(middle === undefined ? {} : { bestSplitRow: middle }),
      };
    }),
    getonlineregion: method(Empty, GetOnlineRegionResponse, () => ({
      regionInfo: [META_INFO, ...Array.from(openRegions(parts), regionInfoOf)],
    })),
    getregionload: method(GetRegionLoadRequest, GetRegionLoadResponse, ({ tableName }) => {
      const table = tableName === undefined ? undefined : tableNameText(tableName);
      const loads = Array.from(openRegions(parts, table), regionLoadOf);
      return { regionLoads: table === undefined ? [META_LOAD, ...loads] : loads };
    }),
    getlogentries: constant(LogEntry, NO_LOG_ENTRIES),
    getserverinfo: constant(GetServerInfoResponse, { serverInfo: { serverName: server } }),
    flushregion: method(FlushRegionRequest, FlushRegionResponse, async ({ region, family }) => {
      checkWritable(parts);
      if (isMeta(region)) return { lastFlushTime: store.now(), flushed: false };
      const served = parts.regions.open(region);
      await store.flush(served.state, served.region, familyName(family));
      return { lastFlushTime: store.now(), flushed: true };
    }),
    compactregion: method(CompactRegionRequest, Empty, ({ region, major, family }) => {
      checkWritable(parts);
      if (isMeta(region)) return {};
      const served = parts.regions.open(region);
      const isMajor = major ?? false;
      // As in HBase the answer does not wait for the end.
      const done = store.compact(served.state, served.region, { family: familyName(family), isMajor });
      compactions.add(served.region, isMajor, done);
      return {};
    }),
    compactionswitch: constant(Flags, { values: [true] }),
    clearcompactionqueues: nothing,
    clearregionblockcache: nothing,
    updateconfiguration: nothing,
  };
}
