/**
 * The `timeout` of a query that reads in several steps, none of which takes long: it is that of the whole. The clock is the test's
 * own: each step of the engine takes 40 ms of it.
 */

import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { Column, Entity, Index, part, Reference, RowKey, Table } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { Database } from '../../src/database.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { Repository } from '../../src/repository/index.js';
import { openEmbedded } from '../../src/store/engine.js';
import type { Engine, ResultScanner, Table as Rows, Scan } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/index.js';
import { stepless } from '../proof/stepless.js';

@Table({ name: 'tasks', families: { d: {} } })
class Tasks {}

@Entity({ table: Tasks })
@RowKey(part('id'))
@Index('byState', [part('state')])
class Task {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byState: ['state'] };
  id!: string;
  @Column('d:s', text) state!: string;
  @Column('d:o', text) ownerId!: string;
  @Column('d:n', text) note?: string | null;
  @Reference(() => Task, { id: 'ownerId' }) owner?: Task | null;
}

const STEP = 40;
let isSlow = false;
let calls = 0;

async function step<T>(call: () => Promise<T>): Promise<T> {
  calls++;
  if (isSlow) await vi.advanceTimersByTimeAsync(STEP);
  return call();
}

/** The engine with calls that take their time. */
function slow(engine: Engine): Engine {
  const scannerOf = (scanner: ResultScanner): ResultScanner => {
    // A scanner that has given fewer rows than it was asked for knows that it is at its end.
    let isAtEnd = false;
    return {
      next: () => step(() => scanner.next()),
      nextBatch: async (count) => {
        if (isAtEnd) return [];
        const rows = await step(() => scanner.nextBatch(count));
        isAtEnd = rows.length < count;
        return rows;
      },
      close: () => scanner.close(),
      [Symbol.asyncIterator]: () => scanner[Symbol.asyncIterator](),
    };
  };
  const table = (of: Rows): Rows =>
    new Proxy(of, {
      get: (target, name) => {
        if (name === 'scan') return (scan: Scan) => scannerOf(target.scan(scan));
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => step(async () => value.apply(target, args) as Promise<unknown>);
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

let db: Database;
let tasks: Repository<typeof Task>;

beforeAll(async () => {
  const engine = await openEmbedded('/memory', { fileSystem: new MemoryFileSystem(), background: 'inline' });
  db = new Database(compileSchema([Task]), slow(stepless(engine)), 'create');
  await db.ready();
  tasks = db.repository(Task);
  await tasks.putMany(
    Array.from({ length: 40 }, (_, i) => ({ id: `t${i}`, state: i % 2 ? 'open' : 'done', ownerId: 't1' })),
  );
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  isSlow = true;
});

afterAll(async () => {
  isSlow = false;
  vi.useRealTimers();
  await db.close();
});

type Asking = (timeout: number) => Promise<unknown>;

const query = (timeout: number) => tasks.by('byState').find({ state: { in: ['done', 'open'] } }, { timeout });

const FORMS: Readonly<Record<string, Asking>> = {
  all: (timeout) => query(timeout).all(),
  first: (timeout) => query(timeout).where({ note: 'none' }).first(),
  page: (timeout) => query(timeout).page({ size: 30 }),
  count: (timeout) => query(timeout).where({ note: null }).count(),
  exists: (timeout) => query(timeout).where({ note: 'none' }).exists(),
  groupBy: (timeout) => query(timeout).groupBy('state').count(),
  orderBy: (timeout) => query(timeout).orderBy('ownerId').limit(5).all(),
  'all with relations': (timeout) => query(timeout).with('owner').all(),
  'first with relations': (timeout) => tasks.find({ id: 't2' }, { timeout }).with('owner').first(),
  'for await with relations': async (timeout) => {
    for await (const _ of tasks.find({ id: 't2' }, { timeout }).with('owner'));
  },
};

test.each(Object.keys(FORMS))('%s has one time for all that it reads', async (name) => {
  const ask = FORMS[name]!;
  calls = 0;
  await ask(60_000);
  const steps = calls;
  expect(steps).toBeGreaterThan(1);
  if (name.startsWith('for await')) return;
  const started = performance.now();
  await expect(ask(STEP * 1.5)).rejects.toMatchObject({ code: 'ERR_TIMEOUT', retryable: true });
  expect(performance.now() - started).toBeLessThan(STEP * 3);
});

test('a query that is read row by row has its time for each wait', async () => {
  let rows = 0;
  const started = performance.now();
  for await (const _ of query(STEP * 4)) {
    rows++;
    if (rows % 10 === 0) await vi.advanceTimersByTimeAsync(STEP * 2);
  }
  expect(rows).toBe(40);
  expect(performance.now() - started).toBeGreaterThan(STEP * 4);
  const waiting = (async () => {
    for await (const _ of query(STEP * 1.5));
  })();
  await expect(waiting).rejects.toMatchObject({ code: 'ERR_TIMEOUT' });
});

test('a time that is none is refused', async () => {
  for (const timeout of [0, -1, Number.NaN])
    await expect(query(timeout).all()).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
});
