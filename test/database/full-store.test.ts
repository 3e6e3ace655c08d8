/** What entities still do in a store that has reached its limit of space: they are read, and they are removed with all that is made of them. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { defineEntity, defineTable, upgrade } from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import { type Database, open } from '../../src/database.js';
import { part } from '../../src/key/index.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import { Put } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { exportTable } from '../../src/tools/index.js';

const Thing = defineEntity({
  name: 'Thing',
  table: defineTable({ name: 'things', families: { d: {} } }),
  key: [part('id')],
  columns: (c) => ({ color: c.column('d:c', text), size: c.column('d:s', int32) }),
  indexes: {
    byColor: { on: [part('color')], include: ['size'] },
    bySize: { on: [part('size', int32)], consistency: 'eventual' },
  },
  summaries: { perColor: { by: ['color'], figures: { things: 'count', total: { sum: 'size' } } } },
  changes: { keep: 3600_000 },
});

const noted = defineTable({ name: 'notes', families: { d: {} } });
const Note = defineEntity({
  name: 'Note',
  table: noted,
  key: [part('id')],
  columns: (c) => ({ size: c.column('d:z', text).optional() }),
});
const NoteNow = defineEntity({
  name: 'Note',
  table: noted,
  key: [part('id')],
  columns: (c) => ({ size: c.column('d:n', text).optional() }),
  schemaVersion: 2,
  upgrades: [
    upgrade(
      1,
      { old: (c) => ({ size: c.column('d:z', text).optional() }), sets: ['size'], writeBack: true },
      ({ size }) => ({ size: `${size}+` }),
    ),
  ],
});

let disk: MemoryFileSystem;
const opened = (note: KeyedClass, maxDiskSize?: number): Promise<Database> =>
  open({
    path: '/full',
    fileSystem: disk,
    entities: [Thing, note] as never,
    background: 'inline',
    ...(maxDiskSize !== undefined && { maxDiskSize }),
  });

const SPACE = 'ERR_SPACE';
const IDS = ['a', 'b', 'c', 'd'];
const codesOf = (outcomes: readonly { ok: boolean; error?: { code: string } }[]): string[] =>
  outcomes.map(({ error }) => error?.code ?? 'ok');

beforeEach(async () => {
  disk = new MemoryFileSystem();
  const db = await opened(Note);
  await db.repository(Thing).putMany(IDS.map((id, size) => ({ id, size, color: 'red' })));
  await db.repository(Note).putMany(IDS.map((id) => ({ id, size: 'small' })));
  await db.close();
});

async function holds(db: Database, ids: readonly string[]): Promise<void> {
  const sizes = ids.map((id) => IDS.indexOf(id));
  expect(await db.summary(Thing, 'perColor').get({ color: 'red' })).toEqual(
    ids.length === 0
      ? null
      : expect.objectContaining({
          things: ids.length,
          total: sizes.reduce((sum, size) => sum + size, 0),
        }),
  );
  await db.index(Thing, 'bySize').drain();
  for (const index of ['byColor', 'bySize'] as const) {
    const { valid, missing, stale, extra, pending } = await db.index(Thing, index).verify();
    expect({ valid, missing, stale, extra, pending }).toEqual({
      ...{ valid: ids.length, missing: 0, stale: 0, extra: 0, pending: 0 },
    });
  }
}

test('rows are removed in transactions, with their part of summaries, indexes and feeds', async () => {
  const db = await opened(Note, 1);
  await using feed = db.watch(Thing, {}, { from: 'start' });
  await db.transaction(async (tx) => {
    const things = tx.repository(Thing);
    await expect(things.put({ id: 'x', color: 'red', size: 9 })).rejects.toMatchObject({ code: SPACE });
    await things.delete({ id: 'b' });
    await expect(things.update({ id: 'c' }, { size: 9 })).rejects.toMatchObject({ code: SPACE });
    await things.check({ id: 'd' }, { size: 3 }).delete();
  });
  await holds(db, ['a', 'c']);
  const told: string[] = [];
  for await (const { changes } of feed) {
    told.push(changes.map(({ operation, key }) => `${operation} ${key.id}`).join());
    if (told.at(-1)!.startsWith('delete')) break;
  }
  expect(told.at(-1)).toBe('delete b,delete d');
  await db.close();
});

test('of a batch each write is for itself: what is refused takes no removal along, and a removal lets nothing else in', async () => {
  const db = await opened(Note, 1);
  const things = db.repository(Thing);
  const outcomes = await things.batch((batch) =>
    batch
      .put({ id: 'x', color: 'red', size: 9 })
      .delete({ id: 'a' })
      .update({ id: 'b' }, { size: 9 })
      .delete({ id: 'c' })
      .insert({ id: 'y', color: 'red', size: 9 }),
  );
  expect(codesOf(outcomes)).toEqual([SPACE, 'ok', SPACE, 'ok', SPACE]);
  await holds(db, ['b', 'd']);
  await db.close();
});

test('rows of an older version are read, and removed', async () => {
  const db = await opened(NoteNow, 1);
  const notes = db.repository(NoteNow);
  expect(await notes.get({ id: 'a' })).toMatchObject({ size: 'small+' });
  expect(await notes.getMany([{ id: 'b' }])).toMatchObject([{ size: 'small+' }]);
  await expect(notes.put({ id: 'a', size: 'x' })).rejects.toMatchObject({ code: SPACE });
  await notes.delete({ id: 'a' });
  await db.transaction((tx) => tx.repository(NoteNow).delete({ id: 'b' }));
  expect(codesOf(await notes.batch((batch) => batch.delete({ id: 'c' })))).toEqual(['ok']);
  await notes.find({}, { fullScan: true }).deleteAll();
  expect(await notes.find({}, { fullScan: true }).count()).toBe(0);
  await db.close();
  const later = await opened(NoteNow);
  expect(await later.repository(NoteNow).find({}, { fullScan: true }).count()).toBe(0);
  await later.close();
});

test('the entries of acknowledged writes follow, though nothing more may be written', async () => {
  const before = await opened(Note);
  await before.repository(Thing).put({ id: 'e', color: 'red', size: 4 });
  // The power goes before the entry is written.
  const found = disk.crash({ keepUnsynced: 1, random: () => 0 });
  await before.close();
  disk = found;
  const db = await opened(Note, 1);
  await db.index(Thing, 'bySize').drain();
  expect(await db.repository(Thing).by('bySize').find({ size: 4 }).count()).toBe(1);
  await db.close();
});

test('a check of a summary, which would be stored, says that there is no space for it', async () => {
  const db = await opened(Note, 1);
  await expect(db.summary(Thing, 'perColor').check()).rejects.toMatchObject({
    code: SPACE,
    message: expect.stringMatching(/counts all rows .* compact: deletes are still accepted\.$/s),
  });
  await db.close();
});

const users = { name: 'users', families: { d: {} } };
const User = defineEntity({
  name: 'User',
  table: defineTable(users),
  key: [part('id')],
  columns: (c) => ({ name: c.column('d:n', text) }),
  indexes: { byName: { on: [part('name')] } },
});
const UserByName = defineEntity({
  name: 'UserByName',
  table: defineTable({ ...users, name: 'users_by_name' }),
  key: [part('name'), part('id')],
  columns: () => ({}),
  indexes: { byId: { on: [part('id')] } },
});

/** Opens the store of users, who are in both layouts when it is full. */
async function fullOfUsers(): Promise<Database> {
  const disk = new MemoryFileSystem();
  const options = {
    path: '/users',
    fileSystem: disk,
    entities: [User, UserByName],
    background: 'inline',
  } as const;
  const before = await open(options);
  await before.repository(User).putMany(IDS.map((id) => ({ id, name: `n${id}` })));
  const rekey = before.rekey(User, UserByName);
  await rekey.run();
  await rekey.cutOver();
  await before.close();
  return open({ ...options, maxDiskSize: 1 });
}

test('the rows of old keys are removed after the store became full', async () => {
  const db = await fullOfUsers();
  expect(await db.rekey(User, UserByName).cleanup()).toMatchObject({ state: 'done' });
  expect(await db.repository(User).find({}, { fullScan: true }).count()).toBe(0);
  expect(await db.repository(UserByName).find({}, { fullScan: true }).count()).toBe(IDS.length);
  await expect(db.repository(UserByName).put({ name: 'x', id: 'x' })).rejects.toMatchObject({ code: SPACE });
  await db.close();
});

test('an index is dropped, and tables are exported, after the store became full', async () => {
  const db = await opened(Note, 1);
  const folder = mkdtempSync(join(tmpdir(), 'rowan-full-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  expect((await exportTable(db.engine, 'things', folder)).counters).toMatchObject({ rows: IDS.length });
  expect((await db.index(Thing, 'byColor').drop()).counters).toMatchObject({ removed: IDS.length });
  expect(db.index(Thing, 'byColor').state).toBe('disabled');
  await expect(db.index(Thing, 'byColor').build()).rejects.toMatchObject({ code: SPACE });
  await db.close();
});

test('records of work that frees space are written in a full store, up to the limit of their own table', async () => {
  const db = await opened(Note, 1);
  const folder = mkdtempSync(join(tmpdir(), 'rowan-full-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  await exportTable(db.engine, 'things', folder);
  const jobs = db.engine.table('rowan_jobs');
  await jobs.put(new Put('x').addColumn('j', 'q', 'v'));
  const descriptor = await db.admin.getDescriptor('rowan_jobs');
  await db.admin.modifyTable({
    ...descriptor,
    configuration: { ...descriptor.configuration, 'rowan.maxDiskSize': '1' },
  });
  await expect(jobs.put(new Put('x').addColumn('j', 'q', 'v'))).rejects.toMatchObject({ code: SPACE });
  await db.close();
});

test('an entity is not added over what an expired one has left', async () => {
  const Code = defineEntity({
    name: 'Code',
    table: defineTable({ name: 'codes', families: { d: {} } }),
    key: [part('id')],
    columns: (c) => ({ text: c.column('d:t', text).optional(), life: c.ttl() }),
  });
  const settings = { path: '/codes', fileSystem: disk, background: 'inline' } as const;
  const before = await open({ ...settings, entities: [Code] });
  // A flush may bring back such a cell after the entity has expired (R44).
  await before.engine.table('codes').put(new Put('a').addColumn('d', 't', 'x'));
  await before.close();
  const db = await open({ ...settings, entities: [Code], maxDiskSize: 1 });
  const codes = db.repository(Code);
  await expect(codes.insert({ id: 'a', text: 'y' })).rejects.toMatchObject({ code: SPACE });
  const inTransaction = db.transaction((tx) => tx.repository(Code).insert({ id: 'a', text: 'y' }));
  await expect(inTransaction).rejects.toMatchObject({ code: SPACE });
  expect(await codes.get({ id: 'a' })).toBeNull();
  await db.close();
});
