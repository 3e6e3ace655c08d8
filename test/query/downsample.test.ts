/** Figures of packed points over intervals of time. */

import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Column, Entity, Packed, part, rowKey, salt, timeBucket } from '../../decorators/index.js';
import { decimal, float64, text } from '../../src/codec/index.js';
import { scaled } from '../proof/scale.js';
import { openTestDatabase, type TestDatabase } from './test-database.js';

@Entity({ table: { name: 'points', families: { d: {}, p: {}, q: {}, r: {} } } })
class Hour {
  static readonly key = rowKey(
    salt(3, ['metric']),
    part('metric'),
    timeBucket('hour', '1h', { unit: 's' }),
    part('host'),
  );
  metric!: string;
  hour!: Date;
  host!: string;
  @Column('d:r', text) rack?: string | null;
  @Packed('p:', { part: 'hour', value: float64 }) points!: Map<number, number | null>;
  @Packed('q:', { part: 'hour', value: decimal(2) }) prices!: Map<number, string | null>;
  @Packed('r:', { part: 'hour', value: text }) notes!: Map<number, string | null>;
}

let db: TestDatabase;

beforeAll(async () => {
  db = await openTestDatabase([Hour]);
});

afterAll(() => db.dispose());

const HOUR = 3_600_000;
const start = Date.UTC(2026, 0, 1);

it('gives what a loop over the points gives, for any interval and range', async () => {
  let runs = 0;
  const point = fc.record({
    host: fc.constantFrom('a', 'b'),
    second: fc.nat(4 * 3600 - 1),
    value: fc.integer({ min: -50, max: 50 }),
  });
  const points = fc.uniqueArray(point, { selector: ({ host, second }) => `${host}${second}`, maxLength: 60 });
  const every = fc.constantFrom(['5m', 300_000], ['7s', 7000], ['90m', 5_400_000], [
    '1d',
    86_400_000,
  ] as const);
  await fc.assert(
    fc.asyncProperty(
      points,
      every,
      fc.boolean(),
      fc.nat(4 * 3600),
      async (given, [text, span], apart, cut) => {
        const hours = db.repository(Hour);
        const metric = `m${runs++}`;
        for (const { host, second, value } of given) {
          const at = start + second * 1000;
          await hours.put({
            metric,
            host,
            hour: new Date(at),
            rack: host === 'a' ? 'r1' : null,
            points: new Map([[at, value]]),
            prices: new Map([[at, `${value}.25`]]),
          });
        }
        const from = start + cut * 1000;
        const query = hours.find({
          metric,
          hour: { gte: new Date(from), lt: new Date(start + 4 * HOUR) },
        });
        const groups = new Map<string, { rack: string | null; at: number; values: number[] }>();
        for (const { host, second, value } of given) {
          const time = start + second * 1000;
          if (time < from) continue;
          const at = Math.floor(time / (span as number)) * (span as number);
          const rack = apart && host === 'a' ? 'r1' : null;
          const id = `${rack ?? '~'} ${at}`;
          const group = groups.get(id) ?? { rack, at, values: [] };
          group.values.push(value);
          groups.set(id, group);
        }
        const expected = [...groups]
          .sort(([a, x], [b, y]) => (x.rack === y.rack ? x.at - y.at : a < b ? -1 : 1))
          .map(([, { rack, at, values }]) => ({
            ...(apart && { rack }),
            at: new Date(at),
            n: values.length,
            total: values.reduce((sum, value) => sum + value, 0),
            mean: values.reduce((sum, value) => sum + value, 0) / values.length,
            least: Math.min(...values),
            most: Math.max(...values),
          }));
        const options = { every: text as string, ...(apart && { by: ['rack' as const] }) };
        const found = await query.downsample('points', options, (on) => ({
          n: on.count(),
          total: on.sum(),
          mean: on.avg(),
          least: on.min(),
          most: on.max(),
        }));
        expect(found).toEqual(expected);
        const prices = await query.downsample('prices', { every: '1d' }, (on) => ({
          sum: on.sum(),
          top: on.max(),
        }));
        const kept = given.filter(({ second }) => start + second * 1000 >= from).map(({ value }) => value);
        const cents = kept.reduce((sum, value) => sum + (value < 0 ? value * 100 - 25 : value * 100 + 25), 0);
        if (kept.length > 0) {
          expect(Math.round(Number(prices[0]!.sum) * 100)).toBe(cents);
          expect(typeof prices[0]!.top).toBe('string');
        } else expect(prices).toEqual([]);
      },
    ),
    { numRuns: scaled(5, 60, 1000) },
  );
});

it('types its results', async () => {
  const query = db.repository(Hour).find({ metric: 'none' });
  const rows: { host: string; rack: string | null; at: Date; mean: number; least: number; n: number }[] =
    await query.downsample('points', { every: '5m', by: ['host', 'rack'] }, (on) => ({
      mean: on.avg(),
      least: on.min(),
      n: on.count(),
    }));
  expect(rows).toEqual([]);
});

it('refuses what it cannot do, before a row is read', async () => {
  const query = db.repository(Hour).find({ metric: 'm' });
  const wrong = (
    property: string,
    options: unknown,
    figures: unknown = (on: { count(): unknown }) => ({ n: on.count() }),
  ) => query.downsample(property as 'points', options as { every: string }, figures as never);
  await expect(wrong('rack', { every: '5m' })).rejects.toThrow(
    'downsample: Hour.rack is not declared by @Packed',
  );
  await expect(wrong('points', { every: '5 minutes' })).rejects.toThrow('every is "5 minutes". Use a number');
  await expect(wrong('points', { each: '5m' })).rejects.toThrow('downsample has no option "each"');
  await expect(wrong('points', { every: '5m', by: ['at'] })).rejects.toThrow(
    '"at", which is the start of an interval',
  );
  await expect(wrong('points', { every: '5m', by: ['floor'] })).rejects.toThrow(
    'Hour has no column or key part "floor"',
  );
  await expect(wrong('points', { every: '5m' }, {})).rejects.toThrow(
    'downsample takes a function that names figures',
  );
  await expect(
    wrong('notes', { every: '5m' }, (on: { avg(): unknown }) => ({ mean: on.avg() })),
  ).rejects.toThrow('avg: Hour.notes is kept as');
  await db.repository(Hour).put({
    metric: 'm',
    host: 'a',
    hour: new Date(start),
    points: new Map([0, 1, 2].map((i) => [start + i * 60_000, i])),
  });
  await expect(wrong('points', { every: '1m', maxGroups: 2 })).rejects.toThrow('more than 2 groups');
  await expect(
    query.orderBy('rack').downsample('points', { every: '1m' }, (on) => ({ n: on.count() })),
  ).rejects.toThrow('orderBy() cannot be combined');
});
