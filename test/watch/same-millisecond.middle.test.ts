/**
 * Programs that write one row in one millisecond of a server that stamps as HBase does: a delete hides every put with its timestamp,
 * whichever came first. No change that is told may be hidden.
 */

import { expect, test } from 'vitest';
import type { Database } from '../../src/database.js';
import { fromMiddle } from '../proof/scale.js';
import { openStepless } from '../proof/stepless.js';
import { Random } from '../query/model/random.js';
import { expectReplayed, Piece, Replay, told, Ware, writeToldAtOnce } from './told.js';

const key = { shop: 'a', no: '1' };

async function turns(count: number): Promise<void> {
  for (let left = count; left > 0; left--) await new Promise((resolve) => setImmediate(resolve));
}

/** Writes that leave the row as it is, with what it is before, and a change of what they delete. */
const IDLE: Readonly<
  Record<string, Record<'before' | 'idle' | 'change', (db: Database) => Promise<unknown>>>
> = {
  'a delete of nothing, and an insert': {
    before: (db) => db.repository(Ware).delete(key),
    idle: (db) => db.repository(Ware).delete(key),
    change: (db) => db.repository(Ware).insert({ ...key, status: 'new' }),
  },
  'the same with an index': {
    before: (db) => db.repository(Piece).delete(key),
    idle: (db) => db.repository(Piece).delete(key),
    change: (db) => db.repository(Piece).insert({ ...key, status: 'new' }),
  },
  'a column deleted that is not there, and set': {
    before: (db) => db.repository(Ware).put({ ...key, status: null, count: 1 }),
    idle: (db) => db.repository(Ware).update(key, { status: null }),
    change: (db) => db.repository(Ware).update(key, { status: 'new' }),
  },
  'an entity without the column put again, and the column set': {
    before: (db) => db.repository(Piece).put({ ...key, status: null }),
    idle: (db) => db.repository(Piece).put({ ...key, status: null }),
    change: (db) => db.repository(Piece).put({ ...key, status: 'new' }),
  },
  'the same on a condition': {
    before: (db) => db.repository(Ware).put({ ...key, status: null, count: 1 }),
    idle: (db) => db.repository(Ware).check(key, { count: 1 }).update({ status: null }),
    change: (db) => db.repository(Ware).mutate(key, (row) => row.set({ status: 'new' })),
  },
  'the same by a query': {
    before: (db) => db.repository(Ware).put({ ...key, status: null, count: 1 }),
    idle: (db) => db.repository(Ware).find({ shop: 'a' }).updateAll({ status: null }),
    change: (db) => db.repository(Ware).upsert({ ...key, status: 'new' }, { status: 'new' }),
  },
};

test.each(Object.entries(IDLE))('%s, in one millisecond', async (_, { before, idle, change }) => {
  let now = Date.now();
  await using store = await openStepless(
    () => now,
    async () => undefined,
  );
  const { db } = await store.program(...told);
  const { db: other } = await store.program(...told);
  const replay = new Replay();
  for (let round = 0; round < 3; round++) {
    await before(db);
    now += 10;
    await idle(other);
    await change(db);
    const rows = [await db.repository(Ware).get(key), await db.repository(Piece).get(key)];
    expect(rows.map((row) => row?.status)).toContain('new');
    now += 10;
    await expectReplayed(other, replay, `round ${round}`, { settledAfter: 0 });
  }
});

test('of conditional changes in three programs, each of which ends the condition, one is made', async () => {
  const random = new Random(1);
  await using store = await openStepless(Date.now, () => turns(random.below(6)));
  const programs = [await store.program(...told), await store.program(...told), await store.program(...told)];
  const wares = programs.map(({ db }) => db.repository(Ware));
  for (let round = 0; round < fromMiddle(150, 2000); round++) {
    await wares[0]!.put({ ...key, status: 'x', count: 1 });
    const kind = round % 3;
    const outcomes = await Promise.all(
      wares.map((each) => {
        const check = each.check(key, { status: 'x' });
        return kind === 0
          ? check.delete()
          : kind === 1
            ? check.update({ status: null })
            : check.mutate((row) => row.unset('status'));
      }),
    );
    expect(outcomes.filter(({ ok }) => ok)).toHaveLength(1);
  }
});

test('writers of the same rows in three programs, whose requests take turns: what was told makes the rows that are there', async () => {
  for (let seed = 1; seed <= fromMiddle(10, 300); seed++) {
    const random = new Random(seed);
    await using store = await openStepless(
      () => Math.floor(performance.timeOrigin + performance.now()),
      () => turns(random.below(6)),
    );
    const programs = [
      await store.program(...told),
      await store.program(...told),
      await store.program(...told),
    ];
    await writeToldAtOnce(
      programs.map(({ db }) => db),
      (writes) => writes < 20,
    );
  }
}, 600_000);
