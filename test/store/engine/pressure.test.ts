/** Writers that wait for memory: they are always told, when there is room, when there will be none, and at the end. */

import { expect, test } from 'vitest';
import type { RowanError } from '../../../src/errors.js';
import { openEmbedded } from '../../../src/store/engine.js';
import { Get, Increment } from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { scaled } from '../../proof/scale.js';
import { FaultFileSystem } from '../fs/fault-fs.js';
import { contents, createTable, memoryStore, put, type TestStore } from './support.js';

const SMALL = { automatic: true, memstoreFlushSize: 1 << 30, memstoreLimit: 20_000 };

async function fill(store: TestStore, row: string, family: string, count: number): Promise<void> {
  const table = store.engine.table('t');
  await Promise.all(
    Array.from({ length: count }, (_, i) => table.put(put(`${row}${i}`, 'v'.repeat(100), family))),
  );
}

test('memory in many families, none of which frees enough by itself, is freed one family after the other', async () => {
  const store = await memoryStore(SMALL);
  const families = Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`f${i}`, {}]));
  const table = await createTable(store.engine, families);
  const count = scaled(1600, 4000, 4000);
  const writes = Array.from({ length: count }, (_, i) =>
    table.put(put(`r${i}`, 'v'.repeat(100), `f${i % 8}`)),
  );
  await Promise.all(writes);
  for (let i = 0; i < 300; i++) await table.put(put(`s${i}`, 'v'.repeat(100), `f${i % 8}`));
  expect((await contents(table)).length).toBe(count + 300);
  await store.engine.quiet();
  expect(store.engine.stats().memstoreBytes).toBeLessThan(30_000);
  await store.engine.close();
});

test('a store that closes tells the writers that wait', async () => {
  const store = await memoryStore(SMALL);
  const table = await createTable(store.engine);
  const filled = Promise.allSettled([fill(store, 'a', 'f', 400)]);
  const late = Promise.allSettled([table.put(put('late', '1'))]);
  await store.engine.close();
  await filled;
  expect(((await late)[0] as PromiseRejectedResult).reason.code).toBe('ERR_CLOSED');
});

test('a writer that waits can give up', async () => {
  const store = await memoryStore(SMALL);
  const table = await createTable(store.engine);
  const filled = fill(store, 'a', 'f', 400);
  const controller = new AbortController();
  const late = table.put(put('late', '1'), { signal: controller.signal });
  controller.abort();
  await expect(late).rejects.toMatchObject({ code: 'ERR_ABORTED' });
  await filled;
  expect((await table.get(new Get('late'))).isEmpty).toBe(true);
  await store.engine.close();
});

test('a flush that fails is told to those who wait for it, and the next writer tries again', async () => {
  const memory = new MemoryFileSystem();
  const files = new FaultFileSystem(memory);
  const engine = await openEmbedded('/db', { fileSystem: files, ...SMALL });
  const table = await createTable(engine);
  files.inject({ calls: ['create'], path: /\.sst$/, times: Number.POSITIVE_INFINITY, errno: 'ENOSPC' });
  const outcomes = await Promise.allSettled(
    Array.from({ length: 600 }, (_, i) => table.put(put(`r${i}`, 'v'.repeat(100)))),
  );
  const failures: RowanError[] = [];
  for (let i = 0; i < 3; i++) {
    await table.put(put(`again${i}`, 'x')).catch((error: RowanError) => failures.push(error));
  }
  expect(failures.map(({ code, retryable }) => `${code} ${retryable}`)).toEqual(
    Array(3).fill('ERR_BUSY true'),
  );
  files.clear();
  await table.put(put('more', 'x'));
  const written = outcomes.filter(({ status }) => status === 'fulfilled').length;
  expect((await contents(table)).length).toBe(written + 1);
  await engine.close();
});

test('writers that were let in together do not fill memory again: each looks in the turn in which it writes', async () => {
  const store = await memoryStore(SMALL);
  await createTable(store.engine);
  await fill(store, 'a', 'f', scaled(1500, 4000, 4000));
  const peak = Math.max(...store.events.map((event) => (event.kind === 'flushBegin' ? event.bytes : 0)));
  expect(peak).toBeGreaterThan(0);
  expect(peak).toBeLessThan(100_000);
  await store.engine.close();
});

test('large values are counted, not only writes', async () => {
  const store = await memoryStore({ automatic: true, memstoreFlushSize: 2 << 20, memstoreLimit: 4 << 20 });
  const table = await createTable(store.engine);
  let peak = 0;
  for (let i = 0; i < scaled(20, 40, 40); i++) {
    await table.put(put(`r${i}`, 'v'.repeat(1 << 19)));
    peak = Math.max(peak, store.engine.stats().memstoreBytes);
  }
  expect(peak).toBeLessThan(6 << 20);
  await store.engine.close();
});

test('the log is cut though no memstore ever grows: counters, and a store that is opened often', async () => {
  const store = await memoryStore({ automatic: true, walSegmentSize: 4096, maxWalSegments: 3 });
  let table = await createTable(store.engine);
  for (let i = 0; i < 1000; i++) await table.increment(new Increment('counter').addColumn('f', 'n', 1));
  await store.engine.quiet();
  expect(store.engine.stats().walSegments).toBeLessThanOrEqual(5);
  for (let i = 0; i < 12; i++) {
    await store.reopen();
    table = store.engine.table('t');
    await table.put(put(`r${i}`, 'x'));
    await store.engine.quiet();
  }
  expect(store.engine.stats().walSegments).toBeLessThanOrEqual(5);
  expect((await contents(table)).length).toBe(13);
  await store.engine.close();
});
