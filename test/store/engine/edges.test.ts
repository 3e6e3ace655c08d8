/** What is refused, and what failures leave behind. */

import { expect, test } from 'vitest';
import { openEmbedded } from '../../../src/store/engine.js';
import {
  Append,
  Cell,
  CellType,
  Get,
  Increment,
  LATEST_TIMESTAMP,
  tableDescriptor,
} from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { FaultFileSystem } from '../fs/fault-fs.js';
import { contents, createTable, memoryStore, put } from './support.js';

test('a batch that only reads works on a read-only table', async () => {
  const store = await memoryStore();
  const table = await createTable(store.engine);
  await table.put(put('a', '1'));
  await store.engine.admin.modifyTable(tableDescriptor('t', { f: {} }, { readOnly: true }));
  const [read] = await table.batch([new Get('a')]);
  expect(read!.ok && read!.result.cells.length).toBe(1);
  await expect(table.batch([put('b', '2')])).rejects.toMatchObject({ code: 'ERR_READONLY' });
  await store.engine.close();
});

test('nothing can be written behind the greatest timestamp', async () => {
  const store = await memoryStore();
  const table = await createTable(store.engine);
  await table.put(put('a', '12345678', 'f', 'q', LATEST_TIMESTAMP - 1));
  const wrong = { code: 'ERR_INVALID_ARGUMENT' };
  await expect(table.increment(new Increment('a').addColumn('f', 'q', 1))).rejects.toMatchObject(wrong);
  await expect(table.append(new Append('a').addColumn('f', 'q', 'x'))).rejects.toMatchObject(wrong);
  expect(await contents(table)).toEqual(['a f:q=12345678']);
  await store.engine.close();
});

test('a clock that tells no whole milliseconds is refused before anything is written', async () => {
  const store = await memoryStore();
  const table = await createTable(store.engine);
  const before = store.now;
  for (const wrong of [1.5, Number.NaN, -1]) {
    store.now = wrong;
    await expect(table.put(put('a', '1'))).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
  }
  store.now = before;
  expect(await contents(table)).toEqual([]);
  await store.engine.close();
});

test('a bulk load of cells that nobody could write loads nothing', async () => {
  const store = await memoryStore();
  const table = await createTable(store.engine);
  const bytes = (text: string): Buffer => Buffer.from(text);
  const good = new Cell(bytes('a'), 'f', bytes('q'), 1, CellType.Put, bytes('v'));
  const wrong = [
    new Cell(bytes('b'), 'f', bytes('q'), LATEST_TIMESTAMP, CellType.Put, bytes('v')),
    new Cell(bytes('b'), 'f', bytes('q'), -1, CellType.Put, bytes('v')),
    new Cell(bytes('b'), 'f', bytes('q'), 1, 5 as CellType, bytes('v')),
    new Cell(Buffer.alloc(40_000), 'f', bytes('q'), 1, CellType.Put, bytes('v')),
  ];
  for (const cell of wrong) {
    const load = store.engine.bulkLoad('t', [good, cell]);
    await expect(load).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
  }
  expect(await contents(table)).toEqual([]);
  expect(store.fileSystem.readdir('/db').filter((name) => name.endsWith('.sst'))).toEqual([]);
  await store.engine.close();
});

test('files that could not be recorded are removed, and the work can be done again', async () => {
  const memory = new MemoryFileSystem();
  const files = new FaultFileSystem(memory);
  const engine = await openEmbedded('/db', { fileSystem: files, automatic: false });
  const table = await createTable(engine);
  const sorted = (): number => memory.readdir('/db').filter((name) => name.endsWith('.sst')).length;
  const refused = async (work: () => Promise<void>): Promise<void> => {
    const before = sorted();
    files.inject({ calls: ['write'], path: /MANIFEST/, errno: 'ENOSPC' });
    await expect(work()).rejects.toMatchObject({ code: 'ERR_IO' });
    files.clear();
    expect(sorted()).toBe(before);
    await work();
  };
  for (let round = 0; round < 4; round++) {
    await table.put(put(`r${round}`, 'v'));
    await refused(() => engine.admin.flush('t'));
    if (round > 0) await refused(() => engine.admin.majorCompact('t'));
  }
  expect(sorted()).toBe(1);
  expect((await contents(table)).length).toBe(4);
  await engine.close();
});

test('a write that the log refuses while its region is split is in neither daughter', async () => {
  const memory = new MemoryFileSystem();
  const files = new FaultFileSystem(memory);
  const engine = await openEmbedded('/db', { fileSystem: files, automatic: false });
  const table = await createTable(engine);
  await table.putAll([put('a', '1'), put('m', '1')]);
  for (let distance = 0; distance < 60; distance++) {
    const [region] = await engine.admin.getRegions('t');
    const key = `f${String(99 - distance)}`;
    expect(Buffer.from(region!.startKey).toString()).toBe('');
    const split = Promise.allSettled([engine.admin.split('t', Buffer.from(key))]);
    for (let i = 0; i < distance; i++) await null;
    files.inject({ calls: ['write'], path: /\.wal$/, errno: 'ENOSPC' });
    const outcome = await table.put(put(`b${distance}`, 'x')).then(
      () => 'written',
      () => 'refused',
    );
    files.clear();
    await split;
    const found = (await table.get(new Get(`b${distance}`))).isEmpty ? 'refused' : 'written';
    expect(found, `${distance} turns`).toBe(outcome);
  }
  await engine.close();
});
