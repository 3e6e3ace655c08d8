import { afterEach, beforeEach, expect, test } from 'vitest';
import { Column, Columns, Embedded, Entity, part, RowKey, salt, Table } from '../../../decorators/index.js';
import { decimal, enumeration, int32, text } from '../../../src/codec/index.js';
import type { Database } from '../../../src/database.js';
import { date, uuid } from '../../../src/key/index.js';
import { openMemory } from '../../../src/testing/open-memory.js';
import { type SynthOptions, synthesize } from '../../../src/tools/synth.js';
import { draw, randomOf } from '../../../src/tools/synth-values.js';
import { scaled } from '../../proof/scale.js';
import { workerOn } from '../support.js';

@Table({ name: 'synth_customers', families: { d: {} } })
class Customers {}

@Entity({ table: Customers, name: 'Customer' })
@RowKey(part('id', text))
class Customer {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:n', text) name!: string;
}

class Address {
  @Column('city', text) city!: string;
  @Column('zip', int32) zip!: number;
}

@Table({ name: 'synth_orders', families: { d: {}, t: {} } })
class Orders {}

@Entity({ table: Orders, name: 'Order' })
@RowKey(salt(4), part('customerId', text), part('at', date), part('orderId', uuid))
class Order {
  declare static readonly key: ['customerId', 'at', 'orderId'];
  customerId!: string;
  at!: Date;
  orderId!: string;
  @Column('d:s', enumeration({ open: 1, shipped: 2, paid: 300 }, { bytes: 2 })) status!:
    | 'open'
    | 'shipped'
    | 'paid';
  @Column('d:t', decimal(2)) total!: string;
  @Column('d:note', text) note?: string;
  @Embedded('d', () => Address) address!: Address;
  @Columns('t:', { value: int32 }) tags!: Map<string, number>;
}

let db: Database;
beforeEach(async () => {
  db = await openMemory({ entities: [Customer, Order] });
});
afterEach(() => db.close());

const makeOrders = (options: Partial<SynthOptions>, engine = db.engine) =>
  synthesize(engine, db.repository(Order), db.schema.entity(Order), { rows: 300, ...options });
const orders = () => db.repository(Order).find({}, { fullScan: true }).all();

test('rows of a seed are the same, whoever died on the way; of another seed they are others', async () => {
  const small = { batchRows: 20, checkpointRows: 60, checkpointMs: 60_000 };
  const { counters } = await makeOrders({ seed: 7, run: small });
  expect(counters).toEqual({ entities: 300 });
  const first = await orders();
  expect(first).toHaveLength(300);
  await db.repository(Order).find({}, { fullScan: true }).deleteAll();
  expect(await orders()).toHaveLength(0);
  const dying = workerOn(db.engine, { lives: 6 }).engine;
  await expect(makeOrders({ seed: 7, run: small, name: 'again' }, dying)).rejects.toThrow();
  expect((await makeOrders({ seed: 7, run: small, name: 'again' })).resumed).toBe(true);
  expect(await orders()).toEqual(first);
  await makeOrders({ seed: 8, name: 'other' });
  expect((await orders()).length).toBe(600);
});

test('what names another entity finds it, values are as skewed and as often absent as is said', async () => {
  const rows = scaled(800, 5000, 20_000);
  await synthesize(db.engine, db.repository(Customer), db.schema.entity(Customer), { rows: 50 });
  await makeOrders({
    rows,
    properties: {
      customerId: { values: 50, skew: 1 },
      status: { values: 3 },
      note: { absent: 0.4 },
      'address.zip': (row) => row,
    },
  });
  const found = await orders();
  expect(found).toHaveLength(rows);
  const customers = await db.repository(Customer).find({}, { fullScan: true }).all();
  const counts = new Map(customers.map(({ id }) => [id, 0]));
  for (const { customerId } of found) counts.set(customerId, counts.get(customerId)! + 1);
  // Value k of 50 has ln((k + 1) / k) / ln 51 of the rows.
  const sorted = [...counts.values()].sort((a, b) => b - a);
  expect(sorted.reduce((sum, n) => sum + n, 0)).toBe(rows);
  expect(sorted[0]! / rows).toBeGreaterThan(0.14);
  expect(sorted[0]! / rows).toBeLessThan(0.21);
  expect(sorted[49]! / rows).toBeLessThan(0.02);
  expect(new Set(found.map(({ status }) => status))).toEqual(new Set(['open', 'shipped', 'paid']));
  const without = found.filter(({ note }) => note === undefined).length / rows;
  expect(without).toBeGreaterThan(0.35);
  expect(without).toBeLessThan(0.45);
  expect(new Set(found.map(({ address }) => address.zip)).size).toBe(rows);
  expect(found.every(({ address, tags }) => address.city !== '' && tags.size <= 5)).toBe(true);
  expect(found.some(({ tags }) => tags.size > 1)).toBe(true);
});

test.each([0, 0.5, 1, 2])('a draw of skew %s has the shares that the docs say', (skew) => {
  const count = 8;
  const seen = Array.from({ length: count }, () => 0);
  const draws = 20_000;
  for (let i = 0; i < draws; i++) seen[draw(randomOf(3, i, 1)(), count, skew)]!++;
  const integral = (from: number, to: number) =>
    skew === 1 ? Math.log(to / from) : (to ** (1 - skew) - from ** (1 - skew)) / (1 - skew);
  for (let k = 1; k <= count; k++) {
    const share = integral(k, k + 1) / integral(1, count + 1);
    expect(Math.abs(seen[k - 1]! / draws - share)).toBeLessThan(0.015);
  }
});

test('what can never be right is refused before anything is written', async () => {
  for (const options of [
    { rows: -1 },
    { rows: 1.5 },
    { seed: 2 ** 32 },
    { properties: { nope: { values: 3 } } },
    { properties: { customerId: { values: 0 } } },
    { properties: { status: { values: 4 } } },
    { properties: { customerId: { absent: 0.5 } } },
    { properties: { note: { absent: 2 } } },
    { properties: { note: { skew: Number.NaN } } },
    { properties: { note: { sometimes: 1 } } },
    { properties: { note: 'often' } },
  ]) {
    await expect(makeOrders(options as Partial<SynthOptions>)).rejects.toMatchObject({
      code: 'ERR_INVALID_ARGUMENT',
    });
  }
  expect(await orders()).toEqual([]);
});
