/** What the suites of engines do not ask of a server: nonces, discovery, splits, options, and who else looks at the store. */

import { describe, expect, it } from 'vitest';
import { connect, defineEntity, defineTable, part, text } from '../../src/index.js';
import { serve } from '../../src/server/server.js';
import { Append, Get, Increment, Put, Scan, tableDescriptor } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { startServer } from '../../src/testing/start-server.js';
import { cellBlock } from '../hbase-client/fake-cells.js';
import { MutateRequest } from '../hbase-client/fake-messages.js';
import { RawClient, regionOf } from './raw-client.js';
import { Served } from './served.js';

const eight = (value: bigint): Uint8Array => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
};

/** Sends an increment by its nonce, as a client does that lost the answer. */
async function increment(served: Served, table: string, nonce: bigint): Promise<void> {
  const region = await regionOf(served.endpoint, table);
  const client = await RawClient.greet(served.endpoint);
  const mutation = { row: Buffer.from('r'), type: 1, cellCount: 1, nonce };
  const cells = cellBlock([['r', 'f', 'n', 0, 4, eight(5n)]]);
  const answer = await client.call('Mutate', MutateRequest, { region, mutation, nonceGroup: 77n }, cells);
  expect(answer.exception).toBeUndefined();
  client.end();
}

describe('a served store', () => {
  it('answers as a cluster without groups of servers, without labels, and without a slow log', async () => {
    await using served = await Served.start();
    const { admin } = await served.connect();
    await expect(admin.groups.list()).rejects.toMatchObject({ code: 'ERR_UNSUPPORTED' });
    await expect(admin.labels.list()).rejects.toMatchObject({ code: 'ERR_TABLE_NOT_FOUND' });
    expect(await admin.slowLog.list()).toEqual([]);
    const [server] = (await admin.getStatus()).servers;
    expect(server!.usedHeap).toBeGreaterThan(0);
    expect(server!.maxHeap).toBeGreaterThan(server!.usedHeap);
  });

  it('counts an increment once however often it is sent, over a restart and a crash too', async () => {
    const disk = new MemoryFileSystem();
    let crashed: MemoryFileSystem;
    const valueIn = async (served: Served): Promise<bigint> => {
      const result = await served.store.table('counters').get(new Get('r'));
      return Buffer.from(result.getValue('f', 'n')!).readBigInt64BE();
    };
    {
      await using served = await Served.start({}, { disk });
      await served.store.admin.createTable(tableDescriptor('counters', { f: {} }));
      await Promise.all([increment(served, 'counters', 1n), increment(served, 'counters', 1n)]);
      await increment(served, 'counters', 2n);
      expect(await valueIn(served)).toBe(10n);
      // What was acknowledged is on the disk: all else is lost.
      crashed = disk.crash({ keepUnsynced: 0, random: Math.random });
    }
    for (const left of [crashed, disk]) {
      await using served = await Served.start({}, { disk: left });
      await increment(served, 'counters', 2n);
      await increment(served, 'counters', 3n);
      expect(await valueIn(served)).toBe(15n);
    }
  });

  it('is found by ZooKeeper’s answers, and knows its cluster again', async () => {
    const disk = new MemoryFileSystem();
    const ids: (string | undefined)[] = [];
    for (let i = 0; i < 2; i++) {
      await using served = await Served.start({ zookeeper: '127.0.0.1:0' }, { disk });
      const engine = await served.connect({
        masters: undefined,
        zookeeper: { quorum: served.server.zookeeperEndpoint! },
      });
      ids.push(engine.place);
      expect(await engine.admin.listNamespaces()).toEqual(['default', 'hbase']);
    }
    expect(ids[0]).toMatch(/^[0-9a-f-]{36}/);
    expect(ids[1]).toBe(ids[0]);
  });

  it('is the same server to clients after a restart, since it still knows their nonces', async () => {
    const disk = new MemoryFileSystem();
    const startCodes: (bigint | undefined)[] = [];
    for (let i = 0; i < 2; i++) {
      await using served = await Served.start({}, { disk });
      const engine = await served.connect();
      if (i === 0) await engine.admin.createTable(tableDescriptor('counters', { f: {} }));
      const meta = engine.table('hbase:meta').scan(new Scan().addColumn('info', 'serverstartcode'));
      for await (const row of meta) {
        startCodes.push(Buffer.from(row.getValue('info', 'serverstartcode')!).readBigInt64BE());
      }
    }
    expect(startCodes.length).toBeGreaterThan(1);
    expect(new Set(startCodes).size).toBe(1);
  });

  it('a split shows to clients that have the region in mind, and to scans under way not at all', async () => {
    await using served = await Served.start();
    const engine = await served.connect({ scannerCaching: 2 });
    await engine.admin.createTable(tableDescriptor('t', { f: {} }));
    const table = engine.table('t');
    const rows = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    await table.putAll(rows.map((row) => new Put(row).addColumn('f', 'q', row)));
    const scanner = table.scan(new Scan());
    const seen = [Buffer.from((await scanner.next())!.row).toString()];
    await engine.admin.split('t', Buffer.from('d'));
    await engine.admin.split('t', Buffer.from('b'));
    for await (const { row } of scanner) seen.push(Buffer.from(row).toString());
    expect(seen).toEqual(rows);
    await table.increment(new Increment('d').addColumn('f', 'n', 1));
    await table.append(new Append('a').addColumn('f', 'q', '!'));
    expect(
      (await engine.admin.getRegions('t')).map(({ startKey }) => Buffer.from(startKey).toString()),
    ).toEqual(['', 'b', 'd']);
    const backwards: string[] = [];
    for await (const { row } of table.scan(new Scan().setReversed(true)))
      backwards.push(Buffer.from(row).toString());
    expect(backwards).toEqual([...rows].reverse());
  });

  it('a merge of regions shows to clients that have them in mind, and to scans under way not at all', async () => {
    await using served = await Served.start();
    const engine = await served.connect({ scannerCaching: 1 });
    const splitKeys = ['c', 'e', 'g'].map((key) => Buffer.from(key));
    await engine.admin.createTable(tableDescriptor('t', { f: {} }), splitKeys);
    const table = engine.table('t');
    const rows = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    await table.putAll(rows.map((row) => new Put(row).addColumn('f', 'q', row)));
    const others = await served.connect();
    await others.table('t').get(new Get('d'));
    const scanner = table.scan(new Scan());
    const seen = [Buffer.from((await scanner.next())!.row).toString()];
    const names = (await engine.admin.getRegions('t')).map(({ name }) => name);
    await engine.admin.mergeRegions(names.slice(0, 3));
    for await (const { row } of scanner) seen.push(Buffer.from(row).toString());
    expect(seen).toEqual(rows);
    await others.table('t').increment(new Increment('d').addColumn('f', 'n', 1));
    expect((await others.table('t').get(new Get('d'))).cells.length).toBe(2);
    const starts = (await engine.admin.getRegions('t')).map(({ startKey }) =>
      Buffer.from(startKey).toString(),
    );
    expect(starts).toEqual(['', 'g']);
    await expect(engine.admin.mergeRegions(names.slice(0, 2))).rejects.toThrow(/UnknownRegion/);
    await expect(engine.admin.mergeRegions(names.slice(2))).rejects.toThrow(/UnknownRegion/);
  });

  it('can be served at two addresses, and a database is served by its engine', async () => {
    await using served = await Served.start();
    const server = await serve({ engine: served.store }, { listen: '127.0.0.1:0' });
    expect(server.endpoint).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(server.endpoint).not.toBe(served.endpoint);
    await server.close();
  });

  it('takes no writes when it is read only', async () => {
    const disk = new MemoryFileSystem();
    {
      await using served = await Served.start({}, { disk });
      await served.store.admin.createTable(tableDescriptor('t', { f: {} }));
      await served.store.table('t').put(new Put('r').addColumn('f', 'q', 'v'));
    }
    await using served = await Served.start({ readOnly: true }, { disk });
    const engine = await served.connect();
    expect((await engine.table('t').get(new Get('r'))).isEmpty).toBe(false);
    await expect(engine.table('t').put(new Put('r').addColumn('f', 'q', 'w'))).rejects.toThrow(/read only/);
    await expect(engine.admin.disableTable('t')).rejects.toThrow(/read only/);
    await expect(engine.admin.createTable(tableDescriptor('u', { f: {} }))).rejects.toThrow(/read only/);
  });

  it.each([
    [{ listen: '0.0.0.0:16020' }, /can be reached from other machines/],
    [{ listen: 'here', zookeeper: '10.0.0.1:2181' }, /can be reached from other machines/],
    [{ listen: 'a b' }, /host:port/],
    [{ maxCalls: 0 }, /maxCalls must be a positive integer/],
    [{ nosuch: 1 } as object, /no option "nosuch"/],
  ])('refuses the options %j', async (options, message) => {
    await using served = await Served.start();
    await expect(serve(served.store, options)).rejects.toThrow(message);
  });
});

describe('startServer of rowan-orm/testing', () => {
  const Customer = defineEntity({
    name: 'Customer',
    table: defineTable({ name: 'customers', families: { d: {} } }),
    key: [part('id')],
    columns: (c) => ({ name: c.column('d:n', text) }),
  });

  it('has the entities’ tables, for clients of either registry, and leaves nothing behind', async () => {
    await using server = await startServer({ entities: [Customer] });
    await server.db.repository(Customer).put({ id: 'c1', name: 'Ada' });
    const ways = [{ masters: [server.endpoint] }, { zookeeper: { quorum: server.zookeeperEndpoint } }];
    for (const way of ways) {
      const client = await connect({ ...way, entities: [Customer] });
      expect((await client.repository(Customer).get({ id: 'c1' }))?.name).toBe('Ada');
      await client.close();
    }
  });
});
