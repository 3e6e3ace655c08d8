/** Writes of one row in one process, on an engine whose deletes hide puts of their millisecond. */

import { afterEach, expect, test, vi } from 'vitest';
import { Column, Entity, part, RowKey, Table } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { Database } from '../../src/database.js';
import { compileSchema } from '../../src/mapper/index.js';
import { WholeCall } from '../../src/repository/options.js';
import { nextMillisecond, RowLock } from '../../src/repository/row-lock.js';
import { openEmbedded } from '../../src/store/engine.js';
import type { Engine, Table as StoredTable } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/index.js';
import { stepless } from '../proof/stepless.js';
import { watchedTables } from '../proof/watched-tables.js';

@Table({ name: 'plain_rows', families: { d: {} } })
class PlainRows {}

@Entity({ table: PlainRows })
@RowKey(part('id'))
class Row {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:a', text) a?: string | null;
  @Column('d:b', text) b?: string | null;
}

afterEach(() => vi.restoreAllMocks());

/** The engine; `calls` gets the name of each write, and a write that deletes waits for `held` before its answer. */
function watched(engine: Engine, calls: string[], held: Promise<void>): Engine {
  return watchedTables(engine, (_table, method, call) => {
    if (!['put', 'putPacked', 'delete', 'batch', 'mutateRow'].includes(method)) return undefined;
    return async (...given) => {
      calls.push(method);
      const answer = await call(...given);
      if (method === 'mutateRow') await held;
      return answer;
    };
  });
}

test.each([
  ['put', (rows: ReturnType<typeof rowsOf>) => rows.put({ id: '1', a: 'x', b: 'y' })],
  ['putMany', (rows: ReturnType<typeof rowsOf>) => rows.putMany([{ id: '1', a: 'x', b: 'y' }])],
])('%s waits for a delete of its row, until the millisecond after its answer', async (_, write) => {
  const calls: string[] = [];
  let release!: () => void;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const engine = await openEmbedded('/memory', {
    fileSystem: new MemoryFileSystem(),
    background: 'inline',
    durability: 'ASYNC_WAL',
  });
  await using db = new Database(compileSchema([Row]), watched(stepless(engine), calls, held), 'create');
  await db.ready();
  const rows = rowsOf(db);
  const first = rows.put({ id: '1', a: 'x', b: null });
  const second = write(rows);
  const other = rows.putMany([{ id: '2', a: 'x' }]);
  await other;
  expect(calls.filter((call) => call === 'mutateRow')).toHaveLength(1);
  expect(calls).toHaveLength(2);
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  release();
  await first;
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(calls).toHaveLength(2);
  now = 2;
  await second;
  expect(calls).toHaveLength(3);
  expect(await rows.get({ id: '1' })).toMatchObject({ a: 'x', b: 'y' });
});

test('a delete waits until the times are over that HBase gives to appends, each a millisecond behind the last', async () => {
  const calls: string[] = [];
  const engine = await openEmbedded('/memory', {
    fileSystem: new MemoryFileSystem(),
    background: 'inline',
    durability: 'ASYNC_WAL',
  });
  await using db = new Database(
    compileSchema([Row]),
    watched(stepless(engine), calls, Promise.resolve()),
    'create',
  );
  await db.ready();
  const rows = rowsOf(db);
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  // They do not wait for each other.
  for (let i = 0; i < 3; i++) await rows.append({ id: '1' }, { a: 'x' });
  expect(calls).toEqual(['mutateRow', 'mutateRow', 'mutateRow']);
  const deleting = rows.delete({ id: '1' });
  now = 3;
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(calls).toHaveLength(3);
  now = 3.2;
  await deleting;
  expect(calls).toEqual(['mutateRow', 'mutateRow', 'mutateRow', 'delete']);
  expect(await rows.get({ id: '1' })).toBeNull();
});

function rowsOf(db: Database) {
  return db.repository(Row);
}

test('the next millisecond is told by the clock and not by a timer', async () => {
  let now = 10;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  let isOver = false;
  const over = nextMillisecond().then(() => {
    isOver = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(isOver).toBe(false);
  now = 12;
  await over;
});

test('a delete waits for puts of its row that began before it, and for no others', async () => {
  const lock = new RowLock();
  const began: string[] = [];
  const puts = (name: string, ...rows: string[]) => {
    let answer!: () => void;
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const write = (): Promise<void> => {
      began.push(name);
      return held;
    };
    return {
      answer,
      done: lock.runPuts(
        rows.map((row) => Buffer.from(row)),
        write,
      ),
    };
  };
  const deleting = (row: string) =>
    lock.run(Buffer.from(row), 'alone', async () => void began.push(`delete ${row}`));
  const first = puts('first', 'a', 'b', 'b');
  const second = puts('second', 'b', 'c');
  const deleted = ['a', 'b', 'd'].map(deleting);
  await deleted[2];
  expect(began).toEqual(['first', 'second', 'delete d']);
  const third = puts('third', 'b');
  first.answer();
  await deleted[0];
  expect(began).toEqual(['first', 'second', 'delete d', 'delete a']);
  second.answer();
  await deleted[1];
  third.answer();
  await third.done;
  expect(began).toEqual(['first', 'second', 'delete d', 'delete a', 'delete b', 'third']);
  const last = puts('last', 'b');
  last.answer();
  await last.done;
  expect(began.at(-1)).toBe('last');
});

test('a writer whose call ends in the turn in which it gets the row gives it to the next', async () => {
  const lock = new RowLock();
  const row = Buffer.from('r');
  const ended = new AbortController();
  const call = WholeCall.of({ signal: ended.signal }, {
    operationTimeout: undefined,
  } as unknown as StoredTable);
  const release = await lock.hold([{ row, use: 'puts' }]);
  const write = vi.fn(async () => {});
  const waiting = lock.run(row, 'alone', write, call);
  const next = lock.run(row, 'alone', async () => 'written');
  ended.abort();
  release();
  await expect(waiting).rejects.toMatchObject({ code: 'ERR_ABORTED' });
  expect(await next).toBe('written');
  expect(write).not.toHaveBeenCalled();
});
