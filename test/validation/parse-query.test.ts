import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  type Database,
  date,
  defineEntity,
  defineTable,
  int32,
  int64,
  json,
  part,
  type RowanError,
  reverseTimestamp,
  text,
} from '../../src/index.js';
import { raw, rawDecimal } from '../../src/public/codecs.js';
import { openMemory } from '../../src/testing/index.js';
import { inputSchema, parseQuery, type QueryRules, type QuerySource } from '../../src/validation/index.js';
import { scaled } from '../proof/scale.js';

const Ticket = defineEntity({
  name: 'Ticket',
  table: defineTable({ name: 'tickets', families: { d: {} } }),
  key: [part('tenant'), part('queue'), reverseTimestamp('at'), part('id', int32)],
  columns: (c) => ({
    status: c.column('d:s', text),
    total: c.column('d:t', int64).optional(),
    due: c.column('d:d', date).optional(),
    extra: c.column('d:j', json()).optional(),
    place: c.embedded('d', (p) => ({ city: p.column('city', text).optional() })),
  }),
});

const RULES: QueryRules<typeof Ticket> = {
  allow: ['queue', 'at', 'status', { total: ['eq', 'gte', 'lt', 'between', 'in'] }, 'due', 'place.city'],
  key: { tenant: 'acme' },
  orderBy: ['total'],
};

let db: Database;
beforeAll(async () => {
  db = await openMemory({ entities: [Ticket] });
  const at = (day: number) => new Date(Date.UTC(2026, 0, day));
  await db.repository(Ticket).putMany(
    [1, 2, 3, 4].map((id) => ({
      tenant: 'acme',
      queue: id < 3 ? 'a' : 'b',
      at: at(id),
      id,
      status: id % 2 === 0 ? 'open' : 'closed',
      total: BigInt(id * 10),
      place: { city: 'Ulm' },
    })),
  );
});
afterAll(() => db.close());

const parse = (query: QuerySource | string, rules = RULES) =>
  parseQuery(Ticket, typeof query === 'string' ? new URLSearchParams(query) : query, rules);

function issues(query: QuerySource | string, rules = RULES): string[] {
  try {
    parse(query, rules);
  } catch (error) {
    const { code, details } = error as RowanError;
    expect(code).toBe('ERR_INVALID_ARGUMENT');
    const found = details['issues'] as readonly { path: readonly PropertyKey[]; message: string }[];
    return found.map(({ path, message }) => `${path.map(String).join('.')}: ${message}`);
  }
  return [];
}

async function found(query: QuerySource | string): Promise<number[]> {
  const { key, where, limit, cursor, orderBy } = parse(query);
  const asked = db.repository(Ticket).find(key).where(where);
  if (orderBy !== undefined) {
    const sorted = asked.orderBy(orderBy.property as 'total', orderBy.direction).limit(limit);
    return (await sorted.all()).map(({ id }) => id);
  }
  return (await asked.page({ size: limit, cursor })).items.map(({ id }) => id);
}

it('gives key and where, as the order of the key allows', () => {
  expect(parse('queue=a&at[gte]=2026-01-02&status=open&total[lt]=50&limit=5')).toEqual({
    key: { tenant: 'acme', queue: 'a', at: { gte: new Date('2026-01-02') } },
    where: { status: 'open', total: { lt: 50n } },
    limit: 5,
    cursor: undefined,
    orderBy: undefined,
  });
  // The time cannot be searched without the queue: it is a condition on rows.
  expect(parse('at[between]=2026-01-02,2026-01-03')).toMatchObject({
    key: { tenant: 'acme' },
    where: { at: { between: [new Date('2026-01-02'), new Date('2026-01-03')] } },
    limit: 20,
  });
  expect(parse('queue[in]=a,b&place.city[startsWith]=U')).toMatchObject({
    key: { tenant: 'acme', queue: { in: ['a', 'b'] } },
    where: { place: { city: { startsWith: 'U' } } },
  });
});

it('reads what frameworks give, and finds by it', async () => {
  const flat = { queue: 'a', 'total[gte]': '20', limit: '3' };
  const nested = { queue: 'a', total: { gte: '20' }, limit: 3 };
  const expected = parse('queue=a&total[gte]=20&limit=3');
  expect(parse(flat)).toEqual(expected);
  expect(parse(nested)).toEqual(expected);
  expect(parse({ queue: ['a', 'b'] })).toEqual(parse('queue=a&queue=b'));
  expect(parse('queue[]=a&queue[]=b')).toEqual(parse('queue=a&queue=b'));
  expect(await found(flat)).toEqual([2]);
  expect(await found('queue=b&status=open')).toEqual([4]);
  expect(await found('at[gte]=2026-01-02&at[lt]=2026-01-04')).toEqual([2, 3]);
  expect(await found('total[in]=10,40&place.city=Ulm')).toEqual([1, 4]);
  expect(await found('due[exists]=false&orderBy=-total&limit=2')).toEqual([4, 3]);
  const page = await db.repository(Ticket).find({ tenant: 'acme' }).where({}).page({ size: 3 });
  expect(await found(`cursor=${page.cursor!}`)).toEqual([3]);
});

it('refuses what is not allowed, with its path', () => {
  expect(issues('tenant=other')).toEqual([expect.stringMatching(/^tenant: it is not allowed/)]);
  expect(issues('nothing=1')).toEqual([
    expect.stringMatching(/^nothing: it is not allowed. Allowed are queue, at/),
  ]);
  expect(issues('total[ne]=1')).toEqual([
    'total.ne: the allowed operators of total are eq, gte, lt, between, in.',
  ]);
  expect(issues('status[regex]=x')).toEqual([
    expect.stringMatching(/^status.regex: the allowed operators of status/),
  ]);
  expect(issues({ where: { $or: [{ status: 'open' }] } })).toEqual([expect.stringMatching(/^where.\$or: /)]);
  expect(issues('total=abc')).toEqual([expect.stringMatching(/^total: int64 cannot hold "abc"/)]);
  expect(issues('due[exists]=maybe&total[between]=1')).toEqual([
    'due.exists: expected true or false, not "maybe".',
    'total.between: expected two values.',
  ]);
  expect(issues('limit=1000&orderBy=status&cursor=%00')).toEqual([
    'limit: expected a whole number from 1 to 100, not "1000".',
    'cursor: it is not a valid cursor. Use the cursor of an earlier page.',
    'orderBy: allowed are total.',
  ]);
  expect(issues('cursor=abc&orderBy=total')).toHaveLength(1);
  expect(issues(`status=${'x'.repeat(1001)}`)).toEqual(['status: it has more than 1000 characters.']);
  expect(issues(`queue[in]=${'a,'.repeat(60)}`)).toEqual(['queue.in: more than 50 values.']);
  const lists = `queue[in]=${[...'abcdefgh'].join()}&at[in]=${[1, 2, 3, 4, 5, 6, 7].map((day) => `2026-01-0${day}`)}`;
  expect(issues(lists)).toEqual(['at: the lists expand to more than 50 ranges of keys.']);
  expect(issues('queue=a&status=b', { ...RULES, maxConditions: 1 })).toEqual([
    'status: a query may have at most 1 conditions.',
  ]);
  let deep: Record<string, unknown> = { eq: '1' };
  for (let i = 0; i < 20_000; i++) deep = { a: deep };
  expect(issues({ total: deep })).toEqual([expect.stringMatching(/more than 8 levels deep/)]);
});

it('asks values of raw codecs for ranges, and texts among them for their parts', async () => {
  const Sample = defineEntity({
    name: 'Sample',
    table: defineTable({ name: 'samples', families: { d: {} } }),
    key: [part('id')],
    columns: (c) => ({
      n: c.column('d:n', raw.int32),
      price: c.column('d:p', rawDecimal),
      at: c.column('d:a', raw.date),
      note: c.column('d:t', raw.string),
      path: c.column('d:j', raw.joined('/')),
    }),
  });
  const rules: QueryRules<typeof Sample> = { allow: ['n', 'price', 'at', 'note', 'path'] };
  const other = await openMemory({ entities: [Sample] });
  const samples = other.repository(Sample);
  await samples.putMany(
    [-5, 0, 7].map((n) => ({
      id: `s${n}`,
      n,
      price: `${n}.50`,
      at: new Date(Date.UTC(2026, 0, 10 + n)),
      note: `note ${n}`,
      path: `p${n}`,
    })),
  );
  const ids = async (query: string) => {
    const { where } = parseQuery(Sample, new URLSearchParams(query), rules);
    return (await samples.find({}, { fullScan: true }).where(where).all()).map(({ n }) => n);
  };
  expect(await ids('n[gte]=-5&n[lt]=7')).toEqual([-5, 0]);
  expect(await ids('price[between]=-1,7.5')).toEqual([0, 7]);
  expect(await ids('at[gt]=2026-01-09')).toEqual([0, 7]);
  expect(await ids('note[contains]=e -&path[startsWith]=p')).toEqual([-5]);
  expect(() => parseQuery(Sample, { n: { startsWith: '1' } }, rules)).toThrow(/allowed operators of n/);
  expect(inputSchema(Sample).toJSONSchema()).toMatchObject({
    properties: {
      n: { type: 'integer', maximum: 2147483647 },
      price: { type: 'string', pattern: '^-?[0-9]+(\\.[0-9]+)?$' },
      at: { type: 'string', format: 'date-time' },
      note: { type: 'string' },
    },
  });
  await other.close();
});

it('says wrong rules when they are given', () => {
  const wrong = (allow: readonly unknown[]) => () => parse('', { allow: allow as never });
  expect(wrong(['extra'])).toThrow(/"extra" is neither a single-valued column nor a key part/);
  expect(wrong(['limit'])).toThrow(/is reserved in queries/);
  expect(wrong([{ total: ['like'] }])).toThrow(/"like" is not an operator/);
  expect(() => parse('', { allow: [], key: { queue: 'a', nothing: 1 } as never })).toThrow(/nothing/);
  expect(() => parse('', { allow: [], maxLimit: 0 })).toThrow(/maxLimit must be a positive whole number/);
});

it('answers anything with a query that can be run, or with issues', async () => {
  const names = fc.constantFrom(
    'queue',
    'at',
    'status',
    'total',
    'due',
    'place',
    'place.city',
    'limit',
    'cursor',
    'orderBy',
    '__proto__',
    'tenant',
  );
  const operator = fc.constantFrom(
    'eq',
    'gte',
    'lt',
    'between',
    'in',
    'notIn',
    'startsWith',
    'exists',
    '__proto__',
  );
  const value = fc.oneof(
    fc.constantFrom('a', 'open', '20', '2026-01-02', 'true', 'total', '1,2', '2026-01-01,2026-01-03'),
    fc.string(),
    fc.array(fc.string(), { maxLength: 3 }),
    fc.anything(),
  );
  const inner = fc.dictionary(operator, value, { maxKeys: 2 });
  const allowed = fc.record(
    {
      queue: fc.constantFrom('a', ['a', 'b']),
      total: fc.constantFrom('20', { gte: '20' }, { in: '10,40' }),
      due: fc.constantFrom({ exists: 'true' }, { exists: 'false' }),
      limit: fc.constantFrom('1', 3),
    },
    { requiredKeys: [] },
  );
  const query = fc.oneof(
    { weight: 2, arbitrary: fc.dictionary(names, fc.oneof(value, inner), { maxKeys: 4 }) },
    { weight: 2, arbitrary: fc.anything() },
    { weight: 1, arbitrary: allowed },
  );
  let ran = 0;
  await fc.assert(
    fc.asyncProperty(query, async (given) => {
      if (issues(given as QuerySource).length > 0) return;
      try {
        await found(given as QuerySource);
      } catch (error) {
        // A cursor is held against its query when that is known.
        expect((error as RowanError).message).toMatch(/cursor/);
      }
      ran++;
    }),
    { numRuns: scaled(100, 2000, 20_000) },
  );
  expect(ran).toBeGreaterThan(10);
});
