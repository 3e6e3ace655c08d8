/** Feeds where one step is one row, as on HBase: programs that end behind any call, writers of the same rows, and where feeds begin. */

import { expect, test } from 'vitest';
import { Column, Entity, Index, part, RowKey } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { Database } from '../../src/database.js';
import { CHANGES_TABLE } from '../../src/features/changes/table.js';
import type { ChangeCommit, ChangeFeed, KeyedClass } from '../../src/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import { Scan } from '../../src/table/index.js';
import { scaled } from '../proof/scale.js';
import { openStepless } from '../proof/stepless.js';
import { withBatch } from '../proof/with-batch.js';
import { endToldAfterCalls, Piece, told, Ware, writeToldAtOnce } from './told.js';

async function take<C extends KeyedClass>(feed: ChangeFeed<C>, count: number): Promise<ChangeCommit<C>[]> {
  const found: ChangeCommit<C>[] = [];
  for await (const commit of feed) {
    found.push(commit);
    if (found.length === count) break;
  }
  return found;
}

function lines(commits: readonly ChangeCommit<typeof Ware>[]): string[] {
  return commits.flatMap(({ changes }) =>
    changes.map(
      ({ operation, before, after }) => `${operation} ${before?.status ?? '-'}>${after?.status ?? '-'}`,
    ),
  );
}

test('every way of writing is told, each with the row before and after', async () => {
  await using store = await openStepless();
  const { db } = await store.program(...told);
  const wares = db.repository(Ware);
  const key = { shop: 'a', no: '1' };
  const feed = db.watch(Ware);
  expect(() => feed.position).toThrow('Await feed.ready()');
  await feed.ready();
  await wares.insert({ ...key, status: 'new', count: 1 });
  await wares.put({ ...key, status: 'open' });
  await wares.update(key, { status: null });
  await wares.replace({ ...key, status: 'sent' });
  await wares.mutate(key, (row) => row.set({ status: 'gone' }));
  await wares.check(key, { status: 'gone' }).update({ status: 'back' });
  await wares.delete(key);
  await wares.delete(key); // Nothing is there: nothing changes.
  expect(await wares.get(key)).toBeNull();
  expect(await wares.find({ shop: 'a' }).limit(1).all()).toEqual([]);
  await wares.upsert({ ...key, status: 'a' }, { status: 'b' });
  await wares.upsert({ ...key, status: 'a' }, { status: 'b' });
  await wares.put({ ...key, status: 'b' }); // As it is.
  await expect(wares.insert({ ...key, status: 'c' })).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
  await wares.find({ shop: 'a' }).updateAll({ status: 'all' });
  await wares.putMany([{ ...key, status: 'many' }]);
  await wares.find({ shop: 'a' }).deleteAll();
  const commits = await take(feed, 12);
  expect(lines(commits)).toEqual([
    'insert ->new',
    'update new>open',
    'update open>-',
    'update ->sent',
    'update sent>gone',
    'update gone>back',
    'delete back>-',
    'insert ->a',
    'update a>b',
    'update b>all',
    'update all>many',
    'delete many>-',
  ]);
  const [first, second] = commits;
  expect(first!.changes[0]).toMatchObject({ entity: Ware, key, before: undefined });
  expect(second!.changes[0]!.before).toBeInstanceOf(Ware);
  expect(second!.changes[0]!.after).toMatchObject({ status: 'open', count: 1 });
  expect(first!.time.getTime()).toBeGreaterThan(0);
  // It goes on where it was left, also in another program.
  const { db: other } = await store.program(...told);
  expect(lines(await take(other.watch(Ware, {}, { from: commits[9]!.position }), 2))).toEqual([
    'update all>many',
    'delete many>-',
  ]);
  // Of the row that is gone nothing is left but its mark.
  const left = await db.engine.table('told_wares').scan(new Scan()).nextBatch(9);
  expect(left.map(({ cells }) => cells.map(({ family }) => family))).toEqual([['m']]);
});

test('a program may end behind any call: what is told is what has happened', async () => {
  await using store = await openStepless();
  const { db } = await store.program(...told);
  const died = await endToldAfterCalls(db, () => store.program(...told), scaled(29, 1, 1));
  expect(died).toBeGreaterThan(scaled(2, 60, 60));
});

test('writers of the same rows in three programs, and readers beside them: what was told makes the rows that are there', async () => {
  await using store = await openStepless();
  const programs = [await store.program(...told), await store.program(...told), await store.program(...told)];
  const most = scaled(2, 20, 200);
  await writeToldAtOnce(
    programs.map(({ db }) => db),
    (writes) => writes < most,
    scaled(6, 16, 16),
  );
});

test('a feed begins with what is under way, and with nothing that was over', async () => {
  await using store = await openStepless();
  const { db } = await store.program(...told);
  const wares = db.repository(Ware);
  await wares.put({ shop: 'a', no: '1', status: 'old' });
  const { db: dying, mortal } = await store.program(...told);
  // It ends when the entry is written, and the row is not.
  for (let after = 0; ; after++) {
    mortal.dieAfter(after);
    await dying
      .repository(Ware)
      .put({ shop: 'a', no: '1', status: `${after}` })
      .catch(() => undefined);
    const row = await wares.get({ shop: 'a', no: '1' });
    if (row?.status !== 'old') break;
  }
  const feed = db.watch(Ware, { shop: 'a' }, { settledAfter: 0 });
  const from = db.watch(Ware, {}, { from: 'start' });
  await feed.ready();
  expect(from.position).not.toBe(feed.position);
  await wares.put({ shop: 'b', no: '1', status: 'unwatched' });
  await wares.put({ shop: 'a', no: '1', status: 'new' });
  const last = lines(await take(feed, 1)).at(-1);
  expect(last).toMatch(/>new$|^update old>/);
});

test('numbers of writes that came to nothing hold no reader up', async () => {
  @Entity({
    table: { name: 'claimed', families: { d: {}, m: {} } },
    changes: { keep: 3_600_000, marks: 'm' },
  })
  @RowKey(part('id'))
  @Index('byMail', [part('mail')], { unique: true })
  class Member {
    declare static readonly key: ['id'];
    declare static readonly indexes: { byMail: ['mail'] };
    id!: string;
    @Column('d:m', text) mail!: string;
  }
  await using store = await openStepless();
  // Numbers come when the claims are decided.
  const databases = await Promise.all(
    [1, 2].map(async () => {
      const { db } = await store.program(Member);
      const slow = withBatch(db.engine, CHANGES_TABLE, async (log, actions) => {
        for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
        return log.batch(actions);
      });
      return new Database(compileSchema([Member]), slow, 'create');
    }),
  );
  const [db] = databases as [Database];
  // A reader that waits for a number that nobody uses does so for good.
  const feed = db.watch(Member, {}, { settledAfter: 1e9, signal: AbortSignal.timeout(10_000) });
  await feed.ready();
  const rounds = scaled(4, 40, 40);
  let refused = 0;
  for (let i = 0; i < rounds; i++) {
    const claims = databases.map((each, n) =>
      each.repository(Member).insert({ id: `${i}${n}`, mail: `m${i}` }),
    );
    for (const { status } of await Promise.allSettled(claims)) if (status === 'rejected') refused++;
  }
  expect(refused).toBe(rounds);
  expect(await take(feed, rounds)).toHaveLength(rounds);
});

test('marks have a family of their own', () => {
  const entityOf = (families: object, marks: unknown) => {
    @Entity({
      table: { name: 'marked', families: families as { d: object } },
      changes: { keep: 1, marks: marks as string },
    })
    @RowKey(part('id'))
    class Marked {
      declare static readonly key: ['id'];
      id!: string;
      @Column('d:s', text) s?: string | null;
    }
    return Marked;
  };
  const refused = (families: object, marks: unknown, words: string) =>
    expect(() => compileSchema([entityOf(families, marks)])).toThrow(words);
  refused({ d: {} }, 'm', 'in the family "m", which its table has not');
  refused({ d: {} }, 'd', 'in the family "d", in which Marked has columns');
  refused({ d: {}, m: { ttl: 60 } }, 'm', 'whose cells end by themselves');
  refused({ d: {}, m: {} }, 7, 'The marks of its changes are');
  expect(compileSchema([entityOf({ d: {}, m: {} }, 'm')]).entities[0]!.changeMarks).toBe('m');
});

test('what no row can tell is refused, and positions of elsewhere too', async () => {
  @Entity({ table: { name: 'unmarked', families: { d: {} } }, changes: { keep: 1000 } })
  @RowKey(part('id'))
  class Unmarked {
    declare static readonly key: ['id'];
    id!: string;
    @Column('d:s', text) s?: string | null;
  }
  @Entity({
    table: { name: 'ending', families: { d: {}, m: {} } },
    ttl: 1000,
    changes: { keep: 1000, marks: 'm' },
  })
  @RowKey(part('id'))
  class Ending {
    declare static readonly key: ['id'];
    id!: string;
    @Column('d:s', text) s?: string | null;
  }
  await using store = await openStepless();
  await expect(store.program(Unmarked)).rejects.toMatchObject({ code: 'ERR_UNSUPPORTED' });
  await expect(store.program(Ending)).rejects.toMatchObject({ code: 'ERR_UNSUPPORTED' });
  const { db } = await store.program(...told);
  const row = { shop: 'a', no: '1' };
  await expect(db.repository(Ware).put(row, { timestamp: 1 })).rejects.toMatchObject({
    code: 'ERR_UNSUPPORTED',
  });
  expect(() => db.watch(Ware, {}, { from: 'MS4w' })).toThrow('watch: from is');
  expect(() => db.watch(Ware, {}, { settledAfter: -1 })).toThrow('settledAfter');
  await db.repository(Ware).put(row);
  const [commit] = await take(db.watch([Ware, Piece], {}, { from: 'start' }), 1);
  await using another = await openStepless();
  const { db: elsewhere } = await another.program(...told);
  const feed = elsewhere.watch(Ware, {}, { from: commit!.position });
  await expect(take(feed, 1)).rejects.toMatchObject({ code: 'ERR_POSITION_GONE' });
});
