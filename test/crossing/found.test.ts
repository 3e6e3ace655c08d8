/** What programs over crossed features have found: each was wrong once. */

import { expect, it } from 'vitest';
import { defineEntity, defineTable } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { hash, part, substitute } from '../../src/key/index.js';
import { newToken } from '../../src/repository/remote/row-work.js';
import { SHADOW_QUALIFIER } from '../../src/schema/types.js';
import { Put } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { openMemory, settableClock } from '../../src/testing/index.js';
import { bothEngines } from '../proof/stepless.js';

const table = (name: string) => defineTable({ name, families: { d: {}, h: { versions: 5 } } });

const Hooked = defineEntity({
  name: 'Hooked',
  table: table('hooked'),
  key: [part('id')],
  columns: (c) => ({
    a: c.column('d:a', text).optional(),
    b: c.column('d:b', text).optional(),
    at: c.column('d:t', text).optional(),
    version: c.version('d:v'),
  }),
  hooks: {
    beforeUpdate(entity) {
      entity.at = 'hooked';
    },
  },
});

it('an update by an entity as the key writes what the patch and the hooks say, and nothing else of the entity', async () => {
  const db = await openMemory({ entities: [Hooked] });
  const hooked = db.repository(Hooked);
  await hooked.put({ id: 'x', a: 'old', b: 'old' });
  const read = (await hooked.get({ id: 'x' }))!;
  await hooked.update({ id: 'x' }, { b: 'new' });
  await hooked.update(read, { a: 'new' });
  expect(await hooked.get({ id: 'x' })).toEqual({ id: 'x', a: 'new', b: 'new', at: 'hooked', version: 3 });
  expect(await hooked.upsert({ id: 'x', a: '1', b: '2' }, { a: '3' })).toBe('updated');
  expect(await hooked.get({ id: 'x' })).toMatchObject({ a: '3', b: 'new' });
  await db.close();
});

const Source = defineEntity({
  name: 'Source',
  table: table('sources'),
  key: [part('id')],
  columns: (c) => ({ name: c.column('d:n', text).optional() }),
});
const Known = defineEntity({
  name: 'Known',
  table: table('known'),
  key: [substitute('word', 'words')],
  columns: (c) => ({
    mail: c.column('d:m', text).optional(),
    ref: c.column('d:r', text).optional(),
    copy: c.column('d:c', text).optional(),
  }),
  indexes: { byMail: { on: [part('mail')], unique: true } },
  denormalized: [{ from: () => Source, via: { id: 'ref' }, fields: { copy: 'name' } }],
});

it('a check of a text that has no id is not met, and gives it none', async () => {
  const db = await openMemory({ entities: [Source, Known] });
  const known = db.repository(Known);
  const key = { word: 'never met' };
  const unmet = { ok: false, current: null };
  expect(await known.check(key, { mail: null }).put({ ...key, mail: 'm' })).toEqual(unmet);
  const [outcome] = await known.batch((b) => b.check(key, { mail: null }).put({ ...key, mail: 'm' }));
  expect(outcome).toMatchObject({ ok: false, error: { code: 'ERR_CONFLICT' } });
  expect(await db.dictionary('words').ids(['never met'], false)).toEqual([undefined]);
  await db.close();
});

const Listed = defineEntity({
  name: 'Listed',
  table: table('listed'),
  key: [substitute('word', 'words')],
  columns: (c) => ({ mail: c.column('d:m', text).optional() }),
  indexes: { byMail: { on: [part('mail')] } },
});

it.each(['steps', 'rows alone'] as const)(
  'a delete with a timestamp of a text that has no id leaves nothing that reads fail on: %s',
  async (engine) => {
    const { db, close } = await bothEngines([Listed] as never)[engine]();
    const listed = db.repository(Listed);
    await listed.put({ word: 'met', mail: 'm' });
    await listed.delete({ word: 'never met' }, { timestamp: 5 });
    expect(await listed.find({}, { fullScan: true }).all()).toMatchObject([{ word: 'met' }]);
    expect(await db.index(Listed, 'byMail').verify()).toMatchObject({ missing: 0, stale: 0, extra: 0 });
    await close();
  },
);

it('steps know the texts of rows that an earlier program wrote: for copies, and for conflicts over unique values', async () => {
  const disk = new MemoryFileSystem();
  const first = await openMemory({ entities: [Source, Known], disk });
  await first.repository(Source).put({ id: 's', name: 'one' });
  await first.repository(Known).put({ word: 'hello', mail: 'm', ref: 's' });
  await first.close();
  const db = await openMemory({ entities: [Source, Known], disk });
  const known = db.repository(Known);
  await expect(known.put({ word: 'other', mail: 'm' })).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
  await db.repository(Source).put({ id: 's', name: 'two' });
  expect(await known.get({ word: 'hello' })).toMatchObject({ copy: 'two' });
  await db.close();
});

const Ending = defineEntity({
  name: 'Ending',
  table: table('ending'),
  key: [part('id')],
  columns: (c) => ({
    a: c.column('d:a', text).optional(),
    b: c.column('d:b', text).optional(),
    ref: c.column('d:r', text).optional(),
    copy: c.column('d:c', text).optional(),
    past: c.versions('h:p', text),
    ttl: c.ttl(),
  }),
  denormalized: [{ from: () => Source, via: { id: 'ref' }, fields: { copy: 'name' } }],
});

it.each([0, 5])(
  'a life made shorter does not give way to the longer one behind it, %d ms later',
  async (later) => {
    const clock = settableClock(1000);
    const db = await openMemory({ entities: [Source, Ending], clock });
    const ending = db.repository(Ending);
    await ending.put({ id: 'x', a: 'long', b: 'long' });
    clock.advance(later);
    await ending.update({ id: 'x' }, { a: 'short', ttl: 5000 });
    expect(await ending.get({ id: 'x' })).toMatchObject({ a: 'short', b: 'long' });
    await db.transaction(async (tx) => {
      await tx.repository(Ending).append({ id: 'y' }, { a: 'long' });
      await tx.repository(Ending).update({ id: 'y' }, { b: 'short', ttl: 5000 });
      expect(await tx.repository(Ending).get({ id: 'y' })).toMatchObject({ a: 'long', b: 'short' });
    });
    expect(await ending.get({ id: 'y' })).toMatchObject({ a: 'long', b: 'short' });
    clock.advance(5010);
    expect(await ending.getMany([{ id: 'x' }, { id: 'y' }])).toEqual([null, null]);
    clock.advance(2000);
    await ending.insert({ id: 'x' });
    expect(await ending.get({ id: 'x' })).toMatchObject({ a: undefined, b: undefined });
    await db.close();
  },
);

it.each(['steps', 'rows alone'] as const)(
  'a life begun anew leaves histories as they are, and copies to what they are made of: %s',
  async (engine) => {
    const clock = settableClock(1000);
    const { db, close } = await bothEngines([Source, Ending], clock)[engine]();
    const ending = db.repository(Ending);
    await db.repository(Source).put({ id: 's', name: 'one' });
    await ending.put({ id: 'x', past: [{ value: 'one' }], ref: 's', ttl: 5000 });
    clock.advance(10);
    await ending.put({ id: 'x', past: [{ value: 'two' }], ttl: 9000 });
    clock.advance(10);
    await ending.update({ id: 'x' }, { a: 'a', ttl: 20_000 });
    expect((await ending.get({ id: 'x' }))?.past).toEqual([
      { value: 'two', timestamp: 1010 },
      { value: 'one', timestamp: 1000 },
    ]);
    clock.advance(10);
    await ending.update({ id: 'x' }, { ref: null, ttl: 10_000 });
    expect(await ending.get({ id: 'x' })).toMatchObject({ copy: undefined, ref: undefined });
    await close();
  },
);

it('what an ended entity leaves for a moment is not counted, and takes no place within a limit', async () => {
  const clock = settableClock(1000);
  const db = await openMemory({ entities: [Source, Ending], clock });
  const ending = db.repository(Ending);
  await ending.put({ id: 'x', a: 'a', ttl: 5000 });
  await ending.put({ id: 'y', a: 'a' });
  clock.advance(10);
  await ending.update({ id: 'x' }, { a: 'b' });
  clock.advance(5200);
  const all = ending.find({}, { fullScan: true });
  expect(await all.where({ a: { gte: 'a' } }).count()).toBe(1);
  expect(await all.limit(1).all()).toMatchObject([{ id: 'y' }]);
  expect((await all.page({ size: 1 })).items).toMatchObject([{ id: 'y' }]);
  expect(await ending.exists({ id: 'x' })).toBe(false);
  await db.close();
});

const Told = defineEntity({
  name: 'Told',
  table: defineTable({ name: 'told', families: { d: { versions: 3 } } }),
  marker: 'd',
  key: [part('id')],
  columns: (c) => ({ a: c.column('d:a', text).optional(), past: c.versions('d:p', text) }),
  indexes: { byA: { on: [part('a')] } },
});

it('a row that two tokens are left of is none, also where histories are read', async () => {
  const { db, close } = await bothEngines([Told] as never)['rows alone']();
  const told = db.repository(Told);
  await told.put({ id: 'there', past: [{ value: 'one' }] });
  // A missing row that is fenced twice, as when changes of programs that ended are taken over.
  for (const timestamp of [1, 2])
    await db.engine.table('told').put(new Put('x').addColumn('d', SHADOW_QUALIFIER, newToken(), timestamp));
  const all = told.find({}, { fullScan: true });
  expect((await all.all()).map(({ id }) => id)).toEqual(['there']);
  expect((await all.page({ size: 5 })).items.length).toBe(1);
  expect(await all.count()).toBe(1);
  expect((await all.reverse().all()).length).toBe(1);
  expect(await told.get({ id: 'x' })).toBeNull();
  expect(await told.getMany([{ id: 'x' }])).toEqual([null]);
  expect(await told.exists({ id: 'x' })).toBe(false);
  expect((await db.collection([Told], { id: 'x' }).groups()).of(Told)).toEqual([]);
  await close();
});

it.each(['rows alone', 'steps'] as const)(
  'rows that only tokens are left of take no place within a limit: %s',
  async (engine) => {
    const { db, close } = await bothEngines([Told] as never)[engine]();
    const told = db.repository(Told);
    const ids = ['b', 'd', 'f', 'h'];
    for (const id of ids) await told.put({ id, a: 'x' });
    const tokens = ['a', 'c', 'c1', 'c2', 'c3', 'g', 'i', 'j'];
    for (const row of tokens)
      await db.engine.table('told').put(new Put(row).addColumn('d', SHADOW_QUALIFIER, newToken()));
    const all = told.find({}, { fullScan: true });
    const back = [...ids].reverse();
    for (let limit = 1; limit <= 5; limit++) {
      expect((await all.limit(limit).all()).map(({ id }) => id)).toEqual(ids.slice(0, limit));
      expect((await all.reverse().limit(limit).all()).map(({ id }) => id)).toEqual(back.slice(0, limit));
      expect(await all.limit(limit).count()).toBe(Math.min(limit, 4));
      const seen: string[] = [];
      for await (const { id } of all.limit(limit)) seen.push(id);
      expect(seen).toEqual(ids.slice(0, limit));
      const pages: string[] = [];
      for (let cursor: string | undefined; ; ) {
        const page = await all.page({ size: limit, ...(cursor !== undefined && { cursor }) });
        pages.push(...page.items.map(({ id }) => id));
        cursor = page.cursor;
        if (cursor === undefined) break;
        expect(page.items.length).toBe(limit);
      }
      expect(pages).toEqual(ids);
    }
    expect((await all.first())?.id).toBe('b');
    expect((await all.reverse().first())?.id).toBe('h');
    expect(await told.find({ id: 'c' }).first()).toBeNull();
    expect(await told.find({ id: { startsWith: 'c' } }).exists()).toBe(false);
    const named = told.find({ id: { in: ['c', 'd', 'g', 'h'] } });
    expect((await named.limit(2).all()).map(({ id }) => id)).toEqual(['d', 'h']);
    const groups = await db.collection([Told], {}, { fullScan: true }).groups();
    expect(groups.of(Told).map(({ id }) => id)).toEqual(ids);
    await close();
  },
);

const Digested = defineEntity({
  name: 'Digested',
  table: table('digested'),
  key: [hash('name', { bytes: 4 })],
  columns: (c) => ({ name: c.column('d:n', text), a: c.column('d:a', text).optional(), ttl: c.ttl() }),
});

it('what an ended entity leaves for a moment is not there for a key that keeps only a digest', async () => {
  const clock = settableClock(1000);
  const db = await openMemory({ entities: [Digested], clock });
  const digested = db.repository(Digested);
  await digested.put({ name: 'x', a: 'a', ttl: 5000 });
  clock.advance(10);
  await digested.put({ name: 'x', a: 'b' });
  expect(await digested.exists({ name: 'x' })).toBe(true);
  clock.advance(5200);
  expect(await digested.exists({ name: 'x' })).toBe(false);
  expect(await digested.get({ name: 'x' })).toBeNull();
  await db.close();
});
