/**
 * Random writes of every kind, held against arrays: after each the figures of every group are those of the rows that can
 * be read, whatever was flushed, refused, rolled back, soft-deleted or has ended.
 */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Database } from '../../src/database.js';
import { openMemory, settableClock } from '../../src/testing/index.js';
import { scaled } from '../proof/scale.js';
import { entities, Order, Visit } from './entities.js';

const money = fc.constantFrom('0.01', '-3.50', '99999999999999999999.99', '12.00', null);
const weight = fc.constantFrom(0.1, -0.1, 1e300, -1e300, 5e-324, 3, Number.POSITIVE_INFINITY, null);
const points = fc.constantFrom(1n, -(2n ** 200n), 2n ** 200n, 4_294_967_295n, null);
const values = fc.record({
  status: fc.constantFrom('open', 'paid', null),
  total: money,
  weight,
  points,
  note: fc.constantFrom('n', null),
  placedAt: fc.constantFrom(new Date(1000), new Date(2000), new Date(-5), null),
  urgent: fc.constantFrom(true, false, null),
});
const key = fc.record({ shop: fc.constantFrom('a', 'b'), no: fc.integer({ min: 0, max: 3 }) });
const visit = fc.record({
  id: fc.constantFrom('x', 'y', 'z'),
  kind: fc.constantFrom('k', 'l', null),
  size: fc.constantFrom(1, -7, 2_000_000_000, null),
  life: fc.constantFrom(undefined, 5, 20_000),
});

const step = fc.oneof(
  fc.record({
    do: fc.constantFrom(
      'put',
      'replace',
      'update',
      'delete',
      'restore',
      'upsert',
      'batch',
      'tx',
      'fail',
      'old',
    ),
    key,
    values,
  }),
  fc.record({ do: fc.constantFrom('visit', 'change', 'leave'), visit }),
  fc.record({ do: fc.constantFrom('flush', 'wait', 'end', 'count', 'sweep') }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function run(db: Database, s: Step, clock: { advance(ms: number): void }): Promise<void> {
  const orders = db.repository(Order);
  const visits = db.repository(Visit);
  if ('visit' in s) {
    const { id, life, ...rest } = s.visit;
    if (s.do === 'visit') return visits.put({ id, ...rest, ...(life !== undefined && { life }) });
    if (s.do === 'leave') return void (await visits.delete({ id }));
    if (await visits.exists({ id })) await visits.update({ id }, rest);
    return;
  }
  if (!('key' in s)) {
    if (s.do === 'flush') await db.admin.flush('orders');
    else if (s.do === 'wait') clock.advance(1);
    else if (s.do === 'end') clock.advance(15_000);
    else if (s.do === 'count') await db.summary(Order, 'byStatus').repair();
    else await orders.find({}, { fullScan: true }).where({ status: 'open' }).deleteAll();
    return;
  }
  const entity = { ...s.key, ...s.values };
  switch (s.do) {
    case 'put':
      return orders.put(entity);
    case 'old':
      return orders.put(entity, { timestamp: 5 });
    case 'upsert':
      return void (await orders.upsert(entity, s.values).catch(() => undefined));
    case 'replace':
      return void (await orders.replace(entity).catch(() => undefined));
    case 'update':
      return void (await orders.update(s.key, s.values).catch(() => undefined));
    case 'delete':
      return void (await orders.delete(s.key));
    case 'restore':
      return void (await orders.restore(s.key).catch(() => undefined));
    case 'batch':
      await db.batch(
        (batch) => {
          batch.of(Order).put(entity);
          batch.of(Order).delete({ shop: s.key.shop, no: 0 });
          batch.of(Order).put({ ...entity, no: 1 });
        },
        { atomic: s.values.urgent === true },
      );
      return;
    case 'tx':
      return db.transaction(async (tx) => {
        await tx.repository(Order).put(entity);
        await tx.repository(Order).delete(s.key);
        await tx.repository(Order).put({ ...entity, no: 2 });
      });
    default:
      await expect(
        db.transaction(async (tx) => {
          await tx.repository(Order).put(entity);
          throw new Error('no');
        }),
      ).rejects.toThrow('no');
  }
}

type Row = Record<string, unknown>;

/** Nearest double of the exact sum, by bigints of 2^-1074. */
function exact(numbers: readonly number[]): number {
  if (numbers.some((one) => !Number.isFinite(one))) return numbers.reduce((a, b) => a + b, 0);
  let sum = 0n;
  for (const one of numbers) {
    // Doubles here are multiples of 2^-1074 as texts of fixed digits: toFixed has none so small, so by halves.
    let units = 0n;
    let rest = Math.abs(one);
    for (let bit = 1023; bit >= -1074 && rest > 0; bit--) {
      const power = 2 ** bit;
      if (rest >= power) {
        rest -= power;
        units += 1n << BigInt(bit + 1074);
      }
    }
    sum += one < 0 ? -units : units;
  }
  if (sum === 0n) return 0;
  const sign = sum < 0n ? -1 : 1;
  const text = (sum < 0n ? -sum : sum).toString(2);
  const cut = Math.max(0, text.length - 53);
  let kept = BigInt(`0b${text.slice(0, text.length - cut)}`);
  const tail = text.slice(text.length - cut);
  const half = `1${'0'.repeat(Math.max(0, cut - 1))}`;
  if (cut > 0 && (tail > half || (tail === half && kept % 2n === 1n))) kept += 1n;
  return sign * Number(kept) * 2 ** (cut - 1074);
}

function cents(texts: readonly string[]): bigint {
  return texts.reduce((sum, one) => sum + BigInt(one.replace('.', '')), 0n);
}

function money2(sum: bigint): string {
  const digits = (sum < 0n ? -sum : sum).toString().padStart(3, '0');
  return `${sum < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

function figuresOf(rows: readonly Order[]): Row {
  const of = <T>(pick: (one: Order) => T | null | undefined): T[] =>
    rows.flatMap((one) => pick(one) ?? []) as T[];
  const totals = of(({ total }) => total);
  const times = of(({ placedAt }) => placedAt?.getTime()).sort((a, b) => a - b);
  return {
    orders: rows.length,
    noted: of(({ note }) => note).length,
    total: money2(cents(totals)),
    mean: totals.length === 0 ? null : expect.closeTo(Number(cents(totals)) / 100 / totals.length, 5),
    weight: exact(of(({ weight: one }) => one)),
    points: of(({ points: one }) => one).reduce((sum, one) => sum + one, 0n),
    first: times.length === 0 ? null : new Date(times[0]!),
    last: times.length === 0 ? null : new Date(times.at(-1)!),
  };
}

async function check(db: Database): Promise<void> {
  const orders = await db.repository(Order).find({}, { fullScan: true }).all();
  const byStatus = db.summary(Order, 'byStatus');
  const groups: Row[] = [];
  for (const shop of ['a', 'b']) {
    for (const status of ['open', 'paid']) {
      const rows = orders.filter((one) => one.shop === shop && one.status === status);
      const wanted = rows.length === 0 ? null : { shop, status, ...figuresOf(rows) };
      expect(await byStatus.get({ shop, status })).toEqual(wanted);
      if (wanted !== null) groups.push(wanted);
    }
  }
  expect(await byStatus.find({})).toEqual(groups);
  expect(await byStatus.find({ shop: 'b' })).toEqual(groups.filter(({ shop }) => shop === 'b'));
  const urgent = orders.filter((one) => one.urgent === true);
  expect(await db.summary(Order, 'urgent').get({})).toEqual(
    urgent.length === 0
      ? null
      : { orders: urgent.length, total: money2(cents(urgent.flatMap(({ total }) => total ?? []))) },
  );
  const visits = await db.repository(Visit).find({}, { fullScan: true }).all();
  for (const kind of ['k', 'l']) {
    const rows = visits.filter((one) => one.kind === kind);
    const sizes = rows.flatMap(({ size }) => size ?? []);
    const size = sizes.reduce((a, b) => a + b, 0);
    const most = sizes.length === 0 ? null : Math.max(...sizes);
    expect(await db.summary(Visit, 'byKind').get({ kind })).toEqual(
      rows.length === 0 ? null : { kind, visits: rows.length, size, most },
    );
  }
}

test('figures equal those of the rows', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), fc.boolean(), async (steps, together) => {
      const clock = settableClock(1_700_000_000_000);
      const db = await openMemory({ entities, clock });
      try {
        for (const s of steps) {
          await run(db, s, clock);
          if (!together) await check(db);
        }
        await check(db);
        const off = { stale: 0, missing: 0, extra: 0, entries: 0 };
        expect(await db.summary(Order, 'byStatus').check()).toMatchObject(off);
        expect(await db.summary(Visit, 'byKind').check()).toMatchObject(off);
      } finally {
        await db.close();
      }
    }),
    { numRuns: scaled(3, 40, 2000) },
  );
});
