import { UnaryCall } from '../rpc/call.js';
import type { ConnectionPool } from '../rpc/connection-pool.js';
import { addressKey, type ResolveAddress, type ServerAddress } from '../rpc/connection-settings.js';
import { ConnectionError, ProtocolError } from '../rpc/errors.js';
import { firstAnswer, type NoAnswerError } from '../rpc/first-answer.js';
import {
  GetActiveMasterResponse,
  GetBootstrapNodesResponse,
  GetClusterIdResponse,
  GetMetaRegionLocationsResponse,
  MasterNode,
  MetaRegionServerNode,
  type ServerName,
} from '../wire/messages-rpc.js';
import { decodeMessage, Empty, type MessageCodec, type TypeOf } from '../wire/schema.js';
import { readZNodes, type ZooKeeperSettings } from './zookeeper.js';

/** A replica of meta's region. */
interface MetaLocation {
  readonly replicaId: number;
  readonly address: ServerAddress;
  readonly startCode: number;
  readonly seqNum: number;
}

/** A cluster's id, and what it offers beyond HBase. */
export interface ClusterIdentity {
  readonly id: string;
  /** Whether it is `rowan serve`, which has transactions. */
  readonly hasTransactions: boolean;
}

/** Locates a cluster's masters and meta. Calls fail with a retryable error when no node answers. */
export interface Registry {
  identity(timeout: number): Promise<ClusterIdentity>;
  activeMaster(timeout: number): Promise<ServerAddress>;
  /** At least the primary's. */
  metaLocations(timeout: number): Promise<MetaLocation[]>;
}

/** Milliseconds after which the discovered nodes are looked up again; a failure does it earlier. */
const REFRESH_INTERVAL = 300_000;
const REFRESH_AFTER_FAILURE = 60_000;
/** Nodes asked at once; the first answer counts (`hbase.client.bootstrap.hedged.fanout`). */
const FANOUT = 2;
/** Milliseconds without an answer after which another node is asked too. */
const LONGEST_STAGGER = 500;
/** HBase writes a replica's number with four hex digits. */
const MAX_REPLICAS = 0xffff;

/** The registry served by masters and region servers (`RpcConnectionRegistry`, HBase 2.5 and later). */
export class RpcRegistry implements Registry {
  private found: ServerAddress[] = [];
  private refreshedAt = Number.NEGATIVE_INFINITY;
  private refreshing = false;

  constructor(
    private readonly nodes: readonly ServerAddress[],
    private readonly pool: ConnectionPool,
  ) {}

  async identity(timeout: number): Promise<ClusterIdentity> {
    return this.ask('GetClusterId', GetClusterIdResponse, timeout, toIdentity);
  }

  async activeMaster(timeout: number): Promise<ServerAddress> {
    return this.ask('GetActiveMaster', GetActiveMasterResponse, timeout, ({ serverName }) =>
      serverName === undefined ? undefined : toAddress(serverName),
    );
  }

  async metaLocations(timeout: number): Promise<MetaLocation[]> {
    return this.ask('GetMetaRegionLocations', GetMetaRegionLocationsResponse, timeout, toMetaLocations);
  }

  /** Asks the nodes in random order, two at once, and another one when none has answered for a while. */
  private async ask<A, T>(
    method: string,
    codec: MessageCodec<A>,
    timeout: number,
    take: (answer: A) => T | undefined,
  ): Promise<T> {
    // The configured nodes come first: names of discovered ones may not resolve here.
    const nodes = [...shuffled(this.nodes), ...shuffled(this.found)];
    const stagger = Math.min(LONGEST_STAGGER, timeout / (nodes.length + 1));
    try {
      const answer = await firstAnswer(
        nodes,
        { atOnce: FANOUT, stagger, timeout },
        async (node, _, timeLeft) => {
          const taken = take(await this.askNode(node, method, codec, timeLeft));
          if (taken === undefined) throw new ConnectionError(`${node.host}:${node.port} does not know yet`);
          return taken;
        },
      );
      this.refresh(REFRESH_INTERVAL, timeout);
      return answer;
    } catch (failure) {
      this.refresh(REFRESH_AFTER_FAILURE, timeout);
      const { errors } = failure as NoAnswerError;
      const hopeless = errors.find((error) => !error.retryable);
      if (hopeless !== undefined) throw hopeless;
      const reasons =
        errors.map((error) => error.message.replace(/\.$/, '')).join(' | ') ||
        `no answer within ${Math.round(timeout)} ms`;
      throw new ConnectionError(
        `No HBase node could answer ${method}: ${reasons}. Check the option masters, and that the cluster is up.`,
        { cause: errors[0], details: { nodes: nodes.map((node) => `${node.host}:${node.port}`) } },
      );
    }
  }

  private askNode<A>(
    node: ServerAddress,
    method: string,
    codec: MessageCodec<A>,
    timeout: number,
  ): Promise<A> {
    const call = new UnaryCall(method, timeout, Empty, {}, codec);
    this.pool.get(node, 'ClientMetaService').send(call);
    return call.answer;
  }

  /** Discovers region servers that serve the registry too, so that the cluster is found while its masters are down. */
  private refresh(interval: number, timeout: number): void {
    const now = performance.now();
    if (this.refreshing || now - this.refreshedAt < interval) return;
    this.refreshing = true;
    this.refreshedAt = now;
    const known = new Set(this.nodes.map((node) => `${node.host}:${node.port}`));
    const asked = [...this.nodes, ...this.found];
    (async () => {
      for (const node of asked) {
        try {
          const { serverName = [] } = await this.askNode(
            node,
            'GetBootstrapNodes',
            GetBootstrapNodesResponse,
            timeout,
          );
          const found = serverName.map(toAddress).filter(({ host, port }) => !known.has(`${host}:${port}`));
          if (serverName.length > 0) {
            this.found = found;
            return;
          }
        } catch {
          // After a node that does not answer, the next one is asked.
        }
      }
    })().finally(() => {
      this.refreshing = false;
    });
  }
}

function toAddress(server: ServerName): ServerAddress {
  return { host: server.hostName, port: server.port ?? 0 };
}

function toIdentity({
  clusterId,
  rowanTransactions = false,
}: TypeOf<typeof GetClusterIdResponse>): ClusterIdentity | undefined {
  return clusterId === undefined ? undefined : { id: clusterId, hasTransactions: rowanTransactions };
}

function toMetaLocations(answer: TypeOf<typeof GetMetaRegionLocationsResponse>): MetaLocation[] | undefined {
  const locations: MetaLocation[] = [];
  for (const { regionInfo, serverName, seqNum } of answer.metaLocations ?? []) {
    const { replicaId = 0 } = regionInfo;
    if (serverName === undefined || replicaId < 0 || replicaId > MAX_REPLICAS) continue;
    const startCode = serverName.startCode ?? 0;
    locations.push({
      replicaId,
      address: toAddress(serverName),
      startCode,
      seqNum,
    });
  }
  return locations.some(({ replicaId }) => replicaId === 0) ? locations : undefined;
}

function shuffled<T>(items: readonly T[]): T[] {
  const out = [...items];
  for (let i = out.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1));
    [out[i], out[j]] = [out[j]!, out[i]!];
  }
  return out;
}

/** `RegionState.State.OPEN`. */
const OPEN = 3;
/** The number of meta replicas that are looked for. */
const META_REPLICAS = 3;

/** The registry in ZooKeeper (`ZKConnectionRegistry`), for clusters whose servers do not serve it. */
export class ZooKeeperRegistry implements Registry {
  constructor(
    private readonly zookeeper: ZooKeeperSettings,
    private readonly settings: { readonly resolveAddress: ResolveAddress | undefined },
  ) {}

  async identity(timeout: number): Promise<ClusterIdentity> {
    const [data] = await this.read(['hbaseid'], timeout);
    const identity = toIdentity(decode(data, GetClusterIdResponse) ?? {});
    if (identity === undefined) throw this.absent('hbaseid');
    return identity;
  }

  async activeMaster(timeout: number): Promise<ServerAddress> {
    const [data] = await this.read(['master'], timeout);
    const node = decode(data, MasterNode);
    if (node === undefined) throw this.absent('master');
    return toAddress(node.master);
  }

  async metaLocations(timeout: number): Promise<MetaLocation[]> {
    const names = ['meta-region-server'];
    for (let replica = 1; replica < META_REPLICAS; replica++) names.push(`meta-region-server-${replica}`);
    const nodes = await this.read(names, timeout);
    const locations: MetaLocation[] = [];
    nodes.forEach((data, replicaId) => {
      const node = decode(data, MetaRegionServerNode);
      if (node === undefined || (node.state !== undefined && node.state !== OPEN)) return;
      const { server } = node;
      locations.push({ replicaId, address: toAddress(server), startCode: server.startCode ?? 0, seqNum: -1 });
    });
    if (locations[0]?.replicaId !== 0) throw this.absent('meta-region-server');
    return locations;
  }

  private read(names: readonly string[], timeout: number): Promise<(Uint8Array | undefined)[]> {
    const paths = names.map((name) => `${this.zookeeper.parent}/${name}`);
    const { quorum, tls, sasl } = this.zookeeper;
    return readZNodes(quorum, paths, timeout, { tls, sasl, resolveAddress: this.settings.resolveAddress });
  }

  private absent(name: string): ConnectionError {
    const quorum = this.zookeeper.quorum.map(addressKey).join(', ');
    return new ConnectionError(
      `ZooKeeper (${quorum}) has no ${this.zookeeper.parent}/${name}. Check that the cluster is up, and the option ` +
        'zookeeper.parent (/hbase, /hbase-unsecure or /hbase-secure).',
    );
  }
}

/** Decodes a znode: optionally `ff | int32 length | id`, then `PBUF`, then the message. */
function decode<T>(data: Uint8Array | undefined, codec: MessageCodec<T>): T | undefined {
  if (data === undefined || data.length === 0) return undefined;
  let at = 0;
  if (data[0] === 0xff && data.length >= 5) {
    at = 5 + new DataView(data.buffer, data.byteOffset + 1, 4).getInt32(0);
    if (at < 5 || at > data.length) throw new ProtocolError('A znode of HBase has a broken head.');
  }
  const magic = String.fromCharCode(...data.subarray(at, at + 4));
  if (magic !== 'PBUF') throw new ProtocolError('A znode of HBase holds no protocol buffer.');
  return decodeMessage(codec, data, at + 4);
}
