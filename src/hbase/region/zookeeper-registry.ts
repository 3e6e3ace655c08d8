import { addressKey, type ResolveAddress, type ServerAddress } from '../rpc/address.js';
import { ConnectionError, ProtocolError } from '../rpc/errors.js';
import { GetClusterIdResponse, MasterNode, MetaRegionServerNode } from '../wire/messages-rpc.js';
import { decodeMessage, type MessageCodec } from '../wire/schema.js';
import { type MetaLocation, type Registry, toAddress } from './registry.js';
import { readZNodes } from './zookeeper.js';
import type { ZooKeeperSettings } from './zookeeper-settings.js';

/** `RegionState.State.OPEN`. */
const OPEN = 3;
/** Replicas of meta that are looked for. */
const META_REPLICAS = 3;

/** The registry in ZooKeeper (`ZKConnectionRegistry`), for clusters whose servers do not answer it themselves. */
export class ZooKeeperRegistry implements Registry {
  constructor(
    private readonly zookeeper: ZooKeeperSettings,
    private readonly settings: { readonly resolveAddress: ResolveAddress | undefined },
  ) {}

  async clusterId(timeout: number): Promise<string> {
    const [data] = await this.read(['hbaseid'], timeout);
    const id = decode(data, GetClusterIdResponse)?.clusterId;
    if (id === undefined) throw this.absent('hbaseid');
    return id;
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

/** A znode's content: perhaps `ff | int32 length | id`, then `PBUF`, then the message. */
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
