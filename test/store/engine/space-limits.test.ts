/** Limits of space: what is refused, what goes on, and the way back. */

import { expect, test } from 'vitest';
import { Column, defineEntity, defineTable, Entity, open, part, RowKey, Table } from '../../../src/index.js';
import { text } from '../../../src/key/codecs/index.js';
import {
  Append,
  CheckAndMutate,
  Delete,
  Increment,
  Put,
  RowMutations,
  tableDescriptor,
} from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { memoryStore, type TestStore } from './support.js';

const MiB = 1 << 20;
const VALUE = 'v'.repeat(10_000);
const put = (row: string): Put => new Put(row).addColumn('f', 'q', VALUE);
const SPACE = { code: 'ERR_SPACE' };

/** Puts rows until one is refused; returns how many were written. */
async function fill(store: TestStore, table = 't', from = 0): Promise<number> {
  for (let n = from; ; n++) {
    try {
      await store.engine.table(table).put(put(`row${n}`));
    } catch (error) {
      expect(error).toMatchObject(SPACE);
      return n - from;
    }
  }
}

async function limited(maxDiskSize?: number): Promise<TestStore> {
  const store = await memoryStore({ walPreparedSize: 0, ...(maxDiskSize !== undefined && { maxDiskSize }) });
  await store.engine.admin.createTable(tableDescriptor('t', { f: {} }));
  await store.engine.admin.createTable(tableDescriptor('u', { f: {} }));
  return store;
}

async function limitTable(store: TestStore, bytes: number): Promise<void> {
  const descriptor = await store.engine.admin.getDescriptor('t');
  await store.engine.admin.modifyTable({
    ...descriptor,
    configuration: { ...descriptor.configuration, 'rowan.maxDiskSize': String(bytes) },
  });
}

function diskBytes({ fileSystem }: TestStore): number {
  return fileSystem.readdir('/db').reduce((sum, name) => sum + fileSystem.fileSize(`/db/${name}`), 0);
}

/** Every way to add cells. */
function additions({ engine }: TestStore): Record<string, () => Promise<unknown>> {
  const t = engine.table('t');
  return {
    put: () => t.put(put('x')),
    putAll: () => t.putAll([put('x'), put('y')]),
    increment: () => t.increment(new Increment('x').addColumn('f', 'n', 1n)),
    append: () => t.append(new Append('x').addColumn('f', 'q', 'more')),
    mutateRow: () => t.mutateRow(new RowMutations('row1').add(new Delete('row1')).add(put('row1'))),
    checkAndMutate: () => t.checkAndMutate(CheckAndMutate.ifNotExists('f', Buffer.from('q'), put('new'))),
    batch: () => t.batch([put('x')], { atomic: true }),
    atomic: () => t.atomic!((step) => step.apply({ table: 't', change: put('x') })),
    transaction: () => engine.transaction((transaction) => transaction.table('t').put(put('x'))),
    bulkLoad: () => engine.bulkLoad('t', (async function* () {})()),
  };
}

test('a full store refuses everything that adds cells, and takes the rest', async () => {
  const store = await limited(MiB);
  const written = await fill(store);
  expect(written).toBeGreaterThan(30);
  // Memory and log have each row once.
  expect(written * VALUE.length).toBeLessThan(MiB);
  expect(diskBytes(store)).toBeLessThan(MiB + 17 * VALUE.length);
  for (const [name, add] of Object.entries(additions(store)))
    await expect(add(), name).rejects.toMatchObject(SPACE);
  await expect(store.engine.table('u').put(put('x'))).rejects.toMatchObject({
    ...SPACE,
    message: expect.stringMatching(
      /The store has \d+ bytes.*limit is 1048576.*larger maxDiskSize, or delete rows and compact/s,
    ),
    details: { limit: MiB },
  });
  const outcomes = await store.engine.table('t').batch([put('x'), new Delete('row0')]);
  expect(outcomes.map(({ ok }) => ok)).toEqual([false, true]);
  for (let n = 1; n < written; n++) await store.engine.table('t').delete(new Delete(`row${n}`));
  await store.engine.admin.majorCompact('t');
  await store.engine.table('t').put(put('again'));
  await store.reopen();
  expect(await fill(store)).toBeGreaterThan(30);
  await store.engine.close();
});

test('a full table refuses; others do not; a higher limit, or a truncation, helps', async () => {
  const store = await limited();
  await limitTable(store, MiB);
  const written = await fill(store);
  expect(written * VALUE.length).toBeGreaterThan(MiB / 2);
  expect(written * VALUE.length).toBeLessThan(MiB + 17 * VALUE.length);
  for (const [name, add] of Object.entries(additions(store)))
    await expect(add(), name).rejects.toMatchObject({ ...SPACE, details: { table: 't', limit: MiB } });
  await store.engine.table('u').put(put('x'));
  await limitTable(store, 2 * MiB);
  expect(await fill(store, 't', written)).toBeGreaterThan(written / 2);
  await store.engine.admin.flush('t');
  await expect(store.engine.table('t').put(put('x'))).rejects.toMatchObject(SPACE);
  await store.engine.admin.split('t', Buffer.from('row4'));
  await store.engine.admin.disableTable('t');
  await store.engine.admin.truncateTable('t');
  await store.engine.table('t').put(put('x'));
  await store.engine.close();
});

test('a limit is looked at before every batch of many rows, of entities as of rows', async () => {
  const declare = (table: string, indexed: boolean) =>
    defineEntity({
      name: table,
      table: defineTable({ name: table, families: { d: {} } }),
      key: [part('id')],
      columns: (c) => ({ title: c.column('d:t', text) }),
      indexes: indexed ? { byTitle: { on: [part('title')] } } : {},
    });
  const [Plain, Indexed] = [declare('plain', false), declare('indexed', true)];
  const db = await open({
    path: '/db',
    entities: [Plain, Indexed],
    fileSystem: new MemoryFileSystem(),
    automatic: false,
    walPreparedSize: 0,
    maxDiskSize: MiB,
  });
  const rows = (from: number) =>
    Array.from({ length: 50 }, (_, n) => ({ id: `n${from}-${n}`, title: VALUE }));
  const batches = {
    plain: (n: number) => db.repository(Plain).putMany(rows(n)),
    indexed: (n: number) => db.repository(Indexed).putMany(rows(n)),
    rows: (n: number) =>
      db.engine.table('plain').putAll(rows(n).map(({ id }) => new Put(id).addColumn('d', 't', VALUE))),
  };
  await batches.plain(0);
  await batches.plain(1);
  for (const [name, write] of Object.entries(batches))
    await expect(write(2), name).rejects.toMatchObject(SPACE);
  expect(await db.repository(Plain).find({}, { fullScan: true }).count()).toBe(100);
  expect(await db.repository(Indexed).find({}, { fullScan: true }).count()).toBe(0);
  await db.close();
});

test('a delete of an entity takes effect with everything that belongs to it', async () => {
  @Table({ name: 'notes', families: { d: {} } })
  class Notes {}
  @Entity({ table: Notes, changes: { keep: 1000 } })
  @RowKey(part('id', text))
  class Note {
    declare static readonly key: ['id'];
    id!: string;
    @Column('d:t', text) title!: string;
  }
  const db = await open({
    path: '/db',
    entities: [Note],
    fileSystem: new MemoryFileSystem(),
    automatic: false,
    maxDiskSize: MiB,
  });
  const notes = db.repository(Note);
  let written = 0;
  await expect(
    (async () => {
      for (; ; written++) await notes.put({ id: `n${written}`, title: VALUE });
    })(),
  ).rejects.toMatchObject(SPACE);
  expect(written).toBeGreaterThan(10);
  // Its change is recorded in another table.
  await notes.delete({ id: 'n0' });
  expect(await notes.get({ id: 'n0' })).toBeNull();
  await expect(notes.put({ id: 'n0', title: VALUE })).rejects.toMatchObject(SPACE);
  await db.close();
});
