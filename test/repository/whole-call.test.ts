/** The time of a write of many steps on an engine whose one step is a row: it is that of the whole. */

import { afterEach, expect, test, vi } from 'vitest';
import { Column, Entity, Index, part, RowKey, Summary, Table } from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import { Database } from '../../src/database.js';
import { compileSchema } from '../../src/mapper/index.js';
import { openEmbedded } from '../../src/store/engine.js';
import type { Engine, OperationOptions, Table as Rows } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/index.js';
import { stepless } from '../proof/stepless.js';

@Table({ name: 'timed', families: { d: {} } })
class Timed {}

@Entity({ table: Timed })
@RowKey(part('id'))
@Summary('byState', { by: ['state'], figures: { n: 'count', sum: { sum: 'size' } } })
class Item {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byCode: ['code']; byState: ['state'] };
  declare static readonly summaries: {
    byState: { by: ['state']; figures: { n: 'count'; sum: { sum: 'size' } } };
  };
  id!: string;
  @Index('byCode', { unique: true }) @Column('d:c', text) code!: string;
  @Index('byState') @Column('d:s', text) state!: string;
  @Column('d:z', int32) size!: number;
}

@Entity({ table: { name: 'timed_notes', families: { d: {} } } })
@RowKey(part('id'))
class Note {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:b', text) body!: string;
}

@Entity({ table: { name: 'timed_tasks', families: { d: {} } } })
@RowKey(part('id'))
@Index('byState', [part('state')], { consistency: 'eventual' })
class Task {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byState: ['state'] };
  id!: string;
  @Column('d:s', text) state!: string;
}

const STEP = 100;
let now = 0;
/** Calls one after the other: such as are sent together are one. */
let turns = 0;
let isOpen = false;
/** The times that steps were given, by table and call. */
let given: { readonly call: string; readonly timeout: number | undefined; readonly turn: number }[] = [];
/** Calls that wait, and what for. */
let isHeld = (_call: string): boolean => false;
let held: Promise<void> | undefined;

/** The engine by a clock of its own: each call of a table takes 100 ms, and none is made in no time. */
function slow(engine: Engine): Engine {
  const table = (of: Rows): Rows =>
    new Proxy(of, {
      get: (target, name) => {
        if (name === 'operationTimeout') return 60_000;
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function' || name === 'scan') return value;
        return async (...args: unknown[]) => {
          const { timeout } = (args[1] ?? {}) as OperationOptions;
          if (!isOpen) turns++;
          const own = `${target.name} ${String(name)}`;
          given.push({ call: own, timeout, turn: turns });
          if (isHeld(own)) await held;
          isOpen = true;
          await new Promise((resolve) => setImmediate(resolve));
          isOpen = false;
          now += STEP;
          return value.apply(target, args) as unknown;
        };
      },
    });
  return new Proxy(engine, {
    get: (target, name) => {
      if (name === 'table') return (of: string) => table(target.table(of));
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

async function open(): Promise<Database> {
  const engine = await openEmbedded('/memory', {
    fileSystem: new MemoryFileSystem(),
    background: 'inline',
    durability: 'ASYNC_WAL',
  });
  const db = new Database(compileSchema([Item, Note, Task]), slow(stepless(engine)), 'create');
  await db.ready();
  // Each look takes a millisecond, so that a wait for the next one ends.
  vi.spyOn(performance, 'now').mockImplementation(() => now++);
  given = [];
  return db;
}

afterEach(() => {
  vi.restoreAllMocks();
  isHeld = () => false;
});

/** Holds calls until the returned function is called. */
function hold(names: (call: string) => boolean): () => void {
  let release!: () => void;
  held = new Promise((resolve) => {
    release = resolve;
  });
  isHeld = names;
  return () => {
    isHeld = () => false;
    release();
  };
}

const item = (id: string) => ({ id, code: `c${id}`, state: 'open', size: 1 });

test('each step is given what is left, by the options or by the engine', async () => {
  await using db = await open();
  const items = db.repository(Item);
  for (const [options, whole] of [
    [{ timeout: 5000 }, 5000],
    [undefined, 60_000],
  ] as const) {
    given = [];
    await items.put(item(`a${whole}`), options);
    const steps = given.slice(0, given.findIndex(({ call }) => call === 'timed batch') + 1);
    expect(steps.length).toBeGreaterThan(3);
    for (const { call, timeout, turn } of steps) {
      const before = turn - steps[0]!.turn;
      if (timeout !== undefined) expect(timeout, call).toBeLessThanOrEqual(whole - before * STEP);
    }
    expect(steps.filter(({ timeout }) => timeout !== undefined).length).toBeGreaterThan(2);
  }
});

test('a write whose time is over before its row is written changes nothing, whatever step it is at', async () => {
  await using db = await open();
  const items = db.repository(Item);
  await items.put(item('before'));
  const steps = given.findIndex(({ call }) => call === 'timed batch');
  for (let timeout = STEP; timeout <= steps * STEP; timeout += STEP) {
    await expect(items.put(item('new'), { timeout }), `${timeout}`).rejects.toMatchObject({
      code: 'ERR_TIMEOUT',
    });
    expect(await items.get({ id: 'new' })).toBeNull();
  }
  await items.put(item('new'));
  expect(await items.by('byCode').find({ code: 'cnew' }).all()).toMatchObject([{ id: 'new' }]);
  await db.summary(Item, 'byState').drain({ settledAfter: 0 });
  expect(await db.summary(Item, 'byState').get({ state: 'open' })).toMatchObject({ n: 2 });
});

test('a write whose row is written ends with its time, and what follows goes on behind it', async () => {
  await using db = await open();
  const items = db.repository(Item);
  await items.put(item('before'));
  const steps = given.findIndex(({ call }) => call === 'timed batch') + 1;
  // What nobody has waited for takes time too, by this clock.
  await db.summary(Item, 'byState').drain();
  given = [];
  let hasWritten = false;
  const release = hold((call) => {
    const isAfter = hasWritten;
    hasWritten ||= call === 'timed batch';
    return isAfter;
  });
  await items.put(item('new'), { timeout: 3 * steps * STEP });
  release();
  expect(await items.by('byState').find({ state: 'open' }).count()).toBe(2);
  await db.summary(Item, 'byState').drain({ settledAfter: 0 });
  expect(await db.summary(Item, 'byState').get({ state: 'open' })).toMatchObject({ n: 2, sum: 2 });
  expect(await db.index(Item, 'byCode').verify()).toMatchObject({ missing: 0, extra: 0, stale: 0 });
});

test('a batch whose time is over says of each row whether it was written', async () => {
  await using db = await open();
  const notes = db.repository(Note);
  // Two changes of one row go one after the other, and the time is over after the first.
  const outcomes = await notes.batch(
    (batch) => batch.put({ id: 'a', body: 'one' }).put({ id: 'a', body: 'two' }),
    { timeout: STEP / 2 },
  );
  expect(outcomes).toMatchObject([{ ok: true }, { ok: false, error: { code: 'ERR_TIMEOUT' } }]);
  expect(await notes.get({ id: 'a' })).toMatchObject({ body: 'one' });
});

test('the wait for another write of the row is part of the time, and ends with the signal', async () => {
  await using db = await open();
  for (const [write, first] of [
    [
      (id: string, options: object) =>
        db.repository(Note).mutate({ id }, (row) => row.unset('body'), options),
      'timed_notes ',
    ],
    [(id: string, options: object) => db.repository(Item).put(item(id), options), 'timed batch'],
  ] as const) {
    const release = hold((call) => call.startsWith(first));
    const begun = write('a', {});
    const others = new AbortController();
    const refused = write('a', { signal: others.signal });
    await expect(write('a', { timeout: 20 }), first).rejects.toMatchObject({
      code: 'ERR_TIMEOUT',
      message: expect.stringContaining('Nothing was changed') as string,
    });
    others.abort();
    await expect(refused).rejects.toMatchObject({ code: 'ERR_ABORTED' });
    release();
    await begun;
    // The row is free for others.
    await write('a', {});
  }
});

test('the wait for the record of a writer is part of the time, and nothing is written without it', async () => {
  await using db = await open();
  const tasks = db.repository(Task);
  const release = hold((call) => call === 'timed_tasks_idx put');
  await expect(tasks.put({ id: 'late', state: 'open' }, { timeout: 20 })).rejects.toMatchObject({
    code: 'ERR_TIMEOUT',
  });
  const others = new AbortController();
  const refused = tasks.insert({ id: 'ended', state: 'open' }, { signal: others.signal });
  others.abort();
  await expect(refused).rejects.toMatchObject({ code: 'ERR_ABORTED' });
  release();
  await tasks.put({ id: 'new', state: 'open' });
  expect(await tasks.find({}, { fullScan: true }).all()).toMatchObject([{ id: 'new' }]);
  await db.index(Task, 'byState').drain();
  expect(await tasks.by('byState').find({ state: 'open' }).count()).toBe(1);
});
