/** Changes of one table that come while others are under way, with every distance between them. */

import { describe, expect, test } from 'vitest';
import type { EmbeddedEngine } from '../../../src/store/engine.js';
import { Cell, CellType, Delete, Scan, type Table, tableDescriptor } from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { scaled } from '../../proof/scale.js';
import { contents, createTable, memoryStore, put, type TestStore } from './support.js';

const FAMILIES = { f: {}, g: {} };
/** Turns of the microtask queue between the first operation and the second. */
const DISTANCES = scaled([0, 11], [0, 3, 11, 30], [0, 1, 2, 3, 4, 5, 7, 11, 15, 20, 30, 45]);

interface Operation {
  readonly name: string;
  run(engine: EmbeddedEngine): Promise<unknown>;
  /** What it adds to the contents. */
  readonly adds?: string;
}

const operations: Operation[] = [
  { name: 'flush', run: (engine) => engine.admin.flush('t') },
  { name: 'flush of one family', run: (engine) => engine.admin.flush('t', 'f') },
  { name: 'compaction', run: (engine) => engine.admin.compact('t') },
  { name: 'major compaction', run: (engine) => engine.admin.majorCompact('t') },
  { name: 'split', run: (engine) => engine.admin.split('t', Buffer.from('r3')) },
  { name: 'split elsewhere', run: (engine) => engine.admin.split('t', Buffer.from('r5')) },
  { name: 'merge of regions', run: (engine) => mergeAll(engine) },
  {
    name: 'altering',
    run: (engine) =>
      engine.admin.modifyTable(tableDescriptor('t', { ...FAMILIES, f: { compression: 'GZ' }, h: {} })),
  },
  {
    name: 'bulk load',
    run: (engine) =>
      engine.bulkLoad('t', [
        new Cell(Buffer.from('x1'), 'f', Buffer.from('q'), 5, CellType.Put, Buffer.from('bulk')),
      ]),
    adds: 'x1 f:q=bulk',
  },
  { name: 'put', run: (engine) => engine.table('t').put(put('x2', 'late', 'g')), adds: 'x2 g:q=late' },
  { name: 'checkpoint', run: (engine) => engine.checkpoint('/copy') },
  { name: 'verification', run: (engine) => engine.verify() },
];

async function prepared(
  splitKeys: readonly string[] = ['r4'],
): Promise<{ store: TestStore; table: Table; expected: string[] }> {
  const store = await memoryStore();
  const keys = splitKeys.map((key) => Buffer.from(key));
  const table = await createTable(store.engine, FAMILIES, {}, keys);
  const expected: string[] = [];
  for (let i = 0; i < 8; i++) {
    if (i === 3 || i === 6) await store.engine.admin.flush('t');
    for (const family of ['f', 'g']) {
      await table.put(put(`r${i}`, `${i}`, family));
      expected.push(`r${i} ${family}:q=${i}`);
    }
  }
  return { store, table, expected };
}

/** All regions of the table, unless another change of them comes first. */
async function mergeAll({ admin }: EmbeddedEngine): Promise<void> {
  const names = (await admin.getRegions('t')).map(({ name }) => name);
  await admin.mergeRegions(names).catch((error: unknown) => {
    if ((error as { code?: string }).code !== 'ERR_INVALID_ARGUMENT') throw error;
  });
}

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
}

async function microtasks(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await null;
}

describe('two changes of a table at once lose nothing', () => {
  for (const first of operations) {
    test(`${first.name}, and each other`, async () => {
      for (const [index, second] of operations.entries()) {
        if (second === first) continue;
        // Of each pair every other distance, and of the pair turned round the others.
        const parity = index > operations.indexOf(first) ? 0 : 1;
        for (const distance of DISTANCES.filter((_, at) => at % 2 === parity)) {
          const { store, expected } = await prepared();
          const one = first.run(store.engine);
          await microtasks(distance);
          await Promise.all([one, second.run(store.engine)]);
          for (const { adds } of [first, second]) if (adds) expected.push(adds);
          expected.sort();
          const where = `${first.name}, ${distance} turns, ${second.name}`;
          expect(await contents(store.engine.table('t')), where).toEqual(expected);
          await store.reopen();
          expect(await contents(store.engine.table('t')), where).toEqual(expected);
          await store.engine.verify();
          const names = (await store.engine.admin.getDescriptor('t')).families.map((family) => family.name);
          for (const family of names) await store.engine.table('t').put(put('r4', 'new', family));
          await store.engine.close();
        }
      }
    });
  }
});

test('a split of a table with a family that was never written to: the store opens again', async () => {
  const store = await memoryStore();
  await (await createTable(store.engine, FAMILIES)).putAll([put('a', '1'), put('b', '2')]);
  await store.engine.admin.split('t', Buffer.from('b'));
  await store.reopen();
  expect(await contents(store.engine.table('t'))).toEqual(['a f:q=1', 'b f:q=2']);
  await store.engine.close();
});

test('of two splits at once each happens', async () => {
  const { store } = await prepared([]);
  const { admin } = store.engine;
  await Promise.all(['r2', 'r6', 'r4'].map((key) => admin.split('t', Buffer.from(key))));
  const starts = (await admin.getRegions('t')).map((region) => Buffer.from(region.startKey).toString());
  expect(starts).toEqual(['', 'r2', 'r4', 'r6']);
  await store.engine.close();
});

/** Runs two changes that begin before a sync of either ends; then one sync after the other ends, in their order. */
async function whileRecorded(
  first: (engine: EmbeddedEngine) => Promise<unknown>,
  second: (engine: EmbeddedEngine) => Promise<unknown>,
): Promise<TestStore> {
  const held: (() => void)[] = [];
  let holds = false;
  const syncDelay = async (): Promise<void> => {
    if (holds) await new Promise<void>((resolve) => held.push(resolve));
  };
  const store = await memoryStore({ fileSystem: new MemoryFileSystem({ syncDelay }) });
  const table = await createTable(store.engine, FAMILIES);
  await table.putAll(['r1', 'r4', 'r7'].map((row) => put(row, 'old')));
  await store.engine.admin.flush('t');
  holds = true;
  const one = first(store.engine);
  await turns(20);
  const both = Promise.all([one, second(store.engine)]).finally(() => (holds = false));
  for (; holds; held.shift()?.()) await turns(20);
  await both;
  return store;
}

const split = ({ admin }: EmbeddedEngine) => admin.split('t', Buffer.from('r4'));

test('a split while a family is added: both halves have it', async () => {
  const adding = ({ admin }: EmbeddedEngine) =>
    admin.modifyTable(tableDescriptor('t', { ...FAMILIES, h: {} }));
  const store = await whileRecorded(adding, split);
  const table = store.engine.table('t');
  await table.putAll([put('r2', 'new', 'h'), put('r5', 'new', 'h')]);
  const all = ['r1 f:q=old', 'r2 h:q=new', 'r4 f:q=old', 'r5 h:q=new', 'r7 f:q=old'];
  expect(await contents(table)).toEqual(all);
  await store.engine.close();
});

test('a bulk load while a region is split: both halves have it', async () => {
  const cell = (row: string) =>
    new Cell(Buffer.from(row), 'f', Buffer.from('q'), 5, CellType.Put, Buffer.from('bulk'));
  const loading = (engine: EmbeddedEngine) => engine.bulkLoad('t', [cell('r2'), cell('r5')]);
  const store = await whileRecorded(split, loading);
  const all = ['r1 f:q=old', 'r2 f:q=bulk', 'r4 f:q=old', 'r5 f:q=bulk', 'r7 f:q=old'];
  expect(await contents(store.engine.table('t'))).toEqual(all);
  await store.reopen();
  expect(await contents(store.engine.table('t'))).toEqual(all);
  await store.engine.close();
});

test('a table is made once, though twice asked for at once', async () => {
  const store = await memoryStore();
  const outcomes = await Promise.allSettled([createTable(store.engine), createTable(store.engine)]);
  expect(outcomes.filter(({ status }) => status === 'fulfilled').length).toBe(1);
  await store.reopen();
  expect((await store.engine.admin.listTables()).length).toBe(1);
  await store.engine.close();
});

describe('the end of a table or store while it is worked on', () => {
  const changes = operations.filter(({ name }) => name !== 'put' && name !== 'altering');

  test('a table is dropped: the store goes on, and nothing of the table is left on the disk', async () => {
    for (const operation of changes) {
      for (const distance of DISTANCES) {
        const { store } = await prepared();
        const running = Promise.allSettled([operation.run(store.engine)]);
        await microtasks(distance);
        await store.engine.admin.disableTable('t');
        await store.engine.admin.deleteTable('t');
        await running;
        const files = store.fileSystem.readdir('/db').filter((name) => name.endsWith('.sst'));
        expect(files, `${operation.name}, ${distance} turns`).toEqual([]);
        const table = await createTable(store.engine, FAMILIES);
        expect(await contents(table)).toEqual([]);
        await store.reopen();
        expect(await contents(store.engine.table('t'))).toEqual([]);
        await store.engine.close();
      }
    }
  });

  test('the store is closed: it opens again with everything', async () => {
    for (const operation of changes) {
      for (const distance of DISTANCES) {
        const { store, expected } = await prepared();
        const running = Promise.allSettled([operation.run(store.engine)]);
        await microtasks(distance);
        await Promise.all([store.engine.close(), store.engine.close()]);
        const [outcome] = await running;
        await store.reopen();
        const found = await contents(store.engine.table('t'));
        if (outcome!.status === 'fulfilled' && operation.adds) expected.push(operation.adds);
        expect(found, `${operation.name}, ${distance} turns`).toEqual(expected.sort());
        await store.engine.close();
      }
    }
  });

  test('a scan goes on over a family that was dropped and a table that was', async () => {
    const { store, table } = await prepared();
    await store.engine.admin.flush('t');
    const scanner = table.scan(new Scan());
    expect((await scanner.nextBatch(2)).length).toBe(2);
    await store.engine.admin.modifyTable(tableDescriptor('t', { g: {} }));
    expect((await scanner.nextBatch(2)).flatMap((result) => result.cells).length).toBe(4);
    await store.engine.admin.disableTable('t');
    await store.engine.admin.deleteTable('t');
    expect((await scanner.nextBatch(9)).flatMap((result) => result.cells).length).toBe(8);
    await scanner.close();
    expect(store.fileSystem.readdir('/db').filter((name) => name.endsWith('.sst'))).toEqual([]);
    await store.engine.close();
  });
});

describe('a put below a marker, written while a compaction drops the marker, is told as a loss of copies', () => {
  /** Where the put comes: before the compaction merges, and while its result is recorded. */
  const moments: readonly ['compactionBegin' | 'sync', string][] = [
    ['compactionBegin', 'before the merge'],
    ['sync', 'after the merge'],
  ];
  test.each(moments)('%s: %s', async (moment) => {
    let due = false;
    let written: Promise<void> | undefined;
    const write = (): void => {
      if (due) written = store.engine.table('t').put(put('a', 'early', 'f', 'q', 5));
      due = false;
    };
    const syncDelay = async (): Promise<void> => {
      if (moment === 'sync') write();
    };
    const store = await memoryStore({
      compaction: { minFiles: 2 },
      fileSystem: new MemoryFileSystem({ syncDelay }),
      onEvent: ({ kind }) => {
        if (kind === 'compactionBegin') due = true;
        if (kind === moment) write();
      },
    });
    const table = await createTable(store.engine);
    await table.delete(new Delete('a').addColumns('f', 'q', 7));
    await store.engine.admin.flush('t');
    await table.put(put('b', 'other'));
    await store.engine.admin.flush('t');
    expect(await store.engine.admin.changesOf('t')).toMatchObject({ lastLoss: undefined });
    await store.engine.admin.compact('t');
    await written;
    expect(await contents(table)).toEqual(['a f:q=early', 'b f:q=other']);
    const told = await store.engine.admin.changesOf('t');
    expect(told).toMatchObject({ lastLoss: expect.any(String), droppedMarkersUntil: 7 });
    await store.reopen();
    expect(await store.engine.admin.changesOf('t')).toMatchObject({ lastLoss: told.lastLoss });
    await store.engine.close();
  });

  test('and one written later is not', async () => {
    const { engine } = await memoryStore();
    const table = await createTable(engine);
    await table.delete(new Delete('a').addColumns('f', 'q', 7));
    await engine.admin.majorCompact('t');
    await table.put(put('a', 'early', 'f', 'q', 5));
    expect(await engine.admin.changesOf('t')).toMatchObject({ lastLoss: undefined, lastDroppedMarker: 1 });
    await engine.close();
  });
});
