/** The calls that users of other mappers look for first, on every engine. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  Column,
  CreatedAt,
  Default,
  DeletedAt,
  Entity,
  index,
  part,
  rowKey,
  UpdatedAt,
  uniqueIndex,
  Version,
} from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import { uint32 } from '../../src/key/index.js';
import { newUuid } from '../../src/schema/index.js';
import { openTestDatabase, type TestDatabase } from '../query/test-database.js';

const table = (name: string) => ({ name: `everyday_${name}`, families: { d: {} } });

@Entity({ table: table('orders') })
class Order {
  static readonly key = rowKey(part('customer'), part('no', uint32));
  static readonly indexes = { byStatus: index('status') };
  customer!: string;
  no!: number;
  @Default(() => 'open') @Column('d:s', text) status?: string;
  @Column('d:t', int32) total?: number | null;
  @CreatedAt('d:c') createdAt?: Date;
  @UpdatedAt('d:u') updatedAt?: Date;
  @Version('d:v') version?: number;
  label(): string {
    return `${this.customer}/${this.no}`;
  }
}

@Entity({ table: table('users') })
class User {
  static readonly key = rowKey(part('id'));
  static readonly indexes = { byEmail: uniqueIndex('email') };
  @Default(newUuid) id!: string;
  @Column('d:e', text) email!: string;
  @Column('d:n', text) name?: string | null;
  @DeletedAt('d:x') deletedAt?: Date | null;
}

let db: TestDatabase;

beforeAll(async () => {
  db = await openTestDatabase([Order, User]);
});

afterAll(() => db.dispose());

describe('where, findOne and exists', () => {
  beforeAll(async () => {
    await db.repository(Order).putMany([
      { customer: 'a', no: 1, status: 'open', total: 5 },
      { customer: 'a', no: 2, status: 'void', total: 7 },
      { customer: 'b', no: 1, status: 'open', total: 9 },
    ]);
  });

  it('divide conditions on any properties between the key, an index and a filter', async () => {
    const orders = db.repository(Order);
    const numbers = async (query: AsyncIterable<Order>): Promise<string[]> => {
      const found = [];
      for await (const order of query) found.push(order.label());
      return found;
    };
    const byKey = orders.where({ customer: 'a', no: { gte: 2 }, total: { gt: 1 } });
    expect(byKey.explain()).toMatchObject({ kind: 'range', key: 'customer = "a" and no >= 2' });
    expect(await numbers(byKey)).toEqual(['a/2']);
    const byIndex = orders.where({ status: 'open', no: 1 });
    expect(byIndex.explain().index?.name).toBe('byStatus');
    expect(await numbers(byIndex)).toEqual(['a/1', 'b/1']);
    expect(await numbers(orders.where({ customer: { in: ['b', 'a'] }, no: 1 }))).toEqual(['a/1', 'b/1']);
    expect(await numbers(orders.where({ customer: 'a', no: { ne: 1 } }))).toEqual(['a/2']);
    expect(
      await numbers(orders.where((w) => w.or({ status: 'void' }, { total: 9 }), { fullScan: true })),
    ).toEqual(['a/2', 'b/1']);
    await expect(orders.where({ total: 5 }).all()).rejects.toMatchObject({ code: 'ERR_FULL_SCAN' });
    expect(() => orders.where({ customer: undefined } as never)).toThrow(/undefined/);
    expect(() => orders.where({ nope: 1 } as never)).toThrow(/nope/);
    expect(() => orders.where(undefined as never)).toThrow(/the conditions are undefined/);
  });

  it('give the first entity, or null, and whether there is one', async () => {
    const orders = db.repository(Order);
    expect((await orders.findOne({ status: 'void' }))?.label()).toBe('a/2');
    expect(await orders.findOne({ status: 'lost' })).toBeNull();
    expect(await orders.findOne({ customer: 'b' }, { select: ['total'] })).toEqual(
      Object.assign(new Order(), { customer: 'b', no: 1, total: 9 }),
    );
    await expect(orders.findOne(undefined as never)).rejects.toThrow(/the conditions are undefined/);
    await expect(orders.findOne({})).rejects.toMatchObject({ code: 'ERR_FULL_SCAN' });

    expect(await orders.exists({ customer: 'a', no: 1 })).toBe(true);
    expect(await orders.exists({ customer: 'a', no: 3 })).toBe(false);
    expect(await orders.exists({ status: 'void' })).toBe(true);
    expect(await orders.exists({ status: 'lost' })).toBe(false);
    expect(await orders.exists({ customer: 'c' })).toBe(false);
    // Every part of the key is a key, whatever else the object has.
    const stored = { customer: 'a', no: 1, status: 'void' };
    expect(await orders.exists(stored)).toBe(true);
    await expect(orders.exists({ customer: 'a', no: undefined } as never)).rejects.toMatchObject({
      code: 'ERR_KEY',
    });
  });

  it('counts all rows beside a page where that is asked for', async () => {
    const query = db.repository(Order).where({ customer: 'a' });
    const page = await query.page({ size: 1, total: true });
    expect([page.items.length, page.total, page.cursor === undefined]).toEqual([1, 2, false]);
    expect((await query.page({ size: 1 })).total).toBeUndefined();
    await expect(query.page({ size: 1, total: 1 as never })).rejects.toThrow(/total is true or false/);
  });

  it('refuses numbers, flags and names of options that can never be right by one code', async () => {
    const all = db.repository(Order).where({ customer: 'a' });
    const reading = (options: object) => async () => db.repository(Order).find({ customer: 'a' }, options);
    const refused: readonly (() => Promise<unknown>)[] = [
      async () => all.limit(-1),
      () => all.all({ max: -1 }),
      () => all.page({ size: 0 }),
      () => all.page({ size: 1, total: 1 as never }),
      () => all.page({ size: 1, back: 'yes' as never }),
      () => all.deleteAll({ batch: 0 }),
      () => all.deleteAll({ recheck: 1 as never }),
      () => all.deleteAll({ onProgress: 1 as never }),
      async () => all.orderBy('status', 'down' as never),
      () => all.groupBy('status').count({ maxGroups: 0 }),
      reading({ caching: 0 }),
      reading({ threads: 1.5 }),
      reading({ cacheBlocks: 1 }),
      reading({ consistency: 'SOME' }),
      reading({ join: 'loop' }),
      reading({ unknown: 1 }),
    ];
    const codes = refused.map((call) =>
      call().then(
        () => 'accepted',
        (error: { code?: string }) => error.code,
      ),
    );
    expect(await Promise.all(codes)).toEqual(refused.map(() => 'ERR_INVALID_ARGUMENT'));
    // What another query would take is the query's own error.
    await expect(all.page({ size: 1, cursor: 'x' })).rejects.toMatchObject({ code: 'ERR_QUERY' });
    await expect(all.limit(1).page({ size: 1 })).rejects.toMatchObject({ code: 'ERR_QUERY' });
  });
});

describe('getOrThrow, insert, firstOrCreate, touch', () => {
  it('throws ERR_NOT_FOUND with the key where there is no entity', async () => {
    const orders = db.repository(Order);
    await expect(orders.getOrThrow({ customer: 'nobody', no: 1 })).rejects.toMatchObject({
      code: 'ERR_NOT_FOUND',
      details: { entity: 'Order', key: { customer: 'nobody', no: 1 } },
    });
  });

  it('says what to do where there is no entity', async () => {
    const orders = db.repository(Order);
    const key = { customer: 'nobody', no: 1 };
    await expect(orders.getOrThrow(key)).rejects.toThrow(
      /There is no Order .*\. Use get where it may be missing/,
    );
    await expect(orders.update(key, { total: 1 })).rejects.toThrow(/Use insert to store it, or upsert/);
    await expect(orders.touch(key)).rejects.toThrow(/Use insert to store it, or upsert/);
  });

  it('gives back what was inserted, with defaults, times and versions, as an instance', async () => {
    const orders = db.repository(Order);
    const order = await orders.insert({ customer: 'i', no: 1, total: 3 });
    expect(order.label()).toBe('i/1');
    expect(order).toMatchObject({ status: 'open', total: 3, version: 1 });
    expect(order).toEqual(await orders.get({ customer: 'i', no: 1 }));
    const own = Object.assign(new Order(), { customer: 'i', no: 2 });
    expect(await orders.insert(own)).toBe(own);
    const user = new User();
    user.email = 'new@x';
    expect((await db.repository(User).insert(user)).id).toHaveLength(36);
  });

  it('creates one entity when many ask for it at once, and gives it to all', async () => {
    const orders = db.repository(Order);
    const calls = Array.from({ length: 8 }, (_, total) =>
      orders.firstOrCreate({ customer: 'f', no: 1, total }),
    );
    const outcomes = await Promise.all(calls);
    expect(outcomes.filter(({ created }) => created)).toHaveLength(1);
    const [{ entity }] = outcomes.filter(({ created }) => created) as [(typeof outcomes)[0]];
    for (const outcome of outcomes) expect(outcome.entity.total).toBe(entity.total);
    expect(await orders.firstOrCreate({ customer: 'f', no: 1, total: 99 })).toMatchObject({
      created: false,
      entity: { total: entity.total },
    });
  });

  it('does not create an entity whose unique values, or whose key, are taken', async () => {
    const users = db.repository(User);
    await users.insert({ id: 'u1', email: 'u1@x' });
    await expect(users.firstOrCreate({ id: 'u2', email: 'u1@x' })).rejects.toMatchObject({
      code: 'ERR_CONFLICT',
    });
    await users.delete({ id: 'u1' });
    await expect(users.firstOrCreate({ id: 'u1', email: 'u3@x' })).rejects.toMatchObject({
      code: 'ERR_CONFLICT',
    });
  });

  it('touches: the time of the last change alone, and the version', async () => {
    const orders = db.repository(Order);
    const inserted = await orders.insert({ customer: 't', no: 1, total: 3 }, { timestamp: 1000 });
    await orders.touch({ customer: 't', no: 1 });
    const touched = await orders.getOrThrow({ customer: 't', no: 1 });
    expect(touched).toMatchObject({ total: 3, version: 2, createdAt: inserted.createdAt });
    expect(touched.updatedAt!.getTime()).toBeGreaterThanOrEqual(inserted.updatedAt!.getTime());
    await expect(orders.touch({ customer: 't', no: 9 })).rejects.toMatchObject({ code: 'ERR_NOT_FOUND' });
    await expect(db.repository(User).touch({ id: 'u' })).rejects.toThrow(/User has no @UpdatedAt/);
  });
});

describe('insertMany', () => {
  it('stores new entities, and gives them with their defaults and times', async () => {
    const orders = db.repository(Order);
    const given = [1, 2].map((no) => Object.freeze({ customer: 'new', no, total: 10 * no }));
    const stored = await orders.insertMany(given);
    expect(stored.map((order) => [order.label(), order.status, order.version])).toEqual([
      ['new/1', 'open', 1],
      ['new/2', 'open', 1],
    ]);
    expect(await orders.find({ customer: 'new' }).all()).toEqual(stored);
    const own = Object.assign(new Order(), { customer: 'new', no: 3 });
    expect((await orders.insertMany([own]))[0]).toBe(own);
    expect(await orders.insertMany([])).toEqual([]);
    await expect(orders.insertMany({} as never)).rejects.toThrow(/insertMany takes a list/);
  });

  it('writes the others when one exists, and none when one is invalid, or with atomic', async () => {
    const orders = db.repository(Order);
    const given = (...numbers: number[]) => numbers.map((no) => ({ customer: 'j', no }));
    const numbers = async (): Promise<number[]> =>
      (await orders.find({ customer: 'j' }).all()).map(({ no }) => no);
    await orders.insertMany(given(2));
    const exists = {
      code: 'ERR_CONFLICT',
      message: expect.stringMatching(/^insertMany, item 1: .* exists already/),
      details: { item: 1, entity: 'Order', key: { customer: 'j', no: 2 } },
    };
    await expect(orders.insertMany(given(1, 2, 3))).rejects.toMatchObject(exists);
    expect(await numbers()).toEqual([1, 2, 3]);
    await expect(orders.insertMany(given(4, -1))).rejects.toThrow(/^insertMany, item 1: /);
    const atomic = orders.insertMany(given(5, 1), { atomic: true });
    await expect(atomic).rejects.toMatchObject({
      code: db.engine.capabilities.atomicBatch ? 'ERR_CONFLICT' : 'ERR_UNSUPPORTED',
    });
    expect(await numbers()).toEqual([1, 2, 3]);
  });
});

describe('lists with one key several times', () => {
  const key = { customer: 'several', no: 1 };

  it('putMany stores the last, insertMany the first', async () => {
    const users = db.repository(User);
    const of = (...emails: string[]) => emails.map((email) => ({ id: 'several', email }));
    await users.putMany(of('a@x', 'b@x', 'c@x'));
    expect((await users.get({ id: 'several' }))?.email).toBe('c@x');
    await users.putMany([]);
    const orders = db.repository(Order);
    const twice = orders.insertMany([1, 2].map((total) => ({ ...key, total })));
    await expect(twice).rejects.toThrow(/^insertMany, item 1: .* exists already/);
    expect(await orders.get(key)).toMatchObject({ total: 1, version: 1 });
  });

  it('deleteMany deletes it, and what is not there', async () => {
    const orders = db.repository(Order);
    const gone = { ...key, no: 2 };
    await orders.insert(gone);
    await orders.deleteMany([gone, { ...key, no: 9 }, gone]);
    expect(await orders.get(gone)).toBeNull();
    await orders.deleteMany([]);
  });
});

describe('upsertMany', () => {
  it('inserts what is new and patches what is stored, and tells which', async () => {
    const orders = db.repository(Order);
    await orders.insert({ customer: 'm', no: 2, status: 'paid', total: 1 });
    const given = [1, 2, 3].map((no) => ({ customer: 'm', no, total: 10 * no }));
    expect(await orders.upsertMany(given, ({ total }) => ({ total: total! }))).toEqual([
      'inserted',
      'updated',
      'inserted',
    ]);
    const stored = await orders.find({ customer: 'm' }).all();
    expect(stored.map(({ no, status, total, version }) => [no, status, total, version])).toEqual([
      [1, 'open', 10, 1],
      [2, 'paid', 20, 2],
      [3, 'open', 30, 1],
    ]);
    expect(await orders.upsertMany(given, { status: 'sent' })).toEqual(['updated', 'updated', 'updated']);
    expect(await orders.upsertMany([], {})).toEqual([]);
    expect(await orders.upsertMany([{ customer: 'm', no: 1 }], {})).toEqual(['updated']);
    await expect(orders.upsertMany({} as never, {})).rejects.toThrow(/upsertMany takes a list/);
  });

  it('takes a key that is named twice in its order', async () => {
    const orders = db.repository(Order);
    const key = { customer: 'w', no: 1 };
    const thrice = [1, 2, 3].map((total) => ({ ...key, total }));
    const patch = ({ total }: { readonly total?: number }) => ({ total: 10 * total! });
    expect(await orders.upsertMany(thrice, patch)).toEqual(['inserted', 'updated', 'updated']);
    expect(await orders.get(key)).toMatchObject({ total: 30, version: 3 });
    expect(await orders.upsertMany(thrice, patch)).toEqual(['updated', 'updated', 'updated']);
    expect(await orders.get(key)).toMatchObject({ total: 30, version: 6 });
  });

  it('writes the others when one fails', async () => {
    const users = db.repository(User);
    await users.insert({ id: 'e1', email: 'e1@x' });
    await users.insert({ id: 'gone', email: 'gone@x' });
    await users.delete({ id: 'gone' });
    const given = [
      { id: 'e2', email: 'e2@x' },
      { id: 'e3', email: 'e1@x' },
      { id: 'gone', email: 'g@x' },
      { id: 'e1', email: 'e1@x', name: 'E' },
    ];
    await expect(users.upsertMany(given, ({ name }) => ({ name: name ?? null }))).rejects.toMatchObject({
      code: 'ERR_CONFLICT',
      message: expect.stringMatching(/^upsertMany, item 1: /),
      details: { index: 'byEmail', item: 1 },
    });
    expect((await users.get({ id: 'e1' }))?.name).toBe('E');
    expect(await users.exists({ id: 'e2' })).toBe(true);
    await expect(users.upsertMany([given[2]!], { name: 'G' })).rejects.toThrow(
      /upsertMany, item 0: .* exists already/,
    );
  });
});
