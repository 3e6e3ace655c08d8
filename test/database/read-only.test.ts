/** A database of entities that is read beside the one that writes. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { defineEntity, part } from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import { open, openAdmin } from '../../src/index.js';

const Author = defineEntity({
  name: 'Author',
  table: { name: 'authors', families: { d: {} } },
  key: [part('id')],
  columns: (c) => ({ name: c.column('d:n', text), born: c.column('d:b', int32) }),
  indexes: { byName: { on: [part('name')] } },
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
