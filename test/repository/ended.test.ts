/** Entities that have ended: nothing of them is seen, and nothing that stood below them. */

import { beforeEach, describe, expect, test } from 'vitest';
import { defineEntity, defineTable, upgrade } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { part } from '../../src/key/index.js';
import type { Repository } from '../../src/repository/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { openMemory, type SettableClock, settableClock } from '../../src/testing/open-memory.js';
import { openStepless } from '../proof/stepless.js';

const Session = defineEntity({
  name: 'Session',
  table: defineTable({ name: 'sessions', families: { d: {} } }),
  key: [part('id')],
  columns: (c) => ({
    state: c.column('d:s', text),
    note: c.column('d:n', text).optional(),
    life: c.ttl(),
  }),
});
const key = { id: 'x' };

let clock: SettableClock;
beforeEach(() => {
  clock = settableClock();
});

describe.each(['put', 'replace'] as const)(
  'a life that %s begins over an endless one, and another over that',
  (write) => {
    test.each([true, false])(
      'hides the endless one when it has ended, flushed between: %s',
      async (flushed) => {
        await using db = await openMemory({ entities: [Session], clock });
        const sessions = db.repository(Session);
        await sessions.put({ ...key, state: 'endless', note: 'n' });
        if (flushed) await db.admin.flush('sessions');
        clock.advance(10);
        await sessions[write]({ ...key, state: 'short', life: 1000 });
        await sessions[write]({ ...key, state: 'longer', life: 5000 });
        await db.admin.flush('sessions');
        expect(await sessions.get(key)).toMatchObject({ state: 'longer' });
        clock.advance(20_000);
        expect(await sessions.get(key)).toBeNull();
        expect(await sessions.exists(key)).toBe(false);
        expect(await sessions.find({}, { fullScan: true }).all()).toEqual([]);
      },
    );
  },
);

test('an entity has ended for every reader in the second that its columns are left', async () => {
  await using db = await openMemory({ entities: [Session], clock });
  const sessions = db.repository(Session);
  await sessions.put({ ...key, state: 'new', life: 1000 });
  await sessions.update(key, { note: 'carries what remains' });
  clock.advance(1500);
  expect(await sessions.exists(key)).toBe(false);
  expect(await sessions.get(key)).toBeNull();
  expect(await sessions.find({}, { fullScan: true }).count()).toBe(0);
  expect(await sessions.find({ id: 'x' }).exists()).toBe(false);
});

test('rows that are written again with their times and lives stay', async () => {
  await using db = await openMemory({ entities: [Session], clock });
  const sessions = db.repository(Session);
  const timestamp = clock() - 1000;
  for (const state of ['once', 'twice'])
    await sessions.putMany([{ ...key, state, life: 5000 }], { timestamp });
  expect(await sessions.get(key)).toMatchObject({ state: 'twice' });
  await sessions.putMany([{ ...key, state: 'later', life: 5000 }], { timestamp: timestamp + 1 });
  expect(await sessions.get(key)).toMatchObject({ state: 'later' });
  clock.advance(5000);
  expect(await sessions.get(key)).toBeNull();
});

const Counted = defineEntity({
  name: 'Counted',
  table: defineTable({ name: 'counted', families: { d: {}, e: {} } }),
  key: [part('id')],
  columns: (c) => ({
    state: c.column('d:s', text).optional(),
    note: c.column('e:n', text).optional(),
    visits: c.counter('d:v'),
    tags: c.columns('e:t.', { value: text }),
    deletedAt: c.deletedAt('e:x'),
    life: c.ttl(),
  }),
});
const Indexed = defineEntity({
  name: 'Indexed',
  table: defineTable({ name: 'indexed', families: { d: {}, e: {} } }),
  key: [part('id')],
  columns: (c) => ({
    state: c.column('d:s', text).optional(),
    note: c.column('e:n', text).optional(),
    visits: c.counter('d:v'),
    tags: c.columns('e:t.', { value: text }),
    deletedAt: c.deletedAt('e:x'),
    life: c.ttl(),
  }),
  indexes: { byNote: { on: [part('note')] } },
});

/** Ways to begin a life, and what it consists of. */
const BEGINNINGS: Readonly<
  Record<string, readonly [(of: Repository<typeof Counted>) => Promise<unknown>, object]>
> = {
  put: [(of) => of.put({ ...key, state: 'new' }), { state: 'new' }],
  'put with a life of its own': [(of) => of.put({ ...key, state: 'new', life: 60_000 }), { state: 'new' }],
  putMany: [(of) => of.putMany([{ ...key, state: 'new' }]), { state: 'new' }],
  insert: [(of) => of.insert({ ...key, state: 'new' }), { state: 'new' }],
  replace: [(of) => of.replace({ ...key, state: 'new' }), { state: 'new' }],
  upsert: [(of) => of.upsert({ ...key, state: 'new' }, { note: 'patch' }), { state: 'new' }],
  mutate: [(of) => of.mutate(key, (row) => row.set({ state: 'new' })), { state: 'new' }],
  increment: [(of) => of.increment(key, { visits: 1n }), { visits: 1n }],
  append: [(of) => of.append(key, { state: 'new' }), { state: 'new' }],
  batch: [(of) => of.batch((batch) => batch.put({ ...key, state: 'new' })), { state: 'new' }],
};

/** A row whose marker has ended while its later cells stay for some time. */
async function leaveRemains(of: Repository<typeof Counted>, after: Ways): Promise<void> {
  await of.put({ ...key, state: 'old', life: 1000 });
  clock.advance(10);
  await of.update(key, { note: 'old', tags: new Map([['t', 'old']]) });
  await of.mutate(key, (row) => row.append({ state: 'er' }).increment({ visits: 5n }));
  if (after === 'deleted') await of.delete(key);
  clock.advance(1200);
  expect(await of.get(key, { withDeleted: true })).toBeNull();
}

type Ways = 'alive' | 'deleted';

describe.each(['alive', 'deleted'] as const)('in the second behind the end of a row, %s before', (before) => {
  test.each(Object.entries(BEGINNINGS))(
    '%s begins a life without what is left',
    async (_, [begin, wanted]) => {
      const absent = {
        state: undefined,
        note: undefined,
        visits: undefined,
        tags: new Map(),
        deletedAt: undefined,
      };
      const whole = { ...key, ...absent, life: undefined, ...wanted };
      for (const target of [Counted, Indexed as unknown as typeof Counted]) {
        {
          await using db = await openMemory({ entities: [target], clock });
          const of = db.repository(target);
          await leaveRemains(of, before);
          await begin(of);
          expect({ ...(await of.get(key)) }).toEqual(whole);
        }
        await using store = await openStepless(clock);
        const { db } = await store.program(target as never);
        const of = db.repository(target);
        await leaveRemains(of, before);
        await begin(of);
        expect({ ...(await of.get(key)) }).toEqual(whole);
      }
    },
  );
});

test('in the second behind the end of a row a transaction begins a life without what is left', async () => {
  await using db = await openMemory({ entities: [Counted], clock });
  const of = db.repository(Counted);
  await leaveRemains(of, 'alive');
  await db.transaction((tx) => tx.repository(Counted).insert({ ...key, state: 'new' }));
  expect(await of.get(key)).toMatchObject({ state: 'new', note: undefined, visits: undefined });
});

test('a late write that begins a life leaves what is newer', async () => {
  await using db = await openMemory({ entities: [Counted], clock });
  const of = db.repository(Counted);
  const timestamp = clock() + 1;
  await leaveRemains(of, 'alive');
  await of.put({ ...key, state: 'late', life: 60_000 }, { timestamp });
  expect(await of.get(key)).toMatchObject({ note: 'old' });
});

describe('rows from before their entity declared a time to live', () => {
  const life = 60_000;
  const aging = (more: object) =>
    defineEntity({
      name: 'Aging',
      table: defineTable({ name: 'aging', families: { d: {} } }),
      key: [part('id')],
      columns: (c) => ({ a: c.column('d:a', text), b: c.column('d:b', text).optional() }),
      indexes: { byB: { on: [part('b')] } },
      summaries: { perA: { by: ['a'], figures: { rows: 'count' } } },
      ...more,
    });
  const upgrades = [
    upgrade(1, { old: (c) => ({ b: c.column('d:b', text) }), sets: ['b'] }, ({ b }) => ({ b: `${b}!` })),
  ];

  test('stay, with what is written to them and what an upgrade makes of them', async () => {
    const disk = new MemoryFileSystem();
    const reopened = async (more: object) => {
      const target = aging(more);
      const db = await openMemory({ entities: [target], disk, clock });
      const summary = db.summary(target, 'perA');
      if ((await summary.state()) !== 'active') await summary.build();
      if (db.index(target, 'byB').state !== 'active') await db.index(target, 'byB').build();
      const check = async (b: string, rows: number) => {
        const all = db.repository(target);
        expect(await all.get(key)).toEqual({ id: 'x', a: '1', b });
        expect(await all.by('byB').find({ b }).count()).toBe(1);
        expect(await all.find({}, { fullScan: true }).count()).toBe(rows);
        expect(Number((await summary.get({ a: '1' }))?.rows)).toBe(rows);
      };
      return { db, target, rows: db.repository(target), check };
    };
    const before = await reopened({});
    await before.rows.put({ ...key, a: '1', b: '1' });
    await before.db.close();
    clock.advance(10 * life);
    const then = await reopened({ ttl: life });
    await then.check('1', 1);
    await then.rows.update(key, { b: '2' });
    await then.rows.put({ id: 'y', a: '1', b: '3' });
    clock.advance(5000);
    await then.check('2', 2);
    clock.advance(life);
    await then.check('2', 1);
    await then.db.close();
    const later = await reopened({ ttl: life, schemaVersion: 2, upgrades });
    await later.check('2!', 1);
    await later.db.schema.upgradeRows(later.target);
    await later.check('2!', 1);
    clock.advance(2 * life);
    await later.check('2!', 1);
    await later.db.close();
  });
});

test('a replacement that renews the life of a row removes Map entries that it does not have', async () => {
  const Renewed = defineEntity({
    name: 'Renewed',
    table: defineTable({ name: 'renewed', families: { d: {} } }),
    key: [part('id')],
    ttl: 60_000,
    renewTtl: true,
    columns: (c) => ({ map: c.columns('d:m.', { key: text, value: text }) }),
  });
  await using db = await openMemory({ entities: [Renewed], clock });
  const rows = db.repository(Renewed);
  await rows.put({ ...key, map: new Map([['s', '1']]) });
  clock.advance(500);
  await rows.replace({ ...key, map: new Map([['t', '2']]) });
  expect((await rows.get(key))?.map).toEqual(new Map([['t', '2']]));
});
