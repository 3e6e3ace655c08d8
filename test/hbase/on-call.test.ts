import { afterAll, beforeAll, expect, it } from 'vitest';
import type { HBaseEngine } from '../../src/hbase/index.js';
import { Get, Put, tableDescriptor } from '../../src/table/index.js';
import { run } from '../cli/run.js';
import { connectShared, sharedHBase } from './connect.js';
import { dropTable, uniqueTable } from './tables.js';

let engine: HBaseEngine;
const name = uniqueTable('on-call');

beforeAll(async () => {
  engine = (await connectShared()) as HBaseEngine;
  await engine.admin.createTable(tableDescriptor(name, { f: {} }), [Buffer.from('m')]);
});
afterAll(async () => {
  await dropTable(engine, name);
  await engine.close();
});

const masters = (): string => sharedHBase().masters.join(',');

it('the regions of a table are listed, and the busy one stands first among the hot ones', {
  timeout: 120_000,
}, async () => {
  await engine.table(name).put(new Put('a').addColumn('f', 'q', 'v'));
  const { code, out } = await run('hbase', 'regions', name, masters());
  expect(code).toBe(0);
  const lines = out.trim().split('\n');
  expect(lines.map((line) => line.split('\t')[0])).toEqual(['[, m)', '[m, )']);
  for (const line of lines) expect(line).toMatch(/\tlocalhost:\d+|\t\S+:\d+/);
  let over = false;
  const busy = (async () => {
    while (!over) await engine.table(name).get(new Get('x'));
  })();
  const hot = await run('hbase', 'hot', name, masters(), '--seconds', '12', '--json');
  over = true;
  await busy;
  const regions = JSON.parse(hot.out) as { startKey: string; reads: number; share: number }[];
  expect(regions.map(({ startKey }) => startKey)).toEqual(['m', '']);
  expect(regions[0]!.reads).toBeGreaterThan(0);
  expect(regions[0]!.share).toBeGreaterThan(0.9);
  expect((await run('hbase', 'hot', name, masters(), '--seconds', 'soon')).err).toContain('--seconds takes');
});

it('the slow log of a table is printed as it is read', { timeout: 120_000 }, async () => {
  const found = await engine.admin.slowLog.list({ table: name });
  const { code, out } = await run('hbase', 'slowlog', name, masters(), '--json');
  expect(code).toBe(0);
  expect((JSON.parse(out) as unknown[]).length).toBeGreaterThanOrEqual(found.length);
  expect((await run('hbase', 'slowlog', name, masters(), '--large')).code).toBe(0);
});

it('debugState has the regions that were used, the queue and the connection of their server', async () => {
  await engine.table(name).get(new Get('x'));
  const { regions, queues, connections, quarantined, lookups } = engine.debugState();
  const region = regions.find(({ table, startKey }) => table === name && startKey === 'm')!;
  expect(region).toMatchObject({ endKey: '', replicas: [] });
  expect(region.name.startsWith(`${name},m,`)).toBe(true);
  expect(queues[region.server]).toMatchObject({ queued: 0, inFlight: 0 });
  const { connections: count, regionCache } = engine.metrics();
  expect(connections.length).toBe(count);
  expect(connections).toContainEqual(
    expect.objectContaining({ server: region.server, service: 'ClientService', state: 'open', pending: 0 }),
  );
  expect(quarantined).toEqual([]);
  expect({ regions: regions.length, lookups }).toEqual({
    regions: regionCache.regions,
    lookups: regionCache.lookups,
  });
  expect(JSON.parse(JSON.stringify(engine.debugState()))).toMatchObject({ lookups });
});
