/**
 * What users of other mappers look for first, each as a program that can be read for itself. Those on tasks run for a class
 * with decorators and for the same entity made by `defineEntity`.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  Column,
  Columns,
  Default,
  DeletedAt,
  defineEntity,
  defineTable,
  Entity,
  rowKey,
} from '../../decorators/index.js';
import { counter, enumeration, int32, text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import { type QueryEvent, queryLogger } from '../../src/index.js';
import { part, substitute, uint32 } from '../../src/key/index.js';
import type { Repository } from '../../src/repository/index.js';
import type { EntitySubscriber } from '../../src/schema/index.js';
import { newUlid, newUuid } from '../../src/schema/index.js';
import type { EmbeddedEngine } from '../../src/store/engine.js';
import { openMemory, settableClock } from '../../src/testing/index.js';

const states = enumeration({ open: 1, done: 2 });

@Entity({ table: defineTable({ name: 'tasks', families: { d: {} } }) })
class Task {
  static readonly key = rowKey(part('project'), part('id'));
  project!: string;
  @Default(newUuid) id!: string;
  @Column('d:t', text) title!: string;
  @Default(() => 'open') @Column('d:s', states) state?: 'open' | 'done' | null;
  @Column('d:p', int32) points?: number | null;
  @DeletedAt('d:x') deletedAt?: Date | null;
}

const DefinedTask = defineEntity({
  name: 'DefinedTask',
  table: defineTable({ name: 'defined_tasks', families: { d: {} } }),
  key: [part('project'), part('id')],
  columns: (c) => ({
    title: c.column('d:t', text),
    state: c
      .column('d:s', states)
      .default(() => 'open')
      .optional(),
    points: c.column('d:p', int32).optional(),
    deletedAt: c.deletedAt('d:x'),
  }),
  defaults: { id: newUuid },
});

@Entity({ table: defineTable({ name: 'pages', families: { d: {}, a: { versions: 3 }, v: {} } }) })
class Page {
  static readonly key = rowKey(part('url'));
  url!: string;
  @Columns('a:', { value: text }) anchors!: Map<string, string | null>;
  @Columns('v:', { value: counter }) votes!: Map<string, bigint | null>;
}

/** A wide dictionary: ids of 8 bytes stand in the key for texts of any length. */
const Visit = defineEntity({
  name: 'Visit',
  table: defineTable({ name: 'visits', families: { d: {} } }),
  key: [substitute('url', 'urls', { bytes: 8 }), part('no', uint32)],
  columns: (c) => ({
    agent: c.column('d:a', text).optional(),
    clicks: c.column('d:c', counter).optional(),
  }),
});

const Line = defineEntity({
  name: 'Line',
  table: defineTable({ name: 'lines', families: { d: {} } }),
  key: [part('source'), part('no', uint32)],
  columns: (c) => ({ text: c.column('d:t', text) }),
});

class Audit implements EntitySubscriber<Task> {
  readonly listensTo = Task;
  readonly seen: string[] = [];
  afterPut({ title }: Task): void {
    this.seen.push(`put ${title}`);
  }
  afterUpdate({ state }: Task): void {
    this.seen.push(`update ${state}`);
  }
}

const clock = settableClock(1_000_000);
const audit = new Audit();
const events: QueryEvent[] = [];
const log: string[] = [];
const logger = queryLogger((line) => log.push(line));
let db: Database<EmbeddedEngine>;

beforeAll(async () => {
  db = await openMemory({
    entities: [Task, DefinedTask, Page, Visit],
    clock,
    subscribers: [audit],
    onQuery(event) {
      events.push(event);
      logger(event);
    },
    maxCellSize: 12 * 2 ** 20,
  });
});
afterAll(() => db.close());

describe.each([
  ['a class with decorators', () => db.repository(Task)],
  ['defineEntity', () => db.repository(DefinedTask) as unknown as Repository<typeof Task>],
] as const)('%s', (_, repository) => {
  let tasks: Repository<typeof Task>;
  beforeAll(() => {
    tasks = repository();
  });

  it('default values and generated ids', async () => {
    const first = Object.assign(new Task(), { project: 'ids', title: 'one' });
    const second = Object.assign(new Task(), { project: 'ids', title: 'two', state: 'done' as const });
    await tasks.insert(first);
    await tasks.insert(second);
    expect(first.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    expect(second.id > first.id).toBe(true);
    expect(newUlid()).toMatch(/^[0-9A-HJKMNP-TV-Z]{26}$/);
    const found = await tasks.find({ project: 'ids' }).all();
    expect(found.map(({ title, state }) => [title, state])).toEqual([
      ['one', 'open'],
      ['two', 'done'],
    ]);
  });

  it('insert or update in one step', async () => {
    const task = { project: 'upsert', id: 'a', title: 'new' };
    expect(await tasks.upsert(task, { points: 1 })).toBe('inserted');
    expect(await tasks.upsert(task, { points: 2 })).toBe('updated');
    expect(await tasks.get(task)).toMatchObject({ title: 'new', points: 2, state: 'open' });
  });

  it('delete many, delete by a prefix of the key, and whether there is any', async () => {
    const make = (project: string, ids: string) =>
      [...ids].map((id) => ({ project, id, title: id, state: 'open' as const }));
    await tasks.putMany([...make('p', 'abcd'), ...make('p2', 'xy')]);
    await tasks.deleteMany([
      { project: 'p', id: 'a' },
      { project: 'p', id: 'c' },
    ]);
    const left = tasks.find({ project: 'p' });
    expect((await left.all()).map(({ id }) => id)).toEqual(['b', 'd']);
    expect(await left.exists()).toBe(true);
    expect(await tasks.exists({ project: 'p', id: 'a' })).toBe(false);
    expect(await tasks.deletePrefix({ project: 'p' })).toBe(2);
    expect(await left.exists()).toBe(false);
    expect(await tasks.find({ project: 'p2' }).count()).toBe(2);
  });

  it('rows that are deleted and kept', async () => {
    const key = { project: 'soft', id: 'a' };
    await tasks.put({ ...key, title: 'kept', state: 'open' });
    await tasks.delete(key);
    expect(await tasks.get(key)).toBeNull();
    expect(await tasks.find({ project: 'soft' }).all()).toEqual([]);
    const deleted = await tasks.get(key, { withDeleted: true });
    expect(deleted).toMatchObject({ title: 'kept', deletedAt: expect.any(Date) });
    await tasks.restore(key);
    expect(await tasks.get(key)).toMatchObject({ title: 'kept' });
    await tasks.purge(key);
    expect(await tasks.get(key, { withDeleted: true })).toBeNull();
  });

  it('the first by a column, among rows that conditions choose', async () => {
    const points = [3, 9, 1, 7];
    await tasks.putMany(
      points.map((n) => ({ project: 'top', id: `t${n}`, title: `${n}`, points: n, state: 'open' as const })),
    );
    const best = await tasks
      .find({ project: 'top' })
      .where({ points: { lt: 9 } })
      .orderBy('points', 'desc')
      .limit(2)
      .all();
    expect(best.map((task) => task.points)).toEqual([7, 3]);
  });

  it('options of reads, for one call or for all of a reader', async () => {
    const key = { project: 'read', id: 'a' };
    await tasks.put({ ...key, title: 'x', state: 'open' });
    const scanning = tasks.reading({ cacheBlocks: false, timeout: 60_000 });
    expect(await scanning.get(key, { consistency: 'STRONG' })).toMatchObject({ title: 'x' });
    expect(await scanning.find({ project: 'read' }, { caching: 10 }).all()).toHaveLength(1);
  });
});

it('subscribers are told of writes, wherever in the program they are made', async () => {
  audit.seen.length = 0;
  const tasks = db.repository(Task);
  await tasks.put({ project: 'told', id: 'a', title: 'one', state: 'open' });
  await tasks.update({ project: 'told', id: 'a' }, { state: 'done' });
  expect(audit.seen).toEqual(['put one', 'update done']);
});

it('queries are told when they have ended, and logged: plan, ranges, rows, bytes, time', async () => {
  events.length = 0;
  log.length = 0;
  await db.repository(Task).find({ project: 'top' }).limit(3).all();
  expect(events).toHaveLength(1);
  const [event] = events;
  expect(event).toMatchObject({ operation: 'all', table: 'tasks', ranges: 1, rows: 3, error: undefined });
  expect(event!.bytes).toBeGreaterThan(0);
  expect(event!.milliseconds).toBeGreaterThanOrEqual(0);
  expect(event!.explain()).toMatchObject({ kind: 'range', limit: 3 });
  expect(log[0]).toMatch(/^all Task on tasks: 1 ranges, 3 rows, \d+ bytes, .* ms$/);
});

it('slices of Maps, tests of one entry, what is added to entries, and when each was written', async () => {
  const pages = db.repository(Page);
  const url = 'rowan.example';
  const anchors = new Map([...'abcde'].map((key) => [key, key.toUpperCase()]));
  await pages.put({ url, anchors, votes: new Map([['ann', 2n]]) });
  const some = pages.find({ url }).slice('anchors', { gt: 'a', lte: 'd', limit: 2 });
  expect([...(await some.first())!.anchors]).toEqual([
    ['b', 'B'],
    ['c', 'C'],
  ]);
  expect(
    await pages
      .find({ url })
      .where((w) => w.entry('anchors', 'c', 'C'))
      .exists(),
  ).toBe(true);
  expect(
    await pages
      .find({ url })
      .where((w) => w.entry('anchors', 'z', { exists: true }))
      .exists(),
  ).toBe(false);

  const added = await pages.increment(
    { url },
    {
      votes: new Map([
        ['ann', 3n],
        ['bob', 1n],
      ]),
    },
  );
  expect(added.votes).toEqual(
    new Map([
      ['ann', 5n],
      ['bob', 1n],
    ]),
  );
  expect((await pages.get({ url }))!.votes).toEqual(added.votes);

  const first = clock();
  clock.advance(5000);
  await pages.update(
    { url },
    {
      anchors: new Map([
        ['b', 'again'],
        ['a', null],
      ]),
    },
  );
  const written = await pages.history({ url }, 'anchors', { entry: 'b' });
  expect(written.map(({ value }) => value)).toEqual(['again', 'B']);
  expect(written[0]!.timestamp).toBeGreaterThanOrEqual(first + 5000);
  expect(written[1]!.timestamp).toBeLessThan(first + 5000);
  expect(await pages.history({ url }, 'anchors', { entry: 'none' })).toEqual([]);
});

it('entries of Maps are asked for, and added to, where there are any', async () => {
  const pages = db.repository(Page);
  const key = { url: 'wrong' };
  await expect(pages.history(key, 'anchors')).rejects.toThrow(/holds many columns.*\{ entry: key \}/);
  await expect(pages.history(key, 'url' as never, { entry: 'a' })).rejects.toMatchObject({
    code: 'ERR_QUERY',
  });
  await expect(pages.increment(key, { votes: 1n } as never)).rejects.toThrow(/is a Map of counters/);
  await expect(pages.increment(key, { anchors: new Map([['a', 1]]) } as never)).rejects.toThrow(
    /anchors is no counter but text/,
  );
  await expect(db.repository(Visit).increment({ url: 'wrong', no: 1 }, { clicks: 1n })).rejects.toThrow(
    /clicks has the bytes of a counter, but is declared as a column.*Declare it with @Counter/,
  );
  await expect(pages.increment(key, { votes: new Map([[7, 1n]]) } as never)).rejects.toMatchObject({
    code: 'ERR_CODEC',
  });
  await expect(pages.increment(key, { votes: new Map([['a', 'x']]) } as never)).rejects.toMatchObject({
    code: 'ERR_INVALID_ARGUMENT',
  });
  expect(await pages.exists(key)).toBe(false);
});

it('additions to entries of one row that meet are all counted', async () => {
  const pages = db.repository(Page);
  const key = { url: 'many' };
  const votes = await Promise.all(
    Array.from({ length: 60 }, (_, i) => pages.increment(key, { votes: new Map([[`v${i % 3}`, 1n]]) })),
  );
  expect(votes.map(({ votes: one }) => [...one!.values()][0])).toContain(20n);
  expect([...(await pages.get(key))!.votes.values()]).toEqual([20n, 20n, 20n]);
});

it('entities added to an open database, tables named at run time, and queries over several of them', async () => {
  await db.add(Line);
  await db.repository(Line).put({ source: 's', no: 1, text: 'own table' });
  for (const day of ['mon', 'tue']) {
    const lines = await db.repositoryIn(Line, `lines_${day}`);
    await lines.put({ source: 's', no: day === 'mon' ? 2 : 1, text: day });
  }
  const days = await db.readerIn(Line, ['lines_mon', 'lines_tue']);
  expect((await days.find({ source: 's' }).all()).map(({ text: day }) => day)).toEqual(['mon', 'tue']);
  expect(await days.find({ source: 's' }).where({ text: 'tue' }).count()).toBe(1);
});

it('cells above 10 MiB, where the store is opened for them', async () => {
  const tasks = db.repository(Task);
  const title = 'x'.repeat(11 * 2 ** 20);
  await tasks.put({ project: 'large', id: 'a', title, state: 'open' });
  expect((await tasks.get({ project: 'large', id: 'a' }))!.title === title).toBe(true);
});

it('dictionaries of ids of 8 bytes', async () => {
  const visits = db.repository(Visit);
  await visits.put({ url: 'https://rowan.example/a/long/path', no: 1 });
  const url = 'https://rowan.example/a/long/path';
  expect(await visits.find({ url }).all()).toMatchObject([{ url, no: 1 }]);
  expect(visits.schema.key.encode({ url, no: 1 })).toHaveLength(8 + 4);
});
