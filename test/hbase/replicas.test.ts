/** Reads that replicas of regions answer say so. */

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Cluster } from '../../src/hbase/client/cluster.js';
import { HBaseScanner } from '../../src/hbase/client/scanner.js';
import type { HBaseEngine } from '../../src/hbase/engine.js';
import { Get, Put, Scan, tableDescriptor } from '../../src/table/index.js';
import { connectShared } from './connect.js';
import { dropTable, uniqueTable } from './tables.js';

const name = uniqueTable('replicas');
let engine: HBaseEngine;

beforeAll(async () => {
  // Replicas are asked as soon as the primary is.
  engine = (await connectShared({ primaryCallTimeout: 0 })) as HBaseEngine;
  await engine.admin.createTable(tableDescriptor(name, { f: {} }, { regionReplication: 2 }));
  await engine.table(name).putAll(['a', 'b', 'c'].map((row) => new Put(row).addColumn('f', 'q', row)));
  await engine.admin.flush(name);
  // A replica sees the files that were there when it was opened.
  await engine.admin.disableTable(name);
  await engine.admin.enableTable(name);
});
afterAll(async () => {
  await dropTable(engine, name);
  await engine.close();
});

it('gets while the primary is nowhere', async () => {
  const table = engine.table(name);
  expect((await table.get(new Get('b'))).isStale).toBe(false);
  const [region] = await engine.admin.getRegions(name);
  await engine.admin.unassignRegion(region!.name);
  try {
    const both = ['b', 'none'].map((row) => table.get(new Get(row).setConsistency('TIMELINE')));
    const results = await Promise.all(both);
    expect(results.map(({ isStale, cells }) => [isStale, cells.length])).toEqual([
      [true, 1],
      [true, 0],
    ]);
  } finally {
    await engine.admin.assignRegion(region!.name);
  }
  expect((await table.get(new Get('b'))).isStale).toBe(false);
});

it('scans', async () => {
  const cluster = Reflect.get(engine, 'cluster') as Cluster;
  for (const replica of [0, 1]) {
    const scanner = new HBaseScanner(cluster, name, new Scan().setConsistency('TIMELINE'), {}, replica);
    const stale: boolean[] = [];
    for await (const { isStale } of scanner) stale.push(isStale);
    expect(stale).toEqual([replica === 1, replica === 1, replica === 1]);
  }
});
