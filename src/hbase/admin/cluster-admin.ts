import { EMPTY_BYTES, fromStringBinary } from '../../bytes/index.js';
import { InvalidArgumentError, RowanError } from '../../errors.js';
import { describe } from '../../table/checks.js';
import type { Cluster } from '../client/cluster.js';
import { encodedNameOf } from '../region/region.js';
import type { LiveServerInfo } from '../wire/messages-admin.js';
import type { ServerName } from '../wire/messages-rpc.js';
import type { TypeOf } from '../wire/schema.js';
import { type MasterClient, master } from './master-client.js';
import type { RegionAdmin } from './region-admin.js';
import { tableNameText } from './table-codec.js';

/** A live region server. */
export interface ServerInfo {
  readonly host: string;
  readonly port: number;
  /** Its start time, milliseconds since 1970; part of its name. */
  readonly startCode: number;
  readonly regions: number;
}

/** The state of a cluster. */
export interface ClusterStatus {
  readonly version: string;
  readonly clusterId: string;
  /** "host:port" of the active master; empty: there is none. */
  readonly master: string;
  readonly backupMasters: readonly string[];
  readonly servers: readonly ServerStatus[];
  readonly deadServers: readonly string[];
  /** Regions in transition, with the time since their transition began, milliseconds. */
  readonly regionsInTransition: readonly {
    readonly table: string;
    readonly startKey: Uint8Array;
    readonly for: number;
  }[];
  readonly balancerOn: boolean;
}

export interface ServerStatus extends ServerInfo {
  readonly requestsPerSecond: number;
  readonly totalRequests: number;
  /** Bytes, rounded to MiB. */
  readonly usedHeap: number;
  readonly maxHeap: number;
  readonly storeFiles: number;
  readonly storeFileSize: number;
  readonly memstoreSize: number;
}

const MEBIBYTE = 1 << 20;
const FULL_NAME = 1;
const ENCODED_NAME = 2;
const LIVE_SERVERS = 2;

/** Moves, merges, the balancer, the list of servers. */
export class ClusterAdmin {
  constructor(
    private readonly masters: MasterClient,
    private readonly regions: RegionAdmin,
    private readonly cluster: Cluster,
  ) {}

  async servers(): Promise<ServerInfo[]> {
    const { clusterStatus } = await this.masters.call(master.getClusterStatus, { options: [LIVE_SERVERS] });
    return (clusterStatus.liveServers ?? []).map(({ server, serverLoad }) => ({
      host: server.hostName,
      port: server.port ?? 0,
      startCode: server.startCode ?? 0,
      regions: serverLoad.regionLoads?.length ?? 0,
    }));
  }

  async status(): Promise<ClusterStatus> {
    const { clusterStatus: status } = await this.masters.call(master.getClusterStatus, {});
    const now = Date.now();
    return {
      version: status.hbaseVersion?.version ?? '',
      clusterId: (await this.cluster.registry.identity(this.cluster.settings.rpcTimeout)).id,
      master: status.master === undefined ? '' : addressText(status.master),
      backupMasters: (status.backupMasters ?? []).map(addressText),
      servers: (status.liveServers ?? []).map(serverStatusOf),
      deadServers: (status.deadServers ?? []).map(addressText),
      regionsInTransition: (status.regionsInTransition ?? []).map(
        ({ regionState: { regionInfo, stamp } }) => ({
          table: tableNameText(regionInfo.tableName),
          startKey: regionInfo.startKey ?? EMPTY_BYTES,
          for: Math.max(0, now - (stamp ?? now)),
        }),
      ),
      balancerOn: status.balancerOn ?? false,
    };
  }

  async moveRegion(region: string, server: string | undefined): Promise<void> {
    const destination = server === undefined ? undefined : await this.serverName(server);
    await this.masters.call(master.moveRegion, { region: specifierOf(region), destination });
  }

  async mergeRegions(regions: readonly string[], forcible: boolean): Promise<void> {
    const deadline = this.masters.deadline();
    const specifiers = regions.map(specifierOf);
    const table = checkMerge(regions);
    const request = { regions: specifiers, forcible, ...this.regions.nonces() };
    const { procId } = await this.masters.call(master.mergeTableRegions, request);
    await this.masters.awaitProcedure(procId, 'The merge of regions', deadline);
    this.cluster.locator.cache.removeTable(table);
  }

  async assignRegion(region: string): Promise<void> {
    await this.masters.call(master.assignRegion, { region: fullSpecifierOf(region) });
  }

  async unassignRegion(region: string): Promise<void> {
    await this.masters.call(master.unassignRegion, { region: fullSpecifierOf(region) });
  }

  async isBalancerEnabled(): Promise<boolean> {
    const { enabled } = await this.masters.call(master.isBalancerEnabled, {});
    return enabled;
  }

  async setBalancerRunning(on: boolean): Promise<boolean> {
    const { previous } = await this.masters.call(master.setBalancerRunning, { on, synchronous: true });
    return previous ?? false;
  }

  private async serverName(server: string): Promise<{ hostName: string; port: number; startCode: number }> {
    const { host, port, startCode } = await this.server(server);
    return { hostName: host, port, startCode };
  }

  /** @throws RowanError `ERR_NOT_FOUND` when there is no live server of that name. */
  async server(server: string): Promise<ServerInfo> {
    const live = await this.servers();
    const found = live.find(({ host, port }) => `${host}:${port}` === server);
    if (found === undefined) {
      const names = live.map(({ host, port }) => `${host}:${port}`).join(', ');
      throw new RowanError(
        'ERR_NOT_FOUND',
        `There is no live region server "${server}". Live servers: ${names}.`,
      );
    }
    return found;
  }
}

function addressText({ hostName, port = 0 }: ServerName): string {
  return `${hostName}:${port}`;
}

function serverStatusOf({ server, serverLoad }: TypeOf<typeof LiveServerInfo>): ServerStatus {
  const loads = serverLoad.regionLoads ?? [];
  const sum = (of: (load: (typeof loads)[number]) => number | undefined): number =>
    loads.reduce((total, load) => total + (of(load) ?? 0), 0);
  return {
    host: server.hostName,
    port: server.port ?? 0,
    startCode: server.startCode ?? 0,
    regions: loads.length,
    requestsPerSecond: serverLoad.requestsPerSecond ?? 0,
    totalRequests: serverLoad.totalRequests ?? 0,
    usedHeap: (serverLoad.usedHeapMB ?? 0) * MEBIBYTE,
    maxHeap: (serverLoad.maxHeapMB ?? 0) * MEBIBYTE,
    storeFiles: sum(({ storeFiles }) => storeFiles),
    storeFileSize: sum(({ storeFileSizeMB }) => storeFileSizeMB) * MEBIBYTE,
    memstoreSize: sum(({ memstoreSizeMB }) => memstoreSizeMB) * MEBIBYTE,
  };
}

/** @throws InvalidArgumentError for an invalid region name: HBase would mistake some for other regions. */
function specifierOf(region: string): { type: number; value: Uint8Array } {
  const encoded = typeof region === 'string' ? encodedNameOf(fromStringBinary(region)) : undefined;
  if (encoded === undefined) {
    throw new InvalidArgumentError(
      `${describe(region)} is no name of a region. Give it as getRegions has it: "table,startKey,id.<32 hex digits>."`,
    );
  }
  return { type: ENCODED_NAME, value: Buffer.from(encoded, 'latin1') };
}

/** For assign and unassign the full region name is needed: the master does not accept the encoded one. */
function fullSpecifierOf(region: string): { type: number; value: Uint8Array } {
  specifierOf(region);
  return { type: FULL_NAME, value: fromStringBinary(region) };
}

function tableOf(region: string): string {
  return region.slice(0, region.indexOf(','));
}

/** @throws InvalidArgumentError unless they are at least two different regions of one table. */
function checkMerge(regions: readonly string[]): string {
  const table = tableOf(regions[0] ?? '');
  const isSound = regions.length > 1 && new Set(regions).size === regions.length;
  if (isSound && regions.every((region) => tableOf(region) === table)) return table;
  throw new InvalidArgumentError(
    'mergeRegions takes two or more neighboring regions of one table, each once.',
  );
}
