import { EMPTY_BYTES } from '../../bytes/index.js';
import { InvalidArgumentError, RowanError } from '../../errors.js';
import { describe } from '../../table/checks.js';
import { parseAddress } from '../options.js';
import * as messages from '../wire/messages-operations.js';
import type { ServerName } from '../wire/messages-rpc.js';
import { CoprocessorServiceRequest, CoprocessorServiceResponse } from '../wire/messages-security.js';
import { decodeMessage, Empty, encodeMessage, type MessageCodec } from '../wire/schema.js';
import type { MasterClient } from './master-client.js';
import { configurationOf, pairsOf, tableNameMessage, tableNameText } from './table-codec.js';

/** A group of region servers (RSGroup) with the tables that it serves. */
export interface RegionServerGroup {
  readonly name: string;
  /** "host:port" of its servers, sorted. */
  readonly servers: readonly string[];
  /** Its tables, sorted. Tables without a group are in the group `default`. */
  readonly tables: readonly string[];
  readonly configuration: Readonly<Record<string, string>>;
}

/** Servers and tables to move into a group. */
export interface GroupMembers {
  /** "host:port" of region servers. */
  readonly servers?: readonly string[];
  readonly tables?: readonly string[];
}

const SERVICE = 'RSGroupAdminService';
const REGION_SERVER_PORT = 16020;
const FULL_NAME = 1;

const exec = {
  method: 'ExecMasterService',
  request: CoprocessorServiceRequest,
  response: CoprocessorServiceResponse,
};

/**
 * Groups of region servers (`RSGroupAdmin`): the regions of a group's tables are on its servers only.
 *
 * @throws RowanError `ERR_UNSUPPORTED` on a cluster without `RSGroupAdminEndpoint`; RemoteError, not retryable, for refusals of the
 * master: an existing, missing or non-empty group, or the last server of a group with tables.
 */
export class GroupAdmin {
  constructor(private readonly masters: MasterClient) {}

  async add(name: string): Promise<void> {
    await this.call('AddRSGroup', messages.GroupNameRequest, { name: checkName(name) }, Empty);
  }

  /** Removes an empty group. */
  async remove(name: string): Promise<void> {
    await this.call('RemoveRSGroup', messages.GroupNameRequest, { name: checkName(name) }, Empty);
  }

  async rename(name: string, newName: string): Promise<void> {
    const request = { from: checkName(name), to: checkName(newName) };
    await this.call('RenameRSGroup', messages.RenameGroupRequest, request, Empty);
  }

  /** All groups, sorted by name. */
  async list(): Promise<RegionServerGroup[]> {
    const { groups = [] } = await this.call('ListRSGroupInfos', Empty, {}, messages.ListGroupsResponse);
    return groups.map(groupOf).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** The group of that name; undefined when there is none. */
  async get(name: string): Promise<RegionServerGroup | undefined> {
    const request = { name: checkName(name) };
    return optional(
      await this.call('GetRSGroupInfo', messages.GroupNameRequest, request, messages.GroupInfoResponse),
    );
  }

  /** The group of a table; undefined when there is no such table. */
  async ofTable(table: string): Promise<RegionServerGroup | undefined> {
    const request = { tableName: tableNameMessage(table) };
    const codec = messages.GroupOfTableRequest;
    return optional(await this.call('GetRSGroupInfoOfTable', codec, request, messages.GroupInfoResponse));
  }

  /** The group of a server, "host:port"; undefined when it is in none. */
  async ofServer(server: string): Promise<RegionServerGroup | undefined> {
    const request = { server: serverMessage(server) };
    const codec = messages.GroupOfServerRequest;
    return optional(await this.call('GetRSGroupInfoOfServer', codec, request, messages.GroupInfoResponse));
  }

  /**
   * Moves servers, tables or both into a group. Regions of other groups' tables move away from the servers, and regions of the tables
   * move to the group's servers. Resolves when the servers hold no foreign regions.
   */
  async move(name: string, members: GroupMembers): Promise<void> {
    const group = checkName(name);
    const servers = listOf('servers', members?.servers).map(serverMessage);
    const tables = listOf('tables', members?.tables).map(tableNameMessage);
    if (servers.length + tables.length === 0) {
      throw new InvalidArgumentError(
        'move takes what is to be in the group: { servers?: ["host:port"], tables?: ["t"] }.',
      );
    }
    if (tables.length === 0) {
      await this.call('MoveServers', messages.MoveServersRequest, { group, servers }, Empty);
    } else if (servers.length === 0) {
      await this.call('MoveTables', messages.MoveTablesRequest, { group, tables }, Empty);
    } else {
      const request = { group, servers, tables };
      await this.call('MoveServersAndTables', messages.MoveServersAndTablesRequest, request, Empty);
    }
  }

  /** Removes dead servers from their groups. */
  async removeServers(servers: readonly string[]): Promise<void> {
    const request = { servers: listOf('removeServers', servers).map(serverMessage) };
    await this.call('RemoveServers', messages.RemoveServersRequest, request, Empty);
  }

  /** Replaces a group's configuration (HBase 2.5). */
  async configure(name: string, configuration: Readonly<Record<string, string>>): Promise<void> {
    const request = { name: checkName(name), configuration: pairsOf(configuration) };
    await this.call('UpdateRSGroupConfig', messages.ConfigureGroupRequest, request, Empty);
  }

  /** Runs the balancer on one group. @returns whether it ran, and its moves. */
  async balance(name: string): Promise<{ readonly ran: boolean; readonly moves: number }> {
    const { balanceRan, movesExecuted = 0 } = await this.call(
      'BalanceRSGroup',
      messages.BalanceGroupRequest,
      { name: checkName(name) },
      messages.BalanceGroupResponse,
    );
    return { ran: balanceRan, moves: movesExecuted };
  }

  private async call<Q, A>(
    methodName: string,
    codec: MessageCodec<Q>,
    request: Q,
    answer: MessageCodec<A>,
  ): Promise<A> {
    const call = {
      row: EMPTY_BYTES,
      serviceName: SERVICE,
      methodName,
      request: encodeMessage(codec, request),
    };
    try {
      const region = { type: FULL_NAME, value: EMPTY_BYTES };
      const { value } = await this.masters.callLong(exec, { region, call });
      return decodeMessage(answer, value.value ?? EMPTY_BYTES);
    } catch (error) {
      if ((error as RowanError).details?.['exceptionClass'] !== UNKNOWN_SERVICE) throw error;
      throw new RowanError(
        'ERR_UNSUPPORTED',
        'The cluster has no region server groups. Configure RSGroupAdminEndpoint and RSGroupBasedLoadBalancer on its masters.',
        { cause: error },
      );
    }
  }
}

/** The error message of a master without the endpoint. */
const UNKNOWN_SERVICE = 'org.apache.hadoop.hbase.exceptions.UnknownProtocolException';

function groupOf({
  name,
  servers = [],
  tables = [],
  configuration = [],
}: messages.GroupInfo): RegionServerGroup {
  return {
    name,
    servers: servers.map(({ hostName, port = 0 }) => `${hostName}:${port}`).sort(),
    tables: tables.map(tableNameText).sort(),
    configuration: configurationOf(configuration),
  };
}

function optional({
  group,
}: {
  readonly group?: messages.GroupInfo | undefined;
}): RegionServerGroup | undefined {
  return group === undefined ? undefined : groupOf(group);
}

function checkName(name: string): string {
  if (typeof name === 'string' && /^\w+$/.test(name)) return name;
  throw new InvalidArgumentError(`A group is named by letters, digits and "_", not ${describe(name)}.`);
}

function listOf(name: string, list: readonly string[] | undefined): readonly string[] {
  if (list === undefined) return [];
  if (Array.isArray(list) && list.every((item) => typeof item === 'string')) return list;
  throw new InvalidArgumentError(`${name} takes a list of names, not ${describe(list)}.`);
}

/** A group's servers have no start time in HBase. */
function serverMessage(server: string): ServerName {
  const { host, port } = parseAddress(server, REGION_SERVER_PORT);
  return { hostName: host, port };
}
