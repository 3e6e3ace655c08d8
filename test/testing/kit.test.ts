import { AssertionError } from 'node:assert';
import { expect, it } from 'vitest';
import { defineEntity, defineTable, part, text, uint32 } from '../../src/index.js';
import {
  expectPlan,
  fixture,
  forkMemory,
  MemoryFileSystem,
  openMemory,
  settableClock,
} from '../../src/testing/index.js';

const Note = defineEntity({
  name: 'Note',
  table: defineTable({ name: 'notes', families: { d: {} } }),
  key: [part('owner'), part('n', uint32)],
  columns: (c) => ({ title: c.column('d:t', text), createdAt: c.createdAt('d:c') }),
});
const aNote = () => fixture(Note, (n) => ({ owner: 'o', n, title: `Note ${n}` }));

it('a database in memory is one of its own, and can be opened again', async () => {
  const disk = new MemoryFileSystem();
  const [one, other] = await Promise.all([
    openMemory({ entities: [Note], disk }),
    openMemory({ entities: [Note] }),
  ]);
  await aNote().store(one);
  expect(await one.repository(Note).find({ owner: 'o' }).count()).toBe(1);
  expect(await other.repository(Note).find({ owner: 'o' }).count()).toBe(0);
  await Promise.all([one.close(), other.close()]);
  expect(disk.openHandles).toBe(0);
  const again = await openMemory({ entities: [Note], disk });
  expect(await again.repository(Note).find({ owner: 'o' }).count()).toBe(1);
  await again.close();
});

it('a fork has what its original had, and neither sees later writes of the other', async () => {
  const clock = settableClock();
  await using original = await openMemory({ entities: [Note], clock });
  const notes = aNote();
  await notes.storeMany(original, 50);
  await original.engine.admin.flush('notes');
  await notes.storeMany(original, 50);
  await using one = await forkMemory(original);
  await using two = await forkMemory(original);
  const count = (db: typeof original) => db.repository(Note).find({ owner: 'o' }).count();
  expect(await Promise.all([original, one, two].map(count))).toEqual([100, 100, 100]);
  await notes.storeMany(original, 1);
  await one.repository(Note).find({ owner: 'o' }).deleteAll();
  await one.engine.admin.majorCompact('notes');
  const below = await forkMemory(two);
  await below.repository(Note).delete({ owner: 'o', n: 1 });
  expect(await Promise.all([original, one, two, below].map(count))).toEqual([101, 0, 100, 99]);
  expect((await original.engine.verify()).files).toBeGreaterThan(0);
  clock.advance(1000);
  await below.repository(Note).insert({ owner: 'o', n: 500, title: 'later' });
  expect((await below.repository(Note).get({ owner: 'o', n: 500 }))?.createdAt?.getTime()).toBe(clock());
  await below.close();
  await expect(forkMemory(below)).rejects.toMatchObject({ code: 'ERR_CLOSED' });
  await expect(forkMemory({} as never)).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
});

it('the clock stands until it is moved', async () => {
  const clock = settableClock(new Date(1000));
  expect(clock()).toBe(1000);
  clock.advance(500);
  expect(clock()).toBe(1500);
  clock.set(new Date(20));
  expect(clock()).toBe(20);
  for (const wrong of [-1, 0.5, Number.NaN]) expect(() => clock.advance(wrong)).toThrow(/whole milliseconds/);
  expect(() => clock.set(new Date(Number.NaN))).toThrow(/milliseconds since 1970/);
  expect(() => settableClock(-1)).toThrow(/milliseconds since 1970/);
});

it('a fixture numbers its entities and lets a test say what matters', async () => {
  const db = await openMemory({ entities: [Note] });
  const notes = aNote();
  expect(notes.build()).toEqual({ owner: 'o', n: 1, title: 'Note 1' });
  expect(await notes.store(db, { title: 'mine' })).toMatchObject({ n: 2, title: 'mine' });
  expect(await notes.storeMany(db, 3, { owner: 'p' })).toHaveLength(3);
  expect((await db.repository(Note).find({ owner: 'p' }).all()).map(({ n }) => n)).toEqual([3, 4, 5]);
  await expect(notes.storeMany(db, -1)).rejects.toThrow(/whole number of entities/);
  await db.close();
});

it('a plan is held to what is expected of it, and shown when it is another', async () => {
  const db = await openMemory({ entities: [Note] });
  const query = db.repository(Note).find({ owner: 'o' }).where({ title: 'x' });
  expectPlan(query, { kind: 'range', ranges: 1, fanOut: 1, filters: { local: [], pushed: ['title = "x"'] } });
  const wrong = () => expectPlan(query, { kind: 'point', filters: { pushed: [] } });
  expect(wrong).toThrow(AssertionError);
  expect(wrong).toThrow(
    /kind: expected "point", the plan has "range"\n.*filters\.pushed[\s\S]*range on notes for Note/,
  );
  expect(() => expectPlan(query, { kinds: 'range' } as never)).toThrow(/no field "kinds"/);
  await db.close();
});
