import { afterAll, beforeAll, expect, it } from 'vitest';
import type { HBaseEngine } from '../../src/hbase/engine.js';
import { tableDescriptor } from '../../src/table/index.js';
import { connectShared } from './connect.js';
import { dropTable, uniqueTable } from './tables.js';

let engine: HBaseEngine;
beforeAll(async () => {
  engine = (await connectShared()) as HBaseEngine;
});
afterAll(() => engine.close());

it('peers of replication are added, listed, switched off and on, and removed', async () => {
  const { admin } = engine;
  const peer = {
    id: uniqueTable('peer').replaceAll('_', ''),
    clusterKey: '127.0.0.1:1:/elsewhere',
    endpoint: 'org.apache.hadoop.hbase.replication.regionserver.RegionReplicaReplicationEndpoint',
    configuration: { 'hbase.rpc.protection': 'privacy' },
  };
  const mine = async (): Promise<unknown> =>
    (await admin.listReplicationPeers()).filter(({ id }) => id === peer.id);
  const missing = { ...peer, enabled: true, endpoint: 'org.example.NoSuchEndpoint' };
  await expect(admin.addReplicationPeer(missing)).rejects.toMatchObject({
    retryable: false,
    message: expect.stringContaining('NoSuchEndpoint'),
  });
  await admin.addReplicationPeer({ ...peer, enabled: false });
  expect(await mine()).toMatchObject([{ id: peer.id, enabled: false, clusterKey: peer.clusterKey }]);
  await admin.enableReplicationPeer(peer.id);
  expect(await mine()).toMatchObject([{ enabled: true, configuration: peer.configuration }]);
  await admin.disableReplicationPeer(peer.id);
  await admin.removeReplicationPeer(peer.id);
  expect(await mine()).toEqual([]);
  await expect(admin.removeReplicationPeer(peer.id)).rejects.toMatchObject({ retryable: false });
});

it('the balancer runs when it is asked, and not while it is off', async () => {
  const { admin } = engine;
  const name = uniqueTable('balance');
  await admin.createTable(tableDescriptor(name, { f: {} }), [Buffer.from('m')]);
  const before = await admin.setBalancerRunning(false);
  try {
    expect(await admin.balance()).toBe(false);
    await admin.setBalancerRunning(true);
    expect(typeof (await admin.balance())).toBe('boolean');
  } finally {
    await admin.setBalancerRunning(before);
    await dropTable(engine, name);
  }
});

it('the state of the cluster names its master and its servers', async () => {
  const status = await engine.admin.getStatus();
  expect(status.version).toMatch(/^2\.\d/);
  expect(status.master).toBe(await engine.admin.getMaster());
  const servers = await engine.admin.getServers();
  expect(status.servers.map(({ port }) => port).sort()).toEqual(servers.map(({ port }) => port).sort());
  expect(status.servers.every(({ maxHeap, usedHeap }) => usedHeap > 0 && maxHeap > usedHeap)).toBe(true);
  expect(status).toMatchObject({ clusterId: engine.clusterId, deadServers: [] });
});
