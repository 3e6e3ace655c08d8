import { fromStringBinary } from '../../bytes/index.js';
import { InvalidArgumentError, RowanError } from '../../errors.js';
import { describe } from '../../table/checks.js';
import type { Cluster } from '../client/cluster.js';
import { encodedNameOf } from '../region/region.js';
import type { MasterClient } from './master-client.js';
import type { RegionAdmin } from './region-admin.js';
import { master } from './rpcs.js';

/** A region server that is up. */
export interface ServerInfo {
  readonly host: string;
  readonly port: number;
  /** When it was started, in milliseconds since 1970; part of its name. */
  readonly startCode: number;
  readonly regions: number;
}

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
    await this.masters.call(master.assignRegion, { region: specifierOf(region) });
  }

  async unassignRegion(region: string): Promise<void> {
    await this.masters.call(master.unassignRegion, { region: specifierOf(region) });
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
    const live = await this.servers();
    const found = live.find(({ host, port }) => `${host}:${port}` === server);
    if (found === undefined) {
      const names = live.map(({ host, port }) => `${host}:${port}`).join(', ');
      throw new RowanError(
        'ERR_NOT_FOUND',
        `No live region server is named "${server}". There are: ${names}.`,
      );
    }
    return { hostName: found.host, port: found.port, startCode: found.startCode };
  }
}

/** @throws InvalidArgumentError for what is no region's name: HBase would take some of it for another region's. */
function specifierOf(region: string): { type: number; value: Uint8Array } {
  const encoded = typeof region === 'string' ? encodedNameOf(fromStringBinary(region)) : undefined;
  if (encoded === undefined) {
    throw new InvalidArgumentError(
      `${describe(region)} is no name of a region. Give it as getRegions has it: "table,startKey,id.<32 hex digits>."`,
    );
  }
  return { type: ENCODED_NAME, value: Buffer.from(encoded, 'latin1') };
}

function tableOf(region: string): string {
  return region.slice(0, region.indexOf(','));
}

/** @throws InvalidArgumentError unless they are at least two, each once, of one table. */
function checkMerge(regions: readonly string[]): string {
  const table = tableOf(regions[0] ?? '');
  const isSound = regions.length > 1 && new Set(regions).size === regions.length;
  if (isSound && regions.every((region) => tableOf(region) === table)) return table;
  throw new InvalidArgumentError(
    'mergeRegions takes two or more neighbouring regions of one table, each once.',
  );
}
