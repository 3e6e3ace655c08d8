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

/** Region servers that are there for some tables only. */
export interface RegionServerGroup {
  readonly name: string;
  /** "host:port", in their order. */
  readonly servers: readonly string[];
  /** Its tables, in their order. Tables that are in no other are in the group `default`. */
  readonly tables: readonly string[];
  readonly configuration: Readonly<Record<string, string>>;
}

/** What moves into a group. */
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
 * Groups of region servers (`RSGroupAdmin`): the regions of a group's tables are on its servers and on no others.
 *
 * @throws RowanError `ERR_UNSUPPORTED` on a cluster without `RSGroupAdminEndpoint`; RemoteError, not retryable, for what the
 * master refuses: a group that is there or is not, a group that is not empty, the last server of a group with tables.
 */
export class GroupAdmin {
  constructor(private readonly masters: MasterClient) {}

  async add(name: string): Promise<void> {
    await this.call('AddRSGroup', messages.GroupNameRequest, { name: checkName(name) }, Empty);
  }

  /** Removes a group that has neither servers nor tables. */
  async remove(name: string): Promise<void> {
    await this.call('RemoveRSGroup', messages.GroupNameRequest, { name: checkName(name) }, Empty);
  }

  async rename(name: string, newName: string): Promise<void> {
    const request = { from: checkName(name), to: checkName(newName) };
    await this.call('RenameRSGroup', messages.RenameGroupRequest, request, Empty);
  }

  /** Every group, in the order of their names. */
  async list(): Promise<RegionServerGroup[]> {
    const { groups = [] } = await this.call('ListRSGroupInfos', Empty, {}, messages.ListGroupsResponse);
    return groups.map(groupOf).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** A group; undefined when there is none of that name. */
  async get(name: string): Promise<RegionServerGroup | undefined> {
    const request = { name: checkName(name) };
    return optional(
      await this.call('GetRSGroupInfo', messages.GroupNameRequest, request, messages.GroupInfoResponse),
    );
  }

  /** The group that a table is in; undefined when there is no such table. */
  async ofTable(table: string): Promise<RegionServerGroup | undefined> {
    const request = { tableName: tableNameMessage(table) };
    const codec = messages.GroupOfTableRequest;
    return optional(await this.call('GetRSGroupInfoOfTable', codec, request, messages.GroupInfoResponse));
  }

  /** The group that a server, "host:port", is in; undefined when it is in none. */
  async ofServer(server: string): Promise<RegionServerGroup | undefined> {
    const request = { server: serverMessage(server) };
    const codec = messages.GroupOfServerRequest;
    return optional(await this.call('GetRSGroupInfoOfServer', codec, request, messages.GroupInfoResponse));
  }

  /**
   * Moves servers, tables or both into a group: servers leave the regions of other groups' tables behind, and the regions of
   * tables go to the group's servers. Returns when those of the servers have gone.
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

  /** Forgets servers that are dead and will not come back. */
  async removeServers(servers: readonly string[]): Promise<void> {
    const request = { servers: listOf('removeServers', servers).map(serverMessage) };
    await this.call('RemoveServers', messages.RemoveServersRequest, request, Empty);
  }

  /** Gives a group another configuration, as a whole (HBase 2.5). */
  async configure(name: string, configuration: Readonly<Record<string, string>>): Promise<void> {
    const request = { name: checkName(name), configuration: pairsOf(configuration) };
    await this.call('UpdateRSGroupConfig', messages.ConfigureGroupRequest, request, Empty);
  }

  /** Has the balancer look at the servers of one group now; answers whether it ran, and the moves it made. */
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
        'The cluster has no groups of region servers. Give its master the coprocessor RSGroupAdminEndpoint, and RSGroupBasedLoadBalancer.',
        { cause: error },
      );
    }
  }
}

/** What a master says that has no such endpoint. */
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

/** HBase knows a group's servers without the time of their start. */
function serverMessage(server: string): ServerName {
  const { host, port } = parseAddress(server, REGION_SERVER_PORT);
  return { hostName: host, port };
}
