/** What reading once answered wrongly, or let pass: each test failed on the code before. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineEntity, defineTable, Index } from '../../decorators/index.js';
import { decimal, int32, json, rawDecimal, text } from '../../src/codec/index.js';
import { withoutGenerating } from '../../src/codegen/generated.js';
import { type Database, open } from '../../src/database.js';
import {
  date,
  desc,
  hash,
  part,
  raw,
  recordType,
  salt,
  substitute,
  timeBucket,
  uint8,
} from '../../src/key/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import { type QueryEvent, queryLogger } from '../../src/query/index.js';
import { Get } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';

const HOUR = 3_600_000;
const MINUTE = 60_000;

const Points = defineEntity({
  name: 'Points',
  table: defineTable({ name: 'points', families: { p: {} } }),
  key: [part('metric'), timeBucket('hour', '1h')],
  columns: (c) => ({ points: c.packed('p:', { part: 'hour', value: int32 }) }),
});
const Hosts = defineEntity({
  name: 'Hosts',
  table: defineTable({ name: 'hosts', families: { d: {} } }),
  key: [hash('host', { bytes: 1 }), timeBucket('at', '5m')],
  columns: (c) => ({
    host: c.column('d:h', text),
    at: c.column('d:at', date),
    load: c.column('d:l', int32).optional(),
  }),
});
const Flights = defineEntity({
  name: 'Flights',
  table: defineTable({ name: 'flights', families: { d: {} } }),
  key: [hash(['from', 'to'])],
  columns: (c) => ({ from: c.column('d:f', text), to: c.column('d:t', text) }),
});
const shared = defineTable({ name: 'shared', families: { d: { versions: 3 } } });
const Counted = defineEntity({
  name: 'Counted',
  table: shared,
  recordType: 1,
  key: [part('tenant'), salt(4), recordType(), part('id')],
  columns: (c) => ({ n: c.counter('d:n') }),
});
const Named = defineEntity({
  name: 'Named',
  table: shared,
  recordType: 2,
  key: [part('tenant'), salt(4), recordType(), part('id')],
  columns: (c) => ({ n: c.column('d:n', text), log: c.versions('d:log', int32) }),
});
const Wide = defineEntity({
  name: 'Wide',
  table: defineTable({ name: 'wide', families: { d: {}, a: {} } }),
  key: [part('id')],
  columns: (c) => ({
    anchors: c.columns('a:', { value: text }),
    price: c.column('d:p', rawDecimal).optional(),
    rank: c.column('d:r', desc(decimal(1))).optional(),
    more: c.column('d:m', json<{ x: number }>()).optional(),
  }),
});
const Events = defineEntity({
  name: 'Events',
  table: defineTable({ name: 'numbered', families: { d: {} } }),
  key: [substitute('host', 'hosts', { bytes: 8 }), part('n', uint8)],
  columns: (c) => ({ v: c.column('d:v', int32) }),
});

let db: Database;
const told: QueryEvent[] = [];

beforeAll(async () => {
  db = await open({
    path: '/reading',
    entities: [Points, Hosts, Flights, Counted, Named, Wide, Events],
    fileSystem: new MemoryFileSystem(),
    onQuery: (event) => told.push(event),
    cursorSecret: 'sixteen bytes or more',
  });
});
afterAll(() => db.close());

it('finds packed points by any range of time', async () => {
  const points = db.repository(Points);
  for (let hour = 0; hour < 8; hour++) {
    const start = hour * HOUR;
    const at = [0, 30, 59].map((minute) => [start + minute * MINUTE, hour * 100 + minute] as const);
    await points.put({ metric: 'cpu', hour: new Date(start), points: new Map(at) });
  }
  const range = { gte: new Date(3 * HOUR + 30 * MINUTE), lt: new Date(6 * HOUR + MINUTE) };
  const rows = await points.find({ metric: 'cpu', hour: range }).all();
  expect(rows.flatMap((row) => [...row.points.values()])).toEqual([
    330, 359, 400, 430, 459, 500, 530, 559, 600,
  ]);
  expect(rows.map((row) => row.hour.getTime() / HOUR)).toEqual([3, 4, 5, 6]);
  const back = await points.find({ metric: 'cpu', hour: { gt: new Date(7 * HOUR + 30 * MINUTE) } }).all();
  expect(back.flatMap((row) => [...row.points.values()])).toEqual([759]);
});

describe('what the key keeps only as a digest or a bucket', () => {
  it('is held against the stored column', async () => {
    const hosts = db.repository(Hosts);
    const hash1 = (host: string) => hosts.schema.key.encode({ host, at: new Date(0) })[0];
    const other = Array.from({ length: 2000 }, (_, i) => `h${i + 2}`).find(
      (host) => hash1(host) === hash1('h1'),
    )!;
    await hosts.put({ host: other, at: new Date(MINUTE), load: 1 });
    expect(await hosts.find({ host: 'h1' }).all()).toEqual([]);
    expect(await hosts.find({ host: other }).all()).toHaveLength(1);
    expect(await hosts.get({ host: 'h1', at: new Date(MINUTE) })).toBeNull();
    expect(await hosts.exists({ host: 'h1', at: new Date(MINUTE) })).toBe(false);
    expect(await hosts.find({ host: other, at: new Date(2 * MINUTE) }).all()).toEqual([]);
    expect(await hosts.get({ host: other, at: new Date(MINUTE) })).toMatchObject({ load: 1 });
    // A projection has every part of the key, as its type says.
    expect(await hosts.find({ host: other }).select('load').all()).toMatchObject([{ host: other, load: 1 }]);
  });

  it('of several parts tells them apart', async () => {
    const flights = db.repository(Flights);
    await flights.insert({ from: 'CTU', to: 'PEK' });
    expect(await flights.get({ from: 'CT', to: 'UPEK' })).toBeNull();
    await flights.insert({ from: 'CT', to: 'UPEK' });
    expect(await flights.get({ from: 'CTU', to: 'PEK' })).toMatchObject({ from: 'CTU' });
  });
});

describe('collections', () => {
  it('come in order where a salt stands behind a part, and answer conditions of each class', async () => {
    const ids = Array.from({ length: 20 }, (_, i) => `i${String(i).padStart(2, '0')}`);
    await db.repository(Counted).putMany(ids.map((id, i) => ({ tenant: 't', id, n: BigInt(i) })));
    await db.repository(Named).putMany(ids.map((id) => ({ tenant: 't', id, n: id, log: [] })));
    const query = db.collection([Counted, Named], { tenant: 't' });
    const all = await query.all();
    expect(all.map(({ id }) => id)).toEqual([...ids, ...ids]);
    const paged: object[] = [];
    let page = await query.page({ size: 7 });
    paged.push(...page.items);
    while (page.cursor !== undefined) {
      page = await query.page({ size: 7, cursor: page.cursor });
      paged.push(...page.items);
    }
    expect(paged).toEqual(all);
    // Named keeps text in the column that is a counter of Counted.
    const some = query.where(Counted, { n: { gte: 18n } }).where(Named, { n: 'i03' });
    expect((await some.all()).map(({ id }) => id)).toEqual(['i18', 'i19', 'i03']);
    expect(await some.count()).toBe(3);
    expect(
      (
        await db
          .repository(Counted)
          .find({}, { fullScan: true })
          .where({ n: { lt: 2n } })
          .all()
      ).length,
    ).toBe(2);
    const selected = await query.select(Named, 'log').limit(21).all();
    expect(selected.at(-1)).toEqual(expect.objectContaining({ id: 'i00', log: [] }));
  });

  it('have every version of a column', async () => {
    const named = db.repository(Named);
    const key = { tenant: 'v', id: 'a' };
    for (const value of [1, 2, 3]) {
      await named.put({ ...key, n: 'x', log: [{ value }] }, { timestamp: 1000 + value });
    }
    const [row] = await db.collection([Counted, Named], { tenant: 'v' }).all();
    expect((row as InstanceType<typeof Named>).log.map(({ value }) => value)).toEqual([3, 2, 1]);
  });
});

it('orders by value, whatever the bytes', async () => {
  const wide = db.repository(Wide);
  const prices = ['2', '10', '-3', '1.50'];
  await wide.putMany(
    prices.map((price, i) => ({ id: `w${i}`, price, rank: `${i * 5}.0`, anchors: new Map([['a', 'x']]) })),
  );
  const query = wide.find({ id: { startsWith: 'w' } });
  expect((await query.where({ price: { gt: '1.5' } }).all()).map(({ price }) => price)).toEqual(['2', '10']);
  expect((await query.where({ rank: { gte: '10.0' } }).all()).map(({ rank }) => rank)).toEqual([
    '10.0',
    '15.0',
  ]);
  const sorted = await query.orderBy('price', 'desc').limit(3).all();
  expect(sorted.map(({ price }) => price)).toEqual(['10', '2', '1.50']);
  await expect(query.orderBy('price').all()).rejects.toThrow(/needs a bound/);
  await expect(query.orderBy('price').page({ size: 1 })).rejects.toThrow(/cannot be combined/);
  const counted = db.repository(Counted).find({ tenant: 't' });
  expect(await counted.where({ n: { lt: 2n ** 70n } }).count()).toBe(20);
  expect(await counted.where({ n: { gt: 2n ** 70n } }).count()).toBe(0);
});

it('slices Maps of columns, and tests one entry', async () => {
  const wide = db.repository(Wide);
  const anchors = new Map(['a', 'b', 'c', 'd'].map((key) => [key, key.toUpperCase()]));
  await wide.put({ id: 'sliced', anchors });
  const query = wide.find({ id: 'sliced' });
  const [row] = await query.slice('anchors', { gte: 'b', lt: 'd' }).all();
  expect([...row!.anchors]).toEqual([
    ['b', 'B'],
    ['c', 'C'],
  ]);
  const [first] = await query.slice('anchors', { gt: 'a', limit: 1 }).all();
  expect([...first!.anchors.keys()]).toEqual(['b']);
  expect(await query.where((w) => w.entry('anchors', 'c', 'C')).exists()).toBe(true);
  expect(await query.where((w) => w.entry('anchors', 'c', { ne: 'C' })).exists()).toBe(false);
  expect(await query.where((w) => w.entry('anchors', 'z', { exists: true })).exists()).toBe(false);
});

it('holds what it is asked to what it can be', async () => {
  const wide = db.repository(Wide);
  expect(() => wide.find({}, { limit: 3 } as never)).toThrow(/no option "limit"/);
  await expect(wide.get(undefined as never)).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
  expect(() => wide.find(undefined as never)).toThrow(expect.objectContaining({ code: 'ERR_KEY' }));
  await expect(wide.find({ id: 'a' }).all({ max: Number.NaN })).rejects.toMatchObject({
    code: 'ERR_INVALID_ARGUMENT',
  });
  await expect(wide.get({ id: 7 } as never)).rejects.toThrow(/^Wide: key part "id"/);
  const deep = (): unknown =>
    wide.find({ id: 'a' }).where((w) => {
      let one = w.not({ price: '1' });
      for (let i = 0; i < 20_000; i++) one = w.not(one);
      return one;
    });
  expect(deep).toThrow(/more than 64 deep/);
  const bytes = db.repository(Hosts);
  const at = new Date(MINUTE);
  const query = bytes.find({}, { fullScan: true }).where({ at: { lte: at } });
  at.setTime(0);
  expect(await query.count()).toBe(1);
  expect(wide.find({ id: 'a' }).select('price').where({ price: '1' }).explain().reads['d']).toEqual(['p']);
});

it('seals cursors, and bounds them', async () => {
  const query = db.repository(Counted).find({ tenant: 't' });
  const { cursor } = await query.page({ size: 3 });
  const forged = Buffer.from(cursor!, 'base64url');
  forged[forged.length - 20] = forged[forged.length - 20]! ^ 1;
  const bad = [forged.toString('base64url'), '', 'x'.repeat(2_000_000), '!'];
  for (const text of bad) {
    await expect(query.page({ size: 3, cursor: text })).rejects.toMatchObject({ code: 'ERR_QUERY' });
  }
  await expect(query.page({ size: 3, cursor: 7 as never })).rejects.toMatchObject({ code: 'ERR_QUERY' });
  await expect(
    open({ path: '/x', entities: [Wide], fileSystem: new MemoryFileSystem(), cursorSecret: 'short' }),
  ).rejects.toThrow(/16 bytes or more/);
});

it('tells of every query', async () => {
  told.length = 0;
  const lines: string[] = [];
  await db.repository(Counted).find({ tenant: 't' }).limit(5).all();
  for await (const _ of db.repository(Counted).find({ tenant: 't' }));
  expect(told.map(({ operation, rows }) => [operation, rows])).toEqual([
    ['all', expect.any(Number)],
    ['iterate', 20],
  ]);
  expect(told[1]).toMatchObject({ table: 'shared', entities: ['Counted'], ranges: 4, error: undefined });
  expect(told[1]!.bytes).toBeGreaterThan(0);
  expect(told[1]!.explain().key).toBe('tenant = "t"');
  queryLogger((line) => lines.push(line))(told[1]!);
  expect(lines[0]).toMatch(/^iterate Counted on shared: 4 ranges, 20 rows/);
});

it('reads texts of dictionaries of 8 bytes, also those that another process gave', async () => {
  const events = db.repository(Events);
  await events.putMany(['a', 'b', 'c'].map((host, n) => ({ host, n, v: n })));
  expect(events.schema.key.encode({ host: 'a', n: 0 })).toHaveLength(9);
  const rows = await events.find({}, { fullScan: true }).all();
  expect(rows.map(({ host }) => host)).toEqual(['a', 'b', 'c']);
  expect(await events.find({ host: { in: ['b', 'nobody'] } }).all()).toHaveLength(1);
});

it('gives the same where no code may be generated', async () => {
  const plain = withoutGenerating(() => compileSchema([Counted, Named, Wide]));
  const rows = await db.repository(Wide).find({}, { fullScan: true }).all();
  const { mapper, key } = plain.entity(Wide);
  const generated = db.schema.entity(Wide);
  for (const row of rows) {
    const source = row as unknown as Record<string, unknown>;
    expect(key.encode(source)).toEqual(generated.key.encode(source));
    expect(key.decode(key.encode(source))).toEqual(generated.key.decode(key.encode(source)));
    expect(mapper.toMutations(source, key.encode(source), 5)).toEqual(
      generated.mapper.toMutations(source, key.encode(source), 5),
    );
    const stored = await db.engine.table('wide').get(new Get(key.encode(source)));
    expect(mapper.fromResult(stored)).toStrictEqual(generated.mapper.fromResult(stored));
  }
});

it('refuses names that every object has, and dots', () => {
  const named = (name: string) =>
    compileSchema([
      defineEntity({
        name: 'Bad',
        table: defineTable({ name: 'bad', families: { d: {} } }),
        key: [part('id')],
        columns: (c) => ({ [name]: c.column('d:x', text).optional() }),
      }),
    ]);
  expect(() => named('toString')).toThrow(/Every object has a property of this name/);
  expect(() => named('constructor')).toThrow(/Every object has a property of this name/);
  expect(() => named('a.b')).toThrow(/The dot stands for properties of embedded objects/);
});

describe('0 and -0, which a column of raw numbers keeps apart', () => {
  const Measured = defineEntity({
    name: 'Measured',
    table: defineTable({ name: 'measured', families: { d: {} } }),
    key: [part('x', raw.float64), part('n', uint8)],
    columns: (c) => ({
      y: c.column('d:y', raw.float32).optional(),
      z: c.column('d:z', desc(raw.float64) as never).optional(),
    }),
  });
  Index('byY', [part('y', raw.float32)])(Measured as never, undefined);

  it('are one number for every condition', async () => {
    const opened = await open({
      path: '/m',
      fileSystem: new MemoryFileSystem(),
      background: 'inline',
      entities: [Measured],
    });
    const rows = opened.repository(Measured) as never as {
      put(row: object): Promise<void>;
      find(key: object, options?: object): { where(of: object): { all(): Promise<{ n: number }[]> } };
    };
    const numbers = [0, -0, 1, -1.5, Number.MIN_VALUE];
    const stored = numbers.map((x, n) => ({ x, y: Math.fround(x), z: x, n }));
    for (const row of stored) await rows.put(row);
    const scan = { fullScan: true };
    for (const asked of [0, -0, 1]) {
      const equal = stored.filter(({ y }) => y === asked).map(({ n }) => n);
      const equalX = stored.filter(({ x }) => x === asked).map(({ n }) => n);
      const other = stored.filter(({ y }) => y !== asked).map(({ n }) => n);
      const found = async (key: object, where: object, options?: object): Promise<number[]> =>
        (await rows.find(key, options).where(where).all()).map(({ n }) => n).sort();
      expect(await found({ x: asked }, {})).toEqual(equalX);
      expect(await found({ x: { in: [asked] } }, {})).toEqual(equalX);
      for (const where of [{ y: asked }, { y: { in: [asked] } }, { y: { gte: asked, lte: asked } }]) {
        expect(await found({}, where, scan)).toEqual(equal);
        if (!JSON.stringify(where).includes('gte')) expect(await found({}, where)).toEqual(equal);
      }
      expect(await found({}, { z: asked }, scan)).toEqual(equalX);
      expect(await found({}, { y: { ne: asked } }, scan)).toEqual(other);
      expect(await found({}, { y: { notIn: [asked] } }, scan)).toEqual(other);
      expect(await found({}, { x: asked }, scan)).toEqual(equalX);
    }
    await opened.close();
  });
});

it('names the part of the key that a condition gives no value of its codec', async () => {
  const asked = db.repository(Events).find({}, { fullScan: true });
  for (const n of [256, { in: [1, 256] }, { gt: 256 }]) {
    await expect(asked.where({ n }).all()).rejects.toMatchObject({
      code: 'ERR_CODEC',
      message: expect.stringMatching(
        /^where: n \(uint8\) cannot be compared with this value: .*256/,
      ) as string,
      details: { property: 'n' },
    });
  }
});
