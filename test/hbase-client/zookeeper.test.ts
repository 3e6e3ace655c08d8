import { afterEach, describe, expect, it } from 'vitest';
import { ZooKeeperRegistry } from '../../src/hbase/region/registry.js';
import { GetClusterIdResponse, MasterNode, MetaRegionServerNode } from '../../src/hbase/wire/messages-rpc.js';
import { encodeMessage } from '../../src/hbase/wire/schema.js';
import { FakeZooKeeper, znode } from './fake-zookeeper.js';

let server: FakeZooKeeper | undefined;

afterEach(async () => {
  await server?.stop();
});

/** A registry of a ZooKeeper with these nodes; the first server of its quorum is down. */
async function zooKeeper(nodes: Record<string, Buffer>): Promise<ZooKeeperRegistry> {
  server = await FakeZooKeeper.start(nodes);
  const quorum = [
    { host: '127.0.0.1', port: 1 },
    { host: '127.0.0.1', port: server.port },
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
    expect((await registry.identity(5000)).id).toBe('id');
    expect(await registry.activeMaster(5000)).toEqual({ host: 'h', port: 16000 });
    const locations = await registry.metaLocations(5000);
    expect(locations.map(({ replicaId, address }) => [replicaId, address.port])).toEqual([
      [0, 16020],
      [2, 16022],
    ]);
  });

  it('says of each server why it gave no answer', async () => {
    const quorum = [{ host: '127.0.0.1', port: 1 }];
    const registry = new ZooKeeperRegistry({ quorum, parent: '/hbase' }, { resolveAddress: undefined });
    const { message } = await registry.identity(5000).then(
      () => expect.unreachable(),
      (error: unknown) => error as Error,
    );
    expect(message).toMatch(/^No ZooKeeper server answered: 127\.0\.0\.1:1: Cannot connect .*ECONNREFUSED/);
    expect(message).toMatch(/[^.]\. Check the option zookeeper\.$/);
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
    await expect(registry.identity(5000)).rejects.toMatchObject({ code: 'ERR_CORRUPTION' });
  });
});
