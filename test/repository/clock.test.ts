/** What repositories reckon by is the clock of the engine. */

import { expect, test } from 'vitest';
import {
  Column,
  CreatedAt,
  defineEntity,
  Entity,
  part,
  RowKey,
  Table,
  Ttl,
  UpdatedAt,
} from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import type { Repository } from '../../src/repository/index.js';
import { openMemory, settableClock } from '../../src/testing/index.js';

@Table({ name: 'sessions', families: { d: {} } })
class Sessions {}

@Entity({ table: Sessions })
@RowKey(part('id'))
class Session {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:u', text) user?: string;
  @Column('d:t', text) theme?: string;
  @CreatedAt('d:c') createdAt?: Date;
  @UpdatedAt('d:m') updatedAt?: Date;
  @Ttl() expiresIn?: number;
}

const MINUTE = 60_000;

test('stamps and times to live follow the clock that the database was opened with', async () => {
  const clock = settableClock(new Date(Date.UTC(2001, 0, 1)));
  const database = await openMemory({ entities: [Session], clock });
  const sessions = database.repository(Session);
  const start = clock();
  await sessions.insert({ id: 'a', user: 'ann', theme: 'light', expiresIn: 10 * MINUTE });
  await sessions.insert({ id: 'b', user: 'bob', theme: 'light', expiresIn: 10 * MINUTE });
  clock.advance(5 * MINUTE);
  await sessions.update({ id: 'a' }, { theme: 'dark' });
  await sessions.update({ id: 'b' }, { expiresIn: 20 * MINUTE });
  expect(await sessions.get({ id: 'a' })).toMatchObject({
    createdAt: new Date(start),
    updatedAt: new Date(start + 5 * MINUTE),
  });
  clock.advance(4 * MINUTE);
  expect(await sessions.get({ id: 'a' })).toMatchObject({ user: 'ann', theme: 'dark' });
  clock.advance(2 * MINUTE);
  expect(await sessions.get({ id: 'a' })).toBeNull();
  expect(await sessions.exists({ id: 'a' })).toBe(false);
  clock.advance(13 * MINUTE);
  expect(await sessions.get({ id: 'b' })).toMatchObject({ user: 'bob', theme: 'light' });
  clock.advance(2 * MINUTE);
  expect(await sessions.get({ id: 'b' })).toBeNull();
  await database.close();
});

const HOUR = 60 * MINUTE;

const Visit = defineEntity({
  name: 'Visit',
  table: { name: 'visits', families: { d: {} } },
  ttl: HOUR,
  key: [part('id')],
  columns: (c) => ({
    user: c.column('d:u', text).optional(),
    pages: c.column('d:p', int32).optional(),
  }),
  indexes: { byUser: { on: [part('user')] } },
  summaries: { byUser: { by: ['user'], figures: { visits: 'count', pages: { sum: 'pages' } } } },
});

/** The visit of `a` in every way of reading it. */
async function seen(db: Database, user: string): Promise<unknown[]> {
  const visits = db.repository(Visit);
  const all = [await visits.get({ id: 'a' }), await visits.by('byUser').find({ user }).first()];
  const figures = await db.summary(Visit, 'byUser').get({ user });
  return [...all.map((one) => one?.user ?? null), Number(figures?.visits ?? 0)];
}

test.each([
  ['an hour', HOUR],
  ['two seconds', 2000],
])(
  'an entity that is written when the clock was set back by %s ends as a whole, and shows no earlier value',
  async (_, back) => {
    const clock = settableClock(10 * HOUR);
    const db = await openMemory({ entities: [Visit], clock });
    const visits = db.repository(Visit);
    await visits.put({ id: 'first', user: 'ann' });
    clock.set(clock() - back);
    await visits.put({ id: 'a', user: 'ann', pages: 1 });
    clock.advance(HOUR / 2);
    await visits.update({ id: 'a' }, { user: 'bob' });
    // The store's time stood still: from there its life counts.
    for (const time of [11 * HOUR - back, 11 * HOUR - 1]) {
      clock.set(time);
      expect(await seen(db, 'bob')).toEqual(['bob', 'bob', 1]);
    }
    clock.set(11 * HOUR + 1);
    expect(await seen(db, 'bob')).toEqual([null, null, 0]);
    await db.close();
  },
);

test('an entity that a long transaction writes lives from the write on, as a whole', async () => {
  const clock = settableClock(10 * HOUR);
  const db = await openMemory({ entities: [Visit], clock });
  await db.transaction(async (tx) => {
    await tx.repository(Visit).put({ id: 'a', user: 'ann', pages: 1 });
    clock.advance(30_000);
  });
  await db.repository(Visit).update({ id: 'a' }, { user: 'bob' });
  clock.set(11 * HOUR - 1);
  expect(await seen(db, 'bob')).toEqual(['bob', 'bob', 1]);
  for (const late of [1, 2000]) {
    clock.set(11 * HOUR + late);
    expect(await seen(db, 'bob')).toEqual([null, null, 0]);
  }
  await db.close();
});

const Call = defineEntity({
  name: 'Call',
  table: { name: 'calls', families: { d: {} } },
  ttl: MINUTE,
  key: [part('id')],
  columns: (c) => ({
    user: c.column('d:u', text).optional(),
    pages: c.column('d:p', int32).optional(),
  }),
  indexes: { byUser: { on: [part('user')], unique: true } },
  summaries: {
    byUser: { by: ['user'], figures: { calls: 'count', total: { sum: 'pages' }, most: { max: 'pages' } } },
  },
});
type Calls = Repository<typeof Call>;
const ENDING: Readonly<Record<string, (calls: Calls, db: Database) => Promise<unknown>>> = {
  'figures of a group': (_, db) => db.summary(Call, 'byUser').get({ user: 'ann' }),
  'figures of all groups': (_, db) => db.summary(Call, 'byUser').find({}),
  update: (calls) => calls.update({ id: 'a' }, { user: 'bob' }),
  put: (calls) => calls.put({ id: 'a', user: 'bob' }),
  upsert: (calls) => calls.upsert({ id: 'a', user: 'bob' }, { user: 'bob' }),
  insert: (calls) => calls.insert({ id: 'b', user: 'ann', pages: 7 }),
  replace: (calls) => calls.replace({ id: 'a', user: 'bob', pages: 7 }),
  delete: (calls) => calls.delete({ id: 'a' }),
  batch: (calls) =>
    calls.batch((batch) => batch.update({ id: 'a' }, { pages: 7 }).update({ id: 'a' }, { user: 'bob' })),
};

test.each(Object.entries(ENDING))(
  'a row that ends during %s is there for all of it, or for none',
  async (name, work) => {
    for (let before = 0; before < 30; before++) {
      let time = 10 * HOUR;
      let tick = 0;
      const clock = () => {
        time += tick;
        return time;
      };
      const db = await openMemory({ entities: [Call], clock });
      const calls = db.repository(Call);
      await calls.put({ id: 'a', user: 'ann', pages: 7 });
      time += MINUTE - before;
      // Each look at the clock takes a millisecond.
      tick = 1;
      const begun = time;
      const found = await work(calls, db).catch((error: { code?: string }) => error.code);
      tick = 0;
      const isOver = time - begun < before;
      const full = { user: 'ann', calls: 1, total: 7, most: 7 };
      if (name.startsWith('figures'))
        expect([null, full, [], [full]], `${before} ms before`).toContainEqual(found);
      const rows = await calls.find({}, { fullScan: true }).all();
      expect(await db.summary(Call, 'byUser').find({}), `${before} ms before`).toEqual(
        rows.map(({ user, pages }) => ({ user, calls: 1, total: pages ?? 0, most: pages ?? null })),
      );
      expect(await db.index(Call, 'byUser').verify(), `${before} ms before`).toMatchObject({
        valid: rows.length,
        missing: 0,
        stale: 0,
      });
      await db.close();
      // The row outlived the call, and would do so with more time left.
      if (isOver) break;
    }
  },
);
