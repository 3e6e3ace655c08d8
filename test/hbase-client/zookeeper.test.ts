import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { ZooKeeperRegistry } from '../../src/hbase/region/zookeeper-registry.js';
import { GetClusterIdResponse, MasterNode, MetaRegionServerNode } from '../../src/hbase/wire/messages-rpc.js';
import { encodeMessage } from '../../src/hbase/wire/schema.js';

let server: Server;
const sockets = new Set<Socket>();

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

const int32 = (...values: number[]): Buffer => {
  const out = Buffer.alloc(values.length * 4);
  for (const [i, value] of values.entries()) out.writeInt32BE(value, i * 4);
  return out;
};
const framed = (body: Buffer): Buffer => Buffer.concat([int32(body.length), body]);
/** As HBase writes a znode: ff, an id behind its length, PBUF, the message. */
const znode = (message: Uint8Array): Buffer =>
  Buffer.concat([Buffer.of(0xff), int32(9), Buffer.from('master:12'), Buffer.from('PBUF'), message]);

/** A ZooKeeper with these nodes. */
async function zooKeeper(nodes: Record<string, Buffer>): Promise<ZooKeeperRegistry> {
  server = createServer((socket) => {
    sockets.add(socket);
    let data = Buffer.alloc(0);
    let connected = false;
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      data = Buffer.concat([data, chunk]);
      while (data.length >= 4 && data.length >= 4 + data.readInt32BE(0)) {
        const body = data.subarray(4, 4 + data.readInt32BE(0));
        data = data.subarray(4 + body.length);
        if (!connected) {
          connected = true;
          socket.write(framed(Buffer.concat([int32(0, 10_000, 0, 1, 16), Buffer.alloc(17)])));
          continue;
        }
        const [xid, operation] = [body.readInt32BE(0), body.readInt32BE(4)];
        if (operation !== 4) return;
        const path = body.toString('utf8', 12, 12 + body.readInt32BE(8));
        const found = nodes[path];
        const head = Buffer.concat([int32(xid, 0, 7), int32(found === undefined ? -101 : 0)]);
        const rest = found === undefined ? [] : [int32(found.length), found, Buffer.alloc(68)];
        socket.write(framed(Buffer.concat([head, ...rest])));
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const quorum = [
    { host: '127.0.0.1', port: 1 },
    { host: '127.0.0.1', port },
  ];
  return new ZooKeeperRegistry({ quorum, parent: '/hbase' }, { resolveAddress: undefined });
}

const name = (port: number) => ({ hostName: 'h', port, startCode: 5 });

describe('discovery by ZooKeeper', () => {
  it('reads the cluster id, the master and the places of meta, past a server that is down', async () => {
    const registry = await zooKeeper({
      '/hbase/hbaseid': znode(encodeMessage(GetClusterIdResponse, { clusterId: 'id' })),
      '/hbase/master': znode(encodeMessage(MasterNode, { master: name(16000) })),
      '/hbase/meta-region-server': znode(
        encodeMessage(MetaRegionServerNode, { server: name(16020), state: 3 }),
      ),
      '/hbase/meta-region-server-2': znode(
        encodeMessage(MetaRegionServerNode, { server: name(16022), state: 3 }),
      ),
    });
    expect(await registry.clusterId(5000)).toBe('id');
    expect(await registry.activeMaster(5000)).toEqual({ host: 'h', port: 16000 });
    const locations = await registry.metaLocations(5000);
    expect(locations.map(({ replicaId, address }) => [replicaId, address.port])).toEqual([
      [0, 16020],
      [2, 16022],
    ]);
  });

  it('fails, to be tried again, while there is no master or meta is not open', async () => {
    const registry = await zooKeeper({
      '/hbase/meta-region-server': znode(
        encodeMessage(MetaRegionServerNode, { server: name(16020), state: 2 }),
      ),
      '/hbase/hbaseid': Buffer.from('not a protocol buffer'),
    });
    await expect(registry.activeMaster(5000)).rejects.toMatchObject({
      code: 'ERR_CONNECTION',
      retryable: true,
    });
    await expect(registry.metaLocations(5000)).rejects.toMatchObject({ code: 'ERR_CONNECTION' });
    await expect(registry.clusterId(5000)).rejects.toMatchObject({ code: 'ERR_CORRUPTION' });
  });
});
