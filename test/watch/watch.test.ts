/** What feeds tell, where they begin and go on, and how they end. */

import { expect, test } from 'vitest';
import { defineEntity, defineTable, Entity, part, RowKey, salt } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { Database } from '../../src/database.js';
import { RowanError } from '../../src/errors.js';
import type { ChangeCommit, ChangeFeed, KeyedClass } from '../../src/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import { openEmbedded } from '../../src/store/engine.js';
import { Delete, Get, Put } from '../../src/table/index.js';
import { MemoryFileSystem, openMemory, settableClock } from '../../src/testing/index.js';
import { entities, Line, Note, Order, Parcel } from './entities.js';

/** The next commits of a feed, each as its changes: operation, key, before and after. */
async function take<C extends KeyedClass>(feed: ChangeFeed<C>, count: number): Promise<ChangeCommit<C>[]> {
  const found: ChangeCommit<C>[] = [];
  if (count === 0) return found;
  for await (const commit of feed) {
    found.push(commit);
    if (found.length === count) break;
  }
  return found;
}

function told(commits: readonly { readonly changes: readonly unknown[] }[]): string[][] {
  return commits.map(({ changes }) => (changes as readonly Told[]).map(line));
}

interface Told {
  readonly entity: { readonly name: string };
  readonly key: { readonly shop: string; readonly no: string };
  readonly operation: string;
  readonly before?: { readonly status?: string | null };
  readonly after?: { readonly status?: string | null };
}

function line({ entity, key, operation, before, after }: Told): string {
  return `${entity.name} ${key.shop}/${key.no} ${operation} ${before?.status ?? '-'}>${after?.status ?? '-'}`;
}

function open(disk = new MemoryFileSystem(), clock = settableClock(1_000_000)) {
  return openMemory({ entities, disk, clock });
}

test('every way of writing is told, each with the row before and after', async () => {
  await using db = await open();
  const orders = db.repository(Order);
  const key = { shop: 'a', no: '1' };
  const feed = db.watch(Order);
  await orders.insert({ ...key, status: 'new', count: 1 });
  await orders.put({ ...key, status: 'open' });
  await orders.update(key, { status: null });
  await orders.replace({ ...key, status: 'sent' });
  await orders.mutate(key, (row) => row.set({ status: 'gone' }));
  await orders.check(key, { status: 'gone' }).update({ status: 'back' });
  await orders.delete(key);
  await orders.delete(key); // Nothing is there: nothing changes.
  await orders.upsert({ ...key, status: 'a' }, { status: 'b' });
  await orders.upsert({ ...key, status: 'a' }, { status: 'b' });
  await orders.put({ ...key, status: 'b' }); // As it is.
  const table = db.engine.table('orders');
  const row = (await db.engine.table('orders').get(new Get(orders.schema.mapper.rowOf(key)))).row;
  await table.put(new Put(row).addColumn('d', 's', 'below'));
  await table.delete(new Delete(row));
  const commits = await take(feed, 11);
  expect(told(commits).flat()).toEqual([
    'Order a/1 insert ->new',
    'Order a/1 update new>open',
    'Order a/1 update open>-',
    'Order a/1 update ->sent',
    'Order a/1 update sent>gone',
    'Order a/1 update gone>back',
    'Order a/1 delete back>-',
    'Order a/1 insert ->a',
    'Order a/1 update a>b',
    'Order a/1 update b>below',
    'Order a/1 delete below>-',
  ]);
  const [first, second] = commits;
  expect(first!.changes[0]).toMatchObject({ entity: Order, key, operation: 'insert', before: undefined });
  expect(first!.changes[0]!.after).toBeInstanceOf(Order);
  expect(second!.changes[0]!.before).toEqual(first!.changes[0]!.after);
  expect(second!.changes[0]!.after).toMatchObject({ status: 'open', count: 1 });
  expect(first!.time).toEqual(new Date(1_000_000));
});

test('a batch and a transaction are one commit, of all entities, each row once', async () => {
  await using db = await open();
  const feed = db.watch([Order, Line, Parcel]);
  await db.batch(
    (batch) => {
      batch.of(Order).put({ shop: 'a', no: '1', status: 'x' });
      batch.of(Parcel).put({ shop: 'a', no: '1', status: 'p' });
      batch.of(Note).put({ shop: 'a', no: '1', status: 'n' });
      batch.of(Order).update({ shop: 'a', no: '1' }, { status: 'y' });
    },
    { atomic: true },
  );
  await db.transaction(async (tx) => {
    await tx.repository(Line).put({ shop: 'a', no: '2', status: 'l' });
    await tx.repository(Order).delete({ shop: 'a', no: '1' });
    await tx.repository(Order).put({ shop: 'a', no: '3', status: 'short' });
    await tx.repository(Order).delete({ shop: 'a', no: '3' });
  });
  await expect(
    db.transaction(async (tx) => {
      await tx.repository(Order).put({ shop: 'a', no: '4' });
      throw new Error('no');
    }),
  ).rejects.toThrow('no');
  await db.repository(Order).putMany([
    { shop: 'b', no: '1', status: '1' },
    { shop: 'b', no: '2', status: '2' },
  ]);
  const outcomes = await db.repository(Order).batch((batch) => {
    batch.insert({ shop: 'b', no: '1', status: 'again' });
    batch.put({ shop: 'b', no: '2', status: '3' });
    return batch;
  });
  expect(outcomes.map(({ ok }) => ok)).toEqual([false, true]);
  expect(told(await take(feed, 4))).toEqual([
    ['Order a/1 insert ->y', 'Parcel a/1 insert ->p'],
    ['Line a/2 insert ->l', 'Order a/1 delete y>-'],
    ['Order b/1 insert ->1', 'Order b/2 insert ->2'],
    ['Order b/2 update 2>3'],
  ]);
});

test('a prefix is a leading part of the key', async () => {
  await using db = await open();
  const all = [db.watch(Order, { shop: 'a' }), db.watch(Order, { shop: 'a', no: { gte: '2' } })];
  const both = db.watch([Line, Order], { shop: 'b' });
  for (const shop of ['a', 'ab', 'b'])
    for (const no of ['1', '2']) await db.repository(Order).put({ shop, no });
  await db.repository(Line).put({ shop: 'a', no: '1' });
  await db.repository(Line).put({ shop: 'b', no: '1' });
  expect(told(await take(all[0]!, 2)).flat()).toEqual(['Order a/1 insert ->-', 'Order a/2 insert ->-']);
  expect(told(await take(all[1]!, 1)).flat()).toEqual(['Order a/2 insert ->-']);
  expect(told(await take(both, 3)).flat()).toEqual([
    'Order b/1 insert ->-',
    'Order b/2 insert ->-',
    'Line b/1 insert ->-',
  ]);
  // @ts-expect-error: no part of the key
  expect(() => db.watch(Order, { status: 'x' })).toThrow(/no key part "status"/);
  // @ts-expect-error: a hole
  expect(() => db.watch(Order, { no: '1' })).toThrow(RowanError);
});

test('a position is gone on from, after an opening too', async () => {
  const disk = new MemoryFileSystem();
  const clock = settableClock(1_000_000);
  let db = await open(disk, clock);
  for (const no of ['1', '2', '3']) await db.repository(Order).put({ shop: 'a', no });
  const [, second] = await take(db.watch(Order, {}, { from: 'start' }), 2);
  await db.admin.flush('orders');
  await db.admin.flush('rowan_changes');
  await db.close();
  db = await open(disk, clock);
  await db.repository(Order).put({ shop: 'a', no: '4' });
  const rest = await take(db.watch(Order, {}, { from: second!.position }), 2);
  expect(told(rest).flat()).toEqual(['Order a/3 insert ->-', 'Order a/4 insert ->-']);
  // A position is the same for every entity and prefix.
  await db.repository(Parcel).put({ shop: 'z', no: '9' });
  const parcels = await take(db.watch(Parcel, { shop: 'z' }, { from: rest[1]!.position }), 1);
  expect(told(parcels).flat()).toEqual(['Parcel z/9 insert ->-']);
  await db.close();
});

test('a write that succeeds while the database closes is told', async () => {
  const disk = new MemoryFileSystem();
  let db = await open(disk);
  const { position } = db.watch(Order);
  const closing = db.close();
  let written = 0;
  const refused = (async () => {
    for (;;) {
      await db.repository(Order).put({ shop: 'a', no: `${written}` });
      written++;
    }
  })();
  await expect(refused).rejects.toMatchObject({ code: 'ERR_CLOSED' });
  await closing;
  db = await open(disk);
  expect(await db.repository(Order).find({ shop: 'a' }).count()).toBe(written);
  expect(written).toBeGreaterThan(0);
  await db.repository(Order).put({ shop: 'last', no: '0' });
  const found: string[] = [];
  for await (const { changes } of db.watch(Order, {}, { from: position })) {
    found.push(...changes.map(({ key }) => `${key.shop}/${key.no}`));
    if (found.at(-1) === 'last/0') break;
  }
  expect(found).toEqual([...Array.from({ length: written }, (_, i) => `a/${i}`), 'last/0']);
  await db.close();
});

test('a position misses nothing that is written after the clock was set back to before it', async () => {
  const clock = settableClock(36_000_000);
  await using db = await open(undefined, clock);
  const orders = db.repository(Order);
  await orders.put({ shop: 'a', no: '0' });
  // Orders are kept for an hour. The position is of an hour without a write.
  clock.advance(3_600_000);
  await using feed = db.watch(Order);
  const { position } = feed;
  clock.set(34_000_000);
  await orders.put({ shop: 'a', no: '1' });
  clock.set(43_000_000);
  expect(told(await take(db.watch(Order, {}, { from: position }), 1)).flat()).toEqual([
    'Order a/1 insert ->-',
  ]);
  clock.set(43_300_000);
  const late = take(db.watch(Order, {}, { from: position }), 1);
  await expect(late).rejects.toMatchObject({ code: 'ERR_POSITION_GONE' });
});

test('a feed begins when it is made, and its position moves on while nothing happens', async () => {
  const clock = settableClock(1_000_000);
  await using db = await open(undefined, clock);
  const orders = db.repository(Order);
  await orders.put({ shop: 'a', no: '0' });
  const feed = db.watch(Order);
  const start = feed.position;
  await orders.put({ shop: 'a', no: '1' });
  const iterator = feed[Symbol.asyncIterator]();
  expect(told([(await iterator.next()).value!]).flat()).toEqual(['Order a/1 insert ->-']);
  const waiting = iterator.next();
  clock.advance(1_800_000);
  // Others' changes wake it, and are passed over.
  await db.repository(Line).put({ shop: 'a', no: 'l' });
  await orders.put({ shop: 'a', no: '2' });
  expect(told([(await waiting).value!]).flat()).toEqual(['Order a/2 insert ->-']);
  const later = feed.position;
  clock.advance(2_700_000);
  await feed.close();
  await expect(take(db.watch(Order, {}, { from: start }), 1)).rejects.toMatchObject({
    code: 'ERR_POSITION_GONE',
  });
  await orders.put({ shop: 'a', no: '3' });
  expect(told(await take(db.watch(Order, {}, { from: later }), 1)).flat()).toEqual(['Order a/3 insert ->-']);
  // Lines are kept for longer.
  expect(told(await take(db.watch(Line, {}, { from: start }), 1)).flat()).toEqual(['Line a/l insert ->-']);
  // What is left.
  expect(told(await take(db.watch(Order, {}, { from: 'start' }), 2)).flat()).toEqual([
    'Order a/2 insert ->-',
    'Order a/3 insert ->-',
  ]);
});

test('positions of another store, and hostile ones, are refused', async () => {
  await using db = await open();
  await using other = await open();
  for (const no of ['1', '2', '3']) await other.repository(Order).put({ shop: 'a', no });
  const [far] = (await take(other.watch(Order, {}, { from: 'start' }), 3)).slice(-1);
  const gone = { code: 'ERR_POSITION_GONE' };
  await expect(take(db.watch(Order, {}, { from: far!.position }), 1)).rejects.toMatchObject(gone);
  for (let i = 0; i < 9; i++) await db.repository(Note).put({ shop: 'a', no: '1', status: `${i}` });
  await expect(take(db.watch(Order, {}, { from: far!.position }), 1)).rejects.toMatchObject(gone);
  for (const from of [
    '',
    'x',
    'MS4x',
    5,
    null,
    {},
    Buffer.from('1.-1.0.0.0').toString('base64url'),
    Buffer.from('2.1.0.0.0').toString('base64url'),
  ])
    expect(() => db.watch(Order, {}, { from: from as never })).toThrow(/from is/);
  expect(() => db.watch(Order, {}, { since: 1 } as never)).toThrow(/no option "since"/);
  expect(() => db.watch(Note)).toThrow(/are not recorded/);
  expect(() => db.watch([] as never)).toThrow(/needs an entity/);
  expect(() => db.watch({} as never)).toThrow(RowanError);
  expect(() => db.watch(Order, null as never)).toThrow(/key conditions/);
  expect(() => db.watch(Order, {}, { signal: 1 } as never)).toThrow(RowanError);
});

test('a position behind the changes of others is known by the newest change that was read', async () => {
  await using db = await open();
  const orders = db.repository(Order);
  const feed = db.watch(Order);
  const commits = feed[Symbol.asyncIterator]();
  await orders.put({ shop: 'a', no: '1' });
  await commits.next();
  await db.repository(Parcel).put({ shop: 'a', no: '1' });
  const read = feed.position;
  const waiting = commits.next();
  while (feed.position === read) await new Promise((resolve) => setImmediate(resolve));
  const { position } = feed;
  await feed.close();
  await waiting;
  await orders.put({ shop: 'a', no: '2' });
  const rest = async (from: string) => told(await take(db.watch(Order, {}, { from }), 1)).flat();
  expect(await rest(position)).toEqual(['Order a/2 insert ->-']);
  // The store as a backup restored it, an hour later, and then more was written to it.
  await using restored = await open(new MemoryFileSystem(), settableClock(4_000_000));
  for (let i = 0; i < 9; i++) await restored.repository(Order).put({ shop: 'a', no: `${i}` });
  await expect(take(restored.watch(Order, {}, { from: position }), 1)).rejects.toMatchObject({
    code: 'ERR_POSITION_GONE',
  });
  // Positions of version 1 are still taken: "1.commit.entry.kept.time", here of the first commit and of one that no entry is known of.
  const [version, commit, seen, entry, kept, time] = Buffer.from(position, 'base64url').toString().split('.');
  expect([version, commit !== seen]).toEqual(['2', true]);
  const old = (...numbers: readonly (string | undefined)[]) =>
    Buffer.from(['1', ...numbers].join('.')).toString('base64url');
  expect(await rest(old(seen, entry, kept, time))).toEqual(['Order a/2 insert ->-']);
  expect(await rest(old(commit, '0', '0', time))).toEqual(['Order a/2 insert ->-']);
  const wrong = take(db.watch(Order, {}, { from: old(seen, time!.slice(1), kept, time) }), 1);
  await expect(wrong).rejects.toMatchObject({ code: 'ERR_POSITION_GONE' });
});

test('where a feed ends at a change of keys, its position is of that time: what expired since is not passed over', async () => {
  const table = (name: string) => defineTable({ name, families: { d: {} } });
  const changes = { keep: 3_600_000 };
  const Plain = defineEntity({
    name: 'Plain',
    table: table('plain'),
    key: [part('id')],
    changes,
    columns: (c) => ({ a: c.column('d:a', text) }),
  });
  const Salted = defineEntity({
    name: 'Salted',
    table: table('salted'),
    key: [salt(4), part('id')],
    changes,
    columns: (c) => ({ a: c.column('d:a', text) }),
  });
  const clock = settableClock(1_000_000);
  await using db = await openMemory({ entities: [Plain, Salted], clock });
  await db.repository(Plain).put({ id: 'a', a: 'x' });
  const { position } = db.watch(Plain);
  for (const stage of ['run', 'cutOver', 'cleanup'] as const) await db.rekey(Plain, Salted)[stage]();
  await db.repository(Salted).put({ id: 'b', a: 'x' });
  clock.advance(3_599_999);
  const feed = db.watch(Plain, {}, { from: position });
  await expect(take(feed, 1)).rejects.toMatchObject({ code: 'ERR_FEED_ENDED' });
  const next = () => take(db.watch(Salted, {}, { from: feed.position }), 1);
  expect((await next())[0]!.changes).toMatchObject([{ key: { id: 'b' } }]);
  clock.advance(2);
  await db.repository(Salted).put({ id: 'c', a: 'x' });
  await expect(next()).rejects.toMatchObject({ code: 'ERR_POSITION_GONE' });
});

test('a feed that waits is ended by close, by a signal and with the database', async () => {
  const db = await open();
  const closed = db.watch(Order);
  const pending = take(closed, 1);
  await closed.close();
  expect(await pending).toEqual([]);
  expect(() => closed[Symbol.asyncIterator]()).toThrow(/iterated once/);

  const abort = new AbortController();
  const aborted = take(db.watch(Order, {}, { signal: abort.signal }), 1);
  abort.abort();
  await expect(aborted).rejects.toMatchObject({ code: 'ERR_ABORTED' });
  await expect(take(db.watch(Order, {}, { signal: abort.signal }), 1)).rejects.toMatchObject({
    code: 'ERR_ABORTED',
  });

  const iterator = db.watch(Order)[Symbol.asyncIterator]();
  const next = iterator.next();
  await iterator.return!();
  expect(await next).toEqual({ done: true, value: undefined });
  expect(await iterator.next()).toEqual({ done: true, value: undefined });

  expect(db.engine.stats().openScanners).toBe(0);
  const last = take(db.watch(Order), 1);
  await db.close();
  await expect(last).rejects.toMatchObject({ code: 'ERR_CLOSED' });
});

test('a slow reader is read for, not gathered for', async () => {
  await using db = await open();
  const feed = db.watch(Order);
  const orders = db.repository(Order);
  for (let i = 0; i < 150; i++) await orders.put({ shop: 'a', no: '1', status: `${i}` });
  expect(db.engine.stats().openScanners).toBe(0);
  const seen: string[] = [];
  for await (const { changes } of feed) {
    seen.push(changes[0]!.after!.status!);
    if (seen.length === 150) break;
  }
  expect(seen).toEqual(Array.from({ length: 150 }, (_, i) => `${i}`));
  expect(db.engine.stats().openScanners).toBe(0);
});

test('a row of more bytes than a cell may have is told', async () => {
  await using db = await openMemory({ entities, maxCellSize: 600_000 });
  const feed = db.watch(Order);
  const status = 'x'.repeat(599_000);
  await db.repository(Order).put({ shop: 'a', no: '1', status });
  await db.repository(Order).put({ shop: 'a', no: '1', status: status.slice(1) });
  const [, second] = await take(feed, 2);
  expect(second!.changes[0]!.before!.status === status).toBe(true);
  expect(second!.changes[0]!.after!.status === status.slice(1)).toBe(true);
});

test('wrong declarations are said', () => {
  const wrong = (changes: unknown): string => {
    class Wrong {
      declare static readonly key: ['id'];
      id!: string;
    }
    RowKey(part('id'))(Wrong as never);
    Entity({ table: { name: 'wrong', families: { d: {} } }, changes: changes as never })(Wrong as never);
    try {
      compileSchema([Wrong]);
    } catch (error) {
      return (error as Error).message;
    }
    return '';
  };
  expect(wrong({ keep: 1 })).toBe('');
  for (const changes of [{ keep: 0 }, { keep: 1.5 }, { keep: '7d' }, {}, { keep: 2 ** 53 }, true, null])
    expect(wrong(changes)).toContain('Its changes are kept for');
  expect(wrong({ keep: 1, table: 'x' })).toContain('have the option "table"');
});

test('entities with changes are followed in their declared table only', async () => {
  await using db = await open();
  await expect(db.repositoryIn(Parcel, 'elsewhere')).rejects.toMatchObject({ code: 'ERR_UNSUPPORTED' });
});

test.each([300, 100_000])(
  'entries larger than the largest cell, of %i bytes, are told whole',
  async (maxCellSize) => {
    const store = await openEmbedded('/m', {
      fileSystem: new MemoryFileSystem(),
      background: 'inline',
      maxCellSize,
    });
    await using db = new Database(compileSchema(entities), store, 'create');
    await db.ready();
    const orders = db.repository(Order);
    const feed = db.watch(Order);
    const text = (letter: string): string => letter.repeat(maxCellSize * 0.6);
    await orders.put({ shop: 'a', no: '1', status: text('a') });
    await orders.put({ shop: 'a', no: '1', status: text('b') });
    const [first, second] = told(await take(feed, 2));
    // Not the texts themselves: they would fill the output.
    expect(first![0] === `Order a/1 insert ->${text('a')}`).toBe(true);
    expect(second![0] === `Order a/1 update ${text('a')}>${text('b')}`).toBe(true);
  },
);
