/** Finding the cluster and its regions while some of those who are asked hang. */

import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { pauseBetweenStarts } from '../../src/hbase/client/retry.js';
import { connectHBase, type HBaseEngine } from '../../src/hbase/engine.js';
import { RegionCache } from '../../src/hbase/region/locator.js';
import { META_TABLE, Region, regionNameOf } from '../../src/hbase/region/region.js';
import { GetClusterIdResponse, GetMetaRegionLocationsResponse } from '../../src/hbase/wire/messages-rpc.js';
import { encodeMessage } from '../../src/hbase/wire/schema.js';
import { Get } from '../../src/table/index.js';
import { scaled } from '../proof/scale.js';
import { FakePeer, type Request } from './fake-peer.js';
import { FakeZooKeeper, znode } from './fake-zookeeper.js';

const peers: FakePeer[] = [];
const servers: { stop(): Promise<void> }[] = [];
let engine: HBaseEngine | undefined;

afterEach(async () => {
  await engine?.close();
  engine = undefined;
  for (const peer of peers.splice(0)) await peer.stop();
  for (const server of servers.splice(0)) await server.stop();
});

const start = async (handler?: (request: Request) => boolean | undefined): Promise<FakePeer> => {
  const peer = await FakePeer.start(handler);
  peers.push(peer);
  return peer;
};

/** A server that takes connections and never says a word. */
async function hung(): Promise<string> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  servers.push({
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  });
  return `127.0.0.1:${(server.address() as { port: number }).port}`;
}

describe('a cluster is found', () => {
  it('by the one master of three that does not hang, every time', async () => {
    const masters = [await hung(), await hung(), (await start()).address];
    for (let i = 0; i < scaled(4, 12, 12); i++) {
      const one = await connectHBase({ masters, connectTimeout: 1000 });
      expect(one.clusterId).toBe('fake');
      await one.close();
    }
  });

  it('by the one ZooKeeper server of three that does not hang', async () => {
    const id = znode(encodeMessage(GetClusterIdResponse, { clusterId: 'from ZooKeeper' }));
    const zooKeeper = await FakeZooKeeper.start({ '/hbase/hbaseid': id });
    servers.push(zooKeeper);
    const quorum = [await hung(), await hung(), zooKeeper.address].join(',');
    engine = await connectHBase({ zookeeper: { quorum }, connectTimeout: 2000 });
    expect(engine.clusterId).toBe('from ZooKeeper');
  });

  it('by nobody when all hang, within the time that is given, and says whom it asked', async () => {
    const masters = [await hung(), await hung()];
    await expect(connectHBase({ masters, connectTimeout: 300 })).rejects.toMatchObject({
      code: 'ERR_CONNECTION',
      details: { nodes: expect.arrayContaining(masters) },
    });
  });
});

it('a start waits after starts that found nothing, at random and longer each time, up to five seconds', () => {
  expect(pauseBetweenStarts(0, 100)).toBe(0);
  const mean = (failures: number): number => {
    const pauses = Array.from({ length: 2000 }, () => pauseBetweenStarts(failures, 100));
    expect(Math.max(...pauses)).toBeLessThanOrEqual(5000);
    // Not all at once.
    expect(Math.min(...pauses)).toBeLessThan(0.1 * Math.max(...pauses));
    return pauses.reduce((sum, pause) => sum + pause, 0) / pauses.length;
  };
  expect(mean(1)).toBeLessThanOrEqual(100);
  expect(mean(4)).toBeGreaterThan(mean(1));
  expect(mean(1000)).toBeGreaterThan(1500);
});

describe('a lookup', () => {
  /** A registry that names these peers as the servers of meta's replicas. */
  const registry = async (metas: readonly FakePeer[]): Promise<FakePeer> =>
    start(({ method, id, connection }) => {
      if (method !== 'GetMetaRegionLocations') return false;
      const tableName = { namespace: Buffer.from('hbase'), qualifier: Buffer.from('meta') };
      const metaLocations = metas.map(({ port }, replicaId) => ({
        regionInfo: { regionId: 1, tableName, replicaId },
        serverName: { hostName: '127.0.0.1', port, startCode: 1 },
        seqNum: -1,
      }));
      connection.reply(id, GetMetaRegionLocationsResponse, { metaLocations });
      return true;
    });
  const hangs = ({ method }: Request): boolean => method === 'Scan';

  it('leaves a server that hangs with meta, and finds the one that took it over', async () => {
    const before = await start(hangs);
    const after = await start();
    const metas = [before];
    const { address } = await registry(metas);
    engine = await connectHBase({ masters: [address], metaTimeout: 200, pause: 1 });
    const got = engine.table('t').get(new Get('r'), { timeout: 20_000 });
    await expect.poll(() => before.of('Scan').length).toBeGreaterThan(0);
    metas[0] = after;
    expect((await got).isEmpty).toBe(true);
  });

  it('names the server that has meta, and does not answer', async () => {
    const silent = await start(hangs);
    const { address } = await registry([silent]);
    engine = await connectHBase({ masters: [address], pause: 1 });
    const got = engine.table('t').get(new Get('r'), { timeout: 500 });
    const where = `hbase:meta is on 127.0.0.1:${silent.port}`;
    await expect(got).rejects.toMatchObject({ code: 'ERR_TIMEOUT', message: expect.stringContaining(where) });
    silent.handler = () => undefined;
  });

  it('asks a replica of meta when the primary hangs, but believes only the primary that there is no table', async () => {
    const primary = await start(hangs);
    const replica = await start();
    const { address } = await registry([primary, replica]);
    engine = await connectHBase({ masters: [address], metaTimeout: 20_000, metaReplicaDelay: 10 });
    expect((await engine.table('t').get(new Get('r'), { timeout: 15_000 })).isEmpty).toBe(true);
    await expect(engine.table('absent').get(new Get('r'), { timeout: 300 })).rejects.toMatchObject({
      code: 'ERR_TIMEOUT',
    });
    primary.handler = () => undefined;
  });
});

describe('the cache of regions', () => {
  it('forgets one of many without looking at all of them', () => {
    const cache = new RegionCache();
    const key = (i: number): Buffer => Buffer.from(String(i).padStart(6, '0'));
    const regions = Array.from({ length: 3000 }, (_, i) => {
      const start = i === 0 ? Buffer.alloc(0) : key(i);
      const name = regionNameOf('t', start, 1);
      return new Region('t', start, key(i + 1), 1, 0, name, { host: 'h', port: 1 }, 1, 1);
    });
    for (const region of regions) cache.insert(region);
    let looks = 0;
    for (const region of regions) {
      const { replicas } = region;
      Object.defineProperty(region, 'replicas', {
        get: () => {
          looks++;
          return replicas;
        },
      });
    }
    for (let i = 0; i < regions.length; i += 2) cache.remove(regions[i]!);
    expect(looks).toBeLessThan(3 * regions.length);
    expect(cache.find('t', key(2))).toBeUndefined();
    expect(cache.find('t', key(3))).toBe(regions[3]);
    // What is known now in its place stays.
    cache.remove(regions[2]!);
    expect(cache.find('t', key(3))).toBe(regions[3]);
    expect(cache.knows(META_TABLE)).toBe(false);
  });
});
