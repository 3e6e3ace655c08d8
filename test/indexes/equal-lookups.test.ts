/** Single entities asked for by equality are looked up without a plan and without a scan, and are what a plan finds. */

import { afterEach, expect, test, vi } from 'vitest';
import { AfterLoad, Column, Entity, Index, part, RowKey, Table, text } from '../../src/index.js';
import { EmbeddedTable } from '../../src/store/embedded-table.js';
import { Put } from '../../src/table/index.js';
import { openMemory } from '../../src/testing/index.js';
import { Person } from './entities.js';

afterEach(() => {
  vi.restoreAllMocks();
});

const AT = new Date(7);
const ANN = { id: 'ann', email: 'ann@x', status: 'open', placedAt: AT, total: 3 };

async function openPeople() {
  const db = await openMemory({ entities: [Person] });
  const people = db.repository(Person);
  await people.putMany([
    ANN,
    { id: 'ben', email: 'ben@x', status: 'open', placedAt: new Date(9), total: 4 },
    { id: 'cid', email: 'ann@xy', status: 'opening', placedAt: AT, total: 5 },
  ]);
  return { db, people };
}

test('no scan is opened for one entity by equality, in memory and from files', async () => {
  const { db, people } = await openPeople();
  const scans = vi.spyOn(EmbeddedTable.prototype, 'scanSync');
  for (const at of ['memory', 'files']) {
    expect(await people.by('byEmail').find({ email: 'ann@x' }).first(), at).toMatchObject(ANN);
    expect(await people.by('byEmail').find({ email: 'ann@x' }).all(), at).toMatchObject([ANN]);
    expect(await people.by('byEmail').find({ email: 'ann@' }).first(), at).toBeNull();
    expect(await people.by('byEmail').find({ email: 'ann@' }).all(), at).toEqual([]);
    // The later comes first, and what only begins like it is another.
    expect(await people.by('byStatus').find({ status: 'open' }).first(), at).toMatchObject({ id: 'ben' });
    expect(await people.by('byStatus').find({ status: 'open', placedAt: AT }).first(), at).toMatchObject(ANN);
    expect(await people.by('byStatus').find({ status: 'op' }).first(), at).toBeNull();
    const total = people.by('byStatus').find({ status: 'open', placedAt: AT }).select('total');
    expect(await total.first(), at).toEqual({ id: 'ann', total: 3 });
    expect(await people.by('byStatus').find({ status: 'open' }).select('status').first(), at).toEqual({
      id: 'ben',
      status: 'open',
    });
    expect(await people.by('openByTotal').find({ total: 3 }).first(), at).toMatchObject(ANN);
    expect(await people.by('openByTotal').find({ total: 5 }).first(), at).toBeNull();
    expect(scans, at).not.toHaveBeenCalled();
    await db.admin.flush('shop:people');
    await db.admin.flush('shop:people_idx');
  }
  expect(await people.by('spread').find({ status: 'open' }).first()).not.toBeNull();
  expect(scans).toHaveBeenCalled();
  await db.close();
});

test('what is asked for otherwise takes the plan: reversed, limited to none, of another time, with a condition, or told of', async () => {
  const { db, people } = await openPeople();
  const byStatus = people.by('byStatus').find({ status: 'open' });
  expect(await byStatus.reverse().first()).toMatchObject({ id: 'ann' });
  expect(await byStatus.where({ total: 3 }).first()).toMatchObject({ id: 'ann' });
  expect(await byStatus.orderBy('total').limit(1).all()).toMatchObject([{ id: 'ann' }]);
  expect(await byStatus.limit(0).all()).toEqual([]);
  expect(await byStatus.limit(0).first()).toBeNull();
  expect(await people.by('byEmail').find({ email: 'ann@x' }).limit(0).all()).toEqual([]);
  expect(await people.by('byEmail').find({ email: 'ann@x' }).all({ max: 0 }).catch(String)).toMatch('max');
  await expect(byStatus.asOf(5).first()).rejects.toThrow('holds present values only');
  await expect(byStatus.signal(AbortSignal.abort()).first()).rejects.toThrow();
  await expect(byStatus.select('nothing' as never).first()).rejects.toThrow('nothing');
  await expect(
    people
      .by('byEmail')
      .find({ email: 7 as never })
      .first(),
  ).rejects.toThrow('email');
  expect(() => people.by('byEmail').find({ email: undefined as never })).toThrow('email');
  expect(() => people.by('none' as never)).toThrow('no index');
  expect(() => people.by('byEmail').find({ email: 'x' }, { nothing: 1 } as never)).toThrow('nothing');
  expect(() => people.by('byEmail').find({ email: 'x' }, null as never)).toThrow('options');
  const lasting = people.reading({ cacheBlocks: false }).by('byEmail');
  expect(await lasting.find({ email: 'ben@x' }).first()).toMatchObject({ id: 'ben' });
  await db.close();
  const told: string[] = [];
  await using other = await openMemory({
    entities: [Person],
    onQuery: ({ operation }) => told.push(operation),
  });
  expect(await other.repository(Person).by('byEmail').find({ email: 'x' }).first()).toBeNull();
  expect(told).toEqual(['first']);
});

test('an entry that its row does not bear out gives nothing, and what stands behind it is found', async () => {
  const { db, people } = await openPeople();
  const below = db.engine.table('shop:people');
  const row = people.schema.mapper.rowOf({ id: 'ben' });
  await below.put(new Put(row).addColumn('d', 's', 'gone').addColumn('d', 'e', 'other@x'));
  expect(await people.by('byStatus').find({ status: 'open' }).first()).toMatchObject({ id: 'ann' });
  expect(await people.by('byEmail').find({ email: 'ben@x' }).first()).toBeNull();
  expect(await people.by('byEmail').find({ email: 'ben@x' }).all()).toEqual([]);
  // What the index alone answers it answers until it is repaired.
  await db.index(Person, 'byStatus').repair();
  expect(await people.by('byStatus').find({ status: 'open' }).select('total').first()).toMatchObject({
    id: 'ann',
  });
  await db.close();
});

test('a look-up within a hook does not disturb the one that it is called in', async () => {
  const found: (string | undefined)[] = [];
  @Table({ name: 'nested', families: { d: {} } })
  class Nested {}
  @Entity({ table: Nested })
  @RowKey(part('id'))
  @Index('byName', [part('name')], { include: ['next'] })
  class Link {
    declare static readonly key: ['id'];
    declare static readonly indexes: { byName: ['name'] };
    id!: string;
    @Column('d:n', text) name!: string;
    @Column('d:x', text) next?: string | null;
    @AfterLoad() async follow() {
      if (this.next) found.push((await links.by('byName').find({ name: this.next }).first())?.id);
    }
  }
  await using db = await openMemory({ entities: [Link] });
  const links = db.repository(Link);
  await links.putMany([
    { id: 'a', name: 'one', next: 'two' },
    { id: 'b', name: 'two', next: 'three' },
    { id: 'c', name: 'three' },
  ]);
  expect(await links.by('byName').find({ name: 'one' }).first()).toMatchObject({ id: 'a', next: 'two' });
  expect(found).toEqual(['c', 'b']);
  expect(await links.by('byName').find({ name: 'one' }).select('next').first()).toEqual({
    id: 'a',
    next: 'two',
  });
});

test('in a transaction they see its own writes, and what they found is held against others at its commit', async () => {
  const { db, people } = await openPeople();
  let runs = 0;
  const seen = await db.transaction(async (tx) => {
    const mine = tx.repository(Person);
    expect(await mine.by('byEmail').find({ email: 'dan@x' }).first()).toBeNull();
    if (runs++ === 0) await people.put({ id: 'dan', email: 'dan@y' });
    await mine.put({ id: 'eve', email: 'dan@x', status: 'open' });
    return mine.by('byEmail').find({ email: 'dan@x' }).first();
  });
  expect(seen).toMatchObject({ id: 'eve' });
  expect(runs).toBe(1);
  runs = 0;
  await db.transaction(async (tx) => {
    const there = await tx.repository(Person).by('byEmail').find({ email: 'fay@x' }).first();
    if (runs++ === 0) await people.put({ id: 'fay', email: 'fay@x' });
    await tx.repository(Person).put({ id: 'note', status: there === null ? 'absent' : 'there' });
  });
  expect(runs).toBe(2);
  expect(await people.get({ id: 'note' })).toMatchObject({ status: 'there' });
  await db.close();
});
