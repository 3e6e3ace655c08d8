/** Mutual links: a row and its mirror, with steps over several rows, and where one step is one row as on HBase. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Column, Counter, Entity, Reference, rowKey, salt, uniqueIndex } from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import type { SchemaError } from '../../src/errors.js';
import { MirrorMaintainer, MirrorPlan } from '../../src/features/mutual/mirror.js';
import { compileSchema } from '../../src/mapper/index.js';
import { RowImage } from '../../src/repository/index.js';
import { Delete, Get, Put, RowMutations } from '../../src/table/index.js';
import { openMemory } from '../../src/testing/index.js';
import { scaled } from '../proof/scale.js';
import { bothEngines, openStepless } from '../proof/stepless.js';
import { Random } from '../query/model/random.js';
import {
  endLinkingAfterCalls,
  entities,
  Friendship,
  Person,
  prepare,
  states,
  writeBothSides,
} from './mutual.js';

const ENGINES = bothEngines(entities);

describe.each(Object.entries(ENGINES))('on an engine of %s', (name, openIt) => {
  let db: Database;
  let close: () => Promise<void>;
  beforeEach(async () => {
    ({ db, close } = await openIt());
    await prepare(db);
  });
  afterEach(() => close());

  const friendsOf = async (person: string) =>
    (await db.repository(Friendship).find({ person }).all()).map(({ friend, since, friendName, notes }) => [
      friend,
      since,
      friendName,
      Object.fromEntries(notes ?? []),
    ]);

  test('a write of either side changes both, in every way of writing; each takes its own copies', async () => {
    const links = db.repository(Friendship);
    const there = { person: 'ann', friend: 'ben' };
    const back = { person: 'ben', friend: 'ann' };
    await links.insert({ ...back, since: 1, notes: new Map([['a', 'x']]) });
    expect(await friendsOf('ann')).toEqual([['ben', 1, 'Ben', { a: 'x' }]]);
    expect(await friendsOf('ben')).toEqual([['ann', 1, 'Ann', { a: 'x' }]]);
    await expect(links.insert({ ...there, since: 2 })).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
    await links.update(back, { since: 2 });
    await links.mutate(there, (row) =>
      row.set({
        notes: new Map([
          ['a', null],
          ['b', 'y'],
        ]),
      }),
    );
    expect((await links.check(back, { since: 2 }).update({ since: 3 })).ok).toBe(true);
    expect((await links.check(back, { since: 2 }).update({ since: 4 })).ok).toBe(false);
    expect(await friendsOf('ann')).toEqual([['ben', 3, 'Ben', { b: 'y' }]]);
    expect(await friendsOf('ben')).toEqual([['ann', 3, 'Ann', { b: 'y' }]]);
    await links.append(back, { motto: 'to' });
    await links.append(there, { motto: 'gether' });
    expect((await links.get(back))?.motto).toBe('together');
    await links.find({ person: 'ben' }).updateAll({ since: 5 });
    await db.repository(Person).update({ id: 'ann' }, { name: 'Anna' });
    expect(await friendsOf('ben')).toEqual([['ann', 5, 'Anna', { b: 'y' }]]);
    expect(await friendsOf('ann')).toEqual([['ben', 5, 'Ben', { b: 'y' }]]);
    await links.replace({ ...back, since: 6 });
    expect(await friendsOf('ann')).toEqual([['ben', 6, 'Ben', {}]]);
    await db.batch((batch) => void batch.of(Friendship).put({ person: 'cid', friend: 'ann', since: 7 }));
    await links.putMany([{ person: 'cid', friend: 'ben', since: 8 }]);
    expect((await friendsOf('ann')).map(([friend]) => friend)).toEqual(['ben', 'cid']);
    expect(await links.by('bySince').find({ since: 8 }).count()).toBe(2);
    expect(await db.summary(Friendship, 'count').get({ person: 'ben' })).toMatchObject({ friends: 2 });
    await links.put({ person: 'cid', friend: 'cid', since: 9 });
    await links.delete({ person: 'cid', friend: 'cid' });
    await links.delete(there);
    expect(await friendsOf('ann')).toEqual([['cid', 7, 'Cid', {}]]);
    expect((await friendsOf('ben')).map(([friend]) => friend)).toEqual(['cid']);
    await links.find({ person: 'cid' }).deleteAll();
    expect(await links.find({}, { fullScan: true }).count()).toBe(0);
    expect(await db.mutual(Friendship).check()).toMatchObject({ rows: 0, stale: 0, missing: 0 });
  });

  test('explainWrite tells that the row of the other side follows', async () => {
    const key = { person: 'ann', friend: 'ben' };
    expect(await db.explainWrite(Friendship, key)).toMatchObject({ mirror: true });
    expect(await db.explainWrite(Person, { id: 'ann' })).toMatchObject({ mirror: false });
  });

  test('deleting a person deletes both rows of its links', async () => {
    const links = db.repository(Friendship);
    await links.putMany([
      { person: 'ann', friend: 'ben' },
      { person: 'ben', friend: 'cid' },
      { person: 'cid', friend: 'ann' },
    ]);
    await db.repository(Person).delete({ id: 'ben' });
    await db.denormalized(Friendship).drain();
    const left = await links.find({}, { fullScan: true }).all();
    expect(left.map(({ person, friend }) => person + friend).sort()).toEqual(['anncid', 'cidann']);
    await expect(links.put({ person: 'ann', friend: 'ben' })).rejects.toMatchObject({
      code: 'ERR_REFERENCE',
    });
  });

  test('check tells what direct writes have left, repair completes it, a second one changes nothing', async () => {
    const links = db.repository(Friendship);
    await links.putMany([
      { person: 'ann', friend: 'ben', since: 1 },
      { person: 'ben', friend: 'cid', since: 2 },
      { person: 'cid', friend: 'ann', since: 3 },
    ]);
    const table = db.engine.table('friendships');
    const row = (person: string, friend: string) => links.schema.mapper.rowOf({ person, friend });
    await table.delete(new Delete(row('ann', 'ben')));
    await table.put(new Put(row('cid', 'ben')).addColumn('d', Buffer.from('t'), int32.encode(9)));
    const before = await db.mutual(Friendship).check();
    expect(before).toMatchObject({ rows: 5, missing: 1, stale: 1, repaired: 0 });
    expect(await db.mutual(Friendship).repair()).toMatchObject({ rows: 5, repaired: 2 });
    expect(await db.mutual(Friendship).repair()).toMatchObject({ rows: 6, valid: 6, repaired: 0 });
    expect(await states(db)).toEqual({ faults: 0, rows: 6 });
  });

  test('random writes of both sides keep both equal', async () => {
    const links = db.repository(Friendship);
    const random = new Random(name.length);
    const model = new Map<string, number>();
    for (let step = 0; step < scaled(8, 120, 1500); step++) {
      const person = random.pick(['ann', 'ben', 'cid']);
      const friend = random.pick(['ann', 'ben', 'cid']);
      const pair = [person, friend].sort().join();
      const key = { person, friend };
      const kind = random.below(5);
      if (kind === 0) {
        await links.delete(key);
        model.delete(pair);
      } else if (kind === 1) {
        const updated = links.update(key, { since: step });
        if (model.has(pair)) await updated;
        else await expect(updated).rejects.toMatchObject({ code: 'ERR_NOT_FOUND' });
        if (model.has(pair)) model.set(pair, step);
      } else {
        if (kind === 2) await links.replace({ ...key, since: step });
        else await links.upsert({ ...key, since: step }, { since: step });
        model.set(pair, step);
      }
      const found = await links.find({}, { fullScan: true }).all();
      const told = new Map(found.map((one) => [[one.person, one.friend].sort().join(), one.since]));
      expect([...told].sort()).toEqual([...model].sort());
    }
    expect((await states(db)).faults).toBe(0);
  });
});

test('a program may end behind any call: check tells it, the outbox ends it, and repair then finds nothing', async () => {
  await using store = await openStepless();
  const program = () => store.program(...entities);
  const { db } = await program();
  const { died, off } = await endLinkingAfterCalls(db, program, scaled(29, 3, 1));
  expect(died).toBeGreaterThan(scaled(1, 20, 60));
  expect(off).toBeGreaterThan(0);
});

test('writers of both sides at once, in three programs: both are equal once the outbox is drained', async () => {
  await using store = await openStepless();
  const programs = [
    await store.program(...entities),
    await store.program(...entities),
    await store.program(...entities),
  ];
  const most = scaled(3, 20, 300);
  await writeBothSides(
    programs.map(({ db }) => db),
    (writes) => writes < most,
  );
});

test('a mirror is made equal again when its row has changed since it was read', async () => {
  await using db = await openMemory({ entities });
  await prepare(db);
  const [first, second] = [
    { person: 'ann', friend: 'ben' },
    { person: 'ben', friend: 'ann' },
  ];
  const links = db.repository(Friendship);
  await links.put({ ...first, since: 1 });
  const schema = db.schema.entity(Friendship);
  const table = db.engine.table('friendships');
  const read = (get: Get) => table.getSync(get);
  const since = schema.columns.find(({ property }) => property === 'since')!;
  const setFirst = async (value: number): Promise<void> => {
    await table.put(
      new Put(schema.key.encode(first)).addColumn('d', since.qualifier, since.codec.encode(value)),
    );
  };
  await setFirst(2);
  let writes = 0;
  const settled = await new MirrorMaintainer(new MirrorPlan(schema), {
    reading: async (look) => look({ read, scan: () => [] }),
    applyChanges: async ([change]) => {
      const { row, resolve } = change!;
      // Another program is faster the first time.
      if (writes++ === 0) await setFirst(3);
      for (const mutation of resolve(RowImage.of(row, read(new Get(row)))))
        await table.mutateRow(new RowMutations(row).add(mutation as Put));
      return 1;
    },
    fence: () => Promise.resolve(true),
    now: () => Date.now(),
  }).settle(schema.key.encode(first));
  expect([settled, writes]).toEqual([true, 2]);
  expect([(await links.get(first))?.since, (await links.get(second))?.since]).toEqual([3, 3]);
});

test('a transaction changes both sides, or none', async () => {
  await using db = await openMemory({ entities });
  await prepare(db);
  await db.transaction((tx) => tx.repository(Friendship).put({ person: 'ben', friend: 'ann', since: 1 }));
  const failing = db.transaction(async (tx) => {
    await tx.repository(Friendship).delete({ person: 'ann', friend: 'ben' });
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  expect(await states(db)).toEqual({ faults: 0, rows: 2 });
  const later = { timestamp: Date.now() + 60_000 };
  await expect(
    db.repository(Friendship).put({ person: 'ben', friend: 'ann', since: 1 }, later),
  ).rejects.toMatchObject({ code: 'ERR_UNSUPPORTED' });
});

test('a write with a future timestamp is refused where no rule refuses it: it would hide what the mirror gets', async () => {
  @Entity({ table: { name: 'ties', families: { d: {} } }, mutual: ['one', 'other'] })
  class Tie {
    static readonly key = rowKey('one', 'other');
    one!: string;
    other!: string;
    @Column('d:n', text) note?: string | null;
  }
  await using db = await openMemory({ entities: [Tie] });
  const later = { timestamp: Date.now() + 60_000 };
  const ties = db.repository(Tie);
  await expect(ties.put({ one: 'a', other: 'b', note: 'x' }, later)).rejects.toMatchObject({
    code: 'ERR_UNSUPPORTED',
    message: expect.stringContaining('mutual links'),
  });
  expect(await ties.get({ one: 'a', other: 'b' })).toBeNull();
});

test('what cannot be mutual is refused, and the error says what to do', () => {
  const table = { name: 'wrong', families: { d: {} } };
  const problemsOf = (...classes: Parameters<typeof compileSchema>[0]): string => {
    try {
      compileSchema([Person, ...classes]);
    } catch (error) {
      return (error as SchemaError).problems.join('\n');
    }
    return '';
  };
  @Entity({ table, mutual: ['person', 'nobody'] })
  class Unknown {
    static readonly key = rowKey('person', 'friend');
    person!: string;
    friend!: string;
  }
  @Entity({ table, mutual: ['person', 'friend'], ttl: 1000 })
  class Ending {
    static readonly key = rowKey(salt(4, { assign: 'random' }), 'person', 'friend');
    static readonly indexes = { byCode: uniqueIndex('code') };
    person!: string;
    friend!: string;
    @Column('d:c', text) code?: string | null;
    @Counter('d:n') count?: bigint;
    @Reference(() => Person, { id: 'person' }, { onDelete: 'cascade' }) one?: Person | null;
  }
  expect(problemsOf(Unknown)).toContain('mutual is ["person", "nobody"]. Name two parts of the key');
  const said = problemsOf(Ending);
  for (const part of [
    'ends by itself',
    'a salt drawn at random',
    'byCode is unique',
    'It is a counter',
    'about one side of a mutual link',
  ])
    expect(said).toContain(part);
});
