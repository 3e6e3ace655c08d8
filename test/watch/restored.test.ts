/** Feeds of a store whose tables were restored from a backup of another one, which had its own numbers of commits. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { defineEntity, defineTable } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { open } from '../../src/database.js';
import { part, salt, substitute } from '../../src/key/index.js';
import { openEmbedded } from '../../src/store/engine.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { openMemory } from '../../src/testing/index.js';
import { backupTables } from '../../src/tools/backup.js';
import { restoreTables } from '../../src/tools/restore.js';

const Told = defineEntity({
  name: 'Told',
  table: defineTable({ name: 'told', families: { d: {} } }),
  key: [part('id')],
  changes: { keep: 3_600_000 },
  columns: (c) => ({ a: c.column('d:a', text) }),
});

it('a feed of a restored store tells its own changes, each once, and none of the other store', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rowan-restored-'));
  await using first = await openMemory({ entities: [Told] });
  const before = Array.from({ length: 60 }, (_, i) => ({ id: `old${i}`, a: 'x' }));
  for (const one of before) await first.repository(Told).put(one);
  const position = first.watch(Told).position;
  await backupTables(first.engine, folder);
  const disk = new MemoryFileSystem();
  const engine = await openEmbedded('/memory', { fileSystem: disk, background: 'inline' });
  const { leftOut } = await restoreTables(engine, folder);
  expect(leftOut).toEqual(['rowan_changes']);
  await engine.close();
  await rm(folder, { recursive: true });

  await using db = await open({ path: '/memory', entities: [Told], fileSystem: disk, background: 'inline' });
  const told = db.repository(Told);
  expect(await told.find({}, { fullScan: true }).count()).toBe(before.length);
  await using elsewhere = db.watch(Told, {}, { from: position });
  await expect(elsewhere[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'ERR_POSITION_GONE' });
  await using oldest = db.watch(Told, {}, { from: 'start' });
  await using now = db.watch(Told);
  const ids = Array.from({ length: 70 }, (_, i) => `new${i}`);
  const feeds = [oldest, now].map((feed) => ({
    commits: feed[Symbol.asyncIterator](),
    found: [] as string[],
  }));
  for (const id of ids) {
    await told.put({ id, a: 'y' });
    // Each is read before the next is written.
    for (const { commits, found } of feeds) {
      const { value } = await commits.next();
      found.push(...value!.changes.map(({ key }) => key.id));
    }
  }
  expect(feeds.map(({ found }) => found)).toEqual([ids, ids]);
  // The feed of the other store had read nothing, and this store has more commits by now.
  await using later = db.watch(Told, {}, { from: position });
  await expect(later[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'ERR_POSITION_GONE' });
  await using again = first.watch(Told, {}, { from: position });
  await first.repository(Told).put({ id: 'more', a: 'x' });
  const { value } = await again[Symbol.asyncIterator]().next();
  expect(value!.changes.map(({ key }) => key.id)).toEqual(['more']);
});

it('a feed of rows whose keys were changed in the other store begins and goes on', async () => {
  const Salted = defineEntity({
    name: 'Salted',
    table: defineTable({ name: 'salted', families: { d: {} } }),
    key: [salt(4), part('id')],
    changes: { keep: 3_600_000 },
    columns: (c) => ({ a: c.column('d:a', text) }),
  });
  const folder = await mkdtemp(join(tmpdir(), 'rowan-restored-'));
  await using first = await openMemory({ entities: [Told, Salted] });
  for (let i = 0; i < 60; i++) await first.repository(Told).put({ id: `old${i}`, a: 'x' });
  for (const stage of ['run', 'cutOver', 'cleanup'] as const) await first.rekey(Told, Salted)[stage]();
  await backupTables(first.engine, folder);
  const disk = new MemoryFileSystem();
  const empty = await openEmbedded('/memory', { fileSystem: disk, background: 'inline' });
  await restoreTables(empty, folder);
  await empty.close();
  await rm(folder, { recursive: true });

  await using db = await openMemory({ entities: [Told, Salted], disk });
  expect(await db.rekey(Told, Salted).status()).toMatchObject({ state: 'done' });
  const told = db.repository(Salted);
  await using now = db.watch(Salted);
  const commits = now[Symbol.asyncIterator]();
  for (let i = 0; i < 70; i++) {
    await told.put({ id: `new${i}`, a: 'y' });
    const { value } = await commits.next();
    expect(value!.changes.map(({ key }) => key.id)).toEqual([`new${i}`]);
  }
});

const Word = defineEntity({
  name: 'Word',
  table: defineTable({ name: 'a_words', families: { d: {} } }),
  key: [substitute('word', 'words')],
  changes: { keep: 3_600_000 },
  columns: (c) => ({ a: c.column('d:a', text) }),
});

it('a feed that is read while tables are restored tells their rows, also those whose keys have texts of a dictionary', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rowan-restored-'));
  await using first = await openMemory({ entities: [Word] });
  const words = Array.from({ length: 20 }, (_, i) => `word ${i}`);
  for (const word of words) await first.repository(Word).put({ word, a: 'x' });
  await backupTables(first.engine, folder);

  await using db = await openMemory({ entities: [Word] });
  await using feed = db.watch(Word);
  const commits = feed[Symbol.asyncIterator]();
  const told: string[] = [];
  const read = (async () => {
    while (told.length < words.length)
      told.push(...(await commits.next()).value!.changes.map(({ key }) => key.word));
  })();
  await Promise.all([read, restoreTables(db.engine, folder)]);
  await rm(folder, { recursive: true });
  expect(told.sort()).toEqual(words.toSorted());
});
