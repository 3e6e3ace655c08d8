/** Files that are written, recorded and taken away, while the disk fails and others are at work. */

import { expect, test } from 'vitest';
import { type EmbeddedEngine, openEmbedded } from '../../../src/store/engine.js';
import type { EmbeddedOptions } from '../../../src/store/options.js';
import { Cell, CellType, Delete, Get, Put, tableDescriptor } from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { contents, createTable, memoryStore, put } from '../engine/support.js';
import { FaultFileSystem } from '../fs/fault-fs.js';

const bytes = (text: string): Buffer => Buffer.from(text);
const cell = (row: string, qualifier: string, timestamp: number, type: CellType, value = ''): Cell =>
  new Cell(bytes(row), 'f', bytes(qualifier), timestamp, type, bytes(value));

async function open(files: FaultFileSystem, options: EmbeddedOptions = {}): Promise<EmbeddedEngine> {
  return openEmbedded('/db', { fileSystem: files, automatic: false, ...options });
}

const sorted = (files: MemoryFileSystem): string[] =>
  files.readdir('/db').filter((name) => name.endsWith('.sst'));

test('a bulk load whose commit fails leaves a store that opens', async () => {
  for (let failing = 0; failing < 12; failing++) {
    for (let turns = 0; turns < 3; turns++) {
      const memory = new MemoryFileSystem({
        syncDelay: () => new Promise((resolve) => setImmediate(resolve)),
      });
      const files = new FaultFileSystem(memory);
      const engine = await open(files);
      const table = await createTable(engine);
      files.inject({ calls: ['sync'], path: /\.wal$/, after: failing });
      const outcomes: Promise<unknown>[] = [];
      for (let i = 0; i < 4; i++) {
        outcomes.push(
          (async () => {
            for (let n = 0; n < 5; n++) await table.put(put(`r${i}-${n}`, 'v'));
          })(),
        );
      }
      for (let i = 0; i < turns; i++) await null;
      outcomes.push(engine.bulkLoad('t', [cell('a', 'q', 1, CellType.Put, 'v')]));
      await Promise.allSettled(outcomes);
      files.clear();
      await Promise.allSettled([engine.close()]);
      const again = await open(files);
      await again.verify();
      await again.close();
    }
  }
});

test('what a loaded marker hides stays hidden after a compaction, though the put was in memory', async () => {
  const store = await memoryStore();
  const table = await createTable(store.engine);
  await table.put(put('r', 'old', 'f', 'q', 5));
  await store.engine.bulkLoad('t', [cell('r', 'q', 9, CellType.DeleteColumn)]);
  expect(await contents(table)).toEqual([]);
  await store.engine.admin.majorCompact('t');
  await store.engine.admin.flush('t');
  expect(await contents(table)).toEqual([]);
  await store.engine.close();
});

test('a compaction keeps markers while an older put is in memory', async () => {
  const store = await memoryStore({ compaction: { minFiles: 2 } });
  const table = await createTable(store.engine);
  for (let round = 0; round < 20; round++) {
    const row = `r${String(round).padStart(2, '0')}`;
    const load = store.engine.bulkLoad('t', [cell(row, 'q', 9, CellType.DeleteColumn)]);
    for (let turn = 0; turn < round; turn++) await null;
    const putting = table.put(put(row, 'old', 'f', 'q', 5));
    await Promise.all([load, putting]);
    const before = await contents(table);
    await store.engine.admin.compact('t');
    expect(await contents(table)).toEqual(before);
    await store.engine.admin.flush('t');
    expect(await contents(table)).toEqual(before);
    await table.delete(new Delete(row));
  }
  await store.engine.close();
});

test('a failed sync of the MANIFEST stops writers with ERR_READONLY and leaves no files behind', async () => {
  const memory = new MemoryFileSystem();
  const files = new FaultFileSystem(memory);
  const engine = await open(files, { automatic: true, memstoreFlushSize: 20_000, memstoreLimit: 60_000 });
  const table = await createTable(engine);
  files.inject({ calls: ['sync'], path: /MANIFEST/ });
  const codes = new Set<string>();
  let accepted = 0;
  let reached = false;
  for (let i = 0; i < 600; i++) {
    await table.put(new Put(`r${i}`).addColumn('f', 'q', Buffer.alloc(1000))).then(
      () => {
        if (reached) accepted++;
      },
      (error) => {
        codes.add(error.code);
        reached = true;
      },
    );
  }
  await engine.quiet();
  expect([...codes]).toEqual(['ERR_READONLY']);
  expect(accepted).toBe(0);
  expect(sorted(memory).length).toBeLessThanOrEqual(1);
  expect((await table.get(new Get('r0'))).isEmpty).toBe(false);
  await Promise.allSettled([engine.close()]);
  files.clear();
  const again = await open(files);
  expect((await again.table('t').get(new Get('r0'))).isEmpty).toBe(false);
  await again.close();
});

test('a file that cannot be opened after it was written is removed', async () => {
  const memory = new MemoryFileSystem();
  const files = new FaultFileSystem(memory);
  const engine = await open(files);
  const table = await createTable(engine);
  await table.put(put('a', '1'));
  files.inject({ calls: ['open'], path: /\.sst$/, errno: 'EMFILE', times: Number.POSITIVE_INFINITY });
  await expect(engine.admin.flush('t')).rejects.toMatchObject({ code: 'ERR_IO' });
  files.clear();
  expect(sorted(memory)).toEqual([]);
  await engine.admin.flush('t');
  expect(sorted(memory).length).toBe(1);
  await engine.close();
  expect(memory.openHandles).toBe(0);
});

test('close ends a bulk load, and nothing of it comes into the folder after', async () => {
  const memory = new MemoryFileSystem();
  const files = new FaultFileSystem(memory);
  const engine = await open(files);
  await createTable(engine);
  let resume!: () => void;
  const paused = new Promise<void>((resolve) => (resume = resolve));
  let begun!: () => void;
  const started = new Promise<void>((resolve) => (begun = resolve));
  async function* cells(): AsyncGenerator<Cell> {
    yield cell('a', 'q', 1, CellType.Put, 'v');
    begun();
    await paused;
    for (let i = 0; i < 10; i++) yield cell(`b${i}`, 'q', 1, CellType.Put, 'v');
  }
  const load = engine.bulkLoad('t', cells());
  const refused = expect(load).rejects.toMatchObject({ code: 'ERR_CLOSED' });
  await started;
  await engine.close();
  await refused;
  const next = await open(files);
  const calls = files.calls;
  resume();
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
  expect(files.calls).toBe(calls);
  expect(sorted(memory)).toEqual([]);
  await next.close();
  expect(memory.openHandles).toBe(0);
});

test('loads, flushes, compactions, splits and a close at once leave a store that is whole', async () => {
  for (let round = 0; round < 8; round++) {
    const memory = new MemoryFileSystem({ syncDelay: () => new Promise((resolve) => setImmediate(resolve)) });
    const files = new FaultFileSystem(memory);
    const engine = await open(files, { compaction: { minFiles: 2 } });
    await engine.admin.createTable(tableDescriptor('t', { f: {}, g: {} }));
    const table = engine.table('t');
    const begun: Promise<unknown>[] = [];
    // The close cuts some of them off.
    const work = { push: (promise: Promise<unknown>) => begun.push(promise.catch(() => {})) };
    const acknowledged = new Set<string>();
    const write = async (row: string): Promise<void> => {
      await table.put(new Put(row).addColumn('f', 'q', 'v').addColumn('g', 'q', 'v'));
      acknowledged.add(row);
    };
    for (let i = 0; i < 30; i++) {
      work.push(write(`r${i}`));
      if (i % 7 === 3) work.push(engine.admin.flush('t'));
      if (i % 9 === 5) work.push(engine.admin.majorCompact('t'));
      if (i % 5 === 1) {
        const row = `l${i}`;
        const loaded = engine.bulkLoad('t', [cell(row, 'q', 1, CellType.Put, 'v')]);
        work.push(loaded.then(() => acknowledged.add(row)));
      }
      if (i === 12) work.push(engine.admin.split('t', bytes(`r${round}`)));
      if (i % 4 === 2) await new Promise((resolve) => setImmediate(resolve));
    }
    for (let i = 0; i < round * 3; i++) await new Promise((resolve) => setImmediate(resolve));
    await engine.close();
    await Promise.all(begun);
    expect(memory.openHandles).toBe(0);
    const again = await open(files);
    await again.verify();
    for (const row of acknowledged) {
      expect((await again.table('t').get(new Get(row))).isEmpty, row).toBe(false);
    }
    await again.close();
  }
});
