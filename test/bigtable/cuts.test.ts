import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { type Engine, Get, Increment, Put, Scan, tableDescriptor } from '../../src/table/index.js';
import { connectShared } from './connect.js';
import { CutProxy } from './proxy.js';

const INSTANCE = `cuts-${randomUUID()}`;

let proxy: CutProxy;
let engine: Engine;

beforeAll(async () => {
  proxy = await CutProxy.start(inject('bigtable'));
  engine = await connectShared({ instanceId: INSTANCE, emulatorHost: proxy.host });
  await engine.admin.createTable(tableDescriptor('cut', { f: {} }));
});
afterAll(async () => {
  await engine?.close();
  await proxy?.close();
});

it('a scan whose stream is cut again and again gives every row once, in order, in both directions', async () => {
  const table = engine.table('cut');
  const rows = Array.from({ length: 3000 }, (_, i) => `r${String(i).padStart(5, '0')}`);
  await table.putAll(rows.map((row) => new Put(row).addColumn('f', 'q', Buffer.alloc(2000, 1))));
  for (const reversed of [false, true]) {
    const seen: string[] = [];
    for await (const { row } of table.scan(new Scan().setReversed(reversed))) {
      seen.push(Buffer.from(row).toString());
      if (seen.length % 700 === 0) proxy.cut();
    }
    expect(seen).toEqual(reversed ? [...rows].reverse() : rows);
  }
});

it('puts and gets behind a cut are made; an increment is made once, or nobody knows', async () => {
  const table = engine.table('cut');
  let known = 0;
  let doubtful = 0;
  for (let i = 0; i < 20; i++) {
    const answer = table.increment(new Increment('n').addColumn('f', 'n', 1));
    if (i % 4 === 0) proxy.cut();
    await answer.then(
      () => known++,
      (error: { details: { outcome?: string } }) => {
        expect(error.details.outcome).toBe('unknown');
        doubtful++;
      },
    );
    await table.put(new Put('p').addColumn('f', 'q', `${i}`));
    if (i % 5 === 0) proxy.cut();
    expect(Buffer.from((await table.get(new Get('p'))).getValue('f', 'q')!).toString()).toBe(`${i}`);
  }
  const value = Number(Buffer.from((await table.get(new Get('n'))).getValue('f', 'n')!).readBigInt64BE());
  expect(value).toBeGreaterThanOrEqual(known);
  expect(value).toBeLessThanOrEqual(known + doubtful);
});

it('an increment that was made, but not answered, is not made again', async () => {
  const direct = await connectShared({ instanceId: INSTANCE });
  const counted = async (): Promise<number> => {
    const value = (await direct.table('cut').get(new Get('once'))).getValue('f', 'n');
    return value === undefined ? 0 : Number(Buffer.from(value).readBigInt64BE());
  };
  const table = engine.table('cut');
  await table.get(new Get('once'));
  proxy.silent = true;
  const answer = table.increment(new Increment('once').addColumn('f', 'n', 1)).catch((error) => error);
  await expect.poll(counted, { timeout: 30_000 }).toBe(1);
  proxy.silent = false;
  proxy.cut();
  expect((await answer).details.outcome).toBe('unknown');
  // A repetition would come before this put.
  await table.put(new Put('p').addColumn('f', 'q', 'v'));
  expect(await counted()).toBe(1);
  await direct.close();
});
