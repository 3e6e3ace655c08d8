import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Column, Counter, Embedded, Entity, part, RowKey, salt } from '../../decorators/index.js';
import { bigint, date, decimal, float64, int32, rawDecimal, text } from '../../src/codec/index.js';
import { uint32 } from '../../src/key/index.js';
import type { Repository } from '../../src/repository/index.js';
import { scaled } from '../proof/scale.js';
import { openTestDatabase, type TestDatabase } from './test-database.js';

class Place {
  @Column('c', text) city?: string | null;
}

@Entity({ table: { name: 'sales', families: { d: {} } } })
@RowKey(salt(4), part('shop'), part('no', uint32))
class Sale {
  declare static readonly key: ['shop', 'no'];
  shop!: string;
  no!: number;
  @Column('d:t', decimal(2)) total?: string | null;
  @Column('d:r', rawDecimal) rate?: string | null;
  @Column('d:q', int32) quantity?: number | null;
  @Column('d:b', bigint) big?: bigint | null;
  @Column('d:f', float64) weight?: number | null;
  @Column('d:w', date) soldAt?: Date | null;
  @Column('d:s', text) status?: string | null;
  @Counter('d:v') views?: bigint;
  @Embedded('d', () => Place, { prefix: 'p.' }) place?: Place | null;
}

let database: TestDatabase;
let sales: Repository<typeof Sale>;

beforeAll(async () => {
  database = await openTestDatabase([Sale]);
  sales = database.repository(Sale);
});

afterAll(() => database.dispose());

type Row = Omit<Sale, 'views' | 'place'>;

const cents = fc.bigInt(-(10n ** 24n), 10n ** 24n);

function decimalOf(unscaled: bigint, scale: number): string {
  const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(scale + 1, '0');
  const point = scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
  return (unscaled < 0n ? '-' : '') + point;
}

const rows = fc.uniqueArray(
  fc.record({
    shop: fc.constant('s'),
    no: fc.nat(500),
    total: fc.option(cents.map((value) => decimalOf(value, 2))),
    rate: fc.option(
      fc.tuple(fc.bigInt(-999n, 999n), fc.nat(3)).map(([value, scale]) => decimalOf(value, scale)),
    ),
    quantity: fc.option(fc.integer({ min: -1000, max: 1000 })),
    big: fc.option(fc.bigInt(-(2n ** 200n), 2n ** 200n)),
    weight: fc.option(fc.double({ noNaN: true, min: -1e6, max: 1e6 })),
    soldAt: fc.option(fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true })),
    status: fc.option(fc.constantFrom('open', 'shipped', '')),
  }),
  { selector: ({ no }) => no, maxLength: 40 },
);

const present = <T>(values: readonly (T | null | undefined)[]): T[] =>
  values.filter((value): value is T => value !== null && value !== undefined);

function unscaledAt(value: string, scale: number): bigint {
  const [whole = '', fraction = ''] = value.replace('-', '').split('.');
  return BigInt(whole + fraction.padEnd(scale, '0')) * (value.startsWith('-') ? -1n : 1n);
}

function naive(of: readonly Row[]) {
  const totals = present(of.map(({ total }) => total)).map((value) => unscaledAt(value, 2));
  const rates = present(of.map(({ rate }) => rate));
  const scale = Math.max(0, ...rates.map((rate) => rate.split('.')[1]?.length ?? 0));
  const quantities = present(of.map(({ quantity }) => quantity));
  const bigs = present(of.map(({ big }) => big)).sort((a, b) => (a < b ? -1 : 1));
  const times = present(of.map(({ soldAt }) => soldAt?.getTime())).sort((a, b) => a - b);
  const sum = (values: readonly bigint[]): bigint => values.reduce((a, b) => a + b, 0n);
  const quantity = quantities.reduce((a, b) => a + b, 0);
  return {
    n: of.length,
    statuses: present(of.map(({ status }) => status)).length,
    total: decimalOf(sum(totals), 2),
    rate: decimalOf(sum(rates.map((rate) => unscaledAt(rate, scale))), scale),
    quantity,
    mean: quantities.length === 0 ? null : quantity / quantities.length,
    big: sum(bigs),
    least: bigs[0] ?? null,
    first: times.length === 0 ? null : new Date(times[0]!),
    last: times.length === 0 ? null : new Date(times.at(-1)!),
  };
}

const figures = (on: Parameters<Parameters<ReturnType<typeof sales.find>['aggregate']>[0]>[0]) => ({
  n: on.count(),
  statuses: on.count('status'),
  total: on.sum('total'),
  rate: on.sum('rate'),
  quantity: on.sum('quantity'),
  mean: on.avg('quantity'),
  big: on.sum('big'),
  least: on.min('big'),
  first: on.min('soldAt'),
  last: on.max('soldAt'),
});

async function fill(given: readonly Row[]): Promise<void> {
  await sales.deletePrefix({ shop: 's' });
  await sales.putMany(given);
}

describe('figures of all rows', () => {
  it('are those worked out by hand, absent values left out, decimals and bigints exact', async () => {
    await fc.assert(
      fc.asyncProperty(rows, async (given) => {
        await fill(given);
        expect(await sales.find({ shop: 's' }).aggregate(figures)).toEqual(naive(given));
        const open = given.filter(({ status }) => status === 'open');
        const query = sales.find({ shop: 's' }).where({ status: 'open' });
        expect(await query.aggregate(figures)).toEqual(naive(open));
      }),
      { numRuns: scaled(5, 50, 2000) },
    );
  });

  it('lose no small number among large ones', async () => {
    await fill([1e16, 1, -1e16, 1].map((weight, no) => ({ shop: 's', no, weight })));
    expect(await sales.find({ shop: 's' }).sum('weight')).toBe(2);
    await fill([1e308, 1e308].map((weight, no) => ({ shop: 's', no, weight })));
    expect(await sales.find({ shop: 's' }).sum('weight')).toBe(Number.POSITIVE_INFINITY);
  });

  it('average what is beyond a double', async () => {
    await fill([2n ** 100n, 2n ** 100n + 2n].map((big, no) => ({ shop: 's', no, big, total: '0.10' })));
    expect(await sales.find({ shop: 's' }).avg('big')).toBe(2 ** 100);
    expect(await sales.find({ shop: 's' }).avg('total')).toBe(0.1);
  });

  it('are zero and null of no rows', async () => {
    await fill([]);
    const none = sales.find({ shop: 's' });
    expect([await none.sum('total'), await none.sum('big'), await none.sum('quantity')]).toEqual([
      '0.00',
      0n,
      0,
    ]);
    expect([await none.avg('total'), await none.min('soldAt'), await none.max('no')]).toEqual([
      null,
      null,
      null,
    ]);
  });

  it('are of counters, key parts and embedded properties, too, and keep a limit', async () => {
    await fill([1, 2, 3].map((no) => ({ shop: 's', no, place: { city: `c${no}` } })));
    await sales.increment({ shop: 's', no: 2 }, { views: 5n });
    const query = sales.find({ shop: 's' });
    expect(await query.aggregate((on) => ({ views: on.sum('views'), top: on.max('no') }))).toEqual({
      views: 5n,
      top: 3,
    });
    expect(await query.max('place.city' as 'status')).toBe('c3');
    expect(await query.limit(2).sum('no')).toBe(3);
    expect(await query.reverse().limit(2).sum('no')).toBe(5);
  });

  it('refuse what has none', async () => {
    const query = sales.find({ shop: 's' });
    await expect(query.sum('status')).rejects.toThrow(/Sale.status is kept as text, which is no number/);
    await expect(query.sum('soldAt' as 'total')).rejects.toThrow(/kept as date, which is no number/);
    await expect(query.min('nope' as 'no')).rejects.toThrow(/no column or key part "nope"/);
    await expect(query.min('place' as 'no')).rejects.toThrow(/no column or key part "place"/);
    await expect(query.aggregate(() => ({}))).rejects.toThrow(/names figures/);
    await expect(query.aggregate((() => ({ n: 1 })) as never)).rejects.toThrow(/"n" is 1, not one of count/);
    await expect(query.aggregate(undefined as never)).rejects.toThrow(/names figures/);
    await expect(query.orderBy('no').sum('no')).rejects.toThrow(/orderBy\(\) cannot be combined/);
    await expect(sales.find({}).sum('no')).rejects.toThrow(
      expect.objectContaining({ code: 'ERR_FULL_SCAN' }),
    );
  });
});

describe('groupBy', () => {
  it('gives each group what the rows of the group alone come to, in order, absent values last', async () => {
    await fc.assert(
      fc.asyncProperty(rows, async (given) => {
        await fill(given);
        const query = sales.find({ shop: 's' });
        const expected = ['', 'open', 'shipped', null].flatMap((status) => {
          const group = given.filter((row) => (row.status ?? null) === status);
          return group.length === 0 ? [] : [{ status, ...naive(group) }];
        });
        expect(await query.groupBy('status').aggregate(figures)).toEqual(expected);
        const counts = await query.groupBy('status', 'soldAt').count();
        const told = new Set(given.map(({ status, soldAt }) => JSON.stringify([status, soldAt])));
        expect(counts.length).toBe(told.size);
        expect(counts.reduce((sum, { count }) => sum + count, 0)).toBe(given.length);
      }),
      { numRuns: scaled(5, 50, 2000) },
    );
  });

  it('takes 1.5 and 1.50 for one value', async () => {
    await fill(['1.5', '1.50', '2', '2.0', '20'].map((rate, no) => ({ shop: 's', no, rate })));
    const groups = await sales.find({ shop: 's' }).groupBy('rate').count();
    expect(groups.map(({ count }) => count)).toEqual([2, 2, 1]);
  });

  it('holds no more groups than allowed, and refuses what it cannot tell apart', async () => {
    await fill([1, 2, 3].map((no) => ({ shop: 's', no })));
    const query = sales.find({ shop: 's' });
    await expect(query.groupBy('no').count({ maxGroups: 2 })).rejects.toThrow(/more than 2 groups/);
    expect(await query.groupBy('no').count({ maxGroups: 3 })).toHaveLength(3);
    await expect(query.groupBy().count()).rejects.toThrow(/names no property/);
    await expect(query.groupBy('no', 'no').count()).rejects.toThrow(/"no" twice/);
    await expect(query.groupBy('place' as 'no').count()).rejects.toThrow(/no column or key part "place"/);
    await expect(query.groupBy('no').count({ maxGroups: 0 })).rejects.toThrow(/from 1 on/);
    await expect(query.groupBy('no').aggregate((on) => ({ no: on.count() }))).rejects.toThrow(
      /both a property/,
    );
  });

  it('has the types of the properties', async () => {
    await fill([{ shop: 's', no: 1, total: '2.00', status: null }]);
    const [group] = await sales
      .find({ shop: 's' })
      .groupBy('no', 'status')
      .aggregate((on) => ({ total: on.sum('total'), last: on.max('soldAt') }));
    const typed: { no: number; status: string | null; total: string; last: Date | null } = group!;
    expect(typed).toEqual({ no: 1, status: null, total: '2.00', last: null });
  });
});
