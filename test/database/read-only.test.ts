/** A database of entities that is read beside the one that writes. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { defineEntity, part } from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import { open, openAdmin } from '../../src/index.js';
import { sqlTable } from '../../src/public/jobs.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { FaultFileSystem } from '../store/fs/fault-fs.js';

const Author = defineEntity({
  name: 'Author',
  table: { name: 'authors', families: { d: {} } },
  key: [part('id')],
  columns: (c) => ({ name: c.column('d:n', text), born: c.column('d:b', int32) }),
  indexes: { byName: { on: [part('name')] } },
});

const Maker = defineEntity({
  name: 'Maker',
  table: { name: 'makers', families: { d: {} } },
  key: [part('id')],
  columns: (c) => ({ name: c.column('d:n', text).optional() }),
});
const Car = defineEntity({
  name: 'Car',
  table: { name: 'cars', families: { d: {} } },
  key: [part('id')],
  columns: (c) => ({
    maker: c.column('d:m', text).optional(),
    makerName: c.column('d:k', text).optional(),
    price: c.column('d:p', int32),
    tags: c.json<string[]>('d:t').optional(),
  }),
  indexes: {
    byTag: { on: [part('tags')] },
    byPrice: { on: [part('price', int32)], unique: true },
    soon: { on: [part('price', int32), part('maker')], consistency: 'eventual' },
  },
  summaries: {
    perMaker: { by: ['maker'], figures: { cars: 'count', total: { sum: 'price' }, least: { min: 'price' } } },
  },
  denormalized: [{ from: () => Maker, via: { id: 'maker' }, fields: { makerName: 'name' } }],
});

function folderOf(): string {
  const folder = mkdtempSync(join(tmpdir(), 'rowan-read-only-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

test('entities and their indexes are read as they are at each look, and nothing can be written', async () => {
  const path = folderOf();
  await using writer = await open({ path, entities: [Author], background: 'inline' });
  const authors = writer.repository(Author);
  await authors.put({ id: 'a', name: 'Ada', born: 1815 });
  await using reader = await open({ path, entities: [Author], readOnly: true });
  const read = reader.repository(Author);
  expect(await read.get({ id: 'a' })).toMatchObject({ name: 'Ada' });
  await authors.put({ id: 'b', name: 'Bea', born: 1900 });
  expect(await read.get({ id: 'b' })).toBeNull();
  const { lastSeq, opener } = await reader.engine.refresh();
  expect([lastSeq, opener]).toEqual([reader.engine.moment.lastSeq, process.pid]);
  expect(await read.by('byName').find({ name: 'Bea' }).all()).toMatchObject([{ id: 'b' }]);
  expect(await read.find({}, { fullScan: true }).count()).toBe(2);

  const refused = { code: 'ERR_READONLY' };
  await expect(read.put({ id: 'c', name: 'C', born: 1 })).rejects.toMatchObject(refused);
  await expect(read.update({ id: 'a' }, { born: 2 })).rejects.toMatchObject(refused);
  await expect(read.delete({ id: 'a' })).rejects.toMatchObject(refused);
  await expect(reader.transaction(async () => 1)).rejects.toMatchObject(refused);
  await expect(reader.batch((batch) => batch.of(Author).delete({ id: 'a' }))).rejects.toMatchObject(refused);
  await expect(
    reader.batch((batch) => batch.of(Author).delete({ id: 'a' }), { atomic: true }),
  ).rejects.toMatchObject(refused);
  await expect(reader.index(Author, 'byName').build()).rejects.toMatchObject(refused);
  await expect(reader.admin.disableTable('authors')).rejects.toMatchObject(refused);
  expect(() => reader.watch(Author)).toThrow(expect.objectContaining({ code: 'ERR_UNSUPPORTED' }));
});

test('a job that only reads runs, and one that writes is refused', async () => {
  const path = folderOf();
  {
    await using writer = await open({ path, entities: [Author] });
    await writer
      .repository(Author)
      .putMany(Array.from({ length: 50 }, (_, i) => ({ id: `a${i}`, name: `n${i % 5}`, born: i })));
  }
  await using reader = await open({ path, entities: [Author], readOnly: true });
  expect(reader.engine.moment.opener).toBeUndefined();
  const seen: string[] = [];
  for (let run = 0; run < 2; run++) {
    await reader
      .job('names')
      .from(reader.repository(Author).find({}, { fullScan: true }))
      .map((author, _emit, context) => {
        seen.push(author.id);
        context.count('seen');
      })
      .run();
  }
  expect(seen.length).toBe(100);
});

test('a database is not made by being read, and options that contradict are refused', async () => {
  const path = folderOf();
  await expect(open({ path, entities: [Author], readOnly: true })).rejects.toMatchObject({
    code: 'ERR_NOT_A_STORE',
  });
  const code = 'ERR_INVALID_ARGUMENT';
  const entities = [Author];
  await expect(open({ path, entities, readOnly: true, tables: 'create' })).rejects.toMatchObject({ code });
  await expect(open({ path, entities, refreshEvery: 5 })).rejects.toMatchObject({ code });
  await expect(open({ path, entities, readOnly: true, refreshEvery: 0 })).rejects.toMatchObject({ code });
  await expect(open({ path, entities, readOnly: 'yes' as never })).rejects.toMatchObject({ code });
  {
    await using writer = await openAdmin({ path });
    await using reader = await openAdmin({ path, readOnly: true });
    expect(await reader.admin.listTables()).toEqual(await writer.admin.listTables());
  }
  // Its tables are declared and not there.
  await expect(open({ path, entities, readOnly: true })).rejects.toMatchObject({
    code: 'ERR_TABLE_NOT_FOUND',
    // Whoever reads this has no database whose methods could be called.
    message: expect.stringMatching(/Create it: open a database that may write with \{ tables: 'create' \}/),
  });
});

test('a reader checks the schemas of Avro columns, and registers none', async () => {
  const text = { name: 'text', type: 'string' };
  const declared = (...fields: readonly object[]) =>
    defineEntity({
      name: 'Order',
      table: { name: 'avro_orders', families: { d: {} } },
      key: [part('id')],
      columns: (c) => ({ line: c.avro('d:l', { type: 'record', name: 'Line', fields } as never) }),
    });
  const path = folderOf();
  const Order = declared(text);
  {
    await using writer = await open({ path, entities: [Order], background: 'inline' });
    await writer.repository(Order).put({ id: 'a', line: { text: 'one' } } as never);
  }
  {
    await using reader = await open({ path, entities: [Order], readOnly: true });
    expect(await reader.repository(Order).get({ id: 'a' })).toMatchObject({ line: { text: 'one' } });
  }
  // What could not read the values that are there is refused when it is opened.
  const Other = declared(text, { name: 'added', type: 'int' });
  await expect(open({ path, entities: [Other], readOnly: true })).rejects.toMatchObject({
    code: 'ERR_SCHEMA',
    message: expect.stringContaining('not compatible'),
  });
});

test('summaries are read, and what is made of rows is checked', async () => {
  const path = folderOf();
  const entities = [Maker, Car];
  await using writer = await open({ path, entities, background: 'inline' });
  await writer.repository(Maker).put({ id: 'm', name: 'Mo' });
  await writer
    .repository(Car)
    .putMany([1, 2, 3].map((n) => ({ id: `c${n}`, maker: 'm', price: n, tags: ['x'] })));
  await writer.index(Car, 'soon').drain();
  const events: unknown[] = [];
  await using reader = await open({ path, entities, readOnly: true, onEvent: (event) => events.push(event) });
  const summary = reader.summary(Car, 'perMaker');
  expect(await summary.state()).toBe('active');
  const figures = { maker: 'm', cars: 3, total: 6, least: 1 };
  expect(await summary.get({ maker: 'm' })).toMatchObject(figures);
  expect(await summary.find({})).toMatchObject([figures]);
  for (const index of ['byTag', 'byPrice', 'soon'] as const) {
    const report = await reader.index(Car, index).verify();
    expect({ index, ...report }).toMatchObject({ valid: 3, missing: 0, extra: 0, stale: 0 });
  }
  expect(await reader.denormalized(Car).check()).toMatchObject({ rows: 3, valid: 3 });
  await expect(reader.denormalized(Car).repair()).rejects.toMatchObject({ code: 'ERR_READONLY' });
  await expect(summary.check()).rejects.toMatchObject({ code: 'ERR_READONLY' });
  await writer.repository(Car).delete({ id: 'c1' });
  await reader.engine.refresh();
  expect(await summary.get({ maker: 'm' })).toMatchObject({ cars: 2, total: 5, least: 2 });
  expect(events).toEqual([]);
});

test('figures that still count expired rows are read without them where nothing can be written', async () => {
  let now = 1_700_000_000_000;
  const clock = () => now;
  const Visit = defineEntity({
    name: 'Visit',
    table: { name: 'visits', families: { d: {} } },
    key: [part('id')],
    columns: (c) => ({ page: c.column('d:p', text), size: c.column('d:s', int32) }),
    summaries: {
      perPage: { by: ['page'], figures: { visits: 'count', total: { sum: 'size' }, most: { max: 'size' } } },
    },
    ttl: 1000,
  });
  const path = folderOf();
  await using writer = await open({ path, entities: [Visit], background: 'inline', clock });
  const visits = writer.repository(Visit);
  const put = (from: number, to: number, page: string) =>
    visits.putMany(
      Array.from({ length: to - from }, (_, i) => ({ id: `${from + i}`, page, size: from + i })),
    );
  // More than are read at once.
  await put(0, 600, 'x');
  await put(600, 610, 'y');
  now += 500;
  await put(1000, 1003, 'x');
  await put(610, 612, 'z');
  await using reader = await open({ path, entities: [Visit], readOnly: true, clock });
  const figures = reader.summary(Visit, 'perPage');
  expect(await figures.get({ page: 'x' })).toEqual({ page: 'x', visits: 603, total: 182_703, most: 1002 });
  now += 700;
  const rest = [
    { page: 'x', visits: 3, total: 3003, most: 1002 },
    { page: 'z', visits: 2, total: 1221, most: 611 },
  ];
  expect(await figures.find({})).toEqual(rest);
  expect(await figures.get({ page: 'x' })).toEqual(rest[0]);
  expect(await figures.get({ page: 'y' })).toBeNull();
  expect(await writer.summary(Visit, 'perPage').find({})).toEqual(rest);
  await reader.engine.refresh();
  expect(await figures.find({})).toEqual(rest);
  now += 1000;
  expect(await figures.find({})).toEqual([]);
});

test('writes and checks read tables that take no writes, and a table without writes is checked', async () => {
  await using db = await open({ path: folderOf(), entities: [Maker, Car], background: 'inline' });
  const [makers, cars] = [db.repository(Maker), db.repository(Car)];
  const freeze = async (table: string) =>
    db.admin.modifyTable({ ...(await db.admin.getDescriptor(table)), readOnly: true });
  const refused = { code: 'ERR_READONLY' };
  await makers.put({ id: 'm', name: 'Mo' });
  await freeze('makers');
  await cars.put({ id: 'c1', maker: 'm', price: 1, tags: ['x'] });
  expect(await cars.get({ id: 'c1' })).toMatchObject({ makerName: 'Mo' });
  await expect(makers.put({ id: 'm', name: 'Moe' })).rejects.toMatchObject(refused);
  await expect(makers.delete({ id: 'm' })).rejects.toMatchObject(refused);
  await db.index(Car, 'soon').drain();
  await freeze('cars');
  expect(await db.summary(Car, 'perMaker').get({ maker: 'm' })).toMatchObject({ cars: 1, least: 1 });
  for (const index of ['byTag', 'byPrice', 'soon'] as const)
    expect(await db.index(Car, index).verify()).toMatchObject({ valid: 1, missing: 0, extra: 0, stale: 0 });
  expect(await db.denormalized(Car).check()).toMatchObject({ rows: 1, valid: 1 });
  await expect(cars.update({ id: 'c1' }, { price: 2 })).rejects.toMatchObject(refused);
  await expect(cars.put({ id: 'c2', price: 2 })).rejects.toMatchObject(refused);
  await expect(cars.putMany([{ id: 'c2', price: 2 }])).rejects.toMatchObject(refused);
  await expect(cars.delete({ id: 'c1' })).rejects.toMatchObject(refused);
  expect(await db.index(Car, 'byPrice').verify()).toMatchObject({ valid: 1 });
});

test('a store whose log has failed reads summaries, and checks what is made of rows', async () => {
  const fileSystem = new FaultFileSystem(new MemoryFileSystem());
  await using db = await open({ path: '/failing', entities: [Maker, Car], fileSystem, background: 'inline' });
  await db.repository(Maker).put({ id: 'm', name: 'Mo' });
  await db.repository(Car).put({ id: 'c1', maker: 'm', price: 1, tags: ['x'] });
  await db.index(Car, 'soon').drain();
  await db.engine.quiet();
  fileSystem.inject({ calls: ['sync'], times: Number.POSITIVE_INFINITY });
  await expect(db.repository(Car).put({ id: 'c2', maker: 'm', price: 2 })).rejects.toThrow();
  await expect(db.repository(Car).put({ id: 'c2', maker: 'm', price: 2 })).rejects.toMatchObject({
    code: 'ERR_READONLY',
  });
  expect(await db.summary(Car, 'perMaker').get({ maker: 'm' })).toMatchObject({
    cars: 1,
    total: 1,
    least: 1,
  });
  expect(await db.summary(Car, 'perMaker').state()).toBe('active');
  expect(await db.denormalized(Car).check()).toMatchObject({ rows: 1, valid: 1 });
  await expect(db.denormalized(Car).repair()).rejects.toMatchObject({ code: 'ERR_READONLY' });
  fileSystem.clear();
});

test('who may not write fills a relational table that takes items anew', async () => {
  const fileSystem = new FaultFileSystem(new MemoryFileSystem());
  await using db = await open({ path: '/failing', entities: [Author], fileSystem, background: 'inline' });
  const authors = db.repository(Author);
  await authors.put({ id: 'a', name: 'Ada', born: 1815 });
  await db.engine.quiet();
  fileSystem.inject({ calls: ['sync'], times: Number.POSITIVE_INFINITY });
  await expect(authors.put({ id: 'b', name: 'Bea', born: 1900 })).rejects.toThrow();
  const statements: string[] = [];
  const fill = (key: readonly 'id'[]) =>
    db
      .job('authors')
      .from(authors.find({ id: 'a' }))
      .map<string, { id: string; born: number }>(({ id, born }, emit) => emit(id, { id, born }))
      .to(
        sqlTable<{ id: string; born: number }>({
          dialect: 'sqlite',
          table: 'authors',
          columns: ['id', 'born'],
          key,
          connect: () => ({ execute: (sql) => void statements.push(sql) }),
        }),
      )
      .run();
  await fill(['id']);
  expect(statements).toHaveLength(1);
  // What was inserted before a kill would be inserted twice.
  await expect(fill([])).rejects.toMatchObject({ code: 'ERR_READONLY' });
  fileSystem.clear();
});
