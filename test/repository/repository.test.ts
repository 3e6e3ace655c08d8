import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { ChangeExecutor } from '../../src/repository/change.js';
import { EmbeddedExecutor } from '../../src/repository/embedded-executor.js';
import type { Repository } from '../../src/repository/index.js';
import { RemoteExecutor } from '../../src/repository/remote/remote-executor.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import { Result } from '../../src/table/index.js';
import { onBigtable, onServer, openTestDatabase, type TestDatabase } from '../query/test-database.js';
import { Account, Document, Legacy, Scattered } from './entities.js';

let db: TestDatabase;
let accounts: Repository<typeof Account>;

beforeAll(async () => {
  db = await openTestDatabase([Account, Document, Legacy, Scattered]);
  accounts = db.repository(Account);
});

afterAll(() => db.dispose());

describe('reading and writing', () => {
  test('what was put comes back, as an instance, empty values kept and absent ones absent', async () => {
    const account = { id: 'a', name: '', email: null, photo: new Uint8Array(0), address: { city: 'Ulm' } };
    await accounts.put(account);
    const found = await accounts.get({ id: 'a' });
    expect(found).toBeInstanceOf(Account);
    expect(found).toMatchObject({ id: 'a', name: '', address: { city: 'Ulm' } });
    expect(found?.photo).toHaveLength(0);
    expect(found?.email).toBeUndefined();
    expect(account.email).toBeNull();
  });

  test('undefined leaves a cell alone, null deletes it', async () => {
    await accounts.put({ id: 'u', name: 'Ann', email: 'a@x', log: 'l' });
    await accounts.put({ id: 'u', name: 'Bob', email: undefined, log: null });
    expect(await accounts.get({ id: 'u' })).toMatchObject({ name: 'Bob', email: 'a@x', log: undefined });
  });

  test('getMany answers in the order of the keys, null where there is none', async () => {
    await accounts.putMany([
      { id: 'm1', name: '1' },
      { id: 'm2', name: '2' },
    ]);
    const found = await accounts.getMany([{ id: 'm2' }, { id: 'none' }, { id: 'm1' }, { id: 'm2' }]);
    expect(found.map((one) => one?.name)).toEqual(['2', undefined, '1', '2']);
    expect(found[1]).toBeNull();
    expect(await accounts.getMany([])).toEqual([]);
  });

  test('getMany gives what single gets give, and what is read through results, of files and memory', async () => {
    const keys = Array.from({ length: 40 }, (_, i) => ({ id: `many${(i * 7) % 30}` }));
    for (const [i, { id }] of keys.slice(0, 20).entries()) {
      await accounts.put(i % 3 === 0 ? { id, name: 'bare' } : { id, name: `${i}`, email: `${i}@x` });
      if (i === 9) await db.admin.flush(accounts.schema.table.descriptor.name);
      if (i % 5 === 4) await accounts.delete(keys[i - 2]!);
    }
    const many = await accounts.getMany(keys);
    expect(many).toEqual(await Promise.all(keys.map((key) => accounts.get(key))));
    expect(many).toEqual(await accounts.getMany(keys, {}));
    expect(many.filter((one) => one !== null).length).toBeGreaterThan(20);
  });

  test('a key that is not whole throws, and never reads another row', async () => {
    // @ts-expect-error undefined
    await expect(accounts.get({ id: undefined })).rejects.toMatchObject({ code: 'ERR_KEY' });
    // @ts-expect-error no part
    await expect(accounts.get({})).rejects.toMatchObject({ code: 'ERR_KEY' });
    // @ts-expect-error a wrong type
    await expect(accounts.delete({ id: 5 })).rejects.toMatchObject({ code: 'ERR_KEY' });
    // @ts-expect-error no such property
    await expect(accounts.put({ id: 'x', name: 'n', nmae: 1 })).rejects.toMatchObject({
      code: 'ERR_INVALID_ARGUMENT',
    });
    expect(await accounts.exists({ id: 'x' })).toBe(false);
  });

  test('exists, delete, and put again in the same millisecond', async () => {
    for (let round = 0; round < 20; round++) {
      await accounts.put({ id: 'd', name: `${round}` });
      expect(await accounts.exists({ id: 'd' })).toBe(true);
      await accounts.delete({ id: 'd' });
      expect(await accounts.exists({ id: 'd' })).toBe(false);
      expect(await accounts.get({ id: 'd' })).toBeNull();
    }
    await accounts.put({ id: 'd', name: 'x', email: null });
    await accounts.put({ id: 'd', name: 'x', email: 'now@x' });
    expect((await accounts.get({ id: 'd' }))?.email).toBe('now@x');
  });

  test('insert fails when there is one, and changes nothing', async () => {
    await accounts.insert({ id: 'i', name: 'first' });
    await expect(accounts.insert({ id: 'i', name: 'second' })).rejects.toMatchObject({
      code: 'ERR_CONFLICT',
      message: expect.stringContaining('{ id: "i" }'),
    });
    expect((await accounts.get({ id: 'i' }))?.name).toBe('first');
    await accounts.delete({ id: 'i' });
    await accounts.insert({ id: 'i', name: 'third' });
    expect((await accounts.get({ id: 'i' }))?.name).toBe('third');
  });

  test('replace stores exactly the entity', async () => {
    const friends = new Map([
      ['x', 1],
      ['y', 2],
    ]);
    await accounts.put({ id: 'r', name: 'n', email: 'e', address: { city: 'Ulm', zip: '1' }, friends });
    await accounts.replace({ id: 'r', name: 'new', friends: new Map([['y', 3]]) });
    const found = await accounts.get({ id: 'r' });
    expect(found).toMatchObject({ name: 'new', email: undefined });
    expect(found?.address ?? undefined).toBeUndefined();
    expect([...(found?.friends ?? [])]).toEqual([['y', 3]]);
  });

  test('update changes an existing entity only', async () => {
    await expect(accounts.update({ id: 'nobody' }, { name: 'x' })).rejects.toMatchObject({
      code: 'ERR_NOT_FOUND',
    });
    expect(await accounts.exists({ id: 'nobody' })).toBe(false);
    await accounts.put({ id: 'up', name: 'n', email: 'e', address: { city: 'Ulm', zip: '1' } });
    await accounts.update({ id: 'up' }, { email: null, address: { city: 'Bonn' } });
    expect(await accounts.get({ id: 'up' })).toMatchObject({
      name: 'n',
      email: undefined,
      address: { city: 'Bonn', zip: '1' },
    });
    // @ts-expect-error a part of the key
    await expect(accounts.update({ id: 'up' }, { id: 'other' })).rejects.toThrow(/part of the key/);
    await expect(accounts.update({ id: 'up' }, {})).rejects.toThrow(/empty/);
  });

  test('a time to live and a timestamp can be given', async () => {
    await accounts.put({ id: 't', name: 'old' }, { timestamp: 1000 });
    await accounts.put({ id: 't', name: 'older' }, { timestamp: 500 });
    expect((await accounts.get({ id: 't' }))?.name).toBe('old');
    const put = accounts.put({ id: 'ttl', name: 'gone' }, { timestamp: 1000, ttl: 1 });
    // Bigtable has no lives of single cells.
    if (onBigtable) await expect(put).rejects.toMatchObject({ code: 'ERR_UNSUPPORTED' });
    else await put;
    expect(await accounts.get({ id: 'ttl' })).toBeNull();
    await expect(accounts.put({ id: 'ttl', name: 'x' }, { ttl: 0 })).rejects.toThrow(/ttl/);
  });
});

describe('changes of one row', () => {
  test('increment counts from 0 and makes the entity', async () => {
    expect(await accounts.increment({ id: 'c' }, { visits: 2n })).toEqual({ visits: 2n });
    expect(await accounts.increment({ id: 'c' }, { visits: -5 })).toEqual({ visits: -3n });
    expect(await accounts.exists({ id: 'c' })).toBe(true);
    await Promise.all(Array.from({ length: 50 }, () => accounts.increment({ id: 'c' }, { visits: 1 })));
    expect((await accounts.get({ id: 'c' }))?.visits).toBe(47n);
    // @ts-expect-error no counter
    await expect(accounts.increment({ id: 'c' }, { name: 1 })).rejects.toThrow(/no counter/);
  });

  test('new values that were lost with a server are neither made up nor left out', async () => {
    const executor: ChangeExecutor = onServer ? RemoteExecutor.prototype : EmbeddedExecutor.prototype;
    for (const [name, change] of [
      ['increment', () => accounts.increment({ id: 'lost' }, { visits: 1n })],
      ['append', () => accounts.append({ id: 'lost' }, { log: 'a' })],
    ] as const) {
      const spy = vi.spyOn(executor, 'run').mockResolvedValueOnce(Result.EMPTY);
      await expect(change()).rejects.toMatchObject({
        code: 'ERR_CONNECTION',
        retryable: false,
        details: { outcome: 'applied' },
        message: expect.stringContaining(`${name} of Account was made`),
      });
      expect(spy).toHaveBeenCalledTimes(1);
      spy.mockRestore();
    }
  });

  test('append adds at the end', async () => {
    expect(await accounts.append({ id: 'ap' }, { log: 'a' })).toEqual({ log: 'a' });
    expect(await accounts.append({ id: 'ap' }, { log: 'b' })).toEqual({ log: 'ab' });
    // @ts-expect-error a counter
    await expect(accounts.append({ id: 'ap' }, { visits: 1n })).rejects.toThrow(/only text and bytes/);
  });

  test('mutate does several things together, each column once', async () => {
    await accounts.put({ id: 'mu', name: 'n', email: 'e', log: 'l' });
    await accounts.mutate({ id: 'mu' }, (row) =>
      row.set({ name: 'm' }).unset('email').increment({ visits: 3n }).append({ log: '+' }),
    );
    expect(await accounts.get({ id: 'mu' })).toMatchObject({
      name: 'm',
      email: undefined,
      visits: 3n,
      log: 'l+',
    });
    await expect(
      accounts.mutate({ id: 'mu' }, (row) => row.set({ name: 'a' }).unset('name')),
    ).rejects.toThrow(/changed twice/);
    await expect(accounts.mutate({ id: 'mu' }, (row) => row)).rejects.toThrow(/empty/);
    await accounts.mutate({ id: 'never' }, (row) => row.unset('email'));
    expect(await accounts.exists({ id: 'never' })).toBe(false);
  });

  test('check writes only when the condition holds, and else says what is there', async () => {
    await accounts.put({ id: 'ck', name: 'n', email: 'e' });
    expect(await accounts.check({ id: 'ck' }, { email: 'x' }).update({ name: 'no' })).toMatchObject({
      ok: false,
      current: { name: 'n', email: 'e' },
    });
    expect(await accounts.check({ id: 'ck' }, { email: 'e', log: null }).update({ email: null })).toEqual({
      ok: true,
    });
    expect(await accounts.check({ id: 'ck' }, { email: null }).put({ id: 'ck', name: 'put' })).toEqual({
      ok: true,
    });
    expect(
      await accounts
        .check({ id: 'ck' }, { name: { startsWith: 'p' } })
        .mutate((row) => row.increment({ visits: 1 })),
    ).toEqual({ ok: true });
    expect(await accounts.check({ id: 'ck' }, { visits: { gte: 1n } }).delete()).toEqual({ ok: true });
    expect(await accounts.check({ id: 'ck' }, { name: null }).update({ name: 'x' })).toEqual({
      ok: false,
      current: null,
    });
    expect(() => accounts.check({ id: 'ck' }, { name: { endsWith: 'x' } })).toThrow(/cannot decide/);
    for (const condition of [{}, () => ({ name: 'put' }), undefined]) {
      expect(() => accounts.check({ id: 'ck' }, condition as never)).toThrow(
        /an object of columns, all of which/,
      );
    }
    expect(await accounts.check({ id: 'nobody' }, { name: null }).put({ id: 'nobody', name: 'x' })).toEqual({
      ok: false,
      current: null,
    });
    await expect(accounts.check({ id: 'ck' }, { name: 'x' }).put({ id: 'other', name: 'x' })).rejects.toThrow(
      /not the one/,
    );
  });

  test('history gives the kept versions, newest first', async () => {
    for (let i = 1; i <= 7; i++) await accounts.put({ id: 'h', name: `v${i}` }, { timestamp: i * 10 });
    expect(await accounts.history({ id: 'h' }, 'name')).toEqual(
      [7, 6, 5, 4, 3].map((i) => ({ timestamp: i * 10, value: `v${i}` })),
    );
    expect(await accounts.history({ id: 'h' }, 'name', { from: 40, to: 60 })).toEqual([
      { timestamp: 50, value: 'v5' },
      { timestamp: 40, value: 'v4' },
    ]);
    expect(await accounts.history({ id: 'h' }, 'name', { limit: 1 })).toHaveLength(1);
    const ratings: readonly { readonly timestamp: number; readonly value: number }[] = await accounts.history(
      { id: 'h' },
      'ratings',
    );
    expect(ratings).toEqual([]);
    await expect(accounts.history({ id: 'h' }, 'friends')).rejects.toThrow(/many columns/);
  });

  test('@Versions properties are read with every version', async () => {
    await accounts.put({
      id: 'v',
      name: 'n',
      ratings: [
        { value: 1, timestamp: 10 },
        { value: 2, timestamp: 20 },
      ],
    });
    expect((await accounts.get({ id: 'v' }))?.ratings).toEqual([
      { value: 2, timestamp: 20 },
      { value: 1, timestamp: 10 },
    ]);
    const [selected] = await accounts.find({ id: 'v' }).select('ratings').all();
    expect(selected?.ratings).toHaveLength(2);
  });
});

describe('batches', () => {
  test('give an outcome for each item, in order', async () => {
    await accounts.put({ id: 'b1', name: 'old' });
    const outcomes = await accounts.batch((batch) =>
      batch
        .put({ id: 'b0', name: 'new', email: null })
        .insert({ id: 'b1', name: 'no' })
        .insert({ id: 'b2', name: 'yes' })
        .update({ id: 'b3' }, { name: 'no' })
        .update({ id: 'b1' }, { name: 'newer' })
        .mutate({ id: 'b1' }, (row) => row.increment({ visits: 1n }))
        .get({ id: 'b1' })
        .delete({ id: 'b2' }),
    );
    expect(outcomes.map((outcome) => (outcome.ok ? 'ok' : outcome.error.code))).toEqual([
      'ok',
      'ERR_CONFLICT',
      'ok',
      'ERR_NOT_FOUND',
      'ok',
      'ok',
      'ok',
      'ok',
    ]);
    expect(outcomes[6]).toMatchObject({ value: { id: 'b1', name: 'newer', visits: 1n } });
    expect(await accounts.exists({ id: 'b2' })).toBe(false);
  });

  test('delete and write of one row take effect in their order', async () => {
    const outcomes = await accounts.batch((batch) =>
      batch.put({ id: 'bd', name: '1' }).delete({ id: 'bd' }).put({ id: 'bd', name: '2' }),
    );
    expect(outcomes.every((outcome) => outcome.ok)).toBe(true);
    expect((await accounts.get({ id: 'bd' }))?.name).toBe('2');
    if (onServer) return;
    await accounts.batch((batch) => batch.delete({ id: 'bd' }).put({ id: 'bd', name: '3' }), {
      atomic: true,
    });
    expect((await accounts.get({ id: 'bd' }))?.name).toBe('3');
  });

  test('wrong input throws before anything is sent', async () => {
    await expect(
      // @ts-expect-error a wrong type
      accounts.batch((batch) => batch.put({ id: 'bw', name: 'n' }).put({ id: 'bx', name: 5 })),
    ).rejects.toMatchObject({ code: 'ERR_CODEC' });
    expect(await accounts.exists({ id: 'bw' })).toBe(false);
    expect(await accounts.batch((batch) => batch)).toEqual([]);
  });

  test('atomic ones are all or nothing, or unsupported', async () => {
    const run = accounts.batch((batch) => batch.put({ id: 'at1', name: 'a' }).put({ id: 'at2', name: 'b' }), {
      atomic: true,
    });
    if (onServer) {
      await expect(run).rejects.toMatchObject({ code: 'ERR_UNSUPPORTED' });
      return;
    }
    expect(await run).toEqual([
      { ok: true, value: undefined },
      { ok: true, value: undefined },
    ]);
    expect(await accounts.getMany([{ id: 'at1' }, { id: 'at2' }])).toMatchObject([
      { name: 'a' },
      { name: 'b' },
    ]);
  });
});

describe('versions, times and hooks', () => {
  test('a put must know the stored version, and counts it up in the object', async () => {
    const documents = db.repository(Document);
    const one = Object.assign(new Document(), { id: 'v', title: ' one ' });
    await documents.put(one);
    expect(one.version).toBe(1);
    await expect(documents.put({ id: 'v', title: 'other' })).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
    const mine = await documents.get({ id: 'v' });
    const theirs = await documents.get({ id: 'v' });
    await documents.put(Object.assign(mine!, { title: 'mine' }));
    expect(mine!.version).toBe(2);
    await expect(documents.put(Object.assign(theirs!, { title: 'theirs' }))).rejects.toThrow(
      /its version was 1/,
    );
    expect(theirs!.version).toBe(1);
    expect(await documents.get({ id: 'v' })).toMatchObject({ title: 'mine', version: 2 });
  });

  test('update counts the version up, whoever else writes', async () => {
    const documents = db.repository(Document);
    await documents.insert({ id: 'u', title: 'x' });
    await Promise.all(Array.from({ length: 5 }, (_, i) => documents.update({ id: 'u' }, { title: `t${i}` })));
    expect((await documents.get({ id: 'u' }))?.version).toBe(6);
    await expect(documents.update({ id: 'u' }, { title: 'x', version: 2 })).rejects.toMatchObject({
      code: 'ERR_CONFLICT',
    });
    await expect(documents.update({ id: 'none' }, { title: 'x' })).rejects.toMatchObject({
      code: 'ERR_NOT_FOUND',
    });
    const outcomes = await documents.batch((batch) => batch.put({ id: 'u', title: 'x' }));
    expect(outcomes[0]).toMatchObject({ ok: false, error: { code: 'ERR_CONFLICT' } });
  });

  test('hooks run around writes and after loads', async () => {
    const documents = db.repository(Document);
    const one = Object.assign(new Document(), { id: 'h', title: '  padded ' });
    await documents.insert(one);
    expect(one).toMatchObject({ title: 'padded', calls: ['stored'] });
    expect(one.createdAt).toBeInstanceOf(Date);
    const found = await documents.get({ id: 'h' });
    expect(found).toMatchObject({ title: 'padded', calls: ['loaded'] });
    expect((await documents.find({ id: 'h' }).all())[0]?.calls).toEqual(['loaded']);
    expect((await documents.getMany([{ id: 'h' }]))[0]?.calls).toEqual(['loaded']);
    const before = found!.updatedAt!.getTime();
    await documents.update({ id: 'h' }, { title: 'new' });
    const after = await documents.get({ id: 'h' });
    expect(after!.updatedAt!.getTime()).toBeGreaterThanOrEqual(before);
    expect(after!.createdAt).toEqual(found!.createdAt);
    await documents.putMany([Object.assign(new Document(), { id: 'h2', title: ' many ' })]);
    expect((await documents.get({ id: 'h2' }))?.title).toBe('many');
  });
});

describe('tables that others write', () => {
  test('rows are found by any cell; insert is refused', async () => {
    const legacy = db.repository(Legacy);
    await legacy.put({ id: 'l', b: 'b' });
    expect(await legacy.exists({ id: 'l' })).toBe(true);
    expect(await legacy.find({ id: 'l' }).select('a').all()).toHaveLength(1);
    expect(await legacy.find({ id: { startsWith: 'l' } }).count()).toBe(1);
    await legacy.update({ id: 'l' }, { a: 'a' });
    expect(await legacy.get({ id: 'l' })).toMatchObject({ a: 'a', b: 'b' });
    await expect(legacy.update({ id: 'none' }, { a: 'a' })).rejects.toMatchObject({ code: 'ERR_NOT_FOUND' });
    await expect(legacy.insert({ id: 'n', a: 'a' })).rejects.toMatchObject({ code: 'ERR_UNSUPPORTED' });
  });
});

describe('random salts', () => {
  test('rows are found in every salt, and what needs one row is refused', async () => {
    // As a caller without types has it: the types leave out what is refused here.
    const scattered = db.repository<KeyedClass<Scattered> & { readonly key: readonly ['id', 'n'] }>(
      Scattered,
    );
    for (let n = 0; n < 20; n++) await scattered.put({ id: 's', n, a: `${n}` });
    const refused = /drawn at random/;
    await expect(scattered.get({ id: 's', n: 7 })).rejects.toThrow(refused);
    await expect(scattered.getMany([{ id: 's', n: 7 }])).rejects.toThrow(refused);
    await expect(scattered.exists({ id: 's', n: 7 })).rejects.toThrow(refused);
    await expect(scattered.insert({ id: 's', n: 7 })).rejects.toThrow(refused);
    await expect(scattered.replace({ id: 's', n: 7 })).rejects.toThrow(refused);
    expect(await scattered.find({ id: 's', n: 7 }).first()).toMatchObject({ a: '7' });
    const found = await scattered.find({ id: 's' }).all();
    expect(found.map((one) => one.n)).toEqual(Array.from({ length: 20 }, (_, n) => n));
    const numbers: number[] = [];
    let page = await scattered.find({ id: 's' }).page({ size: 3 });
    numbers.push(...page.items.map((one) => one.n));
    while (page.cursor !== undefined) {
      page = await scattered.find({ id: 's' }).page({ size: 3, cursor: page.cursor });
      numbers.push(...page.items.map((one) => one.n));
    }
    expect(numbers).toEqual(found.map((one) => one.n));
    await expect(scattered.delete({ id: 's', n: 7 })).rejects.toThrow(/drawn at random/);
    await expect(scattered.update({ id: 's', n: 7 }, { a: 'x' })).rejects.toThrow(/drawn at random/);
  });

  test('rows that a query has found are changed and deleted, also several of one key', async () => {
    const scattered = db.repository(Scattered);
    for (let i = 0; i < 12; i++) await scattered.put({ id: 'twice', n: i % 3, a: `${i % 3}` });
    const stored = await scattered.find({ id: 'twice' }).count();
    expect(stored).toBeGreaterThan(3);
    const ofOne = await scattered.find({ id: 'twice', n: 1 }).count();
    const updated = await scattered
      .find({ id: 'twice' })
      .where({ a: '1' })
      .updateAll({ a: 'one' }, { batch: 2 });
    expect(updated).toMatchObject({ matched: ofOne, changed: ofOne });
    const limited = await scattered.find({ id: 'twice', n: 1 }).limit(1).deleteAll();
    expect(limited).toMatchObject({ matched: 1, changed: 1 });
    expect(await scattered.find({ id: 'twice', n: 1 }).count()).toBe(ofOne - 1);
    const deleted = await scattered.find({ id: 'twice' }).deleteAll({ batch: 2 });
    expect(deleted.changed).toBe(stored - 1);
    expect(await scattered.find({ id: 'twice' }).all()).toEqual([]);
  });
});
