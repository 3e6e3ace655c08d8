/** Groups of region servers, on an HBase of its own that has them. */

import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { connectHBase, type HBaseEngine } from '../../src/hbase/engine.js';
import { Get, Put, tableDescriptor } from '../../src/table/index.js';
import { connectShared } from './connect.js';
import { PATIENCE } from './patience.js';
import { type HBaseServer, startHBase } from './server/hbase-server.js';

const GROUPS = 'org.apache.hadoop.hbase.rsgroup';

let server: HBaseServer;
let engine: HBaseEngine;

beforeAll(async () => {
  server = await startHBase({
    name: 'groups',
    regionServers: 3,
    settings: {
      'hbase.coprocessor.master.classes': `${GROUPS}.RSGroupAdminEndpoint`,
      'hbase.master.loadbalancer.class': `${GROUPS}.RSGroupBasedLoadBalancer`,
    },
    libraries: ['groups'],
  });
  engine = await connectHBase({ masters: server.masters });
});
afterAll(async () => {
  await engine?.close();
  await server?.stop();
});

/** The servers that a table's regions are on. */
async function serversOf(table: string): Promise<string[]> {
  const regions = await engine.admin.getRegions(table);
  return [...new Set(regions.map((region) => region.server))].sort();
}

it('are made, filled, listed, balanced and emptied, and regions are where their group is', async () => {
  const { admin } = engine;
  const { groups } = admin;
  const all = (await admin.getServers()).map(({ host, port }) => `${host}:${port}`).sort();
  expect(all).toHaveLength(3);
  await vi.waitFor(async () => expect((await groups.get('default'))?.servers).toEqual(all), PATIENCE);
  // A master that has just started keeps its groups in memory until their table is there, and refuses changes.
  await vi.waitFor(() => groups.add('gold'), PATIENCE);

  await admin.createNamespace('ns');
  await admin.createTable(tableDescriptor('ns:t', { f: {} }), [Buffer.from('g'), Buffer.from('p')]);
  const table = engine.table('ns:t');
  const rows = ['a', 'h', 'q'];
  await table.putAll(rows.map((row) => new Put(row).addColumn('f', 'q', row)));

  expect(await groups.get('gold')).toEqual({ name: 'gold', servers: [], tables: [], configuration: {} });
  expect(await groups.get('silver')).toBeUndefined();
  await expect(groups.add('gold')).rejects.toMatchObject({
    retryable: false,
    remoteMessage: expect.stringContaining('already exists'),
  });

  const [chosen = '', other = ''] = all;
  await groups.move('gold', { servers: [chosen] });
  expect((await groups.get('gold'))?.servers).toEqual([chosen]);
  expect((await groups.ofServer(chosen))?.name).toBe('gold');
  expect(await serversOf('ns:t')).not.toContain(chosen);

  await groups.move('gold', { tables: ['ns:t'] });
  expect((await groups.ofTable('ns:t'))?.name).toBe('gold');
  expect((await groups.list()).map(({ name, tables }) => [name, tables.includes('ns:t')])).toEqual([
    ['default', false],
    ['gold', true],
  ]);
  await vi.waitFor(async () => expect(await serversOf('ns:t')).toEqual([chosen]), PATIENCE);
  // Readers and writers follow.
  const found = await table.getAll(rows.map((row) => new Get(row)));
  expect(found.map(({ row }) => Buffer.from(row).toString())).toEqual(rows);

  // A second server, and the balancer of the group brings regions to it.
  await groups.move('gold', { servers: [other], tables: [] });
  await admin.setBalancerRunning(true);
  await vi.waitFor(async () => {
    const { ran } = await groups.balance('gold');
    expect(ran).toBe(true);
    expect(await serversOf('ns:t')).toEqual([chosen, other]);
  }, PATIENCE);

  await expect(groups.remove('gold')).rejects.toMatchObject({ retryable: false });
  await groups.configure('gold', { colour: 'yellow' });
  expect((await groups.get('gold'))?.configuration).toEqual({ colour: 'yellow' });
  await groups.rename('gold', 'silver');
  expect((await groups.ofTable('ns:t'))?.name).toBe('silver');
  await groups.move('default', { servers: [chosen, other], tables: ['ns:t'] });
  await groups.remove('silver');
  expect((await groups.list()).map(({ name }) => name)).toEqual(['default']);
});

it('refuse what cannot be', async () => {
  const { groups } = engine.admin;
  const refused = { code: 'ERR_INVALID_ARGUMENT' };
  for (const name of ['', 'a b', 'ü', undefined, 7]) {
    await expect(groups.add(name as never), String(name)).rejects.toMatchObject(refused);
  }
  await groups.add('empty');
  for (const members of [
    {},
    { servers: [], tables: [] },
    { servers: 'localhost:1' },
    undefined,
    { tables: [7] },
  ]) {
    await expect(groups.move('empty', members as never)).rejects.toMatchObject(refused);
  }
  await expect(groups.move('empty', { servers: ['localhost:1'] })).rejects.toMatchObject({
    retryable: false,
  });
  await expect(groups.move('none', { tables: ['ns:t'] })).rejects.toMatchObject({ retryable: false });
  await groups.removeServers(['localhost:1']);
  expect(await groups.ofServer('localhost:1')).toBeUndefined();
  await groups.remove('empty');
});

it('are refused by a cluster without them', async () => {
  const plain = (await connectShared()) as HBaseEngine;
  try {
    await expect(plain.admin.groups.list()).rejects.toMatchObject({ code: 'ERR_UNSUPPORTED' });
    await expect(plain.admin.labels.list()).rejects.toMatchObject({ code: 'ERR_TABLE_NOT_FOUND' });
    // The buffer of the slow log is off.
    expect(await plain.admin.slowLog.list()).toEqual([]);
  } finally {
    await plain.close();
  }
});
