/** What ends by lives of cells on HBase: on Bigtable, which has none, Rowan removes it. */

import { afterAll, beforeAll, expect, it } from 'vitest';
import { ChangeLog } from '../../src/features/changes/change-log.js';
import { changesDescriptor } from '../../src/features/changes/table.js';
import { type Engine, Get, Put, Scan } from '../../src/table/index.js';
import { counted, Sale, sale } from '../summaries/faults.js';
import { connectShared } from './connect.js';
import { programsOf } from './programs.js';

let engine: Engine;
beforeAll(async () => {
  engine = await connectShared();
});
afterAll(() => engine.close());

it('entries of the change log are removed when they are kept no longer, those in front of one that is kept', async () => {
  const { name } = changesDescriptor();
  await engine.admin.createTable(changesDescriptor());
  const table = engine.table(name);
  const log = new ChangeLog(table, engine.capabilities.cellTtl);
  const write = (bucket: number, number: number, kept: number) =>
    log.closeNumbers([{ bucket, number }], kept);
  const numbers = async () => {
    const found: number[] = [];
    for await (const { row } of table.scan(new Scan()))
      found.push(Number(Buffer.from(row).readBigUInt64BE(2)));
    return found;
  };
  for (const [number, kept] of [
    [1, 1000],
    [2, 1000],
    [3, 60_000],
    [4, 1000],
  ] as const)
    await write(5, number, kept);
  const closed = (number: number) => [{ place: { bucket: 5, number }, isMade: true, kept: 1000 }];
  const later = engine.now() + 10_000;
  await log.removeEnded(closed(63), later);
  expect(await numbers()).toEqual([1, 2, 3, 4]);
  await log.removeEnded(closed(64), later);
  expect(await numbers()).toEqual([3, 4]);
  await log.removeEnded(closed(128), later + 120_000);
  expect(await numbers()).toEqual([]);
});

const { database } = programsOf(counted);

it('tokens of summaries that ended long ago are removed by the next write of their group', async () => {
  const db = database();
  await db.repository(Sale).put(sale(1, 'north'));
  await db.summary(Sale, 'byShop').find({});
  const table = db.engine.table('counted_sales_sum');
  const token = (name: string) => Buffer.concat([Buffer.of(0xff, 0xff, 0xff), Buffer.from(name)]);
  const groups: Uint8Array[] = [];
  for await (const { row, cells } of table.scan(new Scan()))
    if (cells.some(({ qualifier }) => qualifier[0] === 0xff)) groups.push(row);
  expect(groups.length).toBeGreaterThan(0);
  const hours = (count: number) => Date.now() - count * 3_600_000;
  for (const group of groups) {
    const put = new Put(group)
      .addColumn('s', token('ended'), Buffer.alloc(8), hours(5))
      .addColumn('s', token('young'), Buffer.alloc(8), hours(3))
      .addColumn('s', token('begun'), Buffer.of(0, 0, 0, 0, 0, 0, 0, 1), hours(5));
    await table.put(put);
  }
  await db.repository(Sale).put(sale(2, 'north', 20));
  // Nobody waits for the end of a transfer.
  for (const group of groups)
    await expect
      .poll(async () => (await table.get(new Get(group))).getValue('s', token('ended')), { timeout: 60_000 })
      .toBeUndefined();
  for (const group of groups) {
    const left = await table.get(new Get(group));
    for (const name of ['young', 'begun']) expect(left.getValue('s', token(name)), name).toBeDefined();
  }
});
