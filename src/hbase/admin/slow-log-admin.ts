import { InvalidArgumentError } from '../../errors.js';
import { checkPositiveInteger, describe } from '../../table/checks.js';
import { canonicalTableName } from '../../table/descriptor.js';
import { type SlowLogPayload, SlowLogRequest, SlowLogResponses } from '../wire/messages-operations.js';
import type { NameBytesPair } from '../wire/messages-rpc.js';
import { decodeMessage, encodeMessage, type TypeOf } from '../wire/schema.js';
import type { ClusterAdmin, ServerInfo } from './cluster-admin.js';
import { type MasterClient, regionServer } from './master-client.js';

/** Which entries of the slow log are wanted: those that meet all that is said. */
export interface SlowLogQuery {
  /** `'slow'` (default): those that took long; `'large'`: those whose answer was large. */
  readonly kind?: 'slow' | 'large';
  /** "host:port" of one region server; default: all that are up. */
  readonly server?: string;
  readonly table?: string;
  /** The name of a region as `getRegions` has it. */
  readonly region?: string;
  readonly user?: string;
  /** "host:port" of the client, or its host. */
  readonly client?: string;
  /** Of each server, the newest; default 100. */
  readonly limit?: number;
}

/** A request that took long, or was large, as its server remembers it. Times are milliseconds, sizes bytes. */
export interface SlowLogEntry {
  /** "host:port" of the region server. */
  readonly server: string;
  /** Since 1970, by the server's clock. */
  readonly startTime: number;
  readonly processingTime: number;
  readonly queueTime: number;
  readonly responseSize: number;
  readonly client: string;
  readonly user: string;
  /** The rpc: `Get`, `Multi`, `Scan`, … */
  readonly method: string;
  /** What was asked, in HBase's words. */
  readonly call: string;
  readonly param: string;
  readonly region: string;
  readonly gets: number;
  readonly mutations: number;
  readonly blockBytesScanned: number;
  /** What the client said of its connection (`connectionAttributes`) and of the request (`attributes`); empty before 2.6. */
  readonly connectionAttributes: Readonly<Record<string, string>>;
  readonly requestAttributes: Readonly<Record<string, string>>;
}

const REQUEST_CLASS = 'org.apache.hadoop.hbase.shaded.protobuf.generated.AdminProtos$SlowLogResponseRequest';
const DEFAULT_LIMIT = 100;
const KINDS = { slow: 0, large: 1 } as const;
const ALL_OF_THEM = 0;

/** What region servers remember of requests that took longer than `hbase.ipc.warn.response.time`, or were larger than `hbase.ipc.warn.response.size`. */
export class SlowLogAdmin {
  constructor(
    private readonly masters: MasterClient,
    private readonly cluster: ClusterAdmin,
  ) {}

  /** The entries of all servers, the newest first; none where `hbase.regionserver.slowlog.buffer.enabled` is off. */
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

  /** Has a server, or all of them, forget the entries of both kinds. */
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
