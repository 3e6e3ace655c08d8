import { Readable } from 'node:stream';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CollectionQuery } from '../../src/query/index.js';
import { EntityReader } from '../../src/repository/index.js';
import { scaled } from '../proof/scale.js';
import { Customer, Event, Order, order } from './entities.js';
import {
  countedAccess,
  onBigtable,
  onServer,
  openTestDatabase,
  type ReadCounts,
  type TestDatabase,
} from './test-database.js';

let db: TestDatabase;

const DAY = 86_400_000;
const at = (minute: number): Date => new Date(Date.UTC(2026, 0, 1) + minute * 60_000);

beforeAll(async () => {
  db = await openTestDatabase([Customer, Order, Event]);
  const events = db.repository(Event);
  await events.putMany(
    Array.from({ length: 400 }, (_, i) =>
      Object.assign(new Event(), { at: at(i >> 1), seq: i % 2, kind: `k${i % 3}` }),
    ),
  );
  const orders: Order[] = [];
  for (const [index, customerId] of ['a', 'b', 'c', 'f3', 'f34'].entries()) {
    await db.repository(Customer).put({ customerId, name: `Customer ${customerId}` });
    for (let i = 0; i < 20; i++) {
      orders.push(
        order(customerId, 1 + (i % 10), i, {
          status: ['open', 'shipped', 'void'][(i + index) % 3]!,
          total: `${i}.50`,
          quantity: i % 4 === 0 ? null : i - 10,
          shippedAt: i % 2 === 0 ? at(i) : null,
          tags: i % 5 === 0 ? ['x'] : null,
        }),
      );
    }
  }
  await db.repository(Order).putMany(orders);
});

afterAll(() => db.dispose());

function countedEvents(sync: boolean): { events: EntityReader<typeof Event>; counts: ReadCounts } {
  const { access, counts } = countedAccess(db.engine.table('events'), sync);
  return { events: new EntityReader<typeof Event>(db.schema.entity(Event), access, undefined), counts };
}

const modes = onServer
  ? ([['async', false]] as const)
  : ([
      ['sync', true],
      ['async', false],
    ] as const);

describe.each(modes)('a range over sixteen salts, %s tables', (_, sync) => {
  test('comes in the order of the key, forward and in reverse', async () => {
    const { events, counts } = countedEvents(sync);
    const query = events.find({ at: { gte: at(20), lt: at(120) } });
    const found = await query.all();
    expect(found.map((event) => [event.at.getTime(), event.seq])).toEqual(
      Array.from({ length: 200 }, (_, i) => [at(20 + (i >> 1)).getTime(), i % 2]),
    );
    expect(found[0]).toBeInstanceOf(Event);
    expect((await query.reverse().all()).reverse()).toEqual(found);
    expect(counts.openScanners).toBe(0);
  });

  test('with limit 10 reads at most ten rows of each salt', async () => {
    const { events, counts } = countedEvents(sync);
    const found = await events
      .find({ at: { gte: at(0) } })
      .limit(10)
      .all();
    expect(found.map((event) => event.at.getTime())).toEqual(
      [0, 0, 1, 1, 2, 2, 3, 3, 4, 4].map((minute) => at(minute).getTime()),
    );
    expect(counts.scans).toBe(16);
    expect(counts.rows).toBeLessThanOrEqual(160);
    expect(counts.openScanners).toBe(0);
  });

  test('leaving a stream early closes every scanner', async () => {
    const { events, counts } = countedEvents(sync);
    let seen = 0;
    for await (const event of events.find({ at: { gte: at(0) } })) {
      expect(event.at).toEqual(at(seen >> 1));
      if (++seen === 5) break;
    }
    expect(counts.scans).toBe(16);
    expect(counts.openScanners).toBe(0);
  });

  test('a slow consumer holds reading back', async () => {
    const { events, counts } = countedEvents(sync);
    const stream = Readable.from(events.find({}, { fullScan: true }), { highWaterMark: 4 });
    await new Promise((resolve) => stream.once('readable', resolve));
    expect(counts.rows).toBeLessThan(400);
    let seen = 0;
    for await (const _event of stream) seen++;
    expect(seen).toBe(400);
  });

  test('an aborted signal ends reading and closes the scanners', async () => {
    const { events, counts } = countedEvents(sync);
    const controller = new AbortController();
    const read = async (): Promise<void> => {
      for await (const _event of events.find({ at: { gte: at(0) } }).signal(controller.signal))
        controller.abort();
    };
    await expect(read()).rejects.toMatchObject({ code: 'ERR_ABORTED' });
    expect(counts.openScanners).toBe(0);
    await expect(
      events
        .find({ at: at(1) })
        .signal(AbortSignal.abort())
        .all(),
    ).rejects.toMatchObject({ code: 'ERR_ABORTED' });
  });
});

describe('terminals', () => {
  test('first, all, count and limits agree', async () => {
    const orders = db.repository(Order);
    const query = orders.find({ customerId: 'a' });
    const all = await query.all();
    expect(all).toHaveLength(20);
    expect(await query.first()).toEqual(all[0]);
    expect(await query.limit(0).all()).toEqual([]);
    expect(await query.limit(0).first()).toBeNull();
    expect(await query.limit(7).all()).toEqual(all.slice(0, 7));
    expect(await query.count()).toBe(20);
    expect(await query.limit(7).count()).toBe(7);
    expect(await orders.find({ customerId: 'nobody' }).first()).toBeNull();
    await expect(query.all({ max: 19 })).rejects.toMatchObject({ code: 'ERR_QUERY' });
    expect(await query.all({ max: 20 })).toHaveLength(20);
    expect(() => query.limit(-1)).toThrow(/whole number/);
  });

  test('a query can be run again, and its steps leave it as it was', async () => {
    const query = db.repository(Order).find({ customerId: 'a' });
    query.limit(1);
    query.where({ status: 'none' });
    query.reverse();
    expect(await query.count()).toBe(20);
    expect(await query.all()).toEqual(await query.all());
  });

  test('a prefix never finds a longer sibling', async () => {
    const found = await db.repository(Order).find({ customerId: 'f3' }).all();
    expect(new Set(found.map((one) => one.customerId))).toEqual(new Set(['f3']));
    const starting = await db
      .repository(Order)
      .find({ customerId: { startsWith: 'f3' } })
      .all();
    expect(starting).toHaveLength(40);
  });

  test('one record type never sees another', async () => {
    const customers = await db.repository(Customer).find({}, { fullScan: true }).all();
    expect(customers.map((one) => one.name).sort()).toEqual(
      ['a', 'b', 'c', 'f3', 'f34'].map((id) => `Customer ${id}`),
    );
    expect(customers.every((one) => one instanceof Customer)).toBe(true);
    expect(await db.repository(Order).find({}, { fullScan: true }).count()).toBe(100);
  });

  test('select sets only what was asked for', async () => {
    const [one] = await db
      .repository(Order)
      .find({ customerId: 'a', placedAt: { gte: new Date(Date.UTC(2026, 0, 10)) } })
      .where({ orderNo: 9 })
      .select('total')
      .all();
    expect({ ...one }).toEqual({
      customerId: 'a',
      placedAt: new Date(Date.UTC(2026, 0, 10)),
      orderNo: 9,
      total: '9.50',
    });
    // @ts-expect-error not selected
    expect(one?.status).toBeUndefined();
  });

  test('select of columns that are all absent still finds the row', async () => {
    const found = await db.repository(Customer).find({ customerId: 'a' }).select('email').all();
    expect(found).toHaveLength(1);
  });

  test('in reads the keys in order', async () => {
    const query = db.repository(Customer).find({ customerId: { in: ['c', 'a', 'nobody', 'b'] } });
    expect(query.explain().kind).toBe('points');
    const names = (await query.all()).map((one) => one.customerId);
    expect([...names].sort()).toEqual(['a', 'b', 'c']);
    expect((await query.limit(2).all()).map((one) => one.customerId)).toEqual(names.slice(0, 2));
    expect((await query.reverse().all()).map((one) => one.customerId)).toEqual([...names].reverse());
  });
});

describe('where', () => {
  type Check = (one: Order) => boolean;
  type Case = readonly [
    where: Parameters<ReturnType<EntityReader<typeof Order>['find']>['where']>[0],
    check: Check,
  ];
  const quantity = (one: Order): number | undefined => one.quantity ?? undefined;
  const cases: readonly Case[] = [
    [{ status: 'open' }, (one) => one.status === 'open'],
    [{ status: { ne: 'open' } }, (one) => one.status !== 'open'],
    [{ status: { in: ['open', 'void'] } }, (one) => one.status !== 'shipped'],
    [{ status: { notIn: ['open', 'void'] } }, (one) => one.status === 'shipped'],
    [{ status: { in: [] } }, () => false],
    [{ status: { startsWith: 'sh' } }, (one) => one.status === 'shipped'],
    [{ status: { endsWith: 'n' } }, (one) => one.status === 'open'],
    [{ status: { contains: 'pe' } }, (one) => one.status.includes('pe')],
    [{ total: { gte: '9.50' } }, (one) => Number(one.total) >= 9.5],
    [{ total: { gt: '2.50', lt: '10.50' } }, (one) => Number(one.total) > 2.5 && Number(one.total) < 10.5],
    [
      { total: { between: ['2.50', '10.50'] } },
      (one) => Number(one.total) >= 2.5 && Number(one.total) <= 10.5,
    ],
    [{ quantity: 5 }, (one) => quantity(one) === 5],
    [{ quantity: { ne: 5 } }, (one) => quantity(one) !== 5],
    [{ quantity: { lt: 0 } }, (one) => quantity(one) !== undefined && quantity(one)! < 0],
    [{ quantity: null }, (one) => quantity(one) === undefined],
    [{ quantity: { ne: null } }, (one) => quantity(one) !== undefined],
    [{ quantity: { in: [5, null] } }, (one) => quantity(one) === 5 || quantity(one) === undefined],
    [{ quantity: { notIn: [5, null] } }, (one) => quantity(one) !== 5 && quantity(one) !== undefined],
    [{ shippedAt: { gt: at(7) } }, (one) => (one.shippedAt?.getTime() ?? 0) > at(7).getTime()],
    [{ tags: { exists: true } }, (one) => one.tags != null],
    [{ tags: { exists: false }, status: 'open' }, (one) => one.tags == null && one.status === 'open'],
    [{ orderNo: { gte: 10 } }, (one) => one.orderNo >= 10],
    [
      { placedAt: { lt: new Date(Date.UTC(2026, 0, 4)) } },
      (one) => one.placedAt.getTime() < Date.UTC(2026, 0, 4),
    ],
    [
      (w) => w.or({ status: 'open' }, { quantity: { gt: 3 } }),
      (one) => one.status === 'open' || (quantity(one) ?? 0) > 3,
    ],
    [(w) => w.not({ quantity: { gt: 3 } }), (one) => !((quantity(one) ?? 0) > 3)],
    [
      (w) => w.and(w.not(w.or({ status: 'open' }, { total: { lt: '5.00' } })), { shippedAt: null }),
      (one) => !(one.status === 'open' || Number(one.total) < 5) && one.shippedAt == null,
    ],
    // A condition that cannot be pushed inside one that could: the whole is decided here.
    [
      (w) => w.or({ status: { endsWith: 'd' }, total: { gt: '10.50' } }, { quantity: -3 }),
      (one) => (one.status.endsWith('d') && Number(one.total) > 10.5) || quantity(one) === -3,
    ],
  ];

  test.each(cases.map((one, index) => [index, ...one] as const))(
    'case %i is what it says',
    async (_, where, check) => {
      const orders = db.repository(Order);
      for (const find of [
        orders.find({ customerId: 'b' }),
        orders.find({ customerId: { in: ['a', 'c'] } }),
      ]) {
        const expected = (await find.all()).filter(check);
        const query = find.where(where);
        expect(await query.all()).toEqual(expected);
        expect(await query.count()).toBe(expected.length);
        expect(await query.reverse().all()).toEqual([...expected].reverse());
        expect(await query.limit(3).all()).toEqual(expected.slice(0, 3));
        const selected = await query.select('quantity').all();
        expect(selected.map((one) => one.orderNo)).toEqual(expected.map((one) => one.orderNo));
      }
    },
  );
});

describe('pages', () => {
  test('of any size, in both directions, give every row once', async () => {
    const queries = [
      db.repository(Event).find({ at: { gte: at(10), lt: at(40) } }),
      db
        .repository(Event)
        .find({ at: { gte: at(10), lt: at(40) } })
        .where({ kind: 'k1' })
        .reverse(),
      db.repository(Order).find({ customerId: 'a' }),
      db
        .repository(Order)
        .find({ customerId: { in: ['a', 'c'] } })
        .where({ status: { endsWith: 'n' } }),
    ];
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 3 }), fc.integer({ min: 1, max: 70 }), async (index, size) => {
        const query = queries[index]!;
        const expected: object[] = await query.all();
        const forward: object[] = [];
        let page = await query.page({ size });
        expect(page.backCursor).toBeUndefined();
        const pages = [page];
        forward.push(...page.items);
        while (page.cursor !== undefined) {
          page = await query.page({ size, cursor: page.cursor });
          pages.push(page);
          forward.push(...page.items);
          expect(page.items.length).toBeGreaterThan(0);
        }
        expect(forward).toEqual(expected);
        let last = pages.at(-1)!;
        for (const before of pages.slice(0, -1).reverse()) {
          last = await query.page({ size, cursor: last.backCursor, back: true });
          expect(last.items).toEqual(before.items);
          expect(last.cursor).toBeDefined();
        }
        expect(last.backCursor).toBeUndefined();
      }),
      { numRuns: scaled(12, 40, 400) },
    );
  });

  test('go on behind any item, whatever was written in between', async () => {
    const customers = db.repository(Order);
    const query = customers.find({ customerId: 'c' });
    const all = await query.all();
    const page = await query.page({ size: 10 });
    // What a test of an application compares.
    expect(Object.keys(page)).toEqual(['items', 'cursor', 'backCursor', 'total']);
    const cursor = page.cursorAt(4);
    await customers.delete(all[4]!);
    await customers.put(order('c', 30, 99));
    const rest = await query.page({ size: 100, cursor });
    expect(rest.items).toEqual(all.slice(5));
    await customers.delete(order('c', 30, 99));
    await customers.put(all[4]!);
  });

  test('a cursor of another query, or a damaged one, is refused', async () => {
    const orders = db.repository(Order);
    const query = orders.find({ customerId: 'a' });
    const { cursor } = await query.page({ size: 3 });
    expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
    const others = [
      orders.find({ customerId: 'b' }),
      query.reverse(),
      query.where({ status: 'open' }),
      query.asOf(5),
    ];
    for (const other of others) {
      await expect(other.page({ size: 3, cursor })).rejects.toThrow(/cursor belongs to another query/);
    }
    await expect(db.repository(Customer).find({ customerId: 'a' }).page({ size: 3, cursor })).rejects.toThrow(
      /another query/,
    );
    for (const bad of ['', 'x', cursor!.slice(1), `${cursor!.slice(0, -2)}AA`]) {
      await expect(query.page({ size: 3, cursor: bad })).rejects.toThrow(/cursor is invalid/);
    }
    await expect(query.page({ size: 0 })).rejects.toThrow(/size/);
    await expect(query.page(undefined as never)).rejects.toMatchObject({
      code: 'ERR_INVALID_ARGUMENT',
      message: expect.stringMatching(/page\(\{ size: 20 \}\)/) as string,
    });
    await expect(query.limit(3).page({ size: 3 })).rejects.toThrow(/cannot be combined/);
    await expect(query.page({ size: 3, back: true })).rejects.toThrow(/backCursor/);
    // Selection and page size do not bind it.
    expect((await query.select('total').page({ size: 50, cursor })).items).toHaveLength(17);
  });
});

describe('collections', () => {
  test('read an entity and its children in one scan', async () => {
    const { access, counts } = countedAccess(db.engine.table('shop:crm'), !onServer);
    const query = CollectionQuery.of<typeof Customer | typeof Order>(
      access,
      [db.schema.entity(Customer), db.schema.entity(Order)],
      { customerId: 'a' },
      {},
    );
    const groups = await query.groups();
    expect(groups.of(Customer).map((one) => one.customerId)).toEqual(['a']);
    expect(groups.of(Order)).toEqual(await db.repository(Order).find({ customerId: 'a' }).all());
    expect(counts.scans).toBe(1);
    expect(query.explain()).toMatchObject({ kind: 'range', entities: ['Customer', 'Order'] });
    expect(await query.count()).toBe(21);
    const rows: object[] = [];
    let page = await query.page({ size: 4 });
    rows.push(...page.items);
    while (page.cursor !== undefined) {
      page = await query.page({ size: 4, cursor: page.cursor });
      rows.push(...page.items);
    }
    expect(rows).toEqual(await query.all());
    expect((await query.reverse().all()).reverse()).toEqual(rows);
    expect(await query.limit(3).all()).toEqual(rows.slice(0, 3));
  });

  test('give the same through the database', async () => {
    const rows = await db.collection([Customer, Order], { customerId: 'b' }).all();
    expect(rows.map((row) => row.constructor)).toEqual([
      Customer,
      ...Array.from({ length: 20 }, () => Order),
    ]);
  });

  test('refuse what they cannot read in one go', () => {
    expect(() => db.collection([Customer, Order], {}).explain()).toThrow(
      expect.objectContaining({ code: 'ERR_FULL_SCAN' }),
    );
    // @ts-expect-error a part that is none of the first entity's
    expect(() => db.collection([Customer, Order], { at: new Date() })).toThrow(/no key part "at"/);
  });
});

test('times in the past are seen as far as they are kept', async () => {
  const orders = db.repository(Order);
  const key = { customerId: 'past', placedAt: new Date(DAY), orderNo: 1 };
  await orders.put({ ...key, status: 'open', total: '1.00' }, { timestamp: 1000 });
  await orders.put({ ...key, status: 'shipped', total: '1.00' }, { timestamp: 2000 });
  await orders.delete(key, { timestamp: 3000 });
  expect(await orders.get(key)).toBeNull();
  // A delete in Bigtable takes the past away.
  if (onBigtable) return expect(await orders.asOf(2500).get(key)).toBeNull();
  expect(await orders.asOf(2500).get(key)).toMatchObject({ status: 'shipped' });
  expect(await orders.find({ customerId: 'past' }).asOf(1500).first()).toMatchObject({ status: 'open' });
  expect(await orders.asOf(500).exists(key)).toBe(false);
  expect(() => orders.asOf(-1)).toThrow(/milliseconds/);
});
