/** Files of entities loaded into rows of before: of an older version, or with columns that have moved. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { defineEntity, defineTable, upgrade } from '../../decorators/index.js';
import { int64, text } from '../../src/codec/index.js';
import { type Database, open } from '../../src/database.js';
import { part } from '../../src/key/index.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import { Get } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { bulkLoadFiles } from '../../src/tools/bulk-load.js';

const table = defineTable({ name: 'people', families: { d: {} } });

const First = defineEntity({
  name: 'Person',
  table,
  key: [part('id')],
  columns: (c) => ({ name: c.column('d:n', text).optional(), seen: c.column('d:s', int64).optional() }),
}) as unknown as KeyedClass;

const halves = upgrade(
  1,
  { old: (c) => ({ name: c.column('d:n', text).optional() }), sets: ['first', 'last'] },
  ({ name }) => ({ first: name?.split(' ')[0], last: name?.split(' ')[1] }),
);

const Upgraded = defineEntity({
  name: 'Person',
  table,
  key: [part('id')],
  schemaVersion: 2,
  upgrades: [halves],
  columns: (c) => ({
    first: c.column('d:f', text).optional(),
    last: c.column('d:l', text).optional(),
    seen: c.column('d:s', int64).optional(),
  }),
}) as unknown as KeyedClass;

const Moved = defineEntity({
  name: 'Person',
  table,
  key: [part('id')],
  columns: (c) => ({
    name: c.column('d:name', text, { was: ['d:n'] }).optional(),
    seen: c.column('d:seen', int64, { was: ['d:s'] }).optional(),
  }),
}) as unknown as KeyedClass;

let folder: string;
let fileSystem: MemoryFileSystem;
beforeEach(async () => {
  fileSystem = new MemoryFileSystem();
  folder = await mkdtemp(join(tmpdir(), 'rowan-load-'));
});
afterEach(() => rm(folder, { recursive: true }));

const openWith = (entity: KeyedClass): Promise<Database> =>
  open({ path: '/store', fileSystem, entities: [entity] });

async function load(db: Database, entity: KeyedClass, entities: readonly object[]): Promise<void> {
  const path = join(folder, 'people.ndjson');
  await writeFile(path, entities.map((one) => `${JSON.stringify(one)}\n`).join(''));
  await bulkLoadFiles(db.engine, 'people', [path], {
    format: 'ndjson',
    folder: join(folder, 'sorting'),
    items: { skipBadLines: false },
    entities: { target: db.repository(entity), schema: db.schema.entity(entity) },
  });
}

const all = (db: Database, entity: KeyedClass): Promise<object[]> =>
  db
    .repository(entity)
    .find({} as never, { fullScan: true })
    .all();

async function written(): Promise<void> {
  const before = await openWith(First);
  const rows = ['1', '2', '3', '4'].map((id) => ({ id, name: `Ann Lee${id}`, seen: 1n }));
  await before.repository(First).putMany(rows as never);
  await before.close();
}

test('rows of an older version are upgraded first, so that what is not in the file stays', async () => {
  await written();
  const db = await openWith(Upgraded);
  // A value that is left out stays, null goes, and what is new is of the present version.
  const loaded = [
    { id: '1', seen: '2' },
    { id: '2', first: 'Bo' },
    { id: '3', last: null },
    { id: '9', first: 'Cy', last: 'Orr' },
  ];
  await load(db, Upgraded, loaded);
  const wanted = [
    { id: '1', first: 'Ann', last: 'Lee1', seen: 2n },
    { id: '2', first: 'Bo', last: 'Lee2', seen: 1n },
    { id: '3', first: 'Ann', seen: 1n },
    { id: '4', first: 'Ann', last: 'Lee4', seen: 1n },
    { id: '9', first: 'Cy', last: 'Orr' },
  ];
  expect(await all(db, Upgraded)).toEqual(wanted);
  const versions = await Promise.all(
    ['1', '2', '3', '4', '9'].map(async (id) =>
      (await db.engine.table('people').get(new Get(id))).getValue('d', '_'),
    ),
  );
  expect(versions.map((marker) => marker?.[0])).toEqual([2, 2, 2, 1, 2]);
  await db.schema.apply();
  expect(await all(db, Upgraded)).toEqual(wanted);
  await db.close();
});

test('columns that have moved are moved first, so that null in the file takes the value away', async () => {
  await written();
  const db = await openWith(Moved);
  await load(db, Moved, [
    { id: '1', name: null },
    { id: '2', name: 'Bo' },
    { id: '9', name: 'Cy' },
  ]);
  const wanted = [
    { id: '1', seen: 1n },
    { id: '2', name: 'Bo', seen: 1n },
    { id: '3', name: 'Ann Lee3', seen: 1n },
    { id: '4', name: 'Ann Lee4', seen: 1n },
    { id: '9', name: 'Cy' },
  ];
  expect(await all(db, Moved)).toEqual(wanted);
  await db.schema.apply();
  expect(await all(db, Moved)).toEqual(wanted);
  await db.close();
});
