import { InvalidArgumentError } from '../../errors.js';
import { checkPositiveInteger, describe } from '../../table/checks.js';
import { canonicalTableName } from '../../table/descriptor.js';
import { type SlowLogPayload, SlowLogRequest, SlowLogResponses } from '../wire/messages-operations.js';
import type { NameBytesPair } from '../wire/messages-rpc.js';
import { decodeMessage, encodeMessage, type TypeOf } from '../wire/schema.js';
import type { ClusterAdmin, ServerInfo } from './cluster-admin.js';
import { type MasterClient, regionServer } from './master-client.js';

/** A filter of slow log entries: all given conditions must hold. */
export interface SlowLogQuery {
  /** `'slow'` (default): requests that took long; `'large'`: those with a large answer. */
  readonly kind?: 'slow' | 'large';
  /** "host:port" of one region server; default: all live ones. */
  readonly server?: string;
  readonly table?: string;
  /** The name of a region, as in `getRegions`. */
  readonly region?: string;
  readonly user?: string;
  /** "host:port" of the client, or its host. */
  readonly client?: string;
  /** The most entries of each server, the newest first; default 100. */
  readonly limit?: number;
}

/** An entry of the slow log. Times are milliseconds, sizes bytes. */
export interface SlowLogEntry {
  /** "host:port" of the region server. */
  readonly server: string;
  /** Milliseconds since 1970, by the server's clock. */
  readonly startTime: number;
  readonly processingTime: number;
  readonly queueTime: number;
  readonly responseSize: number;
  readonly client: string;
  readonly user: string;
  /** The RPC method: `Get`, `Multi`, `Scan`, … */
  readonly method: string;
  /** HBase's description of the request. */
  readonly call: string;
  readonly param: string;
  readonly region: string;
  readonly gets: number;
  readonly mutations: number;
  readonly blockBytesScanned: number;
  /** The attributes of the connection (`connectionAttributes`) and the request (`attributes`); empty before 2.6. */
  readonly connectionAttributes: Readonly<Record<string, string>>;
  readonly requestAttributes: Readonly<Record<string, string>>;
}

const REQUEST_CLASS = 'org.apache.hadoop.hbase.shaded.protobuf.generated.AdminProtos$SlowLogResponseRequest';
const DEFAULT_LIMIT = 100;
const KINDS = { slow: 0, large: 1 } as const;
const ALL_OF_THEM = 0;

/** The slow log of region servers: requests above `hbase.ipc.warn.response.time` or `hbase.ipc.warn.response.size`. */
export class SlowLogAdmin {
  constructor(
    private readonly masters: MasterClient,
    private readonly cluster: ClusterAdmin,
  ) {}

  /** Entries of all servers, newest first; empty where `hbase.regionserver.slowlog.buffer.enabled` is off. */
  async list(query: SlowLogQuery = {}): Promise<SlowLogEntry[]> {
    const logMessage = encodeMessage(SlowLogRequest, requestOf(query));
    const deadline = this.masters.deadline();
    const found = await Promise.all(
      (await this.servers(query.server)).map(async (server) => {
        const request = { logClassName: REQUEST_CLASS, logMessage };
        const answer = await this.masters.callServer(server, regionServer.getLogEntries, request, deadline);
        const { payloads = [] } = decodeMessage(SlowLogResponses, answer.logMessage);
        return payloads.map((payload) => entryOf(`${server.host}:${server.port}`, payload));
      }),
    );
    return found.flat().sort((a, b) => b.startTime - a.startTime);
  }

  /** Clears the entries of both kinds on one server, or on all. */
  async clear(server?: string): Promise<void> {
    const deadline = this.masters.deadline();
    const servers = await this.servers(server);
    await Promise.all(
      servers.map((each) => this.masters.callServer(each, regionServer.clearSlowLogs, {}, deadline)),
    );
  }

  private async servers(server: string | undefined): Promise<ServerInfo[]> {
    return server === undefined ? this.cluster.servers() : [await this.cluster.server(server)];
  }
}

function requestOf(query: SlowLogQuery): TypeOf<typeof SlowLogRequest> {
  const { kind = 'slow', table, region, user, client, limit = DEFAULT_LIMIT } = query;
  const logType = KINDS[kind];
  if (logType === undefined)
    throw new InvalidArgumentError(`kind is 'slow' or 'large', not ${describe(kind)}.`);
  return {
    tableName: table === undefined ? undefined : canonicalTableName(table),
    regionName: region,
    userName: user,
    clientAddress: client,
    limit: checkPositiveInteger(limit, 'The limit of the slow log'),
    filterByOperator: ALL_OF_THEM,
    logType,
  };
}

function entryOf(server: string, payload: TypeOf<typeof SlowLogPayload>): SlowLogEntry {
  return {
    server,
    startTime: payload.startTime,
    processingTime: payload.processingTime,
    queueTime: payload.queueTime,
    responseSize: payload.responseSize,
    client: payload.clientAddress,
    user: payload.userName,
    method: payload.methodName,
    call: payload.callDetails,
    param: payload.param ?? '',
    region: payload.regionName ?? '',
    gets: payload.multiGets ?? 0,
    mutations: payload.multiMutations ?? 0,
    blockBytesScanned: payload.blockBytesScanned ?? 0,
    connectionAttributes: recordOf(payload.connectionAttribute),
    requestAttributes: recordOf(payload.requestAttribute),
  };
}

function recordOf(pairs: readonly TypeOf<typeof NameBytesPair>[] = []): Record<string, string> {
  return Object.fromEntries(
    pairs.map(({ name, value }) => [name, Buffer.from(value ?? []).toString('utf8')]),
  );
}
